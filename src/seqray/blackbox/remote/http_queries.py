"""Words sent to a server in batches, by several threads, each batch until it is answered."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from seqray.automata.words import Words
from seqray.blackbox.queried import FailedError, halving
from seqray.blackbox.remote.http_request import HttpClient, RequestGroup
from seqray.blackbox.remote.http_server import RetryError
from seqray.blackbox.remote.waiting import Check, awaited
from seqray.blackbox.remote.wire import UnreadableError
from seqray.util.arrays import IntArray, whole_number
from seqray.util.errors import ArgumentError, BlackBoxError

logger = logging.getLogger(__name__)

MAX_OPENING_RETRIES = 3
"""How often a request is sent again at most while a box is opened."""

WARNING_WAIT_SECONDS = 10.0
"""A longer wait than this is logged as a warning."""

Mailbox: TypeAlias = queue.SimpleQueue[Any]
"""Carries batches to the threads that send requests, and answers back."""

Query: TypeAlias = Callable[[Words, RequestGroup], Any]
"""Sends words to a server and returns its answers."""

T = TypeVar("T")


def check_seconds(name: str, seconds: float) -> None:
    """Refuse what is no number of seconds above 0."""
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ArgumentError(f"{name}: expected seconds, more than 0, got {seconds!r}")


@dataclass(frozen=True)
class HttpQueries:
    """Sends batches of words to a server, several at once.

    Parameters
    ----------
    concurrency
        The most requests at the same time.
    retries
        How often a request is sent again while the server fails, is busy or cannot be reached.
    backoff
        About how many seconds to wait before that, doubled each time.
    """

    concurrency: int
    retries: int
    backoff: float

    def __post_init__(self) -> None:
        whole_number("concurrency", self.concurrency, 1)
        whole_number("retries", self.retries, 0)
        check_seconds("backoff", self.backoff)

    def opening(self, client: HttpClient, body: bytes, limit: int, read: Callable[[bytes], T]) -> T:
        """Send a request while a box is opened, again if need be, and return what is read."""
        who = client.server.who
        attempt, group = 0, RequestGroup(opening=True)
        while True:
            try:
                return read(client.request(body, limit, group))
            except RetryError as failure:
                if attempt == min(self.retries, MAX_OPENING_RETRIES):
                    raise BlackBoxError(f"{who} {failure} ({attempt + 1} times)") from failure
                self._wait(failure, attempt, who, group)
                attempt += 1

    def answers(
        self, words: Words, batches: Sequence[IntArray], query: Query, who: str, check: Check
    ) -> Iterator[tuple[IntArray, Any]]:
        """Yield which words are answered, and what, as it comes.

        A worker gets new words only after its answers have been yielded: when a query is stopped,
        no more than ``concurrency`` batches are lost.
        """
        left = list(batches)
        group, todo, done = RequestGroup(), Mailbox(), Mailbox()
        working = n_workers = min(self.concurrency, len(left))
        failure: BaseException | None = None
        try:
            for _ in range(n_workers):
                todo.put(left.pop(0))
                arguments = (query, words, who, group, todo, done)
                threading.Thread(None, _work, "seqray-http", arguments, daemon=True).start()
            while working:
                group.check_process(who)
                answer = awaited(done, check)
                if isinstance(answer, tuple):
                    yield answer
                    continue
                working -= 1
                if answer is not None:
                    failure = failure or answer
                    group.stop.set()  # running requests may end, but none is sent again
                elif failure is None and left:
                    todo.put(left.pop(0))
                    working += 1
        finally:
            group.end()
            for _ in range(n_workers):
                todo.put(None)
        if failure is not None:
            raise failure

    def send(
        self,
        client: HttpClient,
        message: bytes,
        limit: int,
        read: Callable[[bytes], T],
        words: Words,
        group: RequestGroup,
    ) -> T:
        """Send a request about words until there are answers, or no hope for any.

        A failure that may be due to one of several words is not retried often: halves of the words
        are sent next.
        """
        who = client.server.who
        attempt, seen = 0, group.n_answered
        while True:
            try:
                answers = read(client.request(message, limit, group))
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
            if attempt >= tries or silent or self._wait(failure, attempt, who, group):
                text = f"{failure} ({'once' if not attempt else f'{attempt + 1} times'})"
                if failure.halve and not silent and not group.stop.is_set():
                    raise FailedError(f"it {text}") from failure
                raise BlackBoxError(f"{who} {text}{_advice(words, failure)}") from failure
            attempt += 1

    def _wait(self, failure: RetryError, attempt: int, who: str, group: RequestGroup) -> bool:
        """Wait before the next attempt; return whether to stop instead."""
        delay = failure.delay(self.backoff, attempt)
        level = logging.WARNING if delay > WARNING_WAIT_SECONDS else logging.DEBUG
        logger.log(level, "%s %s: trying again in %.1f s", who, failure, delay)
        return group.stop.wait(delay)


def _work(
    query: Query, words: Words, who: str, group: RequestGroup, todo: Mailbox, done: Mailbox
) -> None:
    """Query batches until there are none; report after each how it ended."""
    while (which := todo.get()) is not None:
        try:
            for piece in halving(lambda some: query(words[some], group), words, which, who):
                done.put(piece)
            done.put(None)
        except BaseException as error:
            done.put(error)


def _advice(words: Words, failure: RetryError) -> str:
    if not failure.silent:
        return ""
    return (
        f", last to {len(words)} words that begin with {words.alphabet.show(words[0])!r}: send "
        "fewer words at once (batch_size) or wait longer (timeout)"
    )
