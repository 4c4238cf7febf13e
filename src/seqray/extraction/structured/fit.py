"""Structured automata fitted to a box that predicts, along drawn words, batch by batch (Adam)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from seqray.automata.probabilities import with_elsewhere
from seqray.automata.tree_batches import Corpus
from seqray.extraction.adam import Adam
from seqray.extraction.conditional.gradient import reachable
from seqray.extraction.settings import STRUCTURED, StructuredSettings
from seqray.extraction.structured.batches import GroupBatch, GroupedCorpus
from seqray.extraction.structured.gradient import FitNumbers, predictions, tables
from seqray.extraction.structured.guess import Followed, first_guess
from seqray.extraction.structured.layout import FitLayout
from seqray.extraction.structured.members import FitMember, begin, members_of_a_fit, shapes
from seqray.fidelity.reference import Reference
from seqray.parallel.team import HelperDied, Team
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.progress import Progress

MIN_SHARED_NUMBERS = 2**22
"""So many numbers matrices have where two members share a fit: with fewer it gains little."""


@dataclass(frozen=True, eq=False)
class FitWords:
    """Words, and what a box predicts at each of their prefixes, prepared for fits.

    Parameters
    ----------
    reference
        What the box predicts.
    leaks
        Whether going elsewhere is an outcome, too.
    """

    reference: Reference
    leaks: bool

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process, which computes the rest itself."""
        return {"reference": self.reference, "leaks": self.leaks}

    @cached_property
    def corpus(self) -> Corpus:
        """The words."""
        return Corpus(self.reference.words)

    @cached_property
    def followed(self) -> Followed:
        """What comes next at each node of their tree; nothing after what is impossible."""
        reference = self.reference
        assert reference.next_symbol is not None
        rows = reference.next_symbol.T
        rows = with_elsewhere(rows) if self.leaks else rows
        visits = reference.tree.counts().sum(axis=1) * reachable(reference)
        return Followed(reference.tree, rows.astype(np.float32), visits)

    @cached_property
    def entropy(self) -> float:
        """The mean entropy of what comes next, in bits per symbol."""
        rows, visits = self.followed.rows, self.followed.visits
        each = np.einsum("ij,ij->i", rows, np.log2(np.maximum(rows, np.float32(1e-30))))
        return -float(visits @ each) / float(visits.sum())

    def divergence(self, layout: FitLayout, logarithms: FitNumbers) -> float:
        """Return the mean divergence of what an automaton predicts, in bits per symbol."""
        predicted, batch = self._predicted(layout, logarithms)
        rows, visits = self.followed.rows[batch.nodes], self.followed.visits[batch.nodes]
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(rows > 0, rows * np.log2(rows / np.maximum(predicted, 1e-30)), 0)
        return float(visits @ each.sum(axis=1)) / float(visits.sum())

    def _predicted(
        self, layout: FitLayout, logarithms: FitNumbers
    ) -> tuple[FloatArray, GroupBatch]:
        grouped = GroupedCorpus(layout, self.corpus)
        batch = grouped.batch(np.arange(len(self.corpus)))
        known = tables(logarithms, grouped.table.columns(layout))
        return predictions(layout, known, batch), batch

    def predicted_at(self, layout: FitLayout, logarithms: FitNumbers) -> FloatArray:
        """Return what an automaton predicts at each node, ``(n_nodes, n_outcomes)``."""
        predicted, batch = self._predicted(layout, logarithms)
        rows = np.empty_like(predicted)
        rows[batch.nodes] = predicted
        return rows


@dataclass(frozen=True, eq=False)
class StructuredFit:
    """What a fit found: the logarithms of probabilities, and how near to the box they are.

    Parameters
    ----------
    layout
        Groups, states and matrices.
    logarithms
        Logarithms of probabilities.
    divergence
        From the box, on validation words, in bits per symbol.
    n_words
        How many words it was fitted to.
    """

    layout: FitLayout
    logarithms: FitNumbers
    divergence: float
    n_words: int


