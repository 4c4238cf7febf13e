import numpy as np
import pytest

from keras_files import recurrent_layers, sequential, write_h5
from seqray.blackbox.frameworks.keras_h5 import read_network
from seqray.blackbox.frameworks.keras_layers import HARD_SIGMOID, Window, read_ids


def test_an_id_without_a_place_in_one_hot_vectors_is_refused():
    with pytest.raises(ValueError, match="id 4 has no place in one-hot vectors of 4"):
        read_ids(np.array([[1, 4]]), 4)


def test_ids_stay_ids_for_an_embedding():
    assert (read_ids(np.array([[1, 4]]), None) == [[1, 4]]).all()


def test_hard_sigmoids_have_the_slopes_of_their_versions():
    x = np.array([-3.0, -2.5, 0.0, 1.0, 2.5, 3.0])
    assert HARD_SIGMOID[True](x) == pytest.approx([0, 0, 0.5, 0.7, 1, 1])
    assert HARD_SIGMOID[False](x) == pytest.approx([0, 1 / 12, 0.5, 2 / 3, 11 / 12, 1])


@pytest.mark.parametrize(
    ("padding", "expected"),
    [
        ("valid", [[1, 2], [3, 4]]),
        ("same", [[1, 2], [3, 4], [5, 0]]),
        ("causal", [[0, 1], [2, 3], [4, 5]]),
    ],
)
def test_a_window_moves_along_time(padding, expected):
    values = np.arange(1.0, 6)[None, :, None]
    parts = list(Window(2, 2, 1, padding).parts(values, 0.0))
    assert np.stack(parts, axis=-1)[0, :, 0].tolist() == expected


def test_children_of_one_parent_are_as_if_stepped_alone(tmp_path):
    path = write_h5(tmp_path / "net.h5", sequential(*recurrent_layers()))
    network, _ = read_network(path)
    parents, ids = np.array([0, 0, 0, 0]), np.array([1, 2, 3, 1])
    scores, state = network.advance(network.begin()[1], parents, ids)
    again, _ = network.advance(state, np.array([2, 2, 0]), np.array([1, 3, 1]))
    whole = network.run(np.array([[3, 1], [3, 3], [1, 1]]), np.array([2, 2, 2]))
    assert again == pytest.approx(whole[:, -1], abs=1e-6)
    assert (scores[0] == scores[3]).all()
