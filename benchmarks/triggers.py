"""Rare behaviour: triggers of a few symbols, with and without counterexamples.

    python benchmarks/triggers.py [--seed 0] [--output TABLE.csv]

The boxes draw each symbol by accident, but after a certain run of symbols the last one is nearly
sure. `total_variation` is the largest total variation distance of the next symbols of box and
automaton after a word that ends with the trigger.
"""

import argparse
from pathlib import Path

import numpy as np
from common import learning_steps, report, write_table

import seqray
from seqray.automata.generators import triggered_machine
from seqray.fidelity.disagreements import prefix_distances
from seqray.fidelity.reference import Reference

TRIGGER = "abacabacba"
LENGTHS = (4, 6, 8, 10)
ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="write the table there, as CSV")
    options = parser.parse_args()
    rows: list[dict[str, float]] = []
    lines = []
    for length in LENGTHS:
        trigger = TRIGGER[:length]
        box = triggered_machine(trigger)
        rng = np.random.default_rng(options.seed + 1)
        fronts = box.sample(200, seed=rng).words
        at_trigger = Reference.query(box, [(*front, *trigger) for front in fronts])
        for rounds in (0, ROUNDS):
            extraction = seqray.extract(box, counterexamples=rounds, seed=options.seed)
            best = extraction.best(purpose="reading")
            distance = prefix_distances(at_trigger, best)[at_trigger.tree.node_of_word].max()
            rows.append(
                {
                    "length": length,
                    "counterexamples": rounds,
                    "states": best.n_states,
                    "total_variation": float(distance),
                    "questions": learning_steps(extraction.settings),
                }
            )
            lines.append(
                (
                    f"{length} symbols, {rounds} rounds",
                    f"{best.n_states} states of {length + 1}, total variation {distance:.2g}, "
                    f"{learning_steps(extraction.settings):,} steps",
                )
            )
    if options.output:
        write_table(options.output, rows)
    report(lines, {"seed": options.seed, "rows": rows})


if __name__ == "__main__":
    main()
