"""The paper's network (section 4) in PyTorch, and its conversion to seqray's own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

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
        number of symbols, as in the paper.
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
        embedding = 3 * n_symbols if embedding is None else embedding
        self.embedding = nn.Embedding(n_symbols + 1, embedding)
        self.recurrent = CELLS[cell][0](embedding, hidden, num_layers=n_layers, batch_first=True)
        sizes = [hidden, max(1, hidden // 2), embedding, n_symbols + 1]
        self.dense = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))

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


def cross_entropy(network: Network, batch: TreeBatch) -> Tensor:
    """Return the cross-entropy of all letters and ends of a batch, summed, in nats."""
    logs = torch.log_softmax(network.on_tree(batch), 1)
    return -(logs * torch.from_numpy(batch.counts)).sum()


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
