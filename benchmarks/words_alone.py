"""Automata of words alone: `seqray.fit_automaton` on the training words of PAutomaC.

    python benchmarks/words_alone.py --data DIR [--problems N …]

The perplexity is the competition's, on the problem's test words and against its machine. Beside it
stand the machine's own, and that of the network which seqray trained on the same words
(results/pautomac-boxes.csv). Each problem is saved as soon as it is done: the same command goes on
where it was.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path

import numpy as np
from common import one_thread, report, write_table

import seqray
from seqray.fidelity.word_metrics import perplexity
from seqray.formats.pautomac import read_solution

RESULTS = Path(__file__).resolve().parent / "results"
TABLE = RESULTS / "words-alone.csv"


def main() -> None:
    """Fit to every problem, and print the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(
        os.environ.get("SEQRAY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    )
    parser.add_argument("--data", type=Path, default=default, help="folder that holds pautomac/")
    parser.add_argument("--problems", type=int, nargs="*", default=range(1, 49))
    options = parser.parse_args()
    if not (options.data / "pautomac").is_dir():
        parser.error(f"no pautomac/ in {options.data}: see 'What you need' in docs/results.md")
    with (RESULTS / "pautomac-boxes.csv").open() as file:
        networks = {int(row["problem"]): row for row in csv.DictReader(file)}
    rows = _saved()
    for problem in options.problems:
        if problem not in rows:
            rows[problem] = measure(problem, options.data / "pautomac", networks[problem])
            write_table(TABLE, [rows[each] for each in sorted(rows)])
        print("  ".join(f"{name} {value}" for name, value in rows[problem].items()), flush=True)
    summarise(list(rows.values()))


def _saved() -> dict[int, dict[str, float]]:
    """Return the rows that are there already."""
    if not TABLE.exists():
        return {}
    with TABLE.open() as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    for row in rows:
        row["problem"], row["states"] = int(row["problem"]), int(row["states"])
    return {int(row["problem"]): row for row in rows}


def measure(problem: int, folder: Path, network: dict[str, str]) -> dict[str, float]:
    """Return the perplexities and the time of one problem."""
    words = seqray.read_words(folder / f"{problem}.pautomac.train")
    test = seqray.read_words(folder / f"{problem}.pautomac.test", alphabet=words.alphabet)
    solution = read_solution(folder / f"{problem}.pautomac_solution.txt")
    begin = time.process_time()
    wa = seqray.fit_automaton(words)
    seconds = time.process_time() - begin
    return {
        "problem": problem,
        "target": float(network["perplexity_target"]),
        "network": float(network["perplexity_box"]),
        "automaton": round(perplexity(solution, wa.weights(test)), 6),
        "states": wa.n_states,
        "seconds": round(seconds, 1),
    }


def summarise(rows: list[dict[str, float]]) -> None:
    """Print the mean excess over the targets, in bits per word, and who is nearer."""
    target, network, automaton, seconds = (
        np.array([row[name] for row in rows])
        for name in ("target", "network", "automaton", "seconds")
    )
    figures = {
        "problems": len(rows),
        "excess_bits_automaton": round(float(np.log2(automaton / target).mean()), 4),
        "excess_bits_network": round(float(np.log2(network / target).mean()), 4),
        "automaton_nearer": int((automaton < network).sum()),
        "median_seconds": float(np.median(seconds)),
    }
    report([(name, str(value)) for name, value in figures.items()], figures)


if __name__ == "__main__":
    with one_thread():
        main()
