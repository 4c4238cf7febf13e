"""How a recurrent network steps a batch of states, in NumPy.

Stepping is the hot loop of an extraction, so inside:

- σ(x) = 1 / (1 + exp(-x)) and tanh(x) = 1 - 2 / (1 + exp(2x)), the factors -1 and 2 folded into
  the weights: ``exp`` is half the price of ``tanh``. Where it overflows to infinity the quotient
  is 0, as it should be.
- The gates come first in every array, ``(n_gates, n, n_hidden)``, so that each is contiguous.
- What depends on the parent alone is computed once per parent, and the first layer's input product
  is looked up by symbol. Their sum is all that most gates need, and exp(a + b) = exp(a) exp(b):
  where neither factor can overflow, those gates of the first layer take no exponential of a child.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.tree import distinct_keys
from seqray.blackbox.native.cells import ACTIVATIONS, GATES, DenseLayer, RecurrentLayer
from seqray.util.arrays import FloatArray, IntArray

MAX_SAFE_EXPONENT = 80.0
"""exp of it, and of its negative, are ordinary float32 numbers."""

CHILDREN_PER_BLOCK = 1024
"""How many children are computed at once, so that their arrays stay in the processor's cache."""


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
        """Return the contribution of the layer below, or of the symbols; shaped as `of_parents`."""
        if below is None:
            return self.inputs.take(symbols, axis=1, mode="clip")
        product: FloatArray = np.matmul(below, self.inputs)
        product[len(product) - len(self.input_bias) :] += self.input_bias
        return product

    def of_parents(self, hidden: FloatArray) -> FloatArray:
        """Return the contribution of the parents' hidden states, ``(n_gates, n, n_hidden)``."""
        product: FloatArray = np.matmul(hidden, self.recurrent)
        product[len(product) - len(self.recurrent_bias) :] += self.recurrent_bias
        if self.in_exp:
            np.exp(product[: self.n_sums], out=product[: self.n_sums])
        return product

    def advance(self, inputs: FloatArray, parts: FloatArray, state: list[FloatArray]) -> None:
        """Turn the parents' ``state`` into the children's, in place; overwrite the other arrays."""
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
    """Prepare a layer; ``symbols`` holds the input of the first layer, one row per symbol.

    Where the first layer reads one-hot vectors, it holds the place of the one.
    """
    factors = np.array(GATES[layer.cell])[:, None, None]
    n_gates, n_hidden = len(factors), layer.n_outputs

    def split(array: FloatArray) -> FloatArray:
        """Give gates an axis of their own, scale them, and put inputs before outputs."""
        return factors * array.astype(np.float64).reshape(n_gates, n_hidden, -1).swapaxes(1, 2)

    inputs, input_bias = split(layer.weight_ih), split(layer.bias_ih)
    recurrent, recurrent_bias = split(layer.weight_hh), split(layer.bias_hh)
    n_sums = 2 if layer.cell == "gru" else n_gates  # in n the reset gate stands between them
    in_exp = False
    if symbols is None:
        # Where both biases are only added up, add them once per parent.
        recurrent_bias[:n_sums] += input_bias[:n_sums]
        input_bias = input_bias[n_sums:]
    else:
        # Add them once, in the table.
        input_bias[:n_sums] += recurrent_bias[:n_sums]
        recurrent_bias = recurrent_bias[n_sums:]
        read = inputs[:, symbols] if symbols.dtype.kind == "i" else symbols @ inputs
        inputs = read + input_bias
        reach = np.abs(recurrent).sum(axis=1) + np.abs(inputs).max(axis=1)  # hidden is in [-1, 1]
        in_exp = bool(reach[:n_sums].max() < MAX_SAFE_EXPONENT)
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


