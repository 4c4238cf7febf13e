import dataclasses
import inspect
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import seqray
from listing import names
from seqray.automata.generators import random_machine
from seqray.cli import train as command
from seqray.cli.train_progress import LineWatch
from seqray.cli.words import EventOptions
from trainings import HandClock

pytest.importorskip("torch")

from seqray.training import loop
from seqray.training.clock import TrainingClock
from seqray.training.loop import split

SMALL = ("--sizes", "4,6", "--epochs", "3", "--batch-size", "32")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with two files of words."""
    monkeypatch.chdir(tmp_path)
    machine = random_machine("dpfa", 3, 2, seed=np.random.default_rng(1))
    for name, seed in (("words.txt", 2), ("other.txt", 3)):
        seqray.write_words(machine.sample(80, seed=np.random.default_rng(seed)).words, name)
    return tmp_path


@pytest.fixture
def prefix():
    return ("train",)


@pytest.fixture
def interrupted(monkeypatch, fails):
    """Break a training off as Ctrl-C does, some epochs in; returns what it said."""

    def call(n_epochs, *arguments):
        true, seen = seqray.train, []

        def cut_short(words, *, on_epoch, **options):
            def count(row):
                on_epoch(row)
                seen.append(row)
                if len(seen) > n_epochs:
                    raise KeyboardInterrupt

            if n_epochs == 0:
                raise KeyboardInterrupt
            return true(words, on_epoch=count, **options)

        with monkeypatch.context() as patch:
            patch.setattr(seqray, "train", cut_short)
            return fails(130, *arguments)

    return call


def test_a_network_and_its_history_are_left(folder, run_both):
    out, err = run_both("words.txt", "-o", "model.safetensors", *SMALL)
    assert names(folder) == ["model.history.csv", "model.safetensors", "other.txt", "words.txt"]
    lines = (folder / "model.history.csv").read_text("utf-8").splitlines()
    assert lines[0] == "hidden,epoch,training,validation,seconds"
    rows = [tuple(map(float, line.split(","))) for line in lines[1:]]
    assert [row[:2] for row in rows] == [(n, epoch) for n in (4, 6) for epoch in (1, 2, 3)]
    best = min(rows, key=lambda row: row[3])
    box = seqray.open_black_box("rnn:model.safetensors")
    assert box.layers[0].n_outputs == best[0]
    assert f"Saved: {best[0]:.0f} units after epoch {best[1]:.0f}." in out
    assert f"cross-entropy {best[3]:.4f} nats on 8 words, learnt from 72 in" in out
    assert f"→ {best[0]:.0f}" in out
    assert "seqray extract rnn:model.safetensors -o run" in out
    assert err.startswith("words.txt: 80 words over 2 symbols.\n")
    assert "6 units, epoch 3/3: training " in err


def test_it_is_the_network_that_the_library_trains(folder, run):
    run("words.txt", "-o", "m.safetensors", *SMALL, "--cell=lstm", "--layers=1", "--embedding=5")
    words = seqray.read_words("words.txt")
    found = seqray.train(
        words, sizes=(4, 6), epochs=3, batch_size=32, cell="lstm", n_layers=1, embedding=5
    )
    box = seqray.open_black_box("rnn:m.safetensors")
    assert repr(box) == repr(found.model)
    np.testing.assert_array_equal(box.weights(words), found.model.weights(words))


def test_two_checkpoints_are_compared(folder, run):
    for epochs in ("1", "3"):
        options = ("--sizes", "4", "--epochs", epochs, "--batch-size", "32")
        run("words.txt", "-o", f"{epochs}.safetensors", *options)
    one, two = (seqray.open_black_box(f"rnn:{epochs}.safetensors") for epochs in (1, 3))
    words = seqray.read_words("other.txt", alphabet=one.alphabet)
    difference = seqray.diff(
        "rnn:1.safetensors", "rnn:3.safetensors", words=words, with_states=False
    )
    prefixes = [word[:n] for word in words for n in range(len(word) + 1)]
    rows = (np.float64(each.next_symbol(prefixes)) for each in (one, two))
    p, q = (each / each.sum(axis=1, keepdims=True) for each in rows)
    expected = (p * np.log2(p / q)).sum(axis=1).mean(), (q * np.log2(q / p)).sum(axis=1).mean()
    figures = [figure.value for figure in difference.distance.figures]
    assert figures == pytest.approx(expected, rel=1e-4)


def test_events_are_trained_on_with_rare_activities_as_one(folder, run_both):
    rows = [f"{case},{what},{at}" for case in range(40) for at, what in enumerate(["Take it", "b"])]
    for name in ("events.csv", "later.csv"):
        header = "ticket,step,when\n"
        (folder / name).write_text(header + "\n".join([*rows, "7,Rare one,9"]) + "\n")
    _, err = run_both(
        *("events.csv", "-o", "m.safetensors", *SMALL, "--case", "ticket", "--activity", "step"),
        *("--time", "when", "--rare", "5", "--validation", "later.csv"),
    )
    assert "events.csv: case 'ticket', activity 'step', sorted by 'when'.\n" in err
    assert "1 symbol that occur less than 5 times became '(rare)': Rare one (1)." in err
    assert (folder / "m.rare.csv").read_text("utf-8") == "symbol,count\nRare one,1\n"
    box = seqray.open_black_box("rnn:m.safetensors")
    assert box.alphabet == seqray.Alphabet(["Take it", "b", "(rare)"])
    later = seqray.read_events("later.csv", case="ticket", activity="step", alphabet=box.alphabet)
    assert later.words[7] == ("Take it", "b", "(rare)")


def test_validation_words_come_from_a_file_if_told(folder, run):
    out = run("words.txt", "-o", "m.safetensors", *SMALL, "--validation", "other.txt")
    assert "on 80 words, learnt from 80" in out


def test_the_command_has_the_defaults_of_the_function():
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(seqray.train).parameters.items()
    }
    context = command.command.make_context("train", ["words.txt", "-o", "m.safetensors"])
    own = {"words", "output", "fresh", "half", "rare"}
    own |= {field.name for field in dataclasses.fields(EventOptions)}
    assert set(context.params) - own <= set(defaults)
    for name in set(context.params) - own:
        assert context.params[name] == defaults[name], name


@pytest.mark.parametrize("n_epochs", [1, 4])
def test_after_a_break_the_same_command_goes_on(folder, run, run_both, interrupted, n_epochs):
    run("words.txt", "-o", "whole.safetensors", *SMALL)
    call = ("words.txt", "-o", "m.safetensors", *SMALL)
    said = interrupted(n_epochs, *call)
    assert "in m.safetensors.checkpoint: run the same command again to go on" in said
    assert "m.safetensors" not in names(folder)
    _, err = run_both(*call)
    assert "Found m.safetensors.checkpoint: going on from it" in err
    assert err.count("epoch ") == 6 - (n_epochs + 1)
    assert (folder / "m.safetensors").read_bytes() == (folder / "whole.safetensors").read_bytes()
    assert "m.safetensors.checkpoint" not in names(folder)


def test_a_break_before_the_first_epoch_leaves_nothing(folder, interrupted):
    said = interrupted(0, "words.txt", "-o", "m.safetensors", *SMALL)
    assert "Interrupted within the first epoch: nothing was written" in said
    assert names(folder) == ["other.txt", "words.txt"]


def history():
    lines = Path("m.history.csv").read_text("utf-8").splitlines()[1:]
    return [tuple(map(float, line.split(","))) for line in lines]


LONG = ("words.txt", "-o", "m.safetensors", "--sizes", "4", "--epochs", "4000", "--patience=never")


def test_ctrl_c_saves_the_best_network_so_far_and_says_how_to_go_on(folder, run_both):
    command_line = [sys.executable, "-m", "seqray", "train", *LONG]
    with subprocess.Popen(
        command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if "epoch 3/4000" in line:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Finishing this batch; Ctrl-C again stops at once." in err
    hidden, epoch, _, validation, _ = min(history(), key=lambda row: row[3])
    which = f"{hidden:.0f} units after epoch {epoch:.0f}"
    assert f"Saved: {which}." in out
    assert (
        f"Not finished: m.safetensors holds the best network so far, {which}. To go on from "
        "m.safetensors.checkpoint, run the same command again."
    ) in err
    assert f"Interrupted: the best so far is epoch {epoch:.0f} of 4 units." in err
    _, held_out = split(seqray.read_words("words.txt"), None, 0.1, 0)
    weights = seqray.open_black_box("rnn:m.safetensors").weights(held_out)
    n_letters = held_out.lengths.sum() + len(held_out)
    assert -np.log(weights).sum() / n_letters == pytest.approx(validation, rel=1e-5)
    goes_on(run_both, n_epochs=len(history()))


def goes_on(run_both, n_epochs):
    """Check that the same command begins after these epochs; a time limit ends it at once."""
    model = Path("m.safetensors").read_bytes()
    _, err = run_both(*LONG, "--time-limit", "1e-9")
    assert "Found m.safetensors.checkpoint: going on from it" in err
    assert "epoch 1/4000" not in err
    assert len(history()) == n_epochs
    assert Path("m.safetensors").read_bytes() == model


def test_a_time_limit_saves_the_best_network_so_far(folder, run_both, monkeypatch):
    clock = HandClock(seconds_per_step=60)  # an epoch has three steps
    monkeypatch.setattr(loop, "TrainingClock", lambda limits: TrainingClock(limits, clock))
    monkeypatch.setattr(LineWatch, "on_step", clock.pass_time)
    out, err = run_both("words.txt", "-o", "m.safetensors", *SMALL, "--time-limit", "480")
    assert len(history()) == 2
    assert "About 18 min for 3 epochs of 2 sizes, but the time limit of 8 min ends it before" in err
    assert "The time limit of 8 min is over: the best so far is epoch 2 of 4 units." in err
    assert "Not finished: m.safetensors holds the best network so far, 4 units after epoch" in err
    assert "next: seqray extract" not in out
    assert "m.safetensors.checkpoint" in names(folder)


def test_a_time_limit_within_the_first_epoch_says_what_was_saved(folder, run_both):
    out, err = run_both("words.txt", "-o", "m.safetensors", *SMALL, "--time-limit", "1e-9")
    assert "Saved: 4 units after a part of the first epoch." in out
    assert "The time limit of 0 s is over: the best so far is a part of the first epoch" in err
    assert "holds what was learnt of the first epoch. Give more time (--time-limit), or" in err
    assert names(folder) == ["m.history.csv", "m.safetensors", "other.txt", "words.txt"]


def test_patience_is_said(folder, run_both):
    hasty = ("--sizes", "4", "--epochs", "40", "--learning-rate", "0.3", "--patience", "2")
    out, err = run_both("words.txt", "-o", "m.safetensors", *hasty)
    n_epochs = len(history())
    assert n_epochs < 40
    best = n_epochs - 2
    assert f"4 units: ended after epoch {n_epochs} of 40, no better epoch since {best} (" in err
    assert f"{best} of {n_epochs}" in out


def test_another_training_is_not_mistaken_for_the_same(folder, run_both, fails, interrupted):
    interrupted(1, "words.txt", "-o", "m.safetensors", *SMALL)
    other = ("words.txt", "-o", "m.safetensors", *SMALL, "--seed", "1")
    said = fails(2, *other)
    assert "m.safetensors.checkpoint: this checkpoint is of another training" in said
    assert "seed was 0, is 1" in said
    _, err = run_both(*other, "--fresh")
    assert err.count("epoch ") == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("words.txt", "-o", "m.onnx"), "m.onnx ends in none of .safetensors"),
        (("words.txt", "-o", "no/m.safetensors"), "there is no folder no to put it in"),
        (("none.txt", "-o", "m.safetensors"), "none.txt: there is no such file"),
        (("words.txt", "-o", "m.safetensors", "--sizes", "3,x"), "like 30,50,120, got '3,x'"),
        (("words.txt", "-o", "m.safetensors", "--sizes", "3,3"), "all different"),
        (("words.txt", "-o", "m.safetensors", "--epochs", "0"), "--epochs"),
        (("words.txt", "-o", "m.safetensors", "--patience", "0"), "'never' or a number from 1"),
        (("words.txt", "-o", "m.safetensors", "--patience", "often"), "from 1, got 'often'"),
        (("words.txt", "-o", "m.safetensors", "--time-limit", "0"), "--time-limit"),
    ],
)
def test_misuse_is_refused_before_training(folder, fails, arguments, message):
    assert message in fails(2, *arguments)
    assert names(folder) == ["other.txt", "words.txt"]


def test_a_validation_file_with_other_symbols_is_refused(folder, fails):
    (folder / "other.txt.sha256").unlink()
    (folder / "other.txt").write_text("0 1 7 1\n0 1\n")
    said = fails(2, "words.txt", "-o", "m.safetensors", "--validation", "other.txt")
    assert "other.txt" in said
    assert "'7'" in said


def test_without_pytorch_it_says_what_to_install(folder, fails, monkeypatch):
    for name in [each for each in sys.modules if each.startswith("seqray.training")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(vars(seqray), "train", raising=False)
    said = fails(1, "words.txt", "-o", "m.safetensors")
    assert "training needs PyTorch: pip install '.[torch]'" in said


def test_a_terminal_shows_a_bar(folder, run_both, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, err = run_both("words.txt", "-o", "m.safetensors", *SMALL)
    assert "━" in err


def test_a_sparkline_shows_the_least_as_the_lowest():
    assert command.sparkline([9.0, 2.0, 1.0, 1.5]) == "██▁▄"
    assert command.sparkline([1.0, 1.0]) == "▁▁"
    assert command.sparkline([1.0]) == "▁"
    long = command.sparkline([100.0 - i for i in range(100)])
    assert (len(long), long[0], long[-1]) == (24, "█", "▁")