@dataclass(frozen=True, eq=False)
class StructuredFitter:
    """Fits structured automata to the same words; for `seqray.parallel.cores.finished_jobs`.

    The fields are arguments of `fit_structured`. A job is a layout.
    """

    words: FitWords
    validation: FitWords
    seed: int
    n_processes: int
    settings: StructuredSettings

    def __call__(self, layout: FitLayout, progress: Progress) -> StructuredFit:
        """Fit an automaton."""
        return fit_structured(
            layout,
            self.words,
            self.validation,
            seed=self.seed,
            progress=progress,
            n_processes=self.n_processes,
            settings=self.settings,
        )


def fit_structured(
    layout: FitLayout,
    words: FitWords,
    validation: FitWords,
    *,
    seed: int,
    progress: Progress | None = None,
    n_processes: int = 1,
    settings: StructuredSettings = STRUCTURED,
) -> StructuredFit:
    """Fit a structured automaton to what a box predicts.

    Parameters
    ----------
    layout
        Groups, states and matrices.
    words
        The words to fit to.
    validation
        The words on which the best epoch is chosen.
    seed
        Random seed of the first guess, and of the order of batches.
    progress
        Called after every step with the number of steps done, and of all; may raise to end it.
    n_processes
        How many processes share the work of a large fit. What it finds does not depend on it.
    settings
        How many steps there are, and how large.
    """
    rng = np.random.default_rng(seed)
    begun = first_guess(layout, words.followed, rng)
    members = _members(layout, words, rng, settings)
    divergence = validation.divergence(layout, begun)
    best = StructuredFit(layout, begun, divergence, len(words.corpus))
    try:
        with Team(members, shapes(members), n_processes) as team:
            moved = begin(team, begun)
            for _ in _checks(team, rng, settings, progress):
                divergence = validation.divergence(layout, moved)
                if divergence < best.divergence:
                    best = replace(best, logarithms=_copied(moved), divergence=divergence)
                elif divergence > settings.max_rise * best.divergence:
                    break
    except HelperDied:
        return fit_structured(
            layout, words, validation, seed=seed, progress=progress, settings=settings
        )
    return best


def _checks(
    team: Team[FitMember],
    rng: np.random.Generator,
    settings: StructuredSettings,
    progress: Progress | None,
) -> Iterator[None]:
    """Let a team take all steps, batch by batch; yield where the divergence is to be measured."""
    adam, n_batches = team.members[0].adam, len(team.members[0].parts)
    n_epochs = adam.n_steps // n_batches
    for epoch in range(n_epochs):
        for at in rng.permutation(n_batches).tolist():
            team.run("differentiate", at)
            team.run("move", at)
            if progress is not None:
                progress(adam.n_done, adam.n_steps)
        if (epoch + 1) % max(1, n_epochs // settings.n_checks) == 0 or epoch + 1 == n_epochs:
            yield


def _members(
    layout: FitLayout, words: FitWords, rng: np.random.Generator, settings: StructuredSettings
) -> list[FitMember]:
    """Return the members of a fit: two of a large one, each with half of the words of a batch."""
    batches = _batches(words, rng, settings)
    n_steps = len(batches) * _n_epochs(words, len(batches), settings)
    n_members = 2 if layout.n_moves >= MIN_SHARED_NUMBERS else 1
    adams = [Adam(n_steps, settings.learning_rate) for _ in range(n_members)]
    rows = words.followed.rows * (words.followed.visits > 0)[:, None]
    return members_of_a_fit(GroupedCorpus(layout, words.corpus), rows, batches, adams)


def _n_epochs(words: FitWords, n_batches: int, settings: StructuredSettings) -> int:
    """Return how often a fit reads all words."""
    affordable = settings.max_reads // words.reference.n_prefixes
    n_epochs = min(settings.n_epochs, max(settings.min_epochs, affordable))
    return max(n_epochs, -(-settings.min_steps // n_batches))


def _batches(
    words: FitWords, rng: np.random.Generator, settings: StructuredSettings
) -> list[IntArray]:
    """Cut the words into batches of about equally many prefixes."""
    n_words, n_prefixes = len(words.corpus), words.reference.n_prefixes
    n_batches = min(n_prefixes / settings.batch_prefixes, settings.max_batches)
    size = max(1, int(n_words / max(n_batches, settings.min_batches)))
    order = rng.permutation(n_words)
    return [order[at : at + size] for at in range(0, n_words, size)]


def _copied(numbers: FitNumbers) -> FitNumbers:
    return FitNumbers(*(each.copy() for each in numbers))
