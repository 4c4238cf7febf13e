"""How faithfully an automaton decides as a classifier does: on words, class by class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.decisions import decide, margins
from seqray.automata.words import Symbol, Word, Words
from seqray.blackbox.protocol import (
    Classifier,
    check_lengths,
    max_length_of,
    name_of,
    threshold_of,
)
from seqray.fidelity.intervals import EXTRA_WORDS, Interval, exact_share, signed_interval
from seqray.fidelity.objective import Objective
from seqray.fidelity.table import Fidelity
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.errors import ArgumentError

MARGIN_EDGES = (0.0, 0.1, 0.3, 0.6, 0.9, 1.0)
"""Between which margins of the box words are counted together."""

BOUNDARY_SHARE = 0.1
"""Share of the words, with the smallest margins, that count as near to the boundary."""

N_CONFIDENCE_GROUPS = 10
"""Groups of equal width in which confidences are compared."""

MAX_DIFFERENT_WORDS = 100
"""Words that get different classes: so many are kept."""

N_LENGTH_GROUPS = 5
"""Groups of about equally many words, by length."""


def paired_interval(n_more: int, n_less: int, n_words: int) -> Interval:
    """Return the 95 % interval of a difference of two shares of the same words.

    Only words on which both differ count, as in McNemar's test: ``n_more`` that count in the first
    share alone, ``n_less`` in the second alone. The interval allows for some words more of each
    (`EXTRA_WORDS`), so that none is empty.

    >>> [round(end, 3) for end in paired_interval(9, 1, 98)]
    [0.012, 0.152]
    """
    difference = (n_more - n_less) / n_words
    variance = ((n_more + n_less) / n_words - difference**2) / n_words
    step = EXTRA_WORDS / n_words
    return signed_interval(difference, max(0.0, variance), step, step)


class DecisionGroup(NamedTuple):
    """Words that are counted together, and on how many of them both decide alike."""

    name: str
    n_words: int
    n_agreeing: int

    @property
    def agreement(self) -> float:
        """The share of words that both give the same class."""
        return self.n_agreeing / self.n_words

    @property
    def interval(self) -> Interval:
        """Its 95 % confidence interval."""
        return exact_share(self.n_agreeing, self.n_words)


class ClassShare(NamedTuple):
    """How many words get a class: by the box, by the automaton, and how much that differs."""

    name: str
    box: float
    automaton: float
    interval: Interval
    """95 % interval of the automaton's share less the box's, see `paired_interval`."""

    @property
    def difference(self) -> float:
        """The automaton's share less the box's."""
        return self.automaton - self.box


class DifferentWord(NamedTuple):
    """A word that both give another class; ``distance`` is that of the class probabilities."""

    word: tuple[Symbol, ...]
    box: str
    automaton: str
    distance: float


@dataclass(frozen=True, eq=False, repr=False)
class DecisionFidelity(Fidelity):
    """The fidelity of an automaton to a classifier; made by `compare_decisions`.

    Parameters
    ----------
    classes
        The names of the classes.
    confusion
        How many words get which classes: one row per class of the box, one column per class of the
        automaton.
    by_length, by_margin
        The agreement of words of like length, and of like margin of the box.
    shares
        For each class, the share of words that get it.
    different
        Some of the words that both give another class, the largest distance first.
    max_length
        How many symbols the longest of the words has; None where that is not known.
    """

    classes: tuple[str, ...] = ()
    confusion: IntArray = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    by_length: tuple[DecisionGroup, ...] = ()
    by_margin: tuple[DecisionGroup, ...] = ()
    shares: tuple[ClassShare, ...] = ()
    different: tuple[DifferentWord, ...] = ()
    max_length: int | None = None

    def details(self) -> dict[str, Any]:
        """Return what is no single number, as JSON holds it."""
        return {
            "classes": list(self.classes),
            "confusion": self.confusion.tolist(),
            "by_length": [_group_json(each) for each in self.by_length],
            "by_margin": [_group_json(each) for each in self.by_margin],
            "shares": [{**each._asdict(), "interval": [*each.interval]} for each in self.shares],
        }


def _group_json(group: DecisionGroup) -> dict[str, Any]:
    return {
        **group._asdict(),
        "agreement": group.agreement,
        "interval": [*group.interval],
    }


def check_same_classes(of_box: Sequence[str], automaton: Classifier) -> None:
    """Refuse an automaton whose classes are not those of the box, in the same order."""
    if tuple(automaton.classes) != tuple(of_box):
        raise ArgumentError(
            f"the box has the classes {', '.join(of_box)}, the automaton "
            f"{', '.join(automaton.classes)}: expected the same in the same order"
        )


@dataclass(frozen=True, eq=False)
class DecisionReference:
    """A classifier's answers on a set of words, to compare any number of automata with.

    Parameters
    ----------
    words
        The words.
    classes, threshold
        Those of the box.
    scores
        Its class probabilities, shape ``(n_words, n_classes)``.
    """

    words: Words
    classes: tuple[str, ...]
    threshold: float | None
    scores: FloatArray

    @classmethod
    def query(cls, box: Classifier, words: Words | Iterable[Word]) -> DecisionReference:
        """Query a classifier on words."""
        words = box.alphabet.words(words)
        if not len(words):
            raise ArgumentError("a comparison needs at least one word, got none")
        check_lengths(words, max_length_of(box), name_of(box))
        scores = np.asarray(box.scores(words), np.float64)
        return cls(words, tuple(box.classes), threshold_of(box), scores)

    @cached_property
    def decisions(self) -> IntArray:
        """The number of the class that the box gives to each word."""
        return decide(self.scores, self.threshold)

    def agreement_and_distance(self, automaton: Classifier) -> tuple[float, float]:
        """Return the share of words to which an automaton gives the class of the box.

        And the total variation distance of the class probabilities, mean over words.
        """
        scores = automaton.scores(self.words)
        agreement = np.mean(self.decisions == decide(scores, threshold_of(automaton)))
        return float(agreement), float(np.abs(scores - self.scores).sum(axis=1).mean() / 2)

    def joined(self, words: Words, scores: FloatArray) -> DecisionReference:
        """Return these words and others with their answers."""
        both = Words.concatenate([self.words, words]), np.concatenate([self.scores, scores])
        return DecisionReference(both[0], self.classes, self.threshold, both[1])

    def compare(self, automaton: Classifier, *, intervals: bool = False) -> DecisionFidelity:
        """Return the fidelity of an automaton to the classifier."""
        check_same_classes(self.classes, automaton)
        scores = np.asarray(automaton.scores(self.words), np.float64)
        box, other = self.decisions, decide(scores, threshold_of(automaton))
        n = len(self.words)
        alike, k = box == other, len(self.classes)
        values, ends = self._metrics(scores, alike), {}
        if intervals:
            ends["agreement"] = exact_share(int(alike.sum()), n)
            if "boundary_agreement" in values:
                near = _near(margins(self.scores, self.threshold))
                ends["boundary_agreement"] = exact_share(int(alike[near].sum()), len(near))
        confusion = np.zeros((k, k), np.int64)
        np.add.at(confusion, (box, other), 1)
        n_prefixes = int(self.words.lengths.sum()) + n
        return DecisionFidelity(
            *(values, n, n_prefixes, ends, Objective.DECISIONS),
            classes=self.classes,
            confusion=confusion,
            by_length=_by_length(self.words.lengths, alike),
            by_margin=_by_margin(margins(self.scores, self.threshold), alike),
            shares=_shares(self.classes, confusion),
            different=self._different(scores, other),
            max_length=int(self.words.lengths.max()),
        )

    def _different(self, scores: FloatArray, other: IntArray) -> tuple[DifferentWord, ...]:
        distance = np.abs(scores - self.scores).sum(axis=1) / 2
        places = np.flatnonzero(self.decisions != other)
        places = places[np.argsort(-distance[places], kind="stable")][:MAX_DIFFERENT_WORDS]
        return tuple(
            DifferentWord(
                self.words[i],
                self.classes[self.decisions[i]],
                self.classes[other[i]],
                float(distance[i]),
            )
            for i in places.tolist()
        )

    def _metrics(self, scores: FloatArray, alike: BoolArray) -> dict[str, float]:
        """Return every metric that makes sense, by name."""
        box = self.decisions
        by_class = [alike[box == number].mean() for number in np.unique(box)]
        values = {"agreement": alike.mean(), "balanced_agreement": np.mean(by_class)}
        margin = margins(self.scores, self.threshold)
        if margin.max() - margin.min() > 1e-9:
            values["boundary_agreement"] = alike[_near(margin)].mean()
        values["score_distance"] = np.abs(scores - self.scores).sum(axis=1).mean() / 2
        rows = np.arange(len(box))
        values["calibration_difference"] = _calibration(self.scores[rows, box], scores[rows, box])
        return {name: float(value) for name, value in values.items()}


def compare_decisions(
    box: Classifier, automaton: Classifier, words: Words | Iterable[Word]
) -> DecisionFidelity:
    """Measure how faithfully an automaton decides as a classifier does, on words.

    `seqray.compare` does this where both sides are classifiers.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.classifier(lambda words: [word.count("a") % 2 for word in words], "ab")
    >>> near = seqray.classifier(lambda words: [word[:1] == "a" for word in words], "ab")
    >>> fidelity = compare_decisions(box, near, ["", "a", "ab", "ba"])
    >>> fidelity["agreement"], fidelity.confusion.tolist()
    (0.75, [[1, 0], [1, 2]])
    """
    return DecisionReference.query(box, words).compare(automaton, intervals=True)


def _near(margin: FloatArray) -> IntArray:
    """Return which words are near to the boundary: those with the smallest margins."""
    n_near = max(1, round(BOUNDARY_SHARE * len(margin)))
    return np.argsort(margin, kind="stable")[:n_near]


def _calibration(box: FloatArray, automaton: FloatArray) -> float:
    """Return the mean difference of two confidences, over groups of the box's confidence."""
    group = np.minimum((box * N_CONFIDENCE_GROUPS).astype(int), N_CONFIDENCE_GROUPS - 1)
    differences = (automaton - box, group == np.arange(N_CONFIDENCE_GROUPS)[:, None])
    sums = [abs(differences[0][chosen].sum()) for chosen in differences[1]]
    return float(sum(sums) / len(box))


