"""Layers of a Keras model from its configuration and its arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from seqray.blackbox.frameworks import keras_layers as layers
from seqray.blackbox.frameworks.keras_config import LayerConfig, ModelConfig, read_layer
from seqray.blackbox.frameworks.keras_layers import (
    Activation,
    ArrayLayer,
    ArrayNetwork,
    KerasCell,
    Recurrence,
    Window,
)
from seqray.util.arrays import FloatArray
from seqray.util.errors import FileError

N_GATES = {"SimpleRNN": 1, "GRU": 3, "LSTM": 4}
"""The recurrent layers, and how many gates stand side by side in their arrays."""

IDENTITIES = (
    *("Dropout", "SpatialDropout1D", "GaussianDropout", "GaussianNoise", "AlphaDropout"),
    *("ActivityRegularization", "Identity"),
)
"""Layers that do nothing once training is over."""


@dataclass(frozen=True)
class LayerArrays:
    """The arrays of one layer by their names in its file, such as ``lstm/lstm_cell/kernel:0``."""

    arrays: Mapping[str, FloatArray]

    def take(self, config: LayerConfig, name: str, *shape: int | None) -> FloatArray:
        """Return an array by the last part of its name; None in ``shape`` stands for any size."""
        near = [a for path, a in self.arrays.items() if _last_part(path) == name]
        if len(near) != 1:
            raise config.error(
                f"has {len(near)} arrays of the name {name!r}: expected one; the file holds "
                f"{sorted(self.arrays)[:8]}"
            )
        fits = near[0].ndim == len(shape) and all(
            want in (None, have) for want, have in zip(shape, near[0].shape, strict=True)
        )
        if not fits or not near[0].size:
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            raise config.error(f"{name}: expected shape ({wanted}), got {near[0].shape}")
        return near[0]

    def within(self, prefix: str) -> LayerArrays:
        """Return the arrays of an inner layer, whose name begins with ``prefix``."""
        inside = {
            path: array
            for path, array in self.arrays.items()
            if any(part.startswith(prefix) for part in path.split("/")[:-1])
        }
        return LayerArrays(inside)


def _last_part(path: str) -> str:
    return path.rpartition("/")[2].partition(":")[0]


@dataclass(frozen=True)
class Place:
    """Where a layer stands: its arrays, and what it reads."""

    config: LayerConfig
    arrays: LayerArrays
    n_axes: int
    """2: ``(n, k)``; 3: ``(n, t, k)``. Ids count as the latter, they have a time axis, too."""
    n_features: int | None
    """The size of the last axis; None: unknown, or ids."""
    is_keras_2: bool

    def take(self, name: str, *shape: int | None) -> FloatArray:
        """Return an array of the layer."""
        return self.arrays.take(self.config, name, *shape)

    def activation(self, name: str = "activation", default: str = "linear") -> Activation:
        """Return the activation that an argument of the layer names."""
        named = self.config.fields.get(name, default)
        if named is None:
            named = "linear"
        if named == "hard_sigmoid":
            return layers.HARD_SIGMOID[self.is_keras_2]
        if not isinstance(named, str) or named not in layers.ACTIVATIONS:
            known = ", ".join([*layers.ACTIVATIONS, "hard_sigmoid"])
            raise self.config.error(f"{name}: expected one of {known}, got {str(named)[:80]!r}")
        return layers.ACTIVATIONS[named]


class Built(NamedTuple):
    """A layer, and what the next one reads."""

    layer: ArrayLayer | Recurrence
    n_features: int | None
    n_axes: int


def build_network(model: ModelConfig, arrays_of: ArraysOf, *, is_keras_2: bool) -> ArrayNetwork:
    """Return the network that a configuration and arrays stand for.

    Parameters
    ----------
    model
        The layers and the shape of the input.
    arrays_of
        Returns the arrays of a layer by its name.
    is_keras_2
        Whether the file was written by Keras 2, whose hard sigmoid is another.
    """
    n_axes = len(model.shape)
    reads_ids = n_axes == 2
    if n_axes not in (2, 3) or reads_ids != (model.layers[0].kind == "Embedding"):
        raise FileError(
            f"its first layer is {model.layers[0].kind} and reads shape {model.shape}: expected "
            "an Embedding that reads ids, (None, None), or another layer that reads their one-hot "
            "vectors, (None, None, n_ids), or the ids as numbers, (None, None, 1)"
        )
    first = n_features = None if reads_ids else model.shape[2]
    chain = []
    n_axes = 3
    for config in model.layers:
        place = Place(config, LayerArrays({}), n_axes, n_features, is_keras_2)
        if config.kind not in BUILDERS:
            raise config.error(
                f"seqray reads no such layer from files: expected {', '.join(sorted(BUILDERS))}"
            )
        if config.kind not in IDENTITIES:
            place = replace(place, arrays=LayerArrays(arrays_of(config.name)))
        layer, n_features, n_axes = BUILDERS[config.kind](place)
        if first is None and not reads_ids:
            raise config.error("reads any number of features: expected an input of known shape")
        chain.append(layer)
    return ArrayNetwork(tuple(chain), first)


# Pointwise layers ---------------------------------------------------------------------------------


def _identity(place: Place) -> Built:
    return Built(layers.pointwise(lambda x: x), place.n_features, place.n_axes)


def _activation(place: Place) -> Built:
    return Built(layers.pointwise(place.activation()), place.n_features, place.n_axes)


def _relu(place: Place) -> Built:
    place.config.refuse("threshold", 0)
    slope, ceiling = place.config.number("negative_slope", 0), place.config.fields.get("max_value")
    if ceiling is not None:
        ceiling = place.config.number("max_value", 0)
    layer = layers.pointwise(lambda x: layers.leaky(x, slope, ceiling))
    return Built(layer, place.n_features, place.n_axes)


def _leaky_relu(place: Place) -> Built:
    name = "alpha" if "alpha" in place.config.fields else "negative_slope"
    slope = place.config.number(name, 0.3)
    layer = layers.pointwise(lambda x: layers.leaky(x, slope))
    return Built(layer, place.n_features, place.n_axes)


def _elu(place: Place) -> Built:
    alpha = place.config.number("alpha", 1.0)
    return Built(layers.pointwise(lambda x: layers.elu(x, alpha)), place.n_features, place.n_axes)


def _softmax(place: Place) -> Built:
    _check_axis(place)
    layer = layers.pointwise(layers.ACTIVATIONS["softmax"])
    return Built(layer, place.n_features, place.n_axes)


def _check_axis(place: Place) -> None:
    """Refuse a layer that works along another axis than the last."""
    last = place.n_axes - 1
    place.config.refuse("axis", -1, [-1], last, [last])


def _dense(place: Place) -> Built:
    kernel = place.take("kernel", place.n_features, None)
    n_outputs = kernel.shape[1]
    bias = _bias(place, "use_bias", "bias", n_outputs)
    activation = place.activation()
    layer = layers.pointwise(lambda x: activation(x @ kernel + bias))
    return Built(layer, n_outputs, place.n_axes)


def _bias(place: Place, flag: str, name: str, n: int, otherwise: float = 0.0) -> FloatArray:
    """Return a layer's array of ``n`` numbers, all alike where a flag says that it has none."""
    if place.config.flag(flag, True):
        return place.take(name, n)
    return np.full(n, otherwise, np.float32)


