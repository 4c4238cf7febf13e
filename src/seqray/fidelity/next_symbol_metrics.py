"""Metrics of next symbols: pure functions on arrays of probabilities.

Arrays have shape ``(n_nodes, n_symbols + 1)``, one row per distinct prefix (a node of a
`PrefixTree`) and the end last; ``counts`` says how often each node is a prefix, so that averages
run over every prefix of every word. Logarithms have base 2: divergences are in bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from seqray.automata.probabilities import leak_of
from seqray.fidelity.word_metrics import SMALLEST_WEIGHT, check_shapes, without_rounding
from seqray.util.arrays import FloatArray, IntArray

NODES_PER_CHUNK = 32768
"""Nodes that are measured at once: few enough for the processor's cache."""

MAX_NUMBERS_PER_CHUNK = 2**23
"""Probabilities that are measured at once, which are fewer nodes where there are many symbols."""

MAX_PAIRWISE_SYMBOLS = 32
"""Up to this many next symbols are ordered by comparing each pair, more by sorting."""

NODES_TO_SEARCH = 256
"""Nodes that are searched for their best symbols at once."""


def places(probabilities: FloatArray) -> IntArray:
    """Return the place of each next symbol when ordered by weight, largest first, from 0.

    Equal weights stand in the order of their codes. The shape is that of ``probabilities``.
    Arrays with nodes along the fast axis (Fortran order) are read fastest.

    >>> places(np.array([[0.2, 0.5, 0.2, 0.1]]))
    array([[1, 0, 2, 3]], dtype=uint8)
    """
    columns = probabilities.T
    if len(columns) > MAX_PAIRWISE_SYMBOLS:
        order = np.argsort(-columns, axis=0, kind="stable")
        return np.argsort(order, axis=0, kind="stable").T
    place = np.empty(columns.shape, np.uint8)
    place[:] = np.arange(len(columns))[:, None]
    # A symbol falls one place behind each later one that outweighs it, and that one moves ahead.
    for early, late in combinations(range(len(columns)), 2):
        outweighs = (columns[late] > columns[early]).view(np.uint8)
        place[early] += outweighs
        place[late] -= outweighs
    return place.T


def best_symbols(columns: FloatArray, n: int) -> IntArray:
    """Return the codes of the n best next symbols of each node, best first, ``(n, n_nodes)``.

    ``columns`` has one row per symbol, and nodes along the fast axis. Equal weights stand in the
    order of their codes, as in `places`; that takes no sort of thousands of symbols.

    >>> best_symbols(np.array([[0.2], [0.5], [0.2], [0.1]]), 3).ravel()
    array([1, 0, 2])
    """
    best = np.empty((min(n, len(columns)), columns.shape[1]), np.int64)
    for begin in range(0, columns.shape[1], NODES_TO_SEARCH):
        rows = np.array(columns[:, begin : begin + NODES_TO_SEARCH].T, order="C")
        nodes = np.arange(len(rows))
        for each in best[:, begin : begin + NODES_TO_SEARCH]:
            each[:] = rows.argmax(axis=1)
            rows[nodes, each] = -np.inf
    return best


def discounted_gain(reference_next: FloatArray, place: IntArray, n: int) -> FloatArray:
    """Return Σ p(σ) / log₂(k + 1) over the symbols at places k = 1 … n, shape ``(n_nodes,)``.

    ``place`` counts from 0, as `places` does.

    >>> discounted_gain(np.array([[0.5, 0.25, 0.25]]), np.array([[1, 0, 2]]), 1)
    array([0.25])
    """
    check_shapes(reference_next, place)
    discounts = np.zeros(place.shape[1])
    top = min(n, len(discounts))
    discounts[:top] = 1 / np.log2(np.arange(2, top + 2))
    gain = np.zeros(len(place))
    for probability, where in zip(reference_next.T, place.T, strict=True):
        gain += probability * discounts.take(where)
    return gain


def gain_of_best(reference_next: FloatArray, best: IntArray) -> FloatArray:
    """Return the `discounted_gain` of the best symbols at each node, ``(n_nodes,)``.

    ``reference_next`` has one row per symbol, as ``best`` has one per place (`best_symbols`).

    >>> gain_of_best(np.array([[0.5], [0.25], [0.25]]), np.array([[1]]))
    array([0.25])
    """
    discounts = 1 / np.log2(np.arange(2, len(best) + 2))
    nodes = np.arange(reference_next.shape[1])
    gain = np.zeros(len(nodes))
    for discount, codes in zip(discounts, best, strict=True):
        gain += discount * reference_next[codes, nodes]
    return gain


