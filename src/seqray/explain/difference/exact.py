"""Exact distances of two automata, over all words, where linear algebra gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.balanced import distance
from seqray.automata.deterministic import DeterministicAutomaton, separating_word
from seqray.automata.minimal import equivalent
from seqray.automata.words import Symbol
from seqray.blackbox.protocol import Classifier
from seqray.fidelity.word_metrics import without_rounding
from seqray.util.arrays import FloatArray, IntArray

MAX_EXACT_STATES = 120
"""With more states in both together no exact distance is computed: it would take minutes."""


@dataclass(frozen=True)
class ExactDistance:
    """Distances of two automata over all words, without sampling.

    Parameters
    ----------
    is_equivalent
        Whether both give every word the same weight, up to rounding.
    l2
        sqrt(Σ_w (a(w) − b(w))²), infinite where the sum diverges; None for two that decide.
    bits_per_word
        The divergence of B from A and of A from B, Σ_w a(w) log₂(a(w) / b(w)), infinite where B
        gives 0 to a word that A does not; None unless both are deterministic and predict.
    bits_per_symbol
        The same divided by the mean number of prefixes of a word.
    separating_word
        The shortest word for which two DFAs or Moore machines decide differently; None where there
        is none, and for all others.
    """

    is_equivalent: bool
    l2: float | None = None
    bits_per_word: tuple[float, float] | None = None
    bits_per_symbol: tuple[float, float] | None = None
    separating_word: tuple[Symbol, ...] | None = None


def exact_distance(a: WeightedAutomaton, b: WeightedAutomaton) -> ExactDistance | None:
    """Return the exact distances of two automata; None where none is known.

    Those are automata with many states, and classifiers that are not deterministic.

    Examples
    --------
    >>> one = WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
    >>> other = WeightedAutomaton("a", [1], [[[0.75]]], [0.25])
    >>> exact = exact_distance(one, other)
    >>> exact.is_equivalent, [round(bits, 6) for bits in exact.bits_per_symbol]
    (False, [0.207519, 0.188722])
    """
    if a.n_states + b.n_states > MAX_EXACT_STATES:
        return None
    if isinstance(a, DeterministicAutomaton) and isinstance(b, DeterministicAutomaton):
        word = separating_word(a, b)
        return ExactDistance(word is None, separating_word=word)
    if isinstance(a, Classifier):
        return None
    is_equivalent = equivalent(a, b)
    l2 = 0.0 if is_equivalent else distance(a, b)
    machines = [_Machine.of(each) for each in (a, b)]
    if machines[0] is None or machines[1] is None:
        return ExactDistance(is_equivalent, l2)
    both = _divergence(machines[0], machines[1]), _divergence(machines[1], machines[0])
    words, symbols = ((both[0][i], both[1][i]) for i in (0, 1))
    return ExactDistance(is_equivalent, l2, words, symbols)


@dataclass(frozen=True, eq=False)
class _Machine:
    """A deterministic automaton that predicts.

    ``after[q, c]`` is the state after symbol c in state q, ``probabilities[q]`` what comes next,
    the end last.
    """

    start: int
    after: IntArray
    probabilities: FloatArray

    @classmethod
    def of(cls, automaton: WeightedAutomaton) -> _Machine | None:
        """Return the machine that an automaton is; None where it is none, or does not predict."""
        a = automaton
        starts = np.flatnonzero(a.initial)
        is_positive = a.is_nonnegative and a.is_distribution and a.elsewhere is None
        if not is_positive or len(starts) != 1:
            return None
        if (np.count_nonzero(a.transitions, axis=2) > 1).any():
            return None
        after = a.transitions.argmax(axis=2).T
        leading = a.transitions.max(axis=2).T * a.prefix_final[after]
        rows = np.column_stack([leading, a.final])
        totals = rows.sum(axis=1, keepdims=True)
        probabilities = np.divide(rows, totals, out=np.zeros_like(rows), where=totals > 0)
        return cls(int(starts[0]), after, probabilities)


def _divergence(a: _Machine, b: _Machine) -> tuple[float, float]:
    """Return by how many bits per word, and per symbol, B diverges from A.

    After each word both are in one state each. The expected number of visits of each pair of
    states, under A, solves a linear system; each visit costs the divergence of the next symbols.
    """
    pairs: dict[tuple[int, int], int] = {(a.start, b.start): 0}
    steps: list[tuple[int, int, float]] = []
    waiting, bits = [(a.start, b.start)], []
    while waiting:
        q, r = pair = waiting.pop()
        bits.append((pairs[pair], _bits(a.probabilities[q], b.probabilities[r])))
        for code, probability in enumerate(a.probabilities[q, :-1].tolist()):
            if probability > 0:
                following = int(a.after[q, code]), int(b.after[r, code])
                if following not in pairs:
                    pairs[following] = len(pairs)
                    waiting.append(following)
                steps.append((pairs[pair], pairs[following], probability))
    lengths = np.eye(len(pairs))
    for origin, target, probability in steps:
        lengths[target, origin] -= probability
    visits = np.linalg.solve(lengths, np.eye(len(pairs))[0])
    per_word = float(sum(visits[number] * value for number, value in bits))
    return per_word, per_word / float(visits.sum())


def _bits(p: FloatArray, q: FloatArray) -> float:
    """Return the divergence of two distributions in bits."""
    some = p > 0
    with np.errstate(divide="ignore"):
        return without_rounding(float((p[some] * np.log2(p[some] / q[some])).sum()))
