"""Repair: a probabilistic automaton from one that is only nearly a distribution.

An extracted automaton may give words and next symbols weights below 0. `seqray.clipped` reads it as
a distribution. `repair` fits a probabilistic automaton to that reading, which can be drawn, sampled
and multiplied like any other, and measures how faithful it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.purpose import Purpose
from seqray.blackbox.native.clipped import clipped
from seqray.extraction.conditional.fill import fill_conditional
from seqray.extraction.conditional.fit import fit
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import Fidelity
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError
from seqray.util.random import Seed, seed_number

MAX_WORD_LENGTH = 100
"""Words that are drawn are cut after so many symbols."""

MAX_TEST_WORDS = 1000
"""Words that the fidelity is measured on, at most."""


class Repaired(NamedTuple):
    """A repaired automaton, and its fidelity to the original.

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
    seed: Seed = 0,
) -> Repaired:
    """Return a probabilistic automaton that is near to one with negative weights.

    Parameters
    ----------
    automaton
        One that is nearly a distribution.
    n_states
        How many states the repaired one may have; by default as many as the automaton has.
    n_words
        How many words to draw from it for the fit.
    seed
        Random seed, a number or a generator.

    Examples
    --------
    >>> a, b = [[0.6, -0.1], [0.1, 0.2]], [[0, 0.2], [0, 0]]
    >>> wa = WeightedAutomaton("ab", [1, 0], [a, b], [0.3, 0.7])
    >>> bool((wa.transitions < 0).any())
    True
    >>> repaired = repair(wa)
    >>> bool((repaired.automaton.transitions < 0).any()), round(repaired.automaton.total, 6)
    (False, 1.0)
    >>> repaired.fidelity["ndcg5"] > 0.99
    True
    """
    automaton = as_automaton(automaton, purpose=Purpose.READING)
    n_states = automaton.n_states if n_states is None else whole_number("n_states", n_states, 1)
    whole_number("n_words", n_words, 1)
    if not automaton.is_distribution:
        raise ArgumentError(
            f"only what is nearly a distribution can be repaired: the weights of all words sum to "
            f"{automaton.total:.4g}, expected about 1, and no more for short words"
        )
    box, number = clipped(automaton), seed_number(seed)
    training_rng, test_rng = np.random.default_rng(number).spawn(2)
    training = Reference.draw(box, n_words, seed=training_rng, max_length=MAX_WORD_LENGTH)
    fitted = fit(fill_conditional(box, training), training, n_states, seed=number)
    n_test = min(n_words, MAX_TEST_WORDS)
    test = Reference.draw(box, n_test, seed=test_rng, max_length=MAX_WORD_LENGTH)
    return Repaired(fitted, test.compare(fitted, intervals=True))
