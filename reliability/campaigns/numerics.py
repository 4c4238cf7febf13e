"""Weights, sums and predictions against exact fractions: tiny, huge, near-singular, long and zero.

Each automaton is read as the fractions that its float64 numbers are, and its answers are computed
without rounding. A weight is right if its error is at most 1e-11 of the summed sizes of its paths.
"""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from reliability import Row, Scale
from seqray import WeightedAutomaton, compare
from seqray.automata.generators import random_automaton, random_machine
from seqray.util.arrays import FloatArray

FOUND = (
    "`WeightedAutomaton.total` was 0 where the sum over all words has no value, at spectral radius "
    "1 or too near to it; it is nan there",
    "`explain_word` needed memory with the square of a word's length; words of more than 5,000 "
    "symbols are refused",
)

TOLERANCE = Fraction(1, 10**11)


def run(scale: Scale, seed: int) -> Iterator[Row]:
    """Compare each kind of number with its exact value."""
    n = 300 if scale == "long" else 8
    for factor in (1.0, 1e-300, 1e300, 1e-315):
        yield _weights(f"weights times {factor:g}", factor, n, seed)
    yield _logarithms(n, seed)
    yield _totals(n, seed)
    yield _long_words((1000, 100_000) if scale == "long" else (1000,))
    yield _zero()
    yield _batches(n, seed)
    yield _threads(30 if scale == "long" else 10)


def _fractions(values: FloatArray) -> list[Fraction]:
    return [Fraction(float(each)) for each in values]


def _exact(automaton: WeightedAutomaton, codes: list[int]) -> tuple[Fraction, Fraction]:
    """Return the weight of a word, and the summed sizes of its paths."""
    state = _fractions(automaton.initial)
    size = [abs(each) for each in state]
    for code in codes:
        rows = [_fractions(row) for row in automaton.transitions[code]]
        state, size = (
            [sum(x * f(row[j]) for x, row in zip(old, rows, strict=True)) for j in range(len(rows))]
            for old, f in ((state, Fraction), (size, abs))
        )
    final = _fractions(automaton.final)
    return (
        sum((x * y for x, y in zip(state, final, strict=True)), Fraction(0)),
        sum((x * abs(y) for x, y in zip(size, final, strict=True)), Fraction(0)),
    )


def _weights(name: str, factor: float, n: int, seed: int) -> Row:
    failures, largest = [], 0.0
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        drawn = random_automaton(4, 2, seed=rng)
        automaton = WeightedAutomaton(
            drawn.alphabet, drawn.initial * factor, drawn.transitions, drawn.final
        )
        codes = rng.integers(2, size=int(rng.integers(30))).tolist()
        expected, size = _exact(automaton, codes)
        error = abs(Fraction(automaton.weight(codes)) - expected)
        least = Fraction(5e-324) * (2 + len(codes))  # what float64 cannot resolve
        if error > TOLERANCE * size + least:
            failures.append(f"seed {seed}, {i}: off by {float(error / size):.2g} of its paths")
        largest = max(largest, float(max(error - least, Fraction(0)) / size))
    return Row(name, n, failures, {"largest error": f"{largest:.1e}"})


def _logarithms(n: int, seed: int) -> Row:
    """Compare logarithms of weights that float64 cannot hold, in coordinates of all sizes."""
    failures = []
    for i in range(n):
        rng = np.random.default_rng([seed, i, 1])
        drawn = random_automaton(3, 2, seed=rng)
        units = 2.0 ** rng.integers(-300, 300, 3)
        automaton = WeightedAutomaton(
            drawn.alphabet,
            drawn.initial * units,
            drawn.transitions * 2.0**-60 / units[:, None] * units,
            drawn.final / units,
        )
        codes = rng.integers(2, size=60).tolist()
        expected, size = _exact(automaton, codes)
        sign, log = automaton.log_weights([codes])
        if abs(expected) < size / 10**6:  # terms cancel: only the size can be right
            continue
        exact = math.log(abs(expected.numerator)) - math.log(expected.denominator)
        if sign[0] != (1 if expected > 0 else -1) or abs(log[0] - exact) > 1e-4:
            failures.append(f"seed {seed}, {i}: {sign[0]} exp {log[0]}, expected exp {exact}")
    return Row("logarithms of weights beyond float64", n, failures)


def _totals(n: int, seed: int) -> Row:
    """Compare the weight of all words near spectral radius 1: right, or nan."""
    failures, n_nan = [], 0
    for i in range(n):
        rng = np.random.default_rng([seed, i, 2])
        stop = 10.0 ** rng.uniform(-17, -0.3)
        machine = random_machine("pfa", 3, 2, seed=rng)
        rows = machine.transitions.sum(axis=(0, 2))
        automaton = WeightedAutomaton(
            machine.alphabet,
            machine.initial,
            machine.transitions / rows[:, None] * (1 - stop),
            np.full(3, stop),
        )
        total, expected = automaton.total, _exact_total(automaton)
        n_nan += math.isnan(total)
        tolerance = 1e-14 / stop
        if math.isnan(total):
            if stop > 1e-13:
                failures.append(f"seed {seed}, {i}: nan where states stop with {stop:.1e}")
        elif abs(total - expected) > tolerance * abs(expected):
            failures.append(f"seed {seed}, {i}: {total}, expected {expected}, stops {stop:.1e}")
    return Row("weight of all words, states stop with 1e-17 to 0.5", n, failures, {"nan": n_nan})


