"""Bars on a terminal and in a notebook."""

import io
import sys
from types import SimpleNamespace

import pytest
from rich import progress
from rich.console import Console

import seqray
from seqray.util import progress_bar
from seqray.util.progress import PhasedProgress, shown_progress
from seqray.util.progress_bar import NotebookBar, ProgressBar, is_notebook, own_bar

BOX = seqray.language_model(lambda prefixes: [[0.5, 0.25, 0.25]] * len(prefixes), "ab")


class Terminal(io.StringIO):
    """A terminal that keeps what it shows."""

    def isatty(self):
        return True


@pytest.fixture
def cell(monkeypatch):
    """What is shown below the cell of a notebook, one after the other."""
    updates = []
    handle = SimpleNamespace(update=lambda data, raw: updates.append(data["text/html"]))
    display = SimpleNamespace(display=lambda data, raw, display_id: handle)
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(progress_bar, "REDRAW_SECONDS", 0.0)
    return updates


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


def test_a_terminal_shows_a_bar_while_the_block_runs(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with own_bar("querying the box", "answers") as bar:
        assert isinstance(bar, PhasedProgress)
        bar(3, 9)
    assert "querying the box" in terminal.getvalue()


def test_no_bar_is_shown_where_there_is_no_terminal(capsys):
    seqray.extract(BOX, n_prefixes=5, purpose="reading", progress=True)
    assert capsys.readouterr().out == ""


def test_a_notebook_shows_a_bar_that_is_gone_in_the_end(cell):
    assert is_notebook()
    seqray.learn_pdfa(BOX, progress=True)
    assert any("<progress" in html and "answers" in html for html in cell)
    assert cell[-1] == ""


def test_the_bar_of_a_notebook_is_gone_after_an_error(cell):
    def interrupted():
        with own_bar("training", "steps") as bar:
            bar(1, 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert cell == ['<div>training <progress value="1" max="2"></progress> 1 of 2 steps</div>', ""]


def test_where_the_end_is_unknown_the_bar_says_how_much_is_done(cell):
    with own_bar("querying the box", "answers") as bar:
        bar.phase("<b>", "steps")
        bar(1200, 0)
    assert cell[0] == "<div>&lt;b&gt; <progress></progress> 1,200 steps</div>"


def test_a_bar_in_a_notebook_is_not_drawn_at_every_call():
    shown = []
    bar = NotebookBar(shown.append, "querying the box", "answers")
    for done in range(1000):
        bar(done, 1000)
    assert 1 <= len(shown) < 10


def test_python_without_ipython_is_no_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not is_notebook()


def test_no_progress_is_shown_unless_it_is_wanted():
    with shown_progress(False) as nothing, shown_progress(print) as own:
        assert nothing is None
        assert own is print
