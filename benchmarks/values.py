"""Boxes that answer only with weights of words: NDCG₅ on PAutomaC's test words.

    python benchmarks/values.py --data DIR [--boxes DIR] [--size 800] [--output TABLE.csv]

The boxes are the trained networks, or with `--boxes machines` the 48 target machines themselves.
What comes next is hidden from the extraction; NDCG₅ compares the automaton's next symbols with
those that the box would have given. `chosen` is the rank that the extraction chose on words of its
own, `best` the best of some ranks on the test words themselves. A table that exists is
continued.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import Numbers, report, write_table

import seqray
from seqray.automata.algebra import scale
from seqray.fidelity.reference import Reference
from seqray.formats.pautomac import read_machine
from seqray.util.csv_table import csv_dicts

RANKS = (5, 10, 20, 30, 50, 70, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).resolve().parents
    data = Path(os.environ.get("SEQRAY_DATA", here[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=data, help="folder that holds pautomac/")
    parser.add_argument(
        "--boxes", default=str(here[0] / "blackboxes"), help="folder, or 'machines'"
    )
    parser.add_argument("--size", type=int, default=800, help="prefixes, and suffixes")
    parser.add_argument("--basis", default="grown", choices=["grown", "uniform"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--problems", type=int, nargs="*", default=range(1, 49))
    parser.add_argument("--output", type=Path, help="write the table there, as CSV")
    options = parser.parse_args()
    if not (options.data / "pautomac").is_dir():
        parser.error(f"no pautomac/ in {options.data}: see 'What you need' in docs/results.md")
    rows = []
    if options.output and options.output.exists():
        saved = csv_dicts(options.output.read_text())
        rows = [{name: float(value) for name, value in row.items()} for row in saved]
    done = {row["problem"] for row in rows}
    for problem in options.problems:
        trained = Path(options.boxes) / f"{problem}.safetensors"
        if problem in done or not (options.boxes == "machines" or trained.exists()):
            continue
        rows.append(row := measure(problem, trained, options))
        print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
        if options.output:
            write_table(options.output, rows)
    figures: dict[str, float] = {"problems": len(rows), "size": options.size, "seed": options.seed}
    for choice in ("chosen", "best"):
        values = np.array([row[choice] for row in rows])
        figures[f"{choice}_mean"] = round(float(values.mean()), 4)
        figures[f"{choice}_least"] = round(float(values.min()), 4)
    report([(name, str(value)) for name, value in figures.items()], figures)


def measure(problem: int, trained: Path, options: argparse.Namespace) -> dict[str, float]:
    stem = options.data / "pautomac" / f"{problem}.pautomac"
    box: Any
    if options.boxes == "machines":
        box = read_machine(f"{stem}_model.txt")
        # Twice a distribution is none, so that an automaton says only what words weigh.
        hidden: Any = scale(box, 2.0)
    else:
        box = seqray.open_black_box(f"rnn:{trained}")
        hidden = Numbers(box)
    test = Reference.query(box, seqray.read_words(f"{stem}.test", alphabet=box.alphabet))
    begin = time.process_time()
    extraction = seqray.extract(
        hidden, prefixes=options.size, suffixes=options.size, basis=options.basis, seed=options.seed
    )
    seconds = time.process_time() - begin
    assert not extraction.predicts
    chosen = extraction.best_rank()
    ranks = sorted(
        {*(rank for rank in RANKS if rank < extraction.max_rank), extraction.max_rank, chosen}
    )
    gains = {rank: test.compare(extraction.automaton(rank))["ndcg5"] for rank in ranks}
    return {
        "problem": problem,
        "rank": chosen,
        "chosen": round(gains[chosen], 5),
        "best": round(max(gains.values()), 5),
        "steps": extraction.settings["steps"],
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    main()
