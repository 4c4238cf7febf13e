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


def candidate(question, rank, agreement, distance=0.0):
    automaton = seqray.ClassifierAutomaton(
        "a", np.ones(rank), np.ones((1, rank, rank)), np.ones((rank, 2)), classes=["no", "yes"]
    )
    return ClassCandidate(question, RankedAutomata(automaton), rank, agreement, agreement, distance)


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


def test_of_questions_that_agree_one_with_far_probabilities_is_not_taken():
    far, near = candidate(Question.DECISION, 3, 1.0, 0.2), candidate(Question.LOGIT, 6, 1.0, 0.001)
    nearly = candidate(Question.PROBABILITY, 5, 1.0, 0.009)
    assert nearest_question([far, near], REFERENCE) is near
    assert nearest_question([nearly, far, near], REFERENCE) is nearly


def test_a_rank_that_only_decides_as_the_box_does_is_too_small():
    def sure_of_parity(words):  # the third state changes no decision, only how sure it is
        odd = [word.count("a") % 2 for word in words]
        doubt = [0.3 if word[-1:] == ["b"] or word[-1:] == "b" else 0.0 for word in words]
        return [abs(o - d) for o, d in zip(odd, doubt, strict=True)]

    box = seqray.classifier(sure_of_parity, "ab", ["even", "odd"])
    words = box.alphabet.words(all_words("ab", 3))
    blocks = fill_class_blocks(Basis(words, words), box.scores, box.classes, None)
    reference = DecisionReference.query(box, all_words("ab", 6))
    first = class_candidates(blocks, reference, reference, 20)[0]
    assert first.agreement == 1
    assert first.drawn_distance < 0.01
    smaller = reference.agreement_and_distance(first.at(first.rank - 1))
    assert smaller == (1, pytest.approx(smaller[1]))
    assert smaller[1] > 0.05


@pytest.mark.parametrize("max_rank", [1, 5, 13, 100])
def test_ranks_to_compare_end_at_the_largest(max_rank):
    sizes = some_sizes(max_rank)
    assert sizes[0] == 1
    assert sizes[-1] == max_rank
    assert sizes == sorted(set(sizes))
