"""Ctrl-C and SIGTERM: what they do while a command works, while it cleans up, and at its end."""

from __future__ import annotations

import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

RETRY_SECONDS = 0.02
"""How long a signal waits that comes while a finalizer runs, before it is tried again."""

MAX_FINALIZER_SECONDS = 5.0
"""A finalizer that takes longer is interrupted: Ctrl-C must always end a command."""

FINALIZERS_FILE = weakref.finalize.__call__.__code__.co_filename


@contextmanager
def ending_like_ctrl_c(*, is_program: bool) -> Iterator[None]:
    """Make SIGTERM, by which systems and job queues end programs, the same as Ctrl-C.

    ``is_program`` says that Python ends after the block. That takes a while, and the work is done:
    the first signal behind the block is ignored.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    interrupt = signal.signal(signal.SIGINT, Interrupt())
    terminate = signal.signal(signal.SIGTERM, _interrupt_instead)
    shows_lost = sys.unraisablehook
    sys.unraisablehook = _comes_again_or(shows_lost)
    try:
        yield
    finally:
        sys.unraisablehook = shows_lost
        signal.signal(signal.SIGINT, _ignore_once if is_program else interrupt)
        signal.signal(signal.SIGTERM, _ignore_once if is_program else terminate)


def ignore_signals() -> None:
    """Let no late Ctrl-C turn work that is done into a failure: leaving Python takes a while."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


class Interrupt:
    """Raises `KeyboardInterrupt`, but not in a finalizer; a handler for signals.

    Python drops what a finalizer raises, and goes on: the interrupt would be lost, and what the
    finalizer has not closed by then would stay. So the signal comes again after a while.
    """

    def __init__(self) -> None:
        self._deadline: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise the exception, or send the signal again."""
        now = time.monotonic()
        if not _in_finalizer(frame) or now > (self._deadline or now):
            self._deadline = None
            raise KeyboardInterrupt
        self._deadline = self._deadline or now + MAX_FINALIZER_SECONDS
        _send_again(number)


def _send_again(number: int) -> None:
    """Send a signal a little later."""
    again = threading.Timer(RETRY_SECONDS, _send, (number,))
    again.daemon = True
    again.start()


def _send(number: int) -> None:
    """Send a signal to the main thread, which wakes up where it waits."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def _comes_again_or(
    shows: Callable[[UnraisableHookArgs], object],
) -> Callable[[UnraisableHookArgs], None]:
    """Return what to do with an exception that Python drops: Ctrl-C comes again, others are shown.

    Some callbacks are no finalizers that `Interrupt` knows, such as that of a lock of an import.
    """

    def hook(lost: UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            _send_again(signal.SIGINT)
        else:
            shows(lost)

    return hook


def _in_finalizer(frame: FrameType | None) -> bool:
    """Whether code runs because an object is gone: a callback of `weakref`, or a ``__del__``."""
    while frame is not None:
        if frame.f_code.co_filename == FINALIZERS_FILE or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _interrupt_instead(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does at this moment."""
    signal.raise_signal(signal.SIGINT)


def _ignore_once(number: int, frame: FrameType | None) -> None:
    """Ignore a signal; the next one ends Python, should something keep it from leaving."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
