"""A child process that answers each line with a line, and never blocks or outlives seqray."""

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
from seqray.blackbox.remote.wire import MAX_DESCRIPTION_BYTES, Hide, UnreadableError, shown
from seqray.util.errors import ArgumentError, Stopped

SHOWN_ERROR_LINES = 5
"""How many of the last lines of standard error are shown when a child fails."""

MAX_ERROR_BYTES = 2**12
"""How many of the last bytes of standard error are stored."""

MAX_UNREAD_LINES = 16
"""A child that writes more lines than these before they are read does not follow the protocol."""

GRACE_SECONDS, SETTLING_SECONDS = 2.0, 0.5
"""How long a child has to end after its input has ended, and after its output has."""

GUARD_SCRIPT = "read line || {{ sleep {grace:g}; kill -KILL -{group}; }}"
"""A script that kills a group of processes when its input ends without a line.

That happens when seqray is killed and cannot end the child itself.
"""


class DeadError(Exception):
    """The child ended; the message says how, and shows its last lines of standard error."""


class HungError(Exception):
    """The child wrote nothing for too long, and was killed."""


class Child:
    """A child process, the threads that read its output, and its guard.

    Parameters
    ----------
    arguments
        The program and its arguments.
    who
        The name of the child in messages.
    hide
        Removes secrets from its output.
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
        self.hide, self.limit = hide, MAX_DESCRIPTION_BYTES
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.error_tail = b""
        self.hung = self.over = False
        self.stopped: Stopped | None = None
        self.flooded: UnreadableError | None = None
        self.readers = [
            threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(self.process.stderr,), daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def _read(self, output: IO[bytes]) -> None:
        """Put lines into the queue; stop at a line that is too long, or at too many lines."""
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
                    self._flood(f"{self._shown(line)} is one of many that answer no query")
        if begun and self.flooded is None:
            self.lines.put(bytes(begun))
        self.over = True
        self.lines.put(None)

    def _flood(self, text: str) -> None:
        self.flooded = UnreadableError(text)
        self._kill()

    def _shown(self, line: bytes | bytearray) -> str:
        return shown(bytes(line[: 2**16]), self.hide)

    def _read_errors(self, errors: IO[bytes]) -> None:
        with errors, suppress(OSError, ValueError):
            while chunk := errors.read(2**16):
                self.error_tail = (self.error_tail + chunk)[-MAX_ERROR_BYTES:]

    @property
    def lives(self) -> bool:
        """Whether it can be queried."""
        return self.process.poll() is None and not self.hung and not self.over

    def unexpected_line(self) -> bytes:
        """Return a line that answers no query; empty if there is none."""
        with suppress(queue.Empty):
            line = self.lines.get_nowait()
            if line is not None:
                return line
            self.lines.put(None)
        return b""

    def exchange(self, message: bytes, limit: int, timeout: float, check: Check) -> bytes:
        """Write a line, unless it is empty, and return the next line that comes back."""
        self.limit = limit
        done = threading.Event()
        threading.Thread(target=self._watch, args=(done, timeout, check), daemon=True).start()
        try:
            if message:
                with suppress(OSError):  # it died: reading shows how
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
        """Kill the child when its time is over, or when the check ends the query."""
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
            status = self.process.wait(SETTLING_SECONDS)
        except subprocess.TimeoutExpired:
            return f"closed its output{self.last_errors()}"
        if status < 0:
            with suppress(ValueError):
                return f"was killed by {signal.Signals(-status).name}{self.last_errors()}"
        return f"ended with exit status {status}{self.last_errors()}"

    def last_errors(self) -> str:
        """Return the end of its standard error, for a message."""
        self.readers[1].join(0.0 if self.process.poll() is None else SETTLING_SECONDS)
        text = self.hide(self.error_tail.decode("utf-8", errors="replace"))
        lines = [line for line in text.splitlines() if line.strip()][-SHOWN_ERROR_LINES:]
        return f"; its last error output: {shown(chr(10).join(lines)[-150:])}" if lines else ""

    def _kill(self) -> None:
        """Kill the child and every process that it started."""
        with suppress(OSError):
            if self.process.poll() is not None:
                return  # its process id may belong to another process by now
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def end(self, grace: float) -> None:
        """Close its input, which tells it to end; kill it if it does not end in time."""
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

    def reset_after_fork(self) -> None:
        """Close the pipes that a fork has copied: the child belongs to the process before it."""
        for process in (self.process, self.guard):
            if process is None:
                continue
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
            process.returncode = 0  # this process does not wait for it


def _guard(group: int) -> subprocess.Popen[bytes] | None:
    """Start a process that kills the child's group when this process is killed."""
    if os.name != "posix":
        return None
    with suppress(OSError):
        return subprocess.Popen(
            ["/bin/sh", "-c", GUARD_SCRIPT.format(grace=GRACE_SECONDS, group=group)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return None
