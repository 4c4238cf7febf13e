"""Run reliability campaigns: all of them or some, in their short or long form."""

import argparse
import sys
import time

from reliability import page, results
from reliability.results import campaigns


def main() -> int:
    """Run what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m reliability", description=__doc__)
    names = list(campaigns())
    parser.add_argument("campaign", nargs="*", help=f"default: all ({', '.join(names)})")
    parser.add_argument(
        "--scale", choices=["short", "long"], default="long", help="short ones are not saved"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--page", action="store_true", help="run nothing: write docs/reliability.md from results"
    )
    given = parser.parse_args()
    if unknown := set(given.campaign) - set(names):
        parser.error(f"no campaign {sorted(unknown)}: expected some of {names}")
    if given.page:
        page.write()
        return 0
    n_failures = 0
    for name in given.campaign or names:
        begin, rows = time.perf_counter(), []
        for row in campaigns()[name].run(given.scale, given.seed):
            seconds, begin = time.perf_counter() - begin, time.perf_counter()
            rows.append(row)
            n_failures += len(row.failures)
            print(f"{name}: {row.name}: {row.skipped or row.n} ({seconds:.0f} s)", flush=True)
            print("".join(f"    FAILED {each}\n" for each in row.failures), end="", flush=True)
            if given.scale == "long":
                results.save(name, row, given.seed, seconds)
        if given.scale == "long":
            results.keep_only(name, [row.name for row in rows])
    print(f"{n_failures} failures")
    return int(n_failures > 0)


if __name__ == "__main__":
    sys.exit(main())
