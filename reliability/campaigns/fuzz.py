"""Millions of odd inputs for every parser: each is read for what it is, or refused in one line.

Valid inputs of each parser are damaged: flipped bits, cuts, splices, numbers such as nan, 1e999 and
2**63, deep nesting, odd characters, other values in JSON and arrays. Checksums are left out or made
right, so that damage gets as far as it can. Atheris makes further inputs, guided by the lines of
seqray that they reach. No input may raise anything but an error of seqray, whose message is one
line of at most 1000 characters; take more than ten seconds of processor time; or take memory beyond
2 GB. What is read is checked: finite arrays of fitting shapes, and written and read again it is the
same.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from reliability import Row, Scale

ROOT = Path(__file__).resolve().parents[2]

SHORT_INPUTS, LONG_INPUTS, GUIDED_INPUTS = 60, 36_000, 2_000
"""How many inputs a parser gets; fewer if they take longer than the seconds below."""

MAX_SECONDS, MAX_GUIDED_SECONDS = 15, 1
"""Processor time for one parser."""

MAX_WAIT_SECONDS = 1200

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
)


def run(scale: Scale, seed: int) -> Iterator[Row]:
    """Give each parser its inputs: in the long form, each in a process of its own."""
    if scale == "short":
        yield from _made("mutated", seed, SHORT_INPUTS, MAX_SECONDS, ())
        return
    names = _output(["names"]).splitlines()
    for name in names:
        yield from _made("mutated", seed, LONG_INPUTS, MAX_SECONDS, [name])
    yield from _made("guided", seed, GUIDED_INPUTS, MAX_GUIDED_SECONDS, names)


def _output(arguments: Sequence[str]) -> str:
    return subprocess.run(
        [sys.executable, "-m", "reliability.campaigns._fuzzing", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def _made(engine: str, seed: int, n: int, seconds: int, names: Sequence[str]) -> Iterator[Row]:
    """Run a process that gives parsers inputs; yield a row for each parser."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report")
        numbers = (str(seed), str(n), str(seconds))
        command = [sys.executable, "-m", "reliability.campaigns._fuzzing", engine, str(report)]
        with Path(folder, "errors").open("w+b") as errors:
            try:
                done = subprocess.run(
                    [*command, *numbers, *names],
                    cwd=ROOT,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    timeout=MAX_WAIT_SECONDS,
                    check=False,
                )
                end = f"ended with {done.returncode}" if done.returncode else ""
            except subprocess.TimeoutExpired:
                end = f"was silent for {MAX_WAIT_SECONDS} s"
            errors.seek(0)
            last = errors.read()[-300:].decode(errors="replace")
        lines = report.read_text().splitlines() if report.exists() else []
        rows = [Row(**json.loads(line)) for line in lines if line]
        yield from rows
        if end:
            name = ", ".join(names[:1]) or "all"
            yield Row(f"{engine}, {name}: not ended", 1, [f"the process {end}: {last}"])
