import numpy as np
import pytest

import seqray
from classifier_boxes import all_words, three_classes
from seqray.automata.decisions import Question
from seqray.automata.ranks import RankedAutomata
from seqray.extraction.basis import Basis
from seqray.extraction.classes.blocks import fill_class_blocks
from seqray.extraction.classes.candidates import (
    ClassCandidate,
    class_candidates,
    nearest_question,
    some_sizes,
)
from seqray.fidelity.decisions import DecisionReference

REFERENCE = DecisionReference.query(three_classes(), all_words("abc", 5))


def candidate(question, rank, agreement):
    automaton = seqray.ClassifierAutomaton(
        "a", np.ones(rank), np.ones((1, rank, rank)), np.ones((rank, 2)), classes=["no", "yes"]
    )
    return ClassCandidate(question, RankedAutomata(automaton), rank, agreement, agreement)


def test_the_smallest_rank_that_agrees_most_is_found_for_each_question():
    box = three_classes()
    words = box.alphabet.words(all_words("abc", 2))
    blocks = fill_class_blocks(Basis(words, words), box.scores, box.classes, None)
    found = class_candidates(blocks, REFERENCE, REFERENCE, 20)
    assert {each.question: each.rank for each in found} == {
        Question.PROBABILITY: 3,
        Question.LOGIT: 3,
        Question.DECISION: 3,
    }
    assert all(each.agreement == each.drawn_agreement == 1 for each in found)
    assert found[0].score.states == found[0].chosen.n_states == 3


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({Question.DECISION: (9, 0.99), Question.LOGIT: (9, 0.5)}, Question.DECISION),
        ({Question.DECISION: (9, 0.9), Question.LOGIT: (3, 0.9)}, Question.LOGIT),
        ({Question.DECISION: (5, 0.9), Question.LOGIT: (4, 0.9)}, Question.PROBABILITY),
        ({Question.DECISION: (5, 0.9), Question.LOGIT: (5, 0.9)}, Question.PROBABILITY),
    ],
)
def test_the_question_that_agrees_most_is_taken_and_of_equal_ones_the_smallest(others, expected):
    candidates = [candidate(Question.PROBABILITY, 5, 0.9)]
    candidates += [candidate(question, *values) for question, values in others.items()]
    assert nearest_question(candidates, REFERENCE).question is expected


@pytest.mark.parametrize("max_rank", [1, 5, 13, 100])
def test_ranks_to_compare_end_at_the_largest(max_rank):
    sizes = some_sizes(max_rank)
    assert sizes[0] == 1
    assert sizes[-1] == max_rank
    assert sizes == sorted(set(sizes))
