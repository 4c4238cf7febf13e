"""Words on which box and automaton disagree most: they show the limits of an automaton.

Fidelity is an average over words like those that were drawn; it hides the worst ones. The search
draws words from the box, from the automaton and at random. Then it varies the worst prefixes among
them (it appends, changes or leaves out a symbol) as long as that makes them worse.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.probabilities import leak_of, total_variation, with_elsewhere
from seqray.automata.sampling import sample, uniform_words
from seqray.automata.stepper import PredictingStepper, collect, predicts, read_each
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Symbol, Word, Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.guided import guide_of
from seqray.blackbox.native.clipped import clipped
from seqray.blackbox.protocol import BlackBox, allowed_length, max_length_of, query_weights
from seqray.blackbox.queries.oracle import direct_oracle
from seqray.fidelity.reference import Reference, words_that_fit
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, whole_number
from seqray.util.errors import ArgumentError
from seqray.util.random import Seed, random_generator

Source: TypeAlias = Literal["box", "automaton", "random", "search", "given"]

SOURCES: tuple[Source, ...] = ("box", "automaton", "random", "search", "given")
"""Where disagreements come from; of a word with several sources, the first one counts."""

N_VARIED = 64
"""How many of the worst words are varied in each round."""

MAX_NUMBERS_AT_ONCE = 2**23
"""Probabilities of next symbols that are compared at once.

