"""Words to search for counterexamples in."""

import numpy as np

from deterministic_cases import random_pdfa
from seqray import Alphabet
from seqray.learning import search_words
from seqray.learning.known_rows import KnownRows, RowEquality
from seqray.learning.search_words import Walks, prefixes_of
from seqray.learning.tree_learner import TreeLearner


def test_prefixes_come_once():
    assert prefixes_of(Alphabet("ab").words(["ab", "a"])) == [(), (0,), (0, 1)]


def test_walks_go_along_every_transition_and_no_further_than_possible(monkeypatch):
    monkeypatch.setattr(search_words, "MIN_WALKS", 50)
    machine = random_pdfa(20, 3, 0, zeros=0.3)
    learner = TreeLearner(KnownRows(machine.alphabet, machine.next_symbol), RowEquality(0.001))
    learner.close()
    walks = Walks(learner)
    words = walks.draw(np.random.default_rng(0))
    possible = [each.word for each in learner.transitions()]
    ends = {tuple(state) for state in np.argwhere(machine.emission[:, :-1] > 0)}
    assert len(possible) == len(ends)
    walked = {word[: len(each)] for each in possible for word in words if word[: len(each)] == each}
    goes_on = [each for each in possible if machine.prefix_weights([each])[0] > 0]
    assert set(goes_on) == set(possible)
    assert walked <= set(possible)
    assert len(walked) > 0.9 * len(possible)  # a walk cannot go on from a state without symbols
    assert (machine.prefix_weights(words) > 0).all()


def test_walks_are_no_longer_than_the_box_reads():
    machine = random_pdfa(5, 2, 0)
    rows = KnownRows(machine.alphabet, machine.next_symbol, max_length=4)
    learner = TreeLearner(rows, RowEquality(0.001))
    learner.close()
    assert max(map(len, Walks(learner).draw(np.random.default_rng(0)))) <= 4


def test_a_transition_is_walked_again_only_to_fill_up(monkeypatch):
    machine = random_pdfa(50, 2, 0)
    learner = TreeLearner(KnownRows(machine.alphabet, machine.next_symbol), RowEquality(0.001))
    learner.close()
    walks = Walks(learner)
    monkeypatch.setattr(search_words, "MIN_WALKS", 3)
    first, second = (walks.draw(np.random.default_rng(0)) for _ in range(2))
    assert len(first) >= len(learner.transitions())
    assert 3 <= len(second) < 30


def test_a_learner_without_transitions_has_no_walks():
    rows = KnownRows(Alphabet("a"), lambda words: np.tile([0.0, 1.0], (len(words), 1)))
    learner = TreeLearner(rows, RowEquality(0.1))
    learner.close()
    assert Walks(learner).draw(np.random.default_rng(0)) == []
