"""Make the network that `seqray demo` takes apart: a small GRU, trained on a generated machine.

    pip install 'seqray[torch]'
    python examples/train_demo_box.py src/seqray/demo/box.safetensors

The machine, its words and the training are all seeded. The network never sees the machine, only
20,000 words drawn from it; `seqray demo` then never sees the machine or the words, only the
network's answers. The machine is saved beside the network, for comparison.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
import torch
from torch import nn

import seqray
from seqray.blackbox.rnn import DenseLayer, RecurrentLanguageModel, RecurrentLayer
from seqray.data.generate import random_machine
from seqray.words import Alphabet, Words

SEED = 9
N_STATES, ALPHABET = 5, Alphabet("abcd")
N_TRAIN, N_VALID = 20_000, 2_000
EMBEDDING, HIDDEN, EPOCHS, BATCH = 12, 32, 20, 128


class Network(nn.Module):
    """The paper's architecture, small: embedding, two GRU layers, two ReLU layers, softmax."""

    def __init__(self, n_symbols: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_symbols + 2, EMBEDDING)  # the symbols, start, padding
        self.recurrent = nn.GRU(EMBEDDING, HIDDEN, num_layers=2, batch_first=True)
        sizes = [HIDDEN, HIDDEN // 2, EMBEDDING, n_symbols + 1]
        self.dense = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next symbol at every position."""
        x, _ = self.recurrent(self.embedding(ids))
        for layer in self.dense[:-1]:
            x = torch.relu(layer(x))
        return self.dense[-1](x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="a .safetensors file")
    output = parser.parse_args().output
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    numbered = random_machine("dpfa", N_STATES, len(ALPHABET), rng=rng)
    machine = seqray.WeightedAutomaton(
        ALPHABET, numbered.initial, numbered.transitions, numbered.final
    )
    words = machine.sample(N_TRAIN + N_VALID, rng=rng)
    network = Network(len(ALPHABET))
    train(network, words[:N_TRAIN], words[N_TRAIN:])
    box = to_seqray(network, ALPHABET)
    box.save(output)
    machine.save(output.with_name("machine.json"))
    print(f"{output}: {output.stat().st_size:,} bytes; {box}")
    print(seqray.compare(machine, box, words[N_TRAIN:]))


def train(network: Network, words: Words, valid: Words) -> None:
    """Minimise next-symbol cross-entropy; keep the epoch that is best on the validation words."""
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    best, kept = float("inf"), {}
    for epoch in range(EPOCHS):
        order = torch.randperm(len(words)).numpy()
        for begin in range(0, len(words), BATCH):
            batch = words[order[begin : begin + BATCH]]
            total, count = cross_entropy(network, batch)
            optimizer.zero_grad()
            (total / count).backward()
            optimizer.step()
        schedule.step()
        with torch.no_grad():
            total, count = cross_entropy(network, valid)
        loss = float(total / count)
        print(f"epoch {epoch + 1:2}: validation cross-entropy {loss:.5f}", flush=True)
        if loss < best:
            best, kept = loss, {k: v.clone() for k, v in network.state_dict().items()}
    network.load_state_dict(kept)


def cross_entropy(network: Network, words: Words) -> tuple[torch.Tensor, int]:
    """Return the summed cross-entropy of all symbols and ends, and how many there are."""
    n, longest, n_symbols = len(words), int(words.lengths.max()), len(words.alphabet)
    inside = np.arange(longest + 1) < words.lengths[:, None]
    ids = np.full((n, longest + 1), n_symbols + 1)
    ids[:, 0] = n_symbols
    ids[:, 1:][inside[:, :-1]] = words.codes
    aims = np.full((n, longest + 1), -100)
    aims[inside] = words.codes
    aims[np.arange(n), words.lengths] = n_symbols
    logits = network(torch.from_numpy(ids)).flatten(0, 1)
    loss = nn.functional.cross_entropy(logits, torch.from_numpy(aims).flatten(), reduction="sum")
    return loss, int(words.lengths.sum()) + n


def to_seqray(network: Network, alphabet: Alphabet) -> RecurrentLanguageModel:
    """Copy the weights into a network that needs no torch."""
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
    embedding = weights["embedding.weight"][:-1]  # without padding
    return RecurrentLanguageModel(alphabet, layers, dense, embedding, start_id=len(alphabet))


if __name__ == "__main__":
    main()