def _normalisation(place: Place) -> Built:
    _check_axis(place)
    for name in ("virtual_batch_size", "rms_scaling"):
        place.config.refuse(name, False)
    name = "moving_mean" if place.config.kind == "BatchNormalization" else "gamma"
    n = place.n_features
    if n is None:
        n = len(place.take(name, None))
    gamma = _bias(place, "scale", "gamma", n, 1.0)
    beta = _bias(place, "center", "beta", n)
    epsilon = np.float32(place.config.number("epsilon", 1e-3))
    if place.config.kind == "BatchNormalization":
        mean, variance = place.take("moving_mean", n), place.take("moving_variance", n)
        scale = gamma / np.sqrt(variance + epsilon)
        return Built(layers.pointwise(lambda x: (x - mean) * scale + beta), n, place.n_axes)

    def normalise(x: FloatArray) -> FloatArray:
        deviation = np.sqrt(x.var(axis=-1, keepdims=True) + epsilon)
        return np.asarray((x - x.mean(axis=-1, keepdims=True)) / deviation * gamma + beta)

    return Built(layers.pointwise(normalise), n, place.n_axes)


def _embedding(place: Place) -> Built:
    if place.n_features is not None or place.n_axes != 3:
        raise place.config.error(
            "reads numbers: expected it to be the first layer, and to read ids"
        )
    table = place.take("embeddings", None, None)
    layer = layers.embedding(table, place.config.flag("mask_zero", False))
    return Built(layer, table.shape[1], 3)


def _masking(place: Place) -> Built:
    _check_time(place)
    layer = layers.masking(place.config.number("mask_value", 0.0))
    return Built(layer, place.n_features, 3)


def _time_distributed(place: Place) -> Built:
    _check_time(place)
    inner = read_layer(place.config.fields.get("layer"))
    if inner.kind not in POINTWISE_BUILDERS:
        known = ", ".join(sorted(POINTWISE_BUILDERS))
        raise place.config.error(f"holds a layer {inner.kind}: expected one of {known}")
    built = POINTWISE_BUILDERS[inner.kind](replace(place, config=inner, n_axes=2))
    return built._replace(n_axes=3)


def _check_time(place: Place) -> None:
    if place.n_axes != 3:
        raise place.config.error(
            "reads one vector per word: expected one per position, so return_sequences in the "
            "recurrent layer before it"
        )


# Recurrent layers ---------------------------------------------------------------------------------


