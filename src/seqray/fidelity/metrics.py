"""How near one function on words is to another: pure functions on arrays.

Arrays of word weights have shape ``(n_words,)``. Next-symbol arrays have shape
``(n_nodes, n_symbols + 1)``, one row per distinct prefix (a node of a `PrefixTree`) and
the end last; ``counts`` says how often each node is a prefix, so that averages run over every
prefix of every word. Logarithms have base 2, as in PAutomaC's perplexity: divergences are in bits,
and ``kl = log₂(perplexity / perplexity of the reference itself)``.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from seqray.automata.probabilities import leak_of
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError

TINY = 1e-30
"""What a weight that is not positive counts as, where a logarithm is taken (paper, section 5.3)."""

CHUNK = 32768
"""How many nodes are measured at once."""

FEW = 32
"""Up to this many next symbols are ordered by comparing each pair, more by sorting."""


# Weights of words --------------------------------------------------------------------------------


def log_distribution(weights: FloatArray) -> FloatArray:
    """Return log₂ of weights as a distribution over their words: raised to `TINY`, normalised.

    Always finite, however small or huge the weights.

    >>> np.exp2(log_distribution(np.array([1.0, 3.0, -1.0]))).round(6)
    array([0.25, 0.75, 0.  ])
    """
    raised = np.where(weights > 0, weights, TINY)
    largest = raised.max()
    total = np.log2(largest) + np.log2((raised / largest).sum())
    return np.asarray(np.log2(raised) - total)


def perplexity(reference: FloatArray, weights: FloatArray) -> float:
    """Return 2^(−Σ p(w) log₂ q(w)), both sides normalised over the words.

    >>> half = np.array([0.5, 0.5])
    >>> perplexity(half, half), perplexity(half, np.array([0.25, 0.25]))
    (2.0, 2.0)
    """
    _same_shape(reference, weights)
    bits = -(np.exp2(log_distribution(reference)) @ log_distribution(weights))
    return float(2.0**bits) if bits < 1024 else np.inf


def kl_divergence(reference: FloatArray, weights: FloatArray) -> float:
    """Return Σ p(w) log₂(p(w) / q(w)) in bits, both sides normalised over the words.

    >>> round(kl_divergence(np.array([1.0, 0.0]), np.array([1.0, 3.0])), 9)
    2.0
    """
    _same_shape(reference, weights)
    p, q = log_distribution(reference), log_distribution(weights)
    return float(np.maximum(0, np.exp2(p) @ (p - q)))  # it is, but for rounding


def zeros(weights: FloatArray) -> float:
    """Return the share of words whose weight is not positive.

    >>> zeros(np.array([0.5, 0.0, -0.1, 0.2]))
    0.5
    """
    return float(np.mean(~(weights > 0)))


def relative_error(reference: FloatArray, weights: FloatArray) -> float:
    """Return ‖f − g‖ / ‖f‖ over the words; where f is 0 everywhere, 0 or infinite.

    >>> relative_error(np.array([3.0, 4.0]), np.array([3.0, 3.0]))
    0.2
    """
    _same_shape(reference, weights)
    largest = max(np.abs(reference).max(), np.abs(weights).max()) or 1.0
    error = _norm(reference / largest - weights / largest)  # no difference overflows
    size = _norm(reference)
    if size == 0:
        return 0.0 if error == 0 else np.inf
    with np.errstate(over="ignore"):
        return float(np.minimum(np.finfo(float).max, error * np.divide(largest, size)))


FAR = 3.0
"""Bits that a logarithm counts as wrong at most: a weight that is not positive is as far off."""


def log_error(reference: FloatArray, weights: FloatArray) -> float:
    """Return the mean of |log₂ f(w) − log₂ g(w)|, at most 3 a word, where f is positive.

    It counts rare words as much as frequent ones; ``nan`` where f is positive nowhere.

    >>> log_error(np.array([0.5, 0.25, 0.0]), np.array([0.25, -0.1, 0.3]))
    2.0
    """
    _same_shape(reference, weights)
    positive = reference > 0
    if not positive.any():
        return float("nan")
    f, g = reference[positive], weights[positive]
    apart = np.log2(np.where(g > 0, g, 1.0)) - np.log2(f)
    return float(np.where(g > 0, np.minimum(FAR, np.abs(apart)), FAR).mean())


def weight_agreement(
    reference: FloatArray, weights: FloatArray, negligible: FloatArray | None = None
) -> float:
    """Return the geometric mean over all words of how nearly both weights agree, ⅛ … 1.

    A word's agreement is 1 − |f − g| / max(|f|, |g|, s), and ⅛ at least. Where both weights are
    positive and above s, it is the smaller one divided by the larger one, so that rare words count
    as much as frequent ones. Where the box gives 0, it is 1 − |g| / s.

    Parameters
    ----------
    reference, weights
        f and g of the words.
    negligible
        s of the words, such as `sizes_by_length`; by default 0.

    Examples
    --------
    >>> weight_agreement(np.array([0.5, 0.2]), np.array([0.25, 0.1])).__round__(12)
    0.5
    >>> weight_agreement(np.array([1.0, 0.0]), np.ones(2), np.ones(2)).__round__(6)
    0.353553
    """
    _same_shape(reference, weights)
    floor = np.zeros(len(reference)) if negligible is None else negligible
    largest = np.maximum(np.maximum(np.abs(reference), np.abs(weights)), floor)
    largest[largest == 0] = 1.0
    agreement = np.maximum(0.5**FAR, 1 - np.abs(reference / largest - weights / largest))
    return float(np.exp2(np.log2(agreement).mean()))


def sizes_by_length(
    weights: FloatArray, lengths: IntArray, at: IntArray, share: float = 0.01
) -> FloatArray:
    """Return a size of weights for each of the lengths ``at``: a quantile of |f|.

    Of the given words that have this length and do not weigh 0, a share is lighter. Between
    lengths that have such words it is interpolated, beyond them it is that of the nearest one;
    where all words weigh 0, it is 0.

    >>> weights = np.array([0.0, -3.0, 4.0, 1.0])
    >>> sizes_by_length(weights, np.array([1, 1, 1, 3]), np.array([0, 1, 3, 9]))
    array([3., 3., 1., 1.])
    """
    _same_shape(weights, lengths)
    sizes = np.abs(weights)
    known = np.unique(lengths[sizes > 0])
    if not len(known):
        return np.zeros(len(at))
    logs = [
        np.quantile(np.log2(sizes[(lengths == n) & (sizes > 0)]), share, method="lower")
        for n in known
    ]
    return np.asarray(np.exp2(np.interp(at, known, logs)))


def max_error(reference: FloatArray, weights: FloatArray) -> float:
    """Return the largest |f(w) − g(w)|.

    >>> max_error(np.array([3.0, 4.0]), np.array([3.0, 3.5]))
    0.5
    """
    _same_shape(reference, weights)
    with np.errstate(over="ignore"):
        return float(np.minimum(np.finfo(float).max, np.abs(reference - weights).max()))


def correlation(reference: FloatArray, weights: FloatArray) -> float:
    """Return Pearson's correlation over the words; ``nan`` where a side is constant.

    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([-1.0, -2.0, -3.0])), 12)
    -1.0
    """
    _same_shape(reference, weights)
    if np.ptp(reference) == 0 or np.ptp(weights) == 0:
        return float("nan")
    f, g = reference / np.abs(reference).max(), weights / np.abs(weights).max()
    f, g = f - f.mean(), g - g.mean()
    return float(f @ g / (_norm(f) * _norm(g)))


def sign_agreement(reference: FloatArray, weights: FloatArray) -> float:
    """Return the share of words where both weights are positive, both negative or both 0.

    Where the reference is 0, what is within rounding of 0 counts as 0.

    >>> sign_agreement(np.array([1.0, -1.0, 0.0]), np.array([0.5, 1.0, 0.0])).__round__(3)
    0.667
    """
    _same_shape(reference, weights)
    nothing = np.abs(weights) <= 1e-12 * np.abs(reference).max()
    return float(np.mean((np.sign(reference) == np.sign(weights)) | ((reference == 0) & nothing)))


# Next symbols ------------------------------------------------------------------------------------


def places(probabilities: FloatArray) -> IntArray:
    """Return the place of each next symbol when ordered by weight, largest first, from 0.

    Equal weights stand in the order of their codes. The shape is that of ``probabilities``. Arrays with
    nodes along the fast axis (Fortran order) are read fastest.

    >>> places(np.array([[0.2, 0.5, 0.2, 0.1]]))
    array([[1, 0, 2, 3]], dtype=uint8)
    """
    columns = probabilities.T
    if len(columns) > FEW:
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


def discounted_gain(reference_next: FloatArray, place: IntArray, n: int) -> FloatArray:
    """Return Σ p(σ) / log₂(k + 1) over the symbols at places k = 1 … n, shape ``(n_nodes,)``.

    ``place`` counts from 0, as `places` does.

    >>> discounted_gain(np.array([[0.5, 0.25, 0.25]]), np.array([[1, 0, 2]]), 1)
    array([0.25])
    """
    _same_shape(reference_next, place)
    discounts = np.zeros(place.shape[1])
    top = min(n, len(discounts))
    discounts[:top] = 1 / np.log2(np.arange(2, top + 2))
    gain = np.zeros(len(place))
    for probability, where in zip(reference_next.T, place.T, strict=True):
        gain += probability * discounts.take(where)
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
    _same_shape(reference_next, probabilities)
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
    _same_shape(probabilities, follows)
    first = probabilities.argmax(axis=1)
    return 1 - float(follows[np.arange(len(follows)), first].sum() / follows.sum())


def disagreement(
    reference_next: FloatArray, probabilities: FloatArray, counts: FloatArray
) -> float:
    """Return the share of prefixes after which the two first choices differ.

    >>> disagreement(np.array([[0.6, 0.4]]), np.array([[0.3, 0.7]]), np.array([2.0]))
    1.0
    """
    _same_shape(reference_next, probabilities)
    return average(reference_next.argmax(axis=1) != probabilities.argmax(axis=1), counts)


def kl_per_symbol(
    reference_next: FloatArray, probabilities: FloatArray, counts: FloatArray
) -> float:
    """Return the `divergences` of the next symbols, averaged over prefixes.

    >>> kl_per_symbol(np.array([[1.0, 0.0]]), np.array([[0.25, 0.75]]), np.array([3.0]))
    2.0
    """
    return average(divergences(reference_next, probabilities), counts)


def divergences(reference_next: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return Σ p log₂(p / q) of the next symbols at each node in bits, shape ``(n_nodes,)``.

    Predicted entries below `TINY` count as `TINY`; rows are not normalised again, because those
    of an automaton already sum to one with their negative entries. Reference entries that are not
    positive add nothing. Where the reference leaks, what it lacks to sum to one is one more
    outcome, and so is what the prediction lacks.

    >>> divergences(np.array([[1.0, 0.0]]), np.array([[0.25, 0.75]]))
    array([2.])
    >>> divergences(np.array([[0.5, 0.0]]), np.array([[0.25, 0.25]]))
    array([0.5])
    """
    _same_shape(reference_next, probabilities)
    p = np.maximum(reference_next, 0)
    bits = np.log2(np.maximum(p, TINY)) - np.log2(np.maximum(probabilities, TINY))
    return np.asarray((p * bits).sum(axis=1)) + _leaked_bits(leak_of(reference_next), probabilities)


