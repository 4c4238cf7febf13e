"""Recurrent networks as black boxes, in plain NumPy.

A network reads a word symbol by symbol through a stack of recurrent layers; dense layers then turn
the last one's hidden state into an answer. There are two kinds: a `RecurrentNetwork` answers one
number per word, a `RecurrentLanguageModel` also predicts the next symbol.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.reading import ReadsPredictions, ReadsWords
from seqray.automata.tree import States
from seqray.automata.words import Alphabet
from seqray.blackbox.native.cells import (
    GATES,
    RECURRENT_ARRAYS,
    DenseLayer,
    RecurrentLayer,
    check_name,
    keep_float32,
)
from seqray.blackbox.native.kernels import CompiledNetwork
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError
from seqray.util.files import check_header, read_bytes, reading
from seqray.util.tensors_file import opened_tensors, write_tensors

__all__ = ["DenseLayer", "RecurrentLanguageModel", "RecurrentLayer", "RecurrentNetwork"]

FORMAT, VERSION = "seqray.rnn", 1


class RecurrentStates(NamedTuple):
    """A batch of states: the hidden states of the layers, and the value there, shape ``(n,)``."""

    hidden: tuple[FloatArray, ...]
    value: FloatArray


class RecurrentModelStates(NamedTuple):
    """A batch of states: the hidden states of the layers, and logarithms of probabilities.

    ``log_weight`` is that of the symbols so far, shape ``(n,)``; ``log_next`` that of each next
    symbol, the end last, shape ``(n, n_symbols + 1)``.
    """

    hidden: tuple[FloatArray, ...]
    log_weight: FloatArray
    log_next: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class RecurrentNetwork(ReadsWords):
    """A recurrent network that gives one number to each word, read after its last symbol.

    Parameters
    ----------
    alphabet
        The symbols of the words, an `Alphabet` or what makes one.
    layers
        The recurrent layers, the first to read first.
    dense
        The dense layers behind them, at least one; the last one has a single output.
    embedding
        The first layer's input for each input id, shape ``(n_ids, n_inputs)``. None: one-hot.
    input_ids
        The input id of each symbol; None: its code.
    start_id
        The input id that is read before every word; None: nothing is, the hidden state is zero.

    Examples
    --------
    A network that remembers the last symbol only:

    >>> layer = RecurrentLayer("tanh", [[1, -1]], [[0]], [0], [0])
    >>> network = RecurrentNetwork("ab", [layer], [DenseLayer([[1]], [0])])
    >>> network
    RecurrentNetwork(2 symbols, tanh 2 -> 1, dense 1 -> 1)
    >>> network.weights(["", "a", "ab"]).round(4)
    array([ 0.    ,  0.7616, -0.7616])
    """

    alphabet: Alphabet
    layers: Sequence[RecurrentLayer]
    dense: Sequence[DenseLayer]
    embedding: FloatArray | None = None
    input_ids: Sequence[int] | None = None
    start_id: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "alphabet", Alphabet.of(self.alphabet))
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "dense", tuple(self.dense))
        if not self.layers or not self.dense:
            raise ArgumentError(
                "a network needs at least one recurrent and one dense layer, got "
                f"{len(self.layers)} and {len(self.dense)}"
            )
        if self.embedding is not None:
            keep_float32(self, "embedding", (None, self.layers[0].n_inputs))
        stack: list[RecurrentLayer | DenseLayer] = [*self.layers, *self.dense]
        for before, layer in pairwise(stack):
            if layer.n_inputs != before.n_outputs:
                raise ArgumentError(
                    f"{layer}: expected {before.n_outputs} inputs, the outputs of the {before} "
                    "before it"
                )
        self._keep_ids("input_ids", self.n_ids, "input ids")
        if self.start_id is not None:
            object.__setattr__(self, "start_id", int(self.start_id))
            _check_ids("start_id", [self.start_id], self.n_ids, "input ids")
        self._check_output()

    def _check_output(self) -> None:
        if self.dense[-1].n_outputs != 1:
            raise ArgumentError(f"{self.dense[-1]!r}: expected 1 output, the value of the word")

    def _keep_ids(self, name: str, limit: int, what: str) -> None:
        ids = getattr(self, name)
        ids = tuple(range(len(self.alphabet)) if ids is None else map(int, ids))
        if len(ids) != len(self.alphabet):
            raise ArgumentError(f"{name}: expected one for each of {self.alphabet}, got {len(ids)}")
        _check_ids(name, ids, limit, what)
        object.__setattr__(self, name, ids)

    @property
    def n_ids(self) -> int:
        """How many input ids the network has."""
        return self.layers[0].n_inputs if self.embedding is None else len(self.embedding)

    def __repr__(self) -> str:
        parts = [f"{len(self.alphabet)} symbols"]
        parts += [f"{layer.cell} {layer.n_inputs} -> {layer.n_outputs}" for layer in self.layers]
        parts += [f"dense {layer.n_inputs} -> {layer.n_outputs}" for layer in self.dense]
        return f"{type(self).__name__}({', '.join(parts)})"

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all its weights: the key of its cached answers."""
        digest = hashlib.sha256(json.dumps(self._config()).encode())
        for name, tensor in self._tensors().items():
            digest.update(name.encode() + tensor.tobytes())
        return f"rnn {digest.hexdigest()}"

    def start(self) -> States:
        """Return a batch of one: the state before the first symbol."""
        hidden, outputs = self._compiled.begin()
        return RecurrentStates(hidden, outputs[0].astype(np.float64))

    def step(self, states: States, parents: IntArray, symbols: IntArray) -> States:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        hidden, outputs = self._compiled.advance(states.hidden, parents, symbols)
        return RecurrentStates(hidden, outputs[0].astype(np.float64))

    @cached_property
    def _compiled(self) -> CompiledNetwork:
        ids = [*(self.input_ids or ()), *([] if self.start_id is None else [self.start_id])]
        shown = np.array(ids) if self.embedding is None else self.embedding[ids]
        start = None if self.start_id is None else len(self.alphabet)
        return CompiledNetwork(self.layers, self.dense, shown, self._order(), start)

    def _order(self) -> list[int]:
        """Return the order in which the outputs are wanted."""
        return [0]

    # Files --------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, half: bool = False) -> None:
        """Write to a ``.safetensors`` file, with PyTorch's names and layouts.

        With ``half``, weights are rounded to half precision: the file is half as large, and `load`
        returns the rounded network.
        """
        config = {"format": FORMAT, "version": VERSION, **self._config()}
        kind = np.float16 if half else np.float32
        with np.errstate(over="ignore"):
            tensors = {name: array.astype(kind) for name, array in self._tensors().items()}
        if not all(np.isfinite(array).all() for array in tensors.values()):
            raise ArgumentError(f"half: some weights are above {np.finfo(kind).max:g}: save whole")
        write_tensors(path, tensors, config)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> RecurrentNetwork:
        """Read a file that `save` wrote, of either kind. No file can run code."""
        read_bytes(path, 1)  # its error says why there is no file to read
        with reading(path, "a network of seqray"), opened_tensors(path) as (config, file):
            if config is None:
                raise ValueError(
                    "not in seqray's own form; for weights of PyTorch write "
                    f"torch:{path}, with a card beside them (docs/cards.md)"
                )
            check_header(config, FORMAT, VERSION)
            return _from_file(config, _tensors(config, file))

    def _config(self) -> dict[str, Any]:
        return {
            "output": "value",
            "alphabet": self.alphabet.to_json(),
            "n_ids": self.n_ids,
            "embedding": None if self.embedding is None else self.embedding.shape[1],
            "recurrent": [{"cell": d.cell, "n_outputs": d.n_outputs} for d in self.layers],
            "dense": [{"activation": d.activation, "n_outputs": d.n_outputs} for d in self.dense],
            "input_ids": self.input_ids,
            "start_id": self.start_id,
        }

    def _tensors(self) -> dict[str, FloatArray]:
        tensors = {} if self.embedding is None else {"embedding.weight": self.embedding}
        for i, layer in enumerate(self.layers):
            tensors |= {f"recurrent.{i}.{name}": getattr(layer, name) for name in RECURRENT_ARRAYS}
        for i, dense in enumerate(self.dense):
            tensors |= {f"dense.{i}.weight": dense.weight, f"dense.{i}.bias": dense.bias}
        return tensors