Over hundreds of symbols fewer words are looked at, and they are continued by some symbols only.
"""

DEFAULT_MAX_LENGTH = 30
"""The longest word of the search in symbols, where none is given."""


class Disagreement(NamedTuple):
    """A word on which box and automaton disagree.

    Where both predict, ``distance`` is the total variation distance of the next symbols after the
    word; ``next`` is the next symbol on which they differ most, and ``box`` and ``automaton`` are
    its two probabilities. Otherwise ``distance`` is the difference of the word's two weights,
    ``box`` and ``automaton``. ``source`` says where the word comes from: drawn from the ``box``,
    from the ``automaton``, at ``random``, or varied by the ``search``. The first two are words that
    come up; the others show what happens far from those. ``given`` words are those of the caller.
    """

    word: tuple[Symbol, ...]
    distance: float
    box: float
    automaton: float
    source: Source
    next: str = ""


def disagreements(
    box: BlackBox,
    automaton: BlackBox | AutomatonLike,
    *,
    words: Words | Iterable[Word] | None = None,
    n_words: int = 10,
    n_drawn: int = 500,
    n_rounds: int = 5,
    max_length: int | None = None,
    seed: Seed = 0,
) -> list[Disagreement]:
    """Search for words on which a box and an automaton disagree most, the worst first.

    Parameters
    ----------
    box, automaton
        The two sides, over the same alphabet. The second may be another box.
    words
        Look at the prefixes of these words, and at nothing else: none is drawn or varied.
    n_words
        How many words to return of each source.
    n_drawn
        How many words to draw from each side, and at random.
    n_rounds
        How often the worst words are varied; 0: never.
    max_length
        The longest word: by default 30, or fewer where the box reads no longer ones.
    seed
        Random seed, a number or a generator.

    Returns
    -------
    list of Disagreement
        The worst words first.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> off = WeightedAutomaton("ab", [1], [[[0.25]], [[0.5]]], [0.25])
    >>> disagreements(wa, off)[0].distance
    0.25
    """
    for name, number, least in (
        ("n_words", n_words, 1),
        ("n_drawn", n_drawn, 1),
        ("n_rounds", n_rounds, 0),
    ):
        whole_number(name, number, least)
    if max_length is not None:
        whole_number("max_length", max_length, 1)
    box = as_box(box)
    if not isinstance(automaton, BlackBox):
        automaton = as_automaton(automaton)
    max_length = allowed_length(box, max_length, DEFAULT_MAX_LENGTH)
    max_length = min(max_length, max_length_of(automaton) or max_length)
    if box.alphabet != automaton.alphabet:
        raise ArgumentError(
            f"the box reads {box.alphabet}, the automaton {automaton.alphabet}: "
            "expected the same symbols in the same order"
        )
    rng = random_generator(seed)
    sides = _Sides(box, automaton)
    seen: dict[tuple[Symbol, ...], Disagreement] = {}
    if words is None:
        first = _draw_words(sides, n_drawn, max_length, rng)
    else:
        first, n_rounds = {"given": _given_words(sides, box.alphabet.words(words))}, 0
    for source, drawn in first.items():
        for each in sides.worst(drawn, n_words + N_VARIED, source):
            seen.setdefault(each.word, each)
    for _ in range(n_rounds):
        worse = _vary(sides, seen, max_length, rng)
        if not worse:
            break
        seen |= worse
    chosen = []
    for source in SOURCES:
        of_source = (each for each in seen.values() if each.source == source)
        chosen += sorted(of_source, key=_worst_first)[:n_words]
    return sorted(chosen, key=_worst_first)


def _vary(
    sides: _Sides,
    seen: dict[tuple[Symbol, ...], Disagreement],
    max_length: int,
    rng: np.random.Generator,
) -> dict[tuple[Symbol, ...], Disagreement]:
    """Vary the worst words; return the new ones, none where they are not worse than those."""
    front = sorted(seen.values(), key=_worst_first)[:N_VARIED]
    varied = _variations([each.word for each in front], sides.box, max_length, rng)
    worst = sides.worst(varied, N_VARIED, "search")
    new = {each.word: each for each in worst if each.word not in seen}
    if new and max(each.distance for each in new.values()) > front[-1].distance:
        return new
    return {}


def _draw_words(
    sides: _Sides, n_words: int, max_length: int, rng: np.random.Generator
) -> dict[Source, Words]:
    """Return prefixes of words by source: at random, and drawn from sides if both predict."""
    alphabet = sides.automaton.alphabet
    drawn: dict[Source, Words] = {
        "random": uniform_words(alphabet, n_words, seed=rng, max_length=max_length)
    }
    candidates: tuple[tuple[Source, object], ...] = (
        ("automaton", sides.predictor),
        ("box", sides.box),
    )
    for source, side in candidates:
        if predicts(side) and predicts(sides.automaton):
            drawn[source] = sample(side, n_words, seed=rng, max_length=max_length)[0]
    return {source: _prefixes(sides, drawn[source]) for source in SOURCES if source in drawn}


def _prefixes(sides: _Sides, words: Words) -> Words:
    """Return the prefixes of as many words as can be compared at once."""
    fitting = words_that_fit(words, MAX_NUMBERS_AT_ONCE) if sides.by_next else words
    return PrefixTree.of(fitting).words()


def _given_words(sides: _Sides, words: Words) -> Words:
    """Return what to look at of given words: prefixes, or themselves where weights are compared."""
    return _prefixes(sides, words) if sides.by_next else words.unique()[0]


def prefix_distances(reference: Reference, automaton: WeightedAutomaton) -> FloatArray:
    """Return the total variation distance of next symbols after each prefix, ``(n_nodes,)``.

    The reference is one with next symbols. The automaton is read as `seqray.clipped` reads it.

    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> off = WeightedAutomaton("ab", [1], [[[0.25]], [[0.5]]], [0.25])
    >>> prefix_distances(Reference.query(wa, ["ab"]), off)
    array([0.25, 0.25, 0.25])
    """
    assert reference.next_symbol is not None
    read = clipped(automaton)
    predicted = collect(read, reference.tree, read.state_next_symbol)
    return total_variation(*_outcomes(reference.next_symbol.T, predicted))


def _outcomes(box: FloatArray, automaton: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the next symbols of both, with the outcome elsewhere where one of them leaks."""
    if any(leak_of(side).any() for side in (box, automaton)):
        return with_elsewhere(box), with_elsewhere(automaton)
    return box, automaton


def mean_word_distance(reference: Reference, automaton: WeightedAutomaton) -> float:
    """Return the mean of `prefix_distances` after the words themselves."""
    return float(prefix_distances(reference, automaton)[reference.tree.node_of_word].mean())


