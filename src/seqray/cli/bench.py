"""``seqray bench``."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.table import Table

from seqray.cli.console import console, progress_bar
from seqray.experiments.boxes import BoxRow, read_boxes
from seqray.experiments.cells import SIZES, Settings
from seqray.experiments.problems import SUITES, sources
from seqray.experiments.sweep import Sweep, SweepStep, SweepSummary
from seqray.experiments.table import (
    AUTO,
    PAPER,
    Result,
    best,
    choose,
    held_out,
    problem_order,
    read_results,
)
from seqray.parallel.choice import opened_executor
from seqray.util.errors import ArgumentError, SeqrayError
from seqray.util.formatting import duration

QUICK_SIZES = (300, 400)
QUICK = Settings(max_rank=40, n_test=500, n_rnn=500, n_held_out=500, n_contexts=400)
METHODS = {"both": (PAPER, AUTO), "paper": (PAPER,), "auto": (AUTO,)}
"""The methods that each value of --method stands for."""


def _numbers(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    """Read numbers and ranges of them with commas between; those of problems begin with 0."""
    if text is None:
        return None
    numbers: dict[int, None] = {}
    least = 0 if parameter.name == "problems" else 1
    for part in text.split(","):
        ends = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if not least <= first <= last < first + 10_000:
            raise click.BadParameter(f"expected numbers like 3,24 or 1-48, got {text!r}")
        numbers |= dict.fromkeys(range(first, last + 1))
    return tuple(numbers)


@click.command()
@click.argument("suite", type=click.Choice(list(SUITES)))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="SEQRAY_DATA",
    help="The folder of public data sets (see `seqray data`).  [default: SEQRAY_DATA]",
)
@click.option(
    "--boxes",
    type=click.Path(path_type=Path),
    default=Path("benchmarks", "blackboxes"),
    show_default=True,
    help="The folder of trained networks: 3.safetensors, spice4.safetensors, hdfs.safetensors.",
)
@click.option(
    "--problems", callback=_numbers, metavar="N,N-N,…", help="Which problems.  [default: all]"
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results"),
    show_default=True,
    help="The folder of results.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How many processes work at a time; a large alphabet takes 1 GB each.",
)
@click.option(
    "--executor",
    metavar="N|dask|dask://HOST:PORT",
    help="Where cells are worked on: in N processes (as --jobs N), in a Dask cluster on this "
    "machine, or by the workers of a Dask scheduler, which need the same files and folders; see "
    "docs/scaling.md.",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="both",
    show_default=True,
    help="The paper's, seqray's own (auto: the default of `seqray extract`), or both.",
)
@click.option(
    "--sizes",
    callback=_numbers,
    metavar="N,N,…",
    help="Sizes of the paper's basis: prefixes, and suffixes.  "
    f"[default: {','.join(map(str, SIZES))}]",
)
@click.option("--max-rank", type=click.IntRange(1), help="The largest rank.  [default: 100]")
@click.option(
    "--max-length",
    type=click.IntRange(1),
    help="The longest word of the paper's basis.  [default: what `seqray extract` takes]",
)
@click.option(
    "--quick",
    is_flag=True,
    help="A first look in minutes: sizes 300,400, 400 contexts for seqray's own method, ranks up "
    "to 40 and 500 words of each kind; the results go to files of their own.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed.")
@click.option("--fresh", is_flag=True, help="Start again, even if an interrupted sweep can go on.")
def command(**options: Any) -> None:
    """Repeat the paper's experiments: extract from trained networks, and measure every rank.

    Two methods are measured. The paper's: for each problem and size of basis the network is queried
    once, and automata of every rank are compared with it, on the test words and on words drawn from
    the network. And seqray's own, the default of `seqray extract`: once for each problem, compared
    on the same words; it chooses its rank on held-out words. SUITE is

    \b
      pautomac   48 problems with known target machines
      spice      problems 0 (synthetic) and 4 (English verbs) of SPiCe
      trucks     PAutomaC's natural problem 2
      logs       sessions of a Hadoop file system (HDFS), as log keys
      generated  small problems that need no file at all

    Every cell, a problem at a size or by seqray's own method, is saved as soon as it is done. Stop
    whenever you like, with Ctrl-C or the power switch: the same command goes on where it was, and
    more problems, sizes or the other method can be added later. A problem whose network or data are
    missing is left out, with a message.

    \b
    Left in the folder of results, for SUITE pautomac:
      pautomac.csv.gz          every automaton of both methods (paper and auto),
                               one row for each set of words
      pautomac.json            settings, versions, machine, what is missing, time by
                               phase, what auto reached with how many queries
      pautomac-boxes.csv       the networks: against their targets, and on their own
      pautomac-distilled.csv   time and memory of networks and automata
      parts/                   what the above are made of

    \b
    Examples:
      seqray bench generated
      seqray bench pautomac --data ~/data --problems 3,24 --quick
      seqray bench pautomac --data ~/data --problems 3 --method auto
      seqray bench pautomac --data ~/data -o benchmarks/results --jobs 2
    To make a network:
      seqray train 3.pautomac.train -o benchmarks/blackboxes/3.safetensors
    """
    _bench(BenchOptions(**options))


@dataclass(frozen=True)
class BenchOptions:
    """The arguments and options of the command, as click read them."""

    suite: str
    data: Path | None
    boxes: Path
    problems: tuple[int, ...] | None
    output: Path
    jobs: int
    executor: str | None
    method: str
    sizes: tuple[int, ...] | None
    max_rank: int | None
    max_length: int | None
    quick: bool
    seed: int
    fresh: bool

    def sweep(self) -> Sweep:
        """Return the sweep over the problems, sizes and methods that were named."""
        settings = QUICK if self.quick else Settings()
        settings = replace(settings, seed=self.seed, max_length=self.max_length)
        if self.max_rank is not None:
            settings = replace(settings, max_rank=self.max_rank)
        problems = sources(self.suite, data=self.data, boxes=self.boxes, problems=self.problems)
        sizes = self.sizes or (QUICK_SIZES if self.quick else SIZES)
        name = f"{self.suite}-quick" if self.quick else self.suite
        sweep = Sweep(name, self.output, problems, sizes, settings, METHODS[self.method])
        for reason, names in by_reason(sweep.holes).items():
            click.echo(f"Left out: {listed_names(names)}: {reason}", err=True)
        if len(sweep.holes) == len(problems):
            raise ArgumentError(
                f"nothing to do: every problem of {self.suite} lacks something, see above"
            )
        return sweep


def _bench(options: BenchOptions) -> None:
    """Run a sweep, or go on with one, and print its results."""
    if len(SUITES[options.suite]) == 1 and options.problems is not None:
        raise click.BadParameter(f"{options.suite} is a single problem", param_hint="--problems")
    if options.executor is not None and options.jobs > 1:
        raise click.BadParameter("give --executor or --jobs, not both", param_hint="--jobs")
    sweep = options.sweep()
    if options.fresh:
        sweep.begin_anew()
    where = options.executor or (options.jobs if options.jobs > 1 else None)
    try:
        with opened_executor(where) as executor, _watching() as on_step:
            summary = sweep.run(executor=executor, on_step=on_step)
    except KeyboardInterrupt:
        _interrupted(sweep)
    _show(sweep, summary)
    if summary.failed:
        raise SeqrayError(
            f"{len(summary.failed)} cells failed, see above: the same command tries them again"
        )


def _interrupted(sweep: Sweep) -> NoReturn:
    click.echo(
        f"\nInterrupted. All cells that are done are in {sweep.parts}: run the same command again "
        "to go on.",
        err=True,
    )
    click.get_current_context().exit(130)


def by_reason(holes: dict[str, str]) -> dict[str, list[str]]:
    """Group problems that miss the same kind of thing; the first one's reason stands for all."""
    kinds: dict[str, tuple[str, list[str]]] = {}
    for name, reason in holes.items():
        kind = re.sub(r"\d+", "N", reason)
        kinds.setdefault(kind, (reason, []))[1].append(name)
    return dict(kinds.values())


