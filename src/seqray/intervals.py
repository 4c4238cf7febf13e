"""How sure a measured fidelity is: bootstrap intervals, by drawing the evaluation words again.

The evaluation words are a sample. Drawing as many from them again, with repetition, and measuring
anew, a few hundred times, shows how much a metric would move with another sample. Whole words are
drawn, never single prefixes: those of one word belong together. Nothing is asked for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from seqray import metrics
from seqray.arrays import FloatArray
from seqray.stepper import leak_of
from seqray.tree import PrefixTree

LEVEL = 0.95
"""The share of samples within an interval."""

SAMPLES = 400
"""How often words are drawn again."""

_TOGETHER = 2**21  # numbers drawn at once, so that memory is bounded

Interval: TypeAlias = tuple[float, float]
Estimate: TypeAlias = Callable[[FloatArray], FloatArray]
"""Takes how often each word was drawn, ``(n_samples, n_words)``; returns the metric of each."""


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

    >>> from seqray.words import Alphabet
    >>> tree = PrefixTree.of(Alphabet("ab").words(["ab", "", "a"]))
    >>> along_words(tree, np.array([1.0, 10.0, 100.0]))
    array([111.,   1.,  11.])
    """
    sums = np.array(values, float)
    for begin, end in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        sums[begin:end] += sums[tree.parent[begin:end]]
    return sums[tree.node_of_word]


def next_estimates(
    tree: PrefixTree, chances: FloatArray, predicted: FloatArray
) -> dict[str, Estimate]:
    """Return how to measure the metrics of next symbols.

    Parameters
    ----------
    tree
        The evaluation words.
    chances, predicted
        What box and automaton say comes next at each node, ``(n_symbols + 1, n_nodes)``.
    """
    place, own = metrics.places(predicted.T), metrics.places(chances.T)
    first = place.argmin(axis=1)
    by_node = {
        f"ndcg{n}": metrics.gain_ratio(
            metrics.discounted_gain(chances.T, place, n), metrics.discounted_gain(chances.T, own, n)
        )
        for n in (1, 5)
    }
    by_node["disagreement"] = (first != own.argmin(axis=1)).astype(float)
    by_node["kl_per_symbol"] = metrics.divergences(chances.T, predicted.T)
    leak = leak_of(chances.T)
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
    with np.errstate(over="ignore"):
        error, size = (box - automaton) ** 2, box**2

    def relative_error(drawn: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.sqrt((drawn @ error) / (drawn @ size))

    found: dict[str, Estimate] = {"relative_error": relative_error}
    if reference is not None:
        p, q, b = (metrics.log_distribution(each) for each in (reference, automaton, box))
        found["zeros"] = ratio((automaton <= 0).astype(float), np.ones(len(box)))
        found["perplexity_ratio"] = lambda drawn: np.exp2(_bits(drawn, p, b) - _bits(drawn, p, q))
        found["kl"] = lambda drawn: _bits(drawn, p, q) - _bits(drawn, p, p)
    return found


def _bits(drawn: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
    """Return −Σ p log₂ q over each sample, both of them normalised there."""
    mass = drawn @ np.exp2(p)
    total = np.log2(drawn @ np.exp2(q))
    with np.errstate(divide="ignore", invalid="ignore"):
        return total - (drawn @ (np.exp2(p) * q)) / mass
