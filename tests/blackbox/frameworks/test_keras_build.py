"""Every layer computes what Keras computes: models are built, saved and run by Keras itself."""

import numpy as np
import pytest

from keras_files import layer, recurrent_arrays, recurrent_layers, sequential, write_h5
from same_gru.keras import import_keras
from seqray.blackbox.frameworks.keras_h5 import read_network
from seqray.util.errors import FileError

keras = import_keras()
pytestmark = pytest.mark.filterwarnings("ignore")  # Keras makes NumPy complain when it saves
layers = keras.layers

IDS = np.array(
    [[1, 2, 3, 4, 5, 1, 2, 3, 4], [5, 0, 3, 3, 0, 1, 0, 2, 0], [0, 0, 1, 5, 2, 4, 4, 1, 3]]
)
CELLS = ("SimpleRNN", "GRU", "LSTM")
ACTIVATIONS = "relu relu6 sigmoid softmax elu selu softplus softsign exponential silu log_softmax"


def embedded(*others, length=None, **fields):
    ids = keras.Input((length,), dtype="int32")
    return keras.Sequential([ids, layers.Embedding(6, 5, **fields), *others])


def with_features(n, *others):
    return keras.Sequential([keras.Input((None, n)), *others])


def functional():
    ids = keras.Input((None,), dtype="int32")
    x = layers.BatchNormalization()(layers.LSTM(4)(layers.Embedding(6, 5)(ids)))
    return keras.Model(ids, layers.Dense(3)(x))


def both(kind, merge_mode, **fields):
    make = getattr(layers, kind)
    first = layers.Bidirectional(make(4, return_sequences=True), merge_mode=merge_mode)
    return embedded(first, layers.Bidirectional(make(3), merge_mode=merge_mode), **fields)


def recurrent_models(kind):
    make = getattr(layers, kind)
    dense = layers.Dense(3)
    gates = {} if kind == "SimpleRNN" else {"recurrent_activation": "hard_sigmoid"}
    yield "last", embedded(make(4), layers.Dense(3, activation="softmax"))
    yield "every", embedded(make(4, return_sequences=True), layers.TimeDistributed(dense))
    yield "no bias", embedded(make(4, use_bias=False), layers.Dense(3, use_bias=False))
    yield "hard", embedded(make(4, activation="relu", **gates), layers.Dense(3))
    yield "one-hot", with_features(6, make(4, dropout=0.5), layers.Dense(3))
    yield "numbers", with_features(1, layers.Masking(0.0), make(4), layers.Dense(3))
    yield (
        "backwards",
        embedded(make(4, go_backwards=True, return_sequences=True), make(3)),
    )
    masked = [make(4, return_sequences=True), layers.Dropout(0.5), make(3, return_sequences=True)]
    yield "masked", embedded(*masked, mask_zero=True)
    yield "both", both(kind, "concat", mask_zero=True)
    yield "both, summed", both(kind, "sum")


def other_models():
    yield (
        "GRU, reset before",
        embedded(
            layers.GRU(4, reset_after=False, return_sequences=True),
            layers.GRU(3, reset_after=False, use_bias=False),
        ),
    )
    for name in ACTIVATIONS.split():
        yield name, embedded(layers.LSTM(4, return_sequences=True), layers.Activation(name))
    yield (
        "advanced",
        embedded(
            layers.LSTM(4, return_sequences=True),
            layers.LeakyReLU(0.1),
            layers.Dense(6),
            layers.ELU(0.7),
            layers.Dense(5),
            layers.ReLU(max_value=1.0, negative_slope=0.2),
            layers.BatchNormalization(),
            layers.LayerNormalization(),
            layers.SpatialDropout1D(0.2),
            layers.Softmax(),
        ),
    )
    yield "functional", functional()
    yield "products of both", both("LSTM", "mul")
    yield "means of both", both("GRU", "ave")
    yield (
        "convolution",
        embedded(
            layers.Conv1D(8, 3, padding="same", activation="relu"),
            layers.MaxPooling1D(2, padding="same"),
            layers.LSTM(4),
            layers.Dense(1, activation="sigmoid"),
            length=9,
        ),
    )
    yield (
        "causal",
        embedded(
            layers.Conv1D(8, 3, padding="causal", dilation_rate=2),
            layers.Conv1D(8, 2, strides=2, use_bias=False),
            layers.AveragePooling1D(2, padding="same"),
            layers.Flatten(),
            layers.Dense(3),
            length=9,
        ),
    )
    yield (
        "mean over time",
        embedded(
            layers.LSTM(4, return_sequences=True), layers.GlobalAveragePooling1D(), mask_zero=True
        ),
    )
    yield "unmasked mean", embedded(layers.GlobalAveragePooling1D(), layers.Dense(3))
    yield "largest", embedded(layers.GlobalMaxPooling1D(), layers.Dense(3))


