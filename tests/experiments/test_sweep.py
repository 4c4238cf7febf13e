import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from seqray.experiments import cells, sweep
from seqray.experiments.cells import Cell, Settings
from seqray.experiments.problems import FileSource, GeneratedSource
from seqray.experiments.process_pool import here, processes
from seqray.experiments.sweep import Sweep
from seqray.experiments.table import choose, read_results
from seqray.util.errors import ArgumentError, FileError
from sweeps import SMALL, small_sweep, timeless

pytestmark = pytest.mark.usefixtures("quick_timing")


def test_what_was_done_is_written_down(swept):
    about = json.loads((swept.folder / "tiny.json").read_text())
    assert about["format"] == "seqray.results"
    assert about["settings"]["max_rank"] == 8
    assert about["seeds"] == {"basis": 0, "rnn": 1, "held_out": 2}
    assert about["numpy"] == np.__version__
    assert about["holes"] == about["failed"] == {}
    phases = {"references", "target", "basis", "fill", "svd", "distilled"}
    phases |= {"ranks_test", "ranks_rnn", "ranks_held_out"}
    assert set(about["seconds"]["2"]) == phases
    assert about["processor"]


# Going on -----------------------------------------------------------------------------------------


def test_what_is_there_is_not_done_again(swept):
    before = {path: path.stat().st_mtime_ns for path in swept.parts.iterdir()}
    content = swept.table.read_bytes()
    summary = small_sweep(swept.folder).run(executor=no_work)
    assert (summary.n_done, summary.n_there) == (0, 8)
    assert {path: path.stat().st_mtime_ns for path in swept.parts.iterdir()} == before
    assert swept.table.read_bytes() == content


def no_work(jobs, function, on_done):
    assert not jobs


def test_processes_find_the_same_as_this_one(swept, tmp_path):
    other = small_sweep(tmp_path)
    steps = []
    other.run(executor=processes(2), on_step=steps.append)
    assert timeless(other.table) == timeless(swept.table)
    assert [step.n_done for step in steps] == list(range(1, 9))
    assert steps[-1].share == 1
    assert {str(step.job) for step in steps} >= {
        "problem 1: 20 × 20",
        "problem 2: the box",
        "problem 2: time and memory",
    }


def test_problems_and_sizes_can_be_added(swept, tmp_path):
    small_sweep(tmp_path, problems=[2], sizes=(30,)).run()
    names = sorted(path.name for path in (tmp_path / "parts" / "tiny").glob("*.json"))
    assert names == ["2-30.json", "2-boxes.json", "2-distilled.json", "settings.json"]
    small_sweep(tmp_path, problems=[1], sizes=(20, 30)).run()
    summary = small_sweep(tmp_path, problems=[2], sizes=(20,)).run()
    assert (summary.n_done, summary.n_there) == (1, 2)
    assert timeless(tmp_path / "tiny.csv.gz") == timeless(swept.table)


def test_other_settings_are_refused_unless_it_begins_anew(swept, tmp_path):
    first = small_sweep(tmp_path, problems=[1], sizes=(20,))
    first.run()
    other = small_sweep(
        tmp_path, problems=[1], sizes=(20,), settings=replace(SMALL, seed=3, n_rnn=51)
    )
    with pytest.raises(ArgumentError, match=r"seed was 0, is 3; n_rnn was 50, is 51.*begin anew"):
        other.run()
    assert timeless(first.table) == choose(timeless(swept.table), problem="1", prefixes=20)
    other.begin_anew()
    other.run()
    assert {row.seed for row in read_results(other.table)} == {3}


def test_a_table_without_its_parts_is_not_replaced(tmp_path):
    (tmp_path / "tiny.csv.gz").write_bytes(b"dear")
    with pytest.raises(ArgumentError, match="there is a table already, but not its parts"):
        small_sweep(tmp_path).run()
    assert (tmp_path / "tiny.csv.gz").read_bytes() == b"dear"


