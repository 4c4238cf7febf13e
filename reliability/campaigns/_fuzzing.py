"""The processes of the campaign ``fuzz``, which may be killed by what they read.

``python -m reliability.campaigns._fuzzing input SEED NAME NUMBER`` writes the input that a failure
names to standard output, and raises what its parser raises.
"""

import contextlib
import functools
import importlib
import json
import logging
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

MAX_SECONDS = 10
"""Processor time for one input."""

MAX_MEMORY_BYTES, MAX_ADDRESS_BYTES = 2**31, 2**33
"""What the process may use, and what it may reserve: frameworks reserve more than they use."""

MAX_MESSAGE_LENGTH = 1000
MAX_FAILURES = 20
MEMORY_FOLDER = "/dev/shm"


class SlowError(BaseException):
    """An input takes too long."""


def targets() -> tuple[dict[str, Any], set[str]]:
    """Return all targets by name, and the names of slow ones."""
    files = importlib.import_module("reliability.campaigns._file_targets")
    boxes = importlib.import_module("reliability.campaigns._box_targets")
    texts = importlib.import_module("reliability.campaigns._text_targets")
    others = importlib.import_module("reliability.campaigns._interchange_targets")
    every = {**files.FILES, **others.INTERCHANGE, **boxes.BOXES, **texts.ANSWERS_AND_TEXTS}
    return every, boxes.SLOW


class Watch:
    """Calls a parser, and collects what goes wrong, each kind of failure once."""

    def __init__(self, read: Callable[[bytes], object]) -> None:
        self.read, self.n, self.n_refused = read, 0, 0
        self.failures: dict[str, str] = {}
        self.error = importlib.import_module("seqray.util.errors").SeqrayError

    def __call__(self, content: bytes, number: object) -> None:
        self.n += 1
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
        try:
            self.read(content)
        except self.error as error:
            self.n_refused += 1
            text = str(error)
            if not text or "\n" in text or "\r" in text:
                self._failed("no line of text", error, content, number)
            elif len(text) > MAX_MESSAGE_LENGTH:
                self._failed(f"a message of {len(text):,} characters", error, content, number)
        except SlowError as error:
            self._failed(f"more than {MAX_SECONDS} s", error, content, number)
        except Exception as error:
            self._failed(type(error).__name__, error, content, number)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _failed(self, what: str, error: BaseException, content: bytes, number: object) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        own = [f"{Path(each.filename).name}:{each.lineno}" for each in frames]
        inside = [
            f"{Path(each.filename).name}:{each.lineno}"
            for each in frames
            if "seqray" in each.filename
        ]
        where = (inside or own or ["?"])[-1]
        key = f"{re.sub(r'[0-9,]+', '', what)} {where}"
        if len(self.failures) < MAX_FAILURES:
            self.failures.setdefault(
                key,
                f"input {number}: {what} at {where}: {str(error)[:200]!r} of {content[:200]!r}",
            )

    def row(self, name: str, seconds: float, **figures: float) -> dict[str, Any]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        failures = list(self.failures.values())
        if peak > MAX_MEMORY_BYTES:
            failures.append(f"{peak / 2**20:,.0f} MB of memory")
        about = {"refused": self.n_refused, **figures, "processor time (s)": round(seconds, 1)}
        about["peak memory (MB)"] = round(peak / 2**20)
        return {"name": name, "n": self.n, "failures": failures, "figures": about}


def made_input(target: Any, seed: str, name: str, number: int) -> bytes:
    """Return one input, always the same one."""
    rng = random.Random(f"{seed} {name} {number}")
    content: bytes = target.mutate(rng.choice(target.seeds), target.seeds, rng)
    return content


def mutated(report: Path, seed: str, n: int, seconds: float, names: list[str]) -> None:
    """Give parsers inputs that are made of valid ones."""
    every, slow = targets()
    for name in names or [each for each in every if each not in slow]:
        with opened(name, report) as target:
            if target is None:
                continue
            watch, begin, number = Watch(target.read), processor_seconds(), 0
            while number < n and processor_seconds() - begin < seconds:
                watch(made_input(target, seed, name, number), number)
                number += 1
            write(report, watch.row(name, processor_seconds() - begin))


def processor_seconds() -> float:
    """Return the processor time of this process and of the programs that it has started."""
    return sum(os.times()[:4])


