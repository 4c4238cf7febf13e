"""``seqray report``."""

from __future__ import annotations

from pathlib import Path

import click

from seqray.experiments.report import write_report
from seqray.util.formatting import counted


@click.command()
@click.argument("results", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("docs", "experiments.md"),
    show_default=True,
    help="The page, in Markdown.",
)
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("docs", "images"),
    show_default=True,
    help="A folder for the figures, as SVG and PNG.",
)
@click.option(
    "--boxes",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of networks: one automaton is drawn from it, and its trained.csv shown.",
)
def command(results: Path, output: Path, figures: Path, boxes: Path | None) -> None:
    """Make a page with tables and figures from the results of `seqray bench`.

    It has the figures and tables of the paper, seqray's values beside the published ones, then
    seqray's own method beside both, and says what is missing. Figures need matplotlib:
    pip install '.[plots]' in seqray's folder.

    \b
    Examples:
      seqray report benchmarks/results --boxes benchmarks/blackboxes
      seqray report results -o results.md --figures images
    """
    report = write_report(results, output, figures, boxes=boxes)
    click.echo(f"{report.page}: with {counted(len(report.figures), 'figure')} in {figures}")
    for name, why in report.missing.items():
        click.echo(f"Not drawn: {name}: {why}", err=True)