def test_a_problem_whose_network_has_changed_is_done_anew(tmp_path, monkeypatch):
    small_sweep(tmp_path, problems=[1, 2]).run()
    monkeypatch.setattr(GeneratedSource, "fingerprint", lambda self: f"new {self.number}")
    summary = small_sweep(tmp_path, problems=[1], sizes=(20,)).run()
    assert summary.n_done == 3
    rows = read_results(tmp_path / "tiny.csv.gz")  # the old 30 × 30 of problem 1 is gone
    assert {(row.problem, row.prefixes) for row in rows} == {("1", 20), ("2", 20), ("2", 30)}


def test_a_failing_problem_stops_no_other_and_is_tried_again(tmp_path, monkeypatch):
    true = GeneratedSource.read

    def read(self):
        if self.number == 1:
            raise FileError("1.test: damaged")
        return true(self)

    with monkeypatch.context() as patch:
        patch.setattr(GeneratedSource, "read", read)
        cells.prepared.cache_clear()
        summary = small_sweep(tmp_path, sizes=(20,)).run()
    assert dict(summary.failed) == {
        f"1-{what}": "1.test: damaged" for what in ("boxes", "20", "distilled")
    }
    assert {row.problem for row in read_results(summary.table)} == {"2"}
    assert json.loads((tmp_path / "tiny.json").read_text())["failed"]["1-20"] == "1.test: damaged"
    again = small_sweep(tmp_path, sizes=(20,)).run()
    assert (again.failed, again.n_done, again.n_there) == ({}, 3, 3)
    assert {row.problem for row in read_results(summary.table)} == {"1", "2"}


def test_holes_are_written_down(tmp_path):
    gone = FileSource("9", tmp_path / "9.safetensors", tmp_path / "9.test", None)
    holed = Sweep("tiny", tmp_path, [gone, GeneratedSource(1)], (20,), SMALL, ["paper"])
    summary = holed.run()
    assert summary.holes == {"9": f"there is no file {tmp_path}/9.test"}
    assert json.loads((tmp_path / "tiny.json").read_text())["holes"] == summary.holes


@pytest.mark.parametrize("name", ["1-20.json", "1-20.csv.gz", "settings.json"])
def test_a_damaged_part_is_named(tmp_path, name):
    one = small_sweep(tmp_path, problems=[1], sizes=(20,))
    one.run()
    (one.parts / name).write_bytes(b"{")
    with pytest.raises(FileError, match=name):
        one.run()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot be made"):
        small_sweep(tmp_path / "file").run()


def test_sizes_and_methods_are_checked(tmp_path):
    with pytest.raises(ArgumentError, match="sizes: expected numbers from 1"):
        small_sweep(tmp_path, sizes=())
    for odd in ((), ("paper", "weighted"), "auto"):
        with pytest.raises(ArgumentError, match="methods: expected 'paper', 'auto' or both"):
            small_sweep(tmp_path, methods=odd)


# Our own method -----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["paper", "auto"])
def test_either_method_can_be_added_to_the_other(frugal, swept, tmp_path, first):
    second = {"paper": "auto", "auto": "paper"}[first]
    small_sweep(tmp_path, problems=[2], methods=[first]).run()
    methods = {row.method for row in read_results(tmp_path / "tiny.csv.gz")}
    assert methods - {"copy"} == {first}
    parts = tmp_path / "parts" / "tiny"
    before = {path.name: path.read_bytes() for path in parts.iterdir()}
    summary = small_sweep(tmp_path, problems=[2], methods=[second]).run()
    assert summary.n_there == 1  # the box
    assert before.items() <= {path.name: path.read_bytes() for path in parts.iterdir()}.items()
    both = small_sweep(tmp_path, problems=[2], methods=["paper", "auto"]).run(executor=no_work)
    assert (both.n_done, both.n_there) == (0, 5)
    rows = timeless(both.table)
    assert {row.method for row in rows} - {"copy"} == {"paper", "auto"}
    assert choose(rows, method="paper") == choose(timeless(swept.table), problem="2")
    about = json.loads((tmp_path / "tiny.json").read_text())
    assert list(about["rounds"]) == ["2"]
    assert {"auto_extract", "fill"} <= set(about["seconds"]["2"])