def listed_names(names: Iterable[str]) -> str:
    """Write names shortly: 1, 3 … 6, spice4."""
    runs: list[list[str]] = []
    for name in names:
        follows = runs and name.isdecimal() and runs[-1][-1].isdecimal()
        if follows and int(name) == int(runs[-1][-1]) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(", ".join(run) if len(run) < 3 else f"{run[0]} … {run[-1]}" for run in runs)


@contextmanager
def _watching() -> Iterator[Callable[[SweepStep], None]]:
    """Show a bar on a terminal, elsewhere one line per cell (both on standard error)."""
    terminal = console(stderr=True)
    begin = time.monotonic()

    def left(share: float) -> str:
        if not 0 < share < 1:
            return ""
        seconds = (time.monotonic() - begin) * (1 - share) / share
        return f", about {duration(seconds)} left"

    if not terminal.is_terminal:
        yield lambda step: click.echo(f"{_line(step)}{left(step.share)}", err=True)
        return
    with progress_bar("the first cell", unit=None) as bar:

        def show(step: SweepStep) -> None:
            if step.outcome.error:
                bar.print(_line(step))
            bar.describe(f"{step.n_done}/{step.n_all} cells{left(step.share)}")
            bar(step.share, 1.0)

        yield show


def _line(step: SweepStep) -> str:
    """Return one line about the result of a cell."""
    width = len(str(step.n_all))
    text = f"[{step.n_done:{width}}/{step.n_all}] {step.job}: "
    if step.outcome.result is None:
        return f"{text}failed: {step.outcome.error}"
    part = step.outcome.result
    selection = "held-out" if step.job.kind == AUTO else "best-ndcg"
    rows = choose(part.results, set="test", selection=selection)
    score = f"NDCG₅ {rows[0].ndcg5:.4f} at rank {rows[0].rank}, " if rows else ""
    return f"{text}{score}{sum(part.about['seconds'].values()):.1f} s"


