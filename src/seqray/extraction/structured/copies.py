"""Copies: structured automata of growing size that stand in for a box."""

from __future__ import annotations

from dataclasses import dataclass

from seqray.automata.automaton import WeightedAutomaton
from seqray.fidelity.table import Fidelity


@dataclass(frozen=True, eq=False, repr=False)
class Copy:
    """An automaton for copying, and how faithful it is on held-out words.

    Parameters
    ----------
    automaton
        The automaton, a structured one.
    fidelity
        Its fidelity on the words that ranks are compared on, too.
    """

    automaton: WeightedAutomaton
    fidelity: Fidelity

    @property
    def n_states(self) -> int:
        """The number of states."""
        return self.automaton.n_states

    @property
    def cost(self) -> int:
        """The most multiplications to read one symbol; that of n dense states is n²."""
        return self.automaton.cost_per_symbol

    @property
    def n_bytes(self) -> int:
        """The size of all its numbers, in bytes."""
        return self.automaton.n_bytes

    def is_within(self, max_cost: int | None, max_states: int | None) -> bool:
        """Whether it is no larger than some limits."""
        limits = (self.cost, max_cost), (self.n_states, max_states)
        return all(most is None or size <= most for size, most in limits)

    def __repr__(self) -> str:
        return f"Copy({self.automaton!r}, score {self.fidelity.score:.6g})"
