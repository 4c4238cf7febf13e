"""Facts about the whole for a page: probable words, lengths, symbols, what more states change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seqray.automata.ranks import RankedAutomata
from seqray.explain.changes import RANKS, what_changes
from seqray.explain.facts import Facts, facts
from seqray.explain.probable import HeaviestWords, heaviest_words
from seqray.explore.ranks import ShownRank

N_WORDS = 10
"""How many of the heaviest words are shown."""

MAX_WORD_LENGTH = 200
"""Words with more symbols are not shown."""


def whole_facts(shown: ShownRank) -> dict[str, Any]:
    """Return what the automaton of one rank does as a whole.

    Without names for its states only its heaviest words are looked for.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> from seqray.explore.ranks import show_ranks
    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> whole = whole_facts(show_ranks(RankedAutomata(wa, None, {1: wa}), [1], 1)[0])
    >>> whole["length"], whole["words"][0]
    ([3.0, 3.464...], {'word': [], 'weight': 0.25})
    """
    if shown.named is None:
        heaviest = heaviest_words(shown.automaton, N_WORDS)
        return {"words": _listed(heaviest), "exact": heaviest.exact}
    return _described(facts(shown.named, n_words=N_WORDS))


def without_states(described: dict[str, Any]) -> dict[str, Any]:
    """Return facts that name no state.

    >>> without_states({"exact": True, "continuations": [[]], "absorbing": [[0]]})
    {'exact': True}
    """
    about_states = ("absorbing", "periodic", "continuations")
    return {name: said for name, said in described.items() if name not in about_states}


def _described(f: Facts) -> dict[str, Any]:
    """Return facts for the page; lengths and counts only where weights are probabilities."""
    predicts = f.named.automaton.is_distribution
    counts, influence = (f.counts, f.influence) if predicts else (None, None)
    return {
        "words": _listed(f.heaviest),
        "exact": f.heaviest.exact,
        "length": None if counts is None else [f.mean_length, f.deviation],
        "counts": None if counts is None else counts.tolist(),
        "influence": None if influence is None else influence.tolist(),
        "rhythms": [list(rhythm) for rhythm in f.rhythms],
        "absorbing": [list(part.states) for part in f.absorbing],
        "periodic": [[part.period, list(part.states)] for part in f.periodic],
        "continuations": [_listed(words) for words in f.continuations],
    }


def _listed(heaviest: HeaviestWords) -> list[dict[str, Any]]:
    alphabet = heaviest.words.alphabet
    return [
        {"word": alphabet.encode(word).tolist(), "weight": float(weight)}
        for word, weight in zip(heaviest.words, heaviest.weights, strict=True)
        if len(word) <= MAX_WORD_LENGTH
    ]


def rank_changes(automata: RankedAutomata, ranks: Sequence[int], chosen: int) -> dict[str, Any]:
    """Return what changes from rank to rank, up to a few ranks beyond the chosen one.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> wa = WeightedAutomaton("a", [1, 1], [[[0.5, 0], [0, 0.25]]], [0.4, 0.1])
    >>> [step["before"] for step in rank_changes(RankedAutomata(wa), [1, 2], 2)["steps"]]
    [1]
    """
    wanted = [rank for rank in sorted({*RANKS, *automata.fitted, chosen}) if rank in ranks]
    above = [rank for rank in wanted if rank > chosen]
    wanted = [rank for rank in wanted if rank <= chosen][-6:] + above[:2]
    if len(wanted) < 2:
        return {"steps": []}
    changed = what_changes({rank: automata.automaton(rank) for rank in wanted}, n_changes=1)
    steps = [
        {
            "before": step.before,
            "after": step.after,
            "distance": step.distance,
            "changes": [
                {
                    "prefix": changed.alphabet.encode(each.prefix).tolist(),
                    "distance": each.distance,
                    "before": each.before,
                    "after": each.after,
                }
                for each in step.changes
            ],
        }
        for step in changed.steps
    ]
    return {"steps": steps, "predicting": changed.predicting}
