"""A full disk, a folder that cannot be written, a clock that jumps, two processes, a dead worker.

Commands run where a fault awaits them. Each ends well or with an error that says what is wrong,
never with a traceback or half a file; and run again without the fault it leaves the same numbers as
a run that never met one, bit by bit.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import seqray
from reliability import Row, Scale
from reliability.campaigns._commands import EXTRACT_LITTLE, JOBS, Job, prepare, run_command

FOUND = (
    "Two processes that saved to one run folder at the same time: one of them failed now and then, "
    "and saved its run elsewhere.",
)

CLOCK = """
import random, time
_time = time.time
time.time = lambda: _time() + random.uniform(-1e7, 1e7)
"""
"""Python that makes the clock jump by up to four months, to and fro."""

ROOM_BITS = (12, 20)
"""A full disk has room for 4 KB to 1 MB, all orders of magnitude alike."""


def run(scale: Scale, seed: int) -> Iterator[Row]:
    """Try each fault."""
    rng = random.Random(seed)
    jobs, n = (JOBS, 6) if scale == "long" else ([EXTRACT_LITTLE], 1)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        prepare(home / "given")
        expected = {job.name: _quiet(job, home) for job in jobs}
        yield _disk_faults("a full disk", jobs, expected, home, n, rng)
        yield _disk_faults("a folder that cannot be written", jobs, expected, home, 1, None)
        yield _clock(jobs, expected, home, max(1, n // 3))
        yield _savers(home, 40 if scale == "long" else 2)
        if scale == "long":
            yield _twins(jobs, expected, home, n // 3)
            yield _workers(expected, home, 2 * n, rng)


def _quiet(job: Job, home: Path) -> Any:
    folder = Path(shutil.copytree(home / "given", home / "quiet"))
    try:
        status, errors = run_command(job, folder)
        assert status == 0, errors
        return job.result(folder)
    finally:
        shutil.rmtree(folder)


@contextmanager
def _trial(home: Path) -> Iterator[Path]:
    folder = Path(shutil.copytree(home / "given", home / "trial"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


# A disk -------------------------------------------------------------------------------------------


@contextmanager
def _mounted(folder: Path, options: str) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _can_mount(folder: Path) -> bool:
    folder.mkdir(exist_ok=True)
    try:
        with _mounted(folder, "size=64k"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def _disk_faults(
    name: str,
    jobs: list[Job],
    expected: dict[str, Any],
    home: Path,
    n: int,
    rng: random.Random | None,
) -> Row:
    """Run commands on a disk with little room or, without a random generator, a read-only one."""
    disk = home / "disk"
    if not _can_mount(disk):
        return Row(name, 0, skipped="needs to mount a disk in memory, which takes root on Linux")
    failures, n_refused, n_trials = [], 0, 0
    for job in jobs:
        for _ in range(n):
            n_trials += 1
            with _mounted(disk, "size=64m"):
                shutil.copytree(home / "given", disk, dirs_exist_ok=True)
                used = sum(f.stat().st_blocks * 512 for f in disk.rglob("*"))
                limit = "ro" if rng is None else f"size={used + int(2 ** rng.uniform(*ROOM_BITS))}"
                subprocess.run(["mount", "-o", f"remount,{limit}", disk], check=True)
                status, errors = run_command(job, disk)
                n_refused += status != 0
                wrong = _bad_end(status, errors)
                if status != 0 and rng is None and _differs(disk, home / "given"):
                    wrong = "files were changed"
                subprocess.run(["mount", "-o", "remount,rw,size=64m", disk], check=True)
                # To look at a cache takes room, too.
                wrong = wrong or job.check(disk, expected[job.name])
                wrong = wrong or _again(job, disk, expected[job.name])
            if wrong:
                failures.append(f"{job.name}, {limit}: {wrong}")
    return Row(name, n_trials, failures, {"refused": n_refused})


def _bad_end(status: int, errors: str) -> str:
    if "Traceback" in errors or status not in (0, 1, 2) or (status and "Error: " not in errors):
        return f"exit status {status}: {errors[-600:]}"
    return ""


def _again(job: Job, folder: Path, expected: Any) -> str:
    """Run a command without a fault; say what is wrong, or nothing."""
    status, errors = run_command(job, folder)
    if status:
        return f"run again: exit status {status}: {errors[-600:]}"
    return "" if job.result(folder) == expected else "run again: another result"


def _differs(folder: Path, given: Path) -> bool:
    names = {f.relative_to(folder) for f in folder.rglob("*")}
    return names != {f.relative_to(given) for f in given.rglob("*")}


# Clocks, twins and workers ------------------------------------------------------------------------


def _clock(jobs: list[Job], expected: dict[str, Any], home: Path, n: int) -> Row:
    failures = []
    for job in jobs * n:
        with _trial(home) as folder:
            status, errors = run_command(job, folder, before=CLOCK)
            if status:
                failures.append(f"{job.name}: exit status {status}: {errors[-300:]}")
            elif job.result(folder) != expected[job.name]:
                failures.append(f"{job.name}: another result")
    return Row("a clock that jumps", n * len(jobs), failures)


def _twins(jobs: list[Job], expected: dict[str, Any], home: Path, n: int) -> Row:
    """Run the same command twice at once, in the same folder."""
    failures = []
    for job in jobs * n:
        with _trial(home) as folder:
            ends: list[tuple[int, str]] = []
            threads = [
                threading.Thread(target=lambda: ends.append(run_command(job, folder)))  # noqa: B023
                for _ in range(2)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            wrong = [bad for end in ends if (bad := _bad_end(*end))]
            wrong += [] if any(status == 0 for status, _ in ends) else [f"both failed: {ends}"]
            if not wrong and (left := _again(job, folder, expected[job.name])):
                wrong = [left]
            failures += [f"{job.name}: {each}" for each in wrong]
    return Row("the same command twice at once", n * len(jobs), failures)


SAVER = """
import sys, seqray
runs = [seqray.open_run(name) for name in ("given", "other")]
for i in range(int(sys.argv[1])):
    seqray.save_run(runs[i % 2], "shared")
