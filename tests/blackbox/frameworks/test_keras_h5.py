import json
import os
import subprocess
import sys

import numpy as np
import pytest

from keras_files import (
    CARD,
    functional,
    h5_sequences,
    h5_steps,
    layer,
    recurrent_arrays,
    recurrent_layers,
    sequential,
    write_h5,
)
from seqray import open_black_box
from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card, card_path
from seqray.blackbox.frameworks.keras_h5 import read_network
from seqray.blackbox.frameworks.stepped import SteppedBox, SteppedModel
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.errors import FileError, MissingFileError

h5py = pytest.importorskip("h5py")

WORDS = ["", "a", "c", "ab", "bca", "abcabcab"]
LENGTHS = np.array([4])


def stepped_outputs(network, ids):
    """Return the outputs of a network that is stepped from id to id."""
    state, rows = network.begin()[1], []
    for number in ids:
        scores, state = network.advance(state, np.zeros(1, int), np.array([number]))
        rows.append(scores[0])
    return np.array(rows)


# The same numbers as Keras 2 ------------------------------------------------------------------

KERAS_2_OUTPUTS = {
    ("LSTM", ("recurrent_activation", "hard_sigmoid")): [
        [-1.040887, -0.413932],
        [-0.954527, -0.280780],
        [-0.954527, -0.280780],
        [-0.912459, -0.352968],
    ],
    ("GRU", ("recurrent_activation", "hard_sigmoid")): [
        [-1.747052, -0.977393],
        [-1.514407, -1.006675],
        [-1.514407, -1.006675],
        [-1.903350, -1.308370],
    ],
    ("GRU", ("reset_after", True)): [
        [-1.447182, -0.767670],
        [-0.989388, -0.463425],
        [-0.989388, -0.463425],
        [-1.493677, -0.877016],
    ],
    ("SimpleRNN", ("activation", "tanh")): [
        [-1.716804, -1.258833],
        [-1.583494, -1.108313],
        [-1.583494, -1.108313],
        [-1.767351, -1.337296],
    ],
}
"""What Keras 2.15 on TensorFlow answers to the ids 1, 2, 0, 3, of which 0 is masked."""


@pytest.mark.parametrize("case", KERAS_2_OUTPUTS, ids=str)
def test_outputs_are_those_of_keras_2(tmp_path, case):
    kind, (name, value) = case
    layers = recurrent_layers(kind, 2, mask_zero=True, **{name: value})
    arrays = recurrent_arrays(kind, 2, reset_after=name == "reset_after")
    network, length = read_network(write_h5(tmp_path / "net.h5", sequential(*layers), arrays))
    assert length is None
    expected = pytest.approx(np.array(KERAS_2_OUTPUTS[case]), abs=1e-6)
    assert network.run(np.array([[1, 2, 0, 3]]), LENGTHS)[0] == expected
    assert stepped_outputs(network, [1, 2, 0, 3]) == expected


def test_the_hard_sigmoid_of_keras_3_is_another(tmp_path):
    layers = recurrent_layers(recurrent_activation="hard_sigmoid")
    outputs = [
        read_network(write_h5(tmp_path / "net.h5", sequential(*layers), version=version))[0].run(
            np.array([[1, 2, 3, 3]]), LENGTHS
        )
        for version in ("2.8.0", "2.2.4-tf", "3.15.0")
    ]
    assert (outputs[0] == outputs[1]).all()
    assert np.abs(outputs[0] - outputs[2]).max() > 0.01


def test_a_functional_model_is_the_same_chain(tmp_path):
    first, *others = recurrent_layers()
    input_layer = layer("InputLayer", "ids", batch_input_shape=[None, None])
    chain = functional(input_layer, first, *others)
    networks = [
        read_network(write_h5(tmp_path / "net.h5", each))[0]
        for each in (sequential(first, *others), chain)
    ]
    ids = np.array([[1, 2, 0, 3]])
    one, two = (network.run(ids, LENGTHS) for network in networks)
    assert (one == two).all()


def test_a_published_model_of_dna_is_read(data):
    path = data / "cases" / "tata_lstm.h5"
    if not path.is_file():
        pytest.skip(f"no model at {path}: SEQRAY_DATA names the folder that has it")
    network, length = read_network(path)
    assert length is None
    assert network.is_steppable
    # What Keras 2.15 on TensorFlow answers to 0 alone, the padding in front.
    rows = network.run(np.array([[0]]), np.array([1]))
    assert rows == pytest.approx(np.array([[0.3782, 0.07909, 0.09636, 0.44501, 0.00135]]), abs=1e-5)


