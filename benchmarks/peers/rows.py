"""The table of results: one row per box, peer, setting and budget, saved whenever one comes."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results" / "peers.csv"
COLUMNS = (
    *("box", "peer", "setting", "budget", "queries", "words"),
    *("bits_per_symbol", "ndcg5", "agreement", "uniform_share"),
    *("seconds", "limit", "is_limited", "megabytes", "states", "numbers", "remark"),
    "seqray_version",
)
"""What a row says. The version is of seqray, of its own rows; elsewhere packages are pinned."""

Row = dict[str, str]


class SavedRows:
    """Rows of a table that is saved whenever one comes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = read_rows(path) if path.exists() else []

    def made(self, key: dict[str, Any], make: Callable[[], dict[str, Any]]) -> Row:
        """Return the row of a key: the one that is there, or a new one, which is saved."""
        wanted = {name: str(value) for name, value in key.items()}
        for row in self.rows:
            if wanted.items() <= row.items():
                return row
        values = key | make()
        row = {name: str(values.get(name, "")) for name in COLUMNS}
        self.rows.append(row)
        self.save()
        print("  ".join(f"{name} {row[name]}" for name in COLUMNS if row[name]), flush=True)
        return row

    def save(self) -> None:
        """Write the table, beside its place first."""
        fresh = self.path.with_suffix(".part")
        with fresh.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        fresh.replace(self.path)


def read_rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as lines:
        return [dict.fromkeys(COLUMNS, "") | row for row in csv.DictReader(lines)]
