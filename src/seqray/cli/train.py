"""``seqray train``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

import seqray
from seqray.cli.common import check_output, titled
from seqray.cli.console import console, progress_bar
from seqray.util.files import write_text

if TYPE_CHECKING:
    from seqray.training.checkpoint import Epoch
    from seqray.training.loop import TrainedNetwork

Report: TypeAlias = tuple["Callable[[int, int], None]", "Callable[[Epoch], None]"]

SPARKLINE_BARS, SPARKLINE_WIDTH = "▁▂▃▄▅▆▇█", 24


def _sizes(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    """Read numbers with commas between them."""
    parts = text.split(",")
    # Not `isdigit`, which is also true of "²", and no longer than `int` reads.
    if not all(part.isdecimal() and len(part) < 10 and int(part) > 0 for part in parts):
        raise click.BadParameter(f"expected numbers from 1 like 30,50,120, got {text!r}")
    return tuple(map(int, parts))


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
@click.option("--epochs", type=click.IntRange(1), default=40, show_default=True)
@click.option(
    "--cell", type=click.Choice(["gru", "lstm", "tanh"]), default="gru", show_default=True
)
@click.option("--layers", type=click.IntRange(1), default=2, show_default=True)
@click.option(
    "--embedding",
    type=click.IntRange(1),
    help="Size of the embedding of a symbol.  [default: three times the number of symbols]",
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
    type=click.IntRange(1),
    help="Leave a size after this many epochs without improvement.  [default: never]",
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
    layers: int,
    half: bool,
    fresh: bool,
    **options: Any,
) -> None:
    """Train the paper's recurrent network on a file of words.

    An embedding, two recurrent layers, two dense layers, and a softmax over the next symbol and
    the end of the word. Networks of several sizes are trained, and the one with the best
    cross-entropy on validation words is saved, as it was after its best epoch.

    After every epoch all is saved in a file beside the output. If training is interrupted, run the
    same command again: it goes on, and ends with the same network as a training without a break.
    OUTPUT.history.csv gets the cross-entropies of all epochs.

    \b
    Examples:
      seqray train words.txt -o model.safetensors
      seqray train 3.pautomac.train -o model.safetensors --sizes 50 --epochs 12
      seqray train words.txt -o model.safetensors --cell lstm --patience 5
      seqray train words.txt --validation other.txt -o model.safetensors
    Then:
      seqray extract rnn:model.safetensors -o run
    """
    check_output(output, (".safetensors",), "-o")
    read = seqray.read_words(words)
    read.alphabet.to_json()  # refuses now what could not be saved in the end
    held_out = None
    if validation is not None:
        held_out = seqray.read_words(validation, alphabet=read.alphabet)
    checkpoint = output.with_name(f"{output.name}.checkpoint")
    if fresh:
        checkpoint.unlink(missing_ok=True)
    elif checkpoint.exists():
        click.echo(f"Found {checkpoint}: going on from it (--fresh starts again).", err=True)
    train = seqray.train  # says what is missing, if PyTorch is, before the bar is drawn
    with _interruptible(checkpoint), _watching(options["epochs"]) as (on_step, on_epoch):
        network = train(
            read,
            validation=held_out,
            n_layers=layers,
            checkpoint=checkpoint,
            progress=on_step,
            on_epoch=on_epoch,
            **options,
        )
    network.model.save(output, half=half)
    history = output.with_suffix(".history.csv")
    write_text(history, history_csv(network.history))
    checkpoint.unlink(missing_ok=True)
    _show(network)
    click.echo(f"Network: {output}    all epochs: {history}")
    click.echo(f"next: seqray extract rnn:{output} -o run")


@contextmanager
def _interruptible(checkpoint: Path) -> Iterator[None]:
    """Say after Ctrl-C how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint.exists():
            click.echo(
                f"\nInterrupted. All whole epochs are in {checkpoint}: run the same command again "
                "to go on.",
                err=True,
            )
        else:
            click.echo("\nInterrupted before the first epoch: nothing was written.", err=True)
        click.get_current_context().exit(130)


@contextmanager
def _watching(epochs: int) -> Iterator[Report]:
    """Show a bar on a terminal, elsewhere one line per epoch (both on standard error)."""
    terminal = console(stderr=True)
    if not terminal.is_terminal:
        yield lambda done, total: None, lambda row: click.echo(_line(row, epochs), err=True)
        return
    with progress_bar("training", "batches") as bar:
        yield bar, lambda row: bar.describe(_line(row, epochs, ("validation",)))


def _line(row: Epoch, epochs: int, names: tuple[str, ...] = ("training", "validation")) -> str:
    values = ", ".join(f"{name} {getattr(row, name):.4f}" for name in names)
    return f"{row.hidden} units, epoch {row.epoch}/{epochs}: {values}"


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
            *(f"{mark}{size}", str(best.epoch), f"{best.training:.4f}", f"{best.validation:.4f}"),
            *(sparkline([row.validation for row in rows]), f"{sum(r.seconds for r in rows):.1f}"),
            style=style,
        )
    console().print(shown)
    click.echo(
        f"Saved: {network.hidden} units after epoch {network.epoch}. Validation cross-entropy "
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
