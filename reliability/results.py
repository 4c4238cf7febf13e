"""Which campaigns there are, and the file of their results."""

import contextlib
import datetime
import fcntl
import importlib
import json
import os
import pkgutil
import platform
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import reliability.campaigns
from reliability import Row
from seqray.util.files import write_text
from seqray.util.version import __version__

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "reliability.json"


def campaigns() -> dict[str, ModuleType]:
    """Return the modules of all campaigns by name."""
    names = sorted(each.name for each in pkgutil.iter_modules(reliability.campaigns.__path__))
    return {
        name: importlib.import_module(f"reliability.campaigns.{name}")
        for name in names
        if not name.startswith("_")
    }


def load(path: Path = RESULTS) -> list[dict[str, Any]]:
    """Return all saved rows."""
    return json.loads(path.read_text("utf-8"))["rows"] if path.exists() else []


def save(
    campaign: str, row: Row, seed: int, seconds: float, started: str, path: Path = RESULTS
) -> None:
    """Save a row in place of the one with its name.

    ``started`` says when its run began: all rows of one run have the same.
    """
    saved = {
        "campaign": campaign,
        "name": row.name,
        "n": row.n,
        "failures": list(row.failures),
        "figures": dict(row.figures),
        "skipped": row.skipped,
        "seed": seed,
        "seconds": round(seconds, 1),
        "started": started,
        "date": now()[:10],
        "machine": machine(),
        "versions": {
            "seqray": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
    }
    with _locked(path):
        _save(saved, path)


def _save(saved: dict[str, Any], path: Path) -> None:
    rows = load(path)
    old = [i for i, each in enumerate(rows) if _key(each) == _key(saved)]
    if old:
        rows[old[0]] = saved
    else:
        rows.append(saved)
    _write(rows, path)


def keep_only(campaign: str, names: Iterable[str], path: Path = RESULTS) -> None:
    """Drop rows of a campaign that it no longer has."""
    names = set(names)
    with _locked(path):
        _write([r for r in load(path) if r["campaign"] != campaign or r["name"] in names], path)


def begun(campaign: str, seed: int, path: Path = RESULTS) -> tuple[str, set[str]]:
    """Return when the last run of a campaign began, and its rows without a failure.

    Without a run with that seed: now, and none.
    """
    rows = [each for each in load(path) if each["campaign"] == campaign]
    started = max((each["started"] for each in rows if each["seed"] == seed), default=now())
    rows = [each for each in rows if each["started"] == started and not each["failures"]]
    return started, {each["name"] for each in rows}


def now() -> str:
    """Return the time, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def machine() -> str:
    """Return the processor's name and how many cores there are."""
    names = [platform.processor() or platform.machine()]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {os.cpu_count()} cores" if names else f"{os.cpu_count()} cores"


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time change a file: campaigns may run beside each other."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _key(row: dict[str, Any]) -> tuple[str, str]:
    return row["campaign"], row["name"]


def _write(rows: list[dict[str, Any]], path: Path) -> None:
    """Write one line per row, so that two people's changes can be merged."""
    rows = sorted(rows, key=lambda row: row["campaign"])
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    write_text(path, f'{{"rows": [\n{lines}\n]}}\n')
