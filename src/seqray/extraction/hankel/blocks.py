"""Blocks of the Hankel matrix, and the weights on their rows and columns.

The Hankel matrix of a function f on words has a row for every prefix u, a column for every suffix
v, and f(uv) where they meet. The spectral method needs the block H of a basis (P, S), and for every
symbol σ the block Hσ with f(uσv). Row uσ is often a row of H too, so each row is held once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from seqray.automata.tree import PrefixTree
from seqray.automata.words import Symbol, Words
from seqray.extraction.basis import Basis
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError
from seqray.util.row_file import RowFile, Rows, frozen, row_chunks

WEIGHTINGS = {"none": 0.0, "softer": 0.5, "soft": 0.75, "balanced": 1.0}
"""How rows and columns may be weighted, and the power of their size that each is divided by."""

MIN_SCALED_SUM = 1e-250
"""Rows and columns that sum to less than this are not scaled up: that would overflow."""


@dataclass(frozen=True, eq=False, repr=False)
class HankelBlocks:
    """The blocks H and Hσ of a basis.

    Parameters
    ----------
    basis
        The prefixes and suffixes.
    values
        f(uv), one row per u in P ∪ PΣ in the order of the nodes of `tree`, one column per v in S:
        shape ``(n_rows, n_suffixes)``. An array, or a file that is indexed like one:
        `seqray.util.row_file.RowFile`.
    n_questions
        How many distinct words were queried.
    n_steps
        How many symbols a box with states read for that; 0 for a box without.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.black_box(lambda words: [len(word) for word in words], "ab")
    >>> words = box.alphabet.words(["", "a"])
    >>> blocks = seqray.fill(box, Basis(words, words))
    >>> blocks
    HankelBlocks(2 prefixes, 2 suffixes, 2 symbols)
    >>> blocks.block()
    array([[0., 1.],
           [1., 2.]])
    >>> blocks.block("b")
    array([[1., 2.],
           [2., 3.]])
    """

    basis: Basis
    values: Rows
    n_questions: int = 0
    n_steps: int = 0
    tree: PrefixTree = field(init=False)

    def __post_init__(self) -> None:
        tree = row_tree(self.basis)
        shape = (len(tree), len(self.basis.suffixes))
        if self.values.shape != shape or self.values.dtype != np.float64:
            raise ArgumentError(
                f"values: expected float64 of shape {shape}, "
                f"got {self.values.dtype} of shape {self.values.shape}"
            )
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "values", frozen(self.values))

    @cached_property
    def rows(self) -> IntArray:
        """Which rows of `values` make up H, then each Hσ, shape ``(n_symbols + 1, n_prefixes)``."""
        nodes = self.tree.node_of_word
        symbols = np.arange(len(self.basis.alphabet))
        return np.concatenate([nodes[None], self.tree.first_child[nodes] + symbols[:, None]])

    @property
    def is_on_disk(self) -> bool:
        """Whether the values are in a file."""
        return isinstance(self.values, RowFile)

    @cached_property
    def largest(self) -> float:
        """The largest absolute value."""
        return max((float(np.abs(part).max(initial=0)) for _, part in self.chunks()), default=0.0)

    def chunks(self, rows: IntArray | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Yield all rows of `values`, or some, as many at a time as fit into memory."""
        return row_chunks(self.values, rows)

    @cached_property
    def empty_suffix(self) -> int:
        """The column of the empty word."""
        return int(self.basis.suffixes.lengths.argmin())

    def block(self, symbol: Symbol | None = None) -> FloatArray:
        """Return H, or Hσ of a symbol, shape ``(n_prefixes, n_suffixes)``."""
        which = 0 if symbol is None else 1 + self.basis.alphabet.encode([symbol])[0]
        block: FloatArray = self.values[self.rows[which]]
        return block

    def weights(self, weighting: str) -> tuple[FloatArray, FloatArray]:
        """Return positive weights for the rows and the columns of H.

        In the raw matrix a few short, probable prefixes drown all others, and a truncated SVD
        sees nothing else. The exact solution is the same with any weights.

        Parameters
        ----------
        weighting
            ``"none"``: all 1, the paper's choice. ``"balanced"``: a row is divided by the sum of
            its absolute values, so that every prefix counts the same, then a column by the root of
            its mean square. ``"soft"`` and ``"softer"``: by the power ¾ and ½ of these, so that
            rare behaviour counts for less than frequent one, but for more than its share.
        """
        n_prefixes, n_suffixes = len(self.basis.prefixes), len(self.basis.suffixes)
        if weighting not in WEIGHTINGS:
            raise ArgumentError(
                f"weighting: expected one of {', '.join(WEIGHTINGS)}, got {weighting!r}"
            )
        power = WEIGHTINGS[weighting]
        if not power:
            return np.ones(n_prefixes), np.ones(n_suffixes)
        largest = self._largest_of_h or 1.0  # so that no sum overflows
        rows, squares = np.empty(n_prefixes), np.zeros(n_suffixes)
        for some, part in self.chunks(self.rows[0]):
            block = np.abs(part) / largest
            rows[some] = _inverse(block.sum(axis=1)) ** power
            squares += ((rows[some, None] * block) ** 2).sum(axis=0)
        return rows / largest, _inverse(np.sqrt(squares / n_prefixes)) ** power

    @cached_property
    def _largest_of_h(self) -> float:
        chunks = self.chunks(self.rows[0])
        return max(float(np.abs(part).max()) for _, part in chunks)

    def __repr__(self) -> str:
        return (
            f"HankelBlocks({len(self.basis.prefixes)} prefixes, "
            f"{len(self.basis.suffixes)} suffixes, {len(self.basis.alphabet)} symbols)"
        )


def row_tree(basis: Basis) -> PrefixTree:
    """Return the tree of P ∪ PΣ, whose ``node_of_word`` are the prefixes P themselves.

    Every prefix has all symbols as children, and only prefixes have children.
    """
    n_symbols = len(basis.alphabet)
    parents = np.repeat(np.arange(len(basis.prefixes)), n_symbols)
    symbols = np.tile(np.arange(n_symbols), len(basis.prefixes))
    longer = basis.prefixes[parents].extended(symbols)
    tree = PrefixTree.of(Words.concatenate([basis.prefixes, longer]))
    return PrefixTree(
        tree.alphabet, tree.parent, tree.symbol, tree.node_of_word[: len(basis.prefixes)]
    )


def _inverse(sizes: FloatArray) -> FloatArray:
    """Return 1 / sizes, or 1 where a size is next to nothing."""
    return np.divide(1.0, sizes, out=np.ones_like(sizes), where=sizes > MIN_SCALED_SUM)
