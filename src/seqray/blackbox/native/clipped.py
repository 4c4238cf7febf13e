"""An automaton that is nearly a distribution, clipped to one, symbol by symbol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.probabilities import as_probabilities
from seqray.automata.reading import ReadsPredictions
from seqray.automata.tree import States
from seqray.automata.words import Alphabet
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, IntArray


class ClippedStates(NamedTuple):
    """A batch of states: those of the automaton, and logarithms of probabilities."""

    inner: States
    log_weight: FloatArray
    log_next: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ClippedAutomaton(ReadsPredictions):
    """An automaton read as a distribution; make one with `clipped`."""

    automaton: WeightedAutomaton

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.automaton.alphabet

    def __repr__(self) -> str:
        return f"ClippedAutomaton({self.automaton.n_states} states, {len(self.alphabet)} symbols)"

    def start(self) -> ClippedStates:
        """Return a batch of one: the state before the first symbol."""
        inner = self.automaton.start()
        return ClippedStates(inner, np.zeros(1), self._log_next(inner))

    def step(self, states: ClippedStates, parents: IntArray, symbols: IntArray) -> ClippedStates:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        inner = self.automaton.step(states.inner, parents, symbols)
        log_weight = states.log_weight[parents] + states.log_next[parents, symbols]
        return ClippedStates(inner, log_weight, self._log_next(inner))

    def _log_next(self, inner: States) -> FloatArray:
        probabilities = as_probabilities(self.automaton.state_next_symbol(inner))
        with np.errstate(divide="ignore"):
            logarithms: FloatArray = np.log(probabilities)
        return logarithms


def clipped(automaton: AutomatonLike) -> ClippedAutomaton:
    """Clip an automaton to a distribution.

    After every prefix, a next symbol with a weight below 0 becomes impossible, and the others are
    scaled to sum to one (or to less, if the automaton leaks). A word's weight is the product of its
    next-symbol probabilities. So no weight is below 0, and all weights sum to one if words end with
    probability 1 and nothing leaks.

    Parameters
    ----------
    automaton
        An automaton that is nearly a distribution.

    Returns
    -------
    box
        A black box that predicts. It is not a weighted automaton.

    Examples
    --------
    >>> odd = WeightedAutomaton("ab", [1], [[[0.6]], [[-0.1]]], [0.5])
    >>> odd.weights(["", "b"])
    array([ 0.5 , -0.05])
    >>> clipped(odd).next_symbol([""]).round(4)
    array([[0.5455, 0.    , 0.4545]])
    """
    return ClippedAutomaton(as_automaton(automaton))
