"""Automata of every rank, from two files: the one of the largest rank, and those fitted at some.

::

    automaton.npz   the automaton of the largest rank; smaller ranks are its leading blocks
    fitted.npz      where the box predicts: automata that are nearer to it at some ranks, and the
                    weight of all that can follow each state, which makes the others whole
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton, automaton_of
from seqray.automata.automaton_content import DENSE_ARRAYS, STRUCTURED_ARRAYS, AutomatonContent
from seqray.util.arrays import FloatArray, real_array
from seqray.util.errors import FileError, RankError
from seqray.util.files import check_header, reading
from seqray.util.npz import NpzArrays, npz_bytes

FORMAT, VERSION = "seqray.fitted", 1

LARGEST, FITTED = "automaton.npz", "fitted.npz"

MIN_ENDING = 1e-9
"""The share that a symbol leaves to the end where otherwise nothing would."""


def ending(cut: WeightedAutomaton, prefix_final: FloatArray) -> WeightedAutomaton:
    """Give an automaton the end that makes all that can follow each state weigh what is given.

    The end is what no symbol takes, α∞ = (I − ΣMσ) α̃∞, and all words together weigh 1. Where words
    almost never end, I − ΣMσ cannot be inverted: there every symbol leaves a little to the end.
    Where the box leaks, so that something goes elsewhere, the end is as it was, and elsewhere goes
    what neither it nor a symbol takes.

    Parameters
    ----------
    cut
        The automaton; its own end does not count, unless something goes elsewhere.
    prefix_final
        α̃∞, shape ``(n_states,)``.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [2], [[[0.5]], [[0.25]]], [0])
    >>> ending(wa, np.ones(1)).weight("a")
    0.125
    """
    start = cut.initial @ prefix_final or 1.0
    for goes_on in (1.0, 1 - MIN_ENDING):
        transitions = goes_on * cut.transitions
        final, elsewhere = prefix_final - transitions.sum(axis=0) @ prefix_final, None
        if cut.elsewhere is not None:
            final, elsewhere = cut.final, final - cut.final
        automaton = WeightedAutomaton(
            cut.alphabet, cut.initial / start, transitions, final, elsewhere
        )
        if np.allclose(
            automaton.prefix_final, prefix_final, rtol=1e-6, atol=1e-6 * np.abs(prefix_final).max()
        ):
            break
    return automaton


@dataclass(frozen=True, eq=False, repr=False)
class RankedAutomata:
    """Automata of every rank: one SVD, and automata that were fitted at some ranks.

    Parameters
    ----------
    largest
        That of the largest rank.
    prefix_final
        The weight of all that can follow each of its states, where smaller ranks need it.
    fitted
        By rank, automata that come before those that are cut from the largest.
    singular_values
        Of the matrix that was factored, largest first, one per rank; empty where there was none.

    Examples
    --------
    >>> wa = WeightedAutomaton("a", [1, 1], [[[0.5, 0], [0, 0.25]]], [0.4, 0.1])
    >>> automata = RankedAutomata(wa)
    >>> automata, automata.automaton(1)
    (RankedAutomata(ranks 1 … 2), WeightedAutomaton(1 states, 1 symbols))
    """

    largest: WeightedAutomaton
    prefix_final: FloatArray | None = None
    fitted: Mapping[int, WeightedAutomaton] = field(default_factory=dict)
    singular_values: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def max_rank(self) -> int:
        """The largest rank there is an automaton of."""
        return self.largest.n_states

    def automaton(self, rank: int) -> WeightedAutomaton:
        """Return the automaton with ``rank`` states."""
        return self.fitted[rank] if rank in self.fitted else self.spectral(rank)

    def spectral(self, rank: int) -> WeightedAutomaton:
        """Return the automaton that is cut from the largest, even where another was fitted."""
        if not 1 <= rank <= self.largest.n_states:
            raise RankError(
                f"rank {rank} is outside 1 … {self.largest.n_states}: no automaton here has more "
                "states, for max_rank was no larger, or that many are enough for all answers"
            )
        cut = self.largest.truncate(rank)
        return cut if self.prefix_final is None else ending(cut, self.prefix_final[:rank])

    def __repr__(self) -> str:
        return f"RankedAutomata(ranks 1 … {self.max_rank})"

    def to_files(self) -> dict[str, bytes]:
        """Return the content of the two files by name, or of the one that is needed."""
        files = {LARGEST: self.largest.to_npz()}
        if self.prefix_final is None:
            return files
        header = {"format": FORMAT, "version": VERSION, "ranks": sorted(self.fitted)}
        arrays = {
            f"{name}_{rank}": array
            for rank, fitted in self.fitted.items()
            for name, array in fitted.arrays.items()
        }
        named = {"header": np.array(json.dumps(header)), "through": self.prefix_final, **arrays}
        return {**files, FITTED: npz_bytes(named)}

    @staticmethod
    def from_files(files: Mapping[str, bytes]) -> RankedAutomata:
        """Return the automata of what `to_files` returned."""
        with reading(LARGEST, "a seqray automaton"):
            largest = WeightedAutomaton.from_npz(files[LARGEST])
        if FITTED not in files:
            return RankedAutomata(largest)
        with reading(FITTED, "a file of fitted automata"):
            arrays = NpzArrays(files[FITTED])
            header = json.loads(str(arrays["header"]))
            check_header(header, FORMAT, VERSION)
            prefix_final = real_array("through", arrays["through"], (largest.n_states,))
            fitted = {rank: _fitted(rank, largest, arrays) for rank in header["ranks"]}
            return RankedAutomata(largest, prefix_final, fitted)


def _fitted(rank: int, largest: WeightedAutomaton, arrays: NpzArrays) -> WeightedAutomaton:
    is_structured = arrays.get(f"{STRUCTURED_ARRAYS[0]}_{rank}") is not None
    names = STRUCTURED_ARRAYS if is_structured else DENSE_ARRAYS
    parts: dict[str, Any] = {name: arrays[f"{name}_{rank}"] for name in names}
    parts["elsewhere"] = arrays.get(f"elsewhere_{rank}")
    automaton = automaton_of(AutomatonContent(largest.alphabet, parts))
    n = largest.n_states
    if automaton.n_states != rank or not 1 <= rank <= n:
        raise FileError(f"damaged: {automaton.n_states} states at rank {rank} of 1 … {n}")
    return automaton