@dataclass(frozen=True, eq=False, repr=False)
class RecurrentLanguageModel(ReadsPredictions, RecurrentNetwork):
    """A recurrent network that predicts the next symbol: softmax over all its outputs.

    Parameters
    ----------
    alphabet, layers, dense, embedding, input_ids, start_id
        As for `RecurrentNetwork`, but the last dense layer has one output per next symbol.
    output_columns
        The output of each symbol; None: its code. Where the network has more outputs than symbols
        and the end (padding, say), next-symbol probabilities sum to less than one.
    end_column
        The output of the end of the word; None: the one after the last code.

    Examples
    --------
    >>> layer = RecurrentLayer("tanh", [[1, -1]], [[0]], [0], [0])
    >>> model = RecurrentLanguageModel("ab", [layer], [DenseLayer([[1], [-1], [0]], [0, 0, 0])])
    >>> model.next_symbol(["", "a"]).round(4)
    array([[0.3333, 0.3333, 0.3333],
           [0.5935, 0.1294, 0.2771]])
    >>> model.weights(["", "a"]).round(4)
    array([0.3333, 0.0924])
    """

    output_columns: Sequence[int] | None = None
    end_column: int | None = None

    def _check_output(self) -> None:
        n_outputs = self.dense[-1].n_outputs
        end = len(self.alphabet) if self.end_column is None else int(self.end_column)
        object.__setattr__(self, "end_column", end)
        self._keep_ids("output_columns", n_outputs, "outputs")
        _check_ids("end_column", [end], n_outputs, "outputs")
        if len(set(self._columns)) < len(self._columns):
            raise ArgumentError(
                f"output_columns and end_column: expected all different, got {self._columns}"
            )

    @property
    def _columns(self) -> list[int]:
        return [*(self.output_columns or ()), self.end_column or 0]

    def _order(self) -> list[int]:
        others = set(range(self.dense[-1].n_outputs)) - set(self._columns)
        return [*self._columns, *sorted(others)]

    def start(self) -> RecurrentModelStates:
        """Return a batch of one: the state before the first symbol."""
        hidden, outputs = self._compiled.begin()
        return RecurrentModelStates(hidden, np.zeros(1), self._log_softmax(outputs))

    def step(
        self, states: RecurrentModelStates, parents: IntArray, symbols: IntArray
    ) -> RecurrentModelStates:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        hidden, outputs = self._compiled.advance(states.hidden, parents, symbols)
        log_weight = states.log_weight[parents] + states.log_next[parents, symbols]
        return RecurrentModelStates(hidden, log_weight, self._log_softmax(outputs))

    def _log_softmax(self, outputs: FloatArray) -> FloatArray:
        outputs -= outputs.max(axis=0)
        outputs -= np.log(np.exp(outputs).sum(axis=0))
        return outputs[: len(self.alphabet) + 1].T

    def _config(self) -> dict[str, Any]:
        return {
            **super()._config(),
            "output": "softmax",
            "output_columns": self.output_columns,
            "end_column": self.end_column,
        }


