"""Helpers of all benchmarks: one thread, best-of-n timing, and a report that ends in JSON."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from seqray.util.csv_table import plain_csv_bytes


class Numbers:
    """A box with states whose words have weights, and nothing else."""

    def __init__(self, box: Any) -> None:
        self.box, self.alphabet = box, box.alphabet
        self.weights, self.state_weights = box.weights, box.state_weights
        self.start, self.step = box.start, box.step


def one_thread() -> Any:
    """Keep BLAS on one thread inside a ``with`` block."""
    return threadpool_limits(limits=1)


def learning_steps(settings: Mapping[str, Any]) -> int:
    """Return how many steps an extraction learnt from; those for validation words are left out."""
    return int(settings["steps"] - settings["validation_questions"])


def machine() -> dict[str, str]:
    """Return the versions and the processor that the figures come from."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            name = next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    versions = {"cpu": name, "python": platform.python_version(), "numpy": np.__version__}
    if torch := sys.modules.get("torch"):
        versions["torch"] = torch.__version__
    return versions


def best_of(n: int, work: Callable[[], object]) -> float:
    """Return the least time of ``n`` runs in seconds, after one run that does not count.

    It is processor time: on one thread that is wall time without other people's work.
    """
    return best_of_each(n, work)[0]


def best_of_each(n: int, *works: Callable[[], object]) -> list[float]:
    """Return the least time of ``n`` runs of each, run in turn: slow moments hit all alike."""
    for work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    for _ in range(n):
        for work, taken in zip(works, times, strict=True):
            begin = time.process_time()
            work()
            taken.append(time.process_time() - begin)
    return [min(taken) for taken in times]


def report(rows: list[tuple[str, str]], figures: dict[str, Any]) -> None:
    """Print an aligned table, and last one line of JSON for programs."""
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(f"{name:{width}}  {text}")
    print(json.dumps(figures | {"machine": machine()}))


def write_table(path: Path, rows: list[dict[str, float]]) -> None:
    """Write rows with the same columns as CSV."""
    path.write_bytes(plain_csv_bytes(rows[0], (row.values() for row in rows)))
