import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.automata.generators import random_automaton
from seqray.explain import markov_shapley
from seqray.explain.background import Background
from seqray.explain.shapley import shapley_values
from seqray.util.errors import ArgumentError


@pytest.mark.parametrize(
    ("first", "where"),
    [
        ([1, 0, 0], "'b' at position 1 has probability 0 there"),
        ([0, 1, 0], "'a' at position 2 has probability 0 after that at position 1"),
    ],
)
def test_a_chain_that_cannot_have_the_word_is_refused(first, where):
    wa = WeightedAutomaton("abc", [1], np.ones((3, 1, 1)), [1])
    rows = [[0.5, 0, 0.5], [0, 0, 1], [0.5, 0, 0.5]]
    background = Background.markov("abc", first, rows)
    with pytest.raises(ArgumentError, match=where):
        shapley_values(wa, "ba", background=background)
    allowed = Background.markov("abc", [0, 1, 0], [[0.5, 0, 0.5], [0.5, 0, 0.5], [0.5, 0, 0.5]])
    assert shapley_values(wa, "ba", background=allowed).values.tolist() == [0, 0]


def test_words_that_would_take_too_long_are_refused(monkeypatch):
    wa = random_automaton(2, 3, seed=np.random.default_rng(1))
    background = Background.bigrams(wa)
    for name in ("MAX_WORK", "MAX_NUMBERS"):
        with monkeypatch.context() as limits:
            limits.setattr(markov_shapley, name, 10)
            with pytest.raises(ArgumentError, match="5 symbols of 3, with 2 states"):
                shapley_values(wa, [0, 1, 2, 0, 1], background=background)
