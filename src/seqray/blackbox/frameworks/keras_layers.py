"""Layers of Keras in NumPy: what they compute once training is over.

The formulas are those of Keras 2 and 3 themselves, in float32. Layers that read one position at a
time are *pointwise*; a `Recurrence` has states; every other layer needs the whole sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from seqray.automata.tree import distinct_keys
from seqray.util.arrays import BoolArray, FloatArray, IntArray


class Signal(NamedTuple):
    """What goes from layer to layer: numbers, and which positions count."""

    values: FloatArray
    """``(n, t, k)``; ``(n, k)`` once the time axis is gone; at the input ids, ``(n, t)``."""
    mask: BoolArray | None = None
    """``(n, t)``, False where recurrent layers skip a position; None: they read all."""


class ArrayLayer(NamedTuple):
    """A layer without states."""

    run: Callable[[Signal], Signal]
    is_pointwise: bool = False


# Activations --------------------------------------------------------------------------------------

Activation = Callable[[FloatArray], FloatArray]


def leaky(x: FloatArray, slope: float, ceiling: float | None = None) -> FloatArray:
    """Return x where it is positive, at most ``ceiling``, and ``slope`` times x elsewhere."""
    return np.where(x > 0, np.minimum(x, np.inf if ceiling is None else ceiling), slope * x)


def elu(x: FloatArray, alpha: float = 1.0) -> FloatArray:
    """Return x where it is positive, and alpha (exp(x) - 1) elsewhere."""
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
"""The constants of Klambauer et al., Self-Normalizing Neural Networks (2017)."""

ACTIVATIONS: dict[str, Activation] = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "softmax": lambda x: special.softmax(x, axis=-1),
    "log_softmax": lambda x: special.log_softmax(x, axis=-1),
    "elu": elu,
    "selu": lambda x: SELU_SCALE * elu(x, SELU_ALPHA),
    "softplus": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "exponential": np.exp,
    "swish": lambda x: x * special.expit(x),
    "silu": lambda x: x * special.expit(x),
    "gelu": lambda x: x * special.ndtr(x),
    "leaky_relu": lambda x: leaky(x, 0.2),
}
"""The activations that are the same in Keras 2 and 3."""

HARD_SIGMOID: dict[bool, Activation] = {
    True: lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    False: lambda x: np.clip(x / 6 + 0.5, 0, 1),
}
"""Of Keras 2 (True) and of Keras 3 (False): the slopes differ."""


# Layers without states ----------------------------------------------------------------------------


def read_ids(ids: IntArray, n_features: int | None) -> NDArray[Any]:
    """Return a network's input for ids: ids, one number each, or their one-hot vectors.

    Parameters
    ----------
    ids
        Input ids, of any shape.
    n_features
        The size of the input's last axis; None: it has no such axis, and reads ids.

    Examples
    --------
    >>> read_ids(np.array([[2, 0]]), 1)
    array([[[2.],
            [0.]]], dtype=float32)
    >>> read_ids(np.array([2, 0]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    if n_features is None:
        return ids
    if n_features == 1:
        return ids[..., None].astype(np.float32)
    if ids.max(initial=0) >= n_features:
        raise ValueError(f"id {ids.max()} has no place in one-hot vectors of {n_features}")
    vectors = np.zeros((*ids.shape, n_features), np.float32)
    np.put_along_axis(vectors, ids[..., None], 1, axis=-1)
    return vectors


def pointwise(function: Activation) -> ArrayLayer:
    """Return the layer that applies a function along the last axis; masks go through."""
    return ArrayLayer(lambda signal: signal._replace(values=function(signal.values)), True)


def embedding(table: FloatArray, skips_zero: bool) -> ArrayLayer:
    """Return the layer that looks up a vector for each id; id 0 may stand for nothing."""

    def run(signal: Signal) -> Signal:
        ids = np.asarray(signal.values, np.int64)
        return Signal(table[ids], ids != 0 if skips_zero else None)

    return ArrayLayer(run, True)


def masking(value: float) -> ArrayLayer:
    """Return the layer that masks positions where every number is ``value``."""

    def run(signal: Signal) -> Signal:
        mask = (signal.values != np.float32(value)).any(axis=-1)
        return Signal(signal.values * mask[..., None], mask)

    return ArrayLayer(run, True)


def convolution(
    kernel: FloatArray, bias: FloatArray, activation: Activation, window: Window
) -> ArrayLayer:
    """Return a convolution along time; ``kernel`` has shape ``(width, n_inputs, n_outputs)``."""

    def run(signal: Signal) -> Signal:
        parts = window.parts(signal.values, 0.0)
        return Signal(activation(sum(x @ w for x, w in zip(parts, kernel, strict=True)) + bias))

    return ArrayLayer(run)


def max_pooling(window: Window) -> ArrayLayer:
    """Return the layer of the largest number in each window."""

    def run(signal: Signal) -> Signal:
        return Signal(np.max(list(window.parts(signal.values, -np.inf)), axis=0))

    return ArrayLayer(run)


def average_pooling(window: Window) -> ArrayLayer:
    """Return the layer of the mean over each window; what lies outside the word is not counted."""

    def run(signal: Signal) -> Signal:
        counted = np.ones_like(signal.values[:1, :, :1])
        sums, counts = (
            np.sum(list(window.parts(x, 0.0)), axis=0) for x in (signal.values, counted)
        )
        return Signal(sums / counts)

    return ArrayLayer(run)


def _mean_over_time(signal: Signal) -> Signal:
    if signal.mask is None:
        return Signal(signal.values.mean(axis=1))
    weights = signal.mask[..., None].astype(np.float32)
    return Signal((signal.values * weights).sum(axis=1) / weights.sum(axis=1))


GLOBAL_MEAN = ArrayLayer(_mean_over_time)
GLOBAL_MAX = ArrayLayer(lambda signal: Signal(signal.values.max(axis=1)))
FLATTEN = ArrayLayer(lambda signal: Signal(signal.values.reshape(len(signal.values), -1)))


class Window(NamedTuple):
    """A window that moves along time."""

    width: int
    stride: int
    dilation: int
    padding: str
    """``"valid"``, ``"same"`` or ``"causal"``."""

    def parts(self, values: FloatArray, fill: float) -> Iterator[FloatArray]:
        """Yield, for each place in the window, the values that stand there, ``(n, t', k)``."""
        span = (self.width - 1) * self.dilation
        before, after = self._margins(values.shape[1], span)
        padded = np.pad(values, ((0, 0), (before, after), (0, 0)), constant_values=fill)
        for place in range(self.width):
            begin = place * self.dilation
            yield padded[:, begin : padded.shape[1] - span + begin : self.stride]

    def _margins(self, length: int, span: int) -> tuple[int, int]:
        """Return how many positions are added before and after the word."""
        if self.padding == "valid":
            return 0, 0
        if self.padding == "causal":
            return span, 0
        n_steps = -(-length // self.stride)
        total = max((n_steps - 1) * self.stride + span + 1 - length, 0)
        return total // 2, total - total // 2


# Layers with states -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class KerasCell:
    """A cell of Keras: gates stand side by side, GRU z, r, h and LSTM i, f, c, o.

    Parameters
    ----------
    kind
        ``"SimpleRNN"``, ``"GRU"`` or ``"LSTM"``.
    kernel, recurrent
        From the input ``(n_inputs, n_gates * n_units)``, from the state
        ``(n_units, n_gates * n_units)``.
    bias, recurrent_bias
        Added to the products of both, ``(n_gates * n_units,)``.
    activation, gate_activation
        Of the new content, and of the gates.
    reset_after
        Whether a GRU's reset gate comes after the product with the state, not before.
    """

    kind: str
    kernel: FloatArray
    recurrent: FloatArray
    bias: FloatArray
    recurrent_bias: FloatArray
    activation: Activation
    gate_activation: Activation
    reset_after: bool

    @property
    def n_units(self) -> int:
        """How many numbers a state has."""
        return len(self.recurrent)

    def advance(
        self, x: FloatArray, state: tuple[FloatArray, ...], of_child: IntArray
    ) -> tuple[FloatArray, ...]:
        """Return the states after row ``x[i]`` was read in state ``of_child[i]``."""
        before = tuple(array.take(of_child, axis=0) for array in state)
        inputs = x @ self.kernel + self.bias
        if self.kind == "GRU":
            return (self._gru(inputs, state[0], before[0], of_child),)
        products = state[0] @ self.recurrent + self.recurrent_bias
        sums = inputs + products.take(of_child, axis=0)
        if self.kind == "SimpleRNN":
            return (self.activation(sums),)
        enter, forget, new, leave = np.split(sums, 4, axis=1)
        gate = self.gate_activation
        memory = gate(forget) * before[1] + gate(enter) * self.activation(new)
        return gate(leave) * self.activation(memory), memory

    def _gru(
        self, inputs: FloatArray, hidden: FloatArray, before: FloatArray, of_child: IntArray
    ) -> FloatArray:
        n_gates = 2 * self.n_units if not self.reset_after else 3 * self.n_units
        products = hidden @ self.recurrent[:, :n_gates] + self.recurrent_bias[:n_gates]
        products = products.take(of_child, axis=0)
        ends = [0, self.n_units, 2 * self.n_units]
        update, reset = (
            self.gate_activation(inputs[:, a:b] + products[:, a:b]) for a, b in pairwise(ends)
        )
        if self.reset_after:
            recalled = reset * products[:, ends[2] :]
        else:
            recalled = (reset * before) @ self.recurrent[:, ends[2] :]
        new = self.activation(inputs[:, ends[2] :] + recalled)
        return np.asarray(update * before + (1 - update) * new)


@dataclass(frozen=True, eq=False)
class Recurrence:
    """A recurrent layer: a cell, and what of it the next layer sees.

    Parameters
    ----------
    cell
        Steps the states.
    returns_sequences
        Whether the next layer sees every output, or only the last one.
    goes_backwards
        Whether the last position is read first.
    zeroes_masked
        Whether outputs at masked positions are 0; otherwise the one before stands there again.
    """

    cell: KerasCell
    returns_sequences: bool
    goes_backwards: bool = False
    zeroes_masked: bool = False

    def begin(self, n: int) -> tuple[FloatArray, ...]:
        """Return the states before anything is read."""
        zero = np.zeros((n, self.cell.n_units), np.float32)
        return (zero, zero) if self.cell.kind == "LSTM" else (zero,)

    def advance(
        self,
        x: FloatArray,
        mask: BoolArray | None,
        state: tuple[FloatArray, ...],
        of_child: IntArray,
    ) -> tuple[FloatArray, ...]:
        """Return the states after row ``x[i]`` was read, or masked, in state ``of_child[i]``."""
        after = self.cell.advance(x, state, of_child)
        if mask is None:
            return after
        before = (array.take(of_child, axis=0) for array in state)
        pairs = zip(after, before, strict=True)
        return tuple(np.where(mask[:, None], new, old) for new, old in pairs)

    def run(self, signal: Signal) -> Signal:
        """Read whole sequences."""
        values, mask = signal
        n, length, _ = values.shape
        state, same, outputs = self.begin(n), np.arange(n), []
        for t in reversed(range(length)) if self.goes_backwards else range(length):
            here = None if mask is None else mask[:, t]
            state = self.advance(values[:, t], here, state, same)
            if self.returns_sequences:
                is_zero = self.zeroes_masked and here is not None
                outputs.append(state[0] * here[:, None] if is_zero else state[0])  # type: ignore[index]
        if self.returns_sequences:
            return Signal(np.stack(outputs, axis=1), mask)
        return Signal(state[0])


MERGES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "concat": lambda x, y: np.concatenate([x, y], axis=-1),
    "sum": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "ave": lambda x, y: (x + y) / 2,
}


def bidirectional(forward: Recurrence, backward: Recurrence, merge: str) -> ArrayLayer:
    """Return the layer that reads in both directions and merges the outputs."""

    def run(signal: Signal) -> Signal:
        ahead, back = forward.run(signal), backward.run(signal).values
        if backward.returns_sequences:
            back = back[:, ::-1]
        return ahead._replace(values=MERGES[merge](ahead.values, back))

    return ArrayLayer(run)


# Networks -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayNetwork:
    """A chain of layers; it runs whole sequences, and can be stepped where layers allow it.

    Parameters
    ----------
    layers
        The layers, the first to read first.
    n_features
        The size of the input's last axis; see `read_ids`.
    """

    layers: tuple[ArrayLayer | Recurrence, ...]
    n_features: int | None

    @property
    def is_steppable(self) -> bool:
        """Whether the network can be read id by id."""
        kinds = [isinstance(layer, Recurrence) for layer in self.layers]
        return any(kinds) and all(
            not layer.goes_backwards if isinstance(layer, Recurrence) else layer.is_pointwise
            for layer in self.layers
        )

    @property
    def answers_everywhere(self) -> bool:
        """Whether a network that can be stepped has an output at every position."""
        return all(layer.returns_sequences for layer in self._recurrences)

    @property
    def _recurrences(self) -> list[Recurrence]:
        return [layer for layer in self.layers if isinstance(layer, Recurrence)]

    def run(self, ids: IntArray, lengths: IntArray) -> FloatArray:
        """Return the outputs for ids ``(n, t)``."""
        signal = Signal(read_ids(ids, self.n_features))
        for layer in self.layers:
            signal = layer.run(signal)
        return signal.values

    def begin(self) -> tuple[None, list[tuple[FloatArray, ...]]]:
        """Return no scores, and the state before anything is read."""
        return None, [layer.begin(1) for layer in self._recurrences]

    def advance(
        self, state: list[tuple[FloatArray, ...]], parents: IntArray, ids: IntArray
    ) -> tuple[FloatArray, list[tuple[FloatArray, ...]]]:
        """Return scores and states after reading ``ids[i]`` in ``parents[i]``."""
        used, of_child = distinct_keys(parents, len(state[0][0]))
        before, after = iter(state), list[tuple[FloatArray, ...]]()
        signal = Signal(read_ids(ids[:, None], self.n_features))
        for layer in self.layers:
            if isinstance(layer, ArrayLayer):
                signal = layer.run(signal)
                continue
            own = tuple(array.take(used, axis=0) for array in next(before))
            mask = None if signal.mask is None else signal.mask[:, 0]
            own = layer.advance(signal.values[:, 0], mask, own, of_child)
            after.append(own)
            signal = signal._replace(values=own[0][:, None])
            if not layer.returns_sequences:
                signal = Signal(own[0])
        return signal.values[:, 0] if signal.values.ndim == 3 else signal.values, after
