"""How the cost of each job grows: measured exponents beside those of the arithmetic.

    python benchmarks/growth.py measure [--axes NAME …]
    python benchmarks/growth.py figure
    python benchmarks/growth.py plan [--prefixes N] [--suffixes N] [--symbols N] [--rank N]

`measure` varies one size at a time over two decades, all others fixed, and takes the processor time
of the job (of workers: the wall time). Each row is saved as it comes, and rows that are there are
not measured again. The *exponent* is the slope of log time against log size over the upper decade,
where fixed costs weigh least; the *exponent of the arithmetic* is the same slope of the number of
multiplications that the job takes. `figure` draws both, and prints a table. `plan` says what large
blocks take, by the speed that was measured: words, bytes, hours of workers and of the SVD.

The box of workers sleeps: two cores are enough for a hundred processes that wait. Its
multiplications are the seconds that it sleeps, in as many rounds as one job of each worker makes.

The network is the paper's, with random weights: speed does not depend on them.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from common import best_of, one_thread, report, write_table
from paper_network import PaperNetwork, to_seqray, torch
from scale_out_boxes import SLOW_BATCH_SIZE, SLOW_SECONDS
from score import generate

import seqray
from seqray.automata.generators import random_structured
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet, Words
from seqray.blackbox.native.rnn import RecurrentLanguageModel
from seqray.blackbox.queries.oracle import open_oracle
from seqray.experiments.findings import Findings
from seqray.experiments.plots import Drawing, draw, panels, save_figure
from seqray.extraction.hankel.decomposition import decompose
from seqray.extraction.hankel.fill import fill_planned
from seqray.extraction.hankel.plan import Plan
from seqray.parallel.executor import Executor
from seqray.parallel.process_pool import ProcessPool
from seqray.util.plots import BLUE, GREY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
TABLE = HERE / "results" / "growth.csv"
IMAGES = HERE.parent / "docs" / "images"

SEED = 0
HIDDEN, N_SYMBOLS, N_ROWS, N_COLUMNS = 50, 4, 200, 100
N_WORDS, WORD_LENGTH, RANK = 2_000, 10, 20

N_PASSES = 8
"""About how many products of a block and a thin matrix its SVD takes."""


class Job(NamedTuple):
    """Something to measure at one size, and the multiplications that it takes.

    Of workers, the seconds that it takes at best; ``executor`` are the workers.
    """

    work: Callable[[], object]
    multiplications: float
    executor: Executor | None = None


class Axis(NamedTuple):
    """A size that is varied over two decades."""

    title: str
    sizes: tuple[int, ...]
    job: Callable[[int], Job]


@cache
def network(hidden: int = HIDDEN, n_symbols: int = N_SYMBOLS) -> RecurrentLanguageModel:
    """Return the paper's network as a box."""
    torch.manual_seed(SEED)
    return to_seqray(PaperNetwork(n_symbols, hidden=hidden).eval(), Alphabet(range(n_symbols)))


