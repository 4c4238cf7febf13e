"""``seqray check``."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table
from rich.text import Text

from seqray.cli.boxes import box_list, guide_option, open_box, option_option
from seqray.cli.common import json_line
from seqray.cli.console import console
from seqray.cli.terminal import box_prints_to_stderr
from seqray.extraction.self_check import CheckResult, check
from seqray.util.redaction import redacted

MARKS = {True: Text("✓", "green"), False: Text("✗", "red"), None: Text("·")}

HELP = """Check that a black box fulfils what extraction needs.

A few thousand queries at most: does a word get the same answer alone and in a batch, beside longer
words, in any order, and when the query is repeated? Do probabilities sum to 1? Is the empty word
accepted? Is a symbol never seen at the end of a word, as where padding has its id? How fast is it,
and what will extraction do? Exit code 1 if a check fails.

\b
BOX is one of:
{boxes}

\b
Examples:
  seqray check onnx:model.onnx
  seqray check http://localhost:8000 -O timeout=60
"""


def _as_json(result: CheckResult) -> dict[str, Any]:
    """Return a result under the names that the JSON output has always had."""
    return {
        "name": result.name,
        "ok": result.ok,
        "observed": result.observed,
        "therefore": result.advice,
    }


@click.command(help=HELP.format(boxes=box_list()))
@click.argument("box")
@guide_option
@option_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON instead.")
def command(
    box: str, guide: str | None, options: tuple[str, ...], seed: int, as_json: bool
) -> None:
    """Check."""
    opened = open_box(box, options, guide)
    with box_prints_to_stderr():
        findings = check(opened, seed=seed)
    if as_json:
        click.echo(json_line([_as_json(finding) for finding in findings]))
    else:
        table = Table(title=redacted(box), title_justify="left", box=None, padding=(0, 2, 0, 0))
        for name in ("", "check", "result", "therefore"):
            table.add_column(name, no_wrap=name in ("", "check"), overflow="fold")
        for finding in findings:
            mark = MARKS[finding.ok]
            table.add_row(mark, finding.name, finding.observed, finding.advice)
        console().print(table)
    if any(finding.ok is False for finding in findings):
        click.get_current_context().exit(1)
