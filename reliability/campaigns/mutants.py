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
from reliability.campaigns._mutator import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "seqray"

N_MUTANTS = {"short": 1, "long": 60}
"""Of each module, drawn at random; all where there are not so many."""

MAX_SECONDS = 300
"""Of a module's tests without a change."""

TESTS = {
    "automata/automaton": ("automata/test_automaton_content.py", "automata/test_sampling.py"),
    "automata/tree": ("automata/test_stepper.py",),
    "extraction/svd": (),
    "fidelity/metrics": ("fidelity/test_compare.py", "fidelity/test_leaking.py"),
    "fidelity/word_metrics": (),
    "fidelity/next_symbol_metrics": ("fidelity/test_leaking.py",),
    "extraction/hankel/fill": (),
    "extraction/conditional/fit": (),
    "extraction/conditional/gradient": ("extraction/conditional/test_fit.py",),
    "blackbox/queries/answer_cache": ("blackbox/queries/test_answer_memory.py",),
    "blackbox/queries/cached_queries": ("blackbox/queries/test_oracle.py",),
}
"""Modules, and the tests that run against their mutants after the module's own."""


def run(scale: Scale, seed: int) -> Iterator[Row]:
    names = list(TESTS)
    if scale == "short":
        names = names[:2]
    for name in names:
        yield _row(name, N_MUTANTS[scale], seed)


def _row(name: str, n_mutants: int, seed: int) -> Row:
    every = mutants((SOURCE / f"{name}.py").read_text("utf-8"))
    numbers = range(len(every))
    drawn = sorted(random.Random(f"{seed} {name}").sample(numbers, min(n_mutants, len(every))))
    outcomes = dict(_outcomes(name, drawn))
    if outcomes.pop("unchanged") != "passed":
        return Row(f"{name}.py", len(drawn), ["the tests fail without a mutant"])
    survivors = [every[number] for number in drawn if outcomes[number] == "passed"]
    n_equivalent = sum(each.change in EQUIVALENT.get(name, {}) for each in survivors)
    n_killed = len(drawn) - len(survivors)
    return Row(
        f"{name}.py",
        len(drawn),
        [_line(each) for each in survivors if each.change not in EQUIVALENT.get(name, {})],
        {
            "killed": n_killed,
            "of these timed out": sum(each == "timed out" for each in outcomes.values()),
            "survived": len(survivors),
            "of these equivalent": n_equivalent,
            "killed (%)": round(100 * n_killed / len(drawn), 1),
            "all mutants of the module": len(every),
        },
    )


def _line(mutant: Mutant) -> str:
    return f"line {mutant.line}: {mutant.change}"


def _outcomes(name: str, numbers: list[int]) -> Iterator[tuple[int | str, str]]:
    """Yield mutants with what came of their tests; first the module as it is."""
    room, module = os.path.split(name)
    path = SOURCE / f"{name}.py"
    tests = [f"tests/{room}/test_{module}.py", *(f"tests/{each}" for each in TESTS[name])]
    request = {"path": str(path), "tests": [*tests, str(path)], "numbers": numbers}
    request["max_seconds"] = MAX_SECONDS
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"HYPOTHESIS_PROFILE": "fast", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(SOURCE.parent), str(ROOT)])
    with tempfile.TemporaryDirectory() as home:
        environment |= {"XDG_CACHE_HOME": home, "TMPDIR": home}
        done = subprocess.run(
            [sys.executable, "-m", "reliability.campaigns._mutant_tests"],
            input=json.dumps(request) + "\n",
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=ROOT,
            env=environment,
        )
    for line in done.stdout.splitlines():
        number, outcome = json.loads(line)
        yield number, outcome


EQUIVALENT: dict[str, dict[str, str]] = {}
"""Of each module, changes that survive, and why no result depends on them."""
