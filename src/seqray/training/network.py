"""The paper's network (section 4) in PyTorch, and its conversion to seqray's own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from seqray.automata.tree_batches import TreeBatch
from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.native.cells import DenseLayer, RecurrentLayer, check_name
from seqray.blackbox.native.rnn import RecurrentLanguageModel
from seqray.training.recurrence import GruOnTree, LstmOnTree, TanhOnTree

CELLS: dict[str, tuple[Callable[..., nn.RNNBase], Callable[..., Any]]] = {
    "gru": (nn.GRU, GruOnTree.apply),
    "lstm": (nn.LSTM, LstmOnTree.apply),
    "tanh": (nn.RNN, TanhOnTree.apply),
}
"""The recurrent layers: PyTorch's own, and the same along a prefix tree."""


MAX_DEFAULT_WIDTH = 256
"""Of the embedding and of the second dense layer, unless somebody wants more."""


def default_width(n_symbols: int) -> int:
    """Return the size of the embedding of a symbol, and the units of the second dense layer.

    It is the paper's three times the number of symbols, up to a bound: with hundreds of symbols
    nearly all time would go into these two layers.

    Examples
    --------
    >>> default_width(4), default_width(33), default_width(85), default_width(700)
    (12, 99, 255, 256)
    """
    return min(3 * n_symbols, MAX_DEFAULT_WIDTH)


def is_large(n_symbols: int) -> bool:
    """Return whether an alphabet is too large for the paper's widths."""
    return default_width(n_symbols) < 3 * n_symbols


class Network(nn.Module):
    """Embedding, recurrent layers, two dense ReLU layers, one output per symbol and for the end.

    Parameters
    ----------
    n_symbols
        The size of the alphabet.
    hidden
        Units of each recurrent layer; the first dense layer has half as many.
    n_layers
        How many recurrent layers.
    embedding
        Size of the vector of a symbol, and units of the second dense layer; None: three times the
        number of symbols, as in the paper, but at most 256 (`default_width`).
    cell
        ``"gru"``, ``"lstm"`` or ``"tanh"``.

    Examples
    --------
    The network reads a start marker, numbered after the symbols, and predicts at every position:

    >>> network = Network(2, hidden=8)
    >>> network(torch.tensor([[2, 0, 1], [2, 1, 1]])).shape
    torch.Size([2, 3, 3])
    """

    def __init__(
        self,
        n_symbols: int,
        *,
        hidden: int = 50,
        n_layers: int = 2,
        embedding: int | None = None,
        cell: str = "gru",
    ) -> None:
        super().__init__()
        check_name("cell", cell, CELLS)
        self.cell = cell
        embedding = default_width(n_symbols) if embedding is None else embedding
        self.embedding = nn.Embedding(n_symbols + 1, embedding)
        self.recurrent = CELLS[cell][0](embedding, hidden, num_layers=n_layers, batch_first=True)
        sizes = [hidden, max(1, hidden // 2), embedding, n_symbols + 1]
        self.dense = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        if is_large(n_symbols) and embedding < 3 * n_symbols:
            self._keep_the_signal()

    def _keep_the_signal(self) -> None:
        """Begin with larger weights in the ReLU layers (He et al. 2015).

        PyTorch's weights make the signal smaller in each layer. A layer of three times as many
        units as symbols makes up for that; a narrower one learns slowly at first.
        """
        for name, weight in self.dense[:-1].named_parameters():
            if name.endswith("weight"):
                nn.init.kaiming_uniform_(weight, nonlinearity="relu")

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits of what follows each position of words side by side.

        From ids of shape ``(n, length)``, the first the start marker, comes ``(n, length,
        n_symbols + 1)``. This is PyTorch's own method; `on_tree` gives the same and
        is faster.
        """
        hidden: Tensor = self.recurrent(self.embedding(ids))[0]
        return self.head(hidden)

    def on_tree(self, batch: TreeBatch) -> Tensor:
        """Return the logits of the next symbol at every node, ``(n_nodes, n_symbols + 1)``."""
        weights = dict(self.recurrent.named_parameters())
        parents, symbols = torch.from_numpy(batch.parents), torch.from_numpy(batch.symbols)
        layer, shown = CELLS[self.cell][1], self.embedding.weight
        for i in range(self.recurrent.num_layers):
            inputs = nn.functional.linear(
                shown, weights[f"weight_ih_l{i}"], weights[f"bias_ih_l{i}"]
            )
            if i == 0:  # there are few symbols: their products are looked up
                inputs = inputs[symbols]
            recurrent = weights[f"weight_hh_l{i}"], weights[f"bias_hh_l{i}"]
            shown = layer(inputs, *recurrent, parents, batch.sizes)
        return self.head(shown)

    def head(self, hidden: Tensor) -> Tensor:
        """Return the logits of the last recurrent layer's states."""
        for layer in self.dense[:-1]:
            hidden = torch.relu(layer(hidden))
        logits: Tensor = self.dense[-1](hidden)
        return logits


class CrossEntropyOfCells(Function):
    """The cross-entropy of counts that are nearly all 0: ``apply(logits, cells, cell_counts)``.

    The cells are those of a `TreeBatch`. No array but the logits and their gradient has a number
    for each node and symbol.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, cells: Tensor, cell_counts: Tensor) -> Tensor:
        """Return the sum over all cells, in nats."""
        logs = torch.log_softmax(logits, 1)
        ctx.save_for_backward(logs, cells, cell_counts)
        return -(logs.flatten()[cells] * cell_counts).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient of the logits: what is predicted, less what is."""
        logs, cells, cell_counts = ctx.saved_tensors
        weights = cell_counts * gradient
        visits = weights.new_zeros(len(logs)).index_add_(0, cells // logs.shape[1], weights)
        result = torch.exp(logs).mul_(visits.unsqueeze(1))
        result.view(-1).index_add_(0, cells, weights, alpha=-1)
        return result, None, None


def cross_entropy(network: Network, batch: TreeBatch) -> Tensor:
    """Return the cross-entropy of all letters and ends of a batch, summed, in nats."""
    logits = network.on_tree(batch)
    if is_large(batch.n_columns - 1):
        cells, cell_counts = torch.from_numpy(batch.cells), torch.from_numpy(batch.cell_counts)
        weights = cell_counts.to(logits.dtype)
        total: Tensor = CrossEntropyOfCells.apply(logits, cells, weights)  # type: ignore[no-untyped-call]
        return total
    return -(torch.log_softmax(logits, 1) * torch.from_numpy(batch.counts)).sum()


def to_seqray(network: Network, alphabet: Alphabet | list[Symbol] | str) -> RecurrentLanguageModel:
    """Return seqray's own network with the same weights, which needs no PyTorch.

    Examples
    --------
    >>> to_seqray(Network(2, hidden=8), "ab")
    RecurrentLanguageModel(2 symbols, gru 6 -> 8, gru 8 -> 8, dense 8 -> 4, dense 4 -> 6,
    dense 6 -> 3)
    """
    alphabet = Alphabet.of(alphabet)
    weights = {name: tensor.numpy().copy() for name, tensor in network.state_dict().items()}
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    layers = [
        RecurrentLayer(network.cell, *(weights[f"recurrent.{name}_l{i}"] for name in names))
        for i in range(network.recurrent.num_layers)
    ]
    dense = [
        DenseLayer(weights[f"dense.{i}.weight"], weights[f"dense.{i}.bias"], activation)
        for i, activation in enumerate(("relu", "relu", "identity"))
    ]
    embedding = weights["embedding.weight"]
    return RecurrentLanguageModel(alphabet, layers, dense, embedding, start_id=len(alphabet))
