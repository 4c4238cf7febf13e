"""Run reliability campaigns: all of them or some, in their short or long form."""

import argparse
import sys
import time
from pathlib import Path

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
        "--resume",
        action="store_true",
        help="go on where an interrupted run ended: rows of it that have no failure are left out",
    )
    parser.add_argument(
        "--results", type=Path, default=results.RESULTS, help="where rows are saved and read"
    )
    parser.add_argument(
        "--page", action="store_true", help="run nothing: write docs/reliability.md from results"
    )
    given = parser.parse_args()
    if unknown := set(given.campaign) - set(names):
        parser.error(f"no campaign {sorted(unknown)}: expected some of {names}")
    if given.page:
        page.write(results=given.results)
        return 0
    n_failures = sum(_run(name, given) for name in given.campaign or names)
    print(f"{n_failures} failures")
    return int(n_failures > 0)


def _run(name: str, given: argparse.Namespace) -> int:
    """Run a campaign, save its rows as they come, and return how many failures there were."""
    campaign, begin, n_failures = campaigns()[name], time.perf_counter(), 0
    is_long, (started, done) = given.scale == "long", (results.now(), set())
    options = {}
    if given.resume and getattr(campaign, "RESUMABLE", False):
        started, done = results.begun(name, given.seed, given.results)
        options = {"done": done}
    names = [*done]
    for row in campaign.run(given.scale, given.seed, **options):
        seconds, begin = time.perf_counter() - begin, time.perf_counter()
        names.append(row.name)
        n_failures += len(row.failures)
        print(f"{name}: {row.name}: {row.skipped or row.n} ({seconds:.0f} s)", flush=True)
        print("".join(f"    FAILED {each}\n" for each in row.failures), end="", flush=True)
        if is_long:
            results.save(name, row, given.seed, seconds, started, given.results)
    if is_long:
        results.keep_only(name, names, given.results)
    return n_failures


if __name__ == "__main__":
    sys.exit(main())