def test_parts_of_a_sweep_that_knew_no_other_method_stay_valid(tmp_path):
    small_sweep(tmp_path, problems=[1], sizes=(20,)).run()
    path = tmp_path / "parts" / "tiny" / "settings.json"
    settings = json.loads(path.read_text())
    del settings["n_contexts"], settings["checksum"]
    path.write_text(json.dumps(settings))
    assert small_sweep(tmp_path, problems=[1], sizes=(20,)).run(executor=no_work).n_there == 3


def test_our_own_method_is_about_as_much_work_as_a_large_basis():
    whole = Settings()
    sizes = [
        sweep.SweepJob(str(n), Cell(GeneratedSource(1), "", n, whole)).work for n in (800, 1400)
    ]
    assert (
        sizes[0] < sweep.SweepJob("auto", Cell(GeneratedSource(1), "", 300, whole)).work < sizes[1]
    )


# Killing ------------------------------------------------------------------------------------------

SCRIPT = """
import sys
from pathlib import Path
from seqray.experiments.process_pool import here, processes
from seqray.experiments import distillation
from seqray.experiments.cells import Settings
from seqray.experiments.problems import sources
from seqray.experiments.sweep import Sweep

if __name__ == "__main__":
    distillation.N_TIMINGS, distillation.N_ALONE = 1, 2
    small = Settings(max_rank=8, n_test=60, n_rnn=50, n_held_out=40)
    extraction, sizes = sources("generated", problems=[1, 2]), (20, 30)
    sweep = Sweep("tiny", Path(sys.argv[1]), extraction, sizes, small, methods=["paper"])
    print("ready", flush=True)

    def report(step):
        print(step.job.name, flush=True)
        sys.stdin.readline()  # until the test has seen it

    sweep.run(executor=processes(2) if sys.argv[2] == "2" else here, on_step=report)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_sweep_that_is_killed_goes_on_and_ends_with_the_same_table(swept, tmp_path, n_jobs):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    folder = tmp_path / "results"
    command = [sys.executable, str(script), str(folder), str(n_jobs)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as running:
        names = [running.stdout.readline().strip() for _ in range(2)][1:]
        for _ in range(2):
            running.stdin.write("\n")
            running.stdin.flush()
            names.append(running.stdout.readline().strip())
        running.send_signal(signal.SIGKILL)
    parts = folder / "parts" / "tiny"
    assert not (folder / "tiny.csv.gz").exists()
    kept = {path.name: path.read_bytes() for path in parts.iterdir() if path.is_file()}
    assert {f"{name}.json" for name in names} <= set(kept)
    summary = small_sweep(folder).run(executor=here)
    assert summary.n_there == len([name for name in kept if name.endswith(".json")]) - 1 >= 3
    assert summary.n_done == 8 - summary.n_there
    assert {name: (parts / name).read_bytes() for name in kept} == kept
    assert timeless(summary.table) == timeless(swept.table)


def test_a_sweep_that_is_killed_at_any_moment_goes_on(swept, tmp_path):
    """Some kills, whenever: in the middle of a cell, of a write, of the merging."""
    script, folder = tmp_path / "run.py", tmp_path / "results"
    script.write_text(SCRIPT.replace("sys.stdin.readline()", "pass"))
    command = [sys.executable, str(script), str(folder), "1"]
    for attempt in range(4):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout.readline() == "ready\n"
            time.sleep(0.12 * attempt)
            running.send_signal(signal.SIGKILL)
    assert small_sweep(folder).run().failed == {}
    assert timeless(folder / "tiny.csv.gz") == timeless(swept.table)
