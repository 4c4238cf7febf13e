"""The public functions of `seqray.automata`, for whatever an automaton is in.

Those of `algebra`, `minimal`, `balanced` and `sampling` take automata. Here they also take an
extraction, a named automaton, or the path of a run folder or of an automaton's file.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from seqray.automata import algebra, balanced, minimal, sampling
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
            given.arguments[name] = as_automaton(given.arguments[name], name)
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
reverse = _opening(algebra.reverse)
scale = _opening(algebra.scale)
singular_values = _opening(balanced.singular_values)


@wraps(sampling.sample)
def sample(
    stepper: PredictingStepper | AutomatonLike,
    n_words: int,
    *,
    seed: Seed,
    max_length: int = 1000,
) -> Sample:
    holders = (str, os.PathLike, HasBest, HasNames)
    box = as_automaton(stepper, "stepper") if isinstance(stepper, holders) else stepper
    return sampling.sample(box, n_words, seed=seed, max_length=max_length)
