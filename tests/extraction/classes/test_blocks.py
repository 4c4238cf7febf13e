import numpy as np
import pytest

from classifier_boxes import all_words, doubtful_classes, three_classes
from seqray.automata.decisions import Question, answers_to
from seqray.extraction.basis import Basis
from seqray.extraction.classes.blocks import class_words, fill_class_blocks


def blocks_of(box, max_length=2):
    words = box.alphabet.words(all_words(box.alphabet.symbols, max_length))
    basis = Basis(words, words)
    return fill_class_blocks(basis, box.scores, box.classes, None)


def test_cells_are_prefix_symbol_and_suffix():
    box = doubtful_classes()
    blocks = blocks_of(box, 1)
    words = class_words(blocks.basis)
    assert blocks.scores.shape == (3, 3, 3, 2)
    np.testing.assert_array_equal(blocks.scores.reshape(-1, 2), box.scores(words))
    assert words[9 + 3 * 1 + 2] == ("a", "a", "b")


@pytest.mark.parametrize("question", Question)
def test_one_automaton_computes_all_classes_exactly(question):
    box = three_classes()
    automaton = blocks_of(box).automata(question, 100).largest
    words = all_words("abc", 5)
    expected = answers_to(question, box.scores(words), None)
    np.testing.assert_allclose(automaton.class_outputs(words), expected, atol=1e-6)
    assert automaton.n_states == 3


def test_probabilities_come_back_exactly():
    box = doubtful_classes()
    automata = blocks_of(box).automata(Question.PROBABILITY, 100)
    words = all_words("ab", 6)
    np.testing.assert_allclose(automata.largest.scores(words), box.scores(words), atol=1e-9)
    assert len(automata.singular_values) == automata.max_rank


def test_no_more_states_than_allowed():
    assert blocks_of(three_classes()).automata(Question.DECISION, 2).max_rank == 2
