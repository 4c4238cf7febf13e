"""Every metric of a comparison: its name, its meaning, and how it is measured.

To add a metric, add one `Metric` to `METRICS`. ``seqray evaluate``, the ``repr`` of a fidelity and
the page's full table show it by themselves; short lists of metrics are chosen by hand.
The functions behind the metrics are in `seqray.fidelity.word_metrics` and
`seqray.fidelity.next_symbol_metrics`, those behind their confidence intervals in
`seqray.fidelity.estimates`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from seqray.automata.tree import PrefixTree
from seqray.fidelity import next_symbol_metrics, word_metrics
from seqray.fidelity.answers import Answers
from seqray.fidelity.estimates import next_estimates, zeros_estimate
from seqray.fidelity.intervals import Estimate, Interval, IntervalKind, confidence_intervals
from seqray.fidelity.next_symbol_metrics import NextSymbolReference
from seqray.util.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Comparison:
    """The answers of a box and of an automaton on the same words, for metrics to read.

    Parameters
    ----------
    tree
        The words.
    box, automaton
        The answers of the two sides.
    distribution
        The weights that perplexities are measured against, shape ``(n_words,)``: the box's or a
        target's; None where they make no sense, because a weight is negative or all are 0.
    negligible
        s of `seqray.fidelity.word_metrics.weight_agreement`, shape ``(n_words,)``.
    next_reference
        The box's next symbols, prepared for their metrics; None where the box does not predict.
    """

    tree: PrefixTree
    box: Answers
    automaton: Answers
    distribution: FloatArray | None
    negligible: FloatArray
    next_reference: NextSymbolReference | None

    @cached_property
    def perplexities(self) -> tuple[float, float] | None:
        """The perplexities of the box and of the automaton; None where they make no sense."""
        if self.distribution is None:
            return None
        box, automaton = (
            word_metrics.perplexity(self.distribution, side.weights)
            for side in (self.box, self.automaton)
        )
        return box, automaton

    @cached_property
    def next_values(self) -> Mapping[str, float]:
        """The metrics of next symbols; none where one side does not predict."""
        if self.next_reference is None or self.automaton.next_symbol is None:
            return {}
        return self.next_reference.measure(self.automaton.next_symbol)

    @cached_property
    def estimates(self) -> Mapping[str, Estimate]:
        """The metrics that come with the package as functions of sums over words."""
        box, automaton = self.box, self.automaton
        has_zeros = self.distribution is not None
        estimates = {"zeros": zeros_estimate(automaton.weights)} if has_zeros else {}
        if box.next_symbol is not None and automaton.next_symbol is not None:
            estimates |= next_estimates(self.tree, box.next_symbol, automaton.next_symbol)
        return estimates


@dataclass(frozen=True)
class Metric:
    """One metric.

    Parameters
    ----------
    name
        Its key in tables and files.
    meaning
        What it says, for people, in one line.
    measure
        Returns its value; None where it makes no sense for a box. Without this function, the
        metric is measured elsewhere and only shown.
    interval
        Which kind of confidence interval it has; None: it has none.
    estimate
        It as a function of sums over words, for the interval; by default what
        `Comparison.estimates` has under its name.
    needs_positive
        Whether it has no interval for an automaton with negative weights. Such an automaton may
        give a word or a next symbol a weight that is not positive. That counts about 100 bits,
        however rare it is, so a sample in which it does not occur says nothing of it.
    from_estimate
        Turns a value of the estimate into one of the metric, monotonically; None: they are the
        same. So a metric that follows from another has the interval that follows from the other's.

    Examples
    --------
    A metric of the weights of words, the mean difference:

    >>> def bias(comparison):
    ...     return float((comparison.automaton.weights - comparison.box.weights).mean())
    >>> Metric("bias", "mean difference of the two weights", bias).name
    'bias'
    """

    name: str
    meaning: str
    measure: Callable[[Comparison], float | None] | None = None
    interval: IntervalKind | None = None
    estimate: Callable[[Comparison], Estimate | None] | None = None
    needs_positive: bool = False
    from_estimate: Callable[[float], float] | None = None

    def estimate_of(self, comparison: Comparison) -> Estimate | None:
        """Return it as a function of sums; None where it makes no sense for a box."""
        if self.estimate is not None:
            return self.estimate(comparison)
        return comparison.estimates.get(self.name)

    def interval_of(self, ends: Interval) -> Interval:
        """Return the interval of the metric, given that of its estimate."""
        if self.from_estimate is None:
            return ends
        low, high = sorted(self.from_estimate(end) for end in ends)
        return low, high


def _of_weights(
    function: Callable[[FloatArray, FloatArray], float],
) -> Callable[[Comparison], float]:
    """Return a metric that is a function of both sides' weights."""
    return lambda both: function(both.box.weights, both.automaton.weights)


