"""The learner: hypotheses that agree with all that is known, complete at any time."""

import numpy as np
import pytest

from deterministic_cases import random_pdfa
from seqray import Alphabet
from seqray.learning.known_rows import KnownRows, RowEquality
from seqray.learning.search_words import prefixes_of
from seqray.learning.tree_learner import TreeLearner
from seqray.util.errors import Stopped, StopReason


def period(n):
    return lambda words: np.eye(2)[(words.lengths % n == 0).astype(int)]


def learner_of(query, symbols="a", **options):
    return TreeLearner(KnownRows(Alphabet(symbols), query, None), RowEquality(0.5), **options)


def test_counterexamples_are_known_words_that_the_hypothesis_gets_wrong():
    learner = learner_of(period(4))
    learner.close()
    learner.rows.query([(0,) * n for n in range(9)])
    assert learner.counterexamples() == [(0,) * 4, (0,) * 8]  # it takes all longer words alike
    learner.refine()
    assert learner.counterexamples() == []
    assert learner.largest_distance() == 0
    assert learner.hypothesis().next_state.ravel().tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize("seed", range(5))
def test_a_machine_is_learnt_from_words_and_nothing_else(seed):
    machine = random_pdfa(30, 2, seed)
    rows = KnownRows(machine.alphabet, machine.next_symbol)
    learner = TreeLearner(rows, RowEquality(0.05))  # many states look alike at first
    learner.close()
    n_alike = learner.n_states
    for length in (5, 10, 15):
        rows.query(prefixes_of(machine.sample(300, seed=length, max_length=length).words))
        learner.refine()
    assert learner.n_states >= n_alike
    assert learner.counterexamples() == []


def test_an_interrupted_learner_has_a_complete_hypothesis():
    n_left = 5

    def query(words):
        nonlocal n_left
        n_left -= len(words)
        if n_left < 0:
            raise Stopped(StopReason.BUDGET, "enough")
        return np.eye(9)[words.lengths % 9]

    learner = TreeLearner(KnownRows(Alphabet("ab"), query, None), RowEquality(0.5))
    with pytest.raises(Stopped):
        learner.close()
    table = learner.hypothesis().next_state
    assert table.min() >= 0
    assert table.shape == (learner.n_states, 2)
    # aaa and aab are not known: they lead where aa and ab lead.
    assert learner.tree.access[-1] == (0, 0)
    assert table[-1].tolist() == [2, 2]
    # A counterexample there cannot be followed.
    n_left = 1
    learner.rows.query([(0, 0, 0)])
    learner.refine()
    assert learner.unresolved == {(0, 0, 0)}


def test_no_word_is_longer_than_the_box_reads():
    def query(words):
        assert words.lengths.max() <= 2
        return np.eye(9)[words.lengths]

    learner = TreeLearner(KnownRows(Alphabet("a"), query, None, max_length=2), RowEquality(0.5))
    learner.refine()
    assert learner.hypothesis().next_state.ravel().tolist() == [1, 2, 2]


def test_a_drift_within_the_tolerance_is_left_alone():
    """Each step changes little, so that no state can be split; the distance says so."""

    def query(words):
        drift = np.minimum(0.03 * words.lengths, 0.09)
        return np.column_stack([0.5 + drift, 0.5 - drift])

    learner = TreeLearner(KnownRows(Alphabet("a"), query, None), RowEquality(0.1))
    learner.close()
    assert learner.n_states == 1
    near = TreeLearner(KnownRows(Alphabet("a"), query, None), RowEquality(0.05))
    near.rows.query([(0,) * n for n in range(5)])
    near.refine()
    assert near.largest_distance() <= 0.09


def test_the_most_states_end_the_refinement():
    learner = learner_of(period(5), max_states=3)
    learner.close()
    learner.rows.query([(0,) * n for n in range(11)])
    learner.refine()
    assert learner.n_states == 3
    assert learner.tree.is_capped


def test_impossible_symbols_are_not_followed():
    def query(words):
        assert all("b" not in word for word in words)
        return np.tile([0.5, 0.0, 0.5], (len(words), 1))

    learner = TreeLearner(KnownRows(Alphabet("ab"), query), RowEquality(0.1))
    learner.refine()
    hypothesis = learner.hypothesis()
    assert hypothesis.possible.tolist() == [[True, False]]
    assert hypothesis.next_state.tolist() == [[0, 0]]
    assert [each.word for each in learner.transitions()] == [(0,)]
