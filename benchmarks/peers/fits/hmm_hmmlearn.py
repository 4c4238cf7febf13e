"""Hidden Markov models of hmmlearn, fitted by EM; the end of a word is one more symbol."""

from __future__ import annotations

from typing import Any

import numpy as np
from hmmlearn.hmm import CategoricalHMM
from job import Arrays, Clock, Drawn, Word

from fits.restarts import best_of_restarts, words_for_em


def fit(drawn: Drawn, clock: Clock, states: int) -> tuple[Arrays, dict[str, Any]]:
    training, validation = (stacked(words, drawn) for words in words_for_em(drawn))

    def begin(seed: int) -> CategoricalHMM:
        return CategoricalHMM(
            states, n_features=drawn.n_symbols + 1, n_iter=1, tol=-np.inf, random_state=seed
        )

    def improve(model: CategoricalHMM) -> CategoricalHMM:
        model.fit(*training)
        model.init_params = ""  # from here on
        return model

    def score(model: CategoricalHMM) -> float:
        return float(model.score(*validation))

    best, outcome = best_of_restarts(begin, improve, score, clock)
    emission = best.emissionprob_.T
    return {
        "initial": best.startprob_,
        "transitions": emission[:-1, :, None] * best.transmat_,
        "final": emission[-1],
    }, outcome


def stacked(words: list[Word], drawn: Drawn) -> tuple[np.ndarray, list[int]]:
    """Return words with their ends below each other, and their lengths, as hmmlearn takes them."""
    ended = [(*word, drawn.n_symbols) for word in words]
    return np.concatenate(ended)[:, None].astype(int), [len(word) for word in ended]