def _groups(
    names: Sequence[str], masks: Sequence[BoolArray], alike: BoolArray
) -> tuple[DecisionGroup, ...]:
    return tuple(
        DecisionGroup(name, int(mask.sum()), int(alike[mask].sum()))
        for name, mask in zip(names, masks, strict=True)
        if mask.any()
    )


def _by_length(lengths: IntArray, alike: BoolArray) -> tuple[DecisionGroup, ...]:
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, N_LENGTH_GROUPS + 1)).astype(int))
    starts = edges[:-1] if len(edges) > 1 else edges
    ends = [*(starts[1:] - 1), edges[-1]]
    pairs = list(zip(starts.tolist(), map(int, ends), strict=True))
    names = [f"{low} … {high}" if low < high else f"{low}" for low, high in pairs]
    return _groups(names, [(lengths >= low) & (lengths <= high) for low, high in pairs], alike)


def _by_margin(margin: FloatArray, alike: BoolArray) -> tuple[DecisionGroup, ...]:
    pairs = list(pairwise(MARGIN_EDGES))
    masks = [
        (margin >= low) & ((margin < high) | (high == MARGIN_EDGES[-1])) for low, high in pairs
    ]
    return _groups([f"{low:g} … {high:g}" for low, high in pairs], masks, alike)


def _shares(classes: tuple[str, ...], confusion: IntArray) -> tuple[ClassShare, ...]:
    n = int(confusion.sum())
    rows, columns = confusion.sum(axis=1), confusion.sum(axis=0)
    return tuple(
        ClassShare(
            name,
            float(rows[i] / n),
            float(columns[i] / n),
            paired_interval(int(columns[i] - confusion[i, i]), int(rows[i] - confusion[i, i]), n),
        )
        for i, name in enumerate(classes)
    )
