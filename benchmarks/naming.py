"""Readable coordinates for what is extracted from the 48 PAutomaC machines, and what that changes.

    python benchmarks/naming.py --data DIR [--prefixes 300] [--max-rank 30] [--output TABLE.csv]

Of each machine two automata are named (`seqray.name_states`): the best one, and that of the SVD at
the largest rank. `loss` is the largest change of a weight over all words up to length 8, relative
to the largest weight; where these are more than 20,000, over a part of them (see `weight_loss` in
`seqray.explain.loss`). `distance` is the root of the summed squares over all words of any length,
also relative: up to rounding no word can change by more. `negative` is the share of negative
weights in the transitions, before and after.
"""

import argparse
import logging
import os
import time
from pathlib import Path

import numpy as np
from common import report, write_table

import seqray
from seqray.automata.balanced import distance
from seqray.explain.loss import checked_words
from seqray.formats.pautomac import read_machine

MAX_LOSS = 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(
        os.environ.get("SEQRAY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    )
    parser.add_argument("--data", type=Path, default=default, help="folder that holds pautomac/")
    parser.add_argument("--prefixes", type=int, default=300)
    parser.add_argument("--max-rank", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="write the table there, as CSV")
    options = parser.parse_args()
    if not (options.data / "pautomac").is_dir():
        parser.error(f"no pautomac/ in {options.data}: see 'What you need' in docs/results.md")
    logging.disable()  # words that were cut are nothing to this
    rows = []
    for problem in range(1, 49):
        machine = read_machine(options.data / "pautomac" / f"{problem}.pautomac_model.txt")
        extraction = seqray.extract(
            machine,
            n_prefixes=options.prefixes,
            max_rank=options.max_rank,
            purpose="reading",
            seed=options.seed,
        )
        automata = {
            "best": extraction.best(purpose="reading"),
            "svd": extraction.automata.spectral(extraction.max_rank),
        }
        for which, automaton in automata.items():
            rows.append(row := {"problem": problem, "which": which} | measure(automaton))
            print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    if options.output:
        write_table(options.output, rows)
    figures: dict[str, float] = {"seed": options.seed}
    for which in automata:
        chosen = [row for row in rows if row["which"] == which]
        losses = np.array([float(row["loss"]) for row in chosen])
        figures[f"{which}_within_bar"] = int((losses <= MAX_LOSS).sum())
        figures[f"{which}_largest_loss"] = float(losses.max())
        distances = np.array([float(row["distance"]) for row in chosen])
        figures[f"{which}_largest_distance"] = float(distances.max())
        left = np.array([float(row["negative"]) for row in chosen])
        figures[f"{which}_without_negative"] = int((left < 0.0005).sum())
        figures[f"{which}_negative_median"] = round(float(np.median(left)), 3)
        figures[f"{which}_seconds"] = max(float(row["seconds"]) for row in chosen)
    report([(name, str(value)) for name, value in figures.items()], figures)


def measure(automaton: seqray.WeightedAutomaton) -> dict[str, float | str]:
    begin = time.process_time()
    named = seqray.name_states(automaton)
    taken = time.process_time() - begin
    largest = np.abs(automaton.weights(checked_words(automaton.alphabet))).max()
    return {
        "states": automaton.n_states,
        "named": named.automaton.n_states,
        "loss": f"{named.loss:.1e}",
        "distance": f"{distance(automaton, named.automaton) / largest:.1e}",
        "negative_before": f"{negative(automaton):.3f}",
        "negative": f"{negative(named.automaton):.3f}",
        "longest_name": int(named.prefixes.lengths.max()),
        "seconds": f"{taken:.2f}",
    }


def negative(automaton: seqray.WeightedAutomaton) -> float:
    weights = automaton.transitions
    return float(np.maximum(-weights, 0).sum() / np.abs(weights).sum())


if __name__ == "__main__":
    main()
