import json
import signal
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

import seqray
from listing import names
from seqray import cli
from seqray.cli import bench
from seqray.experiments import cells, distillation
from seqray.experiments.boxes import read_boxes
from seqray.experiments.cells import SIZES
from seqray.experiments.problems import GeneratedSource
from seqray.experiments.table import choose, read_results
from seqray.parallel.executor import Here

BOTH = ("--problems", "1", "--sizes", "20,30", "--max-rank", "6", "--quick")
SMALL = (*BOTH, "--method", "paper")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in; times are taken once, and of few words."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEQRAY_DATA", raising=False)
    monkeypatch.setattr(distillation, "N_TIMINGS", 1)
    monkeypatch.setattr(distillation, "N_ALONE", 2)
    return tmp_path


@pytest.fixture
def prefix():
    return ("bench",)


def test_generated_problems_leave_tables_and_a_summary(folder, run_both):
    out, err = run_both("generated", *SMALL)
    table = "generated-quick"
    ends = ("-boxes.csv", "-distilled.csv", ".csv.gz", ".json")
    assert names(folder / "results") == [*(f"{table}{end}" for end in ends), "parts"]
    rows = read_results(folder / "results" / f"{table}.csv.gz")
    assert {row.prefixes for row in rows} == {20, 30}
    assert max(row.rank for row in rows) == 6
    best = max(choose(rows, set="test", selection="all"), key=lambda row: row.ndcg5)
    assert f"{best.ndcg5:.4f}" in out
    assert f"{read_boxes(folder / 'results' / f'{table}-boxes.csv')['1'].quality:.4f}" in out
    assert "4 cells done. Table: results/generated-quick.csv.gz" in out
    lines = err.splitlines()
    assert lines[0].startswith("[1/4] problem 1: the box: ")
    assert lines[1].startswith("[2/4] problem 1: 20 × 20: NDCG₅ 0.")
    assert lines[1].endswith("left")
    assert lines[3].startswith("[4/4] problem 1: time and memory: ")


def test_seqrays_own_method_stands_beside_the_papers(folder, run, run_both, monkeypatch, hasty):
    monkeypatch.setattr(cells, "extract", partial(seqray.extract, budget=3000))
    shown = run("generated", *SMALL)
    (before,) = [line for line in shown.splitlines() if line.startswith("       1 ")]
    out, err = run_both("generated", *BOTH)
    assert "1 cells done; 4 were there already" in out
    rows = read_results(folder / "results" / "generated-quick.csv.gz")
    (own,) = choose(rows, method="auto", set="test", selection="held-out")
    best = max(choose(rows, method="auto", set="test", selection="all"), key=lambda row: row.ndcg5)
    assert f"seqray's own method: NDCG₅ {own.ndcg5:.4f} at rank {own.rank}, " in err
    (after,) = [line for line in out.splitlines() if line.startswith("       1 ")]
    assert before.split()[-1] == "–"
    assert after.split()[:-1] == before.split()[:-1]
    assert after.split()[-1] == f"{own.ndcg5:.4f}"
    assert own.ndcg5 <= best.ndcg5


def test_seqrays_own_method_can_be_run_alone(folder, run_both, monkeypatch, hasty):
    monkeypatch.setattr(cells, "extract", partial(seqray.extract, budget=3000))
    out, err = run_both("generated", *BOTH, "--method", "auto")
    assert "[2/2] problem 1: seqray's own method: NDCG₅ 0." in err
    (line,) = [line for line in out.splitlines() if line.startswith("       1 ")]
    assert [cell.strip() for cell in line.split("│")][2:8] == ["–"] * 6
    rows = read_results(folder / "results" / "generated-quick.csv.gz")
    assert {row.method for row in rows} == {"auto", "copy"}


def test_the_summary_fits_a_terminal_of_80_columns(folder, run):
    out = run("generated", *SMALL)
    table = out[: out.index("box: ")].splitlines()
    assert max(map(len, table)) <= 80
    assert len(table) == 4  # the title, the columns, a line and the problem


def test_a_second_run_adds_and_repeats_nothing(folder, run, run_both):
    run("generated", *SMALL)
    out, err = run_both("generated", *SMALL, "--problems", "1-2", "--jobs", "2")
    assert "4 cells done; 4 were there already" in out
    assert "problem 1:" not in err
    out, err = run_both("generated", *SMALL)
    assert "0 cells done; 4 were there already" in out
    assert err == ""


def test_other_settings_are_refused_with_what_to_do(folder, run, fails):
    run("generated", *SMALL)
    said = fails(2, "generated", *SMALL, "--seed", "1")
    assert "seed was 0, is 1" in said
    out = run("generated", *SMALL, "--seed", "1", "--fresh")
    assert "4 cells done. Table" in out
    out = run("generated", *SMALL, "-o", "elsewhere")
    assert "elsewhere/generated-quick.csv.gz" in out


