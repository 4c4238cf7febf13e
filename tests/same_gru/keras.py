"""The GRU as a Keras model."""

import os
import warnings

import numpy as np
import pytest

from same_gru import N_EMBEDDED, N_HIDDEN, arrays
from same_gru.torch import CARD
from seqray.blackbox.card import card_path
from seqray.blackbox.frameworks.keras import open_keras


def import_keras():
    """Import Keras on PyTorch, unless another backend is chosen."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    pytest.importorskip(os.environ["KERAS_BACKEND"])
    return pytest.importorskip("keras")


def gru_model():
    """Return the network as somebody would write it."""
    keras = import_keras()
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(4, N_EMBEDDED),
            keras.layers.GRU(N_HIDDEN, return_sequences=True, reset_after=True),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(4),
        ]
    )
    w = arrays()
    embedding, gru, _, dense = model.layers
    embedding.set_weights([w["embedding.weight"]])
    biases = np.stack([_gates(w[f"recurrent.bias_{side}_l0"]).T.ravel() for side in ("ih", "hh")])
    gru.set_weights([*(_gates(w[f"recurrent.weight_{s}_l0"]) for s in ("ih", "hh")), biases])
    dense.set_weights([w["output.weight"].T, w["output.bias"]])
    return model


def _gates(array):
    """Reorder the gates r, z, n of PyTorch to z, r, n, and transpose."""
    r, z, n = np.split(array, 3)
    return np.concatenate([z, r, n]).T


def save_model(model, path, card=CARD):
    """Save a model, put its card beside it, and return the path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras makes NumPy complain when it saves
        model.save(path)
    card.save(card_path(path))
    return path


def keras_steps(folder):
    return open_keras(save_model(gru_model(), folder / "gru.keras"))


def keras_sequences(folder):
    """Return the network inside another model, where its layers are out of reach."""
    keras = import_keras()
    ids = keras.Input((None,), dtype="int32")
    return open_keras(save_model(keras.Model(ids, gru_model()(ids)), folder / "nested.keras"))
