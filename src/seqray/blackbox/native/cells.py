"""The layers of recurrent networks, and how they step a batch of states.

Stepping is the hot loop of an extraction, so inside:

- σ(x) = 1 / (1 + exp(-x)) and tanh(x) = 1 - 2 / (1 + exp(2x)), the factors -1 and 2 folded into
  the weights: ``exp`` is half the price of ``tanh``. Where it overflows to infinity the quotient
  is 0, as it should be.
- The gates come first in every array, ``(n_gates, n, n_hidden)``, so that each is contiguous.
- What depends on the parent alone is computed once a parent, and the first layer's input product
  is looked up by symbol. Their sum is all that most gates need, and exp(a + b) = exp(a) exp(b):
  where neither factor can overflow, those gates of the first layer take no exponential of a child.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seqray.util.arrays import FloatArray, IntArray, read_only, real_array
from seqray.util.errors import ArgumentError

GATES = {"tanh": (2,), "gru": (-1, -1, 2), "lstm": (-1, -1, 2, -1)}
"""The gates of each cell in PyTorch's order, as the factor before exp: 2 for tanh, -1 for σ."""

ACTIVATIONS = {"identity": 1, "relu": 1, "tanh": 2, "sigmoid": -1}
"""The activations of dense layers, with the factor before exp where there is one."""

RECURRENT_ARRAYS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")

_LARGEST = 1e9  # a weight; beyond it products of float32 may overflow
_SAFE_EXPONENT = 80.0  # exp of it, and of its negative, are ordinary float32 numbers


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
        """How many numbers its hidden state has, which is what it shows to the next layer."""
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
        """How many numbers it gives."""
        return int(self.weight.shape[0])

    def __repr__(self) -> str:
        return f"DenseLayer({self.n_inputs} -> {self.n_outputs}, {self.activation})"


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is not known."""
    if name not in known:
        raise ArgumentError(f"{what}: expected one of {', '.join(known)}, got {name!r}")


def keep_float32(value: object, name: str, shape: tuple[int | None, ...]) -> None:
    """Check an array field of a frozen value and keep it as read-only float32."""
    array = real_array(name, getattr(value, name), shape)
    if np.abs(array).max(initial=0) > _LARGEST:
        raise ArgumentError(f"{name}: expected numbers up to {_LARGEST:g}, got larger ones")
    object.__setattr__(value, name, read_only(array.astype(np.float32)))


# How a layer steps ----------------------------------------------------------------------------


class Kernel(NamedTuple):
    """The weights of a recurrent layer as its step needs them: scaled, transposed, gates first."""

    cell: str
    inputs: FloatArray  # (n_gates, n_inputs, n_hidden); a table by symbol in the first layer
    input_bias: FloatArray  # (n, 1, n_hidden), of the last n gates: others have it elsewhere
    recurrent: FloatArray  # (n_gates, n_hidden, n_hidden)
    recurrent_bias: FloatArray  # (n, 1, n_hidden), likewise
    n_sums: int  # how many leading gates only need the sum of both products
    in_exp: bool  # whether exp of those gates was taken before, so that they multiply

    def of_inputs(self, below: FloatArray | None, symbols: IntArray) -> FloatArray:
        """Return what the layer below, or the symbols, contribute; shaped as `of_parents`."""
        if below is None:
            return self.inputs.take(symbols, axis=1, mode="clip")
        product: FloatArray = np.matmul(below, self.inputs)
        product[len(product) - len(self.input_bias) :] += self.input_bias
        return product

    def of_parents(self, hidden: FloatArray) -> FloatArray:
        """Return what the parents' hidden states contribute, shape ``(n_gates, n, n_hidden)``."""
        product: FloatArray = np.matmul(hidden, self.recurrent)
        product[len(product) - len(self.recurrent_bias) :] += self.recurrent_bias
        if self.in_exp:
            np.exp(product[: self.n_sums], out=product[: self.n_sums])
        return product

    def advance(self, inputs: FloatArray, parts: FloatArray, state: list[FloatArray]) -> None:
        """Turn the parents' ``state`` into the children's, in place; the rest is used up."""
        gates = inputs[: self.n_sums]
        if self.in_exp:
            gates *= parts[: self.n_sums]
        else:
            gates += parts[: self.n_sums]
            np.exp(gates, out=gates)
        gates += 1  # now 1 / gates is σ, and 1 - 2 / gates is tanh
        if self.cell == "tanh":
            tanh_of(gates[0], state[0])
        elif self.cell == "gru":
            reset, update = gates
            new, hidden = parts[2], state[0]
            new /= reset
            new += inputs[2]
            np.exp(new, out=new)
            new += 1
            tanh_of(new, new)
            hidden -= new  # h' = (1 - z) n + z h = n + z (h - n)
            hidden /= update
            hidden += new
        else:
            enter, forget, new, leave = gates
            hidden, memory = state
            tanh_of(new, new)
            new /= enter
            memory /= forget
            memory += new
            np.multiply(memory, 2, out=hidden)
            np.exp(hidden, out=hidden)
            hidden += 1
            tanh_of(hidden, hidden)
            hidden /= leave


def tanh_of(gate: FloatArray, out: FloatArray) -> None:
    """Write tanh(x) = 1 - 2 / gate, where gate = 1 + exp(2x)."""
    np.divide(2, gate, out=out)
    np.subtract(1, out, out=out)


def prepare(layer: RecurrentLayer, symbols: FloatArray | IntArray | None) -> Kernel:
    """Prepare a layer; ``symbols`` is what each symbol shows to the first layer, one a row.

    Where the first layer reads one-hot vectors, it is the place of the one.
    """
    factors = np.array(GATES[layer.cell])[:, None, None]
    n_gates, n_hidden = len(factors), layer.n_outputs

    def split(array: FloatArray) -> FloatArray:
        """Give gates an axis of their own, scale them, and put what is read before what is not."""
        return factors * array.astype(np.float64).reshape(n_gates, n_hidden, -1).swapaxes(1, 2)

    inputs, input_bias = split(layer.weight_ih), split(layer.bias_ih)
    recurrent, recurrent_bias = split(layer.weight_hh), split(layer.bias_hh)
    n_sums = 2 if layer.cell == "gru" else n_gates  # in n the reset gate stands between them
    in_exp = False
    if symbols is None:
        # Where both biases are only added up, add them once a parent.
        recurrent_bias[:n_sums] += input_bias[:n_sums]
        input_bias = input_bias[n_sums:]
    else:
        # Add them in the table, once and for all.
        input_bias[:n_sums] += recurrent_bias[:n_sums]
        recurrent_bias = recurrent_bias[n_sums:]
        read = inputs[:, symbols] if symbols.dtype.kind == "i" else symbols @ inputs
        inputs = read + input_bias
        reach = np.abs(recurrent).sum(axis=1) + np.abs(inputs).max(axis=1)  # hidden is in [-1, 1]
        in_exp = bool(reach[:n_sums].max() < _SAFE_EXPONENT)
        if in_exp:
            inputs[:n_sums] = np.exp(inputs[:n_sums])
    return Kernel(
        layer.cell,
        np.ascontiguousarray(inputs, np.float32),
        np.ascontiguousarray(input_bias, np.float32),
        np.ascontiguousarray(recurrent, np.float32),
        np.ascontiguousarray(recurrent_bias, np.float32),
        n_sums,
        in_exp,
    )
