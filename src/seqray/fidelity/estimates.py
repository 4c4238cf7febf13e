"""Each metric as a function of sums over words, for its confidence interval.

See `seqray.fidelity.intervals`.
"""

from __future__ import annotations

import numpy as np

from seqray.automata.probabilities import leak_of
from seqray.automata.tree import PrefixTree
from seqray.fidelity import next_symbol_metrics as next_metrics
from seqray.fidelity.intervals import Estimate
from seqray.util.arrays import FloatArray


def ratio(above: FloatArray, below: FloatArray) -> Estimate:
    """Return the estimate of a sum over words divided by another sum."""
    return Estimate((above, below), np.divide)


def _loss(above: FloatArray, below: FloatArray) -> Estimate:
    """Return the estimate of a ratio that is at least 0, but for rounding."""
    return Estimate((above, below), lambda loss, size: np.maximum(0.0, loss / size))


def along_words(tree: PrefixTree, values: FloatArray) -> FloatArray:
    """Return the sums of one value per node over the prefixes of each word, ``(n_words,)``.

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
    """Return the estimates of the metrics of next symbols, by name.

    Parameters
    ----------
    tree
        The evaluation words.
    probabilities, predicted
        What box and automaton say comes next at each node, ``(n_symbols + 1, n_nodes)``.
    """
    first, gains = next_metrics.first_and_gains(predicted, probabilities)
    own, ideal = next_metrics.first_and_gains(probabilities, probabilities)
    by_node = {f"ndcg{n}": next_metrics.gain_ratio(gains[n], ideal[n]) for n in (1, 5)}
    by_node["disagreement"] = (first != own).astype(float)
    leak = leak_of(probabilities.T)
    if leak.any():
        by_node["elsewhere"] = next_metrics.elsewhere_errors(leak, predicted.T)
    n_prefixes = along_words(tree, np.ones(len(tree)))
    estimates = {name: ratio(along_words(tree, v), n_prefixes) for name, v in by_node.items()}
    bits = along_words(tree, next_metrics.divergences(probabilities.T, predicted.T))
    estimates["kl_per_symbol"] = _loss(bits, n_prefixes)
    estimates["kl_per_word"] = _loss(bits, np.ones(len(bits)))
    # A wrong guess belongs to the node that comes next, and at the end of a word to the word.
    wrong = np.zeros(len(tree))
    wrong[1:] = first[tree.parent[1:]] != tree.symbol[1:]
    wrong_end = first[tree.node_of_word] != len(tree.alphabet)
    estimates["wer"] = ratio(along_words(tree, wrong) + wrong_end, n_prefixes)
    return estimates


def zeros_estimate(automaton: FloatArray) -> Estimate:
    """Return the estimate of the share of words with no positive weight, given all weights."""
    return ratio((~(automaton > 0)).astype(float), np.ones(len(automaton)))
