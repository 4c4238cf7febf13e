import csv
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import seqray
from seqray.experiments import cells, distillation, sweep
from seqray.experiments.boxes import read_boxes
from seqray.experiments.cells import Cell, Settings, measure
from seqray.experiments.distillation import Distilled
from seqray.experiments.problems import FileSource, GeneratedSource, load, sources
from seqray.experiments.process_pool import here, processes
from seqray.experiments.sweep import Sweep
from seqray.experiments.table import choose, read_results
from seqray.fidelity.compare import compare_ranks
from seqray.fidelity.reference import Reference
from seqray.util.errors import ArgumentError, FileError

SMALL = Settings(max_rank=8, n_test=60, n_rnn=50, n_held_out=40)


def small(folder, *, problems=(1, 2), sizes=(20, 30), settings=SMALL, methods=("paper",)):
    found = sources("generated", problems=problems)
    return Sweep("tiny", Path(folder), found, sizes, settings, methods)


def timeless(path):
    return [row._replace(seconds=0) for row in read_results(path)]


@pytest.fixture(autouse=True, scope="module")
def _hasty():
    """Take times once, and of few words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distillation, "N_TIMINGS", 1)
        patch.setattr(distillation, "N_ALONE", 2)
        yield


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep that ran without a break."""
    whole = small(tmp_path_factory.mktemp("swept"))
    whole.run()
    return whole


@pytest.fixture(scope="module")
def problem():
    return load(GeneratedSource(1), n_test=60, n_rnn=50, n_held_out=40)


# What is measured ---------------------------------------------------------------------------------


def test_the_automata_are_those_of_the_papers_method(swept, problem):
    found = seqray.extract(problem.box, prefixes=30, suffixes=30, max_rank=8, method="paper")
    rows = choose(read_results(swept.table), problem="1", prefixes=30, selection="all")
    assert [row.rank for row in choose(rows, set="test")] == list(range(1, 9))
    for words, reference in (
        ("test", Reference.query(problem.box, problem.test, problem.target)),
        ("rnn", Reference.query(problem.box, problem.rnn)),
    ):
        for row in choose(rows, set=words, rank=(1, 5, 8)):
            fidelity = reference.compare(found.automaton(row.rank))
            for name in ("ndcg1", "ndcg5", "perplexity_ratio", "kl", "wer", "zeros"):
                assert getattr(row, name) == pytest.approx(fidelity[name], rel=1e-6), name
            assert (row.method, row.suffixes, row.seed) == ("paper", 30, 0)


def test_rows_are_selected_on_the_evaluation_words_and_on_others(swept, problem):
    results = read_results(swept.table)
    found = seqray.extract(problem.box, prefixes=30, suffixes=30, max_rank=8, method="paper")
    reference = Reference.query(problem.box, problem.held_out)
    table = compare_ranks(reference, found.automaton(8), range(1, 9))
    nearly = table["ndcg5"] >= table["ndcg5"].max() - 1e-3
    for words in ("test", "rnn"):
        rows = choose(results, problem="1", prefixes=30, set=words)
        every = choose(rows, selection="all")
        chosen = {row.selection: row for row in rows if row.selection != "all"}
        assert set(chosen) == {"best-ndcg", "best-ratio", "held-out"}
        assert chosen["best-ndcg"].ndcg5 == max(row.ndcg5 for row in every)
        assert chosen["best-ratio"].perplexity_ratio == max(row.perplexity_ratio for row in every)
        assert chosen["held-out"].rank == 1 + int(nearly.argmax())
        for row in chosen.values():
            assert row._replace(selection="all") in every


def test_a_block_of_lower_rank_has_fewer_rows_and_says_so(tmp_path):
    few = small(tmp_path, problems=[1], sizes=(40,), settings=replace(SMALL, max_rank=50))
    few.run()
    rows = choose(read_results(few.table), set="rnn", selection="all")
    assert len(rows) == rows[-1].rank <= 12  # the states of the box
    about = json.loads((tmp_path / "tiny.json").read_text())
    assert about["notes"]["1-40"] == [f"the block has no more than rank {len(rows)}"]


