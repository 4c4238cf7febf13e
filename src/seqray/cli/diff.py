"""``seqray diff``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from seqray.automata.words import Words
from seqray.blackbox.protocol import max_length_of
from seqray.blackbox.queries.answer_cache import opened_store
from seqray.cli.boxes import (
    box_list,
    box_options,
    executor_option,
    max_length_option,
    option_option,
    read_box_words,
    store_option,
    store_path,
)
from seqray.cli.common import check_output, json_line
from seqray.cli.console import notes, progress_bar
from seqray.cli.explain import show_sections
from seqray.cli.terminal import box_prints_to_stderr
from seqray.cli.words import EventOptions, event_options
from seqray.explain.difference.diff import DiffRequest, compare_sides
from seqray.explain.difference.record import Difference, shown_figure
from seqray.explain.difference.sides import ComparedSide, check_comparable, open_side
from seqray.explore.difference_page import difference_svg
from seqray.explore.page import to_html
from seqray.fidelity.reference import N_DRAWN_WORDS
from seqray.parallel.choice import opened_executor
from seqray.util.files import write_text

EXIT_ABOVE = 3
"""The exit status where the figure is above --fail-above; errors have 1 and 2."""

HELP = """Say what differs between two boxes, two checkpoints, two automata or two runs.

How far B is from A and A from B, with 95 % intervals; words on which both differ most; states and
arrows that differ. A run folder is compared as its automaton: the box that it remembers is not
opened. To compare states, an automaton of up to 12 states is extracted from each box, which takes
most of the queries; --no-states leaves that out.

\b
A and B are run folders, files of automata, or boxes:
{boxes}

\b
Examples:
  seqray diff before.json after.json
  seqray diff rnn:monday.safetensors rnn:tuesday.safetensors -o page.html
  seqray diff run-a run-b --json
  seqray diff hf:base hf:tuned --words test.txt --no-states
  seqray diff rnn:released.safetensors rnn:new.safetensors --fail-above 0.01

The figure is bits per symbol where both predict, the share of words with different classes for
classifiers, and the relative error of weights for all others: the larger one of both directions.
With --fail-above the exit status is {above} if the figure is larger than that, 0 if not, and 1 or 2
after an error.
"""


class Limit(click.FloatRange):
    """A number from 0; per cent are refused with the number that they mean."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a number; refuse what nothing is above or below."""
        if isinstance(value, str) and value.endswith("%"):
            try:
                meant = f": for {value} write {float(value[:-1]) / 100:g}"
            except ValueError:
                meant = ""
            self.fail(f"expected a number from 0, got {value!r}{meant}", param, ctx)
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("expected a number from 0, got nan", param, ctx)
        return number


@click.command(help=HELP.format(boxes=box_list(), above=EXIT_ABOVE))
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--words",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What to compare them on, and nothing else: PAutomaC/SPiCe format, plain text, .jsonl, or "
    f"events.  [default: {N_DRAWN_WORDS:,} words drawn from each, or random ones where a box does "
    "not predict, and a search for words on which they differ]",
)
@max_length_option
@click.option(
    "--no-states", is_flag=True, help="Leave out states and arrows: extract no automata of boxes."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write a page that shows both (.html), or a picture of both (.svg).",
)
@click.option(
    "--fail-above",
    type=Limit(0),
    metavar="X",
    help=f"Exit with status {EXIT_ABOVE} if the figure is larger than X. The figure itself counts, "
    "not its interval. 0: also if they differ on a rare word only.",
)
@event_options
@store_option
@executor_option
@option_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON instead.")
def command(**options: Any) -> None:
    """Compare."""
    _diff(DiffOptions(**options))


@dataclass(frozen=True)
class DiffOptions:
    """The arguments and options of the command, as click read them."""

    a: str
    b: str
    words: Path | None
    max_length: int | None
    no_states: bool
    output: Path | None
    fail_above: float | None
    events: EventOptions
    store: str | None
    executor: str | None
    options: tuple[str, ...]
    seed: int
    as_json: bool

    def is_above(self, difference: Difference) -> bool:
        """Whether two sides differ more than is allowed; so does what is no number."""
        if self.fail_above is None:
            return False
        if self.fail_above == 0:
            return not difference.is_same
        return not difference.figure.value <= self.fail_above


