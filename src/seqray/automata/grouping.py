"""States in groups: which group a word leads to, and the matrices from one group to the next.

After any word exactly one group of states is active, and a table says which: reading symbol σ in
group g leads to group ``next_group[g, σ]``. So the state after a word is a vector over one group
alone, however many states there are in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from seqray.util.arrays import FloatArray, IntArray, read_only, real_array
from seqray.util.errors import ArgumentError

MAX_GROUP_SIZE = 2**31 - 1
"""The most states in a group: sums and products of such numbers fit into 64 bits."""

BATCH_NUMBERS = 2**17
"""How many numbers of matrices, 1 MiB, are copied at once."""


class PairMatrices(NamedTuple):
    """The matrices of remembering transitions, one after the other.

    The pair ``groups[i], symbols[i]`` has the matrix ``numbers[i]``, or matrix ``i`` where
    ``numbers`` is None. Pairs rise, by group and then by symbol. Several pairs may share a matrix.
    ``values`` holds the numbers of all matrices, row by row.
    """

    groups: ArrayLike
    symbols: ArrayLike
    values: ArrayLike
    numbers: ArrayLike | None = None


GivenMatrices: TypeAlias = Mapping[tuple[int, int], ArrayLike] | PairMatrices
"""Matrices by ``(group, symbol code)``, or the same in flat arrays."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Grouping:
    """Groups of states, and a table that says which group is active after a word.

    Parameters
    ----------
    next_group
        The group after reading each symbol in each group, shape ``(n_groups, n_symbols)``.
    sizes
        How many states each group has, one or more, shape ``(n_groups,)``.
    start
        The group that is active before the first symbol.

    Examples
    --------
    Over the symbols a and b: three states after an a, two after a b, one before the first symbol.

    >>> grouping = Grouping([[1, 2], [1, 2], [1, 2]], sizes=[1, 3, 2], start=0)
    >>> grouping, grouping.offsets
    (Grouping(3 groups, 6 states), array([0, 1, 4, 6]))
    """

    next_group: IntArray
    sizes: IntArray
    start: int

    def __init__(self, next_group: ArrayLike, sizes: ArrayLike, start: int = 0) -> None:
        table = whole_array("next_group", next_group, 2)
        each = whole_array("group_sizes", sizes, 1)
        n_groups = len(table)
        if n_groups == 0 or len(each) != n_groups:
            raise ArgumentError(
                f"group_sizes: expected one size for each of {n_groups} groups, one or more, "
                f"got {len(each)} sizes"
            )
        if each.min() < 1:
            at = int(each.argmin())
            raise ArgumentError(f"group_sizes: expected 1 or more, got {each[at]} at group {at}")
        if each.max() > MAX_GROUP_SIZE:
            raise ArgumentError(
                f"group_sizes: expected at most {MAX_GROUP_SIZE}, got {each.max()} at group "
                f"{each.argmax()}"
            )
        check_below("next_group", table, n_groups)
        check_below("start_group", np.asarray(start), n_groups)
        object.__setattr__(self, "next_group", table)
        object.__setattr__(self, "sizes", each)
        object.__setattr__(self, "start", int(start))

    @classmethod
    def by_last_symbol(cls, sizes: Iterable[int], start_size: int = 1) -> Grouping:
        """Group states by the last symbol read; group 0 is active before the first.

        ``sizes`` says how many states there are after each symbol.

        >>> Grouping.by_last_symbol([3, 2]).next_group
        array([[1, 2],
               [1, 2],
               [1, 2]])
        """
        each = [start_size, *sizes]
        return cls(np.tile(np.arange(1, len(each)), (len(each), 1)), each, 0)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.sizes)

    @property
    def n_symbols(self) -> int:
        """The number of symbols."""
        return int(self.next_group.shape[1])

    @property
    def n_states(self) -> int:
        """The number of states in all groups."""
        return int(self.offsets[-1])

    @cached_property
    def max_size(self) -> int:
        """The size of the largest group."""
        return int(self.sizes.max())

    @cached_property
    def offsets(self) -> IntArray:
        """Where each group begins: group g has the states ``offsets[g]`` to ``offsets[g + 1]``."""
        return read_only(np.concatenate([[0], np.cumsum(self.sizes)]))

    @cached_property
    def group_of_state(self) -> IntArray:
        """The group of each state, shape ``(n_states,)``."""
        return read_only(np.repeat(np.arange(self.n_groups), self.sizes))

    def states(self, group: int) -> slice:
        """Return the states of a group."""
        return slice(int(self.offsets[group]), int(self.offsets[group + 1]))

    def path(self, codes: Iterable[int]) -> list[int]:
        """Return the groups that are active before and after each symbol of a word.

        >>> Grouping.by_last_symbol([3, 2]).path([1, 1, 0])
        [0, 2, 2, 1]
        """
        groups = [self.start]
        for code in codes:
            groups.append(int(self.next_group[groups[-1], code]))
        return groups

    def __repr__(self) -> str:
        return f"Grouping({self.n_groups} groups, {self.n_states} states)"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Remembering:
    """The matrices of those transitions that remember more than the group.

    Parameters
    ----------
    grouping
        The groups.
    matrices
        By pair of a group and a symbol's code, the matrix from the group to the next one.

    Examples
    --------
    >>> grouping = Grouping.by_last_symbol([2, 1])
    >>> kept = Remembering(grouping, {(1, 0): [[0.5, 0.25], [0, 0.5]], (0, 1): [[0.25]]})
    >>> kept, kept.index
    (Remembering(2 matrices, 5 numbers), array([[-1,  0],
           [ 1, -1],
           [-1, -1]]))
    >>> kept[1]
    array([[0.5 , 0.25],
           [0.  , 0.5 ]])
    """

    groups: IntArray
    symbols: IntArray
    values: FloatArray
    numbers: IntArray  # the matrix of each pair
    shapes: IntArray  # its shape
    begins: IntArray  # where it begins among the values
    index: IntArray  # the pair of each group and symbol, -1 where there is none

    def __init__(self, grouping: Grouping, matrices: GivenMatrices) -> None:
        flat = matrices if isinstance(matrices, PairMatrices) else _flat(grouping, matrices)
        groups = whole_array("pair_groups", flat.groups, 1)
        symbols = whole_array("pair_symbols", flat.symbols, 1)
        check_below("pair_groups", groups, grouping.n_groups)
        check_below("pair_symbols", symbols, grouping.n_symbols)
        if len(groups) != len(symbols):
            raise ArgumentError(
                f"pair_symbols: expected one for each of {len(groups)} pairs, got {len(symbols)}"
            )
        codes = groups * grouping.n_symbols + symbols
        if (codes[1:] <= codes[:-1]).any():
            at = int((codes[1:] <= codes[:-1]).argmax()) + 1
            raise ArgumentError(
                "pair_groups: expected pairs that rise, by group and then by symbol, got "
                f"({groups[at]}, {symbols[at]}) after ({groups[at - 1]}, {symbols[at - 1]})"
            )
        targets = grouping.next_group[groups, symbols]
        shapes = np.stack([grouping.sizes[groups], grouping.sizes[targets]], axis=1)
        numbers = _matrix_numbers(flat.numbers, shapes)
        sizes = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
        sizes[numbers] = shapes.prod(axis=1)
        begins = np.cumsum(sizes) - sizes
        index = np.full(grouping.next_group.shape, -1, np.int64)
        index[groups, symbols] = np.arange(len(groups))
        parts = {
            "groups": groups,
            "symbols": symbols,
            "values": real_array("values", flat.values, (sum(sizes.tolist()),)),
            "numbers": numbers,
            "shapes": read_only(shapes),
            "begins": read_only(begins[numbers]),
            "index": read_only(index),
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, pair: int) -> FloatArray:
        """Return the matrix of a pair, as a view of the numbers."""
        begin, (n_rows, n_columns) = int(self.begins[pair]), self.shapes[pair].tolist()
        return self.values[begin : begin + n_rows * n_columns].reshape(n_rows, n_columns)

    def batches(self, pairs: IntArray | None = None) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the matrices of some pairs, or of all, in batches of one shape each.

        Each batch is an array of places within ``pairs``, and their matrices, shape
        ``(n, n_rows, n_columns)``.
        """
        pairs = np.arange(len(self)) if pairs is None else pairs
        begins, shapes = self.begins.take(pairs), self.shapes.take(pairs, axis=0)
        codes = shapes[:, 0] * (MAX_GROUP_SIZE + 1) + shapes[:, 1]
        order = np.argsort(codes, kind="stable")
        ends = np.flatnonzero(np.diff(codes[order], append=-1)) + 1
        for begin, end in pairwise([0, *ends.tolist()]):
            n_rows, n_columns = shapes[order[begin]].tolist()
            within = np.arange(n_rows * n_columns)
            n_together = max(1, BATCH_NUMBERS // len(within))
            for at in range(begin, end, n_together):
                some = order[at : min(at + n_together, end)]
                numbers = self.values.take(begins.take(some)[:, None] + within)
                yield some, numbers.reshape(len(some), n_rows, n_columns)

    @cached_property
    def places(self) -> IntArray:
        """Where the numbers of every pair's matrix lie among the values, one pair after another."""
        sizes = self.shapes.prod(axis=1)
        return np.repeat(self.begins - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())

    @property
    def arrays(self) -> dict[str, FloatArray | IntArray]:
        """The numbers, by the names that they have in files."""
        arrays: dict[str, FloatArray | IntArray] = {
            "pair_groups": self.groups,
            "pair_symbols": self.symbols,
            "values": self.values,
        }
        is_shared = not np.array_equal(self.numbers, np.arange(len(self)))
        return {**arrays, "pair_matrices": self.numbers} if is_shared else arrays

    def __repr__(self) -> str:
        return f"Remembering({len(self)} matrices, {len(self.values)} numbers)"


