import numpy as np

from seqray import WeightedAutomaton
from seqray.explain.named_automaton import NamedAutomaton, rescaled

WA = WeightedAutomaton("ab", [1, 0], [[[0, 0.5], [0.25, 0]], [[0.25, 0], [0, 0.5]]], [0.25, 0.25])


def named(*shares):
    prefixes = WA.alphabet.words(["", "ab"])
    return NamedAutomaton(WA, prefixes, np.array(shares), np.array([0.5, 0.5]), 0.0)


def test_names_say_after_what_and_how_much_of_a_state_there_is():
    assert named(1, 1).names == ("start", "after ab")
    assert named(0.995, 0.7).names == ("start", "mostly after ab")
    assert named(0.4, 0.5).names == ("partly start", "mostly after ab")


def test_it_shows_its_first_names():
    assert repr(named(1, 1)) == "NamedAutomaton(2 states: start, after ab)"


def test_other_sizes_of_states_are_the_same_function():
    other = rescaled(WA, np.array([2.0, 0.5]))
    words = WA.alphabet.words(["", "a", "ab", "bba"])
    np.testing.assert_allclose(other.weights(words), WA.weights(words))
    assert not np.allclose(other.initial, WA.initial)
