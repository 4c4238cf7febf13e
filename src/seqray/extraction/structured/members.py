"""What one of several processes does in each step of a structured fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from seqray.extraction.adam import Adam
from seqray.extraction.structured.batches import GroupBatch, GroupedCorpus, Runs
from seqray.extraction.structured.gradient import (
    FitNumbers,
    Slopes,
    Tables,
    by_logarithm,
    softmax,
    summed_slopes,
    write_slopes,
)
from seqray.extraction.structured.layout import FitLayout
from seqray.parallel.team import Team
from seqray.util.arrays import FloatArray, IntArray


class FitArrays(NamedTuple):
    """The arrays that the members of a fit share.

    Parameters
    ----------
    logarithms, probabilities
        The numbers of the fit.
    slopes
        The derivatives that each member has computed.
    """

    logarithms: FitNumbers
    probabilities: FitNumbers
    slopes: list[Slopes]

    @classmethod
    def of(cls, arrays: Sequence[FloatArray]) -> FitArrays:
        """Name the arrays that a team of members has, see `shapes`."""
        given, after, *others = arrays
        rest = iter(others)
        logarithms, probabilities = (FitNumbers(*islice(rest, 4)) for _ in range(2))
        slopes = [Slopes(*own, given, after) for own in zip(rest, rest, rest, strict=True)]
        return cls(logarithms, probabilities, slopes)


@dataclass(frozen=True, eq=False)
class FitMember:
    """One of the members of a fit: has a part of each batch, and moves a share of the numbers.

    Parameters
    ----------
    layout
        Groups, states and matrices.
    columns
        Where the emissions of steps lie, see `StepTable.columns`.
    parts
        This member's part of each batch.
    rows
        What comes next at each node of the tree of all words.
    by_pair, places
        The nodes of each whole batch by the pair that leads to them, and where those of this
        member's part are among them.
    number
        Which member this is.
    adam
        Moves the numbers.
    """

    layout: FitLayout
    columns: IntArray
    parts: Sequence[GroupBatch]
    rows: FloatArray
    by_pair: Sequence[Runs]
    places: Sequence[IntArray]
    number: int
    adam: Adam

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process: of the rows, those of its own nodes."""
        nodes = np.concatenate([part.nodes for part in self.parts])
        kept, where = np.unique(nodes, return_inverse=True)
        own = np.split(where, np.cumsum([len(part.nodes) for part in self.parts])[:-1])
        parts = [part._replace(nodes=each) for part, each in zip(self.parts, own, strict=True)]
        return self.__dict__ | {"parts": parts, "rows": self.rows[kept]}

    def differentiate(self, arrays: Sequence[FloatArray], at: int) -> None:
        """Compute the derivatives of the cross-entropy of this member's part of a batch."""
        _, probabilities, slopes = FitArrays.of(arrays)
        known, own = Tables(probabilities, self.columns), slopes[self.number]
        write_slopes(self.layout, known, self.parts[at], self.rows, own, self.places[at])

    def move(self, arrays: Sequence[FloatArray], at: int) -> None:
        """Move this member's share of the logarithms, and the probabilities with them.

        It is done piece by piece. So each number is read from memory once.
        """
        logarithms, probabilities, slopes = FitArrays.of(arrays)
        pieces = islice(self.adam.pieces(logarithms), self.number, None, len(slopes))
        for number, here in pieces:
            known, moved = probabilities[number][here], logarithms[number][here]
            name = FitNumbers._fields[number]
            by_probability = summed_slopes(name, here, slopes, self.by_pair[at])
            self.adam.move(number, here, moved, by_logarithm(known, by_probability))
            softmax(moved, known)


def members_of_a_fit(
    grouped: GroupedCorpus,
    rows: FloatArray,
    batches: Sequence[IntArray],
    adams: Sequence[Adam],
) -> list[FitMember]:
    """Return members, each with a part of the words of every batch, and one Adam."""
    n, layout = len(adams), grouped.layout
    columns = grouped.table.columns(layout)
    parts = [_parts(grouped, batch, n) for batch in batches]
    joined = [Runs.joined([part.by_pair for part in each]) for each in parts]
    by_pair = [runs for runs, _ in joined]
    return [
        FitMember(
            layout,
            columns,
            [each[number] for each in parts],
            rows,
            by_pair,
            [places[number] for _, places in joined],
            number,
            adam,
        )
        for number, adam in enumerate(adams)
    ]


def shapes(members: Sequence[FitMember]) -> list[tuple[int, ...]]:
    """Return the shapes of the arrays that members share, see `FitArrays.of`."""
    layout = members[0].layout
    numbers = FitNumbers.shapes(layout)
    by_node = max(len(runs.nodes) for runs in members[0].by_pair), layout.max_size
    slopes = [numbers.emission, numbers.entry, numbers.begin] * len(members)
    return [by_node, by_node, *numbers, *numbers, *slopes]


def begin(team: Team[FitMember], logarithms: FitNumbers) -> FitNumbers:
    """Write the numbers to begin a fit with to a team's arrays; return those that will move."""
    moved, probabilities, _ = FitArrays.of(team.arrays)
    for begun, own, known in zip(logarithms, moved, probabilities, strict=True):
        own[:] = begun
        softmax(begun, known)
    return moved


def _parts(grouped: GroupedCorpus, chosen: IntArray, n: int) -> list[GroupBatch]:
    """Cut a batch of words into parts, whose visits are shares of those of the whole batch."""
    if n == 1:
        return [grouped.batch(chosen)]
    chosen = np.resize(chosen, max(n, len(chosen)))  # a word alone is shared by all
    parts = np.array_split(chosen, n)
    n_prefixes = [grouped.corpus.n_prefixes(part) for part in parts]
    batches = map(grouped.batch, parts)
    return [
        batch._replace(visits=batch.visits * np.float32(own / sum(n_prefixes)))
        for batch, own in zip(batches, n_prefixes, strict=True)
    ]
