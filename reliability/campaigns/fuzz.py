"""Two million odd inputs for the parsers: each is read for what it is, or refused in one line.

Valid inputs of each parser are damaged: flipped bits, cuts, splices, numbers such as nan, 1e999 and
2**63, deep nesting, odd characters, other values in JSON and arrays. Checksums are left out or made
right, so that damage gets as far as it can. Atheris makes further inputs, guided by the lines of
seqray that they reach. Inputs that once failed come first. No input may raise anything but an error
of seqray, whose message is one line of at most 1000 characters; take more than ten seconds of
processor time; or take memory beyond 2 GB. What is read is checked: finite arrays of fitting
shapes, and written and read again it is the same.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import TextIO

from reliability import Row, Scale

ROOT = Path(__file__).resolve().parents[2]

SHORT_INPUTS, LONG_INPUTS, GUIDED_INPUTS = 20, 33_000, 20_000
"""How many inputs a parser gets."""

FEWER_INPUTS = {
    "automaton: .npz": 8_000,
    "events: sessions of a log": 8_000,
    "events: time formats": 6_000,
    "run folder: weighted": 6_000,
    "run folder: conditional": 6_000,
    "exports of automata": 6_000,
    "requests to a served page": 15_000,
    "PyTorch .pt": 6_000,
    "ONNX": 10_000,
    "answer cache: SQLite": 6_000,
    "HTTP replies": 10_000,
    "output of cmd: boxes": 10_000,
    "output of cmd: boxes, with processes": 1_000,
    "specifications of boxes": 1_500,
    "regular expressions of guides": 3_000,
}
"""How many it gets in the long form where one takes a millisecond or more."""

MAX_SHORT_SECONDS, MAX_GUIDED_SECONDS = 15, 10
"""Processor time for one parser, in the short form and guided by coverage."""

MAX_WAIT_SECONDS = 3600
"""How long a process may be silent."""

RESUMABLE = True

FOUND = (
    "A damaged Parquet file ended the process, inside pyarrow; another raised an IndexError.",
    "Messages of errors quoted texts whole, with their lines and control characters.",
    "The time to refuse a long specification grew with the square of its length.",
    "Names too long for a file, or with half a character, raised OSError or UnicodeEncodeError.",
    "Answers with a number of hundreds of digits raised OverflowError.",
    "The index of a choice of a language model, `1e999`, raised OverflowError.",
    "A card with such a number as `empty` raised TypeError.",
    "Regular expressions of sessions raised RecursionError or OverflowError.",
    "A format of times with a field twice raised `re.error`.",
    "`1e999` in JSON lines became a symbol that could not be written again.",
    "A PAutomaC machine whose words all end at once was written so that it could not be read.",
    "An automaton with half a character in a name raised UnicodeEncodeError when it was saved.",
    "Run folders opened with singular values that are not finite.",
    "Run folders raised AttributeError where a record was a text.",
    "Checkpoints opened with arrays that do not fit, or epochs that are no numbers.",
    "HDF5: an empty array with a shape beyond all bounds raised ValueError.",
    "A TAYSIR model without layers raised IndexError.",
    "An ONNX graph without outputs raised IndexError.",
    "Cached answers of different sizes raised ValueError.",
    "A damaged table of the answer cache raised UnicodeDecodeError, where SQLite quotes its bytes.",
    "A run folder whose fidelity was measured on 0 words raised ZeroDivisionError.",
    "The `end` of a hidden Markov model that is no whole number raised TypeError or IndexError, "
    "and a model without states ValueError.",
    "A table of boxes in the answer cache with deeply nested JSON raised RecursionError.",
    "A PAutomaC solution with a separator such as `\\x1e` before its number of words raised "
    "ValueError.",
    "An ONNX model with a name or metadata that is not UTF-8 raised UnicodeDecodeError.",
)


def run(scale: Scale, seed: int, done: Set[str] = frozenset()) -> Iterator[Row]:
    """Give each parser its inputs: in the long form, each in a process of its own."""
    if scale == "short":
        yield from _made("mutated", seed, SHORT_INPUTS, MAX_SHORT_SECONDS, ())
        return
    names = _output(["names"]).splitlines()
    for name, n in planned_inputs(names).items():
        if name not in done:
            yield from _made("mutated", seed, n, MAX_WAIT_SECONDS, [name])
    if left := [name for name in names if f"guided: {name}" not in done]:
        yield from _made("guided", seed, GUIDED_INPUTS, MAX_GUIDED_SECONDS, left)


def planned_inputs(names: Sequence[str]) -> dict[str, int]:
    """Return how many inputs the long form makes of valid ones for each parser.

    >>> planned_inputs(["card", "ONNX"])
    {'card': 33000, 'ONNX': 10000}
    """
    return {name: FEWER_INPUTS.get(name, LONG_INPUTS) for name in names}


def _output(arguments: Sequence[str]) -> str:
    return subprocess.run(
        [sys.executable, "-m", "reliability.campaigns._fuzzing", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def _made(engine: str, seed: int, n: int, seconds: int, names: Sequence[str]) -> Iterator[Row]:
    """Run a process that gives parsers inputs; yield a row for each parser as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report")
        report.touch()
        numbers = (str(seed), str(n), str(seconds))
        command = [sys.executable, "-m", "reliability.campaigns._fuzzing", engine, str(report)]
        with Path(folder, "errors").open("w+b") as errors, report.open() as lines:
            process = subprocess.Popen(
                [*command, *numbers, *names], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors
            )
            end = ""
            try:
                yield from _rows(process, lines)
                if process.returncode:
                    end = f"ended with {process.returncode}"
            except subprocess.TimeoutExpired:
                end = f"was silent for {MAX_WAIT_SECONDS} s"
            finally:
                process.kill()
                process.wait()
            errors.seek(0)
            last = errors.read()[-300:].decode(errors="replace")
            current = report.with_name("number")
            at = current.read_text().split()[:1] if current.exists() else []
        if end:
            name = ", ".join(names[:1]) or "all"
            where = "".join(f" at input {each}" for each in at)
            yield Row(f"{engine}, {name}: not ended", 1, [f"the process {end}{where}: {last}"])


def _rows(process: subprocess.Popen[bytes], lines: TextIO) -> Iterator[Row]:
    """Yield the rows that a process reports until it ends; raise where it is silent too long."""
    is_over, heard = False, time.monotonic()
    while not is_over:
        is_over = process.poll() is not None
        for line in lines:
            heard = time.monotonic()
            yield Row(**json.loads(line))
        if time.monotonic() - heard > MAX_WAIT_SECONDS:
            raise subprocess.TimeoutExpired(process.args, MAX_WAIT_SECONDS)
        time.sleep(0.0 if is_over else 0.1)
