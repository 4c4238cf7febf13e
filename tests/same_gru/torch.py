"""The GRU as a PyTorch module, and as a file of its arrays."""

import numpy as np
import pytest

from same_gru import ALPHABET, N_EMBEDDED, N_HIDDEN, START, arrays
from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card, card_path
from seqray.blackbox.frameworks.torch import torch_box
from seqray.blackbox.frameworks.torch_file import open_torch

CARD = Card(Alphabet(ALPHABET), "next", start=START)


def gru_module():
    """Return the network as somebody would write it."""
    torch = pytest.importorskip("torch")

    class Gru(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(4, N_EMBEDDED)
            self.recurrent = torch.nn.GRU(N_EMBEDDED, N_HIDDEN, batch_first=True)
            self.dropout = torch.nn.Dropout(0.5)
            self.output = torch.nn.Linear(N_HIDDEN, 4)

        def forward(self, ids):
            hidden, _ = self.recurrent(self.embedding(ids))
            return self.output(self.dropout(hidden))

        def step(self, ids, state):
            hidden, state = self.recurrent(self.embedding(ids[:, None]), state)
            return self.output(self.dropout(hidden[:, 0])), state

    module = Gru()
    module.load_state_dict({name: torch.tensor(array) for name, array in arrays().items()})
    return module


def torch_module():
    return torch_box(gru_module(), CARD)


def padded_torch_module():
    return torch_box(gru_module(), Card(Alphabet(ALPHABET), "next", start=START, pad=0))


def torch_steps():
    module = gru_module()
    return torch_box(module, CARD, step=module.step)


def save_arrays(path, tensors=None, card=CARD):
    """Write arrays and their card, by the ending of the path, and return the path."""
    tensors = arrays() if tensors is None else tensors
    torch = pytest.importorskip("torch")
    tensors = {name: torch.tensor(np.asarray(array)) for name, array in tensors.items()}
    if path.suffix == ".safetensors":
        pytest.importorskip("safetensors.torch").save_file(tensors, path)
    else:
        torch.save(tensors, path)
    card.save(card_path(path))
    return path


def bidirectional_arrays():
    """Return the arrays of an LSTM of two layers that reads a word from both ends."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    lstm = torch.nn.LSTM(4, 3, num_layers=2, bidirectional=True)
    head = torch.nn.Linear(6, 1)
    return {
        **{f"lstm.{name}": tensor.detach().numpy() for name, tensor in lstm.state_dict().items()},
        **{f"head.{name}": tensor.detach().numpy() for name, tensor in head.state_dict().items()},
    }


BOTH_WAYS = Card(Alphabet("abc"), "value", start=3, network={"read": "final"})


def torch_stack(folder):
    return open_torch(save_arrays(folder / "gru.safetensors"))


def torch_both_ways(folder):
    """Return another network, which answers a value, and only for whole words."""
    path = folder / "both_ways.safetensors"
    return open_torch(save_arrays(path, bidirectional_arrays(), BOTH_WAYS))