def ndcg(
    reference_next: FloatArray, probabilities: FloatArray, counts: FloatArray, n: int
) -> float:
    """Return NDCG_n: the gain of the predicted n best next symbols over the best possible gain.

    The order is that of the predicted weights ``probabilities``, the gain is measured with the
    reference's probabilities. Averaged over prefixes; where no gain is possible it counts 1.
    ``n`` beyond the number of next symbols is cut to it.

    >>> reference = np.array([[0.5, 0.25, 0.25]])
    >>> ndcg(reference, np.array([[0.1, 0.8, 0.1]]), np.array([7.0]), 1)
    0.5
    """
    check_shapes(reference_next, probabilities)
    ideal = discounted_gain(reference_next, places(reference_next), n)
    return average(
        gain_ratio(discounted_gain(reference_next, places(probabilities), n), ideal), counts
    )


def gain_ratio(gain: FloatArray, ideal: FloatArray) -> FloatArray:
    """Return ``gain / ideal``, and 1 where ``ideal`` is 0.

    >>> gain_ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    array([0.5, 1. ])
    """
    return np.divide(gain, ideal, out=np.ones_like(gain), where=ideal != 0)


def word_error_rate(probabilities: FloatArray, follows: FloatArray) -> float:
    """Return the share of next symbols, ends included, that are not the first choice.

    ``follows`` is `seqray.automata.tree.PrefixTree.counts`, shape ``(n_nodes, n_symbols + 1)``.

    >>> word_error_rate(np.array([[0.6, 0.4]]), np.array([[3.0, 1.0]]))
    0.25
    """
    check_shapes(probabilities, follows)
    first = probabilities.argmax(axis=1)
    return 1 - float(follows[np.arange(len(follows)), first].sum() / follows.sum())


def disagreement(
    reference_next: FloatArray, probabilities: FloatArray, counts: FloatArray
) -> float:
    """Return the share of prefixes after which the two first choices differ.

    >>> disagreement(np.array([[0.6, 0.4]]), np.array([[0.3, 0.7]]), np.array([2.0]))
    1.0
    """
    check_shapes(reference_next, probabilities)
    return average(reference_next.argmax(axis=1) != probabilities.argmax(axis=1), counts)


def kl_per_symbol(
    reference_next: FloatArray, probabilities: FloatArray, counts: FloatArray
) -> float:
    """Return the `divergences` of the next symbols, averaged over prefixes, in bits per symbol.

    On words drawn from the reference this estimates the divergence of the two distributions of
    words, divided by the mean number of symbols of a word, its end included.

    >>> kl_per_symbol(np.array([[1.0, 0.0]]), np.array([[0.25, 0.75]]), np.array([3.0]))
    2.0
    """
    return without_rounding(average(divergences(reference_next, probabilities), counts))


def kl_per_word(
    reference_next: FloatArray, probabilities: FloatArray, follows: FloatArray
) -> float:
    """Return the `divergences` of the next symbols, summed over the prefixes of a word, in bits.

    The mean over words. On words drawn from the reference P it estimates the divergence from P to
    the prediction Q, the mean of log₂ P(w) / Q(w), and varies less than that mean does. ``follows``
    is `seqray.automata.tree.PrefixTree.counts`, shape ``(n_nodes, n_symbols + 1)``.

    >>> follows = np.array([[3.0, 1.0]])  # one word, of three symbols
    >>> kl_per_word(np.array([[0.75, 0.25]]), np.array([[0.375, 0.25]]), follows)
    3.0
    """
    counts = follows.sum(axis=1)
    n_prefixes, n_words = counts.sum(), follows[:, -1].sum()
    return kl_per_symbol(reference_next, probabilities, counts) * float(n_prefixes / n_words)


