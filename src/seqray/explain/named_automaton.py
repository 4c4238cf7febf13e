"""Automata whose states have names, and changes of coordinates that keep the function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.words import Alphabet, Word, Words
from seqray.util.arrays import FloatArray
from seqray.util.display import Drawable
from seqray.util.frames import data_frame

if TYPE_CHECKING:
    import pandas as pd

PLAIN_NAME_SHARE = 0.99
"""With this share of it after its prefix, a state has the plain name."""


@dataclass(frozen=True, eq=False, repr=False)
class NamedAutomaton(Drawable):
    """An automaton in readable coordinates; made by `name_states`.

    Parameters
    ----------
    automaton
        The same weights, in other coordinates.
    prefixes
        One per state: state ``i`` is, or is nearest to, the state after ``prefixes[i]``.
    shares
        How much of state ``i`` there is after its prefix, shape ``(n_states,)``: 1 where it *is*
        the state after the prefix.
    mass
        The share of all steps that is spent in each state, shape ``(n_states,)``; nan where the
        weights of all words do not sum.
    loss
        The largest change of a weight, relative to the largest weight, over the words checked.
    """

    automaton: WeightedAutomaton
    prefixes: Words
    shares: FloatArray
    mass: FloatArray
    loss: float

    @property
    def names(self) -> tuple[str, ...]:
        """What to call each state: ``start``, ``after ab``, ``mostly after ab``.

        It is ``mostly`` so where its share is below 0.99, and ``partly`` below 0.5.
        """
        return tuple(
            _name(self.automaton.alphabet, prefix, float(share))
            for prefix, share in zip(self.prefixes, self.shares, strict=True)
        )

    def to_frame(self, *, threshold: float = 0.01) -> pd.DataFrame:
        """Return one row per arrow as a pandas data frame: what a drawing shows, as a table.

        The columns are ``state``, ``symbol``, ``next_state`` and ``weight``. Rows of the state
        ``begin`` say where words begin, those whose next state is ``end`` where they end; their
        symbol is ``""``.

        Parameters
        ----------
        threshold
            Arrows of a smaller weight, in size, are left out.

        Examples
        --------
        >>> import seqray
        >>> named = seqray.name_states(seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))
        >>> print(named.to_frame().to_string(index=False))
        state symbol next_state  weight
        begin             start     1.0
        start      a      start     0.5
        start               end     0.5
        """
        return data_frame([row for row in self._arrows() if abs(row["weight"]) >= threshold])

    def _arrows(self) -> Iterator[dict[str, Any]]:
        """Yield what begins, then by state, the largest weights first, what leaves it and ends."""
        names, symbols = self.names, self.automaton.alphabet.symbols
        for name, weight in zip(names, self.automaton.initial.tolist(), strict=True):
            yield {"state": "begin", "symbol": "", "next_state": name, "weight": weight}
        for state, name in enumerate(names):
            leaving = self.automaton.transitions[:, state]
            for place in np.argsort(-np.abs(leaving), axis=None, kind="stable").tolist():
                code, target = divmod(place, len(names))
                yield {
                    "state": name,
                    "symbol": symbols[code],
                    "next_state": names[target],
                    "weight": float(leaving[code, target]),
                }
            weight = float(self.automaton.final[state])
            yield {"state": name, "symbol": "", "next_state": "end", "weight": weight}

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:4])
        more = ", …" if len(self.names) > 4 else ""
        return f"NamedAutomaton({self.automaton.n_states} states: {shown}{more})"


def _name(alphabet: Alphabet, prefix: Word, share: float) -> str:
    name = f"after {alphabet.show(prefix)}" if len(prefix) else "start"
    if share >= PLAIN_NAME_SHARE:
        return name
    return f"{'mostly' if share >= 0.5 else 'partly'} {name}"


def rescaled(a: WeightedAutomaton, sizes: FloatArray) -> WeightedAutomaton:
    """Return the same function with the states divided by positive sizes, shape ``(n_states,)``.

    >>> wa = WeightedAutomaton("a", [0.5], [[[0.5]]], [1])
    >>> rescaled(wa, wa.prefix_final).initial
    array([1.])
    """
    transitions = a.transitions / sizes[:, None] * sizes
    elsewhere = None if a.elsewhere is None else a.elsewhere / sizes
    return WeightedAutomaton(a.alphabet, a.initial * sizes, transitions, a.final / sizes, elsewhere)
