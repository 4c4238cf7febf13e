"""Black boxes behind HTTP: words go out as JSON, answers come back.

Several requests are under way at once, each on a connection that is kept. What fails is asked again
after a while, or in halves. docs/boxes/http.md says what a server has to do.
"""

from __future__ import annotations

import hashlib
import logging
import queue
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any, TypeAlias

import numpy as np

from seqray.automata.words import Words
from seqray.blackbox.queried import FailedError, QueriedBox, QueriedModel, halving
from seqray.blackbox.remote.http_request import Address, Line, RetryError, Turn
from seqray.blackbox.remote.waiting import awaited
from seqray.blackbox.remote.wire import (
    DESCRIPTION_SIZE,
    DescribedBackend,
    Description,
    UnreadableError,
    read_answers,
    read_json,
    words_message,
)
from seqray.util.arrays import IntArray, whole_number
from seqray.util.errors import ArgumentError, BlackBoxError
from seqray.util.forks import forget_in_forks
from seqray.util.redaction import redacted

logger = logging.getLogger(__name__)

OPENING_RETRIES = 3
"""While somebody waits for a box to open, no more is tried than this."""

LONG = 10.0
"""A wait of more seconds than this is told."""

Mail: TypeAlias = queue.SimpleQueue[Any]
"""Between those who ask and the one who hands on answers."""


def http_box(
    url: str,
    *,
    batch_size: int = 256,
    concurrency: int = 4,
    timeout: float = 60.0,
    retries: int = 6,
    backoff: float = 0.5,
    token_variable: str = "SEQRAY_TOKEN",
) -> QueriedBox | QueriedModel:
    """Open a black box behind HTTP.

    Parameters
    ----------
    url
        Where it is, ``https://…`` or ``http://…``. docs/boxes/http.md says what is expected there.
    batch_size
        The most words in one request. Where the server takes fewer, it says so itself.
    concurrency
        The most requests under way at once.
    timeout
        The most seconds that an answer may take, from the first byte sent to the last received.
    retries
        How often a question is asked again while the server fails, is busy or not there.
    backoff
        Seconds to wait before that, about, and twice as many each time. A server may ask for more.
    token_variable
        The environment variable with the token that is sent as ``Authorization: Bearer …``. It is
        not sent to another machine without TLS, and never written anywhere.

    Returns
    -------
    box
        A `seqray.blackbox.queried.QueriedBox`, or a `QueriedModel` where the server predicts.
    """
    for name, number in (("timeout", timeout), ("backoff", backoff)):
        if not 0 < number < threading.TIMEOUT_MAX:
            raise ArgumentError(f"{name}: expected seconds, more than 0, got {number!r}")
    batch_size = whole_number("batch_size", batch_size, 1)
    concurrency = whole_number("concurrency", concurrency, 1)
    retries = whole_number("retries", retries, 0)
    line = Line(Address.of(url), timeout, token_variable)
    forget_in_forks(line)
    if line.token() and not line.address.is_private:
        logger.warning(
            "%s: the token in %s is not sent, since everybody on the way could read it: use "
            "https://",
            line.address.shown,
            token_variable,
        )
    try:
        description = _describe(line, min(retries, OPENING_RETRIES), backoff)
    except BaseException:
        line.close()
        raise
    sizes = (description.batch(batch_size), concurrency)
    backend = HttpBackend(line, *sizes, retries, backoff, description=description)
    weakref.finalize(line, _close_all, line.idle)
    return description.box(backend)


