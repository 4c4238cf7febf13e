"""EM from several starts; the best one goes on until words that it was not fitted to say stop."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

from job import Clock, Drawn, Word

Model = TypeVar("Model")

N_STARTS, FIRST_ITERATIONS, ITERATIONS, PATIENCE = 2, 5, 200, 3
"""Starts; iterations of each; the most iterations of the best; checks without a better score."""

MAX_WORDS = 6000
"""More words would leave too few iterations within the limit of time."""

CHECK_EVERY = 5
"""Iterations between two looks at the validation words."""


def words_for_em(drawn: Drawn) -> tuple[list[Word], list[Word]]:
    """Return words to fit to and to validate on."""
    return drawn.training[:MAX_WORDS], drawn.validation[: MAX_WORDS // 10]


def best_of_restarts(
    begin: Callable[[int], Model],
    improve: Callable[[Model], Model],
    score: Callable[[Model], float],
    clock: Clock,
) -> tuple[Model, dict[str, Any]]:
    """Return the best model that EM came to, by its score on validation words."""
    tried = []
    for seed in range(N_STARTS):
        model = improve(begin(seed))
        for _ in range(FIRST_ITERATIONS - 1):
            if not clock.is_over:
                model = improve(model)
        tried.append((score(model), seed, model))
        if clock.is_over:
            break
    best_score, _, model = max(tried)
    best, worse, n = copy.deepcopy(model), 0, FIRST_ITERATIONS
    while n < ITERATIONS and worse < PATIENCE and not clock.is_over:
        for _ in range(CHECK_EVERY):
            if not clock.is_over:
                model, n = improve(model), n + 1
        if (now := score(model)) > best_score:
            best_score, best, worse = now, copy.deepcopy(model), 0
        else:
            worse += 1
    return best, {"limited": clock.is_over}
