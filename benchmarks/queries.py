"""Fidelity against number of queries: of several boxes, and against an earlier version.

    python benchmarks/queries.py curve [--boxes NAME …]
    python benchmarks/queries.py before --source FOLDER
    python benchmarks/queries.py halves
    python benchmarks/queries.py summary
    python benchmarks/queries.py figure

`curve` extracts from ten boxes with budgets of 1,000 to 1,000,000 queries. `before` runs the
default extraction of an earlier version, whose checkout FOLDER is (`git worktree add FOLDER
dc15c26`), on the 47 PAutomaC networks of the paper. `halves` gives this version half of those
queries, and then a quarter and an eighth of them for as long as it comes as near to the network as
the automaton that the earlier version chose. `summary` prints the shares, also those for the
nearest automaton that the earlier version had. Bits per symbol and NDCG₅ are measured on 2,000
words of the box that no extraction saw. Every row is saved as it comes, and rows that are there are
not made again: any of these can be interrupted. `figure` draws the curves.
"""

from __future__ import annotations

import argparse
import csv
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import Numbers, one_thread, report, write_table

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.automata.stepper import PredictingStepper
from seqray.blackbox.registry import open_black_box
from seqray.experiments.findings import Findings
from seqray.experiments.plots import Drawing, draw, panels, save_figure
from seqray.extraction.extract import extract
from seqray.fidelity.reference import Reference
from seqray.formats.automaton_file import open_wa
from seqray.util.plots import BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
NETWORKS, RESULTS = HERE / "blackboxes", HERE / "results"
CURVE, BEFORE, HALVES = (RESULTS / f"queries{end}.csv" for end in ("", "-before", "-halves"))
IMAGES = HERE.parent / "docs" / "images"

BUDGETS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CURVE_BOXES = {
    **{str(problem): f"PAutomaC {problem}" for problem in (4, 24, 7, 19, 21, 40)},
    "spice4": "SPiCe 4",
    "trucks": "trucks",
    "spice0-gru50": "SPiCe 0, GRU",
    "machine": "a random machine",
}
PROBLEMS = [problem for problem in range(1, 49) if problem != 39]
SHARES = (1 / 2, 1 / 4, 1 / 8)
NEAREST = "nearest_bits_per_symbol"
AS_NEAR = 1.02
"""Up to this ratio of bits lost per symbol an automaton counts as near as another one."""

EXACT_BITS = 1e-6
"""Fewer bits lost per symbol than this count as none."""

LEAST_DRAWN, LABEL_STEP = 1e-5, 1.7
"""Bits per symbol below this are drawn as this. Labels are at least this factor apart."""

COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#555555")

N_WORDS, MAX_LENGTH, WORDS_SEED = 2000, 100, 12345

EARLIER = """
import sys, time, seqray
box, folder = seqray.open_black_box(sys.argv[1]), sys.argv[2]
begin = time.process_time()
extraction = seqray.extract(box)
seconds = time.process_time() - begin
extraction.best().save(f"{folder}/best.npz")
for rank, automaton in extraction.fitted.items():
    automaton.save(f"{folder}/fitted-{rank}.npz")
print(extraction.settings["questions"], seconds)
"""
"""Extracts with another version's defaults, and saves the automata."""

Row = dict[str, str]