def shortest_disagreements(
    reference: Reference, automaton: WeightedAutomaton, min_distance: float
) -> Words:
    """Return the shortest prefix of each word after which box and automaton differ much, once.

    Much is more than half of the largest distance after any prefix, and more than ``min_distance``.

    >>> wa = WeightedAutomaton("ab", [1, 0], [[[0, 0.5], [0, 0]], [[0.2, 0], [0, 0.5]]], [0.3, 0.5])
    >>> off = WeightedAutomaton("ab", [1], [[[0.5]], [[0.2]]], [0.3])
    >>> [*shortest_disagreements(Reference.query(wa, ["bab", "abb"]), off, 0.01)]
    [('a',), ('b', 'a')]
    """
    tree, distances = reference.tree, prefix_distances(reference, automaton)
    differ = distances > max(distances.max() / 2, min_distance)
    before = np.zeros_like(differ)  # whether they differ after a shorter prefix already
    for start, stop in pairwise(tree.levels[1:].tolist()):
        parents = tree.parent[start:stop]
        before[start:stop] = before[parents] | differ[parents]
    return tree.words(np.flatnonzero(differ & ~before))


def _worst_first(each: Disagreement) -> tuple[float, int]:
    return -each.distance, len(each.word)


class _Sides:
    """Box and automaton, compared by next symbols where both predict, else by weights."""

    def __init__(self, box: BlackBox, automaton: BlackBox) -> None:
        self.box, self.automaton = box, automaton
        own = direct_oracle(automaton).automaton
        self.predictor = automaton if own is None else clipped(own)
        self.by_next = predicts(box) and predicts(automaton)

    def worst(self, words: Words, n_words: int, source: Source) -> list[Disagreement]:
        """Return the words on which the two sides disagree most; none that a guide forbids."""
        guide = guide_of(self.box)
        if guide is not None:
            words = words[np.flatnonzero(guide.allows_prefixes(words))]
        if not len(words):
            return []
        if self.by_next:
            sides = self.box, self.predictor
            one, other = _outcomes(*(_next(side, words) for side in sides))
            distances = total_variation(one, other)
            most = np.abs(one - other).argmax(axis=1)[:, None]
            values = [np.take_along_axis(each, most, 1)[:, 0] for each in (one, other)]
            outcomes = [*map(str, words.alphabet.symbols), "end", "elsewhere"]
            names = [outcomes[code] for code in most[:, 0].tolist()]
        else:
            names = [""] * len(words)
            values = [query_weights(self.box, words), self.automaton.weights(words)]
            distances = np.abs(values[0] - values[1])
        order = np.lexsort((words.lengths, -distances))[:n_words].tolist()
        box, automaton = (each.tolist() for each in values)
        return [
            Disagreement(words[i], float(distances[i]), box[i], automaton[i], source, names[i])
            for i in order
        ]


def _next(side: object, words: Words) -> FloatArray:
    assert isinstance(side, PredictingStepper)
    return read_each(side, words, side.state_next_symbol)


def _variations(
    words: list[tuple[Symbol, ...]], box: BlackBox, max_length: int, rng: np.random.Generator
) -> Words:
    """Return words that differ in one place: every symbol appended, some changed or left out.

    Of very many symbols, as many are appended as fit, at random.
    """
    symbols = box.alphabet.symbols
    n_appended = max(1, MAX_NUMBERS_AT_ONCE // (N_VARIED * (len(symbols) + 1)))
    varied: dict[tuple[Symbol, ...], None] = {}
    for word in words:
        if len(word) < max_length:
            appended = symbols
            if n_appended < len(symbols):
                chosen = rng.choice(len(symbols), n_appended, replace=False)
                appended = tuple(symbols[code] for code in chosen.tolist())
            varied |= dict.fromkeys((*word, symbol) for symbol in appended)
        for at in rng.permutation(len(word))[:4].tolist():
            varied[(*word[:at], *word[at + 1 :])] = None
            other = symbols[int(rng.integers(len(symbols)))]
            varied[(*word[:at], other, *word[at + 1 :])] = None
    return box.alphabet.words(list(varied))
