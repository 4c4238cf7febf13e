"""The family of copies: structured automata of growing size, on growing numbers of words.

The first ones show which structure fits the box: contexts of several symbols or the last symbol
alone, with position classes or without. The next ones have more states and learn from more words,
until nothing more is to be gained or a limit is reached.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seqray.extraction.settings import StructuredSettings
from seqray.extraction.structured.contexts import frequent_contexts
from seqray.extraction.structured.fit import FitWords, StructuredFit
from seqray.extraction.structured.layout import FitLayout, remembering_pairs
from seqray.extraction.structured.positions import position_classes
from seqray.util.arrays import FloatArray, IntArray

logger = logging.getLogger(__name__)

NO_POSITIONS: IntArray = np.empty(0, np.int64)
"""One class of all positions."""


@dataclass(frozen=True, eq=False)
class Structure:
    """What decides on the groups of a copy.

    Parameters
    ----------
    max_context
        The longest context, in symbols.
    position_begins
        Where position classes after the first begin.
    """

    max_context: int
    position_begins: IntArray


def layout_for(
    structure: Structure, words: FitWords, max_states: int, settings: StructuredSettings
) -> FitLayout:
    """Return groups, states and matrices for some words.

    A context has the more states the more often it is visited, up to ``max_states``.
    """
    followed = words.followed
    n_visits = float(followed.visits.sum())
    min_visits = n_visits / settings.n_contexts
    contexts = frequent_contexts(followed.tree, followed.visits, min_visits, structure.max_context)
    current = contexts.of_nodes(followed.tree)
    flow = followed.flow(current, len(contexts))
    n_prefixes = np.bincount(current, followed.visits > 0, len(contexts))
    sizes = np.minimum(n_prefixes, flow.sum(axis=1) / settings.visits_per_state)
    sizes = np.clip(sizes, 1, max_states).astype(np.int64)
    n_outcomes = followed.rows.shape[1]
    n_symbols = contexts.next_context.shape[1]
    pairs = remembering_pairs(contexts, sizes, flow[:, :n_symbols], settings.min_flow)
    return FitLayout(contexts, structure.position_begins, sizes, pairs, n_outcomes)


class Candidate(NamedTuple):
    """A structure, and an automaton of that structure."""

    structure: Structure
    fitted: StructuredFit


def candidates(
    words: FitWords,
    fit: Callable[[Sequence[Structure]], list[Candidate]],
    settings: StructuredSettings,
) -> list[Candidate]:
    """Fit automata of several structures; return the nearest to the box first.

    The first one shows whether positions matter. If so, all others know the position.
    """
    longest, *shorter = settings.max_contexts
    first = fit([Structure(longest, NO_POSITIONS)])
    if first[0].fitted.divergence < settings.exact_bits:
        return first
    begins = _informative_positions(words, first[0].fitted, settings)
    others = [longest, *shorter] if len(begins) else shorter
    return nearest_first([*first, *fit([Structure(each, begins) for each in others])])


def nearest_first(tried: Iterable[Candidate]) -> list[Candidate]:
    """Sort candidates by their divergence on validation words."""
    return sorted(tried, key=lambda each: each.fitted.divergence)


def promising_structures(
    ranked: Sequence[Candidate], settings: StructuredSettings
) -> list[Structure]:
    """Return the structures to fit to more words, of candidates with the nearest first.

    That is the nearest one, or one of longer contexts that is about as near, and those of even
    longer contexts that are not far behind: the more words, the more is to be gained by longer
    contexts.
    """
    smallest = ranked[0].fitted.divergence
    as_near = [each for each in ranked if each.fitted.divergence <= settings.max_tie * smallest]
    nearest = max(as_near, key=lambda each: each.structure.max_context)
    longer = [
        each.structure
        for each in ranked
        if each.structure.max_context > nearest.structure.max_context
        and each.fitted.divergence <= settings.max_behind * smallest
    ]
    return [nearest.structure, *longer]


def _informative_positions(
    words: FitWords, fitted: StructuredFit, settings: StructuredSettings
) -> IntArray:
    """Return position classes where a fit without them is wrong at some positions.

    There the mean of what it predicts differs from the box's.
    """
    followed, depth = words.followed, words.followed.tree.depth
    predicted = words.predicted_at(fitted.layout, fitted.logarithms)
    weights = followed.visits[:, None]
    box, automaton = (_by_position(depth, rows * weights) for rows in (followed.rows, predicted))
    n_visits = box.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(box > 0, box * np.log2(box / np.maximum(automaton, 1e-300)), 0)
    if bits.sum() < settings.min_position_bits * n_visits.sum():
        return NO_POSITIONS
    contexts = fitted.layout.contexts.of_nodes(followed.tree)
    return position_classes(
        depth, contexts, followed.rows, followed.visits, settings.min_position_bits / 2
    )


def _by_position(depth: IntArray, rows: FloatArray) -> FloatArray:
    """Return the sums of rows by position."""
    sums = np.zeros((int(depth.max()) + 1, rows.shape[1]))
    np.add.at(sums, depth, rows)
    return sums
