import numpy as np
import pytest
import torch

from seqray import Alphabet, ArgumentError
from seqray.automata.tree_batches import Corpus
from seqray.training.learner import Learner
from seqray.training.network import Network

WORDS = Alphabet("ab").words(["ab", "abab", "ab", "", "abb"])


@pytest.fixture
def learner():
    torch.manual_seed(0)
    return Learner(Network(2, hidden=4, n_layers=1, cell="gru"))


@pytest.fixture(scope="module")
def batch():
    return Corpus(WORDS).batch(np.arange(len(WORDS)))


def test_learning_makes_the_words_likelier(learner, batch):
    before = learner.measure([batch])
    for _ in range(30):
        learner.learn(batch, rate=0.05, clip=1.0)
    assert learner.measure([batch]) < before


def test_a_state_can_be_restored(learner, batch):
    learner.learn(batch, rate=0.05, clip=1.0)
    state, loss = learner.state(), learner.measure([batch])
    learner.learn(batch, rate=0.05, clip=1.0)
    assert learner.measure([batch]) != loss
    learner.restore(state)
    assert learner.measure([batch]) == loss


def test_a_state_of_another_size_is_refused(learner):
    with pytest.raises(ArgumentError, match="weights: expected shape"):
        learner.restore({"weights": np.zeros(3, np.float32)})


def test_weights_are_those_of_the_network(learner, batch):
    learner.learn(batch, rate=0.05, clip=1.0)
    flat = torch.cat([each.detach().flatten() for each in learner.network.parameters()])
    np.testing.assert_array_equal(learner.state()["weights"], flat.numpy())
