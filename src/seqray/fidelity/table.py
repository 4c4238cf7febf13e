"""The results of comparisons: the fidelity of one automaton, and of several ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, overload

import numpy as np

from seqray.fidelity.intervals import Interval
from seqray.fidelity.metrics import MEANINGS
from seqray.fidelity.objective import Objective
from seqray.fidelity.word_metrics import without_rounding
from seqray.util.arrays import FloatArray
from seqray.util.display import Displayed
from seqray.util.errors import MissingMetricError, MissingRankError
from seqray.util.frames import data_frame

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 1e-4
"""How much worse than the best rank a smaller one may score, to be chosen instead: by weights."""

PREDICTION_TOLERANCE = 1e-3
"""The same where the score is a ratio per symbol: about 0.0014 bits per symbol.

For a box whose entropy per symbol is below one bit, it is less by that factor.
"""

SQUARED_ERROR_TOLERANCE = 0.05
"""The same for the objective ``weights``, as a share of what the best rank lacks to 1."""

FEWER_AGREEING_WORDS = 1.5
"""The same for classifiers: a smaller rank may agree on this many words less, so on one."""

SCORE_DISTANCE_TOLERANCE = 0.01
"""Of classifiers' ranks that agree, one whose ``score_distance`` is larger by more is too small."""

MAX_LOSS_FACTOR = 50
"""A smaller rank may lack at most this many times as much to a score of 1 as the best rank."""

EXACT_TOLERANCE = 1e-6
"""An automaton whose fidelity score is as near to 1 counts as exact."""

EQUAL_SCORES = 1e-9
"""Up to this difference two fidelity scores count as equal."""

MANY_STATES = 20
"""More states are hard to look at: a rank of at most half as many is proposed."""

SAVED_LOSSES = frozenset({"kl_per_symbol", "kl_per_word", "kl", "log_error"})
"""Metrics in bits that files of earlier versions hold with what rounding made of 0."""

EARLIER_NAMES = {"apart": "total_variation"}
"""Metrics that had another name in files of earlier versions."""


