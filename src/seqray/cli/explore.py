"""``seqray explore``."""

from __future__ import annotations

import os
import socket
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from seqray.automata.automaton import WeightedAutomaton
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.queries.answer_cache import opened_store
from seqray.blackbox.queries.oracle import open_oracle
from seqray.cli.boxes import (
    against_option,
    guide_option,
    max_length_option,
    name_option,
    open_against,
    option_option,
    read_box_words,
    store_option,
    store_path,
)
from seqray.cli.common import (
    at_rank,
    automaton_argument,
    check_output,
    open_source,
    propose_rank,
    rank_option,
)
from seqray.cli.console import notes
from seqray.cli.terminal import box_prints_to_stderr
from seqray.cli.words import EventOptions, event_options
from seqray.explore.classes_page import is_classifier
from seqray.explore.page import to_html
from seqray.explore.serve import application, is_loopback, load_web, open_port, run
from seqray.extraction.result import Extraction
from seqray.util.files import write_text
from seqray.util.formatting import megabytes


@click.command()
@automaton_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page, a file that ends in .html.",
)
@against_option(
    "The black box: the page then shows where both agree and where not. recorded: the one that the "
    "run folder remembers, which is the default with --serve and --words."
)
@click.option(
    "--words",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What to compare them on: PAutomaC/SPiCe format, plain text, .jsonl, or events.  "
    "[default: words drawn from the box, or at random]",
)
@max_length_option
@name_option
@rank_option
@click.option("--serve", is_flag=True, help="Serve the page here; typed words are sent to BOX.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; by default only this computer can reach the page.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@guide_option
@event_options
@store_option
@option_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def command(**options: Any) -> None:
    """Make a page to look at an automaton with: one HTML file that needs nothing else.

    The graph with sliders for its size, words to try, fidelity, and with --against where box and
    automaton agree. Opened by double-click, it makes no request.

    \b
    Examples:
      seqray explore run -o page.html
      seqray explore run -o page.html --against recorded
      seqray explore run -o page.html --against rnn:model.safetensors
      seqray explore run --serve --open
      seqray explore wa.json -o page.html

    With --serve the same page runs at http://127.0.0.1:8765, and every word that is typed there is
    also sent to the box. Ctrl-C ends it. That needs starlette and uvicorn:
    pip install '.[web]' in seqray's folder.
    """
    _explore(ExploreOptions(**options))


@dataclass(frozen=True)
class ExploreOptions:
    """The arguments and options of the command, as click read them."""

    automaton: str
    output: Path | None
    box: str | None
    trusts_run: bool
    words: Path | None
    max_length: int | None
    name: str | None
    rank: int | None
    serve: bool
    port: int
    host: str
    opens: bool
    guide: str | None
    store: str | None
    options: tuple[str, ...]
    events: EventOptions
    seed: int

    @property
    def queries_box(self) -> bool:
        """Whether the box is queried."""
        return bool(self.box or self.trusts_run or self.serve or self.words)


def _explore(options: ExploreOptions) -> None:
    """Make the page; write it, or serve it."""
    _check(options)
    listening = None
    if options.serve:  # a port that is in use is noticed before any work
        listening = click.get_current_context().with_resource(open_port(options.host, options.port))
    source = open_source(options.automaton)
    automaton = at_rank(source, options.rank, options.automaton)  # may warn of the rank
    if not isinstance(source, Extraction):
        source = automaton
    if options.serve and is_classifier(source):
        raise click.UsageError(
            "--serve: a page about a classifier queries no box: write it to a file instead, with "
            "-o page.html"
        )
    name = options.name or _default_name(source, options.automaton)
    rank, seed = options.rank, options.seed
    if not options.queries_box:
        with notes():
            page = to_html(source, rank=rank, name=name, seed=seed)
        _write(options, page)
        _propose(options, source)
        return
    spec, opened, max_length = open_against(
        *(options.box, options.options, source, options.automaton),
        trusts_run=options.trusts_run,
        max_length=options.max_length,
        guide=options.guide,
    )
    words = None
    if options.words is not None:
        words = read_box_words(options.words, opened, max_length, options.events)
    with opened_store(store_path(spec, opened, options.store)) as cache:
        box = open_oracle(opened, cache=cache).reader
        with notes(), box_prints_to_stderr():
            page = to_html(
                source,
                box=box,
                words=words,
                rank=rank,
                name=name,
                max_length=max_length,
                seed=seed,
                is_live=listening is not None,
            )
        if listening is not None:
            _serve(options, page, box, listening)
        else:
            _write(options, page)
            _propose(options, source)


def _check(options: ExploreOptions) -> None:
    """Refuse what cannot work, before the first query."""
    if options.serve:
        if options.output is not None:
            raise click.UsageError("--serve writes no file: leave out either --serve or --output")
        load_web()
    elif options.output is None:
        raise click.UsageError("there is no output: add -o page.html, or --serve")
    else:
        check_output(options.output, [".html"], "--output")
    if options.guide is not None and not options.queries_box:
        raise click.UsageError("--guide needs a box that it restricts: add --against recorded")
    if options.words is None:
        options.events.check_unused("--words")


def _default_name(source: Extraction | WeightedAutomaton, path: str) -> str | None:
    """Return what to call the box: the name of the file or folder, None where a run knows it."""
    if isinstance(source, Extraction) and (
        source.settings.get("name") or source.settings.get("box")
    ):
        return None
    return os.path.basename(os.path.normpath(path.removeprefix("wa:")))


def _write(options: ExploreOptions, page: str) -> None:
    output = options.output
    assert output is not None
    write_text(output, page)
    size = megabytes(len(page.encode()))
    click.echo(f"{output}: {size}; open it in a browser, it needs nothing else")
    if options.opens:
        webbrowser.open(output.absolute().as_uri())


def _propose(options: ExploreOptions, source: Extraction | WeightedAutomaton) -> None:
    if options.rank is None and isinstance(source, Extraction):
        propose_rank(source, source.best_rank(), "shows")


def _serve(options: ExploreOptions, page: str, box: BlackBox, listening: socket.socket) -> None:
    host = options.host
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    if not is_loopback(host):
        click.echo(
            f"Warning: at {host} everybody who reaches this computer can see the page and query "
            "the box.",
            err=True,
        )
    click.echo(f"{address}    Ctrl-C ends it")
    if options.opens:
        webbrowser.open(address)
    with box_prints_to_stderr():
        run(application(page, box, host=host), listening)
    click.echo("Ended.")