def _leaked_bits(leak: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return p log₂(p / q) of the outcome elsewhere at each node, shape ``(n_nodes,)``."""
    rest = np.maximum(1 - np.maximum(probabilities, 0).sum(axis=1), TINY)
    return np.asarray(leak * (np.log2(np.maximum(leak, TINY)) - np.log2(rest)))


def average(values: FloatArray, counts: FloatArray) -> float:
    """Return the mean of one value a node, each counted as often as its node is a prefix.

    >>> average(np.array([1.0, 0.0]), np.array([3.0, 1.0]))
    0.75
    """
    _same_shape(values, counts)
    return float(values @ counts / counts.sum())


def elsewhere_errors(leak: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return how much predictions leak more or less than the reference at each node.

    >>> elsewhere_errors(np.array([0.5]), np.array([[0.25, 0.5]]))
    array([0.25])
    """
    return np.asarray(np.abs(leak - (1 - probabilities.sum(axis=1))))


class NextReference(NamedTuple):
    """What the next-symbol metrics need of the box, prepared once for any number of automata.

    All have nodes along the fast axis. Averages over prefixes are products with weights that hold
    the counts already, so that each automaton costs few passes over its predictions.

    Examples
    --------
    >>> reference = NextReference.of(np.array([[0.5], [0.5]]), follows=np.array([[3.0], [1.0]]))
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
    entropy: float  # −Σ visits · p · log₂ p
    wer: float
    leak: FloatArray  # the probability of symbols outside the alphabet

    @classmethod
    def of(cls, probabilities: FloatArray, follows: FloatArray) -> NextReference:
        """Prepare a box's next-symbol weights; both of shape ``(n_symbols + 1, n_nodes)``."""
        visits = follows.sum(axis=0)
        visits /= visits.sum()
        place = places(probabilities.T)
        ideal = {n: discounted_gain(probabilities.T, place, n) for n in (1, 5)}
        per_gain = {
            n: np.divide(visits, gain, out=np.zeros_like(gain), where=gain != 0)
            for n, gain in ideal.items()
        }
        per_bit = np.maximum(probabilities, 0) * visits
        return cls(
            probabilities,
            follows,
            _first(place),
            visits,
            per_gain,
            {n: float(visits[gain == 0].sum()) for n, gain in ideal.items()},
            per_bit,
            -float(np.vdot(per_bit, np.log2(np.maximum(probabilities, TINY)))),
            word_error_rate(probabilities.T, follows.T),
            leak_of(probabilities.T),
        )

    def measure(self, predicted: FloatArray) -> dict[str, float]:
        """Return the metrics of `seqray.fidelity.metrics` that are about next symbols."""
        n_nodes = predicted.shape[1]
        cuts = range(0, n_nodes, CHUNK)
        sums = sum(self._sums(predicted, slice(cut, cut + CHUNK)) for cut in cuts)
        ndcg1, ndcg5, right, differ, bits = np.asarray(sums).tolist()
        found = {
            "ndcg1": float(np.minimum(1, ndcg1 + self.no_gain[1])),  # it is, but for rounding
            "ndcg5": float(np.minimum(1, ndcg5 + self.no_gain[5])),
            "wer": 1 - right / float(self.follows.sum()),
            "wer_box": self.wer,
            "disagreement": differ,
            "kl_per_symbol": -self.entropy - bits,
        }
        if self.leak.any():
            leaked = float(self.visits @ _leaked_bits(self.leak, predicted.T))
            found["kl_per_symbol"] = max(0.0, found["kl_per_symbol"] + leaked)
            found["elsewhere"] = average(elsewhere_errors(self.leak, predicted.T), self.visits)
        return found

    def _sums(self, predicted: FloatArray, here: slice) -> FloatArray:
        """Sum what each metric sums, over some nodes: few enough to stay in the cache."""
        predicted, probabilities = predicted[:, here], self.probabilities[:, here]
        place = places(predicted.T)
        first = _first(place)
        gain = discounted_gain(probabilities.T, place, 5)
        bits = np.maximum(predicted, TINY)
        np.log2(bits, out=bits)
        nodes = np.arange(len(first))
        return np.array(
            [
                probabilities[first, nodes] @ self.per_gain[1][here],
                gain @ self.per_gain[5][here],
                self.follows[:, here][first, nodes].sum(),
                self.visits[here] @ (first != self.first[here]),
                np.einsum("ij,ij->", self.per_bit[:, here], bits),
            ]
        )


def _first(place: IntArray) -> IntArray:
    """Return the code of the symbol that stands first at each node."""
    first = np.zeros(len(place), np.int32)
    for code, where in enumerate(place.T):
        first += np.int32(code) * (where == 0)
    return first


def _norm(values: FloatArray) -> float:
    """‖values‖ without overflow."""
    size = np.abs(values).max()
    return float(size * np.sqrt(np.square(values / size).sum())) if size else 0.0


def _same_shape(first: FloatArray | IntArray, second: FloatArray | IntArray) -> None:
    if first.shape != second.shape or not first.size:
        raise ArgumentError(
            f"expected two arrays of one shape and not empty, got {first.shape} and {second.shape}"
        )
