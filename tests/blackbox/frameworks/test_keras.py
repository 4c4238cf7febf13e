import json
import os
import subprocess
import sys
import warnings
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from page_commands import DOCS, run_page_commands
from pages import blocks, run_example
from same_gru import assert_same_as_native
from same_gru.keras import (
    gru_model,
    import_keras,
    keras_sequences,
    keras_steps,
    save_model,
)
from same_gru.torch import CARD
from seqray import open_black_box
from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card, card_path
from seqray.blackbox.frameworks import keras as adapter
from seqray.blackbox.frameworks.keras import keras_box, open_keras
from seqray.blackbox.frameworks.stepped import SteppedBox, SteppedModel
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.errors import (
    ArgumentError,
    BlackBoxError,
    FileError,
    MissingExtraError,
    MissingFileError,
)

keras = import_keras()
layers = keras.layers

WORDS = ["", "a", "c", "ab", "bca", "abcabcab"]
VALUE = Card(Alphabet("abc"), "value", start=3)
IDS = keras.Input((None,), dtype="int32")


@pytest.fixture(autouse=True)
def seed():
    keras.utils.set_random_seed(0)


def values_of_whole_words(model, card=VALUE):
    """Return what a model says when it reads every word from its beginning."""
    values = []
    for word in WORDS:
        ids = card.of_words(card.alphabet.words([word]))
        scores = model(ids, training=False).detach().cpu().numpy()
        values.append(scores.reshape(-1, scores.shape[-1])[-1, 0])
    return np.array(values)


# The same network -----------------------------------------------------------------------------


def test_a_chain_of_layers_is_stepped(tmp_path):
    box = keras_steps(tmp_path)
    assert isinstance(box, SteppedModel)
    assert_same_as_native(box, WORDS)


def test_another_model_reads_whole_sequences(tmp_path):
    box = keras_sequences(tmp_path)
    assert isinstance(box, QueriedModel)
    assert_same_as_native(box, WORDS)


def test_the_registry_opens_them(tmp_path):
    path = save_model(gru_model(), tmp_path / "gru.keras")
    for box in (open_black_box(f"keras:{path}"), open_black_box(path, batch_size=100)):
        assert_same_as_native(box, WORDS)


def test_a_model_in_memory_will_do():
    box = keras_box(gru_model(), CARD, name="mine")
    assert box.fingerprint == "mine"
    assert_same_as_native(box, WORDS)


def test_no_gradients_are_recorded():
    box = keras_box(gru_model(), CARD)
    if keras.backend.backend() == "torch":
        states = box.step(box.start(), np.zeros(1, np.int64), np.zeros(1, np.int64))
        assert not any(array.requires_grad for own in states.inner for array in own)


def test_the_fingerprint_is_that_of_model_and_card(tmp_path):
    path = save_model(gru_model(), tmp_path / "gru.keras")
    before = open_keras(path).fingerprint
    assert open_keras(path).fingerprint == before
    replace(CARD, renormalise=False).save(card_path(path))
    assert open_keras(path).fingerprint != before


# Which models have states ---------------------------------------------------------------------


def sequential(*parts, inputs=(None,)):
    return keras.Sequential([keras.Input(inputs, dtype="int32"), *parts])


def functional(*parts):
    x = ids = keras.Input((None,), dtype="int32")
    for part in parts:
        x = part(x)
    return keras.Model(ids, x)


def embedded(*parts):
    return layers.Embedding(4, 3), *parts


