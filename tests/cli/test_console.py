import io
import logging
import sys

from seqray.cli.console import notes, progress_bar


class Terminal(io.StringIO):
    """A terminal that keeps what it shows."""

    def isatty(self):
        return True


def test_a_note_has_a_line_of_its_own_above_the_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with notes(), progress_bar("querying the box") as bar:
        bar(3, 9)
        logging.getLogger("seqray.learning").warning("many states")
    assert "\x1b[2KNote: many states\n" in terminal.getvalue()
