"""How sure a measured fidelity is: 95 % confidence intervals, from the evaluation words alone.

The evaluation words are a sample. What is estimated is the value that a metric would have with
infinitely many words like them; for metrics that are normalised over the evaluation words, such as
``kl``, that is the limit of longer and longer samples. Whole words are drawn again or left out,
never single prefixes: those of one word belong together. Three kinds of metrics:

- means over prefixes (WER, disagreement): the percentile bootstrap;
- the share of words in ``zeros``: Wilson's interval, which holds for rare events, too;
- skewed metrics above 0 (`SKEWED`): two intervals that are each a little short are joined,
  the bootstrap's, and one that is normal in the logarithm, with the error of a jackknife over
  groups of words. NDCG is treated by what it lacks to 1: near 1 that is rare, and skewed.

An automaton with negative weights may give a word or a next symbol a weight that is not positive.
That counts about 100 bits, however rare it is, so a sample in which it does not occur says nothing
of it: ``kl``, ``perplexity_ratio`` and ``kl_per_symbol`` have no interval there. Fewer than
`MIN_WORDS` words have none at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from seqray.automata.probabilities import leak_of
from seqray.automata.tree import PrefixTree
from seqray.fidelity import metrics
from seqray.util.arrays import FloatArray

LEVEL = 0.95
"""The share of samples within an interval."""

SAMPLES = 400
"""How often words are drawn again."""

MIN_WORDS = 20
"""Fewer evaluation words than this say nothing about how sure a metric is."""

GROUPS = 50
"""Groups of words, each of which is left out once."""

SKEWED = ("relative_error", "kl", "perplexity_ratio", "kl_per_symbol")
"""Metrics above 0 whose logarithm is closer to normal than they are themselves."""

BELOW_1 = ("ndcg1", "ndcg5")
"""Metrics up to 1; what they lack to it is skewed in the same way."""

NEEDS_POSITIVE = ("kl", "perplexity_ratio", "kl_per_symbol")
"""Metrics in which one weight that is not positive counts about 100 bits."""

_QUANTILE = 1.96  # of the normal distribution, for `LEVEL`
_GROUPED_QUANTILE = 2.01  # of Student's distribution with `GROUPS` - 1 degrees of freedom

_TOGETHER = 2**21  # numbers drawn at once, so that memory is bounded

Interval: TypeAlias = tuple[float, float]
Estimate: TypeAlias = Callable[[FloatArray], FloatArray]
"""Takes how often each word was drawn, ``(n_samples, n_words)``; returns the metric of each."""


def confidence_intervals(
    estimates: Mapping[str, Estimate], n_words: int, *, n_zeros: int | None, positive: bool
) -> dict[str, Interval]:
    """Return the interval of each metric that has one.

    Parameters
    ----------
    estimates
        By name, how to measure each.
    n_words
        How many evaluation words there are.
    n_zeros
        How many of them count for ``zeros``; None where that is not measured.
    positive
        Whether the automaton's weights are all at least 0.
    """
    if n_words < MIN_WORDS:
        return {}
    left_out = () if positive else NEEDS_POSITIVE
    estimates = {name: e for name, e in estimates.items() if name not in left_out}
    found = bootstrap(estimates, n_words)
    for name in [name for name in (*SKEWED, *BELOW_1) if name in found]:
        ends = found.pop(name)
        if name in BELOW_1 and ends[0] == 1:  # nothing is lost on any word
            found[name] = ends
        elif (others := _skewed(estimates[name], n_words, name in BELOW_1)) is not None:
            found[name] = min(ends[0], others[0]), max(ends[1], others[1])
    if n_zeros is not None:
        found["zeros"] = wilson(n_zeros, n_words)
    return found


def wilson(n_hits: int, n_words: int) -> Interval:
    """Return Wilson's interval of a share of words.

    >>> [round(end, 4) for end in wilson(0, 500)]
    [0.0, 0.0076]
    """
    share, square = n_hits / n_words, _QUANTILE**2
    middle = share + square / (2 * n_words)
    half = _QUANTILE * np.sqrt(share * (1 - share) / n_words + square / (4 * n_words**2))
    low, high = (float((middle + sign * half) / (1 + square / n_words)) for sign in (-1, 1))
    return (low if n_hits else 0.0), (high if n_hits < n_words else 1.0)


def _skewed(estimate: Estimate, n_words: int, below_1: bool) -> Interval | None:
    """Return the interval by the logarithm of a metric above 0, or of what one lacks to 1."""
    if not below_1:
        return _log_normal(estimate, n_words)
    lacks = _log_normal(lambda drawn: 1 - estimate(drawn), n_words)
    return None if lacks is None else (1 - lacks[1], 1 - lacks[0])


def _log_normal(estimate: Estimate, n_words: int) -> Interval | None:
    """Return an interval of a metric above 0 by its logarithm; None where it has none."""
    group = np.random.default_rng(0).permutation(n_words) % GROUPS
    left = (group != np.arange(min(GROUPS, n_words))[:, None]).astype(float)
    value, values = estimate(np.ones((1, n_words)))[0], estimate(left)
    if not (value > 0 and (values > 0).all() and np.isfinite(values).all()):
        return None
    logs = np.log(values)
    error = np.sqrt((len(logs) - 1) * np.mean((logs - logs.mean()) ** 2))
    low, high = (float(value * np.exp(sign * _GROUPED_QUANTILE * error)) for sign in (-1, 1))
    return low, high


def bootstrap(
    estimates: Mapping[str, Estimate], n_words: int, *, seed: int = 0
) -> dict[str, Interval]:
    """Return the interval of each metric that every sample has a value of.

    Parameters
    ----------
    estimates
        By name, how to measure each.
    n_words
        How many evaluation words there are.
    seed
        Of the drawing.

    Examples
    --------
    >>> heights = np.arange(100.0)
    >>> low, high = bootstrap({"mean": ratio(heights, np.ones(100))}, 100)["mean"]
    >>> 43 < low < 46 and 53 < high < 56
    True
    """
    rng = np.random.default_rng(seed)
    found: dict[str, list[FloatArray]] = {name: [] for name in estimates}
    step = max(1, min(SAMPLES, _TOGETHER // n_words))
    for begin in range(0, SAMPLES, step):
        n_samples = min(step, SAMPLES - begin)
        drawn = rng.multinomial(n_words, np.full(n_words, 1 / n_words), n_samples).astype(float)
        for name, estimate in estimates.items():
            found[name].append(estimate(drawn))
    every = {name: np.concatenate(parts) for name, parts in found.items()}
    return {name: _middle(values) for name, values in every.items() if not np.isnan(values).any()}


def _middle(values: FloatArray) -> Interval:
    """Return the ends of the middle part of values, some of which may be infinite."""
    cut = int(len(values) * (1 - LEVEL) / 2)
    ordered = np.sort(values)
    return float(ordered[cut]), float(ordered[-1 - cut])


def ratio(above: FloatArray, below: FloatArray) -> Estimate:
    """Measure a sum over words divided by another."""
    return lambda drawn: (drawn @ above) / (drawn @ below)


def along_words(tree: PrefixTree, values: FloatArray) -> FloatArray:
    """Sum one value a node over the prefixes of each word, itself included, ``(n_words,)``.

    >>> from seqray.automata.words import Alphabet
    >>> tree = PrefixTree.of(Alphabet("ab").words(["ab", "", "a"]))
    >>> along_words(tree, np.array([1.0, 10.0, 100.0]))
    array([111.,   1.,  11.])
    """
    sums = np.array(values, float)
    for begin, end in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        sums[begin:end] += sums[tree.parent[begin:end]]
    return sums[tree.node_of_word]


def next_estimates(
    tree: PrefixTree, probabilities: FloatArray, predicted: FloatArray
) -> dict[str, Estimate]:
    """Return how to measure the metrics of next symbols.

    Parameters
    ----------
    tree
        The evaluation words.
    probabilities, predicted
        What box and automaton say comes next at each node, ``(n_symbols + 1, n_nodes)``.
    """
    place, own = metrics.places(predicted.T), metrics.places(probabilities.T)
    first = place.argmin(axis=1)
    by_node = {
        f"ndcg{n}": metrics.gain_ratio(
            metrics.discounted_gain(probabilities.T, place, n),
            metrics.discounted_gain(probabilities.T, own, n),
        )
        for n in (1, 5)
    }
    by_node["disagreement"] = (first != own.argmin(axis=1)).astype(float)
    by_node["kl_per_symbol"] = metrics.divergences(probabilities.T, predicted.T)
    leak = leak_of(probabilities.T)
    if leak.any():
        by_node["elsewhere"] = metrics.elsewhere_errors(leak, predicted.T)
    n_prefixes = along_words(tree, np.ones(len(tree)))
    found = {name: ratio(along_words(tree, v), n_prefixes) for name, v in by_node.items()}
    # A wrong guess belongs to the node that comes next, and at the end of a word to the word.
    wrong = np.zeros(len(tree))
    wrong[1:] = first[tree.parent[1:]] != tree.symbol[1:]
    wrong_end = first[tree.node_of_word] != len(tree.alphabet)
    found["wer"] = ratio(along_words(tree, wrong) + wrong_end, n_prefixes)
    return found


def word_estimates(
    box: FloatArray, automaton: FloatArray, reference: FloatArray | None
) -> dict[str, Estimate]:
    """Return how to measure the metrics of whole words.

    Parameters
    ----------
    box, automaton
        Their weights of the words.
    reference
        What perplexities are measured against, the box or a target; None: nothing.
    """
    largest = float(max(np.abs(box).max(), np.abs(automaton).max())) or 1.0
    error, size = (box / largest - automaton / largest) ** 2, (box / largest) ** 2

    def relative_error(drawn: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.asarray(np.sqrt((drawn @ error) / (drawn @ size)))

    found: dict[str, Estimate] = {"relative_error": relative_error}
    if reference is not None:
        p, q, b = (metrics.log_distribution(each) for each in (reference, automaton, box))
        found["perplexity_ratio"] = lambda drawn: np.exp2(_bits(drawn, p, b) - _bits(drawn, p, q))
        found["kl"] = lambda drawn: _bits(drawn, p, q) - _bits(drawn, p, p)
    return found


def _bits(drawn: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
    """Return −Σ p log₂ q over each sample, both of them normalised there."""
    mass = drawn @ np.exp2(p)
    total = np.log2(drawn @ np.exp2(q))
    with np.errstate(divide="ignore", invalid="ignore"):
        return total - (drawn @ (np.exp2(p) * q)) / mass
