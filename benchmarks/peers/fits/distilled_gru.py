"""A GRU that is distilled from the box in PyTorch: words, and what the box predicts after each.

It is trained for as much processor time as it is given. The learning rate falls to 0 meanwhile;
of several looks at validation words, the best network is kept.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from job import Arrays, Clock, Drawn
from torch import nn

N_EMBEDDED, WORDS_PER_BATCH, LEARNING_RATE, N_LOOKS = 16, 64, 0.01, 20


class Network(nn.Module):
    """An embedding, one layer of GRU, and a linear layer."""

    def __init__(self, n_symbols: int, units: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_symbols + 1, N_EMBEDDED)
        self.gru = nn.GRU(N_EMBEDDED, units, batch_first=True)
        self.head = nn.Linear(units, n_symbols + 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return logarithms of next-symbol probabilities."""
        return torch.log_softmax(self.head(self.gru(self.embedding(ids))[0]), dim=-1)


def fit(drawn: Drawn, clock: Clock, units: int) -> tuple[Arrays, dict[str, Any]]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    order = np.argsort([len(word) for word in drawn.words], kind="stable")
    training, validation = (
        batches(drawn, order[is_part])
        for is_part in (order < drawn.n_training, order >= drawn.n_training)
    )
    clock.restart()  # what is read once does not count
    network = Network(drawn.n_symbols, units)
    optimiser = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    best, best_loss, next_look = copy.deepcopy(network.state_dict()), np.inf, clock.limit / N_LOOKS
    while not clock.is_over:
        for at in rng.permutation(len(training)):
            left = max(0.0, 1 - clock.seconds / clock.limit)
            for group in optimiser.param_groups:
                group["lr"] = LEARNING_RATE * left
            optimiser.zero_grad()
            loss = loss_of(network, training[at]) / training[at][1].sum()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            if clock.seconds > next_look or clock.is_over:
                next_look += clock.limit / N_LOOKS
                with torch.no_grad():
                    now = sum(float(loss_of(network, each)) for each in validation)
                if now < best_loss:
                    best, best_loss = copy.deepcopy(network.state_dict()), now
            if clock.is_over:
                break
    return {name: value.numpy() for name, value in best.items()}, {"limited": False}


Batch = tuple[torch.Tensor, torch.Tensor]


def batches(drawn: Drawn, chosen: np.ndarray) -> list[Batch]:
    """Return words of nearly one length together: what is read, and rows, 0 behind the end."""
    made = []
    for begin in range(0, len(chosen), WORDS_PER_BATCH):
        part = chosen[begin : begin + WORDS_PER_BATCH]
        longest = max(len(drawn.words[i]) for i in part)
        ids = np.zeros((len(part), longest + 1), np.int64)
        rows = np.zeros((len(part), longest + 1, drawn.n_symbols + 1), np.float32)
        for at, i in enumerate(part):
            word = drawn.words[i]
            ids[at, : len(word) + 1] = (drawn.n_symbols, *word)
            rows[at, : len(word) + 1] = drawn.rows[drawn.path(i)]
        made.append((torch.from_numpy(ids), torch.from_numpy(rows)))
    return made


def loss_of(network: Network, batch: Batch) -> torch.Tensor:
    """Return the cross-entropy of the box's rows, summed over all prefixes."""
    ids, rows = batch
    return -(rows * network(ids)).sum()
