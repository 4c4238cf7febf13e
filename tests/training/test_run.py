import logging
import threading

import numpy as np
import pytest

from seqray import Alphabet, ArgumentError, Stopped, StopReason
from seqray.blackbox.queries.limits import Limits
from seqray.training.clock import TrainingClock
from seqray.training.loop import split
from seqray.training.recipe import Recipe
from seqray.training.reports import Listeners
from seqray.training.run import TrainingRun
from trainings import SETTINGS, HandClock

ALPHABET = Alphabet("ab")
N_BATCHES = 5


@pytest.fixture(scope="module")
def data():
    """Words to train on, in five batches, and words to validate on."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(["a", "b"], n, p=[0.7, 0.3])) for n in rng.geometric(0.3, 90)]
    return split(ALPHABET.words(words), None, 0.15, 0)


def run_of(data, *, time_limit=None, stop=None, checkpoint=None, on_step=None, **settings):
    """A run whose steps take a second each."""
    now = HandClock()

    def progress(done, total):
        now.pass_time()
        if on_step is not None:
            on_step(done)

    recipe = Recipe(**SETTINGS | {"epochs": 4, "patience": None} | settings)
    clock = TrainingClock(Limits(time_limit=time_limit, stop=stop), now)
    return TrainingRun(recipe, *data, checkpoint, clock, Listeners(progress))


def places(trained):
    return [(row.hidden, row.epoch) for row in trained.history]


def losses(trained):
    return [row[:4] for row in trained.history]


def cross_entropy(model, words):
    return -np.log(model.weights(words)).sum() / (words.lengths.sum() + len(words))


def best_of(trained):
    return min(trained.history, key=lambda row: row.validation)


def test_without_limits_all_sizes_are_trained(data):
    trained = run_of(data).train()
    assert places(trained) == [(size, epoch) for size in (4, 6) for epoch in (1, 2, 3, 4)]
    assert trained.stop_reason is None
    assert {row.seconds for row in trained.history} == {N_BATCHES}
    assert "stopped" not in repr(trained)


@pytest.mark.parametrize("n_seconds", [7, 12, 29])
def test_the_time_limit_ends_it_within_an_epoch_and_the_best_epoch_is_kept(data, n_seconds):
    steps = []
    trained = run_of(data, time_limit=n_seconds, on_step=steps.append).train()
    assert steps[-1] == n_seconds
    assert losses(trained) == losses(run_of(data).train())[: n_seconds // N_BATCHES]
    assert trained.stop_reason is StopReason.TIME
    assert (trained.hidden, trained.epoch) == best_of(trained)[:2]
    assert cross_entropy(trained.model, data[1]) == pytest.approx(trained.validation, rel=1e-5)
    assert repr(trained).endswith("nats, stopped early: time)")


def test_a_limit_that_is_not_reached_changes_nothing(data):
    trained = run_of(data, time_limit=8 * N_BATCHES + 1).train()
    assert trained.stop_reason is None
    assert losses(trained) == losses(run_of(data).train())


def test_the_limit_holds_at_the_last_step_of_an_epoch(data):
    trained = run_of(data, time_limit=2 * N_BATCHES).train()
    assert places(trained) == [(4, 1)]  # the second is not validated any more


def test_within_the_first_epoch_the_network_of_that_moment_is_kept(data, tmp_path):
    trained = run_of(data, time_limit=3, checkpoint=tmp_path / "c").train()
    assert places(trained) == [(4, 0)]
    assert (trained.epoch, trained.stop_reason) == (0, StopReason.TIME)
    assert trained.history[0].seconds == 3
    assert cross_entropy(trained.model, data[1]) == pytest.approx(trained.validation, rel=1e-5)
    shorter = run_of(data, time_limit=1).train()
    assert shorter.validation != trained.validation
    assert list(tmp_path.iterdir()) == []  # it is no epoch that one could go on from


def test_a_first_epoch_of_all_steps_is_whole_however_late_it_is(data):
    trained = run_of(data, time_limit=N_BATCHES).train()
    assert places(trained) == [(4, 1)]
    assert trained.stop_reason is StopReason.TIME


@pytest.mark.parametrize("n_seconds", [6, 7, 19, 23])
def test_after_the_limit_it_goes_on_to_the_same_end(data, tmp_path, n_seconds):
    path, part = tmp_path / "c", None
    for _ in range(9):
        part = run_of(data, time_limit=n_seconds, checkpoint=path).train()
        if part.stop_reason is None:
            break
    whole = run_of(data).train()
    assert losses(part) == losses(whole)
    assert part.model.fingerprint == whole.model.fingerprint


def test_a_limit_that_never_lets_it_go_on_is_said(data, tmp_path, caplog):
    run_of(data, time_limit=12, checkpoint=tmp_path / "c").train()
    assert "no whole epoch" not in caplog.text
    part = run_of(data, time_limit=N_BATCHES - 1, checkpoint=tmp_path / "c").train()
    assert places(part) == [(4, 1), (4, 2)]
    assert "no whole epoch fitted into the limit, so going on takes more time" in caplog.text


def test_an_event_ends_it_and_the_best_epoch_is_kept(data, caplog):
    stop = threading.Event()
    trained = run_of(data, stop=stop, on_step=lambda done: done == 13 and stop.set()).train()
    assert places(trained) == [(4, 1), (4, 2)]
    assert trained.stop_reason is StopReason.INTERRUPTED
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        f"interrupted: the best so far is epoch {trained.epoch} of 4 units"
    )


def test_an_event_within_the_first_epoch_leaves_nothing(data):
    stop = threading.Event()
    with pytest.raises(Stopped, match="interrupted"):
        run_of(data, stop=stop, on_step=lambda done: done == 3 and stop.set()).train()


def test_a_stopped_training_can_be_read_from_its_checkpoint(data, tmp_path):
    part = run_of(data, time_limit=12, checkpoint=tmp_path / "c").train()
    stop, steps = threading.Event(), []
    stop.set()
    again = run_of(data, stop=stop, checkpoint=tmp_path / "c", on_step=steps.append).train()
    assert steps == []
    assert again.model.fingerprint == part.model.fingerprint


def test_patience_says_that_it_ended_a_size(data, caplog):
    hasty = {"epochs": 30, "learning_rate": 0.3, "schedule": "constant", "sizes": (4,)}
    with caplog.at_level(logging.INFO, "seqray.training"):
        trained = run_of(data, **hasty, patience=2).train()
    best = best_of(trained)
    assert len(trained.history) == best.epoch + 2 < 30
    assert trained.stop_reason is None
    assert (
        f"4 units: ended after epoch {best.epoch + 2} of 30, no better epoch since {best.epoch} "
        "(patience 2)"
    ) in [record.getMessage() for record in caplog.records]


def test_patience_may_change_when_a_training_resumes(data, tmp_path):
    hasty = {"epochs": 12, "learning_rate": 0.3, "schedule": "constant"}
    first = run_of(data, **hasty, patience=1).train()
    n_first = sum(row.hidden == 4 for row in first.history)
    assert n_first < 12
    in_second_size = n_first * N_BATCHES + 7
    path = tmp_path / "c"
    run_of(data, **hasty, patience=1, time_limit=in_second_size, checkpoint=path).train()
    resumed = run_of(data, **hasty, patience=None, checkpoint=path).train()
    sizes = [row.hidden for row in resumed.history]
    assert (sizes.count(4), sizes.count(6)) == (n_first, 12)  # what was left stays left


def test_large_alphabets_are_validated_in_small_batches():
    def n_batches(n_symbols):
        alphabet = Alphabet([str(i) for i in range(n_symbols)])
        words = alphabet.words([[str(i % n_symbols)] for i in range(5000)])
        return len(run_of((words[:10], words)).validation)

    assert n_batches(63) == 2
    assert n_batches(700) == 14


def test_a_checkpoint_of_another_width_is_refused(tmp_path):
    alphabet = Alphabet([str(i) for i in range(90)])
    data = alphabet.words([["1"], ["2"]]), alphabet.words([["1"]])
    narrow = {"epochs": 1, "sizes": (2,)}
    run_of(data, **narrow, checkpoint=tmp_path / "c").train()
    run_of(data, **narrow, embedding=256, checkpoint=tmp_path / "c").train()  # the default
    with pytest.raises(ArgumentError, match="embedding was 256, is 270"):
        run_of(data, **narrow, embedding=270, checkpoint=tmp_path / "c").train()
