"""Where box and automaton disagree most: a search for the words that show an automaton's limits.

Fidelity is an average over words like those that were drawn. The worst is elsewhere, and somebody
who relies on an automaton wants to see it. Words are drawn from the box, from the automaton and at
random; then the worst prefixes among them are varied, a symbol appended, changed or left out, as
long as that makes them worse.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.probabilities import leak_of, total_variation, with_elsewhere
from seqray.automata.sampling import sample, uniform_words
from seqray.automata.stepper import (
    PredictingStepper,
    collect,
    predicts,
    read_each,
)
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Symbol, Words
from seqray.blackbox.native.clipped import clipped
from seqray.blackbox.protocol import BlackBox, allowed_length, query_weights
from seqray.fidelity.compare import Reference
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, whole_number
from seqray.util.errors import ArgumentError

KEPT = 64
"""How many of the worst are varied in each round."""


MAX_LENGTH = 30
"""The longest word that is looked at, where nobody says how long."""


class Disagreement(NamedTuple):
    """A word on which box and automaton disagree.

    ``apart`` is, where both predict, the share of probability that they give to different next symbols
    after the word (0 to 1), and otherwise the difference of its two weights. ``found`` says how it
    was found: drawn from the ``box``, from the ``automaton``, at ``random``, or by ``search``. For
    the first two the word is one that comes up; the others show what happens far from that. Where
    both predict, ``box`` and ``automaton`` are the probabilities of the next symbol on which they are
    furthest apart, whose name is ``next``; otherwise they are the two weights.
    """

    word: tuple[Symbol, ...]
    apart: float
    box: float
    automaton: float
    found: str
    next: str = ""


def disagreements(
    box: BlackBox,
    automaton: AutomatonLike,
    *,
    n_words: int = 10,
    n_drawn: int = 500,
    n_rounds: int = 5,
    max_length: int | None = None,
    seed: int = 0,
) -> list[Disagreement]:
    """Search for words on which a box and an automaton disagree most, the worst first.

    Parameters
    ----------
    box, automaton
        The two.
    n_words
        How many to return, of each way in which they are found.
    n_drawn
        How many words to draw from each side, and at random.
    n_rounds
        How often the worst are varied; 0: never.
    max_length
        The longest word: by default 30, or fewer where the box reads no longer ones.
    seed
        Random seed, a number or a generator.

    Returns
    -------
    words
        See `Disagreement`.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> off = WeightedAutomaton("ab", [1], [[[0.25]], [[0.5]]], [0.25])
    >>> disagreements(wa, off)[0].apart
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
    max_length = allowed_length(box, max_length, MAX_LENGTH)
    automaton = as_automaton(automaton)
    if box.alphabet != automaton.alphabet:
        raise ArgumentError(
            f"the box reads {box.alphabet}, the automaton {automaton.alphabet}: "
            "expected the same symbols in the same order"
        )
    rng = np.random.default_rng(seed)
    compare = _Compare(box, automaton)
    drawn = {"random": uniform_words(box.alphabet, n_drawn, seed=rng, max_length=max_length)}
    for name, side in (("automaton", clipped(automaton)), ("box", box)):
        if predicts(side) and predicts(automaton):
            drawn[name] = sample(side, n_drawn, seed=rng, max_length=max_length)[0]
    seen: dict[tuple[Symbol, ...], Disagreement] = {}
    for name in ("box", "automaton", "random"):
        if name in drawn:
            prefixes = PrefixTree.of(drawn[name]).words()
            for each in compare.worst(prefixes, n_words + KEPT, name):
                seen.setdefault(each.word, each)
    for _ in range(n_rounds):
        front = sorted(seen.values(), key=_worst_first)[:KEPT]
        varied = _variations([each.word for each in front], box, max_length, rng)
        new = {each.word: each for each in compare.worst(varied, KEPT, "search")}
        new = {word: each for word, each in new.items() if word not in seen}
        if not new or max(new.values(), key=lambda n: n.apart).apart <= front[-1].apart:
            break
        seen |= new
    chosen = []
    for name in ("box", "automaton", "random", "search"):
        found = sorted((each for each in seen.values() if each.found == name), key=_worst_first)
        chosen += found[:n_words]
    return sorted(chosen, key=_worst_first)


