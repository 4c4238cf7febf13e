import numpy as np
import pytest

from seqray import ArgumentError
from seqray.automata.generators import random_machine
from seqray.explain.background import Background
from seqray.explain.markov_shapley import check_possible

MACHINE = random_machine("pfa", 3, 2, seed=0)


def test_words_that_would_take_too_long_are_refused():
    large = random_machine("pfa", 60, 2, seed=0)
    chain = np.full((2, 2), 0.5)
    background = Background(large.alphabet, np.full(2, 0.5), chain)
    with pytest.raises(ArgumentError, match="are too many"):
        check_possible(large, np.zeros(5000, np.int64), background)


def test_words_that_the_background_cannot_have_are_refused():
    chain = np.array([[1.0, 0.0], [0.5, 0.5]])
    background = Background(MACHINE.alphabet, np.array([1.0, 0.0]), chain)
    check_possible(MACHINE, np.array([0, 0]), background)
    with pytest.raises(ArgumentError):
        check_possible(MACHINE, np.array([0, 1]), background)