MODELS = {
    **{f"{kind}, {name}": model for kind in CELLS for name, model in recurrent_models(kind)},
    **dict(other_models()),
}


def filled(model):
    """Give a model weights that make a difference, also where Keras begins with zeros."""
    rng = np.random.default_rng(0)
    model.set_weights(
        [rng.uniform(0.2, 1, w.shape) - 0.5 * (w.ndim > 1) for w in model.get_weights()]
    )
    return model


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_keras(tmp_path, name):
    model = filled(MODELS[name])
    path = tmp_path / "net.h5"
    model.save(path)
    network, _ = read_network(path)
    shown = IDS if len(model.input_shape) == 2 else np.eye(6, dtype=np.float32)[IDS]
    if model.input_shape[-1] == 1:
        shown = IDS[..., None].astype(np.float32)
    expected = model(shown, training=False).detach().cpu().numpy()
    outputs = network.run(IDS, np.full(len(IDS), 9))
    assert outputs.dtype == np.float32
    assert outputs == pytest.approx(expected, abs=1e-6, rel=1e-6)
    if network.is_steppable:
        assert stepped(network) == pytest.approx(
            expected if expected.ndim == 2 else expected[:, -1], abs=1e-6, rel=1e-6
        )


def stepped(network):
    """Return the outputs at the last position, read id by id."""
    (_, state), parents = network.begin(), np.zeros(len(IDS), int)
    for ids in IDS.T:
        scores, state = network.advance(state, parents, ids)
        parents = np.arange(len(IDS))
    return scores


def test_what_can_be_read_id_by_id_is_known(tmp_path):
    steppable = {}
    for name in ("LSTM, last", "LSTM, masked", "LSTM, backwards", "LSTM, both", "convolution"):
        MODELS[name].save(tmp_path / "net.h5")
        steppable[name] = read_network(tmp_path / "net.h5")[0].is_steppable
    assert [name for name, is_fine in steppable.items() if is_fine] == [
        "LSTM, last",
        "LSTM, masked",
    ]


# What cannot be read --------------------------------------------------------------------------

EMBEDDING, RNN, DENSE = recurrent_layers()


def changed(node, **fields):
    return {**node, "config": {**node["config"], **fields}}


REFUSED = {
    "return_state is True": [EMBEDDING, changed(RNN, return_state=True), DENSE],
    "time_major is True": [EMBEDDING, changed(RNN, time_major=True), DENSE],
    "activation: expected one of linear, .*, got 'mine'": [
        EMBEDDING,
        changed(RNN, activation="mine"),
        DENSE,
    ],
    "use_bias: expected true or false, got 'yes'": [
        EMBEDDING,
        RNN,
        changed(DENSE, use_bias="yes"),
    ],
    "reads one vector per word": [EMBEDDING, changed(RNN, return_sequences=False), RNN],
    "its first layer is Dense and reads shape": [changed(DENSE, batch_input_shape=[None, 7])],
    "expected an input of known shape": [changed(DENSE)],
    "merge_mode: expected one of concat": [
        EMBEDDING,
        layer("Bidirectional", "rnn", layer=RNN, merge_mode=None),
    ],
    "holds a layer Dense: expected one of SimpleRNN": [
        EMBEDDING,
        layer("Bidirectional", "rnn", layer=DENSE),
    ],
    "holds a layer LSTM: expected one of Activation": [
        EMBEDDING,
        layer("TimeDistributed", "rnn", layer=RNN),
    ],
    "axis is 1, which seqray cannot compute": [EMBEDDING, RNN, layer("Softmax", "s", axis=1)],
    "pool_size: expected a whole number from 1 to 4,096, got 1000000": [
        EMBEDDING,
        layer("MaxPooling1D", "pool", pool_size=10**6),
    ],
    r"\(GRU\): kernel: expected shape \(3, 9\), got \(3, 12\)": [
        EMBEDDING,
        {**RNN, "class_name": "GRU"},
    ],
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_layer_that_cannot_be_computed_is_refused(tmp_path, message):
    nodes = [changed(node, name=node["config"]["name"]) for node in REFUSED[message]]
    if message.startswith("reads one vector"):
        nodes[-1] = changed(nodes[-1], name="second")
    path = write_h5(tmp_path / "net.h5", sequential(*nodes), recurrent_arrays())
    with pytest.raises(FileError, match=message):
        read_network(path)
