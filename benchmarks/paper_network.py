"""The paper's network in PyTorch, the peer of the benchmarks, and its copy in seqray."""

from itertools import pairwise

import numpy as np

try:
    import torch
    from torch import nn
except ImportError:
    raise SystemExit("this benchmark needs PyTorch: pip install 'seqray[torch]'") from None

from seqray.blackbox.rnn import DenseLayer, RecurrentLanguageModel, RecurrentLayer
from seqray.words import Alphabet, Words

HIDDEN = 50


class Network(nn.Module):
    """The paper's network: embedding, two GRU layers, two ReLU layers, softmax."""

    def __init__(self, n_symbols: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_symbols + 1, 3 * n_symbols)
        self.recurrent = nn.GRU(3 * n_symbols, HIDDEN, num_layers=2, batch_first=True)
        sizes = [HIDDEN, HIDDEN // 2, 3 * n_symbols, n_symbols + 1]
        self.dense = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))

    def forward(self, ids: torch.Tensor, aims: torch.Tensor) -> torch.Tensor:
        """Return the probability of each word; an aim of -1 is padding."""
        x, _ = self.recurrent(self.embedding(ids))
        for layer in self.dense[:-1]:
            x = torch.relu(layer(x))
        logs = torch.log_softmax(self.dense[-1](x), -1)
        chosen = logs.gather(-1, aims.clamp(min=0)[:, :, None])[:, :, 0]
        return (chosen * (aims >= 0)).sum(1).exp()


def padded(words: Words) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what the network reads, with the start marker, and what it should predict."""
    n, longest, end = len(words), int(words.lengths.max()), len(words.alphabet)
    inside = np.arange(longest + 1) < words.lengths[:, None]
    ids = np.zeros((n, longest + 1), np.int64)
    ids[:, 0] = end
    ids[:, 1:][inside[:, :-1]] = words.codes
    aims = np.full((n, longest + 1), -1)
    aims[inside] = words.codes
    aims[np.arange(n), words.lengths] = end
    return torch.from_numpy(ids), torch.from_numpy(aims)


def to_seqray(network: Network, alphabet: Alphabet) -> RecurrentLanguageModel:
    """Copy the weights into the network that seqray steps."""
    weights = {k: v.numpy() for k, v in network.state_dict().items()}
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    layers = [
        RecurrentLayer("gru", *(weights[f"recurrent.{name}_l{i}"] for name in names))
        for i in range(2)
    ]
    dense = [
        DenseLayer(weights[f"dense.{i}.weight"], weights[f"dense.{i}.bias"], activation)
        for i, activation in enumerate(("relu", "relu", "identity"))
    ]
    embedding = weights["embedding.weight"]
    return RecurrentLanguageModel(alphabet, layers, dense, embedding, start_id=len(alphabet))
