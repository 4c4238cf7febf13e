"""How often 95 % confidence intervals hold the true value, on machines whose truth is known.

    python benchmarks/coverage.py [--samples 150] [--words 500] [--output coverage.json]

The truth is the metric on 60,000 words of the machine. Then small samples of words are drawn, and
the intervals of `seqray.compare` are counted that hold it. The automata are the machines with moved
weights, and SVDs of them that are cut.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import report

import seqray
from seqray.data.generate import random_machine

N_TRUE = 60_000


def pairs() -> Iterator[tuple[str, seqray.WeightedAutomaton, seqray.WeightedAutomaton]]:
    """Yield a name, a machine and an automaton that is near it."""
    for seed in (1, 2):
        machine = random_machine("pfa", 6, 4, rng=np.random.default_rng(seed))
        moves = np.random.default_rng(3).uniform(0.5, 1.5, machine.transitions.shape)
        moved = seqray.WeightedAutomaton(
            machine.alphabet, machine.initial, machine.transitions * moves, machine.final
        )
        yield f"moved {seed}", machine, moved
        found = seqray.extract(machine, method="weighted", prefixes=100, suffixes=100)
        yield f"cut {seed}", machine, found.automaton(max(2, found.max_rank // 2))
    machine = random_machine("hmm", 10, 6, rng=np.random.default_rng(5))
    found = seqray.extract(machine, method="weighted", prefixes=100, suffixes=100)
    yield "cut 5", machine, found.automaton(found.max_rank - 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=150)
    parser.add_argument("--words", type=int, default=500)
    parser.add_argument("--output", type=Path, help="write the figures there, as JSON")
    options = parser.parse_args()
    held: dict[str, list[bool]] = {}
    by_pair: dict[str, dict[str, float]] = {}
    for name, machine, automaton in pairs():
        truth = seqray.compare(
            machine, automaton, machine.sample(N_TRUE, rng=np.random.default_rng(99))
        )
        here: dict[str, list[bool]] = {}
        for seed in range(options.samples):
            words = machine.sample(options.words, rng=np.random.default_rng(1000 + seed))
            found = seqray.compare(machine, automaton, words)
            for metric, (low, high) in found.intervals.items():
                here.setdefault(metric, []).append(low <= truth[metric] <= high)
        by_pair[name] = {metric: round(float(np.mean(hits)), 3) for metric, hits in here.items()}
        for metric, hits in here.items():
            held.setdefault(metric, []).extend(hits)
        print(name, by_pair[name], flush=True)
    means = {metric: round(float(np.mean(hits)), 3) for metric, hits in held.items()}
    figures = {"samples": options.samples, "words": options.words, "mean": means, "pairs": by_pair}
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n")
    report([(name, str(value)) for name, value in means.items()], figures)


if __name__ == "__main__":
    main()