def total_variation_by_node(reference: Reference, automaton: WeightedAutomaton) -> FloatArray:
    """Return what share of probability box and automaton give to different symbols after each prefix.

    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> off = WeightedAutomaton("ab", [1], [[[0.25]], [[0.5]]], [0.25])
    >>> total_variation_by_node(Reference.ask(wa, ["ab"]), off)
    array([0.25, 0.25, 0.25])
    """
    assert reference.next_symbol is not None
    read = clipped(automaton)
    said = collect(read, reference.tree, read.state_next_symbol)
    box, said = _outcomes(reference.next_symbol.T, said)
    return total_variation(box, said)


def _outcomes(box: FloatArray, automaton: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what both say comes next, with the outcome elsewhere where one of them leaks."""
    if any(leak_of(side).any() for side in (box, automaton)):
        return with_elsewhere(box), with_elsewhere(automaton)
    return box, automaton


def mean_total_variation(reference: Reference, automaton: WeightedAutomaton) -> float:
    """Return the mean of `total_variation_by_node` after the words themselves."""
    return float(total_variation_by_node(reference, automaton)[reference.tree.node_of_word].mean())


def beginnings(reference: Reference, automaton: WeightedAutomaton, least: float) -> Words:
    """Return what words begin with, up to where box and automaton are first far apart; each once.

    Far is half as far as anywhere in them, and at least so far.

    >>> wa = WeightedAutomaton("ab", [1, 0], [[[0, 0.5], [0, 0]], [[0.2, 0], [0, 0.5]]], [0.3, 0.5])
    >>> off = WeightedAutomaton("ab", [1], [[[0.5]], [[0.2]]], [0.3])
    >>> [*beginnings(Reference.ask(wa, ["bab", "abb"]), off, 0.01)]
    [('a',), ('b', 'a')]
    """
    tree, apart = reference.tree, total_variation_by_node(reference, automaton)
    far = apart > max(apart.max() / 2, least)
    before = np.zeros_like(far)  # whether they were so already
    for start, stop in pairwise(tree.levels[1:].tolist()):
        parents = tree.parent[start:stop]
        before[start:stop] = before[parents] | far[parents]
    return tree.words(np.flatnonzero(far & ~before))


def _worst_first(each: Disagreement) -> tuple[float, int]:
    return -each.apart, len(each.word)


class _Compare:
    """Asks both sides, by next symbols where both have them."""

    def __init__(self, box: BlackBox, automaton: WeightedAutomaton) -> None:
        self.box, self.automaton = box, automaton
        self.by_next = predicts(box) and predicts(automaton)

    def worst(self, words: Words, n_words: int, found: str) -> list[Disagreement]:
        """Return the words on which they are furthest apart."""
        if not len(words):
            return []
        if self.by_next:
            sides = self.box, clipped(self.automaton)
            one, other = _outcomes(*(_next(side, words) for side in sides))
            apart = total_variation(one, other)
            most = np.abs(one - other).argmax(axis=1)[:, None]
            values = [np.take_along_axis(each, most, 1)[:, 0] for each in (one, other)]
            every = [*map(str, words.alphabet.symbols), "end", "elsewhere"]
            names = [every[code] for code in most[:, 0].tolist()]
        else:
            names = [""] * len(words)
            values = [query_weights(self.box, words), self.automaton.weights(words)]
            apart = np.abs(values[0] - values[1])
        order = np.lexsort((words.lengths, -apart))[:n_words]
        first, second = values
        return [
            Disagreement(
                words[i], float(apart[i]), float(first[i]), float(second[i]), found, names[i]
            )
            for i in order.tolist()
        ]


def _next(side: object, words: Words) -> FloatArray:
    assert isinstance(side, PredictingStepper)
    return read_each(side, words, side.state_next_symbol)


def _variations(
    words: list[tuple[Symbol, ...]], box: BlackBox, max_length: int, rng: np.random.Generator
) -> Words:
    """Return words that differ in one place: every symbol appended, some changed or left out."""
    symbols = box.alphabet.symbols
    varied: dict[tuple[Symbol, ...], None] = {}
    for word in words:
        if len(word) < max_length:
            varied |= dict.fromkeys((*word, symbol) for symbol in symbols)
        for at in rng.permutation(len(word))[:4].tolist():
            varied[(*word[:at], *word[at + 1 :])] = None
            other = symbols[int(rng.integers(len(symbols)))]
            varied[(*word[:at], other, *word[at + 1 :])] = None
    return box.alphabet.words(list(varied))
