"""What every box with states does alike, once it can be stepped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from seqray.automata.stepper import read_each
from seqray.automata.words import Word, Words
from seqray.util.arrays import FloatArray


class ReadsWords:
    """Weighs whole words by walking over their prefixes. States have a ``value``."""

    def weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the number of each word, float64, shape ``(n_words,)``."""
        return self._read(words, self.state_weights)

    def state_weights(self, states: Any) -> FloatArray:
        """Return the weight of the word that leads to each state."""
        value: FloatArray = states.value
        return value

    def _read(self, words: Words | Iterable[Word], read: Callable[[Any], FloatArray]) -> FloatArray:
        box: Any = self  # with the alphabet, the start and the step of whoever inherits
        return read_each(box, box.alphabet.words(words), read)


class ReadsPredictions(ReadsWords):
    """Predicts, too. States have a ``log_weight`` and, of each next symbol, a ``log_next``."""

    def log_weights(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return the natural logarithm of each word's probability; nothing underflows."""
        return self._read(words, self._state_log_weights)

    def next_symbol(self, words: Words | Iterable[Word]) -> FloatArray:
        """Return what follows each word as a prefix, the end last, ``(n_words, n_symbols + 1)``."""
        return self._read(words, self.state_next_symbol)

    def _state_log_weights(self, states: Any) -> FloatArray:
        logs: FloatArray = states.log_weight + states.log_next[:, -1]
        return logs

    def state_weights(self, states: Any) -> FloatArray:
        """Return the probability of the word that leads to each state."""
        return np.exp(self._state_log_weights(states))

    def state_next_symbol(self, states: Any) -> FloatArray:
        """Return what follows each state, the end last, float64."""
        probabilities: FloatArray = np.exp(states.log_next).astype(np.float64)
        return probabilities