# Boxes ----------------------------------------------------------------------------------------


def test_recurrent_layers_are_stepped(tmp_path):
    box = h5_steps(tmp_path)
    assert isinstance(box, SteppedModel)
    assert box.fingerprint.startswith("keras net.h5 ")


def test_layers_that_need_the_whole_word_are_queried_for_it(tmp_path):
    assert isinstance(h5_sequences(tmp_path), QueriedModel)


@pytest.mark.parametrize("name", ["net.h5", "net.hdf5"])
def test_the_registry_opens_a_path_alone(tmp_path, name):
    path = write_h5(tmp_path / name)
    weights = [open_black_box(spec).weights(WORDS) for spec in (str(path), f"keras:{path}")]
    assert (weights[0] == weights[1]).all()


def test_keras_is_not_needed(tmp_path):
    path = write_h5(tmp_path / "net.h5")
    code = (
        "import sys; sys.modules['keras'] = None; import seqray; "
        f"print(seqray.open_black_box({str(path)!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("SteppedModel(the keras model ")


def fixed_length(length, **fields):
    first, *others = recurrent_layers(n_outputs=1, **fields)
    return sequential(layer("InputLayer", "ids", batch_input_shape=[None, length]), first, *others)


def value_card(**fields):
    return Card(Alphabet("abc"), "value", ids=[1, 2, 3], empty=0.0, **fields)


def test_a_model_of_a_fixed_length_whose_last_output_counts_is_filled_up(tmp_path):
    model, arrays = fixed_length(6, return_sequences=False), recurrent_arrays(n_outputs=1)
    path = write_h5(tmp_path / "net.h5", model, arrays, card=value_card(pad=0))
    box, (network, length) = open_black_box(path), read_network(path)
    assert isinstance(box, QueriedBox)
    assert length == box.max_length == 6
    filled = network.run(np.array([[1, 2, 0, 0, 0, 0]]), LENGTHS)[0]
    assert box.weights(["ab"]) == pytest.approx(filled)


def test_such_a_model_is_stepped_where_its_card_has_no_pad(tmp_path):
    model, arrays = fixed_length(6, return_sequences=False), recurrent_arrays(n_outputs=1)
    box = open_black_box(write_h5(tmp_path / "net.h5", model, arrays, card=value_card()))
    assert isinstance(box, SteppedBox)


def test_ids_are_read_as_one_hot_vectors_or_as_numbers(tmp_path):
    for n_features in (3, 1):
        _, rnn, dense = recurrent_layers(batch_input_shape=[None, None, n_features])
        arrays = {k: a for k, a in recurrent_arrays().items() if "embedding" not in k}
        arrays["rnn/rnn/cell/kernel:0"] = arrays["rnn/rnn/cell/kernel:0"][:n_features]
        network, _ = read_network(write_h5(tmp_path / "net.h5", sequential(rnn, dense), arrays))
        ids = np.array([[1, 2, 0, 2]])
        assert network.run(ids, LENGTHS)[0] == pytest.approx(stepped_outputs(network, ids[0]))


# Files that cannot be used --------------------------------------------------------------------


def refused(path, match):
    with pytest.raises(FileError, match=match) as caught:
        open_black_box(path)
    return str(caught.value)


def test_a_missing_model_and_a_missing_card_are_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"no\.h5: there is no such file"):
        open_black_box(tmp_path / "no.h5")
    path = write_h5(tmp_path / "net.h5")
    card_path(path).unlink()
    with pytest.raises(MissingFileError, match=r"its card .*net\.seqray\.json is missing"):
        open_black_box(path)


def test_a_file_of_weights_alone_is_refused(tmp_path):
    path = write_h5(tmp_path / "net.h5")
    with h5py.File(path, "a") as file:
        del file.attrs["model_config"]
    refused(path, r"net\.h5: has no model_config: expected a whole model, .* not weights alone")


def test_a_layer_that_is_unknown_is_named_with_what_to_do(tmp_path):
    model = sequential(*recurrent_layers(), layer("Lambda", "mine", function=["4wAAAA", None]))
    message = refused(
        write_h5(tmp_path / "net.h5", model), r"layer 'mine' \(Lambda\): seqray reads"
    )
    assert message.endswith("pass the model to seqray.keras_box or write model.save('model.keras')")


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x89HDF\r\n\x1a\n" + 600 * b"\xff"])
def test_a_file_of_another_form_is_refused(tmp_path, content):
    path = write_h5(tmp_path / "net.h5")
    path.write_bytes(content)
    refused(path, r"net\.h5: (expected an HDF5 file|written in a newer form of HDF5)")


def test_a_folder_is_refused(tmp_path):
    folder = tmp_path / "net.h5"
    folder.mkdir()
    CARD.save(card_path(folder))
    refused(folder, r"net\.h5: a folder: expected a file")


def test_a_damaged_file_is_an_error_that_names_it(tmp_path):
    path = write_h5(tmp_path / "net.h5")
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    messages = []
    for i in range(60):
        damaged = bytearray(whole[: rng.integers(len(whole))] if i % 3 == 0 else whole)
        for at in rng.integers(max(1, len(damaged)), size=8):
            damaged[at : at + 1] = bytes([rng.integers(256)])
        path.write_bytes(damaged)
        try:
            read_network(path)
        except FileError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert all(message.startswith(str(path)) for message in messages)


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"class_name": "Bert"}', "[" * 100_000])
def test_a_damaged_configuration_is_refused(tmp_path, text):
    path = write_h5(tmp_path / "net.h5")
    with h5py.File(path, "a") as file:
        del file.attrs["model_config"]
        file.attrs["model_config"] = text
    refused(path, r"net\.h5: ")


