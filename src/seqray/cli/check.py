"""``seqray check``."""

from __future__ import annotations

import dataclasses
import json
import sys

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seqray.checking import check
from seqray.cli.boxes import box_list, open_box, option_option
from seqray.redaction import redacted

HELP = """Check that a black box keeps the promises that extraction builds on.

A few thousand questions at most: does a word get the same answer alone and in a batch, beside
longer words, in any order, and when it is asked again? Do probabilities sum to 1? Is the empty word
accepted? How fast is it, and what will extraction do? Exit code 1 if a check fails.

\b
BOX is one of:
{boxes}

\b
Examples:
  seqray check onnx:model.onnx
  seqray check http://localhost:8000 -O timeout=60
"""


@click.command(help=HELP.format(boxes=box_list()))
@click.argument("box")
@option_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON instead.")
def command(box: str, options: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Check."""
    findings = check(open_box(box, options), seed=seed)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(f) for f in findings], ensure_ascii=False))
    else:
        table = Table(
            title=Text(redacted(box)), title_justify="left", box=None, padding=(0, 2, 0, 0)
        )
        for name in ("", "check", "found", "therefore"):
            table.add_column(name, no_wrap=name in ("", "check"), overflow="fold")
        for finding in findings:
            mark = {True: "[green]✓[/]", False: "[red]✗[/]", None: "·"}[finding.ok]
            table.add_row(mark, *map(Text, (finding.name, finding.found, finding.therefore)))
        Console().print(table)
    sys.exit(1 if any(finding.ok is False for finding in findings) else 0)
