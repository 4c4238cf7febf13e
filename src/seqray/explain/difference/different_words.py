"""Words on which two sides differ most: a few short ones, each for another difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.stepper import collect
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.blackbox.native.clipped import clipped
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.queries.oracle import direct_oracle
from seqray.explain.difference.distance import Distance, DistanceKind, shared_length
from seqray.explain.difference.record import DifferentAnswer
from seqray.fidelity.decisions import DecisionFidelity
from seqray.fidelity.disagreements import DEFAULT_MAX_LENGTH, Disagreement, Source, disagreements
from seqray.util.arrays import BoolArray
from seqray.util.random import Seed

N_LOOKED_AT = 40
"""How many words on which both differ most are looked at, of each source of `disagreements`."""

MAX_LISTED_WORDS = 10
"""How many of them are listed: the shortest of those that show the same difference."""

ROUNDING = 1e-6
"""Answers that differ by no more, relative to the largest, are the same but for rounding."""

IMPOSSIBLE = 1e-9
"""An automaton never says a symbol whose probability is below this: it may be rounding alone."""

SOURCES: Mapping[Source, str] = MappingProxyType({"box": "A", "automaton": "B"})
"""What a difference calls a source of `disagreements` that has another name there."""


def different_words(
    distance: Distance,
    a: BlackBox,
    b: BlackBox,
    words: Words | None = None,
    *,
    max_length: int | None = None,
    seed: Seed = 0,
) -> tuple[DifferentAnswer, ...]:
    """Return words on which two sides differ most.

    Parameters
    ----------
    distance
        How far they are from each other.
    a, b
        The two sides.
    words
        The only words to look at; None: words are drawn and searched.
    max_length
        The longest word of the search: by default 30 symbols, or the limit of a side.
    seed
        Random seed, a number or a generator.

    Examples
    --------
    >>> from seqray.explain.difference.distance import measure_distance
    >>> one = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> other = WeightedAutomaton("ab", [1], [[[0.25]], [[0.5]]], [0.25])
    >>> for each in different_words(measure_distance(one, other, None), one, other):
    ...     print(each.word, each.next, each.a, each.b)
    () a 0.5 0.25
    """
    if isinstance(distance.forward, DecisionFidelity):
        source = "random" if words is None else "given"
        distinct = {each.word: each for each in distance.forward.different}.values()
        answers = [
            DifferentAnswer(each.word, each.distance, "", each.box, each.automaton, source)
            for each in distinct
        ]
        return tuple(sorted(answers, key=_plainest_first))[:MAX_LISTED_WORDS]
    length = max(1, shared_length(a, b, max_length, DEFAULT_MAX_LENGTH))
    worst = disagreements(a, b, words=words, n_words=N_LOOKED_AT, max_length=length, seed=seed)
    if distance.kind is DistanceKind.DIVERGENCE:
        worst = _possible_for_both(worst, a, b)
    size = max((abs(value) for each in worst for value in (each.box, each.automaton)), default=0)
    return _listed(each for each in worst if each.distance > ROUNDING * size)


def _listed(worst: Iterable[Disagreement]) -> tuple[DifferentAnswer, ...]:
    """Return a few different answers, of those that look the same the one to the shortest word."""
    answers = (
        DifferentAnswer(
            *(each.word, each.distance, each.next, each.box, each.automaton),
            SOURCES.get(each.source, each.source),
        )
        for each in worst
    )
    shown: dict[tuple[object, ...], DifferentAnswer] = {}
    for each in sorted(answers, key=_plainest_first):
        shown.setdefault((each.next, f"{each.a:.2g}", f"{each.b:.2g}"), each)
    return tuple(shown.values())[:MAX_LISTED_WORDS]


def _plainest_first(each: DifferentAnswer) -> tuple[float, int]:
    """Sort by the distance to two digits, the largest first, and then by length."""
    return -float(f"{each.distance:.2g}"), len(each.word)


def _possible_for_both(worst: list[Disagreement], *sides: BlackBox) -> list[Disagreement]:
    """Leave out words that an automaton never says: what follows them means nothing there.

    If only one side says such a word, both differ after a shorter prefix already.
    """
    words = sides[0].alphabet.words([each.word for each in worst])
    is_possible = np.ones(len(words), bool)
    for side in sides:
        automaton = direct_oracle(side).automaton
        if automaton is not None and len(words):
            is_possible &= possible(automaton, words)
    return [each for each, keeps in zip(worst, is_possible.tolist(), strict=True) if keeps]


def possible(automaton: WeightedAutomaton, words: Words) -> BoolArray:
    """Return whether an automaton that predicts gives each word a probability as a prefix.

    >>> only_a = WeightedAutomaton("ab", [1], [[[0.5]], [[0]]], [0.5])
    >>> possible(only_a, only_a.alphabet.words(["", "aa", "ab", "ba"]))
    array([ True,  True, False, False])
    """
    tree, read = PrefixTree.of(words), clipped(automaton)
    rows = collect(read, tree, read.state_next_symbol)
    is_possible = np.ones(len(tree), bool)
    for start, stop in pairwise(tree.levels[1:].tolist()):
        parents = tree.parent[start:stop]
        steps = rows[parents, tree.symbol[start:stop]]
        is_possible[start:stop] = is_possible[parents] & (steps > IMPOSSIBLE)
    return np.asarray(is_possible[tree.node_of_word])
