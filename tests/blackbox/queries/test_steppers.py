import numpy as np
import pytest

from functions import Count, halves
from same_gru import native
from seqray import Alphabet, WeightedAutomaton, black_box, language_model
from seqray.automata.stepper import PredictingStepper, Stepper
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.util.errors import Stopped

AB = Alphabet("ab")


def test_steps_are_counted_for_a_box_with_states():
    meter = Meter(Limits(budget=5))
    box = open_oracle(native(), meter).predictor
    first = box.step(box.start(), np.zeros(3, np.int64), np.arange(3))
    assert meter.n_answers == 3
    assert box.state_weights(first).shape == (3,)
    assert box.state_next_symbol(first).shape == (3, 4)
    with pytest.raises(Stopped):
        box.step(first, np.arange(3), np.zeros(3, np.int64))


def test_the_weights_of_words_cost_their_steps():
    meter = Meter(Limits(budget=5))
    box = open_oracle(native(), meter)
    box.weights(["abc", "ab"])
    assert meter.n_queries == meter.n_sent == 3
    with pytest.raises(Stopped):
        box.weights(["ccc"])
    assert meter.n_sent <= 5


def test_every_answer_is_reported():
    counts = []
    box = open_oracle(native(), Meter(Limits(budget=99), counts.append)).predictor
    first = box.step(box.start(), np.zeros(3, np.int64), np.arange(3))
    box.step(first, np.arange(2), np.zeros(2, np.int64))
    assert counts == [3, 2]
    counts.clear()
    model = open_oracle(
        language_model(Count(halves), "ab", batch_size=2), Meter(listener=counts.append)
    ).predictor
    model.next_symbol(["", "a", "b", "ab", "a"])
    model.next_symbol(["", "bb"])
    assert counts == [2, 2, 1, 1]  # two batches; what is known, and what is new


def test_a_box_with_states_that_does_not_predict_stays_one():
    class Parity:
        alphabet = AB

        def weights(self, words):
            return np.zeros(len(words))

        def start(self):
            return np.zeros(1)

        def step(self, states, parents, symbols):
            return states[parents] + symbols

        def state_weights(self, states):
            return states % 2

    oracle = open_oracle(Parity(), Meter(Limits(time_limit=100)))
    assert isinstance(oracle.stepper, Stepper)
    assert not isinstance(oracle.stepper, PredictingStepper)
    assert oracle.weights(["a"]).tolist() == [0]


def test_a_box_with_states_is_averaged_over_words():
    network = native()
    repeated = open_oracle(network, repeat=2)
    words = ["", "ab", "abca"]
    np.testing.assert_allclose(repeated.weights(words), network.weights(words), rtol=1e-6)
    machine = WeightedAutomaton("ab", [1], [[[-2]], [[3]]], [1])
    np.testing.assert_allclose(
        open_oracle(black_box(machine.weights, "ab"), repeat=2).weights(["ab"]), [-6]
    )