def _close_all(connections: deque[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _describe(line: Line, retries: int, backoff: float) -> Description:
    """Ask a server what it is."""
    attempt, turn = 0, Turn(opening=True)
    while True:
        try:
            content = line.ask(b"", DESCRIPTION_SIZE, turn)
            return Description.read(read_json(content, line.hide), line.who, line.hide)
        except RetryError as failure:
            if attempt == retries:
                raise BlackBoxError(f"{line.who} {failure} ({attempt + 1} times)") from failure
            _wait(failure, backoff, attempt, line, turn)
            attempt += 1
        except FailedError as failure:
            raise BlackBoxError(f"{line.who} cannot be opened: {failure}") from failure
        except UnreadableError as error:
            raise BlackBoxError(
                f"{line.who} does not describe itself: {error}; is this the address of a box? "
                "docs/boxes/http.md says what it answers"
            ) from error


def _wait(failure: RetryError, backoff: float, attempt: int, line: Line, turn: Turn) -> bool:
    """Wait before the next attempt; return whether somebody said stop."""
    delay = failure.delay(backoff, attempt)
    level = logging.WARNING if delay > LONG else logging.DEBUG
    logger.log(level, "%s %s: asking again in %.1f s", line.who, failure, delay)
    return turn.stop.wait(delay)


@dataclass(frozen=True, eq=False)
class HttpBackend(DescribedBackend):
    """Asks a server; see `http_box`."""

    line: Line
    batch_size: int
    concurrency: int
    retries: int
    backoff: float

    @property
    def who(self) -> str:
        """The server, by its address."""
        return self.line.who

    @property
    def fingerprint(self) -> str:
        """The address, and a digest of it without its keys and of how the server describes itself.

        Another key is no other box; that it answers the same is asked, see `hides_secrets`.
        """
        about = f"{redacted(self.line.address.target)} {self.description.digest()}"
        return f"{self.line.address.shown} {hashlib.sha256(about.encode()).hexdigest()}"

    @property
    def hides_secrets(self) -> bool:
        """Whether the fingerprint leaves something out that may matter."""
        return bool(self.line.address.secrets)

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield answers as they come.

        A worker gets new words only after its answers have been taken: when all is stopped, no
        more than ``concurrency`` batches are lost.
        """
        self.description.check_lengths(words, self.who)
        begins = range(0, len(words), self.batch_size)
        batches = [np.arange(b, min(b + self.batch_size, len(words))) for b in begins]
        turn, todo, done = Turn(), Mail(), Mail()
        working = n_workers = min(self.concurrency, len(batches))
        failure: BaseException | None = None
        try:
            for _ in range(n_workers):
                todo.put(batches.pop(0))
                arguments = (words, turn, todo, done)
                threading.Thread(None, self._work, "seqray-http", arguments, daemon=True).start()
            while working:
                turn.check_process(self.who)
                answer = awaited(done, self.check)
                if isinstance(answer, tuple):
                    yield answer
                    continue
                working -= 1
                if answer is not None:
                    failure = failure or answer
                    turn.stop.set()  # what is under way may end, but nothing is asked again
                elif failure is None and batches:
                    todo.put(batches.pop(0))
                    working += 1
        finally:
            turn.end()
            for _ in range(n_workers):
                todo.put(None)
        if failure is not None:
            raise failure

    def _work(self, words: Words, turn: Turn, todo: Mail, done: Mail) -> None:
        """Ask about batches until there are none; say after each how it ended."""

        def ask(which: IntArray) -> Any:
            return self._answers(words[which], turn)

        while (which := todo.get()) is not None:
            try:
                for piece in halving(ask, words, which, self.who):
                    done.put(piece)
                done.put(None)
            except BaseException as error:
                done.put(error)

    def _answers(self, words: Words, turn: Turn) -> list[Any]:
        """Ask until there are answers, or no hope for any.

        A failure that may be due to a word is not waited for long where there are several: halves
        of them are asked next.
        """
        message, limit = words_message(words), self.description.answer_size(words)
        attempt, seen = 0, turn.n_answered
        while True:
            try:
                content = self.line.ask(message, limit, turn)
                answers = read_answers(content, self.who, self.line.hide)
            except UnreadableError as error:  # cut short on its way, maybe
                failure = RetryError(f"answered what cannot be read: {error}")
            except RetryError as error:
                failure = error
            else:
                turn.answered()
                return answers
            if turn.n_answered != seen and not failure.halve:  # others get on: it is only busy
                attempt, seen = 0, turn.n_answered
            silent = failure.silent and turn.n_silent > self.retries
            tries = 1 if failure.halve and len(words) > 1 else self.retries
            if attempt >= tries or silent or _wait(failure, self.backoff, attempt, self.line, turn):
                text = f"{failure} ({'once' if not attempt else f'{attempt + 1} times'})"
                if failure.halve and not silent and not turn.stop.is_set():
                    raise FailedError(f"it {text}") from failure
                raise BlackBoxError(f"{self.who} {text}{_advice(words, failure)}") from failure
            attempt += 1


def _advice(words: Words, failure: RetryError) -> str:
    if not failure.silent:
        return ""
    return (
        f", last to {len(words)} words that begin with {words.alphabet.show(words[0])!r}: ask "
        "about fewer words at once (batch_size) or wait longer (timeout)"
    )
