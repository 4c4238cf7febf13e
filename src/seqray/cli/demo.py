"""``seqray demo``."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import click
import numpy as np
from rich.text import Text

import seqray
from seqray.automata.purpose import Purpose
from seqray.automata.sampling import sample
from seqray.blackbox.box_record import BoxRecord, remember
from seqray.blackbox.native.demo import open_demo
from seqray.blackbox.native.rnn import RecurrentLanguageModel
from seqray.cli.common import show_comparison, show_fidelity, show_ranks, some_ranks
from seqray.cli.console import console, progress_bar
from seqray.draw.svg import to_svg
from seqray.explain.naming import name_states
from seqray.explore.page import to_html
from seqray.fidelity.reference import Reference
from seqray.formats.run_files import check_run_target
from seqray.util.files import write_text

READABLE_STATES, NAME = 5, "The demo's GRU"
LARGER_RANK = 10  # fitted, too
N_WORDS = 20_000
"""How many new words it is measured on: few words carry what it loses."""


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Run folder.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def command(output: Path, seed: int) -> None:
    """Extract an automaton from a small network that ships with seqray, and measure it.

    The network is a GRU that was trained on words of a generated machine. Only its answers are
    used: no training data, none of its weights.
    """
    check_run_target(output)
    terminal = console()
    box = open_demo()
    remember(box, BoxRecord("demo"))
    terminal.print(_headline("1. A black box", str(box)))
    terminal.print("   It answers one kind of query: what comes after these symbols?\n")
    with progress_bar("querying the box") as progress:
        extraction = seqray.extract(
            box,
            n_prefixes=300,
            max_rank=30,
            purpose=Purpose.READING,
            seed=seed,
            progress=progress,
        )
    settings = extraction.settings
    seconds = sum(settings["seconds"].values())
    text = f"from the answers on {settings['questions']:,} prefixes of words, in {seconds:.1f} s\n"
    terminal.print(_headline("2. An automaton", text))
    best = extraction.best_rank()
    ranks = some_ranks(extraction.max_rank, best, settings.get("fitted_ranks", ()))
    show_ranks(extraction.fidelity, ranks, best, extraction.compared_on)
    wa = extraction.best(purpose=Purpose.READING)
    words, _ = sample(box, N_WORDS, seed=np.random.default_rng(seed + 1), max_length=100)
    reference = Reference.query(box, words)
    terminal.print()
    show_fidelity(
        reference.compare(wa, intervals=True),
        f"3. How faithful  {best} states, on new words from the box",
        f"{len(words):,} words drawn from the box",
        only_main=True,
    )
    terminal.print()
    show_comparison(words, reference.weights, wa.weights(words))
    terminal.print()
    terminal.print(_headline("4. A faster copy", f"{_speed(box, wa, words)}\n"))
    seqray.save_run(extraction, output, rank=best, about={"box": "demo", "name": NAME})
    named = name_states(extraction.automaton(min(READABLE_STATES, extraction.max_rank)))
    drawing = to_svg(named.automaton, names=named.names, mass=named.mass)
    write_text(output / "automaton.svg", drawing)
    seqray.write_words(words, output / "words.txt")
    me = _this_program()
    page = to_html(extraction, box=box, words=words, name=NAME, seed=seed)
    write_text(output / "explorer.html", page)
    drawn = f"{output / 'automaton.svg'}: the automaton at {READABLE_STATES} states"
    terminal.print(_headline("5. Go on", drawn))
    terminal.print(
        f"   {me} evaluate {output} --against demo  # all metrics, on other words\n"
        f"   {me} explain {output} baacd --against demo\n"
        f"   {me} draw {output} -o automaton.svg --rank {LARGER_RANK}\n"
        f"   {me} convert {output} automaton.json\n",
        soft_wrap=True,
    )
    page_path = Text(f"Look at it: {output / 'explorer.html'}", style="bold green")
    page_path.append("  (open it in a browser)", style="not bold default")
    terminal.print(page_path, soft_wrap=True)


def _headline(head: str, text: str) -> Text:
    return Text.assemble((head, "bold"), f"  {text}")


def _this_program() -> str:
    """Return how to run another command of seqray from this folder."""
    if shutil.which("seqray"):
        return "seqray"
    if Path(sys.argv[0]).name == "__main__.py":  # python -m seqray
        return f"{os.path.relpath(sys.executable)} -m seqray"
    return os.path.relpath(sys.argv[0])


def _speed(box: RecurrentLanguageModel, wa: seqray.WeightedAutomaton, words: seqray.Words) -> str:
    times = []
    for model in (box, wa):
        begin = time.perf_counter()
        model.weights(words)
        times.append((time.perf_counter() - begin) / len(words) * 1e6)
    return f"the box takes {times[0]:.1f} µs per word, the automaton {times[1]:.1f} µs"
