"""The page of results, docs/reliability.md."""

import inspect
from pathlib import Path
from typing import Any

from reliability.results import RESULTS, ROOT, campaigns, load
from seqray.util.files import write_text

PAGE = ROOT / "docs" / "reliability.md"

HEAD = """# Reliability

What was done to seqray to break it, and what came of it. `make soak` runs all of this and writes
the results, `python -m reliability --page` writes this page from them; short forms are part of
`make test`. A campaign that says "not run yet" has run in its short form only.
[SECURITY.md](../SECURITY.md) says what seqray protects you from.
"""


def write(path: Path = PAGE, results: Path = RESULTS) -> None:
    """Write the page from the saved rows."""
    write_text(path, text(load(results)))


def text(rows: list[dict[str, Any]]) -> str:
    """Return the page of some rows."""
    parts = [HEAD, _summary(rows)]
    for name, module in campaigns().items():
        own = [row for row in rows if row["campaign"] == name]
        parts.append(_section(name, module, own))
    return "\n".join(parts)


def _summary(rows: list[dict[str, Any]]) -> str:
    trials, failures = sum(row["n"] for row in rows), sum(len(row["failures"]) for row in rows)
    n_found = sum(len(getattr(each, "FOUND", ())) for each in campaigns().values())
    return (
        f"In all: {trials:,} trials, of which {failures:,} failed in the last run of each "
        f"campaign; {n_found} defects were found and fixed.\n"
    )


def _section(name: str, module: Any, rows: list[dict[str, Any]]) -> str:
    lines = [f"## {name.replace('_', ' ').capitalize()}", "", inspect.getdoc(module) or "", ""]
    if rows:
        lines += ["| what | trials | failures | figures |", "| --- | --- | --- | --- |"]
        lines += [_line(row) for row in rows]
        lines += [f"\nFailed: {row['name']}: {each}" for row in rows for each in row["failures"]]
        lines += ["", *(f"{_command(name, each)}." for each in _runs(rows))]
    else:
        lines.append("Not run yet.")
    for found in getattr(module, "FOUND", ()):
        lines += ["", "Found and fixed:", ""] if found == module.FOUND[0] else []
        lines.append(f"- {found}")
    if notes := getattr(module, "NOTES", ()):
        lines += ["", *(f"- {note}" for note in notes)]
    return "\n".join([*lines, ""])


def _line(row: dict[str, Any]) -> str:
    if row["skipped"]:
        return f"| {row['name']} | skipped | | {row['skipped']} |"
    figures = "; ".join(f"{key}: {_figure(each)}" for key, each in row["figures"].items())
    return f"| {row['name']} | {row['n']:,} | {len(row['failures'])} | {figures} |"


def _figure(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _runs(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the rows of each run: there is one, unless a later one was not finished."""
    starts = sorted({row["started"] for row in rows})
    return [[row for row in rows if row["started"] == each] for each in starts]


def _command(name: str, rows: list[dict[str, Any]]) -> str:
    """Say which command made rows, how many trials these are, when and where they were made."""
    first, dates = rows[0], sorted({row["date"] for row in rows})
    seed = f" --seed {first['seed']}" if first["seed"] else ""
    versions = ", ".join(f"{key} {each}" for key, each in first["versions"].items())
    return (
        f"`python -m reliability {name}{seed}`: {sum(row['n'] for row in rows):,} trials, "
        f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {first['machine']}, {versions}"
    )