"""


def _savers(home: Path, n: int) -> Row:
    """Let two processes save two runs to one folder while a third opens it."""
    with _trial(home) as folder:
        small = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
        seqray.save_run(seqray.extract(small, n_prefixes=9, n_suffixes=9), folder / "other")
        whole = [_numbers(folder / "given"), _numbers(folder / "other")]
        shutil.copytree(folder / "given", folder / "shared")
        savers = [
            subprocess.Popen(
                [sys.executable, "-c", SAVER, str(n)],
                cwd=folder,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        failures, n_reads = [], 0
        while any(saver.poll() is None for saver in savers):
            n_reads += 1
            if _numbers(folder / "shared") not in whole:
                failures.append("a mixture of two runs")
        for saver in savers:
            errors = saver.communicate()[1]
            if saver.returncode:
                failures.append(f"a save failed: {errors[-400:]}")
        if _numbers(folder / "shared") not in whole:
            failures.append("at the end a mixture of two runs")
        left = [each.name for each in (folder / "shared").iterdir() if each.name[0] == "."]
        failures += [f"left {left}"] if left else []
    return Row("two processes save to one run folder", 2 * n, failures, {"reads": n_reads})


def _numbers(folder: Path) -> object:
    extraction = seqray.open_run(folder)
    return extraction.singular_values.tobytes(), extraction.best().transitions.tobytes()


def _workers(expected: dict[str, Any], home: Path, n: int, rng: random.Random) -> Row:
    """Kill worker processes of a sweep; the same command again does what is missing."""
    (job,) = [each for each in JOBS if each.arguments[0] == "bench"]
    failures, n_killed = [], 0
    for _ in range(n):
        with _trial(home) as folder:
            ends: list[tuple[int, str]] = []
            thread = threading.Thread(target=lambda: ends.append(run_command(job, folder)))  # noqa: B023
            thread.start()
            until = time.monotonic() + rng.uniform(0.5, 4)
            while thread.is_alive() and time.monotonic() < until:
                time.sleep(0.02)
            workers = [pid for pid in _processes_in(folder) if _is_worker(pid)]
            if workers:
                os.kill(rng.choice(workers), signal.SIGKILL)
                n_killed += 1
            thread.join()
            wrong = _bad_end(*ends[0]) or _again(job, folder, expected[job.name])
            failures += [wrong] if wrong else []
    return Row("a worker of a sweep is killed", n_killed, failures)


def _processes_in(folder: Path) -> Iterator[int]:
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(each / "cwd") == str(folder):
                yield int(each.name)
        except OSError:
            continue


def _is_worker(pid: int) -> bool:
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