def divergences(reference_next: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return Σ p log₂(p / q) of the next symbols at each node in bits, shape ``(n_nodes,)``.

    Predicted entries below `SMALLEST_WEIGHT` count as that. Those of a row with negative entries
    sum to more than one without these: they are scaled to one, so that no divergence is negative.
    Reference entries that are not positive add nothing. Where the reference leaks, what it lacks to
    sum to one is one more outcome, and so is what the prediction lacks.

    >>> divergences(np.array([[1.0, 0.0]]), np.array([[0.25, 0.75]]))
    array([2.])
    >>> divergences(np.array([[0.5, 0.5, 0.0]]), np.array([[1.0, 1.0, -1.0]]))
    array([0.])
    >>> divergences(np.array([[0.5, 0.0]]), np.array([[0.25, 0.25]]))
    array([0.5])
    """
    check_shapes(reference_next, probabilities)
    parts = [
        _divergences(reference_next[here], probabilities[here])
        for here in chunks(*reference_next.shape)
    ]
    return np.concatenate(parts)


def chunks(n_nodes: int, n_symbols: int) -> Iterator[slice]:
    """Yield parts of the nodes, few enough that their probabilities take little memory.

    >>> [here.stop - here.start for here in chunks(40_000, 3)]
    [32768, 7232]
    """
    size = max(1, min(NODES_PER_CHUNK, MAX_NUMBERS_PER_CHUNK // n_symbols))
    for begin in range(0, n_nodes, size):
        yield slice(begin, min(n_nodes, begin + size))


def _divergences(reference_next: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return the divergence of the next symbols at some nodes."""
    p = np.maximum(reference_next, 0)
    q = np.maximum(probabilities, SMALLEST_WEIGHT)
    bits = np.log2(np.maximum(p, SMALLEST_WEIGHT)) - np.log2(q)
    scaled = p.sum(axis=1) * _bits_of_scale(q.sum(axis=1))
    leaked = _leaked_bits(leak_of(reference_next), probabilities)
    return np.asarray((p * bits).sum(axis=1) + scaled + leaked)


def _bits_of_scale(totals: FloatArray) -> FloatArray:
    """Return log₂ of what rows with these sums are divided by: a sum above one, else one."""
    return np.asarray(np.log2(np.maximum(totals, 1.0)))


def _leaked_bits(leak: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return p log₂(p / q) of the outcome elsewhere at each node, shape ``(n_nodes,)``."""
    rest = np.maximum(1 - np.maximum(probabilities, 0).sum(axis=1), SMALLEST_WEIGHT)
    return np.asarray(leak * (np.log2(np.maximum(leak, SMALLEST_WEIGHT)) - np.log2(rest)))


def average(values: FloatArray, counts: FloatArray) -> float:
    """Return the mean of one value per node, each counted as often as its node is a prefix.

    >>> average(np.array([1.0, 0.0]), np.array([3.0, 1.0]))
    0.75
    """
    check_shapes(values, counts)
    return float(values @ counts / counts.sum())


def elsewhere_errors(leak: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return |leak of the predictions − leak of the reference| at each node.

    >>> elsewhere_errors(np.array([0.5]), np.array([[0.25, 0.5]]))
    array([0.25])
    """
    return np.asarray(np.abs(leak - (1 - probabilities.sum(axis=1))))


def elsewhere(
    reference_next: FloatArray, probabilities: FloatArray, counts: FloatArray
) -> float | None:
    """Return the mean of `elsewhere_errors` over prefixes; None if the reference does not leak.

    >>> elsewhere(np.array([[0.25, 0.25]]), np.array([[0.25, 0.5]]), np.array([2.0]))
    0.25
    """
    leak = leak_of(reference_next)
    if not leak.any():
        return None
    return average(elsewhere_errors(leak, probabilities), counts)


class NextSymbolReference(NamedTuple):
    """What the next-symbol metrics need of the box, prepared once for any number of automata.

    All have nodes along the fast axis. Averages over prefixes are products with weights that hold
    the counts already, so that each automaton costs few passes over its predictions.

    Examples
    --------
    >>> follows = np.array([[3.0], [1.0]])
    >>> reference = NextSymbolReference.of(np.array([[0.5], [0.5]]), follows)
    >>> reference.measure(np.array([[0.25], [0.75]]))["wer"]
    0.75
    """

    probabilities: FloatArray  # p(σ | node), shape (n_symbols + 1, n_nodes)
    follows: FloatArray  # how often σ follows the node, the same shape
    first: IntArray  # the box's first choice
    visits: FloatArray  # the share of each node among all prefixes
    per_gain: dict[int, FloatArray]  # visits / ideal gain, for NDCG₁ and NDCG₅
    no_gain: dict[int, float]  # the share of prefixes where no gain is possible: they count 1
    per_bit: FloatArray  # visits · p, what log₂ q is summed with
    per_scale: FloatArray  # visits · Σ p, what the logarithm of a row's scale is summed with
    own_bits: float  # Σ visits · p · log₂ p
    entropy: float  # −Σ visits · p · log₂ p, elsewhere one of the outcomes
    word_length: float  # the mean number of prefixes of a word
    wer: float
    leak: FloatArray  # the probability of symbols outside the alphabet

    @classmethod
    def of(cls, probabilities: FloatArray, follows: FloatArray) -> NextSymbolReference:
        """Prepare a box's next-symbol probabilities; both of shape ``(n_symbols + 1, n_nodes)``."""
        visits = follows.sum(axis=0)
        visits /= visits.sum()
        first, ideal = first_and_gains(probabilities, probabilities)
        per_gain = {
            n: np.divide(visits, gain, out=np.zeros_like(gain), where=gain != 0)
            for n, gain in ideal.items()
        }
        per_bit = np.maximum(probabilities, 0) * visits
        bits = np.maximum(probabilities, SMALLEST_WEIGHT)
        own_bits = np.vdot(per_bit, np.log2(bits, out=bits))
        leak = leak_of(probabilities.T)
        leak_bits = (visits * leak) @ np.log2(np.maximum(leak, SMALLEST_WEIGHT))
        return cls(
            probabilities,
            follows,
            first,
            visits,
            per_gain,
            {n: float(visits[gain == 0].sum()) for n, gain in ideal.items()},
            per_bit,
            per_bit.sum(axis=0),
            float(own_bits),
            max(0.0, -float(own_bits + leak_bits)),
            float(follows.sum() / follows[-1].sum()),
            word_error_rate(probabilities.T, follows.T),
            leak,
        )

    def measure(self, predicted: FloatArray) -> dict[str, float]:
        """Return the metrics that every extraction needs often, by name."""
        n_symbols, n_nodes = predicted.shape
        sums = sum(self._sums(predicted, here) for here in chunks(n_nodes, n_symbols))
        ndcg1, ndcg5, right, differ, bits = np.asarray(sums).tolist()
        leaked = float(self.visits @ _leaked_bits(self.leak, predicted.T)) if self.leaks else 0.0
        kl_per_symbol = without_rounding(self.own_bits - bits + leaked)
        return {
            "kl_per_symbol": kl_per_symbol,
            "kl_per_word": kl_per_symbol * self.word_length,
            "ratio_per_symbol": 2.0**-kl_per_symbol,
            "entropy_per_symbol": self.entropy,
            "ndcg1": float(np.minimum(1, ndcg1 + self.no_gain[1])),  # it is, but for rounding
            "ndcg5": float(np.minimum(1, ndcg5 + self.no_gain[5])),
            "wer": 1 - right / float(self.follows.sum()),
            "wer_box": self.wer,
            "disagreement": differ,
        }

    @property
    def leaks(self) -> bool:
        """Whether the box gives probability to symbols outside the alphabet."""
        return bool(self.leak.any())

    def _sums(self, predicted: FloatArray, here: slice) -> FloatArray:
        """Sum what each metric sums, over some nodes: few enough to stay in the cache."""
        predicted, probabilities = predicted[:, here], self.probabilities[:, here]
        first, gains = first_and_gains(predicted, probabilities)
        bits = np.maximum(predicted, SMALLEST_WEIGHT)
        scale = _bits_of_scale(bits.sum(axis=0))
        np.log2(bits, out=bits)
        nodes = np.arange(len(first))
        return np.array(
            [
                probabilities[first, nodes] @ self.per_gain[1][here],
                gains[5] @ self.per_gain[5][here],
                self.follows[:, here][first, nodes].sum(),
                self.visits[here] @ (first != self.first[here]),
                np.einsum("ij,ij->", self.per_bit[:, here], bits) - self.per_scale[here] @ scale,
            ]
        )


def first_and_gains(
    predicted: FloatArray, probabilities: FloatArray
) -> tuple[IntArray, dict[int, FloatArray]]:
    """Return the first choice at each node, and the gains of the first and of the first five.

    Both arrays have one row per symbol.
    """
    if len(predicted) > MAX_PAIRWISE_SYMBOLS:
        best = best_symbols(predicted, 5)
        return best[0], {n: gain_of_best(probabilities, best[:n]) for n in (1, 5)}
    place = places(predicted.T)
    return _first(place), {n: discounted_gain(probabilities.T, place, n) for n in (1, 5)}


def _first(place: IntArray) -> IntArray:
    """Return the code of the symbol that stands first at each node."""
    first = np.zeros(len(place), np.int32)
    for code, where in enumerate(place.T):
        first += np.int32(code) * (where == 0)
    return first