@contextlib.contextmanager
def opened(name: str, report: Path) -> Any:
    """Yield a target in a folder of its own; None where a package is missing."""
    unavailable = importlib.import_module("reliability.campaigns._targets").UnavailableError
    with scratch_folder() as home:
        try:
            target = targets()[0][name](Path(home))
        except unavailable as error:
            write(report, {"name": name, "n": 0, "skipped": str(error)})
            target = None
        yield target


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder, in memory where the system has one there."""
    folder = MEMORY_FOLDER if os.path.isdir(MEMORY_FOLDER) else None
    return tempfile.TemporaryDirectory(dir=folder)


def write(report: Path, row: dict[str, Any]) -> None:
    with report.open("a") as file:
        file.write(json.dumps(row) + "\n")


# Coverage-guided ----------------------------------------------------------------------------------


def guided(report: Path, seed: str, n: int, seconds: float, names: list[str]) -> None:
    """Give parsers inputs that reach new lines of seqray, each in a fork of this process."""
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        write(report, {"name": "guided by coverage", "n": 0, "skipped": "Atheris is not installed"})
        return
    with atheris.instrument_imports(include=["seqray"]):
        _, slow = targets()
        importlib.import_module("seqray.extraction.run_folder")
    prepare()
    for name in names:
        if name in slow:
            continue
        with scratch_folder() as home:
            child = os.fork()
            if not child:
                end = functools.partial(write, report)
                _guide(atheris, name, Path(home), end, n, seconds, seed)
            _, status = os.waitpid(child, 0)
        if status:
            failure = f"the process ended with {os.waitstatus_to_exitcode(status)}"
            write(report, {"name": f"guided: {name}", "n": 1, "failures": [failure]})


def _guide(
    atheris: Any, name: str, home: Path, end: Any, n: int, seconds: float, seed: str
) -> NoReturn:
    """Run Atheris on one parser, and end this process."""
    try:
        target = targets()[0][name](home)
    except importlib.import_module("reliability.campaigns._targets").UnavailableError as error:
        end({"name": f"guided: {name}", "n": 0, "skipped": str(error)})
        os._exit(0)
    watch, begin, corpus = Watch(target.read), time.process_time(), home / "corpus"
    corpus.mkdir()
    for i, each in enumerate(target.seeds):
        (corpus / f"seed{i}").write_bytes(each)

    def test(content: bytes) -> None:
        if watch.n >= n or time.process_time() - begin > seconds:
            kept = len(os.listdir(corpus)) - len(target.seeds)
            end(watch.row(f"guided: {name}", time.process_time() - begin, **{"reach more": kept}))
            os._exit(0)
        watch(content, "of Atheris")

    def mutate(content: bytes, max_size: int, number: int) -> bytes:
        rng = random.Random(number)
        with contextlib.suppress(Exception):
            if rng.random() < 0.5:
                made: bytes = target.mutate(content, target.seeds, rng)[:max_size]
                return made
        mutated: bytes = atheris.Mutate(content, max_size)
        return mutated

    options = ["-max_len=20000", "-timeout=120", "-rss_limit_mb=4096", f"-seed={int(seed) + 1}"]
    atheris.Setup(["fuzz", str(corpus), *options], test, custom_mutator=mutate)
    atheris.Fuzz()
    os._exit(1)  # it ends this process itself


# The process --------------------------------------------------------------------------------------


def prepare() -> None:
    """Limit memory, and let inputs that take too long raise."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_BYTES, MAX_ADDRESS_BYTES))
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")

    def stop(*_: object) -> None:
        raise SlowError

    signal.signal(signal.SIGPROF, stop)


def main(engine: str, *arguments: str) -> None:
    if engine == "names":
        print("\n".join(targets()[0]))
    elif engine == "input":
        seed, name, number = arguments
        prepare()
        with opened(name, Path(os.devnull)) as target:
            content = made_input(target, seed, name, int(number))
            sys.stdout.buffer.write(content)
            sys.stdout.flush()
            target.read(content)
    else:
        report, seed, n, seconds, *names = arguments
        run = {"mutated": mutated, "guided": guided}[engine]
        if engine == "mutated":
            prepare()
        run(Path(report), seed, int(n), float(seconds), list(names))


if __name__ == "__main__":
    main(*sys.argv[1:])
