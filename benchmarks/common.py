"""What every benchmark here needs: one thread, best-of-n timing, and a report that ends in JSON."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits


def one_thread() -> Any:
    """Keep BLAS on one thread inside a ``with`` block."""
    return threadpool_limits(limits=1)


def machine() -> dict[str, str]:
    """Say where the figures come from."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            name = next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    return {"cpu": name, "python": platform.python_version(), "numpy": np.__version__}


def best_of(n: int, work: Callable[[], object]) -> float:
    """Return the least time of ``n`` runs in seconds, after one run that does not count.

    It is processor time: on one thread that is wall time without other people's work.
    """
    work()
    times = []
    for _ in range(n):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def report(rows: list[tuple[str, str]], figures: dict[str, Any]) -> None:
    """Print an aligned table, and last one line of JSON for programs."""
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(f"{name:{width}}  {text}")
    print(json.dumps(figures | {"machine": machine()}))
