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
from collections.abc import Iterator
from pathlib import Path

from reliability import Row, Scale
from reliability.mutator import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "seqray"

N_MUTANTS = {"short": 1, "long": 40}
"""Of each module, drawn at random; all where there are not so many."""

TESTS = {
    "automata/automaton": ("automata/test_automaton_content.py", "automata/test_sampling.py"),
    "automata/tree": (),
    "extraction/svd": (),
    "fidelity/metrics": ("fidelity/test_compare.py",),
    "fidelity/word_metrics": (),
    "fidelity/next_symbol_metrics": (),
    "extraction/hankel/fill": (),
    "extraction/conditional/fit": (),
    "extraction/conditional/gradient": ("extraction/conditional/test_fit.py",),
    "blackbox/queries/answer_cache": (),
    "blackbox/queries/cached_queries": (
        *("blackbox/queries/test_cache_check.py", "blackbox/queries/test_oracle.py"),
    ),
}
"""Modules, and the tests that run against their mutants after the module's own."""

SLOW = ("several_processes", "byte_changed", "sixteen_bits", "needs_little_more_memory")
"""Parts of the names of tests that are left out: they take seconds, and others kill as much."""


def run(scale: Scale, seed: int) -> Iterator[Row]:
    names = list(TESTS)
    if scale == "short":
        names = names[:2]
    for name in names:
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


EQUIVALENT: dict[str, dict[str, str]] = {}
"""Of each module, changes that survive, and why no result depends on them."""
