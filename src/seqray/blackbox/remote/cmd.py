"""Black boxes in a child process, which reads words and writes answers as lines of JSON.

A child that dies is started again and gets the same words again, or halves of them, until the word
that kills it is known. docs/boxes/cmd.md says what a child has to do.
"""

from __future__ import annotations

import hashlib
import shlex
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seqray.automata.words import Words
from seqray.blackbox.queried import FailedError, QueriedBox, QueriedModel, halving
from seqray.blackbox.remote.child import GRACE_SECONDS, Child, DeadError, HungError
from seqray.blackbox.remote.waiting import Check, always
from seqray.blackbox.remote.wire import (
    MAX_DESCRIPTION_BYTES,
    DescribedBackend,
    Description,
    Hide,
    UnreadableError,
    read_answers,
    read_json,
    shown,
    words_message,
)
from seqray.util.arrays import IntArray, whole_number
from seqray.util.errors import ArgumentError, BlackBoxError
from seqray.util.files import fingerprint
from seqray.util.forks import reset_in_forks
from seqray.util.redaction import (
    environment_secrets,
    hidden,
    joined,
    redacted,
    redacted_arguments,
    secrets_in_arguments,
)

EXTRA_LINE_BYTES = 2**20
"""How many bytes of a line may be something else than an answer, such as spaces."""


def cmd_box(
    command: str | Sequence[str],
    *,
    timeout: float = 60.0,
    batch_size: int = 256,
    restarts: int = 3,
) -> QueriedBox | QueriedModel:
    """Open a black box in a child process.

    Parameters
    ----------
    command
        The program and its arguments, as a list or as one line. There is no shell: quotes work,
        pipes and variables do not. docs/boxes/cmd.md says what the program has to do.
    timeout
        The most seconds for one answer, and for the description when the child starts.
    batch_size
        The most words in one line. Where the child takes fewer, it says so itself.
    restarts
        How often a child that dies of a word is started again to get that word again.

    Returns
    -------
    box
        A `seqray.blackbox.queried.QueriedBox`, or a `QueriedModel` where the child predicts.

    Examples
    --------
    >>> import sys
    >>> code = '''
    ... import json, sys
    ... print(json.dumps({"seqray": 1, "alphabet": ["a", "b"], "answers": "value"}), flush=True)
    ... for line in sys.stdin:
    ...     words = json.loads(line)["words"]
    ...     print(json.dumps({"answers": [word.count("a") for word in words]}), flush=True)
    ... '''
    >>> cmd_box([sys.executable, "-c", code]).weights(["", "aba"])
    array([0., 2.])
    """
    arguments = _arguments(command)
    if not 0 < timeout < threading.TIMEOUT_MAX:
        raise ArgumentError(f"timeout: expected seconds, more than 0, got {timeout!r}")
    batch_size = whole_number("batch_size", batch_size, 1)
    restarts = whole_number("restarts", restarts, 0)
    supervisor = ChildSupervisor(arguments, timeout)
    reset_in_forks(supervisor)
    weakref.finalize(supervisor, _end_all, supervisor.children)
    try:
        description = supervisor.describe(always)
    except DeadError as error:
        raise BlackBoxError(f"{supervisor.who} {error}: expected its description") from error
    batch_size = description.words_per_request(batch_size)
    return description.box(CmdBackend(supervisor, batch_size, restarts, description=description))


def _arguments(command: str | Sequence[str]) -> tuple[str, ...]:
    try:
        split = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        text = redacted(str(command))
        raise ArgumentError(f"the command {text!r} cannot be read: {error}") from error
    if not split or not split[0]:
        raise ArgumentError("command: expected a program and its arguments, got nothing")
    return tuple(split)


