"""A child process that answers lines by lines, and never holds up or outlives the one who asks."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import IO

from seqray.blackbox.remote.waiting import FINISHING_SECONDS, TICK_SECONDS, Check
from seqray.blackbox.remote.wire import DESCRIPTION_SIZE, Hide, UnreadableError, shown
from seqray.util.errors import ArgumentError, Stopped

LAST_WORDS = 5
"""Lines of standard error that are shown when a child fails."""

TAIL_SIZE = 2**12
"""Bytes of standard error that are remembered."""

MAX_UNREAD_LINES = 16
"""A child that has written more lines than these before they are wanted does not wait for any."""

GRACE, SETTLING = 2.0, 0.5
"""Seconds that a child has to end after its input has, and after its output has."""

GUARD = "read line || {{ sleep {grace:g}; kill -KILL -{group}; }}"
"""Ends a group of processes when its own input ends without a line: nobody is left who would."""


class DeadError(Exception):
    """The child ended; the message says how, and what it said last."""


class HungError(Exception):
    """The child said nothing for too long, and was ended."""


class Child:
    """A process, the threads that read what it says, and its guard.

    Parameters
    ----------
    arguments
        The program and its arguments.
    who
        What to call it.
    hide
        Takes secrets out of what it says.
    """

    def __init__(self, arguments: tuple[str, ...], who: str, hide: Hide) -> None:
        try:
            self.process = subprocess.Popen(
                arguments,
                bufsize=0,  # a buffer has a lock, which a fork would copy
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
        self.guard = _guard(self.process.pid)
        self.hide, self.limit = hide, DESCRIPTION_SIZE
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.tail = b""
        self.hung = self.over = False
        self.stopped: Stopped | None = None
        self.flooded: UnreadableError | None = None
        self.readers = [
            threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True),
            threading.Thread(target=self._overhear, args=(self.process.stderr,), daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def _read(self, output: IO[bytes]) -> None:
        """Hand on lines, but no more and no longer ones than anybody can want."""
        begun, line = bytearray(), b""
        with output, suppress(OSError, ValueError):
            while self.flooded is None and (chunk := output.read(2**16)):
                *ends, rest = chunk.split(b"\n")
                for end in ends:
                    line = bytes(begun) + end + b"\n"
                    self.lines.put(line)
                    begun.clear()
                begun += rest
                if len(begun) > self.limit:
                    self._flood(f"{self._shown(begun)} goes on for more than {self.limit:,} bytes")
                elif self.lines.qsize() > MAX_UNREAD_LINES:
                    self._flood(f"{self._shown(line)} is one of many that answer nothing")
        if begun and self.flooded is None:
            self.lines.put(bytes(begun))
        self.over = True
        self.lines.put(None)

    def _flood(self, text: str) -> None:
        self.flooded = UnreadableError(text)
        self._kill()

    def _shown(self, line: bytes | bytearray) -> str:
        return shown(bytes(line[: 2**16]), self.hide)

    def _overhear(self, errors: IO[bytes]) -> None:
        with errors, suppress(OSError, ValueError):
            while chunk := errors.read(2**16):
                self.tail = (self.tail + chunk)[-TAIL_SIZE:]

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

    def exchange(self, message: bytes, limit: int, timeout: float, check: Check) -> bytes:
        """Write a line, if there is one, and return the next that comes back."""
        self.limit = limit
        done = threading.Event()
        threading.Thread(target=self._watch, args=(done, timeout, check), daemon=True).start()
        try:
            if message:
                with suppress(OSError):  # it died: reading tells
                    self._write(message)
            line = self.lines.get()
        finally:
            done.set()
        if line is not None:
            return line
        if self.flooded is not None:
            raise self.flooded
        if self.stopped is not None:
            raise self.stopped
        if self.hung:
            raise HungError
        raise DeadError(self._how_it_ended())

    def _write(self, message: bytes) -> None:
        assert self.process.stdin is not None
        rest = memoryview(message)
        while rest:
            rest = rest[self.process.stdin.write(rest) :]

    def _watch(self, done: threading.Event, timeout: float, check: Check) -> None:
        """End the child when time is over, its own or that of whoever asks."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if done.wait(min(left, TICK_SECONDS)):
                return
            try:
                check()
            except Stopped as stopped:
                if done.wait(FINISHING_SECONDS):
                    return
                self.stopped = stopped
                break
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
        text = self.hide(self.tail.decode("utf-8", errors="replace"))
        lines = [line for line in text.splitlines() if line.strip()][-LAST_WORDS:]
        return f"; it said last: {shown(chr(10).join(lines)[-150:])}" if lines else ""

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
        if self.guard is not None:
            with suppress(OSError):
                self.guard.communicate(b"\n")

    def forget(self) -> None:
        """Let go of pipes that a fork has copied: the child is another process's."""
        for process in (self.process, self.guard):
            if process is None:
                continue
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
            process.returncode = 0  # nobody here waits for it


def _guard(group: int) -> subprocess.Popen[bytes] | None:
    """Start what ends the child when this process is killed, and the child does not see to it."""
    if os.name != "posix":
        return None
    with suppress(OSError):
        return subprocess.Popen(
            ["/bin/sh", "-c", GUARD.format(grace=GRACE, group=group)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return None
