import io

from rich import progress
from rich.console import Console

from seqray.cli.common import Bar
from seqray.util.progress import PhasedProgress


def test_a_bar_says_what_is_being_done():
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    columns = ("{task.description}", "{task.completed} of {task.total} {task.fields[unit]}")
    with progress.Progress(*columns, console=console, auto_refresh=False) as shown:
        bar = Bar(shown, "asking the box")
        assert isinstance(bar, PhasedProgress)
        bar(3, 9)
        (task,) = shown.tasks
        assert (task.description, task.completed, task.total) == ("asking the box", 3, 9)
        bar.phase("fitting 5 states", "steps")
        (task,) = shown.tasks
        assert (task.description, task.completed, task.total) == ("fitting 5 states", 0, None)
        assert task.fields == {"unit": "steps"}
