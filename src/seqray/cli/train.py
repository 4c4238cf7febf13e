"""``seqray train``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import seqray
from seqray.cli.boxes import interruptible
from seqray.cli.common import check_output, titled
from seqray.cli.console import console
from seqray.cli.train_progress import watching
from seqray.cli.words import EventOptions, event_options, read_word_file
from seqray.util.csv_table import write_rows
from seqray.util.errors import Stopped, StopReason
from seqray.util.files import write_text
from seqray.util.formatting import abbreviated, counted

if TYPE_CHECKING:
    from seqray.automata.words import Symbol, Words
    from seqray.training.checkpoint import Epoch
    from seqray.training.loop import TrainedNetwork

SPARKLINE_BARS, SPARKLINE_WIDTH = "▁▂▃▄▅▆▇█", 24


def _sizes(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    """Read numbers with commas between them."""
    parts = text.split(",")
    # Not `isdigit`, which is also true of "²", and no longer than `int` reads.
    if not all(part.isdecimal() and len(part) < 10 and int(part) > 0 for part in parts):
        raise click.BadParameter(f"expected numbers from 1 like 30,50,120, got {text!r}")
    return tuple(map(int, parts))


def _patience(context: click.Context, parameter: click.Parameter, text: str) -> int | None:
    """Read a number of epochs, None for ``never``."""
    if text == "never":
        return None
    if not (text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise click.BadParameter(f"expected 'never' or a number from 1, got {text!r}")
    return int(text)


@click.command()
@click.argument("words", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="A .safetensors file."
)
@click.option(
    "--validation",
    type=click.Path(path_type=Path),
    help="A file of words to choose the size and epoch on.  [default: a part of WORDS]",
)
@click.option(
    "--validation-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="How large a part.",
)
@click.option(
    "--sizes",
    callback=_sizes,
    default="30,50,120",
    show_default=True,
    metavar="N,N,…",
    help="Units of the recurrent layers, one network each.",
)
@click.option(
    "--epochs",
    type=click.IntRange(1),
    default=40,
    show_default=True,
    help="At most, for each size.",
)
@click.option(
    "--cell", type=click.Choice(["gru", "lstm", "tanh"]), default="gru", show_default=True
)
@click.option("--layers", "n_layers", type=click.IntRange(1), default=2, show_default=True)
@click.option(
    "--embedding",
    type=click.IntRange(1),
    help="Size of the embedding of a symbol.  [default: three times the number of symbols, at most "
    "256]",
)
@click.option("--batch-size", type=click.IntRange(1), default=128, show_default=True)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=0.005,
    show_default=True,
    help="The highest one: it rises shortly, and falls to 0 at the last epoch.",
)
@click.option(
    "--patience",
    callback=_patience,
    default="10",
    show_default=True,
    metavar="N|never",
    help="Leave a size after this many epochs without improvement. never: train for all epochs, as "
    "the paper does.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Stop training after this time, and save the best network so far.",
)
@event_options
@click.option(
    "--rare",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Symbols that occur less than N times become one, (rare), which later stands for unknown "
    "symbols, too.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--half", is_flag=True, help="Save in half precision, for a file of half the size.")
@click.option(
    "--fresh", is_flag=True, help="Start again, even if an interrupted training can go on."
)
def command(
    words: Path,
    output: Path,
    validation: Path | None,
    half: bool,
    fresh: bool,
    events: EventOptions,
    rare: int,
    **options: Any,
) -> None:
    """Train the paper's recurrent network on a file of words or events.

    An embedding, two recurrent layers, two dense layers, and a softmax over the next symbol and
    the end of the word. Networks of several sizes are trained, and the one with the best
    cross-entropy on validation words is saved, as it was after its best epoch.

    A size is left when its cross-entropy has not improved for some epochs (--patience). Ctrl-C, or
    the end of the time limit, saves the best network so far.

    After every epoch all is saved in a file beside the output. If training was stopped, run the
    same command again: it goes on, and ends with the same network as a training without a break.
    OUTPUT.history.csv gets the cross-entropies of all epochs.

    WORDS is a file of words (docs/files.md), an event log (.xes, .csv, .parquet, .jsonl), sequences
    (.fasta, .fastq), or with --session a plain log, each also as .gz: see docs/events.md.

    \b
    Examples:
      seqray train words.txt -o model.safetensors
      seqray train 3.pautomac.train -o model.safetensors --sizes 50 --epochs 12
      seqray train words.txt -o model.safetensors --time-limit 600
      seqray train words.txt -o model.safetensors --cell lstm --patience never
      seqray train words.txt --validation other.txt -o model.safetensors
      seqray train events.csv --case ticket --activity step --time when -o model.safetensors
      seqray train log.xes.gz --rare 20 -o model.safetensors
    Then:
      seqray extract rnn:model.safetensors -o run
    """
    check_output(output, (".safetensors",), "-o")
    read, grouped = seqray.group_rare(read_word_file(words, events), rare)
    if grouped:
        _record_rare(grouped, read, rare, output)
    read.alphabet.to_json()  # refuses now what could not be saved in the end
    held_out = None
    if validation is not None:
        held_out = read_word_file(validation, events, read.alphabet)
    checkpoint = output.with_name(f"{output.name}.checkpoint")
    if fresh:
        checkpoint.unlink(missing_ok=True)
    elif checkpoint.exists():
        click.echo(f"Found {checkpoint}: going on from it (--fresh starts again).", err=True)
    click.echo(f"{words}: {_size_of(read)}.", err=True)
    train = seqray.train  # says what is missing, if PyTorch is, before the bar is drawn
    with _stoppable(checkpoint), watching(options["epochs"]) as watch, interruptible() as stop:
        network = train(
            read,
            validation=held_out,
            checkpoint=checkpoint,
            stop=stop,
            progress=watch.on_step,
            on_epoch=watch.on_epoch,
            on_estimate=watch.on_estimate,
            **options,
        )
    network.model.save(output, half=half)
    history = output.with_suffix(".history.csv")
    write_text(history, history_csv(network.history))
    _show(network)
    click.echo(f"Network: {output}    all epochs: {history}")
    if network.stop_reason is None:
        checkpoint.unlink(missing_ok=True)
        click.echo(f"next: seqray extract rnn:{output} -o run")
        return
    click.echo(_how_to_go_on(network, output, checkpoint), err=True)
    if network.stop_reason is StopReason.INTERRUPTED:
        click.get_current_context().exit(130)


def _record_rare(grouped: Mapping[Symbol, int], words: Words, rare: int, output: Path) -> None:
    """Say which symbols became one, and write all of them beside the network."""
    record = output.with_suffix(".rare.csv")
    write_rows(record, ["symbol", "count"], grouped.items())
    listed = abbreviated(", ".join(f"{symbol} ({n})" for symbol, n in grouped.items()), 200)
    click.echo(
        f"{counted(len(grouped), 'symbol')} that occur less than {rare} times became "
        f"{words.alphabet.symbols[-1]!r}: {listed}. All are in {record}.",
        err=True,
    )


def _size_of(words: Words) -> str:
    return f"{counted(len(words), 'word')} over {counted(len(words.alphabet), 'symbol')}"


@contextmanager
def _stoppable(checkpoint: Path) -> Iterator[None]:
    """Say how to go on where Ctrl-C leaves no network: at once, or within the first epoch."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        if checkpoint.exists():
            click.echo(
                f"\nInterrupted. All whole epochs are in {checkpoint}: run the same command again "
                "to go on.",
                err=True,
            )
        else:
            click.echo("\nInterrupted within the first epoch: nothing was written.", err=True)
        click.get_current_context().exit(130)