def _matrix_numbers(given: ArrayLike | None, shapes: IntArray) -> IntArray:
    """Return the number of each pair's matrix; pairs that share one have to be of one shape."""
    if given is None:
        return read_only(np.arange(len(shapes)))
    numbers = whole_array("pair_matrices", given, 1)
    if len(numbers) != len(shapes):
        raise ArgumentError(
            f"pair_matrices: expected one for each of {len(shapes)} pairs, got {len(numbers)}"
        )
    distinct, first = np.unique(numbers, return_index=True)
    if not np.array_equal(distinct, np.arange(len(distinct))):
        raise ArgumentError(
            f"pair_matrices: expected each of 0 … {len(distinct) - 1}, got {distinct.tolist()[:9]}"
        )
    wrong = (shapes != shapes[first[numbers]]).any(axis=1)
    if wrong.any():
        at = int(wrong.argmax())
        raise ArgumentError(
            f"pair_matrices: pair {at} shares matrix {numbers[at]} with a pair of another shape: "
            f"expected {tuple(shapes[at].tolist())} for both"
        )
    return numbers


def _flat(grouping: Grouping, matrices: Mapping[tuple[int, int], ArrayLike]) -> PairMatrices:
    """Return matrices that were given one by one in flat arrays."""
    pairs = sorted(matrices)
    flat = []
    for group, symbol in pairs:
        check_below("matrices: group", np.asarray(group), grouping.n_groups)
        check_below("matrices: symbol", np.asarray(symbol), grouping.n_symbols)
        target = grouping.next_group[group, symbol]
        shape = int(grouping.sizes[group]), int(grouping.sizes[target])
        matrix = real_array(f"matrices[{group}, {symbol}]", matrices[group, symbol], shape)
        flat.append(matrix.ravel())
    values = np.concatenate(flat) if flat else np.empty(0)
    return PairMatrices(
        np.array([group for group, _ in pairs], np.int64),
        np.array([symbol for _, symbol in pairs], np.int64),
        values,
    )


def whole_array(name: str, values: ArrayLike, n_dimensions: int) -> IntArray:
    """Return ``values`` as a read-only int64 copy, or say what is wrong."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"{name}: expected rows of equal lengths: {error}") from error
    if array.ndim != n_dimensions:
        raise ArgumentError(f"{name}: expected {n_dimensions} dimensions, got {array.ndim}")
    if array.dtype.kind not in "iu" and array.size:
        raise ArgumentError(f"{name}: expected whole numbers, got dtype {array.dtype}")
    return read_only(np.array(array, dtype=np.int64, order="C"))


def check_below(name: str, numbers: IntArray, n: int) -> None:
    """Raise an `ArgumentError` unless all numbers are from 0 to ``n`` - 1."""
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise ArgumentError(f"{name}: expected a whole number, got {numbers!r}")
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < n):
        wrong = numbers.min() if numbers.min() < 0 else numbers.max()
        raise ArgumentError(f"{name}: expected 0 … {n - 1}, got {wrong}")
