"""Spectral learning of scikit-splearn, from the words: Hankel blocks of counts, their SVD."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import numpy as np
from job import Arrays, Clock, Drawn
from splearn.datasets.data_sample import SplearnArray
from splearn.spectral import Spectral


def fit(
    drawn: Drawn, clock: Clock, version: str, ranks: list[int], length: int
) -> tuple[Arrays, dict[str, Any]]:
    """Return the automata of several ranks; validation words choose later."""
    words = drawn.training
    table = np.full((len(words), max(1, *map(len, words))), -1.0)
    for row, word in zip(table, words, strict=True):
        row[: len(word)] = word
    learner = Spectral(
        rank=max(ranks), version=version, lrows=length, lcolumns=length, partial=True, sparse=True
    )
    automata: Arrays = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        learner.fit(SplearnArray(table, nbL=drawn.n_symbols, nbEx=len(words)))
        for rank in ranks:
            automaton = learner.hankel.to_automaton(rank, True)
            automata |= {
                f"initial_{rank}": np.asarray(automaton.initial).ravel(),
                f"transitions_{rank}": np.stack([np.asarray(m) for m in automaton.transitions]),
                f"final_{rank}": np.asarray(automaton.final).ravel(),
            }
    return automata, {"limited": clock.is_over}