def _diff(options: DiffOptions) -> None:
    """Compare two sides; print what differs, write the page, and exit as --fail-above says."""
    if options.words is None:
        options.events.check_unused("--words")
    if options.output is not None:
        check_output(options.output, [".html", ".svg"], "--output")
        if options.output.suffix == ".svg" and options.no_states:
            raise click.UsageError("a picture shows states: leave out --no-states, or write a page")
    difference = _difference(options)
    is_above = options.is_above(difference)
    if options.as_json:
        verdict = {"fail_above": options.fail_above, "is_above": is_above}
        click.echo(json_line({**difference.to_json(), **verdict}))
    else:
        show_sections(difference.sections())
    if options.output is not None:
        _write(options.output, difference, is_quiet=options.as_json)
    if is_above:
        click.echo(_too_different(options, difference), err=True)
        click.get_current_context().exit(EXIT_ABOVE)
    if options.fail_above is not None and not options.as_json:
        figure = difference.figure
        limit = f"{options.fail_above:g} (--fail-above)"
        click.echo(f"{_capital(figure.name)}: {shown_figure(figure)}, not above {limit}.")


def _difference(options: DiffOptions) -> Difference:
    """Open both sides and compare them; every answer that is worth it is cached."""
    given = box_options(options.options)
    with box_prints_to_stderr():
        sides = open_side(options.a, "A", given), open_side(options.b, "B", given)
    check_comparable(*sides)
    words = None if options.words is None else _words(options, options.words, sides)
    paths = [
        store_path(spec, side.box, options.store) if side.is_cached else None
        for spec, side in zip((options.a, options.b), sides, strict=True)
    ]
    with (
        opened_store(paths[0] or paths[1]) as cache,
        notes(),
        box_prints_to_stderr(),  # before workers start, which print where this process does
        opened_executor(options.executor) as executor,
        progress_bar("querying the boxes") as progress,
    ):
        request = DiffRequest(
            words=words,
            max_length=options.max_length,
            with_states=not options.no_states,
            seed=options.seed,
            stores=(cache if paths[0] else None, cache if paths[1] else None),
            executor=executor,
            progress=progress,
        )
        return compare_sides(*sides, request)


def _words(options: DiffOptions, path: Path, sides: tuple[ComparedSide, ComparedSide]) -> Words:
    """Read words that both sides can read."""
    boxes = [side.box for side in sides]
    strictest = min(boxes, key=lambda box: max_length_of(box) or math.inf)
    return read_box_words(path, strictest, options.max_length, options.events)


def _write(output: Path, difference: Difference, *, is_quiet: bool) -> None:
    is_page = output.suffix == ".html"
    write_text(output, to_html(difference) if is_page else difference_svg(difference))
    what = "open it in a browser, it needs nothing else" if is_page else "both as a picture"
    click.echo(f"{output}: {what}", err=is_quiet)


def _too_different(options: DiffOptions, difference: Difference) -> str:
    """Say that two sides differ more than is allowed, what was expected, and what to do."""
    figure, limit = difference.figure, options.fail_above
    assert limit is not None
    what = f"{_capital(figure.name)}: {shown_figure(figure)}"
    if figure.value == 0:
        what = "They differ, if on rare words only"
    page = "add -o page.html for a page" if options.output is None else f"open {options.output}"
    text = (
        f"Too different. {what}. Expected at most {limit:g} (--fail-above): the larger figure of "
        f"both directions counts, not its interval. See which words and arrows differ ({page}); "
        "if the change is wanted, compare with this B from now on."
    )
    low, high = figure.interval or (math.nan, math.nan)
    if low <= limit <= high and limit > 0:
        text += f" {limit:g} lies within the interval: with other words it may be otherwise."
    return text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
