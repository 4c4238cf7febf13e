"""Automata of filled blocks: of several weightings, the one that is nearest to the box."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata
from seqray.blackbox.queries.noise import Noise
from seqray.blackbox.queries.noise_probe import N_PROBED
from seqray.extraction.hankel.blocks import HankelBlocks
from seqray.extraction.hankel.decomposition import decompose
from seqray.extraction.job import Job
from seqray.extraction.request import Method
from seqray.fidelity.compare import compare_ranks
from seqray.fidelity.objective import Objective
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import TOLERANCE, FidelityTable

WEIGHTINGS = ("balanced", "soft", "softer")
"""Weights for rows and columns; those that give the highest fidelity are taken."""


class HankelCandidate(NamedTuple):
    """Automata of every rank, how near each is to the box, and how the blocks were weighted."""

    automata: RankedAutomata
    table: FidelityTable
    weighting: str

    @property
    def score(self) -> float:
        """The largest fidelity score."""
        return self.table.best.score

    @property
    def chosen(self) -> WeightedAutomaton:
        """The automaton of the best rank."""
        return self.automata.automaton(self.table.best_rank())


def nearest_candidate(
    job: Job, blocks: HankelBlocks, reference: Reference, noise: Noise
) -> HankelCandidate:
    """Factor blocks with the weights for rows and columns that give the highest fidelity.

    Parameters
    ----------
    job
        What to extract.
    blocks
        Filled blocks.
    reference
        What the box says of words to compare on.
    noise
        Of one answer of the box.
    """
    best: HankelCandidate | None = None
    best_score = -np.inf
    for weighting in _weightings(job):
        with job.timing("svd"):
            svd = decompose(
                blocks,
                max_rank=job.request.max_rank,
                weighting=weighting,
                noise=noise_of_mean(noise, job.repeat),
                seed=job.request.seed,
            )
        with job.timing("choose"):
            table = compare_ranks(reference, svd.largest, range(1, svd.max_rank + 1))
        score = _score(job, table)
        if best is None or score > best_score + TOLERANCE:
            best, best_score = HankelCandidate(svd, table, weighting), score
        if best_score > 1 - TOLERANCE:
            break
    assert best is not None
    return best


def _weightings(job: Job) -> tuple[str, ...]:
    """Return the weightings to try; squared errors count what weighs much, as raw blocks do."""
    if job.request.method is Method.PAPER:
        return ("none",)
    return ("none", *WEIGHTINGS) if job.request.objective is Objective.WEIGHTS else WEIGHTINGS


def _score(job: Job, table: FidelityTable) -> float:
    """Return what weightings are compared by: weights, even where ranks go by next symbols."""
    if job.request.objective is Objective.WEIGHTS:
        return table.best.score
    return max(each.weights_score for each in table.fidelities)


def noise_of_mean(noise: Noise, repeat: int) -> Noise:
    """Return the noise of a mean; measured on few words it may be larger: two standard errors."""
    factor = (1 + 2 / math.sqrt(2 * N_PROBED)) / math.sqrt(repeat)
    return Noise(noise.level * factor, noise.relative)