@dataclass(frozen=True, eq=False, repr=False)
class Fidelity(Displayed, Mapping[str, float]):
    """The fidelity of an automaton to a box: a mapping from the name of each metric to its value.

    Parameters
    ----------
    metrics
        The metrics. Those that make no sense for this box are left out.
    n_words, n_prefixes
        How many words, and how many prefixes of them, it is based on; equal ones counted each.
    intervals
        95 % confidence intervals of the metrics that have one; see `seqray.fidelity.intervals`.
        Empty where they were not computed.
    objective
        What the score is made of. None: next symbols where they were compared, else the ratio of
        the weights of a word (`Objective.LOG`).

    Examples
    --------
    >>> Fidelity({"ndcg5": 0.987, "wer": 0.5}, 2, 9, {"wer": (0.4, 0.61)})
    ndcg5  0.987              how good its first five next symbols are; 1 is the box's own order
    wer    0.5    0.4 … 0.61  share of next symbols that are not the automaton's first choice
    2 words, 9 prefixes
    """

    metrics: Mapping[str, float]
    n_words: int
    n_prefixes: int
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    objective: Objective | None = None

    def __getitem__(self, name: str) -> float:
        _check_name(name, self.metrics)
        return self.metrics[name]

    def __len__(self) -> int:
        return len(self.metrics)

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    @property
    def score(self) -> float:
        """The fidelity score: one number to choose a rank and to stop by; 1 is the best.

        It follows the objective. ``decisions``, of classifiers: ``agreement``. ``weights``: 1 less
        ``relative_error``, which is the root of the mean squared error, relative to the box.
        ``log``: ``weight_agreement``; 0.9 means that weights are off by a tenth on average.
        ``next``, where the box predicts next symbols: ``ratio_per_symbol``, which is 2 to the power
        of minus ``kl_per_symbol``, less a tenth of ``total_variation`` where counterexamples were
        searched for, less a tenth of ``elsewhere`` where the box leaks. Of runs that were saved
        without ``kl_per_symbol``, NDCG₅ has its place.

        >>> Fidelity({"kl_per_symbol": 1.0, "ndcg5": 0.9, "weight_agreement": 0.6}, 2, 9).score
        0.5
        >>> Fidelity({"relative_error": 0.2, "weight_agreement": 0.5}, 2, 9).score
        0.5
        >>> metrics = {"kl_per_symbol": 1.0, "relative_error": 0.25, "weight_agreement": 0.6}
        >>> [Fidelity(metrics, 2, 9, objective=each).score for each in list(Objective)[:3]]
        [0.5, 0.75, 0.6]
        """
        if self.chosen_by is Objective.DECISIONS:
            return self.metrics["agreement"]
        if self.objective is Objective.WEIGHTS:
            return 1 - self.metrics["relative_error"]
        if self.chosen_by is Objective.LOG:
            return self.weights_score
        if "kl_per_symbol" in self.metrics:
            score = float(2.0 ** -self.metrics["kl_per_symbol"])
        else:
            score = self.metrics["ndcg5"]
        distance, leak = (self.metrics.get(n, 0.0) for n in ("total_variation", "elsewhere"))
        return score - distance / 10 - leak / 10

    @property
    def chosen_by(self) -> Objective:
        """The objective; where none was named, what the metrics allow."""
        if "agreement" in self.metrics:
            return Objective.DECISIONS
        if self.objective in (Objective.WEIGHTS, Objective.LOG):
            return self.objective
        is_next = "kl_per_symbol" in self.metrics or "ndcg5" in self.metrics
        return Objective.NEXT if is_next else Objective.LOG

    def is_nearer_than(self, other: Fidelity) -> bool:
        """Whether the score is higher than another's; of equal scores, whether NDCG₅ is.

        >>> near, far = (Fidelity({"kl_per_symbol": 0.5, "ndcg5": x}, 2, 9) for x in (0.9, 0.8))
        >>> near.is_nearer_than(far), far.is_nearer_than(near), near.is_nearer_than(near)
        (True, False, False)
        """
        if abs(self.score - other.score) <= EQUAL_SCORES:
            return self.metrics.get("ndcg5", 0.0) > other.metrics.get("ndcg5", 0.0)
        return self.score > other.score

    @property
    def weights_score(self) -> float:
        """The fidelity score by the weights of words alone, whether the box predicts or not."""
        if "weight_agreement" in self.metrics:
            return self.metrics["weight_agreement"]
        if "log_error" in self.metrics:  # runs that were saved before there was an agreement
            return float(2 ** -self.metrics["log_error"])
        return 1 - self.metrics["relative_error"]

    @classmethod
    def from_saved(
        cls,
        row: Mapping[str, float],
        n_words: int,
        n_prefixes: int,
        objective: Objective | None = None,
    ) -> Fidelity:
        """Return a saved fidelity.

        Metrics that this version does not have are left out; those that follow from the divergence
        per symbol are added where an old run lacks them.
        """
        renamed = {EARLIER_NAMES.get(name, name): value for name, value in row.items()}
        known = {name: value for name, value in renamed.items() if name in MEANINGS}
        for name in SAVED_LOSSES & known.keys():
            known[name] = without_rounding(known[name])
        if "kl_per_symbol" in known:
            bits = known["kl_per_symbol"]
            known.setdefault("kl_per_word", bits * n_prefixes / n_words)
            known.setdefault("ratio_per_symbol", 2.0**-bits)
        return cls(known, n_words, n_prefixes, objective=objective)

    def as_dict(self) -> dict[str, float]:
        """Return the metrics as a new dictionary."""
        return dict(self.metrics)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric as a pandas data frame: value, interval and meaning."""
        nowhere = (np.nan, np.nan)
        ends = {name: self.intervals.get(name, nowhere) for name in self.metrics}
        rows = [
            {"metric": name, "value": value, "low": ends[name][0], "high": ends[name][1]}
            | {"meaning": MEANINGS[name]}
            for name, value in self.items()
        ]
        return data_frame(rows, "metric")

    def __repr__(self) -> str:
        columns = [
            [*self],
            [f"{value:.6g}" for value in self.values()],
            [" … ".join(f"{end:.4g}" for end in self.intervals.get(n, ())) for n in self.metrics],
        ]
        columns = [column for column in columns if any(column)]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join([*(f"{c:{w}}" for c, w in zip(row, widths, strict=True)), MEANINGS[row[0]]])
            for row in zip(*columns, strict=True)
        ]
        return "\n".join([*lines, f"{self.n_words} words, {self.n_prefixes} prefixes"])


@dataclass(frozen=True, eq=False, repr=False)
class FidelityTable(Displayed, Mapping[int, Fidelity]):
    """The fidelity of several ranks: one column per metric, one row per rank.

    It is a mapping from ranks: ``table[5]`` is the fidelity of rank 5, and iterating gives the
    ranks. With the name of a metric, ``table["ndcg5"]`` is its column: an array with one value per
    rank.

    Parameters
    ----------
    ranks
        The numbers of states, one per row.
    fidelities
        The fidelity at each.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> from seqray.fidelity.compare import compare_ranks
    >>> from seqray.fidelity.reference import Reference
    >>> wa = WeightedAutomaton("a", [1, 0], [[[0.5, 0], [0, 0]]], [0.5, 1])
    >>> table = compare_ranks(Reference.query(wa, ["", "a"]), wa, [1, 2])
    >>> table
    FidelityTable(ranks 1 … 2, ... metrics)
    >>> table["max_error"], table[2]["max_error"]
    (array([0., 0.]), 0.0)
    >>> [(rank, fidelity["max_error"]) for rank, fidelity in table.items()]
    [(1, 0.0), (2, 0.0)]
    """

    ranks: tuple[int, ...]
    fidelities: tuple[Fidelity, ...]

    @overload
    def __getitem__(self, key: int) -> Fidelity: ...
    @overload
    def __getitem__(self, key: str) -> FloatArray: ...
    def __getitem__(self, key: int | str) -> Fidelity | FloatArray:
        if isinstance(key, str):
            return np.array([fidelity[key] for fidelity in self.fidelities])
        return self.at(key)

    def __iter__(self) -> Iterator[int]:
        return iter(self.ranks)

    def at(self, rank: int) -> Fidelity:
        """Return the fidelity at one rank."""
        if rank not in self.ranks:
            raise MissingRankError(f"rank {rank} was not compared: expected one of {self.ranks}")
        return self.fidelities[self.ranks.index(rank)]

    @property
    def best(self) -> Fidelity:
        """The fidelity with the largest score."""
        return max(self.fidelities, key=lambda each: each.score)

    def best_rank(self, tolerance: float | None = None) -> int:
        """Return the smallest rank whose score is within a tolerance of the best.

        Without a tolerance it is `TOLERANCE`, or for the objective ``weights`` a share of the loss,
        `SQUARED_ERROR_TOLERANCE`. Of a classifier it is that of one word, and probabilities count,
        too, see `smallest_faithful`. Where next symbols count, it is `PREDICTION_TOLERANCE`, and
        the rank may not lose more than `MAX_LOSS_FACTOR` times as much as the best, unless it is
        exact (`EXACT_TOLERANCE`). So a box that is an automaton comes back with all its states,
        however little some of them matter.
        """
        loss = np.array([1 - each.score for each in self.fidelities])
        if tolerance is None:
            tolerance = self._tolerance(float(loss.min()))
            if all("score_distance" in each for each in self.fidelities):
                return self.ranks[smallest_faithful(1 - loss, self["score_distance"], tolerance)]
        return self.ranks[first_near_best(loss, tolerance)]

    def _tolerance(self, least_loss: float) -> float:
        first = self.fidelities[0]
        if first.chosen_by is Objective.WEIGHTS:
            return max(SQUARED_ERROR_TOLERANCE * least_loss, EXACT_TOLERANCE - least_loss)
        if first.chosen_by is Objective.DECISIONS:
            return FEWER_AGREEING_WORDS / max(1, first.n_words)
        if first.chosen_by is Objective.LOG or "kl_per_symbol" not in first:
            return TOLERANCE
        most = PREDICTION_TOLERANCE * min(1.0, first.get("entropy_per_symbol", 1.0))
        return min(most, max(EXACT_TOLERANCE, MAX_LOSS_FACTOR * least_loss) - least_loss)

    def rows(self) -> list[dict[str, float]]:
        """Return one dictionary per rank, with the rank first."""
        pairs = zip(self.ranks, self.fidelities, strict=True)
        return [{"rank": rank, **fidelity} for rank, fidelity in pairs]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per rank, and one column per metric, as a pandas data frame."""
        return data_frame(self.rows(), "rank")

    def __len__(self) -> int:
        return len(self.ranks)

    def __repr__(self) -> str:
        shown = f"ranks {self.ranks[0]} … {self.ranks[-1]}" if self.ranks else "no ranks"
        n_metrics = len(self.fidelities[0]) if self.fidelities else 0
        return f"FidelityTable({shown}, {n_metrics} metrics)"