def _of_next_symbols(
    function: Callable[[FloatArray, FloatArray, FloatArray], float | None],
) -> Callable[[Comparison], float | None]:
    """Return a metric that is a function of both sides' next symbols; None where one has none.

    The function takes the probabilities of the box and of the automaton, both of shape
    ``(n_nodes, n_symbols + 1)`` with one row per distinct prefix and the end last, and how often
    each row is a prefix, shape ``(n_nodes,)``, as a share of all prefixes.
    """

    def measured(both: Comparison) -> float | None:
        box, predicted = both.next_reference, both.automaton.next_symbol
        if box is None or predicted is None:
            return None
        return function(box.probabilities.T, predicted.T, box.visits)

    return measured


def _if_distribution(
    function: Callable[[Comparison, FloatArray], float],
) -> Callable[[Comparison], float | None]:
    """Return a metric that needs a box whose weights can be a distribution."""
    return lambda both: None if both.distribution is None else function(both, both.distribution)


def _of_next(name: str) -> Callable[[Comparison], float | None]:
    """Return a metric that `NextSymbolReference.measure` measures, together with others: fast."""
    return lambda both: both.next_values.get(name)


def _perplexity(both: Comparison) -> float | None:
    return both.perplexities[1] if both.perplexities else None


def _perplexity_box(both: Comparison) -> float | None:
    return both.perplexities[0] if both.perplexities else None


def _perplexity_ratio(both: Comparison) -> float | None:
    return both.perplexities[0] / both.perplexities[1] if both.perplexities else None