def replaced(path, name, make):
    """Replace an array in a file by what ``make`` puts there."""
    with h5py.File(path, "a") as file:
        group = file["model_weights"]
        del group[name]
        make(group, name)
    return path


KERNEL = "dense/dense/kernel:0"


def external_link(group, name):
    group[name] = h5py.ExternalLink("other.h5", "/model_weights/" + name)


def soft_link(group, name):
    group[name] = h5py.SoftLink("/model_weights/dense/dense/bias:0")


def virtual(group, name):
    layout = h5py.VirtualLayout((3, 4), "f4")
    layout[:] = h5py.VirtualSource("other.h5", "/model_weights/" + name, (3, 4))
    group.create_virtual_dataset(name, layout)


def external_storage(group, name):
    group.create_dataset(name, (3, 4), "f4", external=[("other.bin", 0, 48)])


def packed(group, name):
    group.create_dataset(name, data=np.zeros((3, 4)), compression="gzip")


def huge(group, name):
    group.create_dataset(name, (2**40, 4), "f4", chunks=(1024, 4))


def text(group, name):
    group[name] = [["x"] * 4] * 3


def not_finite(group, name):
    group[name] = np.full((3, 4), np.nan)


def circle(group, name):
    group[name.rpartition("/")[0]]["round"] = group["dense"]


def other_shape(group, name):
    group[name] = np.zeros((2, 4))


def nothing(group, name):
    pass


HOSTILE = {
    external_link: "dense: expected an array, or a group without links",
    soft_link: "kernel:0 is a link to another place: expected it in the file itself",
    virtual: "in pieces or elsewhere: expected a plain array|newer form of HDF5",
    external_storage: "kernel:0 is stored in another file",
    packed: "kernel:0 is packed: expected a plain array",
    huge: "in pieces or elsewhere: expected a plain array",
    text: "kernel:0: expected floating-point numbers",
    not_finite: "kernel:0: expected finite numbers",
    circle: "nested too deep",
    other_shape: r"layer 'dense' \(Dense\): kernel: expected shape \(3, any\), got \(2, 4\)",
    nothing: r"layer 'dense' \(Dense\): has 0 arrays of the name 'kernel': expected one",
}


@pytest.mark.parametrize("make", HOSTILE)
def test_only_plain_arrays_in_the_file_itself_are_read(tmp_path, make):
    write_h5(tmp_path / "other.h5")
    (tmp_path / "other.bin").write_bytes(bytes(48))
    refused(replaced(write_h5(tmp_path / "net.h5"), KERNEL, make), HOSTILE[make])


def test_arrays_that_share_their_place_in_the_file_are_counted_once_each(tmp_path):
    """Many names for one array would make a small file a large network."""
    path = write_h5(tmp_path / "net.h5")
    with h5py.File(path, "a") as file:
        file["big"] = np.zeros((3, os.path.getsize(path)), np.float32)
        for name in ("embedding/embedding/embeddings:0", KERNEL, "rnn/rnn/cell/kernel:0"):
            del file["model_weights"][name]
            file["model_weights"][name] = file["big"]
    refused(path, "more than is in the file|expected shape")


def test_the_configuration_may_not_be_a_list_of_texts(tmp_path):
    path = write_h5(tmp_path / "net.h5")
    with h5py.File(path, "a") as file:
        del file.attrs["model_config"]
        file.attrs["model_config"] = [json.dumps({})] * 3
    refused(path, r"model_config: expected one text, got shape \(3,\)")
