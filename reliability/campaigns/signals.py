"""SIGKILL, SIGTERM and SIGINT at random moments of commands, which are then run again.

Each command is run once without a signal. Then it is started again and again in another folder and
gets a signal at a random moment, until it comes to its end. Whatever it leaves is whole: no half
file, no child process, no traceback, and after SIGTERM and SIGINT no scratch folder. The last run
has to leave the same numbers and the same cached answers as the quiet one, bit by bit.
"""

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Set
from pathlib import Path

from reliability import Row, Scale
from reliability.campaigns._commands import EXTRACT_LITTLE, JOBS, Job, prepare, run_command

FOUND = (
    "SIGTERM ended a command at once: scratch folders were left, and a training or an extraction "
    "did not save what it had. It now does what Ctrl-C does.",
    "Ctrl-C or SIGTERM while Python was leaving, after all work was done, made the exit status a "
    "failure.",
    "Ctrl-C or SIGTERM while a box was closed was lost: the command went on, a traceback was "
    "printed, and a child process could stay. It now waits until the box is closed.",
    "SIGTERM in the moment between the end of all work and the end of Python was a failure.",
)

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MAX_SIGNALS = 6
"""After so many signals a command may come to its end."""


RESUMABLE = True


def run(scale: Scale, seed: int, done: Set[str] = frozenset()) -> Iterator[Row]:
    """Send signals to each job."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    n_signals = 270 if scale == "long" else 2
    jobs = [EXTRACT_LITTLE] if scale == "short" else JOBS
    for at, job in enumerate(jobs):
        if job.name in done:
            continue
        n = n_signals * job.share // sum(each.share for each in jobs)
        with tempfile.TemporaryDirectory() as name:
            yield _interrupt_often(job, Path(name), n, random.Random(f"{seed} {at}"))


def _interrupt_often(job: Job, home: Path, n: int, rng: random.Random) -> Row:
    prepare(home / "given")
    quiet = Path(shutil.copytree(home / "given", home / "quiet"))
    begin = time.perf_counter()
    status, errors = run_command(job, quiet)
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
            status, errors = run_command(job, folder, number, moment)
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
