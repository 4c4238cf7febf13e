import pytest

from keras_files import functional, layer, sequential
from seqray.blackbox.frameworks.keras_config import read_model
from seqray.util.errors import FileError

IDS = layer("InputLayer", "ids", batch_input_shape=[None, 82])
EMBEDDING, RNN = layer("Embedding", "embedding"), layer("LSTM", "lstm", units=3)


def names(model):
    return [each.name for each in read_model(model).layers]


def keras_3(first, second):
    """Return a functional model in the form of Keras 3."""
    tensor = {"class_name": "__keras_tensor__", "config": {"keras_history": ["ids", 0, 0]}}
    nodes = [
        {**first, "name": "ids", "inbound_nodes": []},
        {**second, "name": "lstm", "inbound_nodes": [{"args": [tensor], "kwargs": {"mask": None}}]},
    ]
    ends = {"input_layers": ["ids", 0, 0], "output_layers": ["lstm", 0, 0]}
    return {"class_name": "Functional", "config": {"layers": nodes, **ends}}


def test_layers_are_in_their_order_without_the_input():
    assert names(sequential(IDS, EMBEDDING, RNN)) == ["embedding", "lstm"]
    assert names(functional(IDS, EMBEDDING, RNN)) == ["embedding", "lstm"]
    assert names(keras_3(IDS, RNN)) == ["lstm"]


def test_the_order_in_a_file_does_not_matter():
    model = functional(IDS, EMBEDDING, RNN)
    model["config"]["layers"].reverse()
    assert names(model) == ["embedding", "lstm"]


def test_the_oldest_sequential_models_are_lists():
    model = {"class_name": "Sequential", "config": [EMBEDDING, RNN]}
    assert names(model) == ["embedding", "lstm"]
    assert read_model(model).shape == (None, None)


@pytest.mark.parametrize("key", ["batch_input_shape", "batch_shape"])
def test_the_shape_of_the_input_is_known(key):
    first = layer("InputLayer", "ids", **{key: [None, 82]})
    assert read_model(sequential(first, EMBEDDING)).shape == (None, 82)


def test_a_layer_with_two_inputs_is_refused():
    model = functional(IDS, EMBEDDING, RNN)
    model["config"]["layers"][2]["inbound_nodes"][0].append(["ids", 0, 0, {}])
    with pytest.raises(FileError, match=r"'lstm' \(LSTM\): reads 2 layers: expected one"):
        read_model(model)


def test_a_layer_that_is_used_twice_is_refused():
    model = functional(IDS, EMBEDDING, RNN)
    model["config"]["layers"][2]["inbound_nodes"] *= 2
    with pytest.raises(FileError, match="is used 2 times: expected once"):
        read_model(model)


def test_a_state_that_is_given_is_refused():
    model = functional(IDS, EMBEDDING, RNN)
    model["config"]["layers"][2]["inbound_nodes"][0][0][3] = {"initial_state": [["ids", 0, 0]]}
    with pytest.raises(FileError, match="is called with initial_state"):
        read_model(model)


def test_a_circle_is_refused():
    model = functional(IDS, EMBEDDING, RNN)
    model["config"]["layers"][1]["inbound_nodes"] = [[["lstm", 0, 0, {}]]]
    with pytest.raises(FileError, match="damaged: its layers lead to"):
        read_model(model)


def test_layers_of_other_packages_are_refused():
    foreign = {**RNN, "module": "os", "registered_name": "mine>LSTM"}
    with pytest.raises(FileError, match="is of the class 'LSTM' of 'os': expected Keras's"):
        read_model(sequential(EMBEDDING, foreign))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (None, "expected an object"),
        ({"class_name": "MyModel", "config": {}}, "holds a 'MyModel': expected a Sequential"),
        (sequential(), "has no layers|list"),
        (sequential(IDS), "has no layers"),
        (sequential(EMBEDDING, EMBEDDING), "two layers have one name"),
        (sequential(EMBEDDING, {"class_name": "LSTM"}), "expected an object"),
        (sequential(EMBEDDING, layer("LSTM", 3)), "has the name 3"),
        (sequential(EMBEDDING, IDS), "has several inputs"),
        (
            sequential(layer("Dense", "d", batch_input_shape=[None, 10**9])),
            "sizes from 1 to 65,536",
        ),
        (sequential(layer("Dense", "d", batch_input_shape="x")), "expected a list"),
    ],
)
def test_other_documents_are_refused(model, message):
    with pytest.raises(FileError, match=message):
        read_model(model)
