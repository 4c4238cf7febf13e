"""Mistakes are put into the core's source code, one at a time: the tests notice.

A mutant is the module with one small change: another comparison, operator or number, a negated
condition, a bound, statement, returned value or keyword argument that is gone. The tests of the
module, and a few others, run against it. Those that fail or do not end kill it. A mutant that
survives is a failure, unless it is listed below with the reason why no result depends on it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Set
from pathlib import Path

from reliability import Row, Scale
from reliability.mutator import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "seqray"

N_MUTANTS = {"short": 2, "long": 40}
"""Of each module, drawn at random; all where there are not so many."""

TESTS = {
    "automata/automaton": ("automata/test_automaton_content.py", "automata/test_sampling.py"),
    "automata/tree": (),
    "extraction/svd": (),
    "fidelity/metrics": ("fidelity/test_compare.py",),
    "fidelity/word_metrics": (),
    "fidelity/next_symbol_metrics": (),
    "extraction/hankel/fill": (),
    "extraction/hankel/decomposition": ("extraction/hankel/test_memory_plan.py",),
    "extraction/conditional/fit": (),
    "extraction/conditional/gradient": ("extraction/conditional/test_fit.py",),
    "blackbox/queries/answer_cache": (),
    "blackbox/queries/cached_queries": (
        *("blackbox/queries/test_cache_check.py", "blackbox/queries/test_oracle.py"),
    ),
}
"""Modules, and the tests that run against their mutants after the module's own."""

SLOW = (
    *("several_processes", "byte_changed", "sixteen_bits", "needs_little_more_memory"),
    *("within_a_small_limit", "a_grown_basis_fills"),
)
"""Parts of the names of tests that are left out: they take seconds, and others kill as much."""


RESUMABLE = True


def run(scale: Scale, seed: int, done: Set[str] = frozenset()) -> Iterator[Row]:
    names = ("fidelity/word_metrics",) if scale == "short" else TESTS
    for name in (each for each in names if f"{each}.py" not in done):
        yield _row(name, N_MUTANTS[scale], seed)


def _row(name: str, n_mutants: int, seed: int) -> Row:
    every = mutants((SOURCE / f"{name}.py").read_text("utf-8"))
    drawn = drawn_numbers(name, len(every), n_mutants, seed)
    outcomes = dict(outcomes_of(name, drawn))
    if outcomes.pop("unchanged") != "passed":
        return Row(f"{name}.py", len(drawn), ["the tests fail without a mutant"])
    return summary(name, [(every[number], outcome) for number, outcome in outcomes.items()])


def drawn_numbers(name: str, n_all: int, n_mutants: int, seed: int) -> list[int]:
    """Return which mutants are tried."""
    return sorted(random.Random(f"{seed} {name}").sample(range(n_all), min(n_mutants, n_all)))


def summary(name: str, outcomes: list[tuple[Mutant, str]]) -> Row:
    """Return the row of a module, given what came of the tests of its mutants."""
    listed = EQUIVALENT.get(name, {})
    survivors = [mutant for mutant, outcome in outcomes if outcome == "passed"]
    n_killed = len(outcomes) - len(survivors)
    return Row(
        f"{name}.py",
        len(outcomes),
        [f"line {each.line}: {each.change}" for each in survivors if each.change not in listed],
        {
            "killed": n_killed,
            "of these timed out": sum(outcome == "timed out" for _, outcome in outcomes),
            "survived": len(survivors),
            "of these equivalent": sum(each.change in listed for each in survivors),
            "killed (%)": round(100 * n_killed / len(outcomes), 1),
        },
    )


