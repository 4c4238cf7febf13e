import numpy as np
import pytest

from seqray import Alphabet, ArgumentError, FileError
from seqray.training.checkpoint import ARRAYS, Checkpoint, Epoch, digest

PURPOSE = {"seed": 0, "hidden": (3, 5)}


def checkpoint():
    state = {name: np.arange(4, dtype=np.float32) for name in ARRAYS}
    history = (Epoch(3, 0, 1.5, 1.25, 0.5), Epoch(3, 1, 1.0, 1.125, 0.5))
    return Checkpoint(history, state, np.ones(4, np.float32))


def test_a_checkpoint_comes_back_as_it_was(tmp_path):
    checkpoint().save(tmp_path / "a", PURPOSE)
    again = Checkpoint.load(tmp_path / "a", PURPOSE)
    assert again.history == checkpoint().history
    assert (again.best == checkpoint().best).all()
    assert {name: array.tolist() for name, array in again.state.items()} == {
        name: array.tolist() for name, array in checkpoint().state.items()
    }


def test_without_a_file_there_is_no_checkpoint(tmp_path):
    assert Checkpoint.load(tmp_path / "a", PURPOSE) is None


def test_the_checkpoint_of_another_training_is_refused_with_the_difference(tmp_path):
    checkpoint().save(tmp_path / "a", PURPOSE)
    with pytest.raises(ArgumentError, match="seed was 0, is 1"):
        Checkpoint.load(tmp_path / "a", {**PURPOSE, "seed": 1})


def test_a_damaged_file_is_refused(tmp_path):
    checkpoint().save(tmp_path / "a", PURPOSE)
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:50])
    with pytest.raises(FileError):
        Checkpoint.load(tmp_path / "a", PURPOSE)


def test_other_words_have_another_digest():
    words = Alphabet("ab").words
    digests = {digest(words(some)) for some in (["a"], ["b"], ["a", ""], ["", "a"])}
    assert len(digests) == 4
    assert digest(words(["a"])) == digest(words(["a"]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"history": (Epoch(3, 0, "1.5", 1.25, 0.5),)}, "expected epochs of numbers"),
        ({"history": (Epoch(3, 0.5, 1.5, 1.25, 0.5),)}, "expected epochs of numbers"),
        ({"best": np.ones((2, 2), np.float32)}, r"best has .* shape \(2, 2\)"),
        ({"best": np.ones(4, np.int64)}, "best has type int64"),
    ],
)
def test_what_does_not_fit_the_weights_is_refused(tmp_path, changes, message):
    checkpoint()._replace(**changes).save(tmp_path / "a", PURPOSE)
    with pytest.raises(FileError, match=message):
        Checkpoint.load(tmp_path / "a", PURPOSE)
