"""Put problems that were measured again into the tables of results.

    seqray bench pautomac --data DATA --method auto --problems 40,11 -o results
    python benchmarks/merge_results.py pautomac results

The rows of seqray's own method (`auto` and `copy`) of the problems in the folder replace those in
benchmarks/results; what its JSON file says of these problems is taken over, too. All else stays:
the paper's method, the networks themselves, the times of what was distilled.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seqray.experiments.table import read_results, write_results
from seqray.util.checksums import opened_json, sealed_json

RESULTS = Path(__file__).resolve().parent / "results"
OWN_METHODS = "auto", "copy"
OF_PROBLEMS = "rounds", "copies"


def main() -> None:
    """Merge one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", help="its name: pautomac, spice, trucks or logs")
    parser.add_argument("folder", type=Path, help="where `seqray bench -o` wrote")
    given = parser.parse_args()
    name = f"{given.table}.csv.gz"
    new = [each for each in read_results(given.folder / name) if each.method in OWN_METHODS]
    problems = {each.problem for each in new}
    old = read_results(RESULTS / name)
    kept = [each for each in old if each.method not in OWN_METHODS or each.problem not in problems]
    write_results([*kept, *new], RESULTS / name)
    about, fresh = (
        opened_json((folder / f"{given.table}.json").read_bytes())
        for folder in (RESULTS, given.folder)
    )
    for key in OF_PROBLEMS:
        about[key] |= {each: fresh[key][each] for each in fresh[key] if each in problems}
    for each in problems & fresh["seconds"].keys():
        own = {phase: s for phase, s in fresh["seconds"][each].items() if phase.startswith("auto_")}
        about["seconds"][each] |= own
    (RESULTS / f"{given.table}.json").write_bytes(sealed_json(about, indent=1))
    print(f"{len(problems)} problems:", *sorted(problems, key=lambda each: (len(each), each)))


if __name__ == "__main__":
    main()
