"""The layers of recurrent networks: their weights and shapes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from seqray.util.arrays import FloatArray, read_only, real_array
from seqray.util.errors import ArgumentError

GATES = {"tanh": (2,), "gru": (-1, -1, 2), "lstm": (-1, -1, 2, -1)}
"""The gates of each cell in PyTorch's order, as the factor before exp: 2 for tanh, -1 for σ."""

ACTIVATIONS = {"identity": 1, "relu": 1, "tanh": 2, "sigmoid": -1}
"""The activations of dense layers, with the factor before exp where there is one."""

RECURRENT_ARRAYS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")

MAX_WEIGHT = 1e9
"""Largest weight of a layer: beyond it products of float32 may overflow."""


@dataclass(frozen=True, eq=False, repr=False)
class RecurrentLayer:
    """One recurrent layer, with PyTorch's layouts and conventions.

    Parameters
    ----------
    cell
        ``"tanh"`` (the plain RNN), ``"gru"`` (gates in the order r, z, n) or ``"lstm"`` (i, f,
        g, o).
    weight_ih
        From the input, shape ``(n_gates * n_hidden, n_inputs)``.
    weight_hh
        From the hidden state, shape ``(n_gates * n_hidden, n_hidden)``.
    bias_ih, bias_hh
        Shape ``(n_gates * n_hidden,)`` each.

    Examples
    --------
    >>> RecurrentLayer("gru", np.ones((6, 3)), np.ones((6, 2)), np.zeros(6), np.zeros(6))
    RecurrentLayer(gru, 3 -> 2)
    """

    cell: str
    weight_ih: FloatArray
    weight_hh: FloatArray
    bias_ih: FloatArray
    bias_hh: FloatArray

    def __post_init__(self) -> None:
        check_name("cell", self.cell, GATES)
        n_gates = len(GATES[self.cell])
        n_rows = np.shape(self.weight_hh)[0] if np.ndim(self.weight_hh) else 0
        if n_rows == 0 or n_rows % n_gates:
            raise ArgumentError(
                f"weight_hh of a {self.cell} layer: expected shape ({n_gates} * n_hidden, "
                f"n_hidden), got {np.shape(self.weight_hh)}"
            )
        shapes = {"weight_ih": (n_rows, None), "weight_hh": (n_rows, n_rows // n_gates)}
        for name in RECURRENT_ARRAYS:
            keep_float32(self, name, shapes.get(name, (n_rows,)))

    @property
    def n_inputs(self) -> int:
        """How many numbers the layer reads at a time."""
        return int(self.weight_ih.shape[1])

    @property
    def n_outputs(self) -> int:
        """How many numbers its hidden state has, which the next layer reads."""
        return int(self.weight_hh.shape[1])

    def __repr__(self) -> str:
        return f"RecurrentLayer({self.cell}, {self.n_inputs} -> {self.n_outputs})"


@dataclass(frozen=True, eq=False, repr=False)
class DenseLayer:
    """One dense layer: ``activation(weight @ input + bias)``.

    Parameters
    ----------
    weight
        Shape ``(n_outputs, n_inputs)``.
    bias
        Shape ``(n_outputs,)``.
    activation
        ``"identity"``, ``"relu"``, ``"tanh"`` or ``"sigmoid"``.

    Examples
    --------
    >>> DenseLayer(np.ones((3, 2)), np.zeros(3), "relu")
    DenseLayer(2 -> 3, relu)
    """

    weight: FloatArray
    bias: FloatArray
    activation: str = "identity"

    def __post_init__(self) -> None:
        check_name("activation", self.activation, ACTIVATIONS)
        keep_float32(self, "weight", (None, None))
        keep_float32(self, "bias", (self.n_outputs,))

    @property
    def n_inputs(self) -> int:
        """How many numbers the layer reads."""
        return int(self.weight.shape[1])

    @property
    def n_outputs(self) -> int:
        """How many numbers it returns."""
        return int(self.weight.shape[0])

    def __repr__(self) -> str:
        return f"DenseLayer({self.n_inputs} -> {self.n_outputs}, {self.activation})"


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """Raise an error for a name that is not among the known ones."""
    if name not in known:
        raise ArgumentError(f"{what}: expected one of {', '.join(known)}, got {name!r}")


def keep_float32(value: object, name: str, shape: tuple[int | None, ...]) -> None:
    """Check an array field of a frozen value and store it as read-only float32."""
    array = real_array(name, getattr(value, name), shape)
    if np.abs(array).max(initial=0) > MAX_WEIGHT:
        raise ArgumentError(f"{name}: expected numbers up to {MAX_WEIGHT:g}, got larger ones")
    object.__setattr__(value, name, read_only(array.astype(np.float32)))
