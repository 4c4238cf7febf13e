"""``seqray explore``."""

from __future__ import annotations

import os
import socket
import webbrowser
from pathlib import Path

import click

from seqray.automata.automaton import WeightedAutomaton
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.queries.answer_cache import opened_store
from seqray.blackbox.queries.meter import Meter
from seqray.blackbox.queries.oracle import attended
from seqray.cli.boxes import (
    max_length_option,
    name_option,
    open_box,
    option_option,
    read_box_words,
    store_option,
    store_path,
)
from seqray.cli.common import (
    automaton_argument,
    check_output,
    notes,
    open_automaton,
    rank_option,
    write_text,
)
from seqray.cli.terminal import box_prints_to_stderr
from seqray.explore.page import to_html
from seqray.explore.serve import application, is_loopback, load_web, open_port, run
from seqray.extraction.result import Extraction
from seqray.extraction.run_folder import open_run


@click.command()
@automaton_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page, a file that ends in .html.",
)
@click.option(
    "--against",
    "box",
    metavar="BOX",
    help="The black box: the page then shows where both agree and where not.",
)
@click.option(
    "--words",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What to compare them on: PAutomaC/SPiCe format, plain text, or .jsonl.  [default: words "
    "drawn from the box, or at random]",
)
@max_length_option
@name_option
@rank_option
@click.option("--serve", is_flag=True, help="Serve the page here; typed words are asked of BOX.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; by default only this computer can reach the page.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@store_option
@option_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def command(
    automaton: str,
    output: Path | None,
    box: str | None,
    words: Path | None,
    max_length: int | None,
    name: str | None,
    rank: int | None,
    serve: bool,
    port: int,
    host: str,
    opens: bool,
    store: str | None,
    options: tuple[str, ...],
    seed: int,
) -> None:
    """Make a page to look at an automaton with: one HTML file that needs nothing else.

    The graph with sliders for its size, words to try, fidelity, and with --against where box and
    automaton agree. Opened by double-click, it makes no request.

    \b
    Examples:
      seqray explore run -o page.html
      seqray explore run -o page.html --against rnn:model.safetensors
      seqray explore run --against rnn:model.safetensors --serve --open
      seqray explore wa.json -o page.html

    With --serve the same page runs at http://127.0.0.1:8765, and every word that is typed there is
    asked of the box, too. Ctrl-C ends it. That needs starlette and uvicorn:
    pip install '.[web]' in seqray's folder.
    """
    _check(output, box, words, serve)
    listening = None
    if serve:  # a port that is in use is noticed before any work
        listening = click.get_current_context().with_resource(open_port(host, port))
    found, default_name = _subject(automaton, rank)
    name = name or default_name
    if box is None:
        with notes():
            page = to_html(found, rank=rank, name=name, seed=seed)
        _write(output, page, opens)
        return
    opened = open_box(box, options)
    shown = None if words is None else read_box_words(words, opened, max_length)
    with opened_store(store_path(box, opened, store)) as kept:
        asked = attended(opened, Meter(), store=kept)
        with notes(), box_prints_to_stderr():
            page = to_html(
                found,
                box=asked,
                words=shown,
                rank=rank,
                name=name,
                max_length=max_length,
                seed=seed,
                is_live=listening is not None,
            )
        if listening is not None:
            _serve(page, asked, host, listening, opens)
        else:
            _write(output, page, opens)


def _check(output: Path | None, box: str | None, words: Path | None, serve: bool) -> None:
    """Refuse what cannot work, before anything is asked."""
    if serve:
        if box is None:
            raise click.UsageError("--serve needs a box: add --against BOX")
        if output is not None:
            raise click.UsageError("--serve writes no file: leave out either --serve or --output")
        load_web()
    elif output is None:
        raise click.UsageError("there is no output: add -o page.html, or --serve")
    else:
        check_output(output, [".html"], "--output")
    if words is not None and box is None:
        raise click.UsageError("--words are what box and automaton are compared on: add --against")


def _subject(automaton: str, rank: int | None) -> tuple[Extraction | WeightedAutomaton, str | None]:
    """Open a run folder, with all its ranks, or an automaton; and what to call it."""
    path = automaton.removeprefix("wa:")
    if Path(path).is_dir():
        run = open_run(path)
        known = run.settings.get("name") or run.settings.get("box")
        return run, None if known else os.path.basename(os.path.normpath(path))
    return open_automaton(automaton, rank), os.path.basename(path)


def _write(output: Path | None, page: str, opens: bool) -> None:
    assert output is not None
    write_text(output, page)
    size = len(page.encode()) / 1e6
    click.echo(f"{output}: {size:.1f} MB; open it in a browser, it needs nothing else")
    if opens:
        webbrowser.open(output.absolute().as_uri())


def _serve(page: str, box: BlackBox, host: str, listening: socket.socket, opens: bool) -> None:
    where = f"[{host}]" if ":" in host else host
    address = f"http://{where}:{listening.getsockname()[1]}/"
    if not is_loopback(host):
        click.echo(
            f"Warning: at {host} everybody who reaches this computer can see the page and ask the "
            "box.",
            err=True,
        )
    click.echo(f"{address}    Ctrl-C ends it")
    if opens:
        webbrowser.open(address)
    with box_prints_to_stderr():
        run(application(page, box, host=host), listening)
    click.echo("Ended.")
