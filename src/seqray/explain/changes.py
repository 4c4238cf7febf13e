"""What changes from rank to rank: an automaton unfolds from few states to many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.probabilities import as_probabilities, total_variation
from seqray.automata.words import Alphabet, Symbol, Words
from seqray.explain.probable import grown_prefixes
from seqray.explain.text import Section, as_text, next_name
from seqray.extraction.result import Extraction
from seqray.extraction.run_folder import open_run
from seqray.extraction.settings import CONDITIONAL
from seqray.util.arrays import FloatArray
from seqray.util.display import Displayed
from seqray.util.errors import ArgumentError, RankError
from seqray.util.formatting import shortened, significant

N_PREFIXES = 300
"""How many prefixes, the most probable ones at the largest rank, are compared."""

RANKS = (1, *CONDITIONAL.fitted_ranks)
"""The ranks that are compared if none are named, up to the largest there is."""


class Change(NamedTuple):
    """What a larger rank changes after a prefix, or for a word.

    ``distance`` is the total variation distance of the next symbols, and ``before`` and ``after``
    are the likeliest ones; for automata that do not predict it is the difference of the weights.
    """

    prefix: tuple[Symbol, ...]
    distance: float
    before: str
    after: str


class Step(NamedTuple):
    """From one rank to the next: how much changes on average, and where most."""

    before: int
    after: int
    distance: float
    changes: tuple[Change, ...]


@dataclass(frozen=True, eq=False, repr=False)
class RankChanges(Displayed):
    """What changes from rank to rank; made by `what_changes`.

    Parameters
    ----------
    alphabet
        The symbols of the prefixes.
    steps
        One for each rank but the first.
    predicting
        Whether next symbols are compared, or weights.
    """

    alphabet: Alphabet
    steps: tuple[Step, ...]
    predicting: bool

    def __repr__(self) -> str:
        return as_text(self.sections())

    def sections(self) -> tuple[Section, ...]:
        """Return the table that shows it."""
        rows = []
        for step in self.steps:
            ranks, mean = f"{step.before} → {step.after}", significant(step.distance, 2)
            for each in step.changes or (None,):
                cells = ("", "", "")
                if each is not None:
                    same = each.before == each.after
                    change = each.after if same else f"{each.before} → {each.after}"
                    prefix = shortened(self.alphabet.show(each.prefix), 24)
                    cells = (prefix, significant(each.distance, 2), change)
                rows.append((ranks, mean, *cells))
                ranks = mean = ""
        where = "after" if self.predicting else "word"
        what = "next symbol" if self.predicting else "weight"
        columns = ("states", " change", f"most {where}", " change", what)
        note = (
            "change: total variation distance of the next symbols; the mean over probable\n"
            "prefixes, and the prefixes that change most."
        )
        if not self.predicting:
            note = "change: of the weights of short words; the root mean square, and the largest."
        return (Section("From rank to rank", columns, tuple(rows), note),)

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, as JSON can hold them."""
        return {
            "steps": [
                {
                    **step._asdict(),
                    "changes": [
                        {**each._asdict(), "prefix": list(each.prefix)} for each in step.changes
                    ],
                }
                for step in self.steps
            ],
            "predicting": self.predicting,
        }


def what_changes(
    extraction: Extraction | Mapping[int, WeightedAutomaton] | str | os.PathLike[str],
    ranks: Iterable[int] | None = None,
    *,
    n_changes: int = 3,
) -> RankChanges:
    """Return what changes from rank to rank, and where most.

    Parameters
    ----------
    extraction
        What `seqray.extract` or `seqray.open_run` returned, the path of a run folder, or automata
        by rank.
    ranks
        Which ranks to compare, from small to large; by default 1, 2, 3, 5, 8, … and the largest.
    n_changes
        How many changes to show for each step.

    Examples
    --------
    >>> one = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> two = WeightedAutomaton(
    ...     "ab", [1, 0], [[[0, 0.5], [0, 0.25]], [[0, 0.25], [0, 0.5]]], [0.25, 0.25]
    ... )
    >>> what_changes({1: one, 2: two}).steps[0].changes[0]
    Change(prefix=('a',), distance=0.25, before='a', after='b')
    """
    if isinstance(extraction, str | os.PathLike):
        extraction = open_run(extraction)
    if not isinstance(extraction, Extraction | Mapping):
        raise ArgumentError(
            "extraction: expected an extraction, a run folder or automata by rank, got "
            f"{extraction!r}"
        )
    if isinstance(extraction, Mapping):
        known, default = sorted(extraction), sorted(extraction)
        choose = extraction.__getitem__
    else:
        known, choose = list(range(1, extraction.max_rank + 1)), extraction.automaton
        default = [rank for rank in sorted({*RANKS, extraction.max_rank}) if rank in known]
    chosen = default if ranks is None else sorted(set(ranks))
    if not chosen or not set(chosen) <= set(known):
        shown = f"some of {known}" if isinstance(extraction, Mapping) else f"1 … {known[-1]}"
        raise RankError(f"ranks: expected {shown}, got {chosen}")
    automata = {rank: choose(rank) for rank in chosen}
    last = automata[chosen[-1]]
    predicting = all(automata[rank].is_distribution for rank in chosen)
    prefixes = grown_prefixes(last, N_PREFIXES)
    compare = _next_symbols if predicting else _weights
    steps = [
        Step(before, after, *compare(automata[before], automata[after], prefixes, n_changes))
        for before, after in pairwise(chosen)
    ]
    return RankChanges(last.alphabet, tuple(steps), predicting)


def _next_symbols(
    one: WeightedAutomaton, two: WeightedAutomaton, prefixes: Words, n: int
) -> tuple[float, tuple[Change, ...]]:
    """Compare what comes next."""
    before, after = (as_probabilities(side.next_symbol(prefixes)) for side in (one, two))
    distances = total_variation(before, after)
    weights = np.maximum(two.prefix_weights(prefixes), 0)
    mean = float(distances @ weights / (weights.sum() or 1.0))
    order = _most(distances * weights, n)
    names = [
        [next_name(one.alphabet, int(row.argmax())) for row in side[order]]
        for side in (before, after)
    ]
    changes = [
        Change(prefixes[i], float(distances[i]), first, second)
        for i, first, second in zip(order, *names, strict=True)
    ]
    return mean, tuple(changes)


def _weights(
    one: WeightedAutomaton, two: WeightedAutomaton, words: Words, n: int
) -> tuple[float, tuple[Change, ...]]:
    """Compare weights."""
    before, after = one.weights(words), two.weights(words)
    finite = np.isfinite(before) & np.isfinite(after)
    distances = np.abs(np.subtract(after, before, out=np.zeros(len(words)), where=finite))
    changes = [
        Change(words[i], float(distances[i]), significant(before[i]), significant(after[i]))
        for i in _most(distances, n)
    ]
    return float(np.sqrt((distances**2).mean())), tuple(changes)


def _most(sizes: FloatArray, n: int) -> list[int]:
    """Return the indices of the largest sizes that are not 0."""
    order: Sequence[int] = np.argsort(-sizes, kind="stable")[:n].tolist()
    return [i for i in order if sizes[i] > 1e-12]
