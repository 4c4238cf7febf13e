"""The commands that campaigns disturb: what each needs, leaves at its end, and may leave before."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import seqray
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.experiments.table import read_results
from seqray.util.errors import SeqrayError

END_SECONDS = 20.0
"""How long a command may take to end after a signal."""

WEIGHTED = ("--method", "weighted", "--prefixes", "40", "--suffixes", "40")

CHILD = """
import json, os, sys, time
log = open("log", "a", buffering=1)
log.write(json.dumps(os.getpid()) + "\\n")
print(json.dumps({"seqray": 1, "alphabet": ["a", "b"], "answers": "value",
    "deterministic": True, "fingerprint": "1"}), flush=True)
for line in sys.stdin:
    words = ["".join(word) for word in json.loads(line)["words"]]
    log.write(json.dumps(words) + "\\n")
    time.sleep(0.02)
    answers = [0.5 ** len(w) * (1 + w.count("ab")) / (2 + w.count("bba")) for w in words]
    print(json.dumps({"answers": answers}), flush=True)
"""


START = """
import contextlib, pathlib, sys
from seqray.cli import main
with contextlib.suppress(OSError):
    pathlib.Path("ready").touch()
main()
"""
"""Says when Python has started: until then its own traceback is what a signal leaves."""


@dataclass(frozen=True)
class Job:
    """A command, what it leaves at its end, and what has to hold at any moment."""

    name: str
    arguments: tuple[str, ...]
    result: Callable[[Path], Any]
    check: Callable[[Path, Any], str] = lambda folder, quiet: ""
    share: int = 1


def prepare(path: Path) -> None:
    """Make a folder with what the commands need."""
    path.mkdir()
    (path / "child.py").write_text(CHILD)
    words = seqray.sample(seqray.open_black_box("demo"), 300, seed=1).words
    seqray.write_words(words, path / "words.txt")
    small = seqray.WeightedAutomaton(
        "ab", [1, 0], [[[0.2, 0.3], [0.1, 0.2]], [[0.1, 0.1], [0.3, 0.1]]], [0.3, 0.3]
    )
    seqray.save_run(seqray.extract(small, n_prefixes=20, n_suffixes=20), path / "given")
    shutil.copytree(path / "given", path / "saved")


def run_command(
    job: Job,
    folder: Path,
    number: signal.Signals | None = None,
    moment: float = 0,
    before: str = "",
) -> tuple[int, str]:
    """Run a command, after some Python; return its exit status and what it said.

    At a moment it gets a signal, if it is still running.
    """
    environment = {**os.environ, "SEQRAY_STORE": str(folder / "store.sqlite")}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", before + START, *job.arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            if number is not None:
                try:
                    process.wait(moment)
                except subprocess.TimeoutExpired:
                    process.send_signal(number)
            # The first Ctrl-C may finish a batch, or save what there is.
            status = process.wait(END_SECONDS if number else 600)
        except subprocess.TimeoutExpired:
            status = 999
        finally:
            process.kill()
            process.wait()
        errors.seek(0)
        return status, errors.read()


# What each command leaves -------------------------------------------------------------------------


def _of_run(folder: Path, name: str = "run") -> object:
    extraction = seqray.open_run(folder / name)
    best = extraction.best()
    arrays = (extraction.singular_values, best.initial, best.transitions, best.final)
    return [each.tobytes() for each in arrays], repr(extraction.fidelity.rows())


def _of_cached_run(folder: Path) -> object:
    with AnswerStore(folder / "store.sqlite") as store:
        (box,) = store.boxes()
        pieces = [(words.codes.tobytes(), a.tobytes()) for words, a in store.answers(box)]
    return _of_run(folder), pieces


def _check_cached(folder: Path, quiet: Any) -> str:
    """Say whether what is cached is wrong, or a run is half there."""
    if (folder / "store.sqlite").exists():
        with AnswerStore(folder / "store.sqlite") as store:
            for box in store.boxes():
                list(store.answers(box))  # checks all checksums
    if (folder / "run" / "config.json").exists():
        seqray.open_run(folder / "run")  # of all queries, or where Ctrl-C came, of some of them
    return ""


def _check_saved(folder: Path, quiet: Any) -> str:
    """Say whether a run folder that is replaced is neither the old run nor the new one.

    After Ctrl-C, a whole run of some of the queries may be beside it.
    """
    beside = folder / "saved.interrupted"
    try:
        now = _of_run(folder, "saved")
        if (beside / "config.json").exists() and not seqray.open_run(beside).settings["stopped"]:
            return "a finished run beside the old one"
    except SeqrayError as error:
        return f"no run: {error}"
    if now in (quiet, _of_run(folder, "given")):
        return ""
    return "a mixture of runs, or one of some of the queries"


def _of_training(folder: Path) -> object:
    rows = [line.rsplit(",", 1)[0] for line in _text(folder, "net.history.csv").splitlines()]
    return (folder / "net.safetensors").read_bytes(), rows


def _text(folder: Path, name: str) -> str:
    return (folder / name).read_text("utf-8")


def _check_training(folder: Path, quiet: Any) -> str:
    if (folder / "net.safetensors").exists():
        seqray.open_black_box(f"rnn:{folder / 'net.safetensors'}")
    return ""


def _of_sweep(folder: Path) -> object:
    results = folder / "results"
    table = [row._replace(seconds=0) for row in read_results(results / "generated.csv.gz")]
    return repr(table), _text(results, "generated-boxes.csv")


def _of_page(folder: Path) -> object:
    return _text(folder, "page.html")


def _check_page(folder: Path, quiet: Any) -> str:
    page = folder / "page.html"
    return "half a page" if page.exists() and page.read_text("utf-8") != quiet else ""


TRAINING = ("--layers", "1", "--sizes", "4,6", "--epochs", "30")
SWEEP = ("--problems=1-3", "--method=paper", "--jobs=2", "--sizes=20,30", "--max-rank=8")
PROGRAM = ("extract", f"cmd:{sys.executable} child.py", "-o", "run")
EXTRACT = Job(
    "extraction from a program, with the answer cache",
    (*PROGRAM, "-O", "batch_size=20", *WEIGHTED),
    _of_cached_run,
    _check_cached,
    share=2,
)
LITTLE = ("--method=weighted", "--prefixes=12", "--suffixes=12", "-O", "batch_size=50")
EXTRACT_LITTLE = replace(EXTRACT, arguments=(*PROGRAM, *LITTLE))
JOBS = [
    EXTRACT,
    Job(
        "extraction into a run folder that holds a run",
        ("extract", "demo", "-o", "saved", *WEIGHTED),
        lambda folder: _of_run(folder, "saved"),
        _check_saved,
    ),
    Job(
        "training",
        ("train", "words.txt", "-o", "net.safetensors", *TRAINING),
        _of_training,
        _check_training,
        share=2,
    ),
    Job(
        "sweep, two processes",
        ("bench", "generated", "-o", "results", *SWEEP),
        _of_sweep,
        share=2,
    ),
    Job(
        "explorer page",
        ("explore", "given", "-o", "page.html"),
        _of_page,
        _check_page,
        share=2,
    ),
]