@dataclass(frozen=True, eq=False)
class CompiledNetwork:
    """The layers of a network, prepared for stepping.

    Parameters
    ----------
    layers, dense
        The recurrent layers, and the dense layers behind them.
    symbols
        What each symbol shows to the first layer; see `prepare`.
    output_order
        The order in which the network's outputs are returned.
    start
        The symbol that is read before every word; None: there is none.
    """

    layers: Sequence[RecurrentLayer]
    dense: Sequence[DenseLayer]
    symbols: FloatArray | IntArray
    output_order: Sequence[int]
    start: int | None

    @cached_property
    def kernels(self) -> list[Kernel]:
        """The recurrent layers, the first to read first."""
        first, *others = self.layers
        return [prepare(first, self.symbols), *(prepare(layer, None) for layer in others)]

    @cached_property
    def _head(self) -> list[tuple[FloatArray, FloatArray, str]]:
        scaled = [(layer, ACTIVATIONS[layer.activation]) for layer in self.dense]
        head = [(f * d.weight, f * d.bias[:, None], d.activation) for d, f in scaled]
        weight, bias, activation = head[-1]
        order = list(self.output_order)
        return [*head[:-1], (weight[order], bias[order], activation)]

    @cached_property
    def _slots(self) -> list[slice]:
        """The places of each layer's arrays among the hidden ones: h, and for an LSTM also c."""
        ends = np.cumsum([2 if layer.cell == "lstm" else 1 for layer in self.layers]).tolist()
        return [slice(begin, end) for begin, end in pairwise([0, *ends])]

    def begin(self) -> tuple[tuple[FloatArray, ...], FloatArray]:
        """Return the hidden state before the first symbol, and the outputs there."""
        zero = tuple(
            np.zeros((1, layer.n_outputs), np.float32)
            for layer, slot in zip(self.layers, self._slots, strict=True)
            for _ in range(slot.start, slot.stop)
        )
        if self.start is None:
            with np.errstate(over="ignore"):
                return zero, self._outputs(zero[self._slots[-1]][0])
        return self.advance(zero, np.zeros(1, np.int64), np.array([self.start]))

    def advance(
        self, hidden: tuple[FloatArray, ...], parents: IntArray, symbols: IntArray
    ) -> tuple[tuple[FloatArray, ...], FloatArray]:
        """Return the children's hidden states, and the network's outputs, one column per child."""
        kernels, slots = self.kernels, self._slots
        after = tuple(np.empty((len(parents), h.shape[1]), np.float32) for h in hidden)
        outputs = np.empty((self.dense[-1].n_outputs, len(parents)), np.float32)
        used, of_child = distinct_keys(parents, len(hidden[0]))
        with np.errstate(over="ignore"):
            parts = [
                kernel.of_parents(hidden[slot][0].take(used, axis=0, mode="clip"))
                for kernel, slot in zip(kernels, slots, strict=True)
            ]
            for begin in range(0, len(parents), CHILDREN_PER_BLOCK):
                here = slice(begin, begin + CHILDREN_PER_BLOCK)
                below: FloatArray | None = None
                for kernel, part, slot in zip(kernels, parts, slots, strict=True):
                    state = [array[here] for array in after[slot]]
                    for old, new in zip(hidden[slot], state, strict=True):
                        old.take(parents[here], axis=0, out=new, mode="clip")
                    inputs = kernel.of_inputs(below, symbols[here])
                    kernel.advance(inputs, part.take(of_child[here], axis=1, mode="clip"), state)
                    below = state[0]
                assert below is not None
                outputs[:, here] = self._outputs(below)
        return after, outputs

    def _outputs(self, hidden: FloatArray) -> FloatArray:
        """Return the outputs of the dense layers, one column per state."""
        x = hidden.T  # states as columns: biases add, and softmax sums, along whole rows
        for weight, bias, activation in self._head:
            x = weight @ x
            x += bias
            if activation == "relu":
                # NumPy computes the maximum with a row four times as fast as with a single number.
                np.maximum(x, np.zeros(x.shape[1], np.float32), out=x)
            elif activation != "identity":
                np.exp(x, out=x)
                x += 1
                if activation == "tanh":
                    tanh_of(x, x)
                else:
                    np.divide(1, x, out=x)
        return x
