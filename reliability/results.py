"""Which campaigns there are, and the file of their results."""

import datetime
import importlib
import json
import pkgutil
import platform
from collections.abc import Iterable
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


def save(campaign: str, row: Row, seed: int, seconds: float, path: Path = RESULTS) -> None:
    """Save a row in place of the one with its name."""
    saved = {
        "campaign": campaign,
        "name": row.name,
        "n": row.n,
        "failures": list(row.failures),
        "figures": dict(row.figures),
        "skipped": row.skipped,
        "seed": seed,
        "seconds": round(seconds, 1),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {
            "seqray": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
    }
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
    _write([r for r in load(path) if r["campaign"] != campaign or r["name"] in names], path)


def _key(row: dict[str, Any]) -> tuple[str, str]:
    return row["campaign"], row["name"]


def _write(rows: list[dict[str, Any]], path: Path) -> None:
    """Write one line per row, so that two people's changes can be merged."""
    rows = sorted(rows, key=lambda row: row["campaign"])
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    write_text(path, f'{{"rows": [\n{lines}\n]}}\n')
