"""Probabilistic automata fitted to a box that predicts: no weight is negative.

A truncated SVD is near the box context by context. But it reads its own states word by word, and
small errors add up: some words come out with a negative weight. A probabilistic automaton cannot go
wrong like that. Its first guess puts contexts that go on alike into one state. Then its weights
move against the gradient of the cross-entropy between its next-symbol distributions and the box's,
along whole words, batch by batch (Adam).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import MIN_ENDING
from seqray.automata.words import Alphabet
from seqray.extraction.adam import Adam
from seqray.extraction.conditional.blocks import ConditionalBlocks
from seqray.extraction.conditional.first_guess import first_guess
from seqray.extraction.conditional.gradient import LogParameters, fit_batches, gradient, softmax
from seqray.extraction.settings import CONDITIONAL, ConditionalSettings
from seqray.fidelity.reference import Reference
from seqray.util.progress import Progress


@dataclass(frozen=True, eq=False)
class RankFitter:
    """Fits automata of any rank; for `seqray.parallel.cores.finished_jobs`.

    The fields are arguments of `fit`. A job is a rank, and the number of words to learn from.
    """

    blocks: ConditionalBlocks
    reference: Reference
    extra_words: Reference | None
    seed: int
    settings: ConditionalSettings

    def __call__(self, job: tuple[int, int | None], progress: Progress) -> WeightedAutomaton:
        """Fit an automaton."""
        rank, n_words = job
        return fit(
            self.blocks,
            self.reference,
            rank,
            n_words=n_words,
            extra_words=self.extra_words,
            seed=self.seed,
            progress=progress,
            settings=self.settings,
        )


def fit(
    blocks: ConditionalBlocks,
    reference: Reference,
    n_states: int,
    *,
    n_words: int | None = None,
    extra_words: Reference | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    settings: ConditionalSettings = CONDITIONAL,
) -> WeightedAutomaton:
    """Fit a probabilistic automaton to the predictions of a box.

    Parameters
    ----------
    blocks
        How contexts go on, for the first guess.
    reference
        What the box predicts for the words to learn from.
    n_states
        How many states at most.
    n_words
        How many of the words to learn from, the first ones; None: all.
    extra_words
        What the box predicts for words that matter, however rare they are: a share of all steps
        is for them.
    seed
        Random seed of the first guess, and of the order of batches.
    progress
        Called after every step with the number of steps done, and of all.
    settings
        How many steps there are, how large, and how many are for the extra words.

    Examples
    --------
    >>> import seqray
    >>> from seqray.extraction.conditional.fill import fill_conditional
    >>> box = seqray.WeightedAutomaton(
    ...     "ab", [1, 0], [[[0, 0.9], [0, 0]], [[0, 0], [0.8, 0]]], [0.1, 0.2]
    ... )
    >>> reference = Reference.query(box, box.sample(500, seed=0).words)
    >>> fitted = fit(fill_conditional(box, reference), reference, 2)
    >>> fitted.next_symbol(["", "a"]).round(1)
    array([[0.9, 0. , 0.1],
           [0. , 0.8, 0.2]])
    """
    rng = np.random.default_rng(seed)
    parameters = first_guess(blocks, n_states, rng)
    max_stay = blocks.max_stay if blocks.leaks else None
    n_words = len(reference.weights) if n_words is None else n_words
    batch_size = settings.batch_size
    batches = fit_batches(reference, n_words, batch_size, rng, max_stay=max_stay)
    if extra_words is not None:
        n_extra = len(extra_words.weights)
        more = fit_batches(extra_words, n_extra, batch_size, rng, max_stay=max_stay)
        n_repeats = round(settings.counterexample_share * len(batches) / len(more))
        batches += more * max(1, n_repeats)
    n_epochs = max(settings.n_epochs, -(-settings.min_steps // len(batches)))
    adam = Adam(len(batches) * n_epochs, settings.learning_rate)
    for _ in range(n_epochs):
        for at in rng.permutation(len(batches)):
            adam.step(parameters, gradient(parameters, batches[at])[1])
            if progress is not None:
                progress(adam.n_done, adam.n_steps)
    return to_automaton(blocks.rows.alphabet, parameters, max_stay=max_stay)


def to_automaton(
    alphabet: Alphabet, parameters: LogParameters, *, max_stay: float | None = None
) -> WeightedAutomaton:
    """Return the automaton of some parameters; every state ends with some probability.

    ``max_stay`` is that of the conditional blocks where the box leaks.
    """
    begin, goes_on = (softmax(each.astype(np.float64)) for each in parameters)
    n, end = len(begin), len(begin) * len(alphabet)
    goes_on[:, end] = np.maximum(goes_on[:, end], MIN_ENDING)
    goes_on /= goes_on.sum(axis=1, keepdims=True)
    transitions = goes_on[:, :end].reshape(n, len(alphabet), n).transpose(1, 0, 2)
    if max_stay is None:
        return WeightedAutomaton(alphabet, begin, transitions, goes_on[:, end])
    elsewhere = 1 - max_stay * goes_on[:, : end + 1].sum(axis=1)
    return WeightedAutomaton(
        alphabet, begin, max_stay * transitions, max_stay * goes_on[:, end], elsewhere
    )
