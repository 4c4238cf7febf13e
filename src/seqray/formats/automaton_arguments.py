"""The public functions of `seqray.automata`, for whatever an automaton is in.

Those of `algebra`, `minimal`, `balanced`, `restriction` and `sampling` take automata. Here they
also take an extraction, a named automaton, or the path of a run folder or of an automaton's file.
`sample` draws from the largest copy, if there are copies; the algebra takes the automaton for
reading, because it computes with dense matrices.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from seqray.automata import algebra, balanced, minimal, restriction, sampling
from seqray.automata.purpose import Purpose
from seqray.automata.sampling import Sample
from seqray.automata.stepper import PredictingStepper
from seqray.formats.automaton_file import AutomatonLike, HasBest, HasNames, as_automaton
from seqray.util.random import Seed

T = TypeVar("T")


def _opening(function: Callable[..., T]) -> Callable[..., T]:
    """Return a function that opens its automata with `as_automaton` first."""
    signature = inspect.signature(function)
    automata = [
        name
        for name, each in signature.parameters.items()
        if each.annotation == "WeightedAutomaton"
    ]

    @wraps(function)
    def opened(*arguments: object, **options: object) -> T:
        given = signature.bind(*arguments, **options)
        for name in automata:
            given.arguments[name] = as_automaton(
                given.arguments[name], name, purpose=Purpose.READING
            )
        return function(*given.args, **given.kwargs)

    return opened


add = _opening(algebra.add)
approximate = _opening(balanced.approximate)
change_basis = _opening(algebra.change_basis)
distance = _opening(balanced.distance)
equivalent = _opening(minimal.equivalent)
gramians = _opening(balanced.gramians)
inner_product = _opening(balanced.inner_product)
minimise = _opening(minimal.minimise)
multiply = _opening(algebra.multiply)
restricted = _opening(restriction.restricted)
reverse = _opening(algebra.reverse)
scale = _opening(algebra.scale)
singular_values = _opening(balanced.singular_values)


DEFAULT_MAX_LENGTH = 1000
"""Where words that are drawn are cut, unless the box or the user says otherwise."""


def sample(
    stepper: PredictingStepper | AutomatonLike,
    n_words: int,
    *,
    seed: Seed = 0,
    max_length: int | None = None,
) -> Sample:
    """Draw words symbol by symbol from next-symbol probabilities.

    Negative probabilities count as 0; where nothing is left, the word ends. From a box that leaks,
    words are drawn as if every one of them stayed within the alphabet.

    Parameters
    ----------
    stepper
        What to sample from: a box with states that predicts, or what an automaton is in (an
        extraction, a named automaton, the path of a run folder).
    n_words
        How many words to draw.
    seed
        Random seed, or a random generator.
    max_length
        A word that has not ended by then is cut there. By default 1000, or the box's own limit
        where that is less.

    Returns
    -------
    Sample
        The ``words``, and ``n_cut``, how many of them were cut.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> words, n_cut = sample(wa, 1000, seed=0)
    >>> len(words), float(words.lengths.mean().round(1)), n_cut
    (1000, 3.0, 0)
    """
    if isinstance(stepper, str | os.PathLike | HasBest | HasNames):
        stepper = as_automaton(stepper, "stepper")
    if max_length is None:
        limit = getattr(stepper, "max_length", None)
        max_length = DEFAULT_MAX_LENGTH if limit is None else min(limit, DEFAULT_MAX_LENGTH)
    return sampling.sample(stepper, n_words, seed=seed, max_length=max_length)