def _how_to_go_on(network: TrainedNetwork, output: Path, checkpoint: Path) -> str:
    """Say what was saved of a training that was stopped, and how to go on with it."""
    if network.epoch == 0:
        return (
            f"Not finished: {output} holds what was learnt of the first epoch. Give more time "
            "(--time-limit), or train one small network (--sizes 30)."
        )
    return (
        f"Not finished: {output} holds the best network so far, {_which(network)}. To go on from "
        f"{checkpoint}, run the same command again."
    )


def _which(network: TrainedNetwork) -> str:
    epoch = f"epoch {network.epoch}" if network.epoch else "a part of the first epoch"
    return f"{network.hidden} units after {epoch}"


def _show(network: TrainedNetwork) -> None:
    """Print the cross-entropy of each size, and which network was saved."""
    shown = titled("Cross-entropy per symbol (or end), in nats")
    for name in ("units", "epoch", "training", "validation"):
        shown.add_column(name, justify="right")
    shown.add_column("validation by epoch", no_wrap=True)
    shown.add_column("seconds", justify="right")
    for size in dict.fromkeys(row.hidden for row in network.history):
        rows = [row for row in network.history if row.hidden == size]
        best = min(rows, key=lambda row: row.validation)
        mark, style = ("→ ", "bold green") if size == network.hidden else ("", "")
        shown.add_row(
            *(
                f"{mark}{size}",
                f"{best.epoch} of {len(rows)}",
                f"{best.training:.4f}",
                f"{best.validation:.4f}",
            ),
            *(sparkline([row.validation for row in rows]), f"{sum(r.seconds for r in rows):.1f}"),
            style=style,
        )
    console().print(shown)
    click.echo(
        f"Saved: {_which(network)}. Validation cross-entropy "
        f"{network.validation:.4f} nats on {network.n_validation:,} words, learnt from "
        f"{network.n_training:,} in {sum(row.seconds for row in network.history):.1f} s."
    )


def sparkline(values: list[float]) -> str:
    """Draw numbers as a line of bars, some of them if they are many.

    The first epoch is far above all others: it is cut, to show the rest.
    """
    least, most = min(values), max(values[1:] or values)
    height = (most - least) or 1.0
    n_shown = min(len(values), SPARKLINE_WIDTH)
    shown = [values[round(i * (len(values) - 1) / max(1, n_shown - 1))] for i in range(n_shown)]
    return "".join(SPARKLINE_BARS[min(7, int(7.99 * (value - least) / height))] for value in shown)


def history_csv(history: tuple[Epoch, ...]) -> str:
    """Return all epochs as CSV."""
    lines = ["hidden,epoch,training,validation,seconds"]
    lines += [f"{r[0]},{r[1]},{r[2]!r},{r[3]!r},{r[4]:.3f}" for r in history]
    return "\n".join(lines) + "\n"
