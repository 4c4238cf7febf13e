"""Black boxes in a child process, which reads words and writes answers as lines of JSON.

A child that dies is started again; what it was asked is asked again, or in halves, until the word
is found that it dies of. docs/boxes/cmd.md says what a child has to do.
"""

from __future__ import annotations

import hashlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from seqray.arrays import IntArray, whole_number
from seqray.blackbox.asked import AskedBox, AskedModel, FailedError, halving
from seqray.blackbox.wire import (
    Description,
    UnreadableError,
    read_answers,
    read_json,
    shown,
    words_message,
)
from seqray.errors import ArgumentError, BlackBoxError
from seqray.files import fingerprint
from seqray.words import Words

LAST_WORDS = 5
"""Lines of standard error that are shown when a child fails."""

GRACE, SETTLING = 2.0, 0.5
"""Seconds that a child has to end after its input has, and after its output has."""


def cmd_box(
    command: str | Sequence[str],
    *,
    timeout: float = 60.0,
    batch_size: int = 256,
    restarts: int = 3,
) -> AskedBox | AskedModel:
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
        How often a child that dies of a word is started again to be asked about it.

    Returns
    -------
    box
        A `seqray.blackbox.asked.AskedBox`, or an `AskedModel` where the child predicts.

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
    seat = Seat(arguments, timeout)
    try:
        description = seat.describe()
    except DeadError as error:
        raise BlackBoxError(f"{seat.who} {error}: expected its description") from error
    asker = CmdAsker(seat, description, description.batch(batch_size), restarts)
    weakref.finalize(asker, seat.close)
    return description.box(asker)


def _arguments(command: str | Sequence[str]) -> tuple[str, ...]:
    try:
        split = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise ArgumentError(f"the command {command!r} cannot be read: {error}") from error
    if not split or not split[0]:
        raise ArgumentError("command: expected a program and its arguments, got nothing")
    return tuple(split)


@dataclass(frozen=True, eq=False)
class CmdAsker:
    """Asks a child process; see `cmd_box`."""

    seat: Seat
    description: Description
    batch_size: int
    restarts: int

    @property
    def who(self) -> str:
        """The command."""
        return self.seat.who

    @property
    def fingerprint(self) -> str:
        """The command, and a digest of it, of how the child describes itself, and of its files.

        The files that the command names, scripts or models, count where the child has no
        fingerprint of its own.
        """
        arguments = self.seat.arguments
        files = [] if self.description.fingerprint else filter(_is_file, arguments)
        about = repr([arguments, self.description.digest(), fingerprint(*files)])
        return f"cmd:{shlex.join(arguments)} {hashlib.sha256(about.encode()).hexdigest()}"

    @property
    def deterministic(self) -> bool:
        """Whether the child says so."""
        return self.description.deterministic

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that it says it can read."""
        return self.description.max_length

    def ask(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield answers batch by batch."""
        self.description.check_lengths(words, self.who)

        def ask(which: IntArray) -> Any:
            return self._answers(words[which])

        for begin in range(0, len(words), self.batch_size):
            which = np.arange(begin, min(begin + self.batch_size, len(words)))
            yield from halving(ask, words, which, self.who)

    def _answers(self, words: Words) -> list[Any]:
        """Ask about words, and again where the child dies: only once more if they are many."""
        message = words_message(words) + b"\n"
        tries = min(self.restarts, 1) if len(words) > 1 else self.restarts
        for attempt in range(tries + 1):
            try:
                return read_answers(self.seat.ask(message, self.description), self.who)
            except DeadError as error:
                if attempt == tries:
                    times = f" ({attempt + 1} times)" if attempt else ""
                    raise FailedError(f"it {error}{times}") from error
            except HungError as error:
                raise BlackBoxError(
                    f"{self.who} gave no answer in {self.seat.timeout:g} s to {len(words)} words "
                    f"that begin with {words.alphabet.show(words[0])!r}, and was ended: expected a "
                    "line of JSON, flushed, in that time; ask about fewer words at once "
                    "(batch_size) or wait longer (timeout)"
                ) from error
            except UnreadableError as error:
                raise self.seat.junk(error) from error
        raise AssertionError  # the last attempt returns or raises


class DeadError(Exception):
    """The child ended; the message says how, and what it said last."""


class HungError(Exception):
    """The child said nothing for too long, and was ended."""