def _show(sweep: Sweep, summary: SweepSummary) -> None:
    """Print the best automaton of each problem, and where everything is."""
    test = choose(read_results(summary.table), set="test")
    theirs, own = choose(test, method=PAPER), held_out(choose(test, method=AUTO))
    boxes = read_boxes(sweep.folder / f"{sweep.name}-boxes.csv")
    gains, ratios, fair = best(theirs), best(theirs, "perplexity_ratio"), held_out(theirs)
    shown = Table(title="The automata on the test words", title_justify="left", show_edge=False)
    for column in ("problem", "box", "NDCG₅", "basis", "rank", "held-out", "ratio", "zeros", "own"):
        shown.add_column(column, justify="right")
    for problem in sorted({*gains, *own}, key=problem_order):
        rows = (of.get(problem) for of in (gains, fair, ratios, own))
        shown.add_row(problem, _quality(boxes.get(problem)), *_cells(*rows))
    console().print(shown)
    click.echo(
        "box: the target's perplexity over the network's; then the paper's method, NDCG₅: best "
        "basis and\nrank on these very words; held-out: the rank chosen on other words; ratio: the "
        "network's perplexity\nover the automaton's, best; own: NDCG₅ of seqray's own method, its "
        "rank chosen on other words"
    )
    for name, error in summary.failed.items():
        click.echo(f"Failed: {name}: {error}", err=True)
    there = f"; {summary.n_there} were there already" if summary.n_there else ""
    click.echo(f"{summary.n_done} cells done{there}. Table: {summary.table}")


def _quality(box: BoxRow | None) -> str:
    return "–" if box is None or not box.states else f"{box.quality:.4f}"


def _cells(
    gain: Result | None, fair: Result | None, ratio: Result | None, own: Result | None
) -> list[str]:
    """Write the results of a problem, with a dash where a method was not run."""
    return [
        *((f"{gain.ndcg5:.4f}", str(gain.prefixes), str(gain.rank)) if gain else "–––"),
        f"{fair.ndcg5:.4f}" if fair else "–",
        *((f"{ratio.perplexity_ratio:.4f}", f"{ratio.zeros:.1%}") if ratio else "––"),
        f"{own.ndcg5:.4f}" if own else "–",
    ]
