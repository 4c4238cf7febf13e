"""Keras models as black boxes, on whichever backend Keras runs.

A chain of recurrent layers and of layers that work on every position by itself is stepped through
the layers' own cells. Any other model gets whole sequences.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from seqray.blackbox.card import Card, card_path, load_card
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.frameworks.extras import check_safe, is_absent, load_extra
from seqray.blackbox.frameworks.keras_h5 import SUFFIXES, open_keras_h5
from seqray.blackbox.frameworks.keras_layers import read_ids
from seqray.blackbox.frameworks.padded import MAX_IDS_PER_BATCH, Forward, filled_up, sequence_box
from seqray.blackbox.frameworks.stepped import SteppedBox, stepped_box
from seqray.blackbox.frameworks.trial import tried
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError, FileError, MissingExtraError
from seqray.util.files import DAMAGE, fingerprint
from seqray.util.streams import check_zip

KerasBox: TypeAlias = QueriedBox | QueriedModel | QueriedClassifier | SteppedBox

RECURRENT_LAYERS = ("RNN", "SimpleRNN", "GRU", "LSTM")
POINTWISE_LAYERS = (
    *("Dense", "Activation", "ReLU", "LeakyReLU", "ELU", "Softmax", "Identity"),
    *("Dropout", "SpatialDropout1D", "GaussianDropout", "GaussianNoise", "AlphaDropout"),
    *("LayerNormalization", "BatchNormalization", "ActivityRegularization"),
)
"""Layers that treat every position by itself, at least along their last axis."""


CODE_CLASSES = (
    *("Lambda", "__lambda__", "function", "TFSMLayer", "TorchModuleWrapper"),
    *("JaxLayer", "FlaxLayer"),
)
"""Classes that a .keras file may name and that need or bring code of their own."""


def keras_box(
    model: Any, card: Card, *, name: str | None = None, batch_size: int = MAX_IDS_PER_BATCH
) -> KerasBox:
    """Make a black box of a Keras model.

    Parameters
    ----------
    model
        A Keras 3 model with one input, ids ``(batch, time)`` or their one-hot vectors
        ``(batch, time, n_ids)``, and one output.
    card
        How symbols become ids, and scores answers.
    name
        The key of its cached answers.
    batch_size
        The most ids in one call, for a model without states.
    """
    return _box(model, card, "the keras model", name, batch_size)


def open_keras(path: str | os.PathLike[str], *, batch_size: int = MAX_IDS_PER_BATCH) -> KerasBox:
    """Open a ``.keras`` file, or a ``.h5`` file of recurrent layers; nothing in it can run code.

    Parameters
    ----------
    path
        The file; its card lies beside it (docs/cards.md).
    batch_size
        The most ids in one call, for a model without states.
    """
    if os.fspath(path).endswith(SUFFIXES):
        return open_keras_h5(path, batch_size=batch_size)
    if not os.fspath(path).endswith(".keras"):
        raise FileError(
            f"{path}: expected a .keras or .h5 file. Other forms may hold code that Keras does "
            "not keep from running: write keras.saving.load_model('model').save('model.keras') "
            "where you trust it"
        )
    card = load_card(path)
    keras = load_keras()
    check_safe(keras, "a .keras file")
    model = _load(keras, path)
    digest = f"keras {Path(path).name} {fingerprint(path, card_path(path))}"
    return _box(model, card, f"the keras model {path}", digest, batch_size)


def load_keras() -> Any:
    """Import Keras; raise an error that says how to install it or its backend."""
    try:
        return load_extra("keras", "keras")
    except MissingExtraError as error:
        if is_absent("keras", error.__cause__):
            raise
        raise MissingExtraError(
            f"Keras cannot be loaded ({error.__cause__}): say which backend you have in the "
            "environment variable KERAS_BACKEND, torch, jax or tensorflow, and install that"
        ) from error


def _load(keras: Any, path: str | os.PathLike[str]) -> Any:
    if not zipfile.is_zipfile(path):
        raise FileError(f"{path}: not a .keras file, or damaged: expected a zip archive")
    _check_classes(path)
    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # a layer may raise anything for a configuration that it cannot use
        text = str(error)
        if "safe_mode" in text or "Could not locate" in text:
            raise _needs_code(path, "a Lambda or a class of your own") from None
        reason = text.partition("\n")[0][:300]
        raise FileError(f"{path}: not a .keras file, or damaged: {reason}") from error


def _check_classes(path: str | os.PathLike[str]) -> None:
    """Refuse a file that names anything but Keras's own classes, before Keras reads it."""
    try:
        check_zip(path)
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read("config.json"))
    except DAMAGE as error:
        raise FileError(f"{path}: not a .keras file, or damaged: {error}") from error
    left = [document]
    if isinstance(document, dict):
        document.pop("compile_config", None)  # how it was trained, which is not loaded
    while left:
        part = left.pop()
        if isinstance(part, dict):
            name, module = part.get("class_name"), part.get("module") or "keras"
            if name in CODE_CLASSES or not (module == "keras" or str(module).startswith("keras.")):
                raise _needs_code(path, f"{name!r} of {module!r}")
            left += part.values()
        elif isinstance(part, list):
            left += part


