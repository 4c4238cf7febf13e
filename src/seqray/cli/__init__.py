"""The command line: one file per command, loaded when it is called."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
from difflib import get_close_matches
from typing import Any, NoReturn

import click

import seqray
from seqray.cli.signals import ending_like_ctrl_c, ignore_signals
from seqray.cli.terminal import show_anything
from seqray.util.errors import ArgumentError, SeqrayError, Stopped, StopReason
from seqray.util.parameter_names import named_as_options

COMMANDS = {
    "demo": "Extract an automaton from a small network that ships with seqray.",
    "train": "Train the paper's recurrent network on a file of words.",
    "check": "Check that a black box fulfils what extraction needs.",
    "extract": "Extract weighted automata from a black box into a run folder.",
    "learn": "Learn a deterministic automaton (PDFA, DFA, Moore machine) from a black box.",
    "evaluate": "Measure how faithful an automaton is to a black box.",
    "diff": "Say what differs between two boxes, checkpoints or runs.",
    "draw": "Draw an automaton as SVG, PNG, PDF or Graphviz dot.",
    "explain": "Explain a word, or say what an automaton does as a whole.",
    "explore": "Make a page that shows an automaton, or serve it.",
    "convert": "Write an automaton in another format.",
    "bench": "Repeat the paper's experiments, resumable, into tables.",
    "data": "List, check and generate data sets for experiments.",
    "report": "Make a page with tables and figures from the results of experiments.",
    "store": "Look at the cached answers, remove or export them.",
    "doctor": "Show what is installed, what is missing, and what seqray may use here.",
}


class Commands(click.Group):
    """Commands that are imported only when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"seqray.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, which will run on one thread; suggest similar names for none."""
        near = get_close_matches(args[0], COMMANDS)
        if args[0] not in COMMANDS and near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(near)}?")
        resolved = super().resolve_command(ctx, args)
        if "numpy" in sys.modules:
            from seqray.parallel.executor import one_blas_thread  # noqa: PLC0415 - loads slowly

            ctx.with_resource(one_blas_thread())
        return resolved

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a box that calls ``sys.exit`` in it is an error."""
        try:
            return super().invoke(ctx)
        except SystemExit as error:  # commands themselves leave by `click.Context.exit`
            raise SeqrayError(
                f"the box, or a package that it needs, called sys.exit({error.code!r}): make it "
                "return an answer or raise an error"
            ) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(seqray.__version__, prog_name="seqray")
def cli() -> None:
    """See what a black box on sequences has learnt.

    seqray queries a model, needs nothing but its answers, and returns a weighted automaton that
    computes nearly the same function: small enough to look at, fast enough to take its place.

    \b
    Begin with:
      seqray demo
    Then with a model of your own (`seqray extract --help` lists the kinds):
      seqray extract rnn:model.safetensors -o run
      seqray evaluate run --against rnn:model.safetensors --words test.txt
      seqray draw run -o automaton.svg --rank 5
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: exit code 2 for misuse, 1 for failure, 130 when interrupted."""
    try:
        with ending_like_ctrl_c(is_program=arguments is None), named_as_options():
            show_anything()
            code = cli.main(arguments, prog_name="seqray", standalone_mode=False)
        sys.stdout.flush()  # while a full disk can still be reported
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _leave_interrupted()
    except Stopped as stopped:
        click.echo(f"Stopped before there was enough for an automaton: {stopped}.", err=True)
        sys.exit(130 if stopped.reason is StopReason.INTERRUPTED else 1)
    except SeqrayError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2 if isinstance(error, ArgumentError) else 1)
    except OSError as error:
        _drop_output()
        where = f"cannot use {error.filename!r}" if error.filename else "cannot write the output"
        if not isinstance(error, BrokenPipeError):  # whoever read it has had enough
            click.echo(f"Error: {where}: {error.strerror or error}", err=True)
        sys.exit(1)
    except RuntimeError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11, while it makes a class
            _leave_interrupted()
        raise
    finally:
        atexit.register(ignore_signals)  # before all others: the last one is called first
    if code:
        sys.exit(code)


def _leave_interrupted() -> NoReturn:
    click.echo("Interrupted. No output was written; cached answers are safe.", err=True)
    sys.exit(130)


def _drop_output() -> None:
    """Discard what cannot be printed, so that Python does not try it again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
