"""`seqray.diff`: what differs between two boxes, checkpoints, automata or runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.purpose import Purpose
from seqray.automata.words import Word, Words
from seqray.blackbox.protocol import Classifier
from seqray.blackbox.queries.answer_cache import AnswerStore, opened_store
from seqray.blackbox.queries.oracle import Oracle, open_oracle
from seqray.explain.difference.different_words import different_words
from seqray.explain.difference.distance import (
    METRICS,
    DistanceKind,
    measure_distance,
)
from seqray.explain.difference.exact import exact_distance
from seqray.explain.difference.record import Difference, SideSummary
from seqray.explain.difference.sides import (
    MAX_READ_STATES,
    ComparedSide,
    SideLike,
    check_comparable,
    open_side,
)
from seqray.explain.difference.states import StateComparison, compare_states
from seqray.extraction.extract import extract
from seqray.learning.determinise import determinise
from seqray.parallel.executor import Executor
from seqray.util.progress import Progress, shown_progress
from seqray.util.random import Seed, seed_number

MAX_EXTRACTED_STATES = 12
"""The most states of an automaton that is extracted to be read beside another one."""


@dataclass(frozen=True, eq=False)
class DiffRequest:
    """How two sides are compared.

    Parameters
    ----------
    words
        What to compare them on, and nothing else; None: words are drawn from each side.
    max_length
        The longest word to draw.
    with_states
        Whether states and arrows are compared; automata of boxes are extracted for that.
    seed
        The random seed.
    stores
        The file of cached answers of A and of B; None: there is none.
    executor
        Where boxes are queried; None: in this process.
    progress
        What is called with how much is done.
    """

    words: Words | None = None
    max_length: int | None = None
    with_states: bool = True
    seed: int = 0
    stores: tuple[AnswerStore | None, AnswerStore | None] = (None, None)
    executor: Executor | None = None
    progress: Progress | None = None


def diff(
    a: SideLike,
    b: SideLike,
    *,
    words: Words | Iterable[Word] | None = None,
    max_length: int | None = None,
    with_states: bool = True,
    store: AnswerStore | str | os.PathLike[str] | None = None,
    seed: Seed = 0,
    progress: Progress | bool | None = None,
) -> Difference:
    """Say what differs between two boxes, checkpoints, automata or runs.

    Parameters
    ----------
    a, b
        What to compare, over one alphabet: a specification as `seqray.open_black_box` takes it, the
        path of a run folder or of an automaton's file; or a box, an automaton or an extraction. A
        run is compared as its automaton.
    words
        What to compare them on: but for states, nothing else is queried. By default 2,000 words are
        drawn from each side that predicts, and random ones for any other; further words are
        searched on which both differ most.
    max_length
        The longest word to draw: by default 100 symbols, 12 at random, or the limit of a box.
    with_states
        Whether to compare states and arrows, too. For that an automaton of up to 12 states is
        extracted from each box, which takes most of the queries. An automaton is taken as it is.
    store
        A file that caches answers: a cached answer is not queried again.
    seed
        Random seed, a number or a generator.
    progress
        True: show a bar. Or what is called with how much is done, as in `seqray.extract`.

    Returns
    -------
    Difference
        The distance in both directions with 95 % confidence intervals, words on which both differ
        most, and the states and arrows that differ. `seqray.to_html` makes a page of it.

    Examples
    --------
    >>> import seqray
    >>> one = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> other = seqray.WeightedAutomaton("ab", [1], [[[0.4]], [[0.35]]], [0.25])
    >>> difference = seqray.diff(one, other)
    >>> round(difference.figure.value, 4), [(c.symbol, c.a, c.b) for c in difference.changes()]
    (0.0411, [('a', 0.5, 0.4), ('b', 0.25, 0.35)])
    >>> seqray.diff(one, one).is_same
    True
    """
    sides = open_side(a, "A"), open_side(b, "B")
    check_comparable(*sides)
    given = None if words is None else sides[0].box.alphabet.words(words)
    with opened_store(store) as cache, shown_progress(progress) as shown:
        first, second = (cache if side.is_cached else None for side in sides)
        request = DiffRequest(
            words=given,
            max_length=max_length,
            with_states=with_states,
            seed=seed_number(seed),
            stores=(first, second),
            progress=shown,
        )
        return compare_sides(*sides, request)


def compare_sides(a: ComparedSide, b: ComparedSide, request: DiffRequest) -> Difference:
    """Compare two sides over one alphabet as a request says."""
    sides = a, b
    oracles = [
        open_oracle(side.box, cache=store, executor=request.executor)
        for side, store in zip(sides, request.stores, strict=True)
    ]
    readers = oracles[0].reader, oracles[1].reader
    distance = measure_distance(
        *readers, request.words, max_length=request.max_length, seed=request.seed
    )
    if a.automaton is not None and b.automaton is not None:
        distance = replace(distance, exact=exact_distance(a.automaton, b.automaton))
    different = different_words(
        *(distance, *readers, request.words), max_length=request.max_length, seed=request.seed
    )
    states, n_extracted = None, (0, 0)
    if request.with_states:
        states, n_extracted = _states(sides, distance.kind, request)
    n_states: tuple[int | None, int | None] = None, None
    if states is not None:
        n_states = states.a.automaton.n_states, states.b.automaton.n_states
    first, second = (
        SideSummary(
            *(side.name, _n_queries(oracle) + extracted, n),
            is_extracted=n is not None and side.reading is None,
        )
        for side, oracle, extracted, n in zip(sides, oracles, n_extracted, n_states, strict=True)
    )
    alphabet = a.box.alphabet
    return Difference(first, second, alphabet, distance, different, states, request.seed)


def _n_queries(oracle: Oracle) -> int:
    return 0 if oracle.is_free else oracle.meter.n_queries


def _states(
    sides: tuple[ComparedSide, ComparedSide], kind: DistanceKind, request: DiffRequest
) -> tuple[StateComparison, tuple[int, int]]:
    """Compare states of both sides; also return how many queries the extractions took."""
    read = [
        _reading(side, kind, store, request)
        for side, store in zip(sides, request.stores, strict=True)
    ]
    compared = compare_states(read[0].automaton, read[1].automaton)
    compared = replace(compared, loss_a=read[0].loss, loss_b=read[1].loss)
    return compared, (read[0].n_queries, read[1].n_queries)


@dataclass(frozen=True, eq=False)
class _ReadingAutomaton:
    """The automaton of a side for reading, what it loses, and the queries that it took."""

    automaton: WeightedAutomaton
    loss: float | None = None
    n_queries: int = 0


def _reading(
    side: ComparedSide, kind: DistanceKind, store: AnswerStore | None, request: DiffRequest
) -> _ReadingAutomaton:
    """Return the automaton of a side, or extract one."""
    if side.reading is not None:
        return _ReadingAutomaton(side.reading)
    options: dict[str, Any] = {"max_length": request.max_length, "executor": request.executor}
    extraction = extract(
        side.box,
        max_rank=MAX_EXTRACTED_STATES,
        purpose=Purpose.READING,
        store=store,
        seed=request.seed,
        progress=request.progress,
        **options,
    )
    metric = METRICS[kind]
    fidelity = extraction.fidelity.at(extraction.best_rank())
    loss = fidelity.get(metric)
    if loss is not None and kind is DistanceKind.DECISIONS:
        loss = 1 - loss
    n_queries = 0 if side.automaton is not None else extraction.settings.questions or 0
    best = extraction.best(purpose=Purpose.READING)
    return _ReadingAutomaton(_plain(best, request.seed), loss, n_queries)


def _plain(automaton: WeightedAutomaton, seed: int) -> WeightedAutomaton:
    """Return the Moore machine of an automaton that decides, if there is a small one.

    It is easier to read: one state after each word, and no weights.
    """
    if not isinstance(automaton, Classifier):
        return automaton
    machine = determinise(automaton, max_states=MAX_READ_STATES, seed=seed)
    is_whole = machine.learned.is_complete and machine.agreement == 1
    return machine.automaton if is_whole else automaton