def _needs_code(path: str | os.PathLike[str], what: str) -> FileError:
    return FileError(
        f"{path}: holds {what}, which needs code to be loaded, and seqray runs none that comes "
        "from a file: load the model in Python yourself and write "
        "seqray.keras_box(model, card)"
    )


def _box(model: Any, card: Card, who: str, name: str | None, batch_size: int) -> KerasBox:
    keras = load_keras()
    shape = _input_shape(model, who)
    layers = _steppable(keras, model, card)
    if layers is not None and not _reads_padding(keras, layers, shape, card):
        stepper = LayerStepper(keras, layers, one_hot=shape[2] if len(shape) == 3 else None)
        return tried(stepped_box(stepper, card, who=who, fingerprint=name), card)
    if shape and shape[0] is not None:
        raise ArgumentError(
            f"{who} reads batches of {shape[0]} and no others: expected a free batch axis; build "
            "it with keras.Input(shape=(None,)) and without batch_size"
        )
    forward = _forward(keras, model, one_hot=shape[2] if len(shape) == 3 else None)
    if len(shape) > 1 and shape[1] is not None:
        forward, card = filled_up(forward, card, shape[1], who)
    return tried(
        sequence_box(forward, card, who=who, fingerprint=name, batch_size=batch_size), card
    )


def _input_shape(model: Any, who: str) -> tuple[int | None, ...]:
    """Return the shape of a model's input; empty if the model does not define one."""
    for name in ("inputs", "outputs"):
        tensors = getattr(model, name, None) or [None]
        if len(tensors) != 1:
            raise ArgumentError(
                f"{who} has {len(tensors)} {name}: expected one; make a model that has one of it, "
                "such as keras.Model(model.input, model.outputs[0])"
            )
    inputs = getattr(model, "inputs", None)
    shape = tuple(inputs[0].shape) if inputs else ()
    if inputs and (len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] is None)):
        raise ArgumentError(
            f"{who} reads shape {shape}: expected ids, (None, None), or their one-hot vectors, "
            "(None, None, n_ids)"
        )
    return shape


# Whole sequences ----------------------------------------------------------------------------------


def _forward(keras: Any, model: Any, one_hot: int | None) -> Forward:
    def run(ids: IntArray, lengths: IntArray) -> FloatArray:
        with inference(keras):
            return scores_array(model(read_ids(ids, one_hot), training=False))

    return run


@contextmanager
def inference(keras: Any) -> Iterator[None]:
    """Run without gradients inside the block: only PyTorch records them by default."""
    if keras.backend.backend() != "torch":
        yield
        return
    with load_extra("torch", "keras").no_grad():
        yield


def scores_array(scores: Any) -> FloatArray:
    """Return scores of any backend as an array."""
    if hasattr(scores, "detach"):
        scores = scores.detach().cpu().double().numpy()
    array: FloatArray = np.asarray(scores)
    return array if array.dtype.kind in "iufbO" else array.astype(np.float64)  # bfloat16 is V


