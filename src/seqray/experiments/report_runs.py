"""The section of the report that says what was run, with what, and how long it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seqray.experiments.findings import SUITES, Findings
from seqray.experiments.table import AUTO, Result, choose
from seqray.experiments.tables import markdown


def runs_text(findings: Findings) -> str:
    """Return the section of what was run: a table with one row per suite and method.

    Examples
    --------
    >>> runs_text(Findings([])).splitlines()[0]
    '## What was run'
    """
    lines = []
    for suite in findings.about:
        for rows, own in ((findings.rows, False), (findings.own, True)):
            plain = choose(rows, problem=SUITES[suite], selection="all")
            if plain or not own:
                lines.append(_run_line(suite, findings.about[suite], plain, own))
    header = ["table", "problems", "bases", "longest word of a basis", "ranks", "rows"]
    header += ["minutes, all", "longest problem"]
    texts = ["## What was run", markdown(header, lines), *_versions(findings)]
    return "\n\n".join(texts)


def _run_line(suite: str, about: Mapping[str, Any], rows: Sequence[Result], own: bool) -> list[str]:
    """Say in a line what one method was run on."""
    sizes = sorted({row.prefixes for row in rows})
    spent = [sum(phases.values()) for phases in _phases(about, own=own).values()]
    contexts = f"{_between(sizes)} contexts" if own else ", ".join(map(str, sizes))
    return [
        f"{suite}, seqray's own method" if own else suite,
        f"{len({row.problem for row in rows})} of {len(SUITES[suite])}",
        contexts or "–",
        "–" if own else _longest(about),
        _span(row.rank for row in rows),
        f"{len(rows):,}",
        f"{sum(spent) / 60:.0f}" if spent else "–",
        f"{max(spent) / 60:.1f}" if spent else "–",
    ]


def _phases(about: Mapping[str, Any], *, own: bool) -> dict[str, dict[str, float]]:
    """Return the seconds of one method by problem and phase."""
    mark = f"{AUTO}_"
    phases: dict[str, dict[str, float]] = {}
    for problem, spent in about.get("seconds", {}).items():
        its = {name: taken for name, taken in spent.items() if name.startswith(mark) == own}
        if its:
            phases[problem] = {name.removeprefix(mark): taken for name, taken in its.items()}
    return phases


def _longest(about: Mapping[str, Any]) -> str:
    """Say how long the words of a basis may be."""
    if "settings" not in about:
        return "–"
    longest = about["settings"].get("max_length")
    return "default" if longest is None else str(longest)


def _versions(findings: Findings) -> list[str]:
    """Say with what it was run, and how the time went."""
    about = next((one for one in findings.about.values() if one.get("seqray")), None)
    if about is None:
        return []
    settings = about.get("settings", {})
    by_phase = [f"Processor time by phase: {_shares(findings, own=False)}"]
    if ours := _shares(findings, own=True):
        by_phase.append(f"of seqray's own method: {ours}")
    return [
        f"seqray {about['seqray']}, Python {about['python']}, NumPy {about['numpy']}, "
        f"{', '.join(about.get('blas', []))}, on {about['processor']}; seed "
        f"{settings.get('seed', '–')}, {settings.get('n_rnn', '–')} words drawn from each network "
        f"as S_RNN, {settings.get('n_held_out', '–')} others to choose ranks on. "
        f"{'; '.join(by_phase)}."
    ]


def _shares(findings: Findings, *, own: bool) -> str:
    """Say which shares of the time of a method its phases take, the longest first."""
    phases: dict[str, float] = {}
    for about in findings.about.values():
        for spent in _phases(about, own=own).values():
            for phase, seconds in spent.items():
                phases[phase] = phases.get(phase, 0.0) + seconds
    total = sum(phases.values()) or 1.0
    shares = sorted(phases.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in shares)


def _between(numbers: Sequence[int]) -> str:
    return " to ".join(f"{end:,}" for end in dict.fromkeys((numbers[0], numbers[-1])))


def _span(numbers: Iterable[int]) -> str:
    known = sorted(set(numbers))
    if not known:
        return "–"
    whole = len(known) == known[-1] - known[0] + 1
    return f"{known[0]}–{known[-1]}" if whole else f"{len(known)} from {known[0]} to {known[-1]}"