def _check_ids(name: str, ids: Iterable[int], limit: int, what: str) -> None:
    for each in ids:
        if not 0 <= each < limit:
            raise ArgumentError(f"{name}: {each} is outside the network's {limit} {what}")


def _tensors(config: dict[str, Any], file: Any) -> dict[str, FloatArray]:
    """Return the tensors of the network that a file describes; check their names and shapes."""
    check_name("output", config["output"], ("value", "softmax"))
    shapes: dict[str, tuple[int, ...]] = {}
    width = config["n_ids"]
    if config["embedding"] is not None:
        shapes["embedding.weight"] = (width, config["embedding"])
        width = config["embedding"]
    for i, layer in enumerate(config["recurrent"]):
        check_name("cell", layer["cell"], GATES)
        n_outputs = layer["n_outputs"]
        n_rows = n_outputs * len(GATES[layer["cell"]])
        wanted = ((n_rows, width), (n_rows, n_outputs), (n_rows,), (n_rows,))
        shapes |= {f"recurrent.{i}.{n}": s for n, s in zip(RECURRENT_ARRAYS, wanted, strict=True)}
        width = n_outputs
    for i, layer in enumerate(config["dense"]):
        shapes[f"dense.{i}.weight"] = (layer["n_outputs"], width)
        shapes[f"dense.{i}.bias"] = (layer["n_outputs"],)
        width = layer["n_outputs"]
    names = set(file.keys())
    for name, shape in shapes.items():
        if name not in names:
            raise KeyError(name)
        if (actual := tuple(file.get_slice(name).get_shape())) != shape:
            raise ValueError(f"{name} has shape {actual}, its header says {shape}")
    return {name: file.get_tensor(name) for name in shapes}


def _from_file(config: dict[str, Any], tensors: dict[str, FloatArray]) -> RecurrentNetwork:
    """Build the network that a file describes."""
    layers = [
        RecurrentLayer(
            layer["cell"], *(tensors[f"recurrent.{i}.{name}"] for name in RECURRENT_ARRAYS)
        )
        for i, layer in enumerate(config["recurrent"])
    ]
    dense = [
        DenseLayer(tensors[f"dense.{i}.weight"], tensors[f"dense.{i}.bias"], layer["activation"])
        for i, layer in enumerate(config["dense"])
    ]
    embedding = tensors["embedding.weight"] if config["embedding"] is not None else None
    read = (Alphabet(config["alphabet"]), layers, dense, embedding)
    ids = (config["input_ids"], config["start_id"])
    if config["output"] == "value":
        return RecurrentNetwork(*read, *ids)
    return RecurrentLanguageModel(*read, *ids, config["output_columns"], config["end_column"])
