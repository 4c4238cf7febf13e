import json
import math
import threading

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save

import seqray
from seqray.automata.words import Alphabet
from seqray.training.loop import split, train
from seqray.util.errors import ArgumentError, FileError, SymbolError

ALPHABET = Alphabet("ab")
SMALL = {"sizes": (6, 9), "epochs": 4, "batch_size": 16, "learning_rate": 0.02}


@pytest.fixture(scope="module")
def words():
    """Words that alternate, mostly: easy to learn in part, never in full."""
    rng = np.random.default_rng(0)
    lines = []
    for n in rng.geometric(0.25, 150):
        flips = rng.random(n) < 0.1
        lines.append("".join("ab"[(i + f) % 2] for i, f in enumerate(flips)))
    return ALPHABET.words(lines)


def same_model(one, other):
    return one.fingerprint == other.fingerprint


def losses(history):
    return [(row.hidden, row.epoch, row.training, row.validation) for row in history]


def cross_entropy(model, words):
    return -np.log(model.weights(words)).sum() / (words.lengths.sum() + len(words))


class StopError(Exception):
    pass


def stop_after(n_epochs):
    seen = []

    def on_epoch(row):
        seen.append(row)
        if len(seen) == n_epochs:
            raise StopError

    return on_epoch


def test_the_best_size_and_epoch_is_kept(words):
    found = train(words, **SMALL)
    rows = [(row.hidden, row.epoch) for row in found.history]
    assert rows == [(size, epoch) for size in (6, 9) for epoch in (1, 2, 3, 4)]
    best = min(found.history, key=lambda row: row.validation)
    assert (found.hidden, found.epoch, found.validation) == best[:2] + best[3:4]
    _, held_out = split(words, None, 0.1, 0)
    assert cross_entropy(found.model, held_out) == pytest.approx(found.validation, rel=1e-5)
    assert found.model.layers[0].n_outputs == found.hidden
    assert (found.n_training, found.n_validation) == (135, 15)
    assert f"TrainedNetwork({found.hidden} units, epoch {found.epoch}" in repr(found)


def test_an_epoch_that_is_not_the_last_can_be_the_best(words):
    learnt, held_out = words[:20], words[20:]  # too few words: it overfits
    found = train(
        learnt, validation=held_out, sizes=[20], epochs=60, learning_rate=0.05, schedule="constant"
    )
    assert found.epoch < 60
    assert cross_entropy(found.model, held_out) == pytest.approx(found.validation, rel=1e-5)


def test_it_learns(words):
    found = train(words, sizes=[12], epochs=20, batch_size=16, learning_rate=0.02)
    uniform = math.log(3)
    assert found.validation < 0.7 * uniform
    follows = found.model.next_symbol(["a", "ab", "aba"])
    assert follows[:, :2].argmax(axis=1).tolist() == [1, 0, 1]


@pytest.mark.parametrize("cell", ["gru", "lstm", "tanh"])
def test_the_seed_decides_everything(words, cell):
    one, two, other = (
        train(words, cell=cell, sizes=[6], epochs=2, seed=seed) for seed in (0, 0, 1)
    )
    assert same_model(one.model, two.model)
    assert losses(one.history) == losses(two.history)
    assert losses(one.history) != losses(other.history)


def test_nobody_elses_random_numbers_or_threads_are_touched(words):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    train(words, sizes=[4], epochs=1, threads=2)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


def test_a_size_does_not_depend_on_the_others(words):
    both, alone = train(words, **SMALL), train(words, **SMALL | {"sizes": (9,)})
    assert losses(both.history)[4:] == losses(alone.history)


@pytest.mark.parametrize("n_epochs", [1, 3, 4, 5, 7, 8])
def test_after_a_break_it_ends_as_without_one(words, tmp_path, n_epochs):
    whole = train(words, **SMALL)
    path = tmp_path / "checkpoint"
    with pytest.raises(StopError):
        train(words, **SMALL, checkpoint=path, on_epoch=stop_after(n_epochs))
    rows = []
    resumed = train(words, **SMALL, checkpoint=path, on_epoch=rows.append)
    assert len(rows) == 8 - n_epochs
    assert same_model(whole.model, resumed.model)
    assert losses(whole.history) == losses(resumed.history)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint"]


