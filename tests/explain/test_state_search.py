import numpy as np
import pytest

import seqray
from classifier_boxes import all_words
from seqray.explain.state_search import search_states

N_STATES = 5


def random_machine(seed):
    """Return a deterministic automaton with five states and three classes, as a classifier."""
    rng = np.random.default_rng(seed)
    moves = np.eye(N_STATES)[rng.integers(0, N_STATES, (2, N_STATES))]
    outputs = np.eye(3)[[0, 0, 0, 1, 2]]
    start = np.eye(N_STATES)[0]
    return seqray.ClassifierAutomaton("ab", start, moves, outputs, classes=["x", "y", "z"])


def edit_distance(word, other):
    row = list(range(len(other) + 1))
    for i, symbol in enumerate(word, 1):
        new = [i]
        for j, another in enumerate(other, 1):
            new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (symbol != another)))
        row = new
    return row[-1]


@pytest.mark.parametrize("seed", range(12))
def test_no_word_of_a_class_has_fewer_edits(seed):
    automaton, others = random_machine(seed), all_words("ab", 8)
    classes = automaton.decisions(others)
    for word in ("", "ab", "baab", "aaaaa"):
        fewest = {}
        for n_edits, words in search_states(automaton, word, 3):
            for number, each in words:
                assert automaton.decisions([each.word])[0] == number
                assert len(each.steps) == n_edits >= edit_distance(word, each.word)
                fewest.setdefault(number, n_edits)
        own = automaton.decisions([word])[0]
        distances = np.array([edit_distance(word, other) for other in others])
        for number in set(classes.tolist()) - {own}:
            nearest = distances[classes == number].min()
            assert fewest.get(number) == (nearest if nearest <= 3 else None)


def test_many_edits_are_found_in_a_long_word():
    turn = np.eye(31)[[*range(1, 31), 30]]
    outputs = np.eye(2)[[0] * 30 + [1]]
    automaton = seqray.ClassifierAutomaton(
        "ab", np.eye(31)[0], [turn, np.eye(31)], outputs, classes=["no", "yes"]
    )
    word = "ab" * 25
    (flip, *_) = seqray.find_flips(automaton, word, max_edits=9).flips
    assert flip.name == "yes"
    assert len(flip.edits) == 5
    assert flip.word.count("a") == 30


def test_an_automaton_with_endless_states_ends_its_search():
    angle = np.array([[np.cos(1), np.sin(1)], [-np.sin(1), np.cos(1)]])
    automaton = seqray.ClassifierAutomaton(
        "ab", [1, 0], [angle, angle.T], [[1, 2], [0, 0]], classes=["no", "yes"]
    )
    assert len(list(search_states(automaton, "ab" * 20, 100))) < 100
