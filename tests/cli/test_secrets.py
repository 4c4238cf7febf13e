"""Keys on the command line reach no file that a command writes, and nothing that it prints."""

import shlex

import pytest

from children import child_command
from same_gru.server import LENGTHS, serving

KEY = "k3y-0f-mine"
TINY = ("--prefixes", "10", "--suffixes", "10", "--max-rank", "2")


@pytest.fixture(params=["address", "command"])
def box(request, tmp_path):
    """A box that is given a key."""
    if request.param == "command":
        yield f"cmd:{shlex.join(child_command(tmp_path))} --api-key {KEY}"
    else:
        with serving(LENGTHS) as server:
            yield f"{server.url}?key={KEY}"


def test_a_key_reaches_no_file_and_no_page(folder, run_both, box):
    said = run_both("extract", box, "-o", "run", *TINY)
    said += run_both("explore", "run", "-o", "page.html")
    said += run_both("evaluate", "run", "--against", box)
    said += run_both("store", "info")
    assert KEY not in "".join(said)
    assert '***"' in (folder / "run" / "config.json").read_text()
    made = [*folder.glob("run/*"), *folder.glob(".answers.sqlite*"), folder / "page.html"]
    assert not [path.name for path in made if KEY.encode() in path.read_bytes()]
