"""Tables of how faithful automata are, for notebooks."""

from __future__ import annotations

from seqray.explain.text import Section
from seqray.fidelity.decisions import DecisionFidelity
from seqray.fidelity.metrics import MEANINGS
from seqray.fidelity.table import Fidelity, FidelityTable, main_metrics
from seqray.util.formatting import counted, significant, significant_but_one

SPACED_RANKS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""The ranks that a long table shows, with the best and the largest."""

MAX_ROWS = 12
"""A table of more ranks is long."""

MAX_CLASSES = 12
"""With more classes than this, the words by class are not shown."""


def fidelity_section(fidelity: Fidelity) -> Section:
    """Return one row per metric, with its confidence interval where there is one.

    >>> print(fidelity_section(Fidelity({"wer": 0.5}, 2, 9, {"wer": (0.4, 0.61)})))
    Fidelity on 2 words, 9 prefixes
    metric  value  95 % interval  meaning
    wer       0.5     0.4 … 0.61  share of next symbols that are not the automaton's first choice
    """
    has_intervals = bool(fidelity.intervals)
    rows = []
    for name, value in fidelity.items():
        ends = " … ".join(significant(end) for end in fidelity.intervals.get(name, ()))
        shown = (ends,) if has_intervals else ()
        rows.append((name, significant_but_one(value, 5), *shown, MEANINGS[name]))
    columns = ("metric", " value", *((" 95 % interval",) if has_intervals else ()), "meaning")
    on = f"{counted(fidelity.n_words, 'word')}, {fidelity.n_prefixes:,} prefixes"
    return Section(f"Fidelity on {on}", columns, tuple(rows))


def confusion_section(fidelity: DecisionFidelity) -> Section:
    """Return how many words get which class of the box, and which of the automaton."""
    classes = fidelity.classes if len(fidelity.classes) <= MAX_CLASSES else ()
    rows = [
        (name, *(f"{number:,}" for number in row))
        for name, row in zip(classes, fidelity.confusion.tolist(), strict=False)
    ]
    note = "" if classes else f"There are {len(fidelity.classes):,} classes: see `confusion`."
    columns = ("box", *(f" {name}" for name in classes))
    return Section(
        "Words by class: of the box in rows, of the automaton in columns",
        columns,
        tuple(rows),
        note,
    )


def ranks_section(table: FidelityTable, chosen: int | None = None) -> Section:
    """Return one row per rank, the chosen one marked; of many ranks some."""
    if not table.ranks:
        return Section("Fidelity by rank", (" states",), (), "There are no ranks.")
    best = table.best_rank() if chosen is None else chosen
    first = table.fidelities[0]
    names = main_metrics(first)
    rows = [
        (
            f"{'→ ' if rank == best else ''}{rank}",
            significant_but_one(table[rank].score, 5),
            *(significant_but_one(table[rank][name], 4) for name in names),
        )
        for rank in shown_ranks(table.ranks, best)
    ]
    columns = (" states", " score", *(f" {name}" for name in names))
    left_out = len(table.ranks) - len(rows)
    note = "→ the smallest rank that is nearly as good as the best."
    if left_out:
        note += f" {counted(left_out, 'rank')} left out: to_frame() has all."
    return Section(
        f"Fidelity by rank, on {counted(first.n_words, 'word')}", columns, tuple(rows), note
    )


def shown_ranks(ranks: tuple[int, ...], best: int) -> list[int]:
    """Return the ranks to show, about a dozen.

    >>> shown_ranks(tuple(range(1, 41)), 6)
    [1, 2, 3, 5, 6, 7, 10, 15, 20, 30, 40]
    """
    if len(ranks) <= MAX_ROWS:
        return list(ranks)
    return [rank for rank in ranks if rank in (*SPACED_RANKS, best, ranks[-1])]