@dataclass(eq=False)
class Seat:
    """Where a child sits: started when it is needed, and again when it has died."""

    arguments: tuple[str, ...]
    timeout: float
    child: Child | None = None
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def who(self) -> str:
        """Who answers."""
        return f"the command {shown(shlex.join(self.arguments))}"

    def describe(self) -> Description:
        """Start a child and read how it describes itself."""
        self.close()
        self.child = child = Child(self.arguments, self.who)
        try:
            return Description.read(read_json(child.exchange(b"", self.timeout)), self.who)
        except BaseException as error:
            said = child.last_words()
            self.close(grace=0)
            if isinstance(error, HungError):
                raise BlackBoxError(
                    f"{self.who} said nothing in {self.timeout:g} s: expected its description as "
                    f"a line of JSON, flushed{said}"
                ) from error
            if isinstance(error, UnreadableError):
                raise self._junk(error, said) from error
            raise

    def ask(self, message: bytes, expected: Description) -> bytes:
        """Send a line and return the one that answers it; a child that is gone is replaced."""
        with self.lock:
            if self.child is None or not self.child.lives:
                found = self.describe()
                if found != expected:
                    self.close()
                    raise BlackBoxError(
                        f"{self.who} was started again and describes itself differently: expected "
                        "the same box as before"
                    )
            assert self.child is not None
            if line := self.child.unasked():
                raise self.junk(UnreadableError(f"{shown(line)} answers nothing"))
            try:
                return self.child.exchange(message, self.timeout)
            except BaseException:
                self.close(grace=0)  # it may be in the middle of an answer
                raise

    def junk(self, error: UnreadableError) -> BlackBoxError:
        """End a child that says what is no answer, and say so."""
        said = self.child.last_words() if self.child else ""
        self.close(grace=0)
        return self._junk(error, said)

    def _junk(self, error: UnreadableError, said: str) -> BlackBoxError:
        return BlackBoxError(
            f"{self.who} wrote a line that cannot be used: {error}; expected nothing but answers "
            f"on standard output: print everything else to standard error{said}"
        )

    def close(self, grace: float = GRACE) -> None:
        """End the child, if there is one."""
        child, self.child = self.child, None
        if child is not None:
            child.end(grace)


class Child:
    """A process, and the threads that read what it says."""

    def __init__(self, arguments: tuple[str, ...], who: str) -> None:
        try:
            self.process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for seqray, which then ends the child
            )
        except FileNotFoundError as error:
            raise ArgumentError(f"{who}: there is no program {arguments[0]!r}") from error
        except (OSError, ValueError) as error:
            raise ArgumentError(f"{who} cannot be started: {error}") from error
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.errors: deque[bytes] = deque(maxlen=LAST_WORDS)
        self.hung = self.over = False
        self.readers = [
            threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True),
            threading.Thread(target=self._overhear, args=(self.process.stderr,), daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def _read(self, output: IO[bytes]) -> None:
        with output, suppress(OSError, ValueError):
            for line in output:
                self.lines.put(line)
        self.over = True
        self.lines.put(None)

    def _overhear(self, errors: IO[bytes]) -> None:
        with errors, suppress(OSError, ValueError):
            self.errors.extend(line for line in errors if line.strip())

    @property
    def lives(self) -> bool:
        """Whether it can be asked."""
        return self.process.poll() is None and not self.hung and not self.over

    def unasked(self) -> bytes:
        """Return what it said without being asked."""
        with suppress(queue.Empty):
            line = self.lines.get_nowait()
            if line is not None:
                return line
            self.lines.put(None)
        return b""

    def exchange(self, message: bytes, timeout: float) -> bytes:
        """Write a line, if there is one, and return the next that comes back."""
        watchdog = threading.Timer(timeout, self._expire)
        watchdog.daemon = True
        watchdog.start()
        assert self.process.stdin is not None
        try:
            if message:
                with suppress(OSError):  # it died: reading tells
                    self.process.stdin.write(message)
                    self.process.stdin.flush()
            line = self.lines.get()
        finally:
            watchdog.cancel()
        if line is not None:
            return line
        if self.hung:
            raise HungError
        raise DeadError(self._how_it_ended())

    def _expire(self) -> None:
        self.hung = True
        self._kill()
        self.lines.put(None)

    def _how_it_ended(self) -> str:
        try:
            status = self.process.wait(SETTLING)
        except subprocess.TimeoutExpired:
            return f"closed its output{self.last_words()}"
        if status < 0:
            with suppress(ValueError):
                return f"was killed by {signal.Signals(-status).name}{self.last_words()}"
        return f"ended with exit status {status}{self.last_words()}"

    def last_words(self) -> str:
        """Return the end of what it wrote to standard error, for a message."""
        self.readers[1].join(0.0 if self.process.poll() is None else SETTLING)
        text = b"\n".join(list(self.errors)).decode("utf-8", errors="replace")
        return f"; it said last: {shown(text[-150:])}" if text else ""

    def _kill(self) -> None:
        """Kill it with all that it has started."""
        with suppress(OSError):
            if self.process.poll() is not None:
                return  # its number may be another's by now
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def end(self, grace: float) -> None:
        """Close its input, which asks it to end, and kill it where it does not."""
        assert self.process.stdin is not None
        if self.lives and grace:
            with suppress(OSError, subprocess.TimeoutExpired):
                self.process.stdin.close()
                self.process.wait(grace)
        self._kill()
        self.process.wait()
        with suppress(OSError):
            self.process.stdin.close()


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):
        return False