def filling(
    n_prefixes: int = N_ROWS,
    n_suffixes: int = N_COLUMNS,
    n_symbols: int = N_SYMBOLS,
    hidden: int = HIDDEN,
) -> Job:
    """Fill blocks from the network."""
    box = network(hidden, n_symbols)
    basis = seqray.uniform_basis(box.alphabet, n_prefixes, n_suffixes, seed=SEED)
    plan, suffixes = Plan.of(basis), PrefixTree.of(basis.suffixes)
    n_steps = len(plan.leaves) * len(suffixes)
    n_inner = len(plan.leaves) * int((np.diff(suffixes.first_child) > 0).sum())
    head = hidden * (hidden // 2) + (hidden // 2) * 3 * n_symbols + 3 * n_symbols * (n_symbols + 1)
    recurrent = 3 * hidden**2
    return Job(
        lambda: seqray.fill(box, basis), n_steps * (recurrent + head) + n_inner * 2 * recurrent
    )


def scoring(rank: int = RANK, length: int = WORD_LENGTH) -> Job:
    """Score uniform words of one length with a dense automaton; few share more than a few letters.

    Words are read from both ends to the middle.
    """
    wa = generate(rank, np.random.default_rng(SEED))
    words = words_of_length(wa.alphabet, length)
    halves = length // 2, length - length // 2
    n_nodes = sum(sum(min(N_WORDS, len(wa.alphabet) ** n) for n in range(1, 1 + h)) for h in halves)
    return Job(lambda: wa.weights(words), n_nodes * rank**2)


def scoring_groups(size: int) -> Job:
    """Score words with states in groups, as many after each symbol."""
    wa = random_structured(range(10), size, seed=SEED, mean_length=WORD_LENGTH)
    words = wa.sample(N_WORDS, seed=SEED).words
    return Job(lambda: wa.weights(words), len(PrefixTree.of(words)) * size**2)


def factoring(rank: int) -> Job:
    """Factor blocks of 2,500 × 2,500: a random projection, and the matrix of each symbol."""
    wa, size = generate(300, np.random.default_rng(SEED), 2), 2_500
    basis = seqray.sampled_basis(wa, size, size, seed=SEED, max_length=1_000)
    blocks = seqray.fill(wa, basis)
    n_multiplications = (rank + 20) * size**2 * N_PASSES + rank * blocks.values.size
    return Job(
        lambda: decompose(blocks, max_rank=rank, weighting="none", seed=SEED), n_multiplications
    )


def querying(n_workers: int) -> Job:
    """Query a box that sleeps in so many processes, which run and have opened the box."""
    box = seqray.open_black_box("python:scale_out_boxes:slow")
    plan = Plan.of(seqray.uniform_basis(box.alphabet, 45, 60, seed=SEED))
    pool = ProcessPool(n_workers)
    first = seqray.uniform_basis(box.alphabet, 20, 30, seed=SEED)
    fill_planned(open_oracle(box, executor=pool), Plan.of(first))
    n_rounds = -(-plan.n_queries // (SLOW_BATCH_SIZE * n_workers))
    return Job(
        lambda: fill_planned(open_oracle(box, executor=pool), plan), n_rounds * SLOW_SECONDS, pool
    )


def words_of_length(alphabet: Alphabet, length: int) -> Words:
    """Return random words that all have one length."""
    codes = np.random.default_rng(SEED).integers(0, len(alphabet), N_WORDS * length)
    return Words(alphabet, codes, np.arange(N_WORDS + 1) * length)


AXES = {
    "prefixes": Axis(
        "filling: prefixes", (100, 300, 1_000, 3_000, 10_000), lambda n: filling(n_prefixes=n)
    ),
    "suffixes": Axis(
        "filling: suffixes", (100, 300, 1_000, 3_000, 10_000), lambda n: filling(n_suffixes=n)
    ),
    "symbols": Axis("filling: symbols", (2, 6, 20, 60, 200), lambda n: filling(50, 50, n)),
    "hidden": Axis(
        "filling: units of the network",
        (10, 30, 100, 300, 1_000),
        lambda n: filling(50, 50, hidden=n),
    ),
    "svd": Axis("SVD: rank", (2, 6, 20, 60, 200), factoring),
    "rank": Axis("scoring: rank", (5, 15, 50, 150, 500), lambda n: scoring(rank=n)),
    "length": Axis("scoring: length", (10, 30, 100, 300, 1_000), lambda n: scoring(length=n)),
    "groups": Axis("scoring: states per symbol", (3, 9, 30, 90, 300), scoring_groups),
    "workers": Axis("queries: workers", (1, 3, 10, 30, 100), querying),
}
"""What is varied, by name."""


class Point(NamedTuple):
    """One measurement."""

    axis: str
    size: int
    seconds: float
    multiplications: float


def measure(names: list[str]) -> None:
    """Measure what is missing, and save each row as it comes."""
    points = saved()
    known = {(point.axis, point.size) for point in points}
    for name in names:
        for size in AXES[name].sizes:
            if (name, size) in known:
                continue
            job = AXES[name].job(size)
            points.append(Point(name, size, timed(job), job.multiplications))
            write_table(TABLE, [point._asdict() for point in points])
            print(name, size, f"{points[-1].seconds:.4g} s")


def timed(job: Job) -> float:
    """Return processor time: the best of several runs where one is short; of workers wall time."""
    if job.executor is not None:
        begin = time.perf_counter()
        job.work()
        seconds = time.perf_counter() - begin
        job.executor.close()
        return seconds
    begin = time.process_time()
    job.work()
    once = time.process_time() - begin
    return once if once > 5 else best_of(3 if once > 0.3 else 10, job.work)


def saved() -> list[Point]:
    """Return the rows that are there."""
    if not TABLE.exists():
        return []
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return [
            Point(row["axis"], *(number(row[name]) for name in Point._fields[1:]))
            for row in csv.DictReader(lines)
        ]


def number(text: str) -> Any:
    """Return a number as it was saved: rows that are there do not change."""
    return int(text) if text.isdecimal() else float(text)


def slope(points: list[Point], column: str) -> float:
    """Return the exponent over the upper decade."""
    top = [point for point in points if point.size >= points[-1].size / 10]
    values = [getattr(point, column) for point in top]
    return float(np.polyfit(np.log([point.size for point in top]), np.log(values), 1)[0])


def figure() -> None:
    """Draw time against size on each axis, and print the exponents."""
    by_axis = {name: sorted(p for p in saved() if p.axis == name) for name in AXES}
    by_axis = {name: points for name, points in by_axis.items() if points}
    exponents = {
        name: {"time": slope(points, "seconds"), "arithmetic": slope(points, "multiplications")}
        for name, points in by_axis.items()
    }

    def make(_: Findings) -> Figure:
        made, axes = panels(3, 3, width=8, height=7)
        for ax, (name, points) in zip(axes.ravel(), by_axis.items(), strict=False):
            sizes = [point.size for point in points]
            arithmetic = np.array([point.multiplications for point in points], float)
            arithmetic *= points[-1].seconds / arithmetic[-1]
            ax.plot(sizes, arithmetic, color=GREY, ls="--", lw=1)
            ax.plot(sizes, [point.seconds for point in points], color=BLUE, marker="o", ms=3)
            ax.set(xscale="log", yscale="log", xlabel=AXES[name].title.split(": ")[1])
            both = exponents[name]
            ax.set_title(
                f"{AXES[name].title.split(': ')[0]}: {both['time']:.2f} ({both['arithmetic']:.2f})"
            )
        for row in axes:
            row[0].set_ylabel("seconds")
        for ax in axes.ravel()[len(by_axis) :]:
            ax.set_axis_off()
        return made

    drawing = Drawing("growth", "", "Cost against size.", make)
    with tempfile.TemporaryDirectory() as folder:
        save_figure(draw(drawing, Findings([])), Path(folder), drawing.name)
        shutil.copy(Path(folder, f"{drawing.name}.svg"), IMAGES)
        shutil.copy(Path(folder, f"{drawing.name}.png"), tempfile.gettempdir())
    rows = [
        (AXES[name].title, f"{both['time']:.2f}, of the arithmetic {both['arithmetic']:.2f}")
        for name, both in exponents.items()
    ]
    report(rows, {"exponents": exponents})


def plan(n_prefixes: int, n_suffixes: int, n_symbols: int, rank: int) -> None:
    """Print what blocks take that are too large for one machine.

    Rows are P ∪ PΣ, all of which are queried but for P itself. The speed of the network is that of
    the largest fill over prefixes, the speed of the SVD that of its largest rank.
    """
    n_rows = n_prefixes * n_symbols + 1
    n_words = (n_rows - n_prefixes) * n_suffixes
    points = {name: max(p for p in saved() if p.axis == name) for name in ("prefixes", "svd")}
    filled = points["prefixes"]
    seconds_per_word = filled.seconds / ((filled.size * (N_SYMBOLS - 1) + 1) * N_COLUMNS)
    n_multiplications = (
        rank + 20
    ) * n_prefixes * n_suffixes * N_PASSES + rank * n_rows * n_suffixes
    seconds_of_svd = n_multiplications * points["svd"].seconds / points["svd"].multiplications
    per_cell = 8 * n_suffixes
    rows = [
        ("rows", f"{n_rows:,}"),
        ("words queried", f"{n_words:,}"),
        ("blocks on disk", f"{n_rows * per_cell / 1e9:,.0f} GB"),
        ("one chunk of 1,000 rows", f"{1_000 * per_cell / 1e6:,.0f} MB"),
        (f"a GRU-{HIDDEN}, one worker", f"{n_words * seconds_per_word / 3600:,.1f} h"),
        (
            "a box that answers 1,000 words per second",
            f"{n_words / 1_000 / 3600:,.0f} h of workers",
        ),
        (f"SVD at rank {rank}, one thread, without the disk", f"{seconds_of_svd / 60:,.1f} min"),
    ]
    report(rows, {"rows": n_rows, "words": n_words, "bytes": n_rows * per_cell})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("--axes", nargs="*", default=list(AXES), choices=list(AXES))
    commands.add_parser("figure")
    planning = commands.add_parser("plan")
    for name, default in (("prefixes", 1_000_000), ("suffixes", 1_000), ("symbols", 20)):
        planning.add_argument(f"--{name}", type=int, default=default)
    planning.add_argument("--rank", type=int, default=100)
    options = parser.parse_args()
    if options.command == "plan":
        plan(options.prefixes, options.suffixes, options.symbols, options.rank)
        return
    if options.command == "figure":
        figure()
        return
    torch.set_num_threads(1)
    with one_thread():
        measure(options.axes)


if __name__ == "__main__":
    main()