@dataclass(frozen=True, eq=False)
class CmdBackend(DescribedBackend):
    """Queries a child process; see `cmd_box`."""

    supervisor: ChildSupervisor
    batch_size: int
    restarts: int

    @property
    def who(self) -> str:
        """The command."""
        return self.supervisor.who

    @property
    def fingerprint(self) -> str:
        """The command, and a digest of it, of the child's description, and of its files.

        The files that the command names, scripts or models, count where the child has no
        fingerprint of its own. Keys in the command do not count, see `hides_secrets`.
        """
        files = [] if self.description.fingerprint else filter(_is_file, self.supervisor.arguments)
        arguments = tuple(redacted_arguments(self.supervisor.arguments))
        about = repr([arguments, self.description.digest(), fingerprint(*files)])
        return f"cmd:{joined(arguments)} {hashlib.sha256(about.encode()).hexdigest()}"

    @property
    def hides_secrets(self) -> bool:
        """Whether the fingerprint leaves something out that may matter."""
        return bool(secrets_in_arguments(self.supervisor.arguments))

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield answers batch by batch."""
        self.description.check_lengths(words, self.who)

        def query(which: IntArray) -> Any:
            return self._answers(words[which])

        for begin in range(0, len(words), self.batch_size):
            which = np.arange(begin, min(begin + self.batch_size, len(words)))
            yield from halving(query, words, which, self.who)

    def _answers(self, words: Words) -> list[Any]:
        """Send words, and again if the child dies: only once more where there are several."""
        message = words_message(words) + b"\n"
        limit = EXTRA_LINE_BYTES + self.description.answer_size(words)
        tries = min(self.restarts, 1) if len(words) > 1 else self.restarts
        for attempt in range(tries + 1):
            try:
                line = self.supervisor.exchange(message, limit, self.description, self.check)
                return read_answers(line, self.who, self.supervisor.hide)
            except DeadError as error:
                if attempt == tries:
                    times = f" ({attempt + 1} times)" if attempt else ""
                    raise FailedError(f"it {error}{times}") from error
            except HungError as error:
                raise BlackBoxError(
                    f"{self.who} gave no answer in {self.supervisor.timeout:g} s to {len(words)} "
                    f"words that begin with {words.alphabet.show(words[0])!r}, and was killed: "
                    "expected a line of JSON, flushed, in that time; send fewer words at once "
                    "(batch_size) or wait longer (timeout)"
                ) from error
            except UnreadableError as error:
                raise self.supervisor.unusable(error) from error
        raise AssertionError  # the last attempt returns or raises


@dataclass(eq=False)
class ChildSupervisor:
    """Starts a child when it is needed, and again when it has died."""

    arguments: tuple[str, ...]
    timeout: float
    children: list[Child] = field(default_factory=list, repr=False)
    """The child, if there is one: at most one entry."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def who(self) -> str:
        """The command's name in messages."""
        return f"the command {shown(joined(redacted_arguments(self.arguments)))}"

    @property
    def child(self) -> Child | None:
        """The child, if there is one."""
        return self.children[0] if self.children else None

    @property
    def hide(self) -> Hide:
        """A function that removes the keys in the command and the environment from a text."""
        keys = secrets_in_arguments(self.arguments)  # without self: a child must not hold it
        return lambda text: hidden(text, [*keys, *environment_secrets()])

    def describe(self, check: Check) -> Description:
        """Start a child and read its description."""
        self.close()
        child = Child(self.arguments, self.who, self.hide)
        self.children.append(child)
        try:
            line = child.exchange(b"", MAX_DESCRIPTION_BYTES, self.timeout, check)
            return Description.read(read_json(line, self.hide), self.who, self.hide)
        except BaseException as error:
            errors = child.last_errors()
            self.close(grace=0)
            if isinstance(error, HungError):
                raise BlackBoxError(
                    f"{self.who} wrote nothing in {self.timeout:g} s: expected its description as "
                    f"a line of JSON, flushed{errors}"
                ) from error
            if isinstance(error, UnreadableError):
                raise self._unusable(error, errors) from error
            raise

    def exchange(self, message: bytes, limit: int, expected: Description, check: Check) -> bytes:
        """Send a line and return the line that answers it; replace a child that has died."""
        with self.lock:
            if self.child is not None and self.child.flooded is not None:
                raise self.unusable(self.child.flooded)
            is_alive = self.child is not None and self.child.lives
            if not is_alive and self.describe(check) != expected:
                self.close()
                raise BlackBoxError(
                    f"{self.who} was started again and describes itself differently: expected "
                    "the same description as before"
                )
            assert self.child is not None
            if line := self.child.unexpected_line():
                raise self.unusable(UnreadableError(f"{shown(line, self.hide)} answers no query"))
            try:
                return self.child.exchange(message, limit, self.timeout, check)
            except BaseException:
                self.close(grace=0)  # it may be in the middle of an answer
                raise

    def unusable(self, error: UnreadableError) -> BlackBoxError:
        """End a child that wrote a line that is no answer; return the error to raise."""
        errors = self.child.last_errors() if self.child else ""
        self.close(grace=0)
        return self._unusable(error, errors)

    def _unusable(self, error: UnreadableError, errors: str) -> BlackBoxError:
        return BlackBoxError(
            f"{self.who} wrote a line that cannot be used: {error}; expected nothing but answers "
            f"on standard output: print everything else to standard error{errors}"
        )

    def close(self, grace: float = GRACE_SECONDS) -> None:
        """End the child, if there is one."""
        _end_all(self.children, grace)

    def reset_after_fork(self) -> None:
        """Leave the child to the process before a fork; this process starts its own."""
        self.lock = threading.Lock()
        while self.children:
            self.children.pop().reset_after_fork()


def _end_all(children: list[Child], grace: float = GRACE_SECONDS) -> None:
    while children:
        children.pop().end(grace)


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):
        return False