def test_a_break_in_the_middle_of_an_epoch_loses_only_that_epoch(words, tmp_path):
    def interrupt(done, total):
        if done == total - 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(words, **SMALL, checkpoint=tmp_path / "c", progress=interrupt)
    steps = []
    resumed = train(
        words, **SMALL, checkpoint=tmp_path / "c", progress=lambda *at: steps.append(at)
    )
    assert same_model(resumed.model, train(words, **SMALL).model)
    assert steps[0] == (7 * 9 + 1, 8 * 9)
    assert steps[-1] == (8 * 9, 8 * 9)


def test_patience_ends_a_size_early_also_after_a_break(words, tmp_path):
    hasty = SMALL | {"epochs": 30, "learning_rate": 0.2, "patience": 2}
    found = train(words, **hasty)
    for size in (6, 9):
        rows = [row for row in found.history if row.hidden == size]
        best = min(rows, key=lambda row: row.validation)
        assert len(rows) == best.epoch + 2 < 30
    with pytest.raises(StopError):
        train(words, **hasty, checkpoint=tmp_path / "c", on_epoch=stop_after(5))
    assert losses(train(words, **hasty, checkpoint=tmp_path / "c").history) == losses(found.history)


def test_patience_is_on_unless_it_is_turned_off(words):
    hasty = {"sizes": [4], "epochs": 25, "learning_rate": 0.3, "schedule": "constant"}
    found = train(words, **hasty)
    assert len(found.history) == found.epoch + 10 < 25
    assert found.stop_reason is None
    whole = train(words, **hasty, patience=None)
    assert len(whole.history) == 25
    assert losses(whole.history)[: len(found.history)] == losses(found.history)


def test_a_time_limit_ends_it(words):
    found = train(words, **SMALL, time_limit=1e-9)
    assert (found.epoch, found.stop_reason) == (0, seqray.StopReason.TIME)


def test_an_event_ends_it(words):
    stop = threading.Event()
    found = train(words, **SMALL, stop=stop, on_epoch=lambda row: stop.set())
    assert [(row.hidden, row.epoch) for row in found.history] == [(6, 1)]
    assert found.stop_reason is seqray.StopReason.INTERRUPTED


def test_estimates_come_with_a_trial_of_each_size_and_change_nothing(words, monkeypatch):
    monkeypatch.setattr("seqray.training.reports.ESTIMATE_SECONDS", 0.0)
    estimates = []
    found = train(words, **SMALL, on_estimate=estimates.append)
    assert losses(found.history) == losses(train(words, **SMALL).history)
    assert (estimates[0].hidden, estimates[0].epoch) == (6, 1)
    assert estimates[0].seconds > estimates[0].seconds_left > 0
    assert (estimates[-1].hidden, estimates[-1].epoch, estimates[-1].share) == (9, 4, 1)
    assert estimates[-1].seconds_left == 0
    assert estimates[-1].seconds > sum(row.seconds for row in found.history[:-1])


def test_a_checkpoint_of_another_training_is_refused(words, tmp_path):
    path = tmp_path / "c"
    train(words, **SMALL, checkpoint=path)
    with pytest.raises(ArgumentError, match=r"another training .epochs was 4, is 5.: train as"):
        train(words, **SMALL | {"epochs": 5}, checkpoint=path)
    with pytest.raises(ArgumentError, match=r"training words was .*, is "):
        train(words[1:], validation=words[:1], **SMALL, checkpoint=path)


