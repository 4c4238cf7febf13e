import logging

import pytest

pytest.importorskip("torch")

from seqray.cli.train_progress import LineWatch, watching
from seqray.training.checkpoint import Epoch
from seqray.training.reports import TrainingEstimate
from trainings import HandClock


@pytest.fixture
def lines():
    return []


@pytest.fixture
def watch(lines):
    """A watch of 40 epochs, by a clock that estimates move by a second."""
    return LineWatch(40, lines.append, HandClock())


def estimate(share, seconds_left=2000.0):
    return TrainingEstimate(30, 7, share, 2100.0, seconds_left)


def test_a_line_is_printed_after_some_seconds_of_silence(watch, lines):
    for i in range(1, 13):
        watch.now.pass_time()
        watch.on_estimate(estimate(i / 20))
    assert lines == [
        "30 units, epoch 7/40, 25 % of it: about 33 min left",
        "30 units, epoch 7/40, 50 % of it: about 33 min left",
    ]


def test_an_epoch_is_a_line_and_breaks_the_silence(watch, lines):
    for _ in range(4):
        watch.now.pass_time()
        watch.on_estimate(estimate(0.5))
    watch.on_epoch(Epoch(30, 7, 1.5, 1.25, 20.0))
    assert lines == ["30 units, epoch 7/40: training 1.5000, validation 1.2500; about 33 min left"]
    for _ in range(4):
        watch.now.pass_time()
        watch.on_estimate(estimate(0.5))
    assert len(lines) == 1


def test_steps_print_nothing(watch, lines):
    watch.on_step(3, 100)
    assert lines == []


def test_what_the_training_logs_is_printed_as_a_sentence(capsys):
    logger = logging.getLogger("seqray.training.run")
    with watching(40) as watch:
        watch.on_epoch(Epoch(30, 7, 1.5, 1.25, 20.0))
        logger.info("about %d min for 40 epochs", 35)
    logger.info("after it")
    assert capsys.readouterr().err.splitlines() == [
        "30 units, epoch 7/40: training 1.5000, validation 1.2500",
        "About 35 min for 40 epochs.",
    ]


def test_a_terminal_shows_a_bar_with_what_is_left(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    with watching(40) as watch:
        watch.on_step(10, 100)
        watch.on_epoch(Epoch(30, 7, 1.5, 1.25, 20.0))
        watch.on_estimate(estimate(0.5))
        logging.getLogger("seqray.training.run").warning("the end is near")
    shown = capsys.readouterr().err
    assert "30 units, epoch 7/40, validation 1.2500, about 33 min left" in shown
    assert "The end is near." in shown
    assert "━" in shown