class SavedRows:
    """Rows of a table that is saved whenever one comes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []
        if path.exists():
            with path.open(encoding="utf-8", newline="") as lines:
                self.rows = list(csv.DictReader(lines))

    def get(self, **key: object) -> Row | None:
        """Return the row with these values, if it is there."""
        wanted = {name: str(value) for name, value in key.items()}
        return next((row for row in self.rows if wanted.items() <= row.items()), None)

    def made(self, key: dict[str, object], make: Callable[[], dict[str, object]]) -> Row:
        """Return a row: the one that is there, or a new one, which is saved."""
        row = self.get(**key)
        if row is None:
            row = {name: str(value) for name, value in (key | make()).items()}
            self.rows.append(row)
            write_table(self.path, self.rows)
            print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
        return row


class Predictions(Numbers):
    """A box with states that predicts: an automaton itself would have no budget."""

    def __init__(self, box: PredictingStepper) -> None:
        super().__init__(box)
        self.state_next_symbol = box.state_next_symbol


def opened(name: str) -> PredictingStepper:
    """Return the box of a name: a network in benchmarks/blackboxes, or a random machine."""
    if name == "machine":
        return Predictions(random_machine("pfa", n_states=30, n_symbols=8, seed=0))
    return open_black_box(f"rnn:{NETWORKS / name}.safetensors")


def new_words(box: PredictingStepper) -> Reference:
    return Reference.draw(box, N_WORDS, seed=WORDS_SEED, max_length=MAX_LENGTH)


def fidelity(words: Reference, automaton: WeightedAutomaton) -> dict[str, object]:
    """Return how near an automaton is to its box."""
    metrics = words.compare(automaton)
    return {
        "states": automaton.n_states,
        "bits_per_symbol": f"{max(metrics['kl_per_symbol'], 0):.3g}",
        "ndcg5": f"{metrics['ndcg5']:.5f}",
    }


def extracted(name: str, budget: int) -> dict[str, object]:
    """Extract from a box within a budget, and return what came of it."""
    box = opened(name)
    begin = time.process_time()
    extraction = extract(box, budget=budget)
    seconds = time.process_time() - begin
    settings = extraction.settings
    return {
        "queries": settings.questions,
        "validation": settings.validation_questions,
        **fidelity(new_words(box), extraction.best()),
        "seconds": f"{seconds:.1f}",
    }


def curve(names: Iterable[str]) -> None:
    """Extract from every box with every budget, small budgets first."""
    saved = SavedRows(CURVE)
    for budget in BUDGETS:
        for name in names:
            saved.made({"box": name, "budget": budget}, partial(extracted, name, budget))


def before(source: Path, problems: Iterable[int]) -> None:
    """Extract from every network with an earlier version."""
    saved = SavedRows(BEFORE)
    for problem in problems:
        saved.made({"box": problem}, partial(extracted_earlier, str(problem), source))


def extracted_earlier(name: str, source: Path) -> dict[str, object]:
    """Return what an earlier version makes of a box: what it chose, and the nearest it has."""
    box = opened(name)
    environment = os.environ | {"PYTHONPATH": str(source / "src"), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", EARLIER, f"rnn:{NETWORKS / name}.safetensors", folder]
        answer = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        queries, seconds = answer.stdout.split()
        words = new_words(box)
        chosen = fidelity(words, open_wa(f"{folder}/best.npz"))
        others = [fidelity(words, open_wa(path)) for path in Path(folder).glob("fitted-*.npz")]
    bits = [str(each["bits_per_symbol"]) for each in (chosen, *others)]
    nearest = min(bits, key=float)
    return {
        "queries": int(queries),
        **chosen,
        NEAREST: nearest,
        "seconds": f"{float(seconds):.1f}",
    }


def halves(problems: Iterable[int]) -> None:
    """Extract from every network with ever smaller shares of the queries of an earlier version."""
    earlier, saved = SavedRows(BEFORE), SavedRows(HALVES)
    left = {problem: row for problem in problems if (row := earlier.get(box=problem))}
    for share in SHARES:
        rows = {problem: share_of(saved, problem, old, share) for problem, old in left.items()}
        left = {
            problem: old
            for problem, old in left.items()
            if is_as_near(rows[problem], old["bits_per_symbol"])
        }
    summarise(earlier, saved)


def share_of(saved: SavedRows, problem: int, old: Row, share: float) -> Row:
    """Extract from a network with a share of the queries of an earlier version."""
    budget = int(int(old["queries"]) * share)
    key: dict[str, object] = {"box": problem, "share": share}
    return saved.made(key, partial(extracted, str(problem), budget))


def is_as_near(row: Row, bits: str) -> bool:
    return float(row["bits_per_symbol"]) <= max(AS_NEAR * float(bits), EXACT_BITS)


def summarise(earlier: SavedRows, saved: SavedRows) -> None:
    """Print the smallest share of queries with which this version is as near as the earlier one.

    Half of the queries not being enough counts as an infinite share.
    """
    figures: dict[str, object] = {}
    for name in ("bits_per_symbol", NEAREST):
        tried = [old for old in earlier.rows if saved.get(box=old["box"], share=SHARES[0])]
        shares = np.array([least_share(saved, old, name) for old in tried])
        figures[name] = {
            "boxes": len(tried),
            "enough": {str(share): int(np.sum(shares <= share)) for share in SHARES},
            "median_share": round(float(np.median(shares)), 4),
        }
    report([(name, str(value)) for name, value in figures.items()], figures)


def least_share(saved: SavedRows, old: Row, name: str) -> float:
    """Return the smallest share of the earlier version's queries that was enough."""
    rows = [row for row in saved.rows if row["box"] == old["box"]]
    near = [float(row["share"]) for row in rows if is_as_near(row, old[name])]
    return min(near, default=np.inf)


