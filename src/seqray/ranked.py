"""Automata of every rank in two files: that of the largest rank, and those fitted at some.

::

    automaton.npz   the automaton of the largest rank; smaller ranks are its leading blocks
    fitted.npz      where the box predicts: automata that are nearer to it at some ranks, and the
                    weight of all that can follow each state, which makes the others whole
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from seqray.arrays import FloatArray, real_array
from seqray.automaton import WeightedAutomaton
from seqray.errors import FileError, RankError
from seqray.files import check_header, read_bytes, reading, writing

FORMAT, VERSION = "seqray.fitted", 1

NEVER_ENDS = 1e-9
"""What a symbol leaves to the end where otherwise nothing would."""


def ending(cut: WeightedAutomaton, through: FloatArray) -> WeightedAutomaton:
    """Give an automaton the end that makes all that can follow each state weigh what is given.

    The end is what no symbol takes, α∞ = (I − ΣMσ) 1̂, and all words together weigh 1. Where words
    hardly ever end, I − ΣMσ cannot be inverted, and what follows could not be found again: there
    every symbol leaves a little to the end. Where the box leaks, so that something goes elsewhere,
    the end is as it was, and elsewhere goes what neither it nor a symbol takes.

    Parameters
    ----------
    cut
        The automaton; its own end does not count, unless something goes elsewhere.
    through
        1̂, shape ``(n_states,)``.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [2], [[[0.5]], [[0.25]]], [0])
    >>> ending(wa, np.ones(1)).weight("a")
    0.125
    """
    start = cut.initial @ through or 1.0
    for kept in (1.0, 1 - NEVER_ENDS):
        transitions = kept * cut.transitions
        final, elsewhere = through - transitions.sum(axis=0) @ through, None
        if cut.elsewhere is not None:
            final, elsewhere = cut.final, final - cut.final
        found = WeightedAutomaton(cut.alphabet, cut.initial / start, transitions, final, elsewhere)
        if np.allclose(found.prefix_final, through, rtol=1e-6, atol=1e-6 * np.abs(through).max()):
            break
    return found


@dataclass(frozen=True, eq=False)
class RankedAutomata:
    """Automata of every rank.

    Parameters
    ----------
    largest
        That of the largest rank.
    through
        The weight of all that can follow each of its states, where smaller ranks need it.
    fitted
        By rank, automata that come before those that are cut from the largest.
    """

    largest: WeightedAutomaton
    through: FloatArray | None = None
    fitted: Mapping[int, WeightedAutomaton] = field(default_factory=dict)

    def automaton(self, rank: int) -> WeightedAutomaton:
        """Return the automaton with ``rank`` states."""
        if rank in self.fitted:
            return self.fitted[rank]
        if not 1 <= rank <= self.largest.n_states:
            raise RankError(
                f"rank {rank} is outside 1 … {self.largest.n_states}: no automaton here has more "
                "states, for max_rank was no larger, or that many are enough for all answers"
            )
        cut = self.largest.truncate(rank)
        return cut if self.through is None else ending(cut, self.through[:rank])

    def save(self, folder: Path) -> None:
        """Write the two files, or the one that is needed."""
        self.largest.save(folder / "automaton.npz")
        if self.through is None:
            return
        header = {"format": FORMAT, "version": VERSION, "ranks": sorted(self.fitted)}
        arrays = {
            f"{name}_{rank}": array
            for rank, automaton in self.fitted.items()
            for name, array in automaton.arrays.items()
        }
        with writing(folder / "fitted.npz") as fresh, fresh.open("wb") as file:
            np.savez_compressed(
                file, header=np.array(json.dumps(header)), through=self.through, **arrays
            )

    @staticmethod
    def load(folder: Path) -> RankedAutomata:
        """Read what `save` wrote."""
        largest = WeightedAutomaton.load(folder / "automaton.npz")
        path = folder / "fitted.npz"
        if not path.exists():
            return RankedAutomata(largest)
        content, n = read_bytes(path), largest.n_states
        with reading(path, "a file of fitted automata"):
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                document = {**json.loads(str(arrays["header"])), **arrays}
            check_header(document, FORMAT, VERSION)
            through = real_array("through", document["through"], (n,))
            fitted = {}
            for rank in document["ranks"]:
                names = (f"{name}_{rank}" for name in ("initial", "transitions", "final"))
                parts = [*(document[name] for name in names), document.get(f"elsewhere_{rank}")]
                found = WeightedAutomaton(largest.alphabet, *parts)
                if found.n_states != rank or not 1 <= rank <= n:
                    raise FileError(f"damaged: {found.n_states} states at rank {rank} of 1 … {n}")
                fitted[rank] = found
            return RankedAutomata(largest, through, fitted)