def test_quick_means_fewer_sizes_ranks_and_words(folder, run):
    run("generated", "--problems", "3", "--quick", "--method", "paper")
    settings = json.loads((folder / "results" / "generated-quick.json").read_text())["settings"]
    assert [settings[name] for name in ("n_test", "n_rnn", "n_held_out")] == [500] * 3
    assert (settings["max_rank"], settings["n_contexts"]) == (40, 400)
    rows = read_results(folder / "results" / "generated-quick.csv.gz")
    assert {row.prefixes for row in rows} == set(bench.QUICK_SIZES)


def test_the_whole_is_what_the_paper_swept(folder, monkeypatch):
    seen = []

    def run(self, **options):
        seen.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(bench.Sweep, "run", run)
    with pytest.raises(SystemExit):
        cli.main(["bench", "generated"])
    assert seen[0].name == "generated"
    assert seen[0].sizes == SIZES == (300, 400, 800, 1000, 1400)
    assert seen[0].methods == ("paper", "auto")
    settings = seen[0].settings
    assert (settings.max_rank, settings.n_test, settings.n_rnn) == (100, None, 2000)
    assert settings.n_contexts is None


def test_problems_without_files_are_left_out_with_the_reason(folder, data, fails):
    said = fails(2, "pautomac", "--data", data, "--problems", "3-5,24", "--boxes", "none")
    assert "Left out: 3 … 5, 24: there is no network none/3.safetensors: train one" in said
    assert "nothing to do: every problem of pautomac lacks something" in said
    assert not (folder / "results").exists()


def test_a_failure_ends_with_an_error_after_all_others_are_done(folder, fails, monkeypatch):
    true = GeneratedSource.read

    def read(self):
        if self.number == 1:
            raise MemoryError("no room")
        return true(self)

    monkeypatch.setattr(GeneratedSource, "read", read)
    bench.Sweep("x", Path("x"), [], (1,))
    said = fails(1, "generated", *SMALL, "--problems", "1,2")
    assert "problem 1: 20 × 20: failed: MemoryError: no room (in read," in said
    assert "4 cells failed, see above: the same command tries them again" in said
    assert {row.problem for row in read_results("results/generated-quick.csv.gz")} == {"2"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pautomac",), "pautomac needs its data"),
        (("nothing",), "'nothing' is not one of 'pautomac'"),
        (("generated", "--problems", "3-1"), "expected numbers like 3,24 or 1-48, got '3-1'"),
        (("generated", "--problems", "x"), "expected numbers like"),
        (("generated", "--method", "own"), "'own' is not one of 'both', 'paper', 'auto'"),
        (("generated", "--sizes", "0"), "expected numbers like"),
        (("trucks", "--problems", "1"), "trucks is a single problem"),
        (("generated", "--jobs", "2", "--executor", "2"), "give --executor or --jobs, not both"),
        (("logs", "--problems", "1"), "logs is a single problem"),
        (("spice", "--data", ".", "--problems", "0"), "every problem of spice lacks something"),
        (("pautomac", "--data", ".", "--problems", "99"), "pautomac has no problem 99"),
    ],
)
def test_misuse_is_refused_before_any_work(folder, fails, arguments, message):
    assert message in fails(2, *arguments)
    assert not (folder / "results").exists()


def test_ctrl_c_says_how_to_go_on(folder, fails, run, monkeypatch):
    class Interrupted(Here):
        def run(self, task, jobs, **options):
            yield from super().run(task, [next(iter(jobs))], **options)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bench, "opened_executor", lambda given: nullcontext(Interrupted()))
        said = fails(130, "generated", *SMALL)
    assert "Interrupted. All cells that are done are in results/parts/generated-quick" in said
    out = run("generated", *SMALL)
    assert "3 cells done; 1 were there already" in out


def test_a_real_ctrl_c_stops_all_processes_soon(folder):
    command = [sys.executable, "-m", "seqray", "bench", "generated", "--jobs", "2"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        assert run.stderr.readline().startswith("[ 1/24]")
        run.send_signal(signal.SIGINT)
        _, error = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "run the same command again to go on" in error
    assert "Traceback" not in error


def test_a_terminal_shows_a_bar(folder, run_both, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, err = run_both("generated", *SMALL)
    assert "━" in err
    assert "4/4 cells" in err


def test_names_are_listed_shortly():
    assert bench.listed_names(["1", "2", "4", "5", "6", "spice4"]) == "1, 2, 4 … 6, spice4"
    assert bench.by_reason({"3": "no 3.x", "4": "no 4.x", "5": "bad"}) == {
        "no 3.x": ["3", "4"],
        "bad": ["5"],
    }


def test_help_teaches(run):
    out = run("--help")
    words = ("pautomac.csv.gz", "seqray train", "--quick", "Ctrl-C", "generated", "--method auto")
    for word in words:
        assert word in out
