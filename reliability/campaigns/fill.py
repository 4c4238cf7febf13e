"""A fill of a hundred million cells, by a network: no more memory than the blocks themselves.

The peak is the process's largest resident memory, less what was there before the fill, relative to
the bytes of the blocks (`benchmarks/memory.py`).
"""

import json
import subprocess
import sys
from collections.abc import Iterator

from reliability import Row, Scale
from reliability.results import ROOT

MAX_MEMORY_RATIO = 1.1
"""The most memory that a fill may take, relative to its blocks."""


def run(scale: Scale, seed: int) -> Iterator[Row]:
    """Fill blocks once."""
    yield _filled(2200 if scale == "long" else 220, seed)


def _filled(size: int, seed: int) -> Row:
    symbols = 20
    command = [sys.executable, "benchmarks/memory.py", "--size", str(size)]
    command += ["--symbols", str(symbols), "--seed", str(seed)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    figures = json.loads(said.splitlines()[-1])
    ratio, n_cells = round(figures["memory_ratio"], 3), (symbols + 1) * size**2
    is_large = n_cells >= 10**6  # small blocks drown in what else a process needs
    wrong = [f"{ratio} times the blocks"] if is_large and ratio > MAX_MEMORY_RATIO else []
    shown = {"cells": n_cells, "peak memory / blocks": ratio} if is_large else {"cells": n_cells}
    return Row("fill of blocks", 1, wrong, shown)
