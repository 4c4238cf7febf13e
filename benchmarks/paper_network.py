"""The paper's network in PyTorch, the peer of the benchmarks, and its copy in seqray."""

import numpy as np

try:
    import torch
except ImportError:
    raise SystemExit("this benchmark needs PyTorch: pip install '.[torch]'") from None

from seqray.automata.words import Words
from seqray.training.network import Network as PaperNetwork
from seqray.training.network import to_seqray

__all__ = ["HIDDEN", "Network", "PaperNetwork", "padded", "to_seqray", "torch"]

HIDDEN = 50


class Network(PaperNetwork):
    """The paper's network as a function from words to probabilities."""

    def __init__(self, n_symbols: int, hidden: int = HIDDEN) -> None:
        super().__init__(n_symbols, hidden=hidden)

    def forward(self, ids: torch.Tensor, aims: torch.Tensor) -> torch.Tensor:
        """Return the probability of each word; an aim of -1 is padding."""
        logs = torch.log_softmax(super().forward(ids), -1)
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
