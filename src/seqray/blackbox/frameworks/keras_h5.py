"""Keras models in ``.h5`` files, as Keras 2 writes them: read without Keras.

Configuration and arrays are read directly, so nothing in the file is run. HDF5 files can refer to
other files, and promise more numbers than they hold: everything but plain arrays in the file
itself is refused.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from seqray.blackbox.card import card_path, load_card
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.frameworks.extras import load_extra
from seqray.blackbox.frameworks.keras_build import build_network
from seqray.blackbox.frameworks.keras_config import read_model
from seqray.blackbox.frameworks.keras_layers import ArrayNetwork
from seqray.blackbox.frameworks.padded import Forward, filled_up, sequence_box
from seqray.blackbox.frameworks.stepped import SteppedBox, stepped_box
from seqray.blackbox.frameworks.trial import tried
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.arrays import FloatArray
from seqray.util.errors import FileError
from seqray.util.files import fingerprint, reading

H5Box: TypeAlias = QueriedBox | QueriedModel | QueriedClassifier | SteppedBox

SUFFIXES = (".h5", ".hdf5")

MAX_CONFIG_BYTES = 2**24
"""The longest configuration of a model: hundreds of layers have a few hundred kilobytes."""

MAX_DEPTH = 8
MAX_OBJECTS = 10_000
"""How deep groups may be nested, and how many groups and arrays are looked at: links in a file may
run in circles."""


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
    try:
        with _opened(path) as file:
            model = read_model(json.loads(_text(file, "model_config")))
            is_keras_2 = not _text(file, "keras_version", "2").startswith("3")
            weights = _WeightGroups(file, os.path.getsize(path))
            network = build_network(model, weights.arrays_of, is_keras_2=is_keras_2)
    except FileError as error:
        raise FileError(
            f"{error}. Where you trust the file, load it in Python with the Keras that wrote it, "
            "and pass the model to seqray.keras_box or write model.save('model.keras')"
        ) from error
    return network, model.shape[1]


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    h5py = load_extra("h5py", "h5")
    if not os.path.isfile(path):
        raise FileError(f"{path}: expected a file, and it is none")
    with reading(path, "a .h5 file of Keras"), h5py.File(os.fspath(path), "r") as file:
        yield file


def _text(file: Any, name: str, default: str | None = None) -> str:
    """Return an attribute of the file that is one text."""
    if name not in file.attrs:
        if default is not None:
            return default
        raise FileError(
            f"has no {name}: expected a whole model, as model.save('model.h5') writes it, not "
            "weights alone"
        )
    attribute = file.attrs.get_id(name)
    if attribute.shape != () or attribute.get_storage_size() > MAX_CONFIG_BYTES:
        raise FileError(f"damaged: {name}: expected one text, got shape {attribute.shape}")
    text = file.attrs[name]
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if not isinstance(text, str) or len(text) > MAX_CONFIG_BYTES:
        raise FileError(f"damaged: {name}: expected a text of at most {MAX_CONFIG_BYTES:,} bytes")
    return text


@dataclass
class _WeightGroups:
    """The arrays of a file by layer; counts what is read, since a file may promise anything."""

    file: Any
    bytes_left: int
    """The file's own size: its arrays are not packed, so there cannot be more."""
    objects_left: int = MAX_OBJECTS

    def arrays_of(self, layer: str) -> Mapping[str, FloatArray]:
        """Return the arrays of a layer by their paths; none where the file has none for it."""
        group = self._member(self.file, "model_weights")
        if not self._is_group(group):
            raise FileError("damaged: model_weights: expected a group")
        if layer not in group or "/" in layer:
            return {}
        return dict(self._walk(self._member(group, layer), layer, 0))

    def _walk(self, group: Any, where: str, depth: int) -> Iterator[tuple[str, FloatArray]]:
        if not self._is_group(group):
            raise FileError(f"damaged: {where}: expected a group")
        if depth > MAX_DEPTH:
            raise FileError(f"damaged: {where}: its groups are nested too deep")
        for name in group:
            path = f"{where}/{name}"
            member = self._member(group, name)
            if self._is_group(member):
                yield from self._walk(member, path, depth + 1)
            else:
                yield path, self._array(member, path)

    def _member(self, group: Any, name: str) -> Any:
        """Return a member of a group that is in the file itself, and not reached by a link."""
        self.objects_left -= 1
        if self.objects_left < 0:
            raise FileError(f"damaged: it has more than {MAX_OBJECTS:,} groups and arrays")
        link = group.get(name, getlink=True)
        if type(link).__name__ != "HardLink":
            raise FileError(
                f"{name} is a {type(link).__name__} to another place: expected arrays in the file "
                "itself"
            )
        return group[name]

    @staticmethod
    def _is_group(member: Any) -> bool:
        return isinstance(member, load_extra("h5py", "h5").Group)

    def _array(self, dataset: Any, path: str) -> FloatArray:
        """Return the numbers of a dataset that really are in the file."""
        if not isinstance(dataset, load_extra("h5py", "h5").Dataset):
            raise FileError(f"damaged: {path}: expected an array")
        if dataset.shape is None or dataset.dtype.kind not in "fiu" or dataset.dtype.itemsize > 8:
            raise FileError(f"damaged: {path}: expected numbers, got {dataset.dtype}")
        if dataset.is_virtual or dataset.external is not None:
            raise FileError(f"{path} is stored in another file: expected arrays in the file itself")
        if dataset.id.get_create_plist().get_nfilters():
            raise FileError(f"{path} is packed: expected plain arrays, as Keras writes them")
        n_bytes = math.prod(dataset.shape) * dataset.dtype.itemsize
        self.bytes_left -= n_bytes
        if dataset.id.get_storage_size() < n_bytes or self.bytes_left < 0:
            raise FileError(f"damaged: {path}: has shape {dataset.shape}, more than is in the file")
        array: FloatArray = np.asarray(dataset[()], np.float32)
        if not np.isfinite(array).all():
            raise FileError(f"damaged: {path}: expected finite numbers")
        return array
