"""Models in ``.h5`` files as Keras 2 lays them out, written without Keras."""

import json

import numpy as np
import pytest

from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card, card_path
from seqray.blackbox.frameworks.keras import open_keras

CARD = Card(Alphabet("abc"), "next", start=0, ids=[1, 2, 3], columns=[1, 2, 3], end=0)
"""For the networks that `recurrent_layers` and four outputs make; id 0 begins."""


def layer(kind, name, **fields):
    return {"class_name": kind, "config": {"name": name, "dtype": "float32", **fields}}


def sequential(*layers):
    return {"class_name": "Sequential", "config": {"name": "sequential", "layers": list(layers)}}


def functional(first, *layers):
    """Return a functional model in the form of Keras 2: each layer names the one before."""
    nodes = [{**first, "name": first["config"]["name"], "inbound_nodes": []}]
    for each in layers:
        calls = [[[nodes[-1]["name"], 0, 0, {}]]]
        nodes.append({**each, "name": each["config"]["name"], "inbound_nodes": calls})
    ends = {
        f"{end}_layers": [[nodes[i]["name"], 0, 0]] for end, i in (("input", 0), ("output", -1))
    }
    return {"class_name": "Model", "config": {"name": "model", "layers": nodes, **ends}}


def recurrent_layers(kind="LSTM", n_outputs=4, mask_zero=False, **fields):
    """Return the layers of a network of 3 units, as Keras 2.8 describes them."""
    common = {"return_sequences": True, "go_backwards": False, "time_major": False, "units": 3}
    return [
        layer("Embedding", "embedding", batch_input_shape=[None, None], mask_zero=mask_zero),
        layer(kind, "rnn", **{**common, **fields}),
        layer("Dense", "dense", units=n_outputs, activation="linear", use_bias=True),
    ]


def recurrent_arrays(kind="LSTM", n_outputs=4, reset_after=False):
    """Return arrays for `recurrent_layers`, sines of 0, 1, 2, …, the next array one further."""
    n = 3 * {"SimpleRNN": 1, "GRU": 3, "LSTM": 4}[kind]
    shapes = {
        "embedding/embedding/embeddings:0": (4, 3),
        "rnn/rnn/cell/kernel:0": (3, n),
        "rnn/rnn/cell/recurrent_kernel:0": (3, n),
        "rnn/rnn/cell/bias:0": (2, n) if reset_after else (n,),
        "dense/dense/kernel:0": (3, n_outputs),
        "dense/dense/bias:0": (n_outputs,),
    }
    return {
        path: np.sin(np.arange(np.prod(shape)) + i).reshape(shape).astype(np.float32)
        for i, (path, shape) in enumerate(shapes.items())
    }


def write_h5(path, model=None, arrays=None, *, version="2.8.0", card=CARD):
    """Write a model and its card; return the path."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(model or sequential(*recurrent_layers()))
        file.attrs["keras_version"], file.attrs["backend"] = version, "tensorflow"
        group = file.create_group("model_weights")
        for name, array in (recurrent_arrays() if arrays is None else arrays).items():
            group[name] = array
    card.save(card_path(path))
    return path


def h5_steps(folder):
    return open_keras(write_h5(folder / "net.h5"))


def h5_sequences(folder):
    """Return a network that reads backwards, so that it cannot be stepped."""
    layers = recurrent_layers(go_backwards=True, return_sequences=False)
    return open_keras(write_h5(folder / "net.h5", sequential(*layers)))
