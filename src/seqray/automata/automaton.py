"""Weighted automata: the value, how it scores words, predicts and samples.

The notation is that of Ayache, Eyraud and Goudian (2018), section 2.3: a word's weight is
``initial · M[w1] · … · M[wn] · final``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seqray.automata import totals
from seqray.automata.automaton_content import (
    AutomatonContent,
    from_npz,
    read_automaton,
    to_npz,
    write_automaton,
)
from seqray.automata.automaton_states import max_age, start_states, step_states
from seqray.automata.plots import PlottedAutomaton
from seqray.automata.sampling import Sample, sample
from seqray.automata.scaling import precise_log_weight, scaled
from seqray.automata.scoring import WordProducts, word_products
from seqray.automata.stepper import read_each
from seqray.automata.transitions import Edge, EdgeBlock, Transitions, graph_arrays, listed
from seqray.automata.tree import States
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.util.arrays import FloatArray, IntArray, read_only, real_array
from seqray.util.errors import RankError
from seqray.util.files import reading
from seqray.util.random import Seed


@dataclass(frozen=True, eq=False, repr=False, init=False)
class WeightedAutomaton(PlottedAutomaton):
    """A weighted automaton in its linear representation ⟨α₀, (Mσ), α∞⟩.

    Parameters
    ----------
    alphabet
        The symbols, an `Alphabet` or what makes one.
    initial
        α₀, the weight with which a word begins in each state, shape ``(n_states,)``.
    transitions
        Mσ, one matrix per symbol, from row to column, shape ``(n_symbols, n_states, n_states)``.
    final
        α∞, the weight with which a word ends in each state, shape ``(n_states,)``.
    elsewhere
        For a model that knows more symbols than the alphabet has: the weight with which a word goes
        on to one of those in each state, shape ``(n_states,)``. No word's weight depends on it, but
        predictions do: they sum to less than one. None: nothing goes elsewhere.

    Examples
    --------
    The automaton of Figure 1 in the paper, and the weights of its shortest words:

    >>> wa = WeightedAutomaton(
    ...     "ab",
    ...     initial=[1, 0],
    ...     transitions=[[[1/2, 1/6], [0, 1/4]], [[0, 1/3], [1/4, 1/4]]],
    ...     final=[0, 1/4],
    ... )
    >>> wa
    WeightedAutomaton(2 states, 2 symbols)
    >>> wa.weights(["", "a", "b", "ab", "ba"]) * 48
    array([0. , 2. , 4. , 2.5, 1. ])
    >>> wa.weight("b") == 1/3 * 1/4
    True

    It is stochastic: the weights of all words sum to one, and it predicts the next symbol, the
    end of the word last.

    >>> round(wa.total, 12)
    1.0
    >>> wa.next_symbol(["", "b"]).round(4)
    array([[0.6667, 0.3333, 0.    ],
           [0.25  , 0.5   , 0.25  ]])
    """

    alphabet: Alphabet
    initial: FloatArray
    transitions: FloatArray
    final: FloatArray
    elsewhere: FloatArray | None

    def __init__(
        self,
        alphabet: Alphabet | Iterable[Symbol],
        initial: ArrayLike,
        transitions: ArrayLike,
        final: ArrayLike,
        elsewhere: ArrayLike | None = None,
    ) -> None:
        alphabet = Alphabet.of(alphabet)
        start = real_array("initial", initial, (None,))
        n = len(start)
        if n == 0:
            raise RankError("an automaton needs at least one state, got none")
        object.__setattr__(self, "alphabet", alphabet)
        object.__setattr__(self, "initial", start)
        object.__setattr__(
            self, "transitions", real_array("transitions", transitions, (len(alphabet), n, n))
        )
        object.__setattr__(self, "final", real_array("final", final, (n,)))
        leak = None if elsewhere is None else real_array("elsewhere", elsewhere, (n,))
        object.__setattr__(self, "elsewhere", leak)

    # The graph ⟨Σ, Q, T, γ, ρ⟩ ------------------------------------------------------------------

    @staticmethod
    def from_edges(
        alphabet: Alphabet | Iterable[Symbol],
        n_states: int,
        initial: Mapping[int, float],
        edges: Iterable[Edge],
        final: Mapping[int, float],
    ) -> WeightedAutomaton:
        """Build an automaton from its graph; weights of parallel edges add up.

        >>> WeightedAutomaton.from_edges("a", 2, {0: 1}, [(0, "a", 1, 0.5)], {1: 1}).weight("a")
        0.5
        """
        alphabet = Alphabet.of(alphabet)
        return WeightedAutomaton(alphabet, *graph_arrays(alphabet, n_states, initial, edges, final))

    def edges(self, threshold: float = 0.0) -> list[Edge]:
        """Return the graph's edges ``(from, symbol, to, weight)`` with ``|weight| > threshold``."""
        symbols = self.alphabet.symbols
        return [(q, symbols[c], r, w) for c, q, r, w in self.listed(threshold).edges()]

    def listed(self, threshold: float = 0.0) -> Transitions:
        """Return the transitions with ``|weight| > threshold`` as arrays, one entry for each."""
        return listed(self.edge_blocks(), threshold)

    def edge_blocks(self) -> Iterator[EdgeBlock]:
        """Yield the transitions in blocks, by symbol; what is outside every block is 0."""
        for code, matrix in enumerate(self.transitions):
            yield EdgeBlock(code, 0, 0, matrix)

    # Facts --------------------------------------------------------------------------------------

    @property
    def n_states(self) -> int:
        """The number of states."""
        return len(self.initial)

    @property
    def cost_per_symbol(self) -> int:
        """The most multiplications that it takes to read one symbol."""
        return self.n_states**2

    @property
    def n_bytes(self) -> int:
        """The size of all numbers, in bytes."""
        return sum(int(np.asarray(each).nbytes) for each in self.arrays.values())

    @cached_property
    def spectral_radius(self) -> float:
        """The largest eigenvalue of ΣMσ in size; below 1 the sum over all words converges."""
        return float(np.abs(np.linalg.eigvals(self.step_sum)).max())

    @cached_property
    def step_sum(self) -> FloatArray:
        """ΣMσ, shape ``(n_states, n_states)``."""
        return read_only(self.transitions.sum(axis=0))

    @cached_property
    def prefix_final(self) -> FloatArray:
        """α̃∞, the summed weight of all that can follow each state: (I − ΣMσ)⁻¹ α∞.

        What goes elsewhere is added to α∞. See `continuation_weights` for spectral radius ≥ 1.
        """
        final = self.final if self.elsewhere is None else self.final + self.elsewhere
        return read_only(totals.continuation_weights(self.step_sum, final))

    @cached_property
    def total(self) -> float:
        """The weight of all words together, 1 for a distribution; see `totals.weight_of_all`."""
        if self.elsewhere is not None:
            return self.within.total
        after_one = self.step_sum @ self.prefix_final
        return totals.weight_of_all(self.initial, after_one, self.prefix_final, self.final)

    @property
    def arrays(self) -> dict[str, Any]:
        """The numbers, by name; ``elsewhere`` only where there is one."""
        arrays = {"initial": self.initial, "transitions": self.transitions, "final": self.final}
        return arrays if self.elsewhere is None else {**arrays, "elsewhere": self.elsewhere}

    @property
    def within(self) -> WeightedAutomaton:
        """The same weights of words, and nothing that goes elsewhere."""
        return WeightedAutomaton(self.alphabet, self.initial, self.transitions, self.final)

    @cached_property
    def mirror(self) -> WeightedAutomaton:
        """The automaton that gives each word the weight of the reversed word."""
        flipped = self.transitions.transpose(0, 2, 1)
        return WeightedAutomaton(self.alphabet, self.final, flipped, self.initial)

    @property
    def reads_backwards(self) -> bool:
        """Whether `mirror` reads words as fast as the automaton itself."""
        return True

    @cached_property
    def is_distribution(self) -> bool:
        """Whether the weights of all words sum to about 1: only then can it predict.

        What goes elsewhere counts, too. Where weights grow with length, their sum has no limit, and
        its analytic continuation (see `prefix_final`) may be 1 by accident. So short words are
        summed, too: up to no length may their weights exceed 1, or be negative, by more than 0.1.

        >>> WeightedAutomaton("a", [1], [[[0.5]]], [0.5]).is_distribution
        True
        >>> WeightedAutomaton("a", [1], [[[3]]], [-2]).is_distribution  # -2 / (1 - 3) is 1
        False
        """
        if not abs(float(self.initial @ self.prefix_final) - 1) < totals.TOTAL_TOLERANCE:
            return False
        return totals.short_words_sum(self.initial, self.advance, self.final)

    def advance(self, state: FloatArray) -> FloatArray:
        """Return a state multiplied by ΣMσ: the sum of the states after one more symbol."""
        return state @ self.step_sum

    @property
    def is_nonnegative(self) -> bool:
        """Whether no entry is below 0, so that no word has a weight below 0."""
        return all(each.min() >= 0 for each in (self.initial, self.transitions, self.final))

    # Scoring ------------------------------------------------------------------------------------

    def weight(self, word: Word) -> float:
        """Return the weight of one word.

        >>> WeightedAutomaton("a", [1], [[[0.5]]], [2]).weight("aaa")
        0.25
        """
        return float(self.weights([word])[0])

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the weight of each word, shape ``(n_words,)``.

        >>> WeightedAutomaton("a", [1], [[[0.5]]], [2]).weights(["", "a"])
        array([2., 1.])
        """
        words = self.alphabet.words(words)
        products, log_scale, _ = self.word_products(words)
        return scaled(products, log_scale)

    def log_weights(self, words: Words | Iterable[Word]) -> tuple[FloatArray, FloatArray]:
        """Return the sign and the natural logarithm of each word's weight.

        Nothing underflows, however long the word. A weight of 0 has sign 0 and logarithm -inf.

        >>> sign, log = WeightedAutomaton("a", [1], [[[-0.5]]], [1]).log_weights(["a" * 9999])
        >>> float(sign[0]), round(float(log[0] / np.log(0.5)), 6)
        (-1.0, 9999.0)
        """
        words = self.alphabet.words(words)
        products, log_scale, wide = self.word_products(words)
        with np.errstate(divide="ignore"):
            sign, log = np.sign(products), np.log(np.abs(products)) + log_scale
        for i in np.flatnonzero(wide):
            codes = words.codes[words.offsets[i] : words.offsets[i + 1]]
            sign[i], log[i] = self.precise_log_weight(codes)
        return sign, log

    def word_products(self, words: Words) -> WordProducts:
        """Return the weights of words as products that neither overflow nor underflow."""
        return word_products(self, self.mirror, words)

    def precise_log_weight(self, codes: IntArray) -> tuple[float, float]:
        """Return sign and logarithm of a word's weight; slow, but exact for states too wide."""
        return precise_log_weight(self.initial, (self.transitions[c] for c in codes), self.final)

    def prefix_weight(self, word: Word) -> float:
        """Return the summed weight of all words that begin with ``word``; see `prefix_final`."""
        return float(self.prefix_weights([word])[0])

    def prefix_weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return `prefix_weight` of each word, shape ``(n_words,)``.

        >>> wa = WeightedAutomaton("ab", [1], [[[0.25]], [[0.25]]], [0.5])
        >>> wa.prefix_weights(["", "a"])
        array([1.  , 0.25])
        """
        parts = self.initial, self.transitions, self.prefix_final
        return WeightedAutomaton(self.alphabet, *parts).weights(words)

    def state_after(self, word: Word) -> FloatArray:
        """Return α₀ᵀ M_w, the state that a word leads to, shape ``(n_states,)``.

        >>> WeightedAutomaton("a", [1], [[[0.5]]], [2]).state_after("aa")
        array([0.25])
        """
        state = self.initial
        for code in self.alphabet.encode(word):
            state = state @ self.transitions[code]
        return state

    def next_symbol(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the next-symbol probabilities after each word, the end last.

        The shape is ``(n_words, n_symbols + 1)``.

        Row ``i`` is ``state·Mσ·α̃∞ / state·α̃∞`` for each symbol, then ``state·α∞ / state·α̃∞``,
        with α̃∞ = `prefix_final`. Rows sum to one, less what goes elsewhere. They are probabilities
        where the automaton is stochastic; one that is only close to that may give entries below 0.
        A prefix whose own weight ``state·α̃∞`` is 0 gets the uniform distribution.
        """
        return read_each(self, self.alphabet.words(words), self.state_next_symbol)

    def sample(self, n_words: int, *, seed: Seed = 0, max_length: int = 1000) -> Sample:
        """Draw words symbol by symbol from `next_symbol`; see `seqray.sample`.

        >>> wa = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
        >>> wa.sample(4, seed=1)
        Sample(words=Words(4 words over 1 symbols: λ, λ, aaa, λ), n_cut=0)
        """
        return sample(self, n_words, seed=seed, max_length=max_length)

    # The stepper --------------------------------------------------------------------------------

    def start(self) -> States:
        """Return a batch of one: the state before the first symbol."""
        return start_states(self.initial)

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        return step_states(self.transitions, states, parents, symbols, self._max_age)

    @cached_property
    def _max_age(self) -> int:
        return max_age(self.transitions)

    def state_vectors(self, states: States) -> FloatArray:
        """Return the states themselves, shape ``(n, n_states)``."""
        vectors, log_scales = self.split_states(states)
        return np.asarray(vectors * np.exp(log_scales)[:, None])

    def split_states(self, states: States) -> tuple[FloatArray, FloatArray]:
        """Return the states without their scales, and the logarithms of these."""
        return states.vectors[states.rows], states.log_scale[states.rows]

    def state_weights(self, states: States) -> FloatArray:
        """Return the weight of the word that leads to each state."""
        weights = scaled(states.vectors @ self.final, states.log_scale)
        return np.asarray(weights[states.rows])

    @cached_property
    def _readers(self) -> FloatArray:
        """Rows that read a state: one per symbol, the end, and all these together."""
        readers = np.concatenate([self.transitions @ self.prefix_final, [self.final]])
        total = readers.sum(axis=0)
        return np.concatenate([readers, [total if self.elsewhere is None else self.prefix_final]])

    def state_next_symbol(self, states: States) -> FloatArray:
        """Return what follows each state, the end last; see `next_symbol`."""
        return self.read_states(states)[1].T

    def read_states(self, states: States) -> tuple[FloatArray, FloatArray]:
        """Return `state_weights`, and `state_next_symbol` with one column per state, at once."""
        read: FloatArray = (self._readers @ states.vectors.T).take(states.rows, axis=1)
        return self._answers(read, states.log_scale.take(states.rows))

    @staticmethod
    def _answers(read: FloatArray, log_scale: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return weights and next symbols of states that were read with the readers."""
        weights = scaled(read[-2].copy(), log_scale)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            read = read[:-1] / read[-1]
        if not np.isfinite(read.sum()):
            read[:, ~np.isfinite(read).all(axis=0)] = 1 / len(read)
        return weights, read

    # Other automata -----------------------------------------------------------------------------

    def truncate(self, n_states: int) -> WeightedAutomaton:
        """Return the automaton of the first ``n_states`` states: of an SVD, that of this rank."""
        if not 1 <= n_states <= self.n_states:
            raise RankError(f"rank {n_states} is outside 1 … {self.n_states}")
        n, leak = n_states, None if self.elsewhere is None else self.elsewhere[:n_states]
        return WeightedAutomaton(
            self.alphabet, self.initial[:n], self.transitions[:, :n, :n], self.final[:n], leak
        )

    def allclose(
        self, other: WeightedAutomaton, *, rtol: float = 1e-9, atol: float = 1e-12
    ) -> bool:
        """Whether both have the same alphabet and nearly the same numbers, state by state."""
        if self.alphabet != other.alphabet or self.n_states != other.n_states:
            return False
        if (self.elsewhere is None) != (other.elsewhere is None):
            return False
        names = "initial", "transitions", "final", "elsewhere"
        pairs = ((getattr(self, name), getattr(other, name)) for name in names)
        return all(a is None or np.allclose(a, b, rtol=rtol, atol=atol) for a, b in pairs)

    def __repr__(self) -> str:
        return f"WeightedAutomaton({self.n_states} states, {len(self.alphabet)} symbols)"

    # Files --------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a ``.json`` or ``.npz`` file; both hold every number exactly."""
        write_automaton(path, self.content)

    @property
    def content(self) -> AutomatonContent:
        """What a file holds of it."""
        return AutomatonContent(self.alphabet, self.arrays)

    def to_npz(self) -> bytes:
        """Return what a ``.npz`` file holds."""
        return to_npz(self.content)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> WeightedAutomaton:
        """Read a ``.json`` or ``.npz`` file that `save` wrote. No file can make it run code."""
        content = read_automaton(path)
        with reading(path, "a seqray automaton"):
            return automaton_of(content)

    @staticmethod
    def from_npz(content: bytes) -> WeightedAutomaton:
        """Return the automaton that `to_npz` wrote."""
        return automaton_of(from_npz(content))


def automaton_of(content: AutomatonContent) -> WeightedAutomaton:
    """Return the automaton of a file's content, of the class that it was."""
    from seqray.automata import classifier, deterministic, structured  # noqa: PLC0415 - upwards

    alphabet, arrays = content.alphabet, content.arrays
    if content.is_deterministic:
        return deterministic.DeterministicAutomaton.from_arrays(alphabet, arrays)
    if content.is_structured:
        return structured.StructuredAutomaton.from_arrays(alphabet, arrays)
    if content.is_classifier:
        return classifier.ClassifierAutomaton.from_content(content)
    return WeightedAutomaton(alphabet, **arrays)
