"""A small GRU in NumPy, with PyTorch's names and layouts: what was distilled, or what decides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Arrays = dict[str, np.ndarray]


class Hidden(NamedTuple):
    """A batch of hidden states."""

    values: np.ndarray


class Gru:
    """An embedding, one layer of GRU and a linear layer; code ``n_symbols`` begins every word."""

    def __init__(self, arrays: Arrays) -> None:
        read = {name: np.asarray(value, np.float64) for name, value in arrays.items()}
        self.inputs = read["embedding.weight"] @ read["gru.weight_ih_l0"].T + read["gru.bias_ih_l0"]
        self.recurrent, self.bias = read["gru.weight_hh_l0"].T, read["gru.bias_hh_l0"]
        self.out, self.out_bias = read["head.weight"].T, read["head.bias"]
        self.n_numbers = sum(value.size for value in read.values())

    @property
    def n_units(self) -> int:
        """The size of the hidden state."""
        return len(self.recurrent)

    def start(self) -> Hidden:
        """Return the state before the first symbol."""
        return self._moved(np.zeros((1, self.n_units)), self.inputs[-1:])

    def step(self, states: Hidden, parents: np.ndarray, symbols: np.ndarray) -> Hidden:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        return self._moved(states.values[parents], self.inputs[symbols])

    def _moved(self, hidden: np.ndarray, read: np.ndarray) -> Hidden:
        kept = hidden @ self.recurrent + self.bias
        n = self.n_units
        reset, update = (sigmoid(read[:, at] + kept[:, at]) for at in (slice(n), slice(n, 2 * n)))
        new = np.tanh(read[:, 2 * n :] + reset * kept[:, 2 * n :])
        return Hidden((1 - update) * new + update * hidden)

    def logits(self, states: Hidden) -> np.ndarray:
        """Return what the linear layer makes of states."""
        return states.values @ self.out + self.out_bias

    def state_next_symbol(self, states: Hidden) -> np.ndarray:
        """Return the softmax of the outputs: next-symbol probabilities, the end last."""
        powers = np.exp((logits := self.logits(states)) - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


class Decider:
    """A network with one output, the logit of yes; what was read of a prefix is remembered."""

    def __init__(self, network: Gru) -> None:
        self.network = network
        self._known = {(): network.start()}

    @classmethod
    def load(cls, path: str) -> Decider:
        """Open a network's file."""
        with np.load(path) as arrays:
            return cls(Gru(dict(arrays)))

    def probability(self, word: tuple[int, ...]) -> float:
        """Return the probability of yes after a word."""
        return float(sigmoid(self.network.logits(self._state(word)))[0, 0])

    def _state(self, word: tuple[int, ...]) -> Hidden:
        length = len(word)
        while word[:length] not in self._known:
            length -= 1
        for end in range(length, len(word)):
            states = self._known[word[:end]]
            moved = self.network.step(states, np.array([0]), np.array([word[end]]))
            self._known[word[: end + 1]] = moved
        return self._known[word]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))
