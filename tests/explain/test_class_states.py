import numpy as np
import pytest

from classifier_boxes import all_words, remainder_automaton
from seqray import Alphabet, ClassifierAutomaton
from seqray.explain.class_states import (
    NO_STATE,
    name_class_states,
    nearest_states,
    short_words,
    state_classes,
)
from seqray.explain.naming import name_states

WORDS = all_words("abc", 5)


def disguised(seed):
    return remainder_automaton().in_basis(np.random.default_rng(seed).normal(size=(3, 3)))


@pytest.mark.parametrize("seed", range(4))
def test_a_deterministic_automaton_in_disguise_shows_its_states(seed):
    named = name_class_states(disguised(seed))
    assert named.names == ("start", "after a", "after b")
    assert state_classes(named.automaton) == ["zero", "one", "two"]
    np.testing.assert_allclose(
        named.automaton.transitions, remainder_automaton().transitions, atol=1e-9
    )
    assert named.loss < 1e-9


def test_the_function_stays():
    named = name_states(disguised(0))
    np.testing.assert_allclose(
        named.automaton.scores(WORDS), remainder_automaton().scores(WORDS), atol=1e-9
    )


def test_directions_that_no_word_reaches_are_dropped():
    small = remainder_automaton()
    wide = np.zeros((3, 4, 4))
    wide[:, :3, :3] = small.transitions
    more = small.with_arrays(
        np.append(small.initial, 0), wide, np.vstack([small.outputs, np.ones(3)])
    )
    assert name_class_states(more).automaton.n_states == 3


def test_given_prefixes_name_the_states():
    named = name_class_states(disguised(1), candidates=["bb", "aa", "ab"])
    assert set(named.names) == {"start", "after bb", "after aa"}


def test_visits_are_shares():
    mass = name_class_states(disguised(2)).mass
    assert mass.sum() == pytest.approx(1)
    assert mass[0] > mass[1]  # c begins anew


def test_short_words_come_by_length():
    words = short_words(Alphabet("ab"), 7)
    assert [*map("".join, words)] == ["", "a", "b", "aa", "ab", "ba", "bb"]
    assert len(short_words(Alphabet("a"), 5)) == 5


def test_a_state_is_nearest_to_itself_also_where_it_goes_on_like_another():
    n = 12  # a chain: its first states have the same outputs for many symbols
    step = np.eye(n, k=1)
    step[-1, -1] = 1
    outputs = np.array([[1, 0]] * (n - 1) + [[0, 1]])
    chain = ClassifierAutomaton("a", np.eye(n)[0], [step], outputs, classes=["no", "yes"])
    assert nearest_states(chain, np.eye(n)).tolist() == [*range(n)]


def test_the_largest_part_of_a_mixture_is_not_named_where_it_is_negative():
    automaton = remainder_automaton()
    mixture = np.array([[-1.7, 1.5, 1.2]])
    assert nearest_states(automaton, mixture).tolist() == [1]


def test_a_mixture_of_a_class_that_no_state_has_is_near_to_none():
    outputs = [[1, 0, 0.9], [0, 1, 0.9]]
    automaton = ClassifierAutomaton(
        *("a", [1, 0], [np.eye(2)], outputs), classes=["x", "y", "both"]
    )
    assert nearest_states(automaton, np.array([[0.5, 0.5]])).tolist() == [NO_STATE]