def _exact_total(automaton: WeightedAutomaton) -> float:
    """Solve (I − ΣMσ) x = α∞ by elimination; nan where it has no solution."""
    n = automaton.n_states
    matrix = [
        [
            Fraction(int(i == j))
            - sum((Fraction(float(each[i, j])) for each in automaton.transitions), Fraction(0))
            for j in range(n)
        ]
        + [Fraction(float(automaton.final[i]))]
        for i in range(n)
    ]
    for i in range(n):
        pivot = next((row for row in range(i, n) if matrix[row][i]), None)
        if pivot is None:
            return math.nan
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        matrix[i] = [each / matrix[i][i] for each in matrix[i]]
        for row in range(n):
            if row != i:
                factor = matrix[row][i]
                matrix[row] = [x - factor * y for x, y in zip(matrix[row], matrix[i], strict=True)]
    return float(
        sum(
            (
                Fraction(float(x)) * row[-1]
                for x, row in zip(automaton.initial, matrix, strict=True)
            ),
            Fraction(0),
        )
    )


def _long_words(lengths: tuple[int, ...]) -> Row:
    """Read words whose probability is a power, and compare an automaton with itself on them."""
    automaton = WeightedAutomaton(
        "ab", [0.5, 0.5], [np.eye(2) * 0.75, np.eye(2) * 0.125], [0.125] * 2
    )
    failures = []
    for n in lengths:
        word = "ab" * (n // 2)
        expected = n / 2 * (math.log(0.75) + math.log(0.125)) + math.log(0.125)
        _, log = automaton.log_weights([word])
        if abs(log[0] - expected) > 1e-12 * n:
            failures.append(f"{n} symbols: {log[0]}, expected {expected}")
        bits = compare(automaton, automaton, [word])["kl_per_symbol"]
        if bits > 1e-12:
            failures.append(f"{n} symbols: an automaton loses {bits} bits against itself")
    return Row(f"words of up to {max(lengths):,} symbols", 2 * len(lengths), failures)


def _zero() -> Row:
    """Read an automaton of zeros."""
    nothing = WeightedAutomaton("ab", [0.0, 0.0], np.zeros((2, 2, 2)), [0.0, 0.0])
    fidelity = compare(nothing, nothing, ["", "ab"] * 20)
    seen = {
        "weight": nothing.weight("ab") == 0,
        "total": nothing.total == 0,
        "no distribution": not nothing.is_distribution,
        "no divergence": "kl_per_symbol" not in fidelity,
        "logarithm": nothing.log_weights(["a"])[1][0] == -math.inf,
    }
    return Row("all weights 0", len(seen), [name for name, right in seen.items() if not right])


def _batches(n: int, seed: int) -> Row:
    """Read words alone and together."""
    failures = []
    for i in range(n):
        machine = random_machine("pfa", 5, 3, seed=np.random.default_rng([seed, i, 3]))
        words = [[*word] for word in machine.sample(20, seed=i).words]
        together = machine.weights(words)
        alone = np.array([machine.weight(word) for word in words])
        if (np.abs(together - alone) > 1e-10 * np.abs(alone)).any():
            failures.append(f"seed {seed}, {i}")
        if machine.weights(words).tobytes() != together.tobytes():
            failures.append(f"seed {seed}, {i}: the same query has another answer")
    return Row("words alone and in a batch, equal to 1e-10", n, failures)


PROGRAM = """
import seqray
box = seqray.open_black_box("demo")
run = seqray.extract(box, method="weighted", n_prefixes={size}, n_suffixes={size}, seed=0)
print(*[float(x).hex() for x in run.best().weights(["abcdabcdabcd"[:n] for n in range(12)])])
"""


def _threads(size: int) -> Row:
    """Extract with one thread, with one again, and with two."""
    answers = []
    for threads in ("1", "1", "2"):
        env = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(size=size)],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return Row("one thread, again, and two", 2, [done.stderr[-300:]])
        answers.append([float.fromhex(each) for each in done.stdout.split()])
    first, again, two = (np.array(each) for each in answers)
    failures = [] if (first == again).all() else ["one thread: not the same bits again"]
    difference = float(np.max(np.abs(two - first) / np.abs(first)))
    if difference > 1e-10:
        failures.append(f"two threads: weights differ by {difference:.1e}")
    return Row("one thread, again, and two", 2, failures, {"difference": f"{difference:.1e}"})
