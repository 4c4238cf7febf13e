"""True distributions from automata that are only nearly one.

An extracted automaton may give a word a weight below 0, and next symbols that do. `seqray.clipped`
reads it as a distribution; `repair` fits a probabilistic automaton to that reading, which can be
drawn, sampled and multiplied like any other, and says what was lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.blackbox.native.clipped import clipped
from seqray.extraction.conditional.fill import fill_conditional
from seqray.extraction.conditional.fit import fit
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import Fidelity
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError


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
        Random seed, a number or a generator.

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
            f"{automaton.total:.4g}, expected about 1, and no more for short words"
        )
    box = clipped(automaton)
    words_rng, other_rng = np.random.default_rng(seed).spawn(2)
    known = Reference.draw(box, n_words, seed=words_rng, max_length=100)
    fitted = fit(fill_conditional(box, known), known, n_states, seed=seed)
    others = Reference.draw(box, min(n_words, 1000), seed=other_rng, max_length=100)
    return Repaired(fitted, others.compare(fitted, intervals=True))
