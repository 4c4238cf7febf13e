import numpy as np

from seqray import Alphabet
from seqray.automata.reading import ReadsPredictions, ReadsWords


class Values:
    def __init__(self, value):
        self.value = value


class CountsSteps(ReadsWords):
    """Weighs a word by its length, and knows how many steps were taken."""

    alphabet, n_steps = Alphabet("ab"), 0

    def start(self):
        return Values(np.zeros(1))

    def step(self, states, parents, symbols):
        self.n_steps += len(symbols)
        return Values(states.value[parents] + 1)


class Logs:
    def __init__(self, log_weight):
        self.log_weight = log_weight
        self.log_next = np.log(np.tile([0.5, 0.25, 0.25], (len(log_weight), 1)))


class Coin(ReadsPredictions):
    alphabet = Alphabet("ab")

    def start(self):
        return Logs(np.zeros(1))

    def step(self, states, parents, symbols):
        return Logs(states.log_weight[parents] + np.log([0.5, 0.25])[symbols])


def test_words_are_weighed_by_their_states_and_prefixes_are_shared():
    box = CountsSteps()
    assert box.weights(["", "ab", "abab"]).tolist() == [0, 2, 4]
    assert box.n_steps == 4


def test_a_box_that_predicts_weighs_words_by_what_it_predicts():
    box = Coin()
    assert np.allclose(box.weights(["", "a", "ab"]), [0.25, 0.125, 0.03125])
    assert np.allclose(box.log_weights(["ab"]), np.log(0.03125))
    assert np.allclose(box.next_symbol(["", "ab"]), [[0.5, 0.25, 0.25]] * 2)


def test_logarithms_do_not_underflow():
    box = Coin()
    word = "b" * 2000
    assert box.weights([word]).tolist() == [0]
    assert np.allclose(box.log_weights([word]), 2001 * np.log(0.25))