CHAINS = {
    "lstm": lambda: sequential(*embedded(layers.LSTM(5), layers.Dense(1))),
    "simple": lambda: functional(*embedded(layers.SimpleRNN(5), layers.Dense(1))),
    "gru": lambda: functional(*embedded(layers.GRU(5, reset_after=False), layers.Dense(2))),
    "deep": lambda: sequential(
        *embedded(
            layers.SpatialDropout1D(0.5),
            layers.LSTM(5, return_sequences=True, dropout=0.5, recurrent_dropout=0.5),
            layers.BatchNormalization(),
            layers.LayerNormalization(),
            layers.GRU(4, return_sequences=True),
            layers.TimeDistributed(layers.Dense(3, activation="tanh")),
            layers.Dropout(0.5),
            layers.Activation("relu"),
            layers.Dense(2),
            layers.Softmax(),
        )
    ),
    "cells": lambda: functional(
        *embedded(layers.RNN([layers.LSTMCell(4), layers.GRUCell(3)]), layers.Dense(1))
    ),
    "one-hot": lambda: sequential(layers.GRU(4), layers.Dense(1), inputs=(None, 4)),
    "padding that is no symbol": lambda: sequential(
        layers.Embedding(5, 3, mask_zero=True), layers.GRU(4), layers.Dense(1)
    ),
    "of fixed length": lambda: sequential(*embedded(layers.GRU(4), layers.Dense(1)), inputs=(20,)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_of_recurrent_layers_are_stepped(name):
    model, card = CHAINS[name](), VALUE
    if name == "padding that is no symbol":
        card = replace(VALUE, ids=(1, 2, 3), start=4)
    box = keras_box(model, card)
    assert type(box) is SteppedBox
    if name == "one-hot":
        expected = values_of_whole_words(lambda ids, training: model(np.eye(4)[ids]))
    else:
        expected = values_of_whole_words(model, card)
    np.testing.assert_allclose(box.weights(WORDS), expected, rtol=1e-4, atol=1e-6)


def test_a_layer_that_remembers_between_calls_is_stepped_from_zero():
    batched = keras.Input((None,), batch_size=2, dtype="int32")
    recurrent, dense = layers.GRU(4, stateful=True), layers.Dense(1)
    parts = embedded(recurrent, dense)
    x = batched
    for part in parts:
        x = part(x)
    box = keras_box(keras.Model(batched, x), VALUE)
    before = box.weights(WORDS)
    np.testing.assert_array_equal(box.weights(WORDS), before)
    plain = layers.GRU(4)
    plain.build((None, None, 3))
    for own, other in zip(plain.cell.weights, recurrent.cell.weights, strict=True):
        own.assign(other.value)
    expected = values_of_whole_words(lambda ids, training: dense(plain(parts[0](ids))))
    np.testing.assert_allclose(before, expected, rtol=1e-5, atol=1e-7)


class Doubled(layers.Dense):
    def call(self, inputs):
        return 2 * super().call(inputs)


def with_two_paths(ids):
    x = layers.Embedding(4, 3)(ids)
    return layers.add([layers.GRU(3)(x), layers.GRU(3)(x)])


class ByHand(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding, self.gru = layers.Embedding(4, 3), layers.GRU(3)

    def call(self, ids):
        return self.gru(self.embedding(ids))


OTHERS = {
    "bidirectional": lambda: sequential(
        *embedded(layers.Bidirectional(layers.GRU(3)), layers.Dense(1))
    ),
    "backwards": lambda: sequential(*embedded(layers.GRU(3, go_backwards=True), layers.Dense(1))),
    "pooled": lambda: sequential(
        *embedded(layers.GRU(3, return_sequences=True), layers.GlobalMaxPooling1D())
    ),
    "not along the last axis": lambda: sequential(
        *embedded(layers.GRU(3, return_sequences=True), layers.LayerNormalization(axis=2))
    ),
    "subclass": lambda: functional(*embedded(layers.GRU(3), Doubled(1))),
    "no recurrent layer": lambda: sequential(*embedded(layers.GlobalAveragePooling1D())),
    "two paths": lambda: keras.Model(IDS, with_two_paths(IDS)),
    "a symbol that is masked": lambda: sequential(
        layers.Embedding(4, 3, mask_zero=True), layers.GRU(4), layers.Dense(1)
    ),
    "an operation": lambda: keras.Model(IDS, 2 * layers.GRU(3)(layers.Embedding(4, 3)(IDS))),
    "written by hand": ByHand,
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_read_whole_words(name):
    model = OTHERS[name]()
    box = keras_box(model, VALUE)
    assert isinstance(box, QueriedBox)
    expected = values_of_whole_words(model)
    np.testing.assert_allclose(box.weights(WORDS), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("start", "stop"), [(None, 3), ([3, 2], [1, 3])])
def test_what_stands_around_a_word_is_read_from_state_to_state(start, stop):
    card = Card(Alphabet("abc"), "value", start=start, stop=stop)
    model = CHAINS["lstm"]()
    box = keras_box(model, card)
    assert isinstance(box, SteppedBox)
    expected = values_of_whole_words(model, card)
    np.testing.assert_allclose(box.weights(WORDS), expected, rtol=1e-4, atol=1e-6)


# Models that cannot be used -------------------------------------------------------------------


def test_a_model_of_a_fixed_length_without_states_is_filled_up():
    model = sequential(*embedded(layers.Flatten(), layers.Dense(1)), inputs=(6,))
    with pytest.raises(ArgumentError, match=r"reads sequences of 6 ids and no others: .* \(pad\)"):
        keras_box(model, VALUE)
    box = keras_box(model, replace(VALUE, pad=2))
    padded = np.array([[3, 0, 1, 2, 2, 2]])
    expected = model(padded).detach().cpu().numpy()[0]
    np.testing.assert_allclose(box.weights(["ab"]), expected, rtol=1e-5)
    with pytest.raises(BlackBoxError, match="reads words of at most 5 symbols"):
        box.weights(["abcabc"])


def test_a_fixed_batch_is_refused():
    ids = keras.Input((None,), batch_size=2, dtype="int32")
    x = layers.GlobalAveragePooling1D()(layers.Embedding(4, 3)(ids))
    with pytest.raises(ArgumentError, match="the keras model reads batches of 2 and no others"):
        keras_box(keras.Model(ids, x), VALUE)


def test_a_model_with_several_inputs_or_outputs_is_refused():
    other = keras.Input((None,), dtype="int32")
    x, y = layers.Embedding(4, 3)(IDS), layers.Embedding(4, 3)(other)
    with pytest.raises(ArgumentError, match="has 2 inputs: expected one"):
        keras_box(keras.Model([IDS, other], layers.add([x, y])), VALUE)
    with pytest.raises(ArgumentError, match=r"has 2 outputs: expected one; .* model.outputs\[0\]"):
        keras_box(keras.Model(IDS, [x, layers.GRU(2)(x)]), VALUE)


@pytest.mark.parametrize("shape", [(), (None, None), (None, 3, 4)])
def test_a_model_that_reads_no_ids_is_refused(shape):
    inputs = keras.Input(shape)
    with pytest.raises(ArgumentError, match=r"reads shape .*: expected ids, \(None, None\), or"):
        keras_box(keras.Model(inputs, layers.Activation("relu")(inputs)), VALUE)


@pytest.mark.parametrize(
    ("card", "kind", "message"),
    [
        (replace(CARD, start=None), ArgumentError, "its card has no start"),
        (replace(CARD, end=4), ArgumentError, "4 outputs and its card speaks of output 4"),
        (replace(CARD, ids=(0, 1, 9)), BlackBoxError, "alphabet, ids and start fit the model"),
    ],
)
def test_an_alphabet_and_a_model_that_disagree_are_refused_on_opening(card, kind, message):
    with pytest.raises(kind, match=message):
        keras_box(gru_model(), card)


def test_an_id_outside_the_one_hot_vectors_is_refused():
    with pytest.raises(BlackBoxError, match="id 4 has no place in one-hot vectors of 4"):
        keras_box(CHAINS["one-hot"](), replace(VALUE, start=4))


def test_a_model_that_answers_nan_is_named():
    model = gru_model()
    model.layers[-1].bias.assign(np.full(4, np.nan))
    with pytest.raises(BlackBoxError, match=r"the keras model answered .*nan.* for the empty word"):
        keras_box(model, CARD)


# Files that cannot be used --------------------------------------------------------------------


def test_a_missing_model_and_a_missing_card_are_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"no\.keras: there is no such file"):
        open_keras(tmp_path / "no.keras")
    path = save_model(gru_model(), tmp_path / "gru.keras")
    card_path(path).unlink()
    with pytest.raises(MissingFileError, match=r"its card .*gru\.seqray\.json is missing"):
        open_keras(path)


def test_another_form_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(FileError, match=r"expected a \.keras or \.h5 file\. .*'model\.keras'"):
        open_keras(tmp_path / "saved_model")


@pytest.mark.parametrize("content", [b"", b"hello\n", "cut", "empty", "config"])
def test_a_damaged_file_is_refused(tmp_path, content):
    path = save_model(gru_model(), tmp_path / "gru.keras")
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "cut":
        path.write_bytes(path.read_bytes()[:-500])
    else:
        with zipfile.ZipFile(path, "w") as archive:
            if content == "config":
                archive.writestr("config.json", "{")
    with pytest.raises(FileError, match=r"gru\.keras: not a \.keras file, or damaged: "):
        open_keras(path)


def test_a_file_that_needs_code_is_refused_with_the_safe_method(tmp_path):
    model = sequential(layers.Lambda(lambda x: keras.ops.one_hot(x, 4)), layers.GRU(2))
    path = save_model(model, tmp_path / "lambda.keras", VALUE)
    with pytest.raises(FileError, match=r"needs code .*keras_box\(model, card\)$"):
        open_keras(path)
    path = save_model(functional(*embedded(layers.GRU(2), Doubled(1))), tmp_path / "own.keras")
    with pytest.raises(FileError, match=r"holds 'Doubled' of .*, which needs code"):
        open_keras(path)


def test_other_backends_keep_no_record_of_gradients_and_answer_arrays():
    jax = SimpleNamespace(backend=SimpleNamespace(backend=lambda: "jax"))
    with adapter.inference(jax):
        assert adapter.scores_array(np.float32([1, 2])).tolist() == [1, 2]


def test_a_model_whose_layers_cannot_be_traced_has_no_chain():
    model = SimpleNamespace(inputs=[object()], outputs=[object()])
    assert adapter.layer_chain(keras, model) is None


@pytest.mark.parametrize(
    ("missing", "message"), [("tensorflow", "KERAS_BACKEND"), ("keras", r"^pip install")]
)
def test_a_missing_package_is_distinguished_from_a_missing_backend(monkeypatch, missing, message):
    def fail(*_):
        cause = ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        raise MissingExtraError("pip install '.[keras]'") from cause

    model = gru_model()
    monkeypatch.setattr(adapter, "load_extra", fail)
    with pytest.raises(MissingExtraError, match=message):
        keras_box(model, CARD)


@pytest.mark.skipif(find_spec("tensorflow") is not None, reason="TensorFlow is installed")
def test_a_backend_that_is_missing_is_named():
    code = "from seqray.blackbox.frameworks.keras import load_keras; load_keras()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "MissingExtraError: Keras cannot be loaded (No module named 'tensorflow')" in done.stderr
    assert "KERAS_BACKEND" in done.stderr


# What the documentation shows -----------------------------------------------------------------


def test_the_page_runs(tmp_path, monkeypatch, hasty):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / ".answers.sqlite"))
    shown = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras makes NumPy complain when it saves
        exec("\n".join(blocks("boxes/keras.md", "python")), shown)
    assert isinstance(shown["box"], SteppedModel)
    run_page_commands(DOCS / "boxes/keras.md")


def test_the_example_finds_two_states(tiny_copies):
    assert "weather.keras became WeightedAutomaton(2 states" in run_example("keras_box.py")


def rewritten(path, config):
    """Return a .keras file with another configuration."""
    other = path.with_name("other.keras")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            new.writestr(name, config if name == "config.json" else old.read(name))
    VALUE.save(card_path(other))
    return other


@pytest.mark.parametrize(
    "evil",
    [
        {"module": "builtins", "class_name": "function", "config": "print"},
        {"module": "os", "class_name": "system", "config": {}},
        {"module": "keras.layers", "class_name": "TFSMLayer", "config": {}},
    ],
)
def test_a_file_that_names_anything_but_layers_of_keras_is_never_given_to_keras(
    tmp_path, monkeypatch, evil
):
    path = save_model(sequential(*embedded(layers.GRU(2))), tmp_path / "net.keras", VALUE)
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("config.json"))
    document["config"]["layers"].append(evil)
    monkeypatch.setattr(keras.saving, "load_model", lambda *_, **__: pytest.fail("was loaded"))
    with pytest.raises(FileError, match=f"holds {evil['class_name']!r} of .*needs code"):
        open_keras(rewritten(path, json.dumps(document)))


