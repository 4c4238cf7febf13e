"""SIGKILL, SIGTERM and SIGINT at random moments of commands, which are then run again.

Each command is run once without a signal. Then it is started again and again in another folder and
gets a signal at a random moment, until it comes to its end. Whatever it leaves is whole: no half
file, no child process, no traceback, and after SIGTERM and SIGINT no scratch folder. The last run
has to leave the same numbers as the quiet one, bit by bit, and no answer that was cached may be
queried again.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import seqray
from reliability import Row, Scale
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.experiments.table import read_results
from seqray.util.errors import SeqrayError

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MAX_SIGNALS = 6
"""After so many signals a command may come to its end."""

END_SECONDS = 20.0
"""How long a command may take to end after SIGTERM or SIGINT."""

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
import pathlib, sys
from seqray.cli import main
pathlib.Path("ready").touch()
main(sys.argv[1:])
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


def run(scale: Scale, seed: int) -> Iterator[Row]:
    """Send signals to each job."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    n_signals = 270 if scale == "long" else 3
    jobs = [EXTRACT_LITTLE] if scale == "short" else JOBS
    for at, job in enumerate(jobs):
        n = n_signals * job.share // sum(each.share for each in jobs)
        with tempfile.TemporaryDirectory() as name:
            yield _interrupt_often(job, Path(name), n, random.Random(f"{seed} {at}"))


def _interrupt_often(job: Job, home: Path, n: int, rng: random.Random) -> Row:
    _prepare(home / "given")
    quiet = Path(shutil.copytree(home / "given", home / "quiet"))
    begin = time.perf_counter()
    status, errors = _run(job, quiet)
    seconds = time.perf_counter() - begin
    if status:
        return Row(job.name, 1, [f"the quiet run failed: {errors[-300:]}"])
    expected, failures, n_sent = job.result(quiet), [], dict.fromkeys(SIGNALS, 0)
    n_runs = 0
    while sum(n_sent.values()) < n:
        folder, n_here = Path(shutil.copytree(home / "given", home / "trial")), 0
        while True:
            number = rng.choice(SIGNALS) if n_here < MAX_SIGNALS else None
            moment = rng.uniform(0, seconds)
            status, errors = _run(job, folder, number, moment)
            n_here += 1
            wrong = _wrong(job, folder, number, status, errors) or job.check(folder, expected)
            if wrong:
                name = number.name if number else "no signal"
                failures.append(f"{name} after {moment:.3f} s: {wrong}")
            if number is None or status == 0:
                break
            n_sent[number] += 1
        n_runs += 1
        if not wrong and job.result(folder) != expected:
            failures.append(f"another result after {n_here} runs")
        shutil.rmtree(folder)
    figures = {each.name: sent for each, sent in n_sent.items()}
    return Row(job.name, sum(n_sent.values()), failures, {**figures, "runs to the end": n_runs})


def _prepare(path: Path) -> None:
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


def _run(
    job: Job, folder: Path, number: signal.Signals | None = None, moment: float = 0
) -> tuple[int, str]:
    """Run a command; return its exit status and what it said."""
    environment = {**os.environ, "SEQRAY_STORE": str(folder / "store.sqlite")}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
    with (folder / "stderr").open("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", START, *job.arguments],
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


def _wrong(job: Job, folder: Path, number: signal.Signals | None, status: int, errors: str) -> str:
    """Say what a command left that it should not have, or nothing."""
    expected = {None: (0,), signal.SIGKILL: (0, -9)}.get(number, (0, 130))
    ready = folder / "ready"
    if ready.exists() and (status not in expected or "Traceback" in errors):
        return f"exit status {status}: {errors[-600:]}"
    ready.unlink(missing_ok=True)
    if number is not signal.SIGKILL and (left := list(folder.rglob(".seqray.*"))):
        names = [str(each.relative_to(folder)) for each in left]
        for each in left:
            shutil.rmtree(each)
        return f"left {names}"
    for each in folder.rglob(".seqray.*"):  # nobody can clean up after SIGKILL
        shutil.rmtree(each)
    return _child_left(folder)


def _child_left(folder: Path) -> str:
    """Say which child process is still there, or nothing."""
    log = folder / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    pids = [int(line) for line in lines if line.isdigit()]
    for _ in range(200):
        left = [pid for pid in pids if _is_running(pid, folder)]
        if not left:
            return ""
        time.sleep(0.05)
    return f"a child process is still there: {left}"


def _is_running(pid: int, folder: Path) -> bool:
    """Whether a process is there, and is the one that was started here."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text()
        return "child.py" in command and os.readlink(f"/proc/{pid}/cwd") == str(folder)
    except OSError:
        return False


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
    """Say whether a run folder that is replaced is neither the old run nor the new one."""
    try:
        now = _of_run(folder, "saved")
    except SeqrayError as error:
        return f"no run: {error}"
    if now in (quiet, _of_run(folder, "given")) or (folder / "stderr").read_text().count("Ctrl-C"):
        return ""  # after Ctrl-C, a whole run of some of the queries
    return "a mixture of two runs"


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
PROGRAM = ("extract", f"cmd:{sys.executable} child.py", "-o", "run", "-O", "batch_size=20")
EXTRACT = Job(
    "extraction from a program, with the answer cache",
    (*PROGRAM, *WEIGHTED),
    _of_cached_run,
    _check_cached,
    share=2,
)
EXTRACT_LITTLE = replace(
    EXTRACT, arguments=(*PROGRAM, "--method", "weighted", "--prefixes", "12", "--suffixes", "12")
)
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
