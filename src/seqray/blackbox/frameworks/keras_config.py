"""The configuration of a Keras model, as its files hold it: which layers, in which order.

Only models in which each layer reads the one before are read. Names of layers stand for functions
of `seqray.blackbox.frameworks.keras_layers`; nothing is imported or run that a file names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from seqray.util.errors import FileError

MODEL_CLASSES = ("Sequential", "Model", "Functional")

MAX_LENGTH, MAX_WINDOW = 2**16, 2**12
"""The most positions of a model's input, and of a window: a few digits can promise any number."""

Shape = tuple[int | None, ...]


class ModelConfig(NamedTuple):
    """The layers of a model without those of its input, and the shape of the input."""

    layers: list[LayerConfig]
    shape: Shape


@dataclass(frozen=True)
class LayerConfig:
    """One layer as a file describes it.

    Parameters
    ----------
    kind
        Its class in Keras.
    name
        Its name, unique in the model.
    fields
        The arguments that it was made with.

    Examples
    --------
    >>> LayerConfig("Dense", "dense", {"use_bias": 1}).flag("use_bias", True)
    Traceback (most recent call last):
    ...
    seqray.FileError: layer 'dense' (Dense): use_bias: expected true or false, got 1
    """

    kind: str
    name: str
    fields: Mapping[str, Any]

    def error(self, problem: str) -> FileError:
        """Return an error that names the layer."""
        return FileError(f"layer {self.name!r} ({self.kind}): {problem}")

    def flag(self, name: str, default: bool) -> bool:
        """Return an argument that is true or false."""
        value = self.fields.get(name, default)
        if not isinstance(value, bool):
            raise self.error(f"{name}: expected true or false, got {value!r}")
        return value

    def number(self, name: str, default: float) -> float:
        """Return an argument that is a number."""
        value = self.fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"{name}: expected a number, got {value!r}")
        return value

    def size(self, name: str, default: int) -> int:
        """Return an argument that is a number of positions, alone or in a list of one."""
        value = self.fields.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_WINDOW:
            raise self.error(
                f"{name}: expected a whole number from 1 to {MAX_WINDOW:,}, got {value!r}"
            )
        return value

    def choice(self, name: str, default: str, choices: Iterable[str]) -> str:
        """Return an argument that is one of several words."""
        value, choices = self.fields.get(name, default), list(choices)
        if value not in choices:
            raise self.error(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
        return str(value)

    def refuse(self, name: str, *harmless: object) -> None:
        """Refuse an argument that changes what is computed, unless its value is harmless."""
        value = self.fields.get(name)
        if value is not None and value not in harmless:
            raise self.error(f"{name} is {value!r}, which seqray cannot compute")


def read_model(document: object) -> ModelConfig:
    """Return the layers of a model.

    Parameters
    ----------
    document
        The model's configuration, parsed JSON.

    Examples
    --------
    >>> dense = {"class_name": "Dense", "config": {"name": "d", "batch_input_shape": [None, 3]}}
    >>> read_model({"class_name": "Sequential", "config": {"layers": [dense]}}).shape
    (None, 3)
    """
    model = _mapping(document, "the model's configuration")
    kind, inside = model.get("class_name"), model.get("config")
    if kind not in MODEL_CLASSES:
        raise FileError(
            f"holds a {str(kind)[:80]!r}: expected a Sequential or functional model, whose "
            "layers are in the file"
        )
    if isinstance(inside, list):  # Sequential, before Keras 2.2.3
        inside = {"layers": inside}
    inside = _mapping(inside, "the model's configuration")
    nodes = [_mapping(each, "a layer") for each in _list(inside.get("layers"), "layers")]
    layers = [read_layer(node) for node in nodes]
    if len({layer.name for layer in layers}) < len(layers):
        raise FileError("damaged: two layers have one name")
    if kind != "Sequential":
        layers = _chain(inside, nodes, layers)
    shapes = [_input_shape(layer) for layer in layers[:1]]
    if any(layer.kind == "InputLayer" for layer in layers[1:]):
        raise FileError("has several inputs: expected one")
    layers = [layer for layer in layers if layer.kind != "InputLayer"]
    if not layers:
        raise FileError("has no layers: expected a recurrent network")
    return ModelConfig(layers, shapes[0])


def read_layer(node: object) -> LayerConfig:
    """Return one layer, in the form in which models, and layers around layers, hold it."""
    node = _mapping(node, "a layer")
    fields = _mapping(node.get("config"), "a layer's configuration")
    kind, name = node.get("class_name"), fields.get("name", node.get("name"))
    if not isinstance(kind, str) or not isinstance(name, str):
        raise FileError(f"damaged: a layer of class {kind!r} has the name {name!r}")
    module = node.get("module") or "keras"
    if module != "keras" and not str(module).startswith("keras."):
        raise FileError(f"layer {name!r} is of the class {kind!r} of {module!r}: expected Keras's")
    return LayerConfig(kind, name, fields)


def _input_shape(first: LayerConfig) -> Shape:
    """Return the shape of a model's input, with the batch axis; any length where it is not said."""
    for key in ("batch_input_shape", "batch_shape"):
        shape = first.fields.get(key)
        if shape is None:
            continue
        sizes = tuple(_list(shape, key))
        if not all(n is None or (type(n) is int and 0 < n <= MAX_LENGTH) for n in sizes):
            raise first.error(f"{key}: expected sizes from 1 to {MAX_LENGTH:,}, got {shape!r}")
        return sizes
    return (None, None) if first.kind == "Embedding" else (None, None, None)


# Functional models --------------------------------------------------------------------------------


def _chain(
    model: Mapping[str, Any], nodes: list[Mapping[str, Any]], layers: list[LayerConfig]
) -> list[LayerConfig]:
    """Return the layers of a functional model from its input to its output."""
    by_name = {layer.name: layer for layer in layers}
    sources = {layer.name: _sources(layer, node) for layer, node in zip(layers, nodes, strict=True)}
    first, last = (_endpoint(model, f"{end}_layers") for end in ("input", "output"))
    chain = list[LayerConfig]()
    name: str | None = last
    while name is not None:
        if name not in by_name or len(chain) > len(layers):
            raise FileError(f"damaged: its layers lead to {name!r}, which leads nowhere")
        chain.insert(0, by_name[name])
        name = sources[name]
    if chain[0].name != first:
        raise FileError(f"damaged: its layers begin with {chain[0].name!r}, not {first!r}")
    return chain


def _endpoint(model: Mapping[str, Any], key: str) -> str:
    """Return the name of the one input, or output."""
    listed = _list(model.get(key), key)
    if listed and isinstance(listed[0], str):  # Keras 3: a single one is not in a list
        listed = [listed]
    if len(listed) != 1:
        raise FileError(f"has {len(listed)} {key}: expected one")
    return _tensor_name(listed[0])


def _sources(layer: LayerConfig, node: Mapping[str, Any]) -> str | None:
    """Return the name of the layer that a layer reads; None for the input."""
    calls = _list(node.get("inbound_nodes"), "inbound_nodes")
    if layer.kind == "InputLayer":
        return None
    if len(calls) != 1:
        raise layer.error(f"is used {len(calls)} times: expected once")
    call = calls[0]
    if isinstance(call, dict):  # Keras 3
        given, options = _list(call.get("args"), "args"), call.get("kwargs")
    else:
        given = _list(call, "inbound_nodes")
        first = given[0] if given else None
        options = first[3] if isinstance(first, list) and len(first) > 3 else None
    if len(given) != 1:
        raise layer.error(f"reads {len(given)} layers: expected one")
    for name, value in _mapping(options or {}, "kwargs").items():
        if value is not None and not isinstance(value, bool):
            raise layer.error(f"is called with {name}, which seqray cannot compute")
    return _tensor_name(given[0])


def _tensor_name(tensor: object) -> str:
    """Return the name of the layer that a tensor comes from."""
    if isinstance(tensor, dict):  # Keras 3
        tensor = _mapping(tensor.get("config"), "a tensor").get("keras_history")
    parts = _list(tensor, "a tensor")
    if len(parts) < 3 or not isinstance(parts[0], str) or parts[1] != 0 or parts[2] != 0:
        raise FileError(f"reads the output {str(parts[:3])[:80]}: expected a layer's only one")
    return parts[0]


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FileError(f"damaged: {what}: expected an object, got {str(value)[:80]!r}")
    return value


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise FileError(f"damaged: {what}: expected a list, got {str(value)[:80]!r}")
    return value
