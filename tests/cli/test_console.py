import io
import logging
import sys

from rich import progress
from rich.console import Console

from seqray.cli.console import ProgressBar, notes, progress_bar
from seqray.util.progress import PhasedProgress


def test_a_bar_says_what_is_being_done():
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    columns = ("{task.description}", "{task.completed} of {task.total} {task.fields[unit]}")
    with progress.Progress(*columns, console=console, auto_refresh=False) as shown:
        bar = ProgressBar(shown, "querying the box", "answers")
        assert isinstance(bar, PhasedProgress)
        bar(3, 9)
        (task,) = shown.tasks
        assert (task.description, task.completed, task.total) == ("querying the box", 3, 9)
        bar.phase("fitting 5 states", "steps")
        (task,) = shown.tasks
        assert (task.description, task.completed, task.total) == ("fitting 5 states", 0, None)
        assert task.fields == {"unit": "steps"}
        bar.describe("fitting 6 states")
        bar.print("a line above the bar")
        (task,) = shown.tasks
        assert task.description == "fitting 6 states"
    assert "a line above the bar" in console.file.getvalue()


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
