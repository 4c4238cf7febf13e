"""Black boxes behind HTTP: words go out as JSON, answers come back.

Several requests run at once, each on a connection that stays open. A request that fails
is sent again after a while, or in halves. docs/boxes/http.md says what a server has to do.
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
from seqray.blackbox.remote.http_request import HttpClient, RequestGroup
from seqray.blackbox.remote.http_server import Address, RetryError, Server
from seqray.blackbox.remote.waiting import awaited
from seqray.blackbox.remote.wire import (
    MAX_DESCRIPTION_BYTES,
    DescribedBackend,
    Description,
    UnreadableError,
    read_answers,
    read_json,
    words_message,
)
from seqray.util.arrays import IntArray, whole_number
from seqray.util.errors import ArgumentError, BlackBoxError
from seqray.util.forks import reset_in_forks
from seqray.util.redaction import redacted

logger = logging.getLogger(__name__)

MAX_OPENING_RETRIES = 3
"""How often a request is sent again at most while a box is opened."""

WARNING_WAIT_SECONDS = 10.0
"""A longer wait than this is logged as a warning."""

Mailbox: TypeAlias = queue.SimpleQueue[Any]
"""Carries batches to the threads that send requests, and answers back."""


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
        The most requests at the same time.
    timeout
        The most seconds that an answer may take, from the first byte sent to the last received.
    retries
        How often a request is sent again while the server fails, is busy or cannot be reached.
    backoff
        About how many seconds to wait before that, doubled each time. A server may want more.
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
    server = Server(Address.of(url), token_variable)
    client = HttpClient(server, timeout)
    reset_in_forks(client)
    if server.token() and not server.address.is_private:
        logger.warning(
            "%s: the token in %s is not sent, since everybody in between could read it: use "
            "https://",
            server.address.shown,
            token_variable,
        )
    try:
        description = _describe(client, min(retries, MAX_OPENING_RETRIES), backoff)
    except BaseException:
        client.close()
        raise
    sizes = (description.words_per_request(batch_size), concurrency)
    backend = HttpBackend(client, *sizes, retries, backoff, description=description)
    weakref.finalize(client, _close_all, client.idle)
    return description.box(backend)


def _close_all(connections: deque[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _describe(client: HttpClient, retries: int, backoff: float) -> Description:
    """Request a server's description of itself."""
    who, hide = client.server.who, client.server.hide
    attempt, group = 0, RequestGroup(opening=True)
    while True:
        try:
            content = client.request(b"", MAX_DESCRIPTION_BYTES, group)
            return Description.read(read_json(content, hide), who, hide)
        except RetryError as failure:
            if attempt == retries:
                raise BlackBoxError(f"{who} {failure} ({attempt + 1} times)") from failure
            _wait(failure, backoff, attempt, who, group)
            attempt += 1
        except FailedError as failure:
            raise BlackBoxError(f"{who} cannot be opened: {failure}") from failure
        except UnreadableError as error:
            raise BlackBoxError(
                f"{who} does not describe itself: {error}; is this the address of a box? "
                "docs/boxes/http.md says what it answers"
            ) from error


def _wait(failure: RetryError, backoff: float, attempt: int, who: str, group: RequestGroup) -> bool:
    """Wait before the next attempt; return whether to stop instead."""
    delay = failure.delay(backoff, attempt)
    level = logging.WARNING if delay > WARNING_WAIT_SECONDS else logging.DEBUG
    logger.log(level, "%s %s: trying again in %.1f s", who, failure, delay)
    return group.stop.wait(delay)


@dataclass(frozen=True, eq=False)
class HttpBackend(DescribedBackend):
    """Queries a server; see `http_box`."""

    client: HttpClient
    batch_size: int
    concurrency: int
    retries: int
    backoff: float

    @property
    def who(self) -> str:
        """The server, by its address."""
        return self.client.server.who

    @property
    def fingerprint(self) -> str:
        """The address, and a digest of it without its keys and of how the server describes itself.

        With another key it is the same box; cached answers are then checked, see `hides_secrets`.
        """
        address = self.client.server.address
        about = f"{redacted(address.target)} {self.description.digest()}"
        return f"{address.shown} {hashlib.sha256(about.encode()).hexdigest()}"

    @property
    def hides_secrets(self) -> bool:
        """Whether the fingerprint leaves something out that may matter."""
        return bool(self.client.server.address.secrets)

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield answers as they come.

        A worker gets new words only after its answers have been yielded: when a query is stopped,
        no more than ``concurrency`` batches are lost.
        """
        self.description.check_lengths(words, self.who)
        begins = range(0, len(words), self.batch_size)
        batches = [np.arange(b, min(b + self.batch_size, len(words))) for b in begins]
        group, todo, done = RequestGroup(), Mailbox(), Mailbox()
        working = n_workers = min(self.concurrency, len(batches))
        failure: BaseException | None = None
        try:
            for _ in range(n_workers):
                todo.put(batches.pop(0))
                arguments = (words, group, todo, done)
                threading.Thread(None, self._work, "seqray-http", arguments, daemon=True).start()
            while working:
                group.check_process(self.who)
                answer = awaited(done, self.check)
                if isinstance(answer, tuple):
                    yield answer
                    continue
                working -= 1
                if answer is not None:
                    failure = failure or answer
                    group.stop.set()  # running requests may end, but none is sent again
                elif failure is None and batches:
                    todo.put(batches.pop(0))
                    working += 1
        finally:
            group.end()
            for _ in range(n_workers):
                todo.put(None)
        if failure is not None:
            raise failure

    def _work(self, words: Words, group: RequestGroup, todo: Mailbox, done: Mailbox) -> None:
        """Query batches until there are none; report after each how it ended."""

        def query(which: IntArray) -> Any:
            return self._answers(words[which], group)

        while (which := todo.get()) is not None:
            try:
                for piece in halving(query, words, which, self.who):
                    done.put(piece)
                done.put(None)
            except BaseException as error:
                done.put(error)

    def _answers(self, words: Words, group: RequestGroup) -> list[Any]:
        """Send a request until there are answers, or no hope for any.

        A failure that may be due to one of several words is not retried often: halves of the words
        are sent next.
        """
        message, limit = words_message(words), self.description.answer_size(words)
        attempt, seen = 0, group.n_answered
        while True:
            try:
                content = self.client.request(message, limit, group)
                answers = read_answers(content, self.who, self.client.server.hide)
            except UnreadableError as error:  # perhaps cut short
                failure = RetryError(f"answered what cannot be read: {error}")
            except RetryError as error:
                failure = error
            else:
                group.answered()
                return answers
            if (
                group.n_answered != seen and not failure.halve
            ):  # others are answered: it is only busy
                attempt, seen = 0, group.n_answered
            silent = failure.silent and group.n_silent > self.retries
            tries = 1 if failure.halve and len(words) > 1 else self.retries
            if attempt >= tries or silent or _wait(failure, self.backoff, attempt, self.who, group):
                text = f"{failure} ({'once' if not attempt else f'{attempt + 1} times'})"
                if failure.halve and not silent and not group.stop.is_set():
                    raise FailedError(f"it {text}") from failure
                raise BlackBoxError(f"{self.who} {text}{_advice(words, failure)}") from failure
            attempt += 1


def _advice(words: Words, failure: RetryError) -> str:
    if not failure.silent:
        return ""
    return (
        f", last to {len(words)} words that begin with {words.alphabet.show(words[0])!r}: send "
        "fewer words at once (batch_size) or wait longer (timeout)"
    )
