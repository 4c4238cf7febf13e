"""Standard output and standard error: signs that they lack are spelt; boxes print to the second.

Nothing here needs numpy or rich, so that ``seqray --help`` does not wait for them.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

SIGNS = {
    **{"→": ">", "…": "...", "×": "x", "±": "+/-", "–": "-", "−": "-", "✓": "+", "✗": "x"},
    **{"·": ".", "Σ": "sum ", "σ": "s", "₅": "5", "₂": "2", "µ": "u"},
}
"""How seqray's own signs are written where there are none; all others by their numbers."""


def show_anything() -> None:
    """Let standard output and standard error write every text, whatever their encoding has."""
    codecs.register_error("seqray.spelt", spelt)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # a test's stream has none
        if reconfigure is not None:
            reconfigure(errors="seqray.spelt")


def spelt(error: UnicodeError) -> tuple[str, int]:
    r"""Write what an encoding does not have in ASCII; a handler for `codecs.register_error`.

    >>> codecs.register_error("seqray.spelt", spelt)
    >>> "→ é 漢".encode("cp1252", "seqray.spelt")
    b'> \xe9 \\u6f22'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    text = "".join(SIGNS.get(sign, sign) for sign in missing)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


def can_show(text: str) -> bool:
    """Whether standard output has all these signs."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@contextmanager
def box_prints_to_stderr() -> Iterator[None]:
    """Send what a box prints to standard error, so that it does not stand in a command's output."""
    with _descriptor_to_stderr(), redirect_stdout(sys.stderr):
        yield


@contextmanager
def _descriptor_to_stderr() -> Iterator[None]:
    """Do that also for libraries and programs that know nothing of Python's ``sys.stdout``."""
    output, errors = sys.__stdout__, sys.__stderr__
    if output is None or errors is None or output.closed or errors.closed:
        yield
        return
    output.flush()
    kept = os.dup(output.fileno())
    os.dup2(errors.fileno(), output.fileno())
    try:
        yield
    finally:
        try:
            output.flush()
        finally:
            os.dup2(kept, output.fileno())
            os.close(kept)