# Symbol by symbol ---------------------------------------------------------------------------------


def _steppable(keras: Any, model: Any, card: Card) -> list[Any] | None:
    """Return the layers of a model in their order, if it can be read id by id."""
    layers = layer_chain(keras, model)
    if not any(_is_one_of(keras, layer, RECURRENT_LAYERS) for layer in layers or ()):
        return None
    ids = {*(card.ids or ()), *card.start_ids, *card.stop_ids}
    for at, layer in enumerate(layers or ()):
        if _is_one_of(keras, layer, RECURRENT_LAYERS):
            fine = not layer.go_backwards and not layer.return_state
        elif _is_one_of(keras, layer, ("Embedding",)):
            fine = at == 0 and not (layer.mask_zero and 0 in ids)  # a masked id is not read
        else:
            if _is_one_of(keras, layer, ("TimeDistributed",)):
                layer = layer.layer  # noqa: PLW2901
            fine = _is_one_of(keras, layer, POINTWISE_LAYERS) and _works_on_last_axis(layer)
        if not fine:
            return None
    return layers


def _reads_padding(
    keras: Any, layers: list[Any], shape: tuple[int | None, ...], card: Card
) -> bool:
    """Return whether a model of a fixed length answers once, after what fills short words up."""
    is_filled = shape[1] is not None and card.pad is not None
    recurrent = [layer for layer in layers if _is_one_of(keras, layer, RECURRENT_LAYERS)]
    return is_filled and not all(layer.return_sequences for layer in recurrent)


def layer_chain(keras: Any, model: Any) -> list[Any] | None:
    """Return the layers of a model in which each reads only the outputs of the one before it."""
    if not getattr(model, "inputs", None):
        return None
    if type(model) is keras.Sequential:
        return list(model.layers)
    layers, tensor = list[Any](), model.outputs[0]
    while tensor is not model.inputs[0]:
        history = getattr(tensor, "_keras_history", None)
        if history is None:
            return None
        inputs = history.operation._inbound_nodes[history.node_index].input_tensors
        if len(inputs) != 1:
            return None
        layers.insert(0, history.operation)
        tensor = inputs[0]
    return layers


def _is_one_of(keras: Any, layer: Any, names: tuple[str, ...]) -> bool:
    """Return whether a layer is of one of these classes itself: a subclass may do anything."""
    return any(type(layer) is getattr(keras.layers, name) for name in names)


def _works_on_last_axis(layer: Any) -> bool:
    axis = getattr(layer, "axis", -1)
    return axis in (-1, [-1], (-1,))


@dataclass(frozen=True, eq=False)
class LayerStepper:
    """Steps a chain of layers; the time axis stays, of length one, as the layers expect it."""

    keras: Any
    layers: list[Any]
    one_hot: int | None

    def begin(self) -> tuple[None, None]:
        """Return no scores and no states: every layer has its own."""
        return None, None

    def advance(
        self, state: list[Any] | None, parents: IntArray, ids: IntArray
    ) -> tuple[FloatArray, list[Any]]:
        """Return scores and states after reading ``ids[i]`` in ``parents[i]``."""
        ops, before, after = self.keras.ops, iter(state or ()), []
        with inference(self.keras):
            rows = ops.convert_to_tensor(np.asarray(parents, np.int32))
            x = ops.convert_to_tensor(read_ids(ids[:, None], self.one_hot))
            for layer in self.layers:
                if not _is_one_of(self.keras, layer, RECURRENT_LAYERS):
                    x = layer(x)
                    continue
                if state is None:
                    own = layer.get_initial_state(len(ids))
                else:
                    own = self.keras.tree.map_structure(
                        lambda array: ops.take(array, rows, axis=0), next(before)
                    )
                x, own = layer.cell(x[:, 0], own, training=False)
                after.append(own)
                if layer.return_sequences:
                    x = x[:, None]
        scores = scores_array(x)
        return scores[:, 0] if scores.ndim == 3 else scores, after
