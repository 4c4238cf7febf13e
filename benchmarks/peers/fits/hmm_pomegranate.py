"""Hidden Markov models of pomegranate, fitted by EM; the end of a word is one more symbol.

It takes no sequences of one symbol, so the end is written twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from job import Arrays, Clock, Drawn, Word
from pomegranate.distributions import Categorical
from pomegranate.hmm import DenseHMM

from fits.restarts import best_of_restarts, words_for_em

SMALLEST = 1e-6
"""Emissions start at, and stay above, this: pomegranate's logarithms of 0 become NaN."""


def fit(drawn: Drawn, clock: Clock, states: int) -> tuple[Arrays, dict[str, Any]]:
    torch.set_num_threads(1)
    training, validation = (by_length(words, drawn.n_symbols) for words in words_for_em(drawn))

    def begin(seed: int) -> DenseHMM:
        rng = np.random.default_rng(seed)
        emissions = rng.dirichlet(np.ones(drawn.n_symbols + 1), states)[:, None, :] + SMALLEST
        emissions /= emissions.sum(axis=2, keepdims=True)
        leaving = rng.dirichlet(np.ones(states + 1), states)
        return DenseHMM(
            [Categorical(each.tolist(), pseudocount=SMALLEST) for each in emissions],
            edges=leaving[:, :-1].tolist(),
            starts=rng.dirichlet(np.ones(states)).tolist(),
            ends=leaving[:, -1].tolist(),
            max_iter=1,
        )

    def improve(model: DenseHMM) -> DenseHMM:
        for words in training:
            model.summarize(words)
        model.from_summaries()
        return model

    def score(model: DenseHMM) -> float:
        value = sum(float(model.log_probability(words).sum()) for words in validation)
        return value if np.isfinite(value) else -np.inf

    best, outcome = best_of_restarts(begin, improve, score, clock)
    return as_automaton(best), outcome


def by_length(words: list[Word], end: int) -> list[torch.Tensor]:
    """Return words with their ends, those of one length together."""
    same: dict[int, list[Word]] = {}
    for word in words:
        same.setdefault(len(word), []).append((*word, end, end))
    return [torch.tensor(same[length])[:, :, None] for length in sorted(same)]


def as_automaton(model: DenseHMM) -> Arrays:
    """Return the model as a weighted automaton; the two ends are its final weights."""
    starts, edges, ends = (
        np.nan_to_num(np.exp(each.detach().double().numpy()))
        for each in (model.starts, model.edges, model.ends)
    )
    emissions = np.stack([each.probs.detach().double().numpy()[0] for each in model.distributions])
    emissions = np.nan_to_num(emissions.T)
    return {
        "initial": starts,
        "transitions": emissions[:-1, :, None] * edges,
        "final": emissions[-1] * (edges @ (emissions[-1] * ends)),
    }
