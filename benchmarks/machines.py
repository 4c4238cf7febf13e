"""From each of the 48 PAutomaC target machines as a black box: NDCG₅ by three methods.

    python benchmarks/machines.py --data DIR [--size 400] [--seed 0] [--problems N …]
        [--output TABLE.csv]

`raw` and `weighted` are blocks over a basis that is sampled from the machine, `auto` is what
`seqray.extract` does by itself. The metric is taken on the problem's test words. `best` is the best
rank up to 100 on those very words, as in the paper; `chosen` is the smallest rank within 0.0001 of
the best on 1,000 other words, drawn from the machine. `reached` is the rank of the block, `states`
that of the machine after exact minimisation.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from common import learning_steps, report, write_table

import seqray
from seqray.automata.minimal import minimise
from seqray.automata.sampling import sample
from seqray.extraction.job import N_HELD_OUT
from seqray.fidelity.compare import compare_ranks
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import TOLERANCE, first_near_best
from seqray.formats.pautomac import read_machine

WEIGHTINGS = {"raw": "none", "weighted": "balanced"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(
        os.environ.get("SEQRAY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    )
    parser.add_argument("--data", type=Path, default=default, help="folder that holds pautomac/")
    parser.add_argument("--size", type=int, default=400, help="prefixes, and suffixes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--problems", type=int, nargs="*", default=range(1, 49))
    parser.add_argument("--output", type=Path, help="write the table there, as CSV")
    options = parser.parse_args()
    if not (options.data / "pautomac").is_dir():
        parser.error(f"no pautomac/ in {options.data}: see 'What you need' in docs/results.md")
    rows = []
    for problem in options.problems:
        rows.append(row := measure(problem, options))
        print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    if options.output:
        write_table(options.output, rows)
    figures: dict[str, float] = {"size": options.size, "seed": options.seed}
    for name in (*WEIGHTINGS, "auto"):
        for choice in ("best", "chosen"):
            values = np.array([row[f"{name}_{choice}"] for row in rows])
            figures[f"{name}_{choice}_reaching_0.999"] = int((values >= 0.999).sum())
            figures[f"{name}_{choice}_mean"] = round(float(values.mean()), 5)
    report([(name, str(value)) for name, value in figures.items()], figures)


def measure(problem: int, options: argparse.Namespace) -> dict[str, float]:
    stem = options.data / "pautomac" / f"{problem}.pautomac"
    machine = read_machine(f"{stem}_model.txt")
    test = Reference.query(machine, seqray.read_words(f"{stem}.test", alphabet=machine.alphabet))
    rng, other_rng = np.random.default_rng(options.seed).spawn(2)
    words, _ = sample(machine, N_HELD_OUT, seed=other_rng, max_length=100)
    held_out = Reference.query(machine, words)
    basis = seqray.sampled_basis(machine, options.size, options.size, seed=rng)
    blocks = seqray.fill(machine, basis)
    row: dict[str, float] = {
        "problem": problem,
        "symbols": len(machine.alphabet),
        "states": minimise(machine).n_states,
    }
    for name, weighting in WEIGHTINGS.items():
        decomposition = seqray.decompose(blocks, weighting=weighting)
        ranks = range(1, decomposition.max_rank + 1)
        ndcg = compare_ranks(test, decomposition.largest, ranks)["ndcg5"]
        other = compare_ranks(held_out, decomposition.largest, ranks)["ndcg5"]
        chosen = first_near_best(-other, TOLERANCE)
        row |= columns(name, ndcg, chosen)
    auto = seqray.extract(machine, seed=options.seed)
    automata = map(auto.automaton, range(1, auto.max_rank + 1))
    ndcg = np.array([test.compare(automaton)["ndcg5"] for automaton in automata])
    return (
        row
        | columns("auto", ndcg, auto.best_rank() - 1)
        | {"auto_steps": learning_steps(auto.settings)}
    )


def columns(name: str, ndcg: np.ndarray, chosen: int) -> dict[str, float]:
    return {
        f"{name}_reached": len(ndcg),
        f"{name}_best": round(float(ndcg.max()), 5),
        f"{name}_best_rank": int(ndcg.argmax()) + 1,
        f"{name}_chosen": round(float(ndcg[chosen]), 5),
        f"{name}_chosen_rank": chosen + 1,
    }


if __name__ == "__main__":
    main()
