"""How well an automaton stands in for a black box, on words of one's choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.probabilities import leak_of
from seqray.automata.sampling import sample
from seqray.automata.stepper import PredictingStepper, Stepper, collect, predicts
from seqray.automata.tree import PrefixTree, States, walk
from seqray.automata.words import Word, Words
from seqray.blackbox.protocol import (
    BlackBox,
    check_lengths,
    checked_answers,
    max_length_of,
    name_of,
    query_weights,
)
from seqray.fidelity import metrics
from seqray.fidelity.bootstrap import Interval, confidence_intervals, next_estimates, word_estimates
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError, MissingMetricError, MissingRankError
from seqray.util.random import Seed, random_generator

MEANINGS = {
    "perplexity": "perplexity of the automaton, words weighted as by the box (or the target)",
    "perplexity_box": "the same of the box itself: what a perfect copy would have",
    "perplexity_ratio": "perplexity_box / perplexity; 1 is a perfect copy",
    "kl": "divergence from the box (the target if given) to the automaton, bits per word",
    "zeros": "share of words to which the automaton gives no positive weight",
    "log_error": "difference of the logarithms of two weights, mean, bits per word, at most 3",
    "relative_error": "size of the difference over all words, relative to the box",
    "max_error": "largest difference on one word",
    "correlation": "Pearson correlation of the two weights",
    "sign_agreement": "share of words whose two weights have the same sign",
    "weight_agreement": "how nearly the two weights agree, geometric mean; words of weight 0 count",
    "ndcg1": "how good the automaton's first next symbol is by the box's probabilities",
    "ndcg5": "the same for its first five; 1 is the box's own order",
    "wer": "share of next symbols that are not the automaton's first choice",
    "wer_box": "share of next symbols that are not the box's first choice",
    "disagreement": "share of prefixes after which the two first choices differ",
    "kl_per_symbol": "divergence of the next-symbol distributions, bits a symbol",
    "elsewhere": "difference of the probabilities to leave the alphabet, mean over prefixes",
    "apart": "total variation distance, after words on which both disagreed",
}
"""What each metric says, in the order in which they are shown."""

TOLERANCE = 1e-4
"""How much worse than the best rank a smaller one may be, to be chosen instead."""

MAX_WEIGHT = np.finfo(float).max
"""Weights of an automaton are cut here: at a high rank it may overflow."""


@dataclass(frozen=True, eq=False, repr=False)
class Fidelity(Mapping[str, float]):
    """What `compare` measured: a mapping from the name of each metric to its value.

    Parameters
    ----------
    metrics
        The metrics. Those that make no sense for this box are left out.
    n_words, n_prefixes
        How many words, and how many prefixes of them, it is based on; equal ones counted each.
    intervals
        95 % confidence intervals, of the metrics that have one; see `bootstrap`. Empty where
        they were not asked for.

    Examples
    --------
    >>> Fidelity({"ndcg5": 0.987, "wer": 0.5}, 2, 9, {"wer": (0.4, 0.61)})
    ndcg5  0.987              the same for its first five; 1 is the box's own order
    wer    0.5    0.4 … 0.61  share of next symbols that are not the automaton's first choice
    2 words, 9 prefixes
    """

    metrics: Mapping[str, float]
    n_words: int
    n_prefixes: int
    intervals: Mapping[str, Interval] = field(default_factory=dict)

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

        NDCG₅ where the box predicts next symbols, less a tenth of ``apart`` where words were
        searched for on which box and automaton disagree, and a tenth of ``elsewhere`` where the
        box leaks. Where it does not predict, ``weight_agreement`` (see
        `weight_agreement`): 0.9 means that weights are off by a tenth, on average.

        >>> Fidelity({"ndcg5": 0.9, "weight_agreement": 0.5}, 2, 9).score
        0.9
        >>> Fidelity({"relative_error": 0.2, "weight_agreement": 0.5}, 2, 9).score
        0.5
        """
        if "ndcg5" in self.metrics:
            apart, elsewhere = (self.metrics.get(name, 0.0) for name in ("apart", "elsewhere"))
            return self.metrics["ndcg5"] - apart / 10 - elsewhere / 10
        return self.weights_score

    @property
    def weights_score(self) -> float:
        """The same by the weights of words alone, whether the box predicts or not."""
        if "weight_agreement" in self.metrics:
            return self.metrics["weight_agreement"]
        if "log_error" in self.metrics:  # runs that were saved before there was an agreement
            return float(2 ** -self.metrics["log_error"])
        return 1 - self.metrics["relative_error"]

    def as_dict(self) -> dict[str, float]:
        """Return the metrics as a new dictionary."""
        return dict(self.metrics)

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
class FidelityTable(Mapping[int, Fidelity]):
    """The fidelity of several ranks: one column per metric, one row per rank.

    It is a mapping from ranks: ``table[5]`` is the fidelity of rank 5, and iterating gives the
    ranks. With the name of a metric, ``table["ndcg5"]`` is its column: an array with one value per
    rank.

    Parameters
    ----------
    ranks
        The numbers of states, one a row.
    fidelities
        What was measured at each.

    Examples
    --------
    >>> wa = WeightedAutomaton("a", [1, 0], [[[0.5, 0], [0, 0]]], [0.5, 1])
    >>> table = compare_ranks(Reference.ask(wa, ["", "a"]), wa, [1, 2])
    >>> table
    FidelityTable(ranks 1 … 2, 17 metrics)
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
        """Return what was measured at one rank."""
        if rank not in self.ranks:
            raise MissingRankError(f"rank {rank} was not compared: expected one of {self.ranks}")
        return self.fidelities[self.ranks.index(rank)]

    def best_rank(self, tolerance: float = TOLERANCE) -> int:
        """Return the smallest rank whose score is within a tolerance of the best."""
        loss = np.array([1 - each.score for each in self.fidelities])
        return self.ranks[first_near_best(loss, tolerance)]

    def rows(self) -> list[dict[str, float]]:
        """Return one dictionary a rank, with the rank first, as writers of tables take them."""
        pairs = zip(self.ranks, self.fidelities, strict=True)
        return [{"rank": rank, **fidelity} for rank, fidelity in pairs]

    def __len__(self) -> int:
        return len(self.ranks)

    def __repr__(self) -> str:
        shown = f"ranks {self.ranks[0]} … {self.ranks[-1]}" if self.ranks else "no ranks"
        n_metrics = len(self.fidelities[0]) if self.fidelities else 0
        return f"FidelityTable({shown}, {n_metrics} metrics)"


@dataclass(frozen=True, eq=False, repr=False)
class Reference:
    """A box's answers on a set of words, asked once, to compare any number of automata with.

    Make one with `Reference.ask`.

    Parameters
    ----------
    tree
        The words.
    weights
        The box's answers, shape ``(n_words,)``.
    target
        The target's answers, shape ``(n_words,)``, or None.
    next_symbol
        What the box says comes next at each node of the tree, shape ``(n_symbols + 1, n_nodes)``,
        or None for a box that does not say.
    negligible
        s of `weight_agreement`, shape ``(n_words,)``; None: the size that 99 of 100
        of these words exceed, of those that have the same length and do not weigh 0.

    Examples
    --------
    >>> wa = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    >>> reference = Reference.ask(wa, ["", "a", "aaa"])
    >>> reference
    Reference(3 words, 7 prefixes)
    >>> reference.compare(wa)["perplexity_ratio"]
    1.0
    """

    tree: PrefixTree
    weights: FloatArray
    target: FloatArray | None
    next_symbol: FloatArray | None
    negligible: FloatArray | None = None

    @classmethod
    def ask(
        cls,
        box: BlackBox | AutomatonLike,
        words: Words | Iterable[Word],
        target: BlackBox | None = None,
    ) -> Reference:
        """Ask a box, and a target if there is one, about words."""
        if not isinstance(box, BlackBox | Stepper):
            box = as_automaton(box, "box")
        words = box.alphabet.words(words)
        if not len(words):
            raise ArgumentError("a comparison needs at least one word, got none")
        check_lengths(words, max_length_of(box), name_of(box))  # before the first query
        tree = PrefixTree.of(words)
        weights, probabilities = _answers(box, tree, predicts(box))
        aim = None
        if target is not None:
            known = target.alphabet.words(words if target.alphabet == box.alphabet else [*words])
            aim = checked_answers(target.weights(known), words, (len(words),), "the target")
        return cls(tree, weights, aim, probabilities)

    @classmethod
    def draw(
        cls, box: PredictingStepper, n_words: int, *, seed: Seed, max_length: int
    ) -> Reference:
        """Draw words from a box as `seqray.sample` does, and keep what it said on the way.

        >>> box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
        >>> Reference.draw(box, 100, seed=np.random.default_rng(0), max_length=9)
        Reference(100 words, 312 prefixes)
        """
        rng = random_generator(seed)
        together = min(n_words, getattr(box, "max_states", None) or n_words)
        parts = []
        for begin in range(0, n_words, together):
            heard = _Hearing(box)
            n = min(together, n_words - begin)
            tree = PrefixTree.of(sample(heard, n, seed=rng, max_length=max_length)[0])
            # Its nodes are numbered in the order in which they were drawn.
            weights, probabilities = heard.everything()
            weights = _checked(box, tree, weights[tree.node_of_word], probabilities)
            parts.append(cls(tree, weights, None, probabilities))
        return cls.joined(parts)

    @classmethod
    def joined(cls, parts: Sequence[Reference]) -> Reference:
        """Return what one box, which predicts, said of several batches of words."""
        if len(parts) == 1:
            return parts[0]
        tree = PrefixTree.of(Words.concatenate([part.words for part in parts]))
        probabilities = np.empty((len(tree.alphabet) + 1, len(tree)))
        for part in parts:
            assert part.next_symbol is not None
            probabilities[:, tree.find(part.tree)] = part.next_symbol
        return cls(tree, np.concatenate([part.weights for part in parts]), None, probabilities)

    def __repr__(self) -> str:
        return f"Reference({len(self.weights)} words, {self.n_prefixes} prefixes)"

    @cached_property
    def words(self) -> Words:
        """The words themselves."""
        return self.tree.words(self.tree.node_of_word)

    @cached_property
    def leaks(self) -> bool:
        """Whether the box gives probability to symbols outside the alphabet."""
        return self.next_symbol is not None and bool(leak_of(self.next_symbol.T).any())

    @cached_property
    def n_prefixes(self) -> int:
        """The number of prefixes of all words, λ and the whole words included."""
        return int(self.tree.depth[self.tree.node_of_word].sum()) + len(self.weights)

    @cached_property
    def _negligible(self) -> FloatArray:
        if self.negligible is not None:
            return self.negligible
        lengths = self.tree.depth[self.tree.node_of_word]
        return metrics.sizes_by_length(self.weights, lengths, lengths)

    def compare(
        self, automaton: BlackBox | Stepper | AutomatonLike, *, intervals: bool = False
    ) -> Fidelity:
        """Measure how near an automaton is to the box; see `seqray.compare`.

        With ``intervals``, also how sure that is.
        """
        if not isinstance(automaton, BlackBox | Stepper):
            automaton = as_automaton(automaton)
        if automaton.alphabet != self.tree.alphabet:
            raise ArgumentError(
                f"the box reads {self.tree.alphabet}, the automaton {automaton.alphabet}: "
                "expected the same symbols in the same order"
            )
        # Weights that leak, without what goes elsewhere, do not say how probable a next symbol is.
        needed = self.next_symbol is not None and (not self.leaks or predicts(automaton))
        answers = _answers(automaton, self.tree, needed)
        found = self._measure(*answers)
        if not intervals:
            return found
        return replace(found, intervals=self._intervals(*answers, _is_positive(automaton)))

    @cached_property
    def _next(self) -> metrics.NextReference | None:
        if self.next_symbol is None:
            return None
        return metrics.NextReference.of(self.next_symbol, self.tree.counts().T)

    def _measure(self, weights: FloatArray, probabilities: FloatArray | None) -> Fidelity:
        values = self._word_metrics(weights)
        if self._next is not None and probabilities is not None:
            values |= self._next.measure(probabilities)
        ordered = {name: float(values[name]) for name in MEANINGS if name in values}
        return Fidelity(ordered, len(self.weights), self.n_prefixes)

    def _intervals(
        self, weights: FloatArray, probabilities: FloatArray | None, positive: bool
    ) -> dict[str, Interval]:
        estimates = word_estimates(self.weights, weights, self._distribution)
        if self.next_symbol is not None and probabilities is not None:
            estimates |= next_estimates(self.tree, self.next_symbol, probabilities)
        n_zeros = None if self._distribution is None else int(np.sum(~(weights > 0)))
        found = confidence_intervals(estimates, len(weights), n_zeros=n_zeros, positive=positive)
        return {name: found[name] for name in MEANINGS if name in found}

    @property
    def _distribution(self) -> FloatArray | None:
        """What perplexities are measured against; None where they make no sense."""
        reference = self.weights if self.target is None else self.target
        fits = _can_be_distribution(self.weights) and _can_be_distribution(reference)
        return reference if fits else None

    def _word_metrics(self, weights: FloatArray) -> dict[str, float]:
        box = self.weights
        values = {
            name: getattr(metrics, name)(box, weights)
            for name in ("relative_error", "max_error", "correlation", "sign_agreement")
        }
        values["weight_agreement"] = metrics.weight_agreement(box, weights, self._negligible)
        reference = self._distribution
        if reference is not None:
            values["perplexity"] = metrics.perplexity(reference, weights)
            values["perplexity_box"] = metrics.perplexity(reference, box)
            values["perplexity_ratio"] = values["perplexity_box"] / values["perplexity"]
            values["kl"] = metrics.kl_divergence(reference, weights)
            values["zeros"] = metrics.zeros(weights)
            values["log_error"] = metrics.log_error(box, weights)
        return values


def compare(
    box: BlackBox | AutomatonLike,
    automaton: BlackBox | Stepper | AutomatonLike,
    words: Words | Iterable[Word],
    *,
    target: BlackBox | None = None,
) -> Fidelity:
    """Measure how near an automaton is to a box on words.

    Parameters
    ----------
    box
        What the automaton stands in for.
    automaton
        A `WeightedAutomaton`, what one is in (an extraction, a named automaton, the path of a run
        folder), or anything else over the same alphabet that weighs words.
    words
        The evaluation words. A word that stands there twice counts twice.
    target
        What box and automaton were both made to copy, such as a PAutomaC machine: perplexities
        and ``kl`` are then measured against it, and all else against the box.

    Returns
    -------
    Fidelity
        Every metric that makes sense here: the perplexities, ``kl`` and ``zeros`` only where the
        weights of the box (and of the target) are not negative and not all 0, the next-symbol
        metrics only where both sides predict next symbols.

    Examples
    --------
    >>> box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> near = WeightedAutomaton("ab", [1], [[[0.4]], [[0.35]]], [0.25])
    >>> fidelity = compare(box, near, ["", "a", "b", "ab"])
    >>> fidelity["ndcg5"], fidelity["wer"], round(fidelity["relative_error"], 3)
    (1.0, 0.75, 0.123)
    """
    return Reference.ask(box, words, target).compare(automaton, intervals=True)


def compare_ranks(
    reference: Reference, automaton: WeightedAutomaton, ranks: Iterable[int]
) -> FidelityTable:
    """Measure ``automaton.truncate(rank)`` for each rank; the box is asked nothing.

    See `FidelityTable` for an example.
    """
    ranks = tuple(ranks)
    found = tuple(reference.compare(automaton.truncate(rank)) for rank in ranks)
    return FidelityTable(ranks, found)


def first_near_best(losses: FloatArray, tolerance: float) -> int:
    """Return where the first loss is that is within a tolerance of the smallest.

    >>> first_near_best(np.array([0.5, 0.11, 0.1]), 0.05)
    1
    """
    return int((losses <= losses.min() + tolerance).argmax())


class _Hearing:
    """A box that is sampled, and what it says meanwhile, level by level."""

    def __init__(self, box: PredictingStepper) -> None:
        self.box, self.alphabet = box, box.alphabet
        self._weights: list[FloatArray] = []
        self._probabilities: list[FloatArray] = []
        self._unheard: States = None

    def start(self) -> States:
        self._unheard = self.box.start()
        return self._unheard

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        self._unheard = self.box.step(states, parents, symbols)
        return self._unheard

    def state_weights(self, states: States) -> FloatArray:
        return self.box.state_weights(states)

    def state_next_symbol(self, states: States) -> FloatArray:
        self._weights.append(self.box.state_weights(states))
        self._probabilities.append(self.box.state_next_symbol(states))
        self._unheard = None
        return self._probabilities[-1]

    def everything(self) -> tuple[FloatArray, FloatArray]:
        """Return the weights, and what comes next, ``(n_symbols + 1, n_nodes)``."""
        if self._unheard is not None:  # where words were cut
            self.state_next_symbol(self._unheard)
        probabilities = np.ascontiguousarray(np.concatenate(self._probabilities).T)
        return np.concatenate(self._weights), probabilities


class _Answers(NamedTuple):
    """What one side says: weights of words, and next symbols, ``(n_symbols + 1, n_nodes)``."""

    weights: FloatArray
    next_symbol: FloatArray | None


def _answers(box: Any, tree: PrefixTree, needed: bool) -> _Answers:
    """Ask anything that weighs words, in the cheapest way it allows; next symbols if needed."""
    probabilities: FloatArray | None = None
    weights: FloatArray
    if isinstance(box, PredictingStepper) and needed:
        weights = np.empty(len(tree))
        probabilities = np.empty((len(tree.alphabet) + 1, len(tree)))
        for nodes, states in walk(box, tree, box.start()):
            if isinstance(box, WeightedAutomaton):
                weights[nodes], probabilities[:, nodes] = box.read_states(states)
            else:
                weights[nodes] = box.state_weights(states)
                probabilities.T[nodes] = box.state_next_symbol(states)
        weights = weights[tree.node_of_word]
    elif isinstance(box, Stepper):
        weights = collect(box, tree, box.state_weights)[tree.node_of_word]
    else:
        distinct, which = np.unique(tree.node_of_word, return_inverse=True)
        return _Answers(query_weights(box, tree.words(distinct))[which], None)
    if isinstance(box, WeightedAutomaton):
        return _Answers(np.clip(weights, -MAX_WEIGHT, MAX_WEIGHT), probabilities)
    return _Answers(_checked(box, tree, weights, probabilities), probabilities)


def _checked(
    box: object, tree: PrefixTree, weights: FloatArray, probabilities: FloatArray | None
) -> FloatArray:
    """Return the weights that a box gave to the words of a tree, if they can be used."""
    who, words = name_of(box), tree.words(tree.node_of_word)
    if (
        probabilities is not None and not np.isfinite(probabilities).all()
    ):  # let the error name the prefix
        checked_answers(probabilities.T, tree.words(), probabilities.T.shape, who)
    return checked_answers(weights, words, (len(words),), who)


def _is_positive(automaton: object) -> bool:
    """Whether an automaton can give no weight below 0; other models say what is one."""
    if not isinstance(automaton, WeightedAutomaton):
        return True
    arrays = (automaton.initial, automaton.transitions, automaton.final)
    return all(array.min() >= 0 for array in arrays)


def _can_be_distribution(weights: FloatArray) -> bool:
    return bool(weights.min() >= 0 and weights.max() > 0)


def _check_name(name: str, known: Iterable[str]) -> None:
    known = list(known)
    if name not in known:
        near = get_close_matches(str(name), known, n=3, cutoff=0.5) or known
        left_out = " (it makes no sense for this box)" if name in MEANINGS else ""
        raise MissingMetricError(f"no metric {name!r}{left_out}; there are: {', '.join(near)}")
