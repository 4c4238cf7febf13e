"""How often 95 % confidence intervals hold the true value, on machines whose truth is known.

    python benchmarks/coverage.py [--samples 150] [--words 500] [--output coverage.json]

The truth is the metric on 60,000 words of the machine. Then small samples of words are drawn, and
the intervals of `seqray.compare` are counted that hold it. For each machine there are two automata:
the machine with moved weights, and the rank of an SVD whose share of words without a positive
weight (`zeros`) is nearest to 0.0007, a rare event. No method was chosen on these machines.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import report

import seqray
from seqray.automata.generators import random_machine

N_TRUE = 60_000
RARE_SHARE = 0.0007
SEEDS = (41, 42, 43, 44)


def pairs() -> Iterator[tuple[str, seqray.WeightedAutomaton, seqray.WeightedAutomaton]]:
    """Yield a name, a machine and an automaton that approximates it."""
    for seed in SEEDS:
        kind = "pfa" if seed % 2 else "hmm"
        machine = random_machine(kind, 5 + seed % 4, 3 + seed % 3, seed=np.random.default_rng(seed))
        moves = np.random.default_rng(seed + 50).uniform(0.5, 1.5, machine.transitions.shape)
        moved = seqray.WeightedAutomaton(
            machine.alphabet, machine.initial, machine.transitions * moves, machine.final
        )
        yield f"{kind} {seed}, moved", machine, moved
        yield f"{kind} {seed}, cut", machine, rarely_wrong(machine)


def rarely_wrong(machine: seqray.WeightedAutomaton) -> seqray.WeightedAutomaton:
    """Return the rank of an SVD whose share of words without a positive weight is rare."""
    extraction = seqray.extract(machine, method="weighted", n_prefixes=100, n_suffixes=100)
    words = machine.sample(N_TRUE, seed=np.random.default_rng(98)).words
    automata = [extraction.automaton(rank) for rank in range(2, extraction.max_rank + 1)]
    shares = [np.mean(automaton.weights(words) <= 0) for automaton in automata]
    distances = np.abs(np.log(np.maximum(shares, 1e-9) / RARE_SHARE))
    return automata[int(distances.argmin())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=150)
    parser.add_argument("--words", type=int, default=500)
    parser.add_argument("--output", type=Path, help="write the figures there, as JSON")
    options = parser.parse_args()
    held: dict[str, list[bool]] = {}
    by_pair: dict[str, dict[str, dict[str, float]]] = {}
    for name, machine, automaton in pairs():
        truth = seqray.compare(
            machine, automaton, machine.sample(N_TRUE, seed=np.random.default_rng(99)).words
        )
        here: dict[str, list[bool]] = {}
        for seed in range(options.samples):
            words = machine.sample(options.words, seed=np.random.default_rng(1000 + seed)).words
            fidelity = seqray.compare(machine, automaton, words)
            for metric, (low, high) in fidelity.intervals.items():
                here.setdefault(metric, []).append(low <= truth[metric] <= high)
        by_pair[name] = {
            metric: {"truth": float(f"{truth[metric]:.4g}"), "held": round(float(np.mean(hits)), 3)}
            for metric, hits in here.items()
        }
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
