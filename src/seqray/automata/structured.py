"""Structured automata: thousands of states in groups, of which a word activates one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.grouping import GivenMatrices, Grouping, PairMatrices, Remembering
from seqray.automata.scaling import precise_log_weight, scaled
from seqray.automata.scoring import WordProducts
from seqray.automata.structured_blocks import BlockMatrices
from seqray.automata.structured_scoring import PartScorer
from seqray.automata.structured_states import StructuredStates, StructuredSteps
from seqray.automata.structured_totals import (
    step_sum,
    structured_continuations,
    structured_radius,
)
from seqray.automata.totals import weight_of_all
from seqray.automata.transitions import EdgeBlock
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.util.arrays import FloatArray, IntArray, read_only, real_array
from seqray.util.errors import ArgumentError, SeqrayError
from seqray.util.files import MAX_NUMBERS

MAX_DENSE_NUMBERS = 2 * MAX_NUMBERS
"""The most numbers, 1 GiB, of a structured automaton that is written out as a dense one."""

STRUCTURE = "next_group", "group_sizes", "start_group", "pair_groups", "pair_symbols"
"""The arrays that say which numbers there are."""

SUM_TOLERANCE = 1e-12
"""How far from 1 the probabilities of what follows a state may sum."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class StructuredAutomaton(WeightedAutomaton):
    """A weighted automaton whose states are in groups, of which exactly one is active.

    It is a `WeightedAutomaton` in all that it does. The matrix Mσ leads from each group g to one
    group only, h = ``next_group[g, σ]``. A *remembering* transition has a matrix of its own, of
    shape (size of g, size of h). A *forgetful* one has the matrix ``emission[g, σ] ⊗ entry[h]``:
    all that it keeps is the group.

    Parameters
    ----------
    alphabet
        The symbols, an `Alphabet` or what makes one.
    grouping
        The groups, and which of them is active after a word.
    initial_vector
        The weight with which a word begins in each state of the group ``grouping.start``.
    emission
        The weight of each symbol in each state, the end last, shape ``(n_states, n_symbols + 1)``.
        Where a transition is remembering, the numbers given do not count: they are replaced by
        the sums of the rows of its matrix.
    entry
        For each group, one after the other, the vector with which a forgetful transition enters
        it, shape ``(n_states,)``.
    matrices
        The matrices of remembering transitions, by group and symbol code; or `PairMatrices`.
    elsewhere
        As for a `WeightedAutomaton`, shape ``(n_states,)``.

    Examples
    --------
    One state before the first symbol, two after an a, one after a b. Only a after a is remembering.

    >>> wa = StructuredAutomaton(
    ...     "ab",
    ...     Grouping.by_last_symbol([2, 1]),
    ...     initial_vector=[1],
    ...     emission=[[0.5, 0.5, 0], [0, 0.5, 0.25], [0, 0.25, 0.5], [0.25, 0.25, 0.5]],
    ...     entry=[1, 0.5, 0.5, 1],
    ...     matrices={(1, 0): [[0, 0.25], [0.25, 0]]},
    ... )
    >>> wa
    StructuredAutomaton(4 states in 3 groups, 2 symbols)
    >>> wa.weights(["", "a", "b", "aa"])
    array([0.     , 0.1875 , 0.25   , 0.046875])
    >>> wa.next_symbol(["a", "ab"])
    array([[0.25 , 0.375, 0.375],
           [0.25 , 0.25 , 0.5  ]])
    >>> wa.to_dense()
    WeightedAutomaton(4 states, 2 symbols)
    """

    grouping: Grouping
    initial_vector: FloatArray
    emission: FloatArray
    entry: FloatArray
    remembering: Remembering

    def __init__(
        self,
        alphabet: Alphabet | Iterable[Symbol],
        grouping: Grouping,
        initial_vector: ArrayLike,
        emission: ArrayLike,
        entry: ArrayLike,
        matrices: GivenMatrices | None = None,
        elsewhere: ArrayLike | None = None,
    ) -> None:
        alphabet = Alphabet.of(alphabet)
        if grouping.n_symbols != len(alphabet):
            raise ArgumentError(
                f"next_group: expected one column for each of {len(alphabet)} symbols, "
                f"got {grouping.n_symbols}"
            )
        n, size = grouping.n_states, int(grouping.sizes[grouping.start])
        given = real_array("emission", emission, (n, len(alphabet) + 1))
        remembering = Remembering(grouping, {} if matrices is None else matrices)
        emission = _completed(given, grouping, remembering)
        start = real_array("initial_vector", initial_vector, (size,))
        initial = np.zeros(n)
        initial[grouping.states(grouping.start)] = start
        leak = None if elsewhere is None else real_array("elsewhere", elsewhere, (n,))
        parts = {
            "alphabet": alphabet,
            "grouping": grouping,
            "initial_vector": start,
            "emission": emission,
            "entry": real_array("entry", entry, (n,)),
            "remembering": remembering,
            "initial": read_only(initial),
            "final": read_only(np.ascontiguousarray(emission[:, -1])),
            "elsewhere": leak,
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)

    # Parts --------------------------------------------------------------------------------------

    @property
    def next_group(self) -> IntArray:
        """The group after reading each symbol in each group, shape ``(n_groups, n_symbols)``."""
        return self.grouping.next_group

    @property
    def group_sizes(self) -> IntArray:
        """How many states each group has, shape ``(n_groups,)``."""
        return self.grouping.sizes

    @property
    def start_group(self) -> int:
        """The group that is active before the first symbol."""
        return self.grouping.start

    @property
    def offsets(self) -> IntArray:
        """Where each group begins: group g has the states ``offsets[g]`` to ``offsets[g + 1]``."""
        return self.grouping.offsets

    @cached_property
    def blocks(self) -> BlockMatrices:
        """The matrices, block by block."""
        return BlockMatrices(self.grouping, self.emission, self.entry, self.remembering)

    @cached_property
    def cost_per_symbol(self) -> int:
        """The most multiplications that it takes to read one symbol, in any group."""
        return int(self.remembering.shapes.prod(axis=1).max(initial=self.grouping.max_size))

    @property
    def arrays(self) -> dict[str, Any]:
        """The numbers, by name; ``elsewhere`` only where there is one."""
        arrays = {
            "next_group": self.next_group,
            "group_sizes": self.group_sizes,
            "start_group": np.array(self.start_group),
            "initial_vector": self.initial_vector,
            "emission": self.emission,
            "entry": self.entry,
            **self.remembering.arrays,
        }
        return arrays if self.elsewhere is None else {**arrays, "elsewhere": self.elsewhere}

    @classmethod
    def from_arrays(
        cls, alphabet: Alphabet | Iterable[Symbol], arrays: Mapping[str, Any]
    ) -> StructuredAutomaton:
        """Return the automaton of what `arrays` returned."""
        start = np.asarray(arrays["start_group"]).item()
        grouping = Grouping(arrays["next_group"], arrays["group_sizes"], start)
        return cls(
            alphabet,
            grouping,
            arrays["initial_vector"],
            arrays["emission"],
            arrays["entry"],
            PairMatrices(
                arrays["pair_groups"],
                arrays["pair_symbols"],
                arrays["values"],
                arrays.get("pair_matrices"),
            ),
            arrays.get("elsewhere"),
        )

    def edge_blocks(self) -> Iterator[EdgeBlock]:
        """Yield the transitions in blocks, by symbol, then by group."""
        return self.blocks.blocks()

    # The dense form -----------------------------------------------------------------------------

    @cached_property  # type: ignore[misc]  # a field of the base, made when it is needed
    def transitions(self) -> FloatArray:
        """Mσ written out, shape ``(n_symbols, n_states, n_states)``; refused above 1 GiB."""
        n, k = self.n_states, len(self.alphabet)
        self._check_dense(k)
        matrices = np.zeros((k, n, n))
        for code, origin, target, block in self.edge_blocks():
            n_rows, n_columns = block.shape
            matrices[code, origin : origin + n_rows, target : target + n_columns] = block
        return read_only(matrices)

    def _check_dense(self, n_matrices: int) -> None:
        """Refuse to write out matrices of all states where they would take too much memory."""
        n_numbers = n_matrices * self.n_states**2
        if n_numbers > MAX_DENSE_NUMBERS:
            here, most = (f"{8e-9 * n:,.1f} GB" for n in (n_numbers, MAX_DENSE_NUMBERS))
            raise SeqrayError(
                f"this automaton has {self.n_states:,} states: dense matrices of them would take "
                f"{here}, expected at most {most}. Drawings, names of states and the algebra need "
                "them: use an automaton of fewer states there. Weights, next symbols, samples, "
                "comparisons and exports do not need them"
            )

    def to_dense(self) -> WeightedAutomaton:
        """Return the same automaton without structure; refused above 1 GiB."""
        return WeightedAutomaton(
            self.alphabet, self.initial, self.transitions, self.final, self.elsewhere
        )

    @cached_property
    def mirror(self) -> WeightedAutomaton:
        """The automaton that gives each word the weight of the reversed word; it is dense."""
        return self.to_dense().mirror

    @property
    def reads_backwards(self) -> bool:
        """Whether `mirror` reads words as fast as the automaton itself: it does not."""
        return False

    def truncate(self, n_states: int) -> WeightedAutomaton:
        """Return the automaton of the first ``n_states`` states; it is dense, unless it is all."""
        return self if n_states == self.n_states else self.to_dense().truncate(n_states)

    @property
    def within(self) -> StructuredAutomaton:
        """The same weights of words, and nothing that goes elsewhere."""
        arrays = {name: each for name, each in self.arrays.items() if name != "elsewhere"}
        return StructuredAutomaton.from_arrays(self.alphabet, arrays)

    def allclose(
        self, other: WeightedAutomaton, *, rtol: float = 1e-9, atol: float = 1e-12
    ) -> bool:
        """Whether both have the same alphabet and nearly the same numbers, state by state."""
        mine, others = self.arrays, other.arrays
        if any(not np.array_equal(mine[name], others.get(name, [])) for name in STRUCTURE):
            return super().allclose(other, rtol=rtol, atol=atol)
        return (
            self.alphabet == other.alphabet
            and mine.keys() == others.keys()
            and all(np.allclose(mine[name], others[name], rtol=rtol, atol=atol) for name in mine)
        )

    # Facts --------------------------------------------------------------------------------------

    @cached_property
    def _steps(self) -> StructuredSteps:
        return StructuredSteps(self.blocks)

    @cached_property
    def step_sum(self) -> FloatArray:
        """ΣMσ, shape ``(n_states, n_states)``."""
        self._check_dense(1)
        return read_only(step_sum(self.blocks))

    @cached_property
    def is_probabilistic(self) -> bool:
        """Whether all numbers are probabilities: none below 0, and what leaves a state sums to 1.

        What enters a group sums to 1, too.
        """
        leaves = self.emission.sum(axis=1)
        if self.elsewhere is not None:
            leaves += self.elsewhere
        enters = np.add.reduceat(self.entry, self.offsets[:-1])
        parts = self.initial_vector, self.emission, self.entry, self.remembering.values
        leak = () if self.elsewhere is None else (self.elsewhere,)
        return bool(
            all(np.abs(sums - 1).max() <= SUM_TOLERANCE for sums in (leaves, enters))
            and all(part.min(initial=0) >= 0 for part in (*parts, *leak))
        )

    @cached_property
    def prefix_final(self) -> FloatArray:
        """α̃∞, the summed weight of all that can follow each state, see `WeightedAutomaton`.

        Where all numbers are probabilities, and every state can stop, it is 1 everywhere.
        """
        final = self.final if self.elsewhere is None else self.final + self.elsewhere
        if self.is_probabilistic and self.blocks.able(final).all():
            return read_only(np.ones(self.n_states))
        return read_only(structured_continuations(self.blocks, final))

    @cached_property
    def spectral_radius(self) -> float:
        """The largest eigenvalue of ΣMσ in size; below 1 the sum over all words converges."""
        return structured_radius(self.blocks)

    @cached_property
    def total(self) -> float:
        """The weight of all words together, 1 for a distribution; see `totals.weight_of_all`."""
        if self.elsewhere is not None:
            return self.within.total
        after_one = self.blocks.times(self.prefix_final).sum(axis=1)
        return weight_of_all(self.initial, after_one, self.prefix_final, self.final)

    def advance(self, state: FloatArray) -> FloatArray:
        """Return a state multiplied by ΣMσ: the sum of the states after one more symbol."""
        return self.blocks.advance(state)

    @property
    def is_nonnegative(self) -> bool:
        """Whether no entry is below 0, so that no word has a weight below 0."""
        parts = self.initial_vector, self.final, self.remembering.values
        if not all(part.min(initial=0) >= 0 for part in parts):
            return False
        if min(self.emission.min(), self.entry.min()) >= 0:
            return True
        return bool(all(block.numbers.min() >= 0 for block in self.edge_blocks()))

    # Scoring ------------------------------------------------------------------------------------

    @cached_property
    def _scorer(self) -> PartScorer:
        return PartScorer(self._steps, self.initial_vector)

    @cached_property
    def _prefix_scorer(self) -> PartScorer:
        return PartScorer(self._steps, self.initial_vector, self.prefix_final)

    def word_products(self, words: Words) -> WordProducts:
        """Return the weights of words as products that neither overflow nor underflow."""
        return self._scorer.products(words)

    def prefix_weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the summed weight of all words that begin with each word, ``(n_words,)``."""
        products = self._prefix_scorer.products(self.alphabet.words(words))
        return scaled(products.products, products.log_scale)

    def precise_log_weight(self, codes: IntArray) -> tuple[float, float]:
        """Return sign and logarithm of a word's weight; slow, but exact for states too wide."""
        path = self.grouping.path(codes.tolist())
        blocks = (
            self.blocks.block(group, int(code)) for group, code in zip(path, codes, strict=False)
        )
        final = self.final[self.grouping.states(path[-1])]
        return precise_log_weight(self.initial_vector, blocks, final)

    def state_after(self, word: Word) -> FloatArray:
        """Return α₀ᵀ M_w, the state that a word leads to, shape ``(n_states,)``."""
        codes = self.alphabet.encode(word)
        path, state = self.grouping.path(codes), self.initial_vector
        for group, code in zip(path, codes, strict=False):
            state = state @ self.blocks.block(group, code)
        whole: FloatArray = np.zeros(self.n_states)
        whole[self.grouping.states(path[-1])] = state
        return whole

    # The stepper --------------------------------------------------------------------------------

    @property
    def max_states(self) -> int:
        """How many states may be stepped at once, so that memory is bounded."""
        return self._steps.max_states

    def start(self) -> StructuredStates:
        """Return a batch of one: the state before the first symbol."""
        return self._steps.start(self.initial_vector)

    def step(
        self, states: StructuredStates, parents: IntArray, symbols: IntArray
    ) -> StructuredStates:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        return self._steps.step(states, parents, symbols)

    def split_states(self, states: StructuredStates) -> tuple[FloatArray, FloatArray]:
        """Return the states without their scales, and the logarithms of these."""
        vectors = self._steps.spread(states.vectors, states.groups)
        return vectors[states.rows], states.log_scale[states.rows]

    def state_weights(self, states: StructuredStates) -> FloatArray:
        """Return the weight of the word that leads to each state."""
        read = self._steps.read(states, self._end_reader)[:, 0]
        return scaled(read, states.log_scale)[states.rows]

    @cached_property
    def _end_reader(self) -> FloatArray:
        return self._steps.windows_of(self.final[:, None])

    @cached_property
    def _readers(self) -> FloatArray:
        """Columns that read a state: one per symbol, the end, and all these together."""
        readers = np.column_stack([self.blocks.times(self.prefix_final), self.final])
        total = readers.sum(axis=1) if self.elsewhere is None else self.prefix_final
        return self._steps.windows_of(np.column_stack([readers, total]))

    def read_states(self, states: StructuredStates) -> tuple[FloatArray, FloatArray]:
        """Return `state_weights`, and `state_next_symbol` with one column per state, at once."""
        read = self._steps.read(states, self._readers)
        return self._answers(read.T.take(states.rows, axis=1), states.log_scale.take(states.rows))

    def __repr__(self) -> str:
        return (
            f"StructuredAutomaton({self.n_states} states in {self.grouping.n_groups} groups, "
            f"{len(self.alphabet)} symbols)"
        )


def _completed(given: FloatArray, grouping: Grouping, remembering: Remembering) -> FloatArray:
    """Return the emission, with the row sums of the matrices where there are some."""
    if not len(remembering):
        return given
    emission = np.array(given)
    for pairs, matrices in remembering.batches():
        rows = np.arange(matrices.shape[1])
        states = np.add.outer(grouping.offsets[remembering.groups[pairs]], rows)
        emission[states, remembering.symbols[pairs, None]] = matrices.sum(axis=2)
    return read_only(emission)