def outcomes_of(name: str, numbers: list[int]) -> Iterator[tuple[int | str, str]]:
    """Yield mutants with what came of their tests; first the module as it is."""
    room, module = os.path.split(name)
    path = SOURCE / f"{name}.py"
    tests = [f"tests/{room}/test_{module}.py", *(f"tests/{each}" for each in TESTS[name])]
    request = {"path": str(path), "tests": [*tests, str(path)], "numbers": numbers}
    request["without"] = SLOW
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"HYPOTHESIS_PROFILE": "fast", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(SOURCE.parent), str(ROOT)])
    with tempfile.TemporaryDirectory() as home:
        environment |= {"XDG_CACHE_HOME": home, "TMPDIR": home}
        process = subprocess.Popen(
            [sys.executable, "-m", "reliability.mutant_tests", json.dumps(request)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                number, outcome = json.loads(line)
                yield number, outcome
        if process.returncode:
            raise RuntimeError(f"the tests of the mutants of {name} ended with an error")


SETTING = "a setting: how much at once, how long or how near, not what comes out"
LONGER = "a word is read in a longer row, never in row 0, that of the empty word"
NEGATIVE = "NumPy takes any negative size for the one that is left open"
BOUND = "the bound itself: on which side of it a number lies that equals it is not promised"
CHECK = "``strict`` checks lengths that are equal by construction"
AGREE = "both methods agree"
ZERO = "0 over any number is 0"

EQUIVALENT: dict[str, dict[str, str]] = {
    "automata/tree": {
        "grow: hold_memory() → pass": "only makes allocations faster",
        "distinct_keys: 32 * len(keys) + 1024 → 33 * len(keys) + 1024": AGREE,
        "PrefixTree.counts: zip(self.levels[-2:0:-1], self.levels[:1:-1], strict=True) → "
        "zip(self.levels[-2:0:-1], self.levels[:1:-1])": CHECK,
        "walk: if width > 1: → if width >= 1:": "times one, plus zero",
        "sort_codes: codes.max(initial=0) → codes.max(initial=1)": "both are eight bits",
        "sort_codes: largest < 2 ** 16 → largest < 2 * 16": "more bits sort the same, only slower",
    },
    "extraction/svd": {
        "module: MAX_EXACT_SIZE = 2000 → MAX_EXACT_SIZE = 2001": SETTING,
        "module: MAX_ITERATIONS = 50 → MAX_ITERATIONS = 51": SETTING,
        "module: N_EXTRA_DIRECTIONS = 20 → N_EXTRA_DIRECTIONS = 21": SETTING,
        "truncated_svd: default 1e-09 → 2e-09": SETTING,
        "_projected_svd: 1e-15 * values[0] → 2e-15 * values[0]": SETTING,
        "_projected_svd: break → continue": "the loop goes on without doing anything",
    },
    "fidelity/word_metrics": {
        "relative_error: max(np.abs(reference).max(), np.abs(weights).max()) or 1.0 → "
        "max(np.abs(reference).max(), np.abs(weights).max()) or 2.0": ZERO,
        "weight_agreement: largest[largest == 0] = 1.0 → largest[largest == 0] = 2.0": ZERO,
    },
    "fidelity/next_symbol_metrics": {
        "module: NODES_PER_CHUNK = 32768 → NODES_PER_CHUNK = 32769": SETTING,
        "places: np.argsort(order, axis=0, kind='stable') → np.argsort(order, axis=0)": (
            "an order holds every place once, so that any sort gives the same"
        ),
        "gain_of_best: zip(discounts, best, strict=True) → zip(discounts, best)": CHECK,
        "gain_of_best: zip(discounts, best, strict=True) → "
        "zip(discounts, best, strict=False)": CHECK,
        "first_and_gains: if len(predicted) > MAX_PAIRWISE_SYMBOLS: → "
        "if not len(predicted) > MAX_PAIRWISE_SYMBOLS:": AGREE,
        "first_and_gains: best_symbols(predicted, 5) → best_symbols(predicted, 6)": (
            "only the first five are used"
        ),
    },
    "extraction/hankel/fill": {
        "_StateFiller.fill: return np.empty(0) → return np.empty(1)": (
            "where there are no extra words, none is read"
        ),
        "_StateFiller._cached: 1 + rows.lengths.mean() → 2 + rows.lengths.mean()": SETTING,
        "_StateFiller._cached: max(0, n_steps - (meter.n_sent - n_sent)) → "
        "max(1, n_steps - (meter.n_sent - n_sent))": (
            "a check takes a small part of the steps of a fill"
        ),
        "_block_name: b'%d:' % len(words) → b'%d:' * len(words)": "a name that is as distinct",
        "_StateFiller._cached: np.random.default_rng([*name[:8]]) → "
        "np.random.default_rng([*name[:9]])": "any sample of the columns will do",
        "_complete: cells[row < 0] = extra[column[row < 0]] → "
        "cells[row <= 0] = extra[column[row < 0]]": LONGER,
        "_complete: extra[column[row < 0]] → extra[column[row < 1]]": LONGER,
        "_complete: column * (row >= 0) → column * (row >= 1)": LONGER,
        "_complete: len(tree.node_of_word) if len(plan.lonely) else 0 → "
        "len(tree.node_of_word) if len(plan.lonely) else 1": "no column, so no cell either",
        "_fill_by_words: max(1, WORDS_PER_QUERY // len(suffixes)) → "
        "max(2, WORDS_PER_QUERY // len(suffixes))": SETTING,
        "_fill_by_words: len(plan.leaves) - 1 → len(plan.leaves) - 2": SETTING,
        "_fill_by_words: oracle.weights(words).reshape(len(leaves), -1) → "
        "oracle.weights(words).reshape(len(leaves), -2)": NEGATIVE,
        "_complete: 4 + len(tree.alphabet) → 5 + len(tree.alphabet)": SETTING,
        "_read_suffixes: walk(box, suffixes, roots, width=width, batch=STATES_PER_STEP) → "
        "walk(box, suffixes, roots, width=width)": SETTING,
        "_read_suffixes: box.state_weights(states).reshape(-1, width) → "
        "box.state_weights(states).reshape(-2, width)": NEGATIVE,
        "_StateFiller._cached: block.reshape(len(rows), -1) → "
        "block.reshape(len(rows), -2)": NEGATIVE,
    },
    "extraction/hankel/decomposition": {
        "decompose: 1 / MAX_UNSCALED_WEIGHT → 2 / MAX_UNSCALED_WEIGHT": SETTING,
        "decompose: 1 / MAX_UNSCALED_WEIGHT < blocks.largest < MAX_UNSCALED_WEIGHT → "
        "1 / MAX_UNSCALED_WEIGHT <= blocks.largest < MAX_UNSCALED_WEIGHT": BOUND,
        "decompose: 1 / MAX_UNSCALED_WEIGHT < blocks.largest < MAX_UNSCALED_WEIGHT → "
        "1 / MAX_UNSCALED_WEIGHT < blocks.largest <= MAX_UNSCALED_WEIGHT": BOUND,
        "decompose: noise is not None and noise.level > 0 → "
        "noise is not None and noise.level >= 0": "no noise has the size 0, and leaves all ranks",
        "decompose: (sizes > size).sum → (sizes >= size).sum": BOUND,
        "decompose: np.where(sizes > 0, sizes, 1) → np.where(sizes > 0, sizes, 2)": ZERO,
        "_decompose_scaled: (automata.largest, power // 2) → (automata.largest, power // 3)": (
            "first and last weights may share the power in any proportion"
        ),
        "_weighted.chunks: np.multiply(part, columns, out=part) → np.multiply(part, columns)": (
            "takes memory for a second chunk, which holds the same"
        ),
    },
    "extraction/conditional/gradient": {
        "reachable: probability > IMPOSSIBLE_PROBABILITY → "
        "probability >= IMPOSSIBLE_PROBABILITY": BOUND,
        "reachable: tree.levels[1:].tolist → tree.levels[2:].tolist": (
            "the root is always possible, so that its children depend on themselves only"
        ),
        "_fit_batch: np.empty(len(order) + 1, np.int64) → np.empty(len(order) + 2, np.int64)": (
            "the parent of the root is not read"
        ),
        "_level: np.diff(symbols, prepend=-1) → np.diff(symbols, prepend=-2)": (
            "any number that is no symbol begins the first run"
        ),
    },
    "blackbox/queries/answer_cache": {
        "module: WORDS_PER_STATEMENT = 10000 → WORDS_PER_STATEMENT = 10001": SETTING,
        "module: LARGE_BYTES = 10 ** 9 → LARGE_BYTES = 11 ** 9": SETTING,
        "AnswerStore._report_size: n_bytes > self.reported_bytes → "
        "n_bytes >= self.reported_bytes": BOUND,
        "AnswerStore._read_box: isinstance(name, str) and isinstance(kind, str) → "
        "isinstance(name, str) or isinstance(kind, str)": (
            "what is no text has no checksum, and is refused a line before"
        ),
        "AnswerStore.some: rng.integers(1, 12) → rng.integers(2, 12)": SETTING,
        "AnswerStore.some: rng.integers(1, 12) → rng.integers(1, 13)": SETTING,
        "AnswerStore.some: break → continue": "what is too much is cut off",
        "AnswerStore._prepare: version < VERSION → version <= VERSION": (
            "what is up to date already is left as it is one step later"
        ),
        "AnswerStore.some: for _ in range(4 * n): → for _ in range(5 * n):": SETTING,
        "AnswerStore.some: len(contents) >= n → len(contents) > n": "what is too much is cut off",
        "AnswerStore.answers: join_answers([*contents.values()]).reshape(len(contents), -1) → "
        "join_answers([*contents.values()]).reshape(len(contents), -2)": NEGATIVE,
        "join_answers: answers.reshape(len(contents), -1) → "
        "answers.reshape(len(contents), -2)": NEGATIVE,
    },
    "blackbox/queries/cached_queries": {
        "module: DEFAULT_BATCH_SIZE = 1024 → DEFAULT_BATCH_SIZE = 1025": SETTING,
        "CachedQueries._pieces: np.full(len(unique), -1) → np.full(len(unique), -2)": (
            "any negative number says that a word has no answer yet"
        ),
    },
}
"""Of each module, changes that survive, and why no result depends on them."""

NOTES = tuple(
    f"Equivalent, {name}.py, `{change}`: {reason}."
    for name, listed in EQUIVALENT.items()
    for change, reason in listed.items()
)