def first_near_best(losses: FloatArray, tolerance: float) -> int:
    """Return the index of the first loss that is within a tolerance of the smallest.

    >>> first_near_best(np.array([0.5, 0.11, 0.1]), 0.05)
    1
    """
    return int((losses <= losses.min() + tolerance).argmax())


def smallest_faithful(agreements: FloatArray, distances: FloatArray, tolerance: float) -> int:
    """Return the index of the first automaton of a classifier that is as good as the best.

    Its agreement is within a tolerance of the largest, and of those that agree so much its distance
    of class probabilities is within `SCORE_DISTANCE_TOLERANCE` of the smallest.

    >>> smallest_faithful(np.array([0.5, 1, 1, 1]), np.array([0.4, 0.07, 0.002, 0.001]), 0.001)
    2
    """
    agrees = agreements >= agreements.max() - tolerance
    limit = distances[agrees].min() + SCORE_DISTANCE_TOLERANCE
    return int((agrees & (distances <= limit)).argmax())


def main_metrics(fidelity: Fidelity) -> list[str]:
    """Return the metrics to show where there is room for few: first what ranks are chosen by.

    >>> main_metrics(Fidelity({"relative_error": 0.1, "weight_agreement": 0.9, "zeros": 0}, 2, 9))
    ['weight_agreement', 'zeros', 'relative_error']
    """
    if fidelity.chosen_by is Objective.DECISIONS:
        wanted = ("agreement", "balanced_agreement", "boundary_agreement", "score_distance")
        return [name for name in wanted if name in fidelity]
    names = ["kl_per_symbol", "ndcg5", "total_variation", "kl_per_word", "elsewhere"]
    if "ndcg5" not in fidelity:
        names.append("weight_agreement")
    names.append("zeros")
    if "total_variation" not in fidelity:  # the terminal has no room for more
        names.append("relative_error")
    first = {Objective.WEIGHTS: "relative_error", Objective.LOG: "weight_agreement"}
    if (name := first.get(fidelity.chosen_by)) is not None:
        names = [name, *(each for each in names if each not in (name, "kl_per_word"))]
    return [name for name in names if name in fidelity]


def _check_name(name: str, known: Iterable[str]) -> None:
    known = list(known)
    if name not in known:
        near = get_close_matches(str(name), known, n=3, cutoff=0.5) or known
        left_out = " (it makes no sense for this box)" if name in MEANINGS else ""
        raise MissingMetricError(f"no metric {name!r}{left_out}; there are: {', '.join(near)}")


def readable_rank(table: FidelityTable, n_states: int) -> int | None:
    """Return the best rank that can be looked at where so many states are too many, or None.

    >>> table = FidelityTable((5, 30), (Fidelity({"agreement": 0.9}, 10, 20),) * 2)
    >>> readable_rank(table, 30), readable_rank(table, 5)
    (5, None)
    """
    is_many = n_states > MANY_STATES
    ranks = [rank for rank in table if is_many and rank <= MANY_STATES // 2]
    return max(ranks, key=lambda rank: table[rank].score) if ranks else None