def test_the_boxes_are_measured_against_their_targets(swept, problem):
    row = read_boxes(swept.folder / "tiny-boxes.csv")["1"]
    fidelity = seqray.compare(problem.target, problem.box, problem.test)
    assert row.quality == pytest.approx(fidelity["perplexity_ratio"])
    assert row.perplexity_target == pytest.approx(fidelity["perplexity_box"])
    assert row.perplexity_box == pytest.approx(fidelity["perplexity"])
    assert row.ndcg5 == pytest.approx(fidelity["ndcg5"])
    assert row.wer_target == pytest.approx(fidelity["wer_box"])
    assert row.wer_box_test == pytest.approx(fidelity["wer"])
    own = seqray.compare(problem.box, problem.box, problem.rnn)
    assert row.wer_box_rnn == pytest.approx(own["wer"])
    assert row.perplexity_rnn == pytest.approx(own["perplexity"])
    assert (row.symbols, row.states, row.test_words, row.rnn_words) == (6, 12, 60, 50)


def test_without_a_target_the_box_is_its_own_reference(tmp_path, problem):
    class Targetless(GeneratedSource):
        def read(self):
            return (*super().read()[:2], None)

    part = sweep.work(sweep.Job("boxes", Cell(Targetless(1), "", 20, SMALL)))
    row = part.others[0]
    assert row.states == 0
    assert np.isnan([row.quality, row.ndcg5, row.kl, row.wer_target]).all()
    assert np.isfinite([row.wer_box_test, row.wer_box_rnn, row.perplexity_test]).all()
    results = measure(Cell(Targetless(1), "", 20, SMALL)).results
    box = problem.box
    found = seqray.extract(box, prefixes=20, suffixes=20, max_rank=8, method="paper")
    fidelity = seqray.compare(box, found.automaton(5), problem.test)
    row = choose(results, set="test", rank=5, selection="all")[0]
    assert row.perplexity_ratio == pytest.approx(fidelity["perplexity_ratio"])