def figure() -> None:
    """Draw the curves: bits lost per symbol against queries, one line per box."""
    saved = SavedRows(CURVE)

    def make(_: Findings) -> Figure:
        made, axes = panels(1, 1, width=8, height=5)
        ax = axes[0][0]
        ends = []
        for at, (name, label) in enumerate(CURVE_BOXES.items()):
            rows = sorted(
                (r for r in saved.rows if r["box"] == name), key=lambda r: int(r["budget"])
            )
            if not rows:
                continue
            queries = [int(row["queries"]) for row in rows]
            bits = [max(float(row["bits_per_symbol"]), LEAST_DRAWN) for row in rows]
            look = {"color": COLOURS[at % len(COLOURS)], "ls": ("-", "--")[at // len(COLOURS)]}
            ax.plot(queries, bits, marker="o", ms=3, lw=1.4, **look)
            ends.append((bits[-1], queries[-1], label, look["color"]))
        ax.set(xscale="log", yscale="log", xlim=(700, 1.1e6))
        ax.set_xlabel("queries, validation words included")
        ax.set_ylabel("bits lost per symbol")
        for place, (bits_at, x, label, colour) in zip(spread(ends), sorted(ends), strict=True):
            ax.annotate(
                *(label, (x, bits_at)),
                xytext=(1.35e6, place),
                color=colour,
                va="center",
                annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.5, "shrinkA": 0},
            )
        return made

    drawing = Drawing("queries", "", "Fidelity against number of queries.", make)
    with tempfile.TemporaryDirectory() as folder:
        save_figure(draw(drawing, Findings([])), Path(folder), drawing.name)
        shutil.copy(Path(folder, f"{drawing.name}.svg"), IMAGES)


def spread(ends: list[tuple[float, int, str, str]]) -> list[float]:
    """Return where labels go, lowest first, so that none covers another."""
    places: list[float] = []
    for bits, *_ in sorted(ends):
        places.append(max(bits, places[-1] * LABEL_STEP if places else 0))
    return places


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    curves = commands.add_parser("curve")
    curves.add_argument("--boxes", nargs="*", choices=CURVE_BOXES, default=list(CURVE_BOXES))
    for name in ("before", "halves"):
        command = commands.add_parser(name)
        command.add_argument("--problems", type=int, nargs="*", default=PROBLEMS)
        if name == "before":
            command.add_argument("--source", type=Path, required=True, help="the checkout")
    commands.add_parser("summary")
    commands.add_parser("figure")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # a budget that is used up is no news here
    with one_thread():
        if options.command == "curve":
            curve(options.boxes)
        elif options.command == "before":
            before(options.source, options.problems)
        elif options.command == "halves":
            halves(options.problems)
        elif options.command == "summary":
            summarise(SavedRows(BEFORE), SavedRows(HALVES))
        else:
            figure()


if __name__ == "__main__":
    main()
