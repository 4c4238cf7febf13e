"""Extract an automaton from a PyTorch module.

    pip install '.[torch]'
    python examples/torch_box.py

A small GRU learns in a few seconds to tell words with an even number of a's from others. seqray
sees nothing but its answers, and finds the machine of two states that it has become. Then the same
network is opened from a file of its weights, as the command line does.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

import seqray
from seqray import Card, torch_box

ALPHABET, START = "ab", 2
WORDS = ["", "a", "aa", "bab", "abab", "abbbbba", "a" * 25]


class Parity(nn.Module):
    """Answers 1 for words with an even number of a's, -1 for others."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(3, 4)  # a, b, and what is read before every word
        self.gru = nn.GRU(4, 8, batch_first=True)
        self.output = nn.Linear(8, 1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Answer at every position; ids are (batch, time)."""
        return self.output(self.gru(self.embedding(ids))[0])

    def step(self, ids: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Read one more id, (batch,); this is all that seqray needs to know."""
        hidden, state = self.gru(self.embedding(ids[:, None]), state)
        return self.output(hidden[:, 0]), state


def train(module: Parity) -> None:
    """Show it 64 random words at a time, and the parity of every prefix."""
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(400):
        ids = torch.randint(2, (64, 12))
        ids[:, 0] = START
        parity = 1.0 - 2.0 * ((ids == 0).cumsum(dim=1) % 2)
        loss = nn.functional.mse_loss(module(ids)[:, :, 0], parity)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"trained: mean squared error {loss.item():.6f}")


def main() -> None:
    torch.set_num_threads(1)  # a network this small is slower on several
    torch.manual_seed(0)
    module = Parity()
    train(module)

    card = Card(seqray.Alphabet(ALPHABET), "value", start=START)
    box = torch_box(module, card, step=module.step)
    wa = seqray.extract(box, n_prefixes=60, n_suffixes=60, max_rank=6).automaton(2)
    print(f"the module became {wa}")
    for word, said, computed in zip(WORDS, box.weights(WORDS), wa.weights(WORDS), strict=True):
        shown = word if len(word) < 9 else f"a × {len(word)}"
        print(f"{shown or 'λ':>8}  module {said:+.4f}  automaton {computed:+.4f}")

    with tempfile.TemporaryDirectory() as folder:
        torch.save(module.state_dict(), Path(folder, "parity.pt"))
        beside = {"alphabet": ["a", "b"], "answers": "value", "start": START}
        Path(folder, "parity.seqray.json").write_text(json.dumps(beside))
        opened = seqray.open_black_box(f"torch:{folder}/parity.pt")
        same = np.allclose(opened.weights(WORDS), box.weights(WORDS), atol=1e-6)
        print(f"opened from parity.pt and parity.seqray.json: the same answers: {same}")


if __name__ == "__main__":
    main()