def test_a_damaged_checkpoint_is_refused(words, tmp_path):
    path = tmp_path / "c"
    train(words, **SMALL, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(FileError, match="not a checkpoint of seqray train, or damaged"):
        train(words, **SMALL, checkpoint=path)
    path.write_text("not at all")
    with pytest.raises(FileError, match="not a checkpoint of seqray train, or damaged"):
        train(words, **SMALL, checkpoint=path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, t: t.pop("exp_avg"), "expected the arrays weights, step, exp_avg, exp_avg_sq"),
        (lambda h, t: t.pop("best"), "damaged: it has no 'best'"),
        (lambda h, t: h["history"].clear(), "it has no history"),
        (lambda h, t: h.update(version=2), "written by a newer seqray"),
        (lambda h, t: h.update(format="other"), "expected a file in format 'seqray.training'"),
    ],
)
def test_a_checkpoint_that_lacks_something_is_refused(words, tmp_path, change, message):
    path = tmp_path / "c"
    train(words, sizes=[3], epochs=1, checkpoint=path)
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["seqray"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    del header["checksum"]
    change(header, tensors)
    path.write_bytes(save(tensors, {"seqray": json.dumps(header)}))
    with pytest.raises(FileError, match=message):
        train(words, sizes=[3], epochs=1, checkpoint=path)


def test_divergence_says_what_to_do(words):
    with pytest.raises(ArgumentError, match=r"diverged.*lower the learning rate, now 1e\+30"):
        train(words, sizes=[4], epochs=3, learning_rate=1e30, schedule="constant")


def test_too_few_words_are_refused():
    with pytest.raises(ArgumentError, match=r"at least two words.*got 1"):
        train(ALPHABET.words(["ab"]))
    with pytest.raises(ArgumentError, match="got 0 and 1"):
        train(ALPHABET.words([]), validation=["a"])
    with pytest.raises(ArgumentError, match="got 1 and 0"):
        train(ALPHABET.words(["a"]), validation=[])
    found = train(ALPHABET.words(["ab", "a"]), sizes=[2], epochs=1)
    assert (found.n_training, found.n_validation) == (1, 1)


def test_an_event_log_or_a_sample_counts_as_its_words(words):
    log = seqray.EventLog(words, tuple(map(str, range(len(words)))))
    trained = train(log, validation=seqray.Sample(words, 0), **SMALL)
    assert same_model(trained.model, train(words, validation=words, **SMALL).model)
    assert split(seqray.Sample(words, 0), None, 0.1, 0) == split(words, None, 0.1, 0)


def test_words_of_another_kind_are_refused(words):
    with pytest.raises(ArgumentError, match="expected Words, got list: read_words"):
        train(["ab", "a"])
    with pytest.raises(SymbolError, match="expected words over"):
        train(words, validation=Alphabet("abc").words(["a"]))
    with pytest.raises(SymbolError, match="symbol 'c' at position 2"):
        train(words, validation=["ac"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sizes": []}, "sizes: expected one or more, all different"),
        ({"sizes": [5, 5]}, "sizes: expected one or more, all different"),
        ({"sizes": [0]}, "sizes: expected a whole number from 1, got 0"),
        ({"epochs": 0}, "epochs: expected a whole number from 1"),
        ({"batch_size": 1.5}, "batch_size: expected a whole number from 1"),
        ({"time_limit": 0}, "time_limit: expected more than 0 seconds, got 0"),
        ({"stop": True}, "stop: expected a threading.Event, got True"),
        ({"patience": 0}, "patience: expected a whole number from 1"),
        ({"embedding": 0}, "embedding: expected a whole number from 1"),
        ({"seed": -1}, "seed: expected a whole number from 0"),
        ({"threads": 0}, "threads: expected a whole number from 1"),
        ({"learning_rate": 0}, "learning_rate: expected more than 0"),
        ({"clip": math.nan}, "clip: expected more than 0"),
        ({"cell": "grue"}, "cell: expected one of gru, lstm, tanh"),
        ({"schedule": "linear"}, "schedule: expected one of cosine, constant"),
        ({"validation_share": 1}, "validation_share: expected between 0 and 1"),
    ],
)
def test_settings_are_checked(words, wrong, message):
    with pytest.raises(ArgumentError, match=message):
        train(words, **{"sizes": [4], "epochs": 1} | wrong)


def test_it_is_a_public_name():
    assert seqray.train is train


def test_a_generator_as_seed_trains_as_the_number_it_gives(words):
    small = {"sizes": [6], "epochs": 1}
    one, other = (train(words, **small, seed=np.random.default_rng(7)).model for _ in range(2))
    number = int(np.random.default_rng(7).integers(2**31))
    assert same_model(one, other)
    assert same_model(one, train(words, **small, seed=number).model)


def test_a_bar_can_be_shown_and_changes_nothing(words, capsys):
    shown = train(words, sizes=[4], epochs=1, progress=True)
    assert same_model(shown.model, train(words, sizes=[4], epochs=1).model)
    assert capsys.readouterr().out == ""
