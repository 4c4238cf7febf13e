"""A network together with its optimiser, all their numbers in a few flat arrays.

With one array per kind, a step of the optimiser is a few operations instead of a few per weight
matrix, and a checkpoint is a copy of four arrays.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import nn

from seqray.automata.tree_batches import TreeBatch
from seqray.training.network import Network, cross_entropy
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError


class Learner:
    """A network that learns by Adam."""

    def __init__(self, network: Network) -> None:
        self.network = network
        parameters = list(network.parameters())
        self.weights = torch.cat([each.detach().flatten() for each in parameters])
        self.gradient = torch.zeros_like(self.weights)
        sizes = [each.numel() for each in parameters]
        views = zip(
            torch.split(self.weights, sizes), torch.split(self.gradient, sizes), strict=True
        )
        for each, (weights, gradient) in zip(parameters, views, strict=True):
            each.data = weights.view_as(each)
            each.grad = gradient.view_as(each)
        flat = nn.Parameter(self.weights)
        flat.grad = self.gradient
        self.adam = torch.optim.Adam([flat])
        self.moments = {
            "step": torch.zeros(()),
            "exp_avg": torch.zeros_like(self.weights),
            "exp_avg_sq": torch.zeros_like(self.weights),
        }
        self.adam.state[flat] = self.moments

    def learn(self, batch: TreeBatch, rate: float, clip: float) -> float:
        """Take one step against the gradient; return the batch's summed cross-entropy before it."""
        self.gradient.zero_()
        total = cross_entropy(self.network, batch)
        (total / batch.n_letters).backward()  # type: ignore[no-untyped-call]
        norm = self.gradient.norm().item()
        if norm > clip:
            self.gradient.mul_(clip / norm)
        self.adam.param_groups[0]["lr"] = rate
        self.adam.step()
        return total.item()

    def measure(self, batches: Iterable[TreeBatch]) -> float:
        """Return the mean cross-entropy of the letters and ends of batches."""
        measured = [(self._total(batch), batch.n_letters) for batch in batches]
        return sum(total for total, _ in measured) / sum(n for _, n in measured)

    def _total(self, batch: TreeBatch) -> float:
        with torch.no_grad():
            return cross_entropy(self.network, batch).item()

    def state(self) -> dict[str, FloatArray]:
        """Return a copy of everything that learning changes."""
        tensors = {"weights": self.weights, **self.moments}
        return {name: tensor.numpy().copy() for name, tensor in tensors.items()}

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Go back to a state; it may be the weights alone."""
        for name, tensor in {"weights": self.weights, **self.moments}.items():
            if name in state:
                if state[name].shape != tuple(tensor.shape):
                    raise ArgumentError(
                        f"{name}: expected shape {tuple(tensor.shape)}, got {state[name].shape}"
                    )
                tensor.copy_(torch.from_numpy(np.array(state[name])))