METRICS = (
    Metric(
        "kl_per_symbol",
        "divergence from the box's next symbols: bits lost per symbol",
        _of_next("kl_per_symbol"),
        IntervalKind.LOSS,
        needs_positive=True,
    ),
    Metric(
        "kl_per_word",
        "the same summed over a word and its end: bits lost per word",
        _of_next("kl_per_word"),
        IntervalKind.LOSS,
        needs_positive=True,
    ),
    Metric(
        "ratio_per_symbol",
        "2 to the power of minus kl_per_symbol; 1 is a perfect copy",
        _of_next("ratio_per_symbol"),
        IntervalKind.LOSS,
        lambda both: both.estimates.get("kl_per_symbol"),
        needs_positive=True,
        from_estimate=lambda bits: 2.0**-bits,
    ),
    Metric(
        "entropy_per_symbol",
        "entropy of the box's next symbols: the bits per symbol that a perfect copy needs",
        _of_next("entropy_per_symbol"),
    ),
    Metric(
        "ndcg1",
        "how good the automaton's first next symbol is by the box's probabilities",
        _of_next("ndcg1"),
        IntervalKind.SHARE,
    ),
    Metric(
        "ndcg5",
        "how good its first five next symbols are; 1 is the box's own order",
        _of_next("ndcg5"),
        IntervalKind.SHARE,
    ),
    Metric(
        "disagreement",
        "share of prefixes after which the two first choices differ",
        _of_next("disagreement"),
        IntervalKind.SHARE,
    ),
    Metric(
        "wer",
        "share of next symbols that are not the automaton's first choice",
        _of_next("wer"),
        IntervalKind.SHARE,
    ),
    Metric(
        "wer_box",
        "share of next symbols that are not the box's first choice",
        _of_next("wer_box"),
    ),
    Metric(
        "elsewhere",
        "difference of the probabilities to leave the alphabet, mean over prefixes",
        _of_next_symbols(next_symbol_metrics.elsewhere),
        IntervalKind.SHARE,
    ),
    # Of classifiers, measured by `seqray.fidelity.decisions`.
    Metric("agreement", "share of words that both give the same class"),
    Metric("balanced_agreement", "the same share for each class of the box, mean over classes"),
    Metric("boundary_agreement", "the same share of the tenth nearest to another decision"),
    Metric("score_distance", "total variation distance of the class probabilities, mean"),
    Metric(
        "calibration_difference",
        "difference of both confidences in the box's class, over ten groups of confidence",
    ),
    # Measured by extractions that search for counterexamples, on the words of that search.
    Metric("total_variation", "total variation distance, after words on which both disagreed"),
    Metric(
        "weight_agreement",
        "how nearly the two weights agree, geometric mean; words of weight 0 count",
        lambda both: word_metrics.weight_agreement(
            both.box.weights, both.automaton.weights, both.negligible
        ),
    ),
    Metric(
        "relative_error",
        "size of the difference over all words, relative to the box",
        _of_weights(word_metrics.relative_error),
    ),
    Metric(
        "max_error",
        "largest difference on one word",
        _of_weights(word_metrics.max_error),
    ),
    Metric(
        "correlation",
        "Pearson correlation of the two weights",
        _of_weights(word_metrics.correlation),
    ),
    Metric(
        "sign_agreement",
        "share of words whose two weights have the same sign",
        _of_weights(word_metrics.sign_agreement),
    ),
    Metric(
        "log_error",
        "difference of the logarithms of two weights, mean, bits per word, at most 3",
        _if_distribution(
            lambda both, p: word_metrics.log_error(both.box.weights, both.automaton.weights)
        ),
    ),
    Metric(
        "zeros",
        "share of words to which the automaton gives no positive weight",
        _if_distribution(lambda both, p: word_metrics.zeros(both.automaton.weights)),
        IntervalKind.SHARE_OF_WORDS,
    ),
    Metric(
        "perplexity",
        "the paper's: both normalised over these words, which are weighted as by the box "
        "(or the target)",
        _perplexity,
    ),
    Metric(
        "perplexity_box",
        "the same of the box itself: what a perfect copy would have",
        _perplexity_box,
    ),
    Metric(
        "perplexity_ratio",
        "perplexity_box / perplexity; a few heavy words decide it",
        _perplexity_ratio,
    ),
    Metric(
        "kl",
        "the paper's divergence: both normalised over these words, bits per word",
        _if_distribution(lambda both, p: word_metrics.kl_divergence(p, both.automaton.weights)),
    ),
)
"""All metrics, in the order in which they are shown."""

MEANINGS = {metric.name: metric.meaning for metric in METRICS}
"""What each metric says, by name."""


def measure(comparison: Comparison) -> dict[str, float]:
    """Return every metric that makes sense for a comparison, by name."""
    values = {metric.name: metric.measure(comparison) for metric in METRICS if metric.measure}
    return {name: float(value) for name, value in values.items() if value is not None}


def intervals_of(comparison: Comparison, *, positive: bool) -> dict[str, Interval]:
    """Return the confidence interval of every metric that has one, by name.

    ``positive`` says whether the automaton's weights are all at least 0.
    """
    kinds, estimates = {}, {}
    for metric in METRICS:
        if metric.interval is None or (metric.needs_positive and not positive):
            continue
        estimate = metric.estimate_of(comparison)
        if estimate is not None:
            kinds[metric.name], estimates[metric.name] = metric.interval, estimate
    intervals = confidence_intervals(estimates, kinds, len(comparison.box.weights))
    return {
        metric.name: metric.interval_of(intervals[metric.name])
        for metric in METRICS
        if metric.name in intervals
    }
