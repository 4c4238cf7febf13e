"""Words with a box's answers, to compare automata with: queried, or drawn from the box."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.probabilities import leak_of
from seqray.automata.sampling import sample, uniform_words
from seqray.automata.stepper import PredictingStepper, Stepper, predicts
from seqray.automata.tree import PrefixTree, States
from seqray.automata.words import Word, Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.protocol import (
    BlackBox,
    allowed_length,
    check_lengths,
    checked_answers,
    max_length_of,
    name_of,
)
from seqray.fidelity.answers import Answers, checked, read_answers
from seqray.fidelity.metrics import Comparison, intervals_of, measure
from seqray.fidelity.next_symbol_metrics import NextSymbolReference
from seqray.fidelity.objective import Objective
from seqray.fidelity.table import Fidelity
from seqray.fidelity.word_metrics import sizes_by_length
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError
from seqray.util.random import Seed, random_generator

N_DRAWN_WORDS = 2000
"""How many words `drawn_words` draws."""

MAX_DRAWN_LENGTH = 100
"""The longest word that `drawn_words` draws from a box, in symbols."""

MAX_DRAWN_NUMBERS = 2**24
"""The most next-symbol probabilities of drawn words, so that a comparison takes less than 1 GB.

Over thousands of symbols words are fewer.
"""

LIKELY_PREFIXES = 4
"""How many prefixes a word has at least, where not more words are drawn than can fit."""

MAX_RANDOM_LENGTH = 12
"""The longest word that `drawn_words` draws at random, for a box that cannot be sampled."""


MAX_TOTAL = 1.01
"""Above this sum the weights of distinct words are no probabilities of words."""


@dataclass(frozen=True, eq=False, repr=False)
class Reference:
    """A box's answers on a set of words, queried once, to compare any number of automata with.

    Make one with `Reference.query` or `Reference.draw`.

    Parameters
    ----------
    tree
        The words.
    weights
        The box's answers, shape ``(n_words,)``.
    target
        The target's answers, shape ``(n_words,)``, or None.
    next_symbol
        The box's probabilities of the next symbol at each node of the tree, the end last, shape
        ``(n_symbols + 1, n_nodes)``; None for a box that does not predict.
    negligible
        s of `seqray.fidelity.word_metrics.weight_agreement`, shape ``(n_words,)``; None: the size
        that 99 of 100 of these words exceed, of those that have the same length and do not
        weigh 0.
    objective
        What automata are compared for, see `Fidelity.score`.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> wa = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    >>> reference = Reference.query(wa, ["", "a", "aaa"])
    >>> reference
    Reference(3 words, 7 prefixes)
    >>> reference.compare(wa)["perplexity_ratio"]
    1.0
    """

    tree: PrefixTree
    weights: FloatArray
    target: FloatArray | None
    next_symbol: FloatArray | None
    negligible: FloatArray | None = None
    objective: Objective | None = None

    @classmethod
    def query(
        cls,
        box: BlackBox | AutomatonLike,
        words: Words | Iterable[Word],
        target: BlackBox | None = None,
    ) -> Reference:
        """Query a box, and a target if there is one, on words."""
        if not isinstance(box, Stepper):
            box = as_box(box)
        words = box.alphabet.words(words)
        if not len(words):
            raise ArgumentError("a comparison needs at least one word, got none")
        check_lengths(words, max_length_of(box), name_of(box))  # before the first query
        tree = PrefixTree.of(words)
        answers = read_answers(box, tree, with_next=predicts(box))
        target_weights = None
        if target is not None:
            same = words if target.alphabet == box.alphabet else target.alphabet.words([*words])
            shape = (len(words),)
            target_weights = checked_answers(target.weights(same), words, shape, "the target")
        return cls(tree, answers.weights, target_weights, answers.next_symbol)

    @classmethod
    def draw(
        cls, box: PredictingStepper, n_words: int, *, seed: Seed, max_length: int
    ) -> Reference:
        """Draw words from a box as `seqray.sample` does, with the answers it gave meanwhile.

        >>> from seqray import WeightedAutomaton
        >>> box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
        >>> Reference.draw(box, 100, seed=0, max_length=9)
        Reference(100 words, 312 prefixes)
        """
        rng = random_generator(seed)
        together = min(n_words, getattr(box, "max_states", None) or n_words)
        parts = []
        for begin in range(0, n_words, together):
            recorder = _Recorder(box)
            n = min(together, n_words - begin)
            tree = PrefixTree.of(sample(recorder, n, seed=rng, max_length=max_length)[0])
            # Its nodes are numbered in the order in which they were drawn.
            weights, next_symbol = recorder.answers()
            answers = Answers(weights[tree.node_of_word], next_symbol)
            answers = checked(answers, tree, name_of(box))
            parts.append(cls(tree, answers.weights, None, answers.next_symbol))
        return cls.joined(parts)

    @classmethod
    def joined(cls, parts: Sequence[Reference]) -> Reference:
        """Return the answers of one box, which predicts, on several batches of words as one."""
        if len(parts) == 1:
            return parts[0]
        tree = PrefixTree.of(Words.concatenate([part.words for part in parts]))
        next_symbol = np.empty((len(tree.alphabet) + 1, len(tree)))
        for part in parts:
            assert part.next_symbol is not None
            next_symbol[:, tree.find(part.tree)] = part.next_symbol
        return cls(tree, np.concatenate([part.weights for part in parts]), None, next_symbol)

    def __repr__(self) -> str:
        return f"Reference({len(self.weights)} words, {self.n_prefixes} prefixes)"

    @cached_property
    def words(self) -> Words:
        """The words themselves."""
        return self.tree.words(self.tree.node_of_word)

    @cached_property
    def leaks(self) -> bool:
        """Whether the box gives probability to symbols outside the alphabet."""
        return self.next_symbol is not None and bool(leak_of(self.next_symbol.T).any())

    @cached_property
    def n_prefixes(self) -> int:
        """The number of prefixes of all words, λ and the whole words included."""
        return int(self.tree.depth[self.tree.node_of_word].sum()) + len(self.weights)

    @cached_property
    def _negligible(self) -> FloatArray:
        if self.negligible is not None:
            return self.negligible
        lengths = self.tree.depth[self.tree.node_of_word]
        return sizes_by_length(self.weights, lengths, lengths)

    def compare(
        self, automaton: BlackBox | Stepper | AutomatonLike, *, intervals: bool = False
    ) -> Fidelity:
        """Return the fidelity of an automaton to the box; see `seqray.compare`.

        With ``intervals``, also its confidence intervals.
        """
        if not isinstance(automaton, BlackBox | Stepper):
            automaton = as_automaton(automaton)
        if automaton.alphabet != self.tree.alphabet:
            raise ArgumentError(
                f"the box reads {self.tree.alphabet}, the automaton {automaton.alphabet}: "
                "expected the same symbols in the same order"
            )
        # Weights that leak, without what goes elsewhere, do not say how probable a next symbol is.
        with_next = self.next_symbol is not None and (not self.leaks or predicts(automaton))
        comparison = Comparison(
            self.tree,
            Answers(self.weights, self.next_symbol),
            read_answers(automaton, self.tree, with_next=with_next),
            self._distribution,
            self._negligible,
            self._next_reference,
        )
        ends = {}
        if intervals:
            positive = getattr(automaton, "is_nonnegative", True)
            ends = intervals_of(comparison, positive=positive)
        values = measure(comparison)
        return Fidelity(values, len(self.weights), self.n_prefixes, ends, self.objective)

    @cached_property
    def _next_reference(self) -> NextSymbolReference | None:
        if self.next_symbol is None:
            return None
        return NextSymbolReference.of(self.next_symbol, self.tree.counts().T)

    @cached_property
    def _distribution(self) -> FloatArray | None:
        """What perplexities are measured against; None where they make no sense."""
        reference = self.weights if self.target is None else self.target
        nodes = self.tree.node_of_word
        is_box, is_reference = (_can_be_distribution(f, nodes) for f in (self.weights, reference))
        return reference if is_box and is_reference else None


def drawn_words(box: BlackBox, *, seed: Seed, max_length: int | None = None) -> tuple[Words, str]:
    """Draw words to compare on, from the box or else at random; also return where they are from.

    None is longer than ``max_length``: by default 100 symbols, 12 at random, or the box's own limit
    where that is less.
    """
    if predicts(box):
        longest = allowed_length(box, max_length, MAX_DRAWN_LENGTH)
        most = MAX_DRAWN_NUMBERS // (LIKELY_PREFIXES * (len(box.alphabet) + 1))
        n_words = max(1, min(N_DRAWN_WORDS, most))
        drawn = sample(box, n_words, seed=seed, max_length=longest)[0]
        words = words_that_fit(drawn, MAX_DRAWN_NUMBERS)
        return words, f"{len(words):,} words drawn from the box"
    longest = allowed_length(box, max_length, MAX_RANDOM_LENGTH)
    words = uniform_words(box.alphabet, N_DRAWN_WORDS, seed=seed, max_length=max(1, longest))
    return words.cut(longest), f"{len(words):,} random words"


def words_that_fit(words: Words, max_numbers: int) -> Words:
    """Return the first words, as many as have at most so many probabilities of next symbols.

    >>> from seqray.automata.words import Alphabet
    >>> words_that_fit(Alphabet("ab").words(["a", "ab", "b"]), 15)
    Words(2 words over 2 symbols: a, ab)
    """
    n_numbers = np.cumsum(words.lengths + 1) * (len(words.alphabet) + 1)
    return words[: max(1, int((n_numbers <= max_numbers).sum()))]


class _Recorder:
    """A box that is sampled, and that records its answers meanwhile, level by level."""

    def __init__(self, box: PredictingStepper) -> None:
        self.box, self.alphabet = box, box.alphabet
        self._weights: list[FloatArray] = []
        self._probabilities: list[FloatArray] = []
        self._unread: States = None

    def start(self) -> States:
        self._unread = self.box.start()
        return self._unread

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        self._unread = self.box.step(states, parents, symbols)
        return self._unread

    def state_weights(self, states: States) -> FloatArray:
        return self.box.state_weights(states)

    def state_next_symbol(self, states: States) -> FloatArray:
        self._weights.append(self.box.state_weights(states))
        self._probabilities.append(self.box.state_next_symbol(states))
        self._unread = None
        return self._probabilities[-1]

    def answers(self) -> tuple[FloatArray, FloatArray]:
        """Return the weights, and the next symbols, ``(n_symbols + 1, n_nodes)``, of all nodes."""
        if self._unread is not None:  # where words were cut
            self.state_next_symbol(self._unread)
        probabilities = np.ascontiguousarray(np.concatenate(self._probabilities).T)
        return np.concatenate(self._weights), probabilities


def _can_be_distribution(weights: FloatArray, nodes: IntArray) -> bool:
    """Whether no weight is negative, and those of distinct words sum to at most about 1.

    ``nodes`` says which words are equal.
    """
    if weights.min() < 0 or not weights.max() > 0:
        return False
    return bool(weights[np.unique(nodes, return_index=True)[1]].sum() <= MAX_TOTAL)