def _recurrent(place: Place) -> Built:
    _check_time(place)
    config = place.config
    for name in ("return_state", "time_major"):
        config.refuse(name, False)
    n_gates = N_GATES[config.kind]
    recurrent = place.take("recurrent_kernel", None, None)
    n_units = len(recurrent)
    kernel = place.take("kernel", place.n_features, n_gates * n_units)
    place.take("recurrent_kernel", n_units, n_gates * n_units)
    bias, recurrent_bias, reset_after = _recurrent_biases(place, n_gates * n_units)
    cell = KerasCell(
        config.kind,
        kernel,
        recurrent,
        bias,
        recurrent_bias,
        place.activation(default="tanh"),
        place.activation("recurrent_activation", "sigmoid"),
        reset_after,
    )
    layer = Recurrence(
        cell,
        config.flag("return_sequences", False),
        config.flag("go_backwards", False),
        config.flag("zero_output_for_mask", False),
    )
    return Built(layer, n_units, 3 if layer.returns_sequences else 2)


def _recurrent_biases(place: Place, n: int) -> tuple[FloatArray, FloatArray, bool]:
    """Return both biases, and whether a GRU has the second: then its reset gate comes later."""
    reset_after = place.config.kind == "GRU" and place.config.flag("reset_after", False)
    zero = np.zeros(n, np.float32)
    if not place.config.flag("use_bias", True):
        return zero, zero, reset_after
    if not reset_after:
        return place.take("bias", n), zero, False
    bias, recurrent_bias = place.take("bias", 2, n)
    return bias, recurrent_bias, True


def _bidirectional(place: Place) -> Built:
    _check_time(place)
    config = place.config
    merge = config.choice("merge_mode", "concat", layers.MERGES)
    sides = list[Recurrence]()
    ahead = read_layer(config.fields.get("layer"))
    back = config.fields.get("backward_layer")
    turned = {**ahead.fields, "go_backwards": not ahead.flag("go_backwards", False)}
    both = (ahead, replace(ahead, fields=turned) if back is None else read_layer(back))
    for prefix, inner in zip(("forward", "backward"), both, strict=True):
        if inner.kind not in N_GATES:
            raise config.error(f"holds a layer {inner.kind}: expected one of {', '.join(N_GATES)}")
        own = replace(place, config=inner, arrays=place.arrays.within(prefix))
        layer = _recurrent(own).layer
        assert isinstance(layer, Recurrence)
        sides.append(replace(layer, zeroes_masked=layer.returns_sequences))
    forward, backward = sides
    if forward.returns_sequences != backward.returns_sequences:
        raise config.error("return_sequences: expected the same in both directions")
    n = forward.cell.n_units + (backward.cell.n_units if merge == "concat" else 0)
    layer = layers.bidirectional(forward, backward, merge)
    return Built(layer, n, 3 if forward.returns_sequences else 2)


# Layers across positions --------------------------------------------------------------------------


def _window(place: Place, width: int, default_stride: int, paddings: tuple[str, ...]) -> Window:
    _check_time(place)
    place.config.refuse("data_format", "channels_last")
    return Window(
        width,
        place.config.size("strides", default_stride),
        place.config.size("dilation_rate", 1),
        place.config.choice("padding", "valid", paddings),
    )


def _convolution(place: Place) -> Built:
    place.config.refuse("groups", 1)
    kernel = place.take("kernel", None, place.n_features, None)
    window = _window(place, len(kernel), 1, ("valid", "same", "causal"))
    n_outputs = kernel.shape[2]
    bias = _bias(place, "use_bias", "bias", n_outputs)
    layer = layers.convolution(kernel, bias, place.activation(), window)
    return Built(layer, n_outputs, 3)


def _pooling(place: Place) -> Built:
    width = place.config.size("pool_size", 2)
    window = _window(place, width, width, ("valid", "same"))
    kinds = {"MaxPooling1D": layers.max_pooling, "AveragePooling1D": layers.average_pooling}
    return Built(kinds[place.config.kind](window), place.n_features, 3)


def _global_pooling(place: Place) -> Built:
    _check_time(place)
    place.config.refuse("data_format", "channels_last")
    place.config.refuse("keepdims", False)
    is_max = place.config.kind == "GlobalMaxPooling1D"
    return Built(layers.GLOBAL_MAX if is_max else layers.GLOBAL_MEAN, place.n_features, 2)


def _flatten(place: Place) -> Built:
    return Built(layers.FLATTEN, None if place.n_axes == 3 else place.n_features, 2)


Builder = Callable[[Place], Built]
ArraysOf = Callable[[str], Mapping[str, FloatArray]]

POINTWISE_BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(IDENTITIES, _identity),
    "Activation": _activation,
    "BatchNormalization": _normalisation,
    "Dense": _dense,
    "ELU": _elu,
    "LayerNormalization": _normalisation,
    "LeakyReLU": _leaky_relu,
    "ReLU": _relu,
    "Softmax": _softmax,
}

BUILDERS: dict[str, Builder] = {
    **POINTWISE_BUILDERS,
    **dict.fromkeys(N_GATES, _recurrent),
    **dict.fromkeys(("MaxPooling1D", "AveragePooling1D"), _pooling),
    **dict.fromkeys(("GlobalMaxPooling1D", "GlobalAveragePooling1D"), _global_pooling),
    "Bidirectional": _bidirectional,
    "Conv1D": _convolution,
    "Embedding": _embedding,
    "Flatten": _flatten,
    "Masking": _masking,
    "TimeDistributed": _time_distributed,
}
"""The layers that can be read, by their class in Keras."""