def test_an_old_version_of_keras_opens_no_file(tmp_path, monkeypatch):
    path = save_model(sequential(*embedded(layers.GRU(2))), tmp_path / "net.keras", VALUE)
    monkeypatch.setattr(keras, "__version__", "3.8.0")
    with pytest.raises(MissingExtraError, match=r"keras 3\.8\.0 lets .*'keras>=3\.15'"):
        open_keras(path)


def test_a_chain_of_a_fixed_length_that_answers_once_reads_its_padding():
    def model():
        return keras.Sequential(
            [keras.Input((6,), dtype="int32"), layers.Embedding(4, 3), layers.GRU(2)]
        )

    whole = model()
    padded = keras_box(whole, replace(VALUE, pad=0, start=None, empty=0.0))
    assert isinstance(padded, QueriedBox)
    filled = whole(np.array([[0, 1, 0, 0, 0, 0]]), training=False).detach().cpu().numpy()
    assert padded.weights(["ab"]) == pytest.approx(filled[:, 0])
    assert isinstance(keras_box(whole, VALUE), SteppedBox)


def test_ids_may_be_read_as_numbers():
    model = keras.Sequential([keras.Input((None, 1)), layers.GRU(2)])
    box = keras_box(model, VALUE)
    ids = np.array([[3.0, 0.0, 1.0]], np.float32)[..., None]
    scores = model(ids, training=False).detach().cpu().numpy()
    assert box.weights(["ab"]) == pytest.approx(scores[:, 0], abs=1e-6)
