"""Extraction with defaults over up to 10,000 symbols: time, memory, queries and fidelity.

``python benchmarks/large_alphabet.py`` extracts from a generated machine of 20 states over 10, 100,
1,000 and 10,000 symbols, once as an automaton (the box has states) and once as a function that
predicts next symbols (``seqray.language_model``); and from a machine of 2,101 states over 700
symbols, whose next symbol depends on the last one and on one of three hidden states. In all of them
symbols are as unequally frequent as words of a language: the r-th most frequent one has a weight of
about 1/r.

Every case runs in a process of its own. ``benchmarks/results/large_alphabet.json`` holds the
results as they come: processor time, peak memory, queries, bits per symbol and NDCG₅ on words of
the box that the extraction did not see, and the largest relative error of their weights. A case
that is there is not run again, unless it is named: ``--case function-10000``. ``--figure`` draws
``docs/images/large-alphabet.svg`` from these results. ``--commands`` measures commands that read an
automaton of 5 states over 10,000 symbols instead: processor time and peak memory of each.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import machine as computer
from common import one_thread

import seqray
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.grouping import Grouping
from seqray.automata.structured import StructuredAutomaton
from seqray.fidelity.reference import Reference

SIZES = 10, 100, 1000, 10_000
CASES = (*(f"{kind}-{size}" for size in SIZES for kind in ("automaton", "function")), "hidden-700")
RESULTS = Path(__file__).parent / "results" / "large_alphabet.json"
FIGURE = Path(__file__).parent.parent / "docs" / "images" / "large-alphabet.svg"
N_STATES, MEAN_LENGTH, N_PREFIXES = 20, 20, 20_000
N_HIDDEN, N_FOLLOWERS = 3, 30
COMMANDS = {
    "draw": "draw wa.json -o drawing.svg",
    "explain": "explain wa.json",
    "explain a word": "explain wa.json 3 14",
    "explore": "explore wa.json -o page.html",
    "evaluate": "evaluate wa.json --against wa.json",
    "evaluate --worst": "evaluate wa.json --against wa.json --worst 3",
    "extract": "extract wa.json -o run",
}


def zipf(n_symbols: int) -> np.ndarray:
    """Return frequencies of symbols like those of words of a language."""
    weights = 1 / np.arange(1, n_symbols + 1)
    return weights / weights.sum()


def some_states(
    n_symbols: int, rng: np.random.Generator, n_states: int = N_STATES
) -> WeightedAutomaton:
    """Return a probabilistic automaton whose states have different next symbols."""
    emission = zipf(n_symbols) * rng.gamma(0.5, 2, (n_states, n_symbols))
    emission *= (1 - 1 / MEAN_LENGTH) / emission.sum(axis=1, keepdims=True)
    moves = rng.dirichlet(np.full(n_states, 0.1), (n_symbols, n_states))
    initial, final = rng.dirichlet(np.ones(n_states)), np.full(n_states, 1 / MEAN_LENGTH)
    return WeightedAutomaton(range(n_symbols), initial, emission.T[:, :, None] * moves, final)


def hidden_states(n_symbols: int, rng: np.random.Generator) -> StructuredAutomaton:
    """Return an automaton with three states after every symbol; each has thirty followers."""
    frequencies = zipf(n_symbols)
    grouping = Grouping.by_last_symbol([N_HIDDEN] * n_symbols)
    n = grouping.n_states
    emission = np.tile(0.1 * frequencies, (n, 1))
    for row in emission:
        followers = rng.choice(n_symbols, min(N_FOLLOWERS, n_symbols), replace=False, p=frequencies)
        row[followers] += 0.9 * rng.dirichlet(np.full(len(followers), 0.3))
    emission *= (1 - 1 / MEAN_LENGTH) / emission.sum(axis=1, keepdims=True)
    emission = np.column_stack([emission, np.full(n, 1 / MEAN_LENGTH)])
    matrices = {}
    for group in range(1, n_symbols + 1):
        states = grouping.states(group)
        for symbol in np.flatnonzero(emission[states, :-1].max(axis=0) > 0.02).tolist():
            moves = rng.dirichlet(np.full(N_HIDDEN, 0.3), N_HIDDEN)
            matrices[group, symbol] = emission[states, symbol, None] * moves
    entry = rng.dirichlet(np.ones(N_HIDDEN), n_symbols)
    return StructuredAutomaton(
        range(n_symbols), grouping, [1.0], emission, np.append(1.0, entry), matrices
    )


def measure(case: str) -> dict[str, Any]:
    """Extract in one case, and return its figures."""
    kind, _, size = case.partition("-")
    n_symbols = int(size)
    make = hidden_states if kind == "hidden" else some_states
    machine = make(n_symbols, np.random.default_rng(0))
    box: Any = machine
    if kind == "function":
        box = seqray.language_model(machine.next_symbol, range(n_symbols))
    begin, began = time.process_time(), time.perf_counter()
    extraction = seqray.extract(box)
    seconds, wall = time.process_time() - begin, time.perf_counter() - began
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    n_words = min(1000, max(50, N_PREFIXES * 100 // n_symbols))
    words = Reference.draw(machine, n_words, seed=12345, max_length=100)
    best, rank = (extraction.best(purpose=each) for each in ("copying", "reading"))
    fidelity = words.compare(best)
    error = np.abs(best.weights(words.words) / words.weights - 1).max()
    return {
        "case": case,
        "symbols": n_symbols,
        "seconds": seconds,
        "wall_seconds": wall,
        "gigabytes": gigabytes,
        "queries": extraction.settings.questions,
        "states": best.n_states,
        "bits_per_symbol": fidelity["kl_per_symbol"],
        "rank_bits_per_symbol": words.compare(rank)["kl_per_symbol"],
        "ndcg5": fidelity["ndcg5"],
        "largest_relative_error": float(error),
        "words": n_words,
        "machine": computer(),
    }


def run(case: str) -> dict[str, Any]:
    """Measure a case in a process of its own."""
    command = [sys.executable, __file__, "--measure", case]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    figures: dict[str, Any] = json.loads(output.splitlines()[-1])
    return figures


def measure_commands() -> list[dict[str, Any]]:
    """Run commands on an automaton of 5 states over 10,000 symbols; return what each takes."""
    figures = []
    with tempfile.TemporaryDirectory() as folder, one_thread():
        some_states(SIZES[-1], np.random.default_rng(0), 5).save(Path(folder) / "wa.json")
        for name, arguments in COMMANDS.items():
            command = [sys.executable, "-m", "seqray", *arguments.split()]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen(command, cwd=folder, **quiet)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
            seconds, gigabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6
            figures.append({"command": name, "seconds": seconds, "gigabytes": gigabytes})
            print(f"{name:16}  {seconds:.1f} s, {gigabytes:.2f} GB")
    return figures


def draw(figures: list[dict[str, Any]]) -> None:
    """Draw time, memory and queries over the number of symbols."""
    import matplotlib as mpl  # noqa: PLC0415 - only here

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "seqray"
    from matplotlib import pyplot as plt  # noqa: PLC0415

    panels = {"seconds": "processor time, s", "gigabytes": "peak memory, GB", "queries": "queries"}
    labels = {"automaton": "an automaton", "function": "a function that predicts"}
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    for axis, (name, title) in zip(axes, panels.items(), strict=True):
        for kind, marker in zip(labels, "os", strict=True):
            rows = sorted(
                (row["symbols"], row[name]) for row in figures if row["case"].startswith(kind)
            )
            axis.plot(*zip(*rows, strict=True), marker=marker, label=labels[kind])
        axis.set(xscale="log", yscale="log", xlabel="symbols", title=title)
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES, action="append", help="run this case again")
    parser.add_argument("--figure", action="store_true", help="only draw the figure")
    parser.add_argument("--commands", action="store_true", help="only measure commands")
    parser.add_argument("--measure", choices=CASES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        with one_thread():
            print(json.dumps(measure(arguments.measure)))
        return
    saved = json.loads(RESULTS.read_text())  # with figures of an earlier version, which stay
    if arguments.commands:
        saved["commands"] = measure_commands()
        RESULTS.write_text(json.dumps(saved, indent=1) + "\n")
        return
    known = {row["case"]: row for row in saved["cases"]}
    if not arguments.figure:
        for case in arguments.case or [case for case in CASES if case not in known]:
            row = known[case] = run(case)
            print(
                f"{case:16}  {row['seconds']:.0f} s, {row['gigabytes']:.2f} GB, "
                f"{row['queries']:,} queries, {row['bits_per_symbol']:.2g} bits per symbol, "
                f"NDCG₅ {row['ndcg5']:.6f}, error {row['largest_relative_error']:.1e}"
            )
            saved["cases"] = [known[each] for each in CASES if each in known]
            RESULTS.write_text(json.dumps(saved, indent=1) + "\n")
    draw([*known.values()])


if __name__ == "__main__":
    main()
