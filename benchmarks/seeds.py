"""How much the random seed matters: seqray's own method on a few problems with several seeds.

    python benchmarks/seeds.py --data DIR [--seeds 10] [--results DIR] [--output TABLE.csv]

Each seed is a run of `seqray bench pautomac --method auto`: other words are drawn to learn from, to
choose the rank on, and to compare on (S_RNN; the test words stay). A run that is there already, in
a folder of its own under `--results`, is not made again.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from common import report, write_table

from seqray.experiments.table import read_results

PROBLEMS = (10, 16, 21, 34, 35, 47)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).resolve().parents
    data = Path(os.environ.get("SEQRAY_DATA", here[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=data, help="folder that holds pautomac/")
    parser.add_argument("--boxes", type=Path, default=here[0] / "blackboxes")
    parser.add_argument("--problems", type=int, nargs="*", default=PROBLEMS)
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    parser.add_argument("--results", type=Path, help="folder to go on in")
    parser.add_argument("--output", type=Path, help="write the table there, as CSV")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.results or Path(temporary)
        by_seed = [gains(options, folder / f"seed-{seed}", seed) for seed in range(options.seeds)]
    rows = [
        {"problem": problem, "set": which, "seed": seed, "ndcg5": gain[problem, which]}
        for problem in options.problems
        for which in ("test", "rnn")
        for seed, gain in enumerate(by_seed)
    ]
    if options.output:
        write_table(options.output, rows)
    figures: dict[str, float] = {"seeds": options.seeds}
    lines = []
    for problem in options.problems:
        for which in ("test", "rnn"):
            values = np.array([gain[problem, which] for gain in by_seed])
            lines.append(
                (
                    f"{problem} {which}",
                    f"{values.min():.4f} … {values.max():.4f}, standard deviation "
                    f"{values.std():.4f}",
                )
            )
            figures[f"{problem}_{which}_least"] = round(float(values.min()), 4)
            figures[f"{problem}_{which}_spread"] = round(float(np.ptp(values)), 4)
    figures["least"] = round(min(row["ndcg5"] for row in rows), 4)
    report([*lines, ("least of all", str(figures["least"]))], figures)


def gains(options: argparse.Namespace, folder: Path, seed: int) -> dict[tuple[int, str], float]:
    """Return NDCG₅ of the automata that were chosen, by problem and set of words."""
    problems = ",".join(map(str, options.problems))
    command = [sys.executable, "-m", "seqray", "bench", "pautomac", "--method", "auto"]
    command += ["--data", options.data, "--boxes", options.boxes, "-o", folder]
    subprocess.run([*command, "--problems", problems, "--seed", str(seed)], check=True)
    return {
        (int(row.problem), row.set): row.ndcg5
        for row in read_results(folder / "pautomac.csv.gz")
        if row.selection == "held-out"
    }


if __name__ == "__main__":
    main()
