"""Keras models in ``.h5`` files, as Keras 2 writes them: read without Keras.

Configuration and arrays are read directly, so nothing in the file is run.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np

from seqray.blackbox.card import card_path, load_card
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.frameworks.keras_build import build_network
from seqray.blackbox.frameworks.keras_config import read_model
from seqray.blackbox.frameworks.keras_layers import ArrayNetwork
from seqray.blackbox.frameworks.padded import Forward, filled_up, sequence_box
from seqray.blackbox.frameworks.stepped import SteppedBox, stepped_box
from seqray.blackbox.frameworks.trial import tried
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.arrays import FloatArray
from seqray.util.errors import FileError
from seqray.util.files import fingerprint, read_bytes, reading
from seqray.util.hdf5 import Hdf5File

H5Box: TypeAlias = QueriedBox | QueriedModel | QueriedClassifier | SteppedBox

SUFFIXES = (".h5", ".hdf5")

MAX_DEPTH = 8
"""How deep the groups of a layer may be nested."""


def open_keras_h5(path: str | os.PathLike[str], *, batch_size: int) -> H5Box:
    """Open a ``.h5`` file of Keras 2 or 3; nothing in it can run code, and Keras is not needed.

    Parameters
    ----------
    path
        The file; its card lies beside it (docs/cards.md).
    batch_size
        The most ids in one call, for a model without states.
    """
    card = load_card(path)
    network, length = read_network(path)
    who = f"the keras model {path}"
    key = f"keras {Path(path).name} {fingerprint(path, card_path(path))}"
    is_filled = length is not None and card.pad is not None
    if network.is_steppable and not (is_filled and not network.answers_everywhere):
        return tried(stepped_box(network, card, who=who, fingerprint=key), card)
    forward: Forward = network.run
    if length is not None:
        forward, card = filled_up(forward, card, length, who)
    return tried(sequence_box(forward, card, who=who, fingerprint=key, batch_size=batch_size), card)


def read_network(path: str | os.PathLike[str]) -> tuple[ArrayNetwork, int | None]:
    """Return the network in a file, and how many ids it reads; None: any number."""
    content = read_bytes(path)
    try:
        with reading(path, "a .h5 file of Keras"):
            file = Hdf5File(content)
            config = file.text("model_config")
            if config is None:
                raise FileError(
                    "has no model_config: expected a whole model, as model.save('model.h5') writes "
                    "it, not weights alone"
                )
            model = read_model(json.loads(config))
            is_keras_2 = not (file.text("keras_version") or "2").startswith("3")
            arrays_of = functools.partial(_arrays_of, file)
            network = build_network(model, arrays_of, is_keras_2=is_keras_2)
    except FileError as error:
        raise FileError(
            f"{error}. Where you trust the file, load it in Python with the Keras that wrote it, "
            "and pass the model to seqray.keras_box or write model.save('model.keras')"
        ) from error
    return network, model.shape[1]


def _arrays_of(file: Hdf5File, layer: str) -> Mapping[str, FloatArray]:
    """Return the arrays of a layer by their paths; none where the file has none for it."""
    groups = file.members(file.root)
    if "model_weights" not in groups:
        raise FileError("damaged: it has no group model_weights")
    layers = file.members(groups["model_weights"])
    return dict(_walk(file, layers[layer], layer)) if layer in layers else {}


def _walk(file: Hdf5File, group: int, where: str) -> Iterator[tuple[str, FloatArray]]:
    """Yield the arrays in a group, and in the groups within, by their paths."""
    if where.count("/") > MAX_DEPTH:
        raise FileError(f"damaged: {where[:200]}: its groups are nested too deep")
    for name, address in file.members(group).items():
        path = f"{where}/{name}"
        if file.is_group(address):
            yield from _walk(file, address, path)
            continue
        array = np.asarray(file.array(address, path), np.float32)
        if not np.isfinite(array).all():
            raise FileError(f"damaged: {path}: expected finite numbers")
        yield path, array
