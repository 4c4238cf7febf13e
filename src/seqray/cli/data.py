"""``seqray data``."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from seqray.automata.generators import KINDS
from seqray.cli.console import console
from seqray.experiments import competition
from seqray.experiments.catalogue import DataSet, FileCheck, State, catalogue, check
from seqray.util.csv_table import plain_csv_bytes
from seqray.util.errors import ArgumentError, FileError, MissingFileError
from seqray.util.files import write_text
from seqray.util.formatting import counted

MARKS: dict[State, str] = {"whole": "✓", "other": "✓", "damaged": "✗", "absent": "–"}
PAUTOMAC = "pautomac"
GENERATED = "generated.csv"
"""What was drawn, beside generated problems; also a mark that they are not the competition's."""


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the public data sets that seqray knows; check them; generate problems like them.

    Nothing is downloaded. Put the files where the list says, in one data folder, and name it with
    --data or the environment variable SEQRAY_DATA.

    \b
    Examples:
      seqray data
      seqray data check --data ~/data
      seqray data generate -o generated --problems 3
    """
    if context.invoked_subcommand is not None:
        return
    for known in catalogue():
        click.echo(_described(known))
        click.echo()
    click.echo(
        "These belong in one data folder: name it with --data or SEQRAY_DATA, and look at it with "
        "`seqray data check`.\nWithout any of them, `seqray data generate` makes problems like "
        "PAutomaC's."
    )


@command.command("check")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="SEQRAY_DATA",
    help="The data folder.  [default: SEQRAY_DATA]",
)
def check_command(data: Path | None) -> None:
    """Check which files of the data sets are there, and whether they are whole.

    ✓ all files are whole, ✗ some are damaged, – some are absent. Damage ends with exit code 1;
    what is absent is only reported.
    """
    if data is None:
        raise click.UsageError("no data folder was given: add --data DIR, or set SEQRAY_DATA")
    if not data.is_dir():
        raise MissingFileError(f"{data}: there is no such data folder")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("", "data set", "folder"):
        table.add_column(name, no_wrap=True)
    for name in ("files", "whole", "damaged", "absent", "words"):
        table.add_column(name, justify="right", no_wrap=True)
    remarks: list[str] = []
    damaged = 0
    for known in catalogue():
        if (data / known.folder / GENERATED).exists():
            remarks.append(
                f"– {known.folder}: generated problems, listed in {GENERATED}: unchecked"
            )
            continue
        findings = list(check(known, data))
        states = Counter(finding.state for finding in findings)
        damaged += states["damaged"]
        table.add_row(*_checked(known, findings, states))
        remarks += filter(None, map(_remark, findings))
        if states["absent"] and states["absent"] < len(findings):
            first = next(finding.file.name for finding in findings if finding.state == "absent")
            remarks.append(f"– {known.folder}: {states['absent']} absent, the first is {first}")
    console().print(table)
    for remark in remarks:
        click.echo(remark)
    if damaged:
        raise FileError(
            f"{counted(damaged, 'damaged file')} in {data}: get them anew from where "
            "`seqray data` says they were published"
        )


@command.command()
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="A data folder: the files go to its folder pautomac/.",
)
@click.option("--kind", type=click.Choice(KINDS), help="[default: drawn]")
@click.option("--states", type=click.IntRange(1), help="[default: drawn, 5 to 75]")
@click.option("--symbols", type=click.IntRange(1), help="[default: drawn, 4 to 24]")
@click.option(
    "--symbol-sparsity",
    type=click.FloatRange(0, 1),
    help="The share of symbols that a state emits.  [default: drawn, 0.2 to 0.8]",
)
@click.option(
    "--transition-sparsity",
    type=click.FloatRange(0, 1),
    help="The share of states that a state, with a symbol, leads to.  [default: drawn, 0 to 0.2]",
)
@click.option(
    "--train", type=click.IntRange(1), default=20000, show_default=True, help="Training words."
)
@click.option(
    "--test", type=click.IntRange(1), default=1000, show_default=True, help="Distinct test words."
)
@click.option("--problems", type=click.IntRange(1), default=1, show_default=True, help="How many.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def generate(**options: Any) -> None:
    """Generate problems like those of PAutomaC, in its files, with its parameters.

    What is not given is drawn from the competition's ranges, anew for every problem. A problem
    depends on the seed and its number only, not on how many there are.

    \b
    Examples:
      seqray data generate -o generated
      seqray data generate -o generated --problems 3 --kind pfa --states 12 --symbols 4
    Then:
      seqray bench pautomac --data generated
    """
    _generate(GenerateOptions(**options))


@dataclass(frozen=True)
class GenerateOptions:
    """The options of ``seqray data generate``, as click read them."""

    output: Path
    kind: str | None
    states: int | None
    symbols: int | None
    symbol_sparsity: float | None
    transition_sparsity: float | None
    train: int
    test: int
    problems: int
    seed: int


def _generate(options: GenerateOptions) -> None:
    """Write problems, and a table of what was drawn."""
    folder, train, test = options.output / PAUTOMAC, options.train, options.test
    numbers = range(1, options.problems + 1)
    taken = [path for n in numbers for path in competition.problem_paths(folder, n)]
    if exists := [path for path in taken if path.exists()]:
        raise ArgumentError(f"{exists[0]} exists already: choose another folder")
    _make(folder)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("problem", "kind", "states", "symbols", "emitted", "led to", "mean length"):
        table.add_column(name, justify="left" if name == "kind" else "right", no_wrap=True)
    header = "problem,kind,states,symbols,symbol_sparsity,transition_sparsity,train,test,seed"
    rows: list[tuple[object, ...]] = []
    for number in numbers:
        rng = np.random.default_rng([options.seed, number])
        chosen = competition.draw_parameters(
            seed=rng,
            kind=options.kind,
            n_states=options.states,
            n_symbols=options.symbols,
            symbol_sparsity=options.symbol_sparsity,
            transition_sparsity=options.transition_sparsity,
        )
        problem = competition.generate_problem(chosen, train, test, seed=rng)
        competition.write_problem(problem, folder, number)
        table.add_row(
            *(f"{number}", chosen.kind, f"{chosen.n_states}", f"{chosen.n_symbols}"),
            *(f"{chosen.symbol_sparsity:.0%}", f"{chosen.transition_sparsity:.0%}"),
            f"{problem.train.lengths.mean():.1f}",
        )
        rows.append((number, *astuple(chosen), train, test, options.seed))
        content = plain_csv_bytes(header.split(","), rows)
        write_text(folder / GENERATED, content.decode())
    console().print(table)
    click.echo(f"{folder}: {train:,} training and {test:,} test words per problem")


def _described(known: DataSet) -> str:
    """Return all that is known about a data set as text."""
    rows = [("belongs in", f"{known.folder}/ ({_names(known)})"), ("published at", known.url)]
    rows += [("terms", known.terms)]
    rows += [("cite", paper) for paper in known.cite]
    rows += [("note", f"{file.name}: {file.note}") for file in known.files if file.note]
    rows += [("note", note) for note in known.notes]
    lines = [click.style(f"{known.name}: {known.title}", bold=True)]
    for title, text in rows:
        first = f"  {title:14}"
        lines.append(textwrap.fill(text, 100, initial_indent=first, subsequent_indent=" " * 16))
    return "\n".join(lines)


def _names(known: DataSet) -> str:
    """Say which files a set has, without listing two hundred."""
    names = [file.name for file in known.files]
    return f"{len(names)} files: {', '.join(names[:4])}{', …' * (len(names) > 4)}"


def _checked(known: DataSet, findings: list[FileCheck], states: Counter[State]) -> list[str]:
    whole = states["whole"] + states["other"]
    worst: State = "damaged" if states["damaged"] else "absent" if states["absent"] else "whole"
    words = sum(
        finding.file.n_words or 0
        for finding in findings
        if finding.state in ("whole", "other") and finding.file.n_symbols is not None
    )
    counts = [len(findings), whole, states["damaged"], states["absent"], words]
    return [MARKS[worst], known.name, f"{known.folder}/", *(f"{count:,}" for count in counts)]


def _remark(finding: FileCheck) -> str:
    if finding.state == "damaged":
        return f"✗ {finding.detail}"
    if finding.state == "other":
        return f"✓ {finding.file.name}: reads well, but not the file of seqray's own figures"
    if finding.state == "whole" and not finding.file.official:
        return f"✓ {finding.file.name}: {finding.file.note}"
    return ""


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: cannot be made: {error.strerror or error}") from error
