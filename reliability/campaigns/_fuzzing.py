"""The processes of the campaign ``fuzz``, which may be killed by what they read.

``python -m reliability.campaigns._fuzzing input SEED NAME NUMBER`` writes the input that a failure
names to standard output, and raises what its parser raises. The long form also keeps the inputs of
failures as files in ``reliability/failing_inputs/``, and every later run reads them first;
``python -m reliability.campaigns._fuzzing file NAME FILE`` reads one alone.
"""

import contextlib
import functools
import hashlib
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
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

MAX_SECONDS = 10
"""Processor time for one input."""

MAX_MEMORY_BYTES, MAX_ADDRESS_BYTES = 2**31, 2**33
"""What the process may use, and what it may reserve: frameworks reserve more than they use."""

MAX_MESSAGE_LENGTH = 1000
MAX_FAILURES = 20
MEMORY_FOLDER = "/dev/shm"
KEPT_INPUTS = Path(__file__).resolve().parents[1] / "failing_inputs"


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


def kept_folder(name: str) -> Path:
    """Return the folder of a parser's inputs that once failed.

    >>> kept_folder("words: any layout, .gz").name
    'words-any-layout-gz'
    """
    return KEPT_INPUTS / "-".join(re.findall("[a-z0-9]+", name.lower()))


def kept_inputs(name: str) -> list[Path]:
    """Return the files of the inputs that once failed."""
    return sorted(kept_folder(name).glob("*"))


def keep(content: bytes, folder: Path) -> Path:
    """Write an input to a file that is named after what it holds, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / hashlib.sha256(content).hexdigest()[:16]
    file.write_bytes(content)
    return file


class Watch:
    """Calls a parser, and collects what goes wrong, each kind of failure once.

    Parameters
    ----------
    read
        The parser.
    folder
        Where inputs that fail are kept, if they are.
    """

    def __init__(self, read: Callable[[bytes], object], folder: Path | None = None) -> None:
        self.read, self.folder, self.n, self.n_refused = read, folder, 0, 0
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
        if key not in self.failures and len(self.failures) < MAX_FAILURES:
            self.failures[key] = (
                f"input {number}{self._kept(content)}: {what} at {where}: {str(error)[:200]!r} "
                f"of {content[:200]!r}"
            )

    def _kept(self, content: bytes) -> str:
        """Keep an input as a file, and return where."""
        if self.folder is None:
            return ""
        file = keep(content, self.folder)
        return f" ({file.parent.name}/{file.name})"

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
    """Give parsers the inputs that once failed, and then inputs that are made of valid ones.

    Where names are given, inputs that fail are kept. A file beside the report has the number of the
    input that is read, for a process that is killed by it.
    """
    every, slow = targets()
    current = os.open(report.with_name("number"), os.O_WRONLY | os.O_CREAT)
    for name in names or [each for each in every if each not in slow]:
        with opened(name, report) as target:
            if target is None:
                continue
            watch = Watch(target.read, kept_folder(name) if names else None)
            begin, number = processor_seconds(), 0
            for file in kept_inputs(name):
                os.pwrite(current, f"{file.name}\n".encode(), 0)
                watch(file.read_bytes(), file.name)
            while number < n and processor_seconds() - begin < seconds:
                os.pwrite(current, f"{number}\n".encode(), 0)
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
    with atheris.instrument_imports(include=["seqray"]):  # also what a parser imports when called
        targets()
        importlib.import_module("seqray.extraction.run_folder")
        prepare()
        for name in names:
            _guide_in_a_fork(atheris, name, report, Effort(n, seconds, seed))


class Effort(NamedTuple):
    """How many inputs a parser gets, at most how long, and the seed of Atheris."""

    n: int
    seconds: float
    seed: str


def _guide_in_a_fork(atheris: Any, name: str, report: Path, effort: Effort) -> None:
    """Run Atheris on one parser in a process, and keep the input that ends it."""
    with scratch_folder() as home:
        child = os.fork()
        if not child:
            _guide(atheris, name, Path(home), functools.partial(write, report), effort)
        _, status = os.waitpid(child, 0)
        if status:
            files = [
                keep(each.read_bytes(), kept_folder(name)) for each in Path(home).glob("end-*")
            ]
            failure = f"the process ended with {os.waitstatus_to_exitcode(status)}"
            failure += "".join(f" ({file.parent.name}/{file.name})" for file in files)
            write(report, {"name": f"guided: {name}", "n": 1, "failures": [failure]})


def _guide(atheris: Any, name: str, home: Path, end: Any, effort: Effort) -> NoReturn:
    """Run Atheris on one parser, and end this process."""
    try:
        target = targets()[0][name](home)
    except importlib.import_module("reliability.campaigns._targets").UnavailableError as error:
        end({"name": f"guided: {name}", "n": 0, "skipped": str(error)})
        os._exit(0)
    watch, begin = Watch(target.read, kept_folder(name)), processor_seconds()
    corpus = home / "corpus"
    corpus.mkdir()
    given = [*target.seeds, *(file.read_bytes() for file in kept_inputs(name))]
    for i, each in enumerate(given):
        (corpus / f"seed{i}").write_bytes(each)

    def test(content: bytes) -> None:
        seconds = processor_seconds() - begin
        if watch.n >= effort.n or seconds > effort.seconds:
            n_new = len(os.listdir(corpus)) - len(given)
            end(watch.row(f"guided: {name}", seconds, **{"reach more": n_new}))
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

    options = ["-max_len=20000", "-timeout=120", "-rss_limit_mb=4096"]
    options += [f"-seed={int(effort.seed) + 1}", f"-artifact_prefix={home / 'end-'}"]
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
    elif engine == "file":
        name, file = arguments
        prepare()
        with opened(name, Path(os.devnull)) as target:
            target.read(Path(file).read_bytes())
    else:
        report, seed, n, seconds, *names = arguments
        run = {"mutated": mutated, "guided": guided}[engine]
        if engine == "mutated":
            prepare()
        run(Path(report), seed, int(n), float(seconds), list(names))


if __name__ == "__main__":
    main(*sys.argv[1:])
