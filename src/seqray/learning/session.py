"""What both learners share: limits, progress, and the oracle that counts and caches."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypedDict, Unpack

from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.queries.answer_cache import AnswerStore, opened_store
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import Oracle, open_oracle
from seqray.util.arrays import whole_number
from seqray.util.progress import PhasedProgress, Progress, shown_progress
from seqray.util.random import Seed


class LearningLimits(TypedDict, total=False):
    """What every learner takes beside its own parameters.

    ``max_states`` is the most states, by default 1000. ``budget`` is the largest number of queries,
    ``time_limit`` the most seconds; queries end soon after the event ``stop`` is set. ``store`` is
    the file of cached answers. ``max_length`` is the longest word that is drawn. ``seed`` is a
    random seed. ``progress`` is called with how many queries are answered, and how many there may
    be; True shows a bar.
    """

    max_states: int
    budget: int | None
    time_limit: float | None
    stop: threading.Event | None
    store: AnswerStore | str | os.PathLike[str] | None
    max_length: int | None
    seed: Seed
    progress: Progress | bool | None


DEFAULT_MAX_STATES = 1000
"""The most states of a deterministic automaton, unless the caller says otherwise."""


def check_limits(function: str, limits: Mapping[str, object]) -> None:
    """Refuse keywords that are no limits, as a misspelt parameter.

    >>> check_limits("learn_dfa", {"metod": "tree"})
    Traceback (most recent call last):
    ...
    TypeError: learn_dfa() got an unexpected keyword argument 'metod'
    """
    for name in limits:
        if name not in LearningLimits.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def max_states_of(limits: LearningLimits) -> int:
    """Return the most states that are allowed.

    >>> max_states_of({}), max_states_of({"max_states": 5})
    (1000, 5)
    """
    return whole_number("max_states", limits.get("max_states", DEFAULT_MAX_STATES), 1)


@contextmanager
def opened_session(box: BlackBox, **limits: Unpack[LearningLimits]) -> Iterator[Oracle]:
    """Yield an oracle that queries a box about words, each of which is one query, within limits.

    >>> import seqray
    >>> box = seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    >>> with opened_session(box, budget=10) as oracle:
    ...     _ = oracle.predictor.weights(["aa"])
    ...     oracle.meter.n_queries
    3
    """
    meter = Meter(Limits(limits.get("budget"), limits.get("time_limit"), limits.get("stop")))
    with (
        opened_store(limits.get("store")) as cache,
        shown_progress(limits.get("progress")) as progress,
    ):
        if progress is not None:
            meter.listener = _Listener(meter, progress)
        yield open_oracle(box, meter, cache=cache, by_words=True)


class _Listener:
    """Hands on how many queries are answered."""

    def __init__(self, meter: Meter, progress: Progress) -> None:
        self.meter, self.progress = meter, progress
        if isinstance(progress, PhasedProgress):
            progress.phase("querying the box", "answers")

    def __call__(self, n_answers: int) -> None:
        done = self.meter.n_queries
        self.progress(done, max(done, self.meter.budget or 0))
