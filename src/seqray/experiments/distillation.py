"""The automaton as a cheaper model: time and memory of a box and of its automata, side by side."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from seqray.automata.words import Words
from seqray.experiments.cells import (
    Cell,
    CellResult,
    Clock,
    collected_notes,
    extract_as_paper,
    n_bytes,
    prepared,
)
from seqray.experiments.table import PAPER

RANKS = (5, 10, 20, 50, 100)
"""The ranks of the automata that are timed."""

N_ALONE = 30
"""Words that are queried one by one."""

N_TIMINGS = 5
"""How often each model is timed; the shortest time counts."""


class Distilled(NamedTuple):
    """What a box and the automaton of one rank cost, for the weights of the test words.

    Times are processor seconds per word: ``together`` where all words are queried at once, so
    that words share their prefixes, ``alone`` where each is queried by itself. ``bytes`` are those
    of the model, ``peak`` those that are needed beside it for all words at once. ``ndcg5`` is the
    fidelity on the test words.
    """

    problem: str
    method: str
    prefixes: int
    rank: int
    ndcg5: float
    box_together: float
    automaton_together: float
    box_alone: float
    automaton_alone: float
    box_bytes: int
    automaton_bytes: int
    box_peak: int
    automaton_peak: int


def measure_distilled(cell: Cell) -> CellResult:
    """Time a box, and the automata that are extracted from it at one size of basis.

    Examples
    --------
    >>> from seqray.experiments.cells import Settings
    >>> from seqray.experiments.problems import GeneratedSource
    >>> small = Settings(n_test=50, n_rnn=50, n_held_out=50)
    >>> part = measure_distilled(Cell(GeneratedSource(1), "", 40, small))
    >>> [(row.rank, row.automaton_bytes) for row in part.others]
    [(5, 1280), (10, 4960)]
    """
    clock, settings = Clock(), cell.settings
    with collected_notes() as notes:
        with clock.phase("references"):
            problem, test, _, _ = prepared(cell.source, cell.fingerprint, settings)
        decomposition = extract_as_paper(problem.box, cell.size, settings, clock).decomposition
        with clock.phase("timing"):
            ranks = [rank for rank in RANKS if rank <= decomposition.max_rank]
            automata = [decomposition.automaton(rank) for rank in ranks]
            models: list[Any] = [problem.box, *automata]
            together, alone, peaks = _costs(models, problem.test)
            sizes = [n_bytes(model)[0] for model in models]
            rows = [
                Distilled(
                    *(problem.name, PAPER, cell.size, rank),
                    test.compare(automata[at])["ndcg5"],
                    *(together[0], together[at + 1], alone[0], alone[at + 1]),
                    *(sizes[0], sizes[at + 1], peaks[0], peaks[at + 1]),
                )
                for at, rank in enumerate(ranks)
            ]
    about = {"seconds": clock.seconds, "notes": [*problem.notes, *notes]}
    return CellResult(about, others=rows)


def _costs(models: list[Any], words: Words) -> tuple[list[float], list[float], list[int]]:
    """Return of each model the seconds per word, together and alone, and the peak of memory."""
    some = [words[at : at + 1] for at in range(min(N_ALONE, len(words)))]
    together = best_of_each([partial(model.weights, words) for model in models])
    alone = best_of_each([partial(_one_by_one, model, some) for model in models])
    peaks = [peak_bytes(partial(model.weights, words)) for model in models]
    return [t / len(words) for t in together], [t / len(some) for t in alone], peaks


def _one_by_one(model: Any, words: list[Words]) -> None:
    for word in words:
        model.weights(word)


def best_of_each(works: list[Callable[[], object]]) -> list[float]:
    """Return the least processor seconds of each; they take turns, so slow moments hit all."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(N_TIMINGS + 1):
        for work, taken in zip(works, times, strict=True):
            begin = time.process_time()
            work()
            taken.append(time.process_time() - begin)
    return [min(taken[1:]) for taken in times]  # the first run only warms up


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the largest number of bytes that are allocated at once during some work.

    >>> import numpy as np
    >>> 80_000 <= peak_bytes(lambda: np.zeros(10_000)) < 90_000
    True
    """
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