def test_time_and_memory_of_boxes_and_automata_stand_side_by_side(swept):
    with (swept.folder / "tiny-distilled.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(Distilled._fields)
    assert [(row["problem"], row["rank"]) for row in rows] == [("1", "5"), ("2", "5")]
    first = rows[0]
    assert int(first["automaton_bytes"]) == 8 * (6 * 25 + 10)
    assert int(first["box_bytes"]) == 8 * (6 * 144 + 24)
    for name in ("together", "alone", "peak"):
        for model in ("box", "automaton"):
            assert float(first[f"{model}_{name}"]) > 0
    results = choose(read_results(swept.table), problem="1", prefixes=20, rank=5, set="test")
    assert float(first["ndcg5"]) == pytest.approx(results[0].ndcg5)


def test_the_least_time_counts(monkeypatch):
    clock = iter([0, 9, 10, 13, 20, 22, 30, 34])
    monkeypatch.setattr(distillation.time, "process_time", lambda: next(clock))
    monkeypatch.setattr(distillation, "N_TIMINGS", 3)
    assert distillation.best_of_each([lambda: None]) == [2]


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


def test_the_box_is_asked_about_evaluation_words_once_a_problem(tmp_path, monkeypatch):
    cells.prepared.cache_clear()
    asked = []
    monkeypatch.setattr(cells, "load", lambda *args, **kw: asked.append(1) or load(*args, **kw))
    small(tmp_path, problems=[1]).run()
    assert len(asked) == 1


# Going on -----------------------------------------------------------------------------------------


def test_what_is_there_is_not_done_again(swept):
    before = {path: path.stat().st_mtime_ns for path in swept.parts.iterdir()}
    content = swept.table.read_bytes()
    summary = small(swept.folder).run(executor=no_work)
    assert (summary.n_done, summary.n_there) == (0, 8)
    assert {path: path.stat().st_mtime_ns for path in swept.parts.iterdir()} == before
    assert swept.table.read_bytes() == content


def no_work(jobs, function, on_done):
    assert not jobs


def test_processes_find_the_same_as_this_one(swept, tmp_path):
    other = small(tmp_path)
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
    small(tmp_path, problems=[2], sizes=(30,)).run()
    names = sorted(path.name for path in (tmp_path / "parts" / "tiny").glob("*.json"))
    assert names == ["2-30.json", "2-boxes.json", "2-distilled.json", "settings.json"]
    small(tmp_path, problems=[1], sizes=(20, 30)).run()
    summary = small(tmp_path, problems=[2], sizes=(20,)).run()
    assert (summary.n_done, summary.n_there) == (1, 2)
    assert timeless(tmp_path / "tiny.csv.gz") == timeless(swept.table)


def test_other_settings_are_refused_unless_it_begins_anew(swept, tmp_path):
    first = small(tmp_path, problems=[1], sizes=(20,))
    first.run()
    other = small(tmp_path, problems=[1], sizes=(20,), settings=replace(SMALL, seed=3, n_rnn=51))
    with pytest.raises(ArgumentError, match=r"seed was 0, is 3; n_rnn was 50, is 51.*begin anew"):
        other.run()
    assert timeless(first.table) == choose(timeless(swept.table), problem="1", prefixes=20)
    other.begin_anew()
    other.run()
    assert {row.seed for row in read_results(other.table)} == {3}


def test_a_table_without_its_parts_is_not_replaced(tmp_path):
    (tmp_path / "tiny.csv.gz").write_bytes(b"dear")
    with pytest.raises(ArgumentError, match="there is a table already, but not its parts"):
        small(tmp_path).run()
    assert (tmp_path / "tiny.csv.gz").read_bytes() == b"dear"


def test_a_problem_whose_network_has_changed_is_done_anew(tmp_path, monkeypatch):
    small(tmp_path, problems=[1, 2]).run()
    monkeypatch.setattr(GeneratedSource, "fingerprint", lambda self: f"new {self.number}")
    summary = small(tmp_path, problems=[1], sizes=(20,)).run()
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
        summary = small(tmp_path, sizes=(20,)).run()
    assert dict(summary.failed) == {
        f"1-{what}": "1.test: damaged" for what in ("boxes", "20", "distilled")
    }
    assert {row.problem for row in read_results(summary.table)} == {"2"}
    assert json.loads((tmp_path / "tiny.json").read_text())["failed"]["1-20"] == "1.test: damaged"
    again = small(tmp_path, sizes=(20,)).run()
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
    one = small(tmp_path, problems=[1], sizes=(20,))
    one.run()
    (one.parts / name).write_bytes(b"{")
    with pytest.raises(FileError, match=name):
        one.run()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot be made"):
        small(tmp_path / "file").run()


def test_sizes_and_methods_are_checked(tmp_path):
    with pytest.raises(ArgumentError, match="sizes: expected numbers from 1"):
        small(tmp_path, sizes=())
    for odd in ((), ("paper", "weighted"), "auto"):
        with pytest.raises(ArgumentError, match="methods: expected 'paper', 'auto' or both"):
            small(tmp_path, methods=odd)


# Our own method -----------------------------------------------------------------------------------


@pytest.fixture
def frugal(monkeypatch, hasty):
    """Let the own method ask little, so that it takes a second."""
    monkeypatch.setattr(cells, "extract", partial(seqray.extract, budget=3000))


def test_our_own_method_is_what_extract_takes_by_itself(frugal, problem):
    part = sweep.work(sweep.Job("auto", Cell(GeneratedSource(1), "", 20, SMALL)))
    found = seqray.extract(problem.box, max_rank=8, target=1.0, budget=3000)
    reference = Reference.query(problem.box, problem.test, problem.target)
    rows = choose(part.results, set="test")
    assert [row.rank for row in choose(rows, selection="all")] == list(range(1, found.max_rank + 1))
    for row in rows:
        fidelity = reference.compare(found.automaton(row.rank))
        assert row.ndcg5 == pytest.approx(fidelity["ndcg5"])
        assert row.perplexity_ratio == pytest.approx(fidelity["perplexity_ratio"])
        assert row.method == "auto"
        assert row.prefixes == found.settings["prefixes"]
        n_learnt = found.settings["steps"] - found.settings["validation_questions"]
        assert row.steps == n_learnt == part.about["rounds"][-1]["questions"]
    assert {row.rank for row in choose(rows, selection="held-out")} == {found.best_rank()}
    drop = {"questions": 0}
    rounds = [
        [{**each, **drop} for each in side["rounds"]] for side in (part.about, found.settings)
    ]
    assert rounds[0] == rounds[1]
    assert set(part.about["seconds"]) == {
        f"auto_{phase}" for phase in ("references", "extract", "ranks_test", "ranks_rnn")
    }
    if found.max_rank < 8:
        assert part.about["notes"][-1] == f"the block has no more than rank {found.max_rank}"


def test_settings_are_passed_on_to_our_own_method(monkeypatch):
    asked = {}

    def extract(box, **how):
        asked.update(how)
        return seqray.extract(box, budget=1500, max_rank=1, target=1.0)

    monkeypatch.setattr(cells, "extract", extract)
    settings = replace(SMALL, n_contexts=70, seed=5)
    cells.measure_auto(Cell(GeneratedSource(1), "", 20, settings))
    assert asked == {"prefixes": 70, "max_rank": 8, "target": 1.0, "seed": 5}


@pytest.mark.parametrize("first", ["paper", "auto"])
def test_either_method_can_be_added_to_the_other(frugal, swept, tmp_path, first):
    second = {"paper": "auto", "auto": "paper"}[first]
    small(tmp_path, problems=[2], methods=[first]).run()
    assert {row.method for row in read_results(tmp_path / "tiny.csv.gz")} == {first}
    parts = tmp_path / "parts" / "tiny"
    before = {path.name: path.read_bytes() for path in parts.iterdir()}
    summary = small(tmp_path, problems=[2], methods=[second]).run()
    assert summary.n_there == 1  # the box
    assert before.items() <= {path.name: path.read_bytes() for path in parts.iterdir()}.items()
    both = small(tmp_path, problems=[2], methods=["paper", "auto"]).run(executor=no_work)
    assert (both.n_done, both.n_there) == (0, 5)
    rows = timeless(both.table)
    assert {row.method for row in rows} == {"paper", "auto"}
    assert choose(rows, method="paper") == choose(timeless(swept.table), problem="2")
    about = json.loads((tmp_path / "tiny.json").read_text())
    assert list(about["rounds"]) == ["2"]
    assert {"auto_extract", "fill"} <= set(about["seconds"]["2"])


def test_parts_of_a_sweep_that_knew_no_other_method_stay_valid(tmp_path):
    small(tmp_path, problems=[1], sizes=(20,)).run()
    path = tmp_path / "parts" / "tiny" / "settings.json"
    settings = json.loads(path.read_text())
    del settings["n_contexts"]
    path.write_text(json.dumps(settings))
    assert small(tmp_path, problems=[1], sizes=(20,)).run(executor=no_work).n_there == 3


def test_our_own_method_is_about_as_much_work_as_a_large_basis():
    whole = Settings()
    sizes = [sweep.Job(str(n), Cell(GeneratedSource(1), "", n, whole)).work for n in (800, 1400)]
    assert sizes[0] < sweep.Job("auto", Cell(GeneratedSource(1), "", 300, whole)).work < sizes[1]


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
    found, sizes = sources("generated", problems=[1, 2]), (20, 30)
    sweep = Sweep("tiny", Path(sys.argv[1]), found, sizes, small, methods=["paper"])
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
    summary = small(folder).run(executor=here)
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
    assert small(folder).run().failed == {}
    assert timeless(folder / "tiny.csv.gz") == timeless(swept.table)
