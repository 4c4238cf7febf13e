"""True distributions from automata that are only nearly one.

An extracted automaton may give a word a weight below 0, and next symbols that do. Two remedies:
`clipped` reads it as a distribution, symbol by symbol, and is exact where nothing is wrong;
`repair` fits an automaton whose weights are chances to that reading, which can be drawn, sampled
and multiplied like any other, and says what was lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seqray.arrays import FloatArray, IntArray, whole_number
from seqray.automaton import AutomatonStates, WeightedAutomaton
from seqray.blackbox.reading import ReadsPredictions
from seqray.blackbox.wa import AutomatonLike, as_automaton
from seqray.conditional import fill_conditional
from seqray.errors import ArgumentError
from seqray.fidelity import Fidelity, Reference
from seqray.fitting import fit
from seqray.stepper import as_probabilities
from seqray.words import Alphabet


class ClippedStates(NamedTuple):
    """A batch of states: the automaton's own, and logarithms of chances."""

    inner: AutomatonStates
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

    def _log_next(self, inner: AutomatonStates) -> FloatArray:
        chances = as_probabilities(self.automaton.state_next_symbol(inner))
        with np.errstate(divide="ignore"):
            logarithms: FloatArray = np.log(chances)
        return logarithms


def clipped(automaton: AutomatonLike) -> ClippedAutomaton:
    """Read an automaton as a distribution.

    After every prefix, next symbols whose weight is below 0 count as impossible, and the others
    are scaled to sum to one, less what goes elsewhere. A word's weight is the product of what
    follows its prefixes, so none is below 0 and all together sum to one, if words end at all and
    nothing goes elsewhere.

    Parameters
    ----------
    automaton
        One that is nearly a distribution.

    Returns
    -------
    box
        A black box that predicts. It is no weighted automaton any more.

    Examples
    --------
    >>> odd = WeightedAutomaton("ab", [1], [[[0.6]], [[-0.1]]], [0.5])
    >>> odd.weights(["", "b"])
    array([ 0.5 , -0.05])
    >>> clipped(odd).next_symbol([""]).round(4)
    array([[0.5455, 0.    , 0.4545]])
    """
    return ClippedAutomaton(as_automaton(automaton))


class Repaired(NamedTuple):
    """A repaired automaton, and how near it is to what was repaired.

    ``fidelity`` compares it with the `clipped` reading of the original, on words drawn from that
    and not used for the fit.
    """

    automaton: WeightedAutomaton
    fidelity: Fidelity


def repair(
    automaton: AutomatonLike,
    *,
    n_states: int | None = None,
    n_words: int = 10_000,
    seed: int = 0,
) -> Repaired:
    """Return an automaton without negative weights that is near to one that has some.

    Parameters
    ----------
    automaton
        One that is nearly a distribution.
    n_states
        How many states the repaired one may have; by default as many as the automaton has.
    n_words
        How many words to draw from it for the fit.
    seed
        Of all chance in it.

    Examples
    --------
    >>> a, b = [[0.6, -0.1], [0.1, 0.2]], [[0, 0.2], [0, 0]]
    >>> wa = WeightedAutomaton("ab", [1, 0], [a, b], [0.3, 0.7])
    >>> bool((wa.transitions < 0).any())
    True
    >>> found = repair(wa)
    >>> bool((found.automaton.transitions < 0).any()), round(found.automaton.total, 6)
    (False, 1.0)
    >>> found.fidelity["ndcg5"] > 0.99
    True
    """
    automaton = as_automaton(automaton)
    n_states = automaton.n_states if n_states is None else whole_number("n_states", n_states, 1)
    whole_number("n_words", n_words, 1)
    if not automaton.is_distribution:
        raise ArgumentError(
            f"only what is nearly a distribution can be repaired: the weights of all words sum to "
            f"{automaton.total:.4g}, expected about 1"
        )
    box = clipped(automaton)
    words_rng, other_rng = np.random.default_rng(seed).spawn(2)
    known = Reference.draw(box, n_words, rng=words_rng, max_length=100)
    fitted = fit(fill_conditional(box, known), known, n_states, seed=seed)
    others = Reference.draw(box, min(n_words, 1000), rng=other_rng, max_length=100)
    return Repaired(fitted, others.compare(fitted, intervals=True))
