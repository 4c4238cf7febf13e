"""Words cut into parts."""

import numpy as np
import pytest

from seqray import Grouping, StructuredAutomaton
from seqray.automata import structured_nodes
from seqray.automata.generators import random_structured
from seqray.automata.structured_nodes import part_nodes
from seqray.automata.structured_parts import WordCuts
from seqray.automata.structured_states import StructuredSteps
from structured_cases import NEAR


def case():
    """Return an automaton that forgets b, and three words."""
    grouping = Grouping.by_last_symbol([2, 1])
    remembers = {(group, 0): np.full((size, 2), 0.1) for group, size in enumerate([1, 2, 1])}
    wa = StructuredAutomaton("ab", grouping, [1], np.full((4, 3), 0.2), np.ones(4), remembers)
    return wa, wa.alphabet.words(["aaabab", "", "bb"])


def parts_of(wa, words):
    """Return cuts and parts."""
    steps = StructuredSteps(wa.blocks)
    cuts = WordCuts(steps, part_nodes(steps, wa.initial_vector))
    return cuts, cuts.parts(words)


def test_words_are_cut_after_transitions_of_rank_1_only(monkeypatch):
    monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", 0)
    wa, words = case()
    cuts, parts = parts_of(wa, words)
    # Groups have the cells 0 to 8; nodes are the entries 0 to 2, the start 3, and the rows 4 and 5.
    short = np.delete(parts.cells, np.arange(1, 4))
    nodes, codes = np.divmod(short - cuts.n_group_cells, 3)
    assert nodes.tolist() == [3, 2, 5, 2, 3, 3, 2, 2]
    assert codes.tolist() == [0, 0, 1, 2, 2, 1, 1, 2]
    assert parts.firsts.tolist() == [0, 7, 8]
    # The second part is aab: its first a is a row, the next is multiplied, then b is read.
    assert (parts.nodes.tolist(), parts.starts.tolist(), parts.lengths.tolist()) == ([4], [1], [2])
    assert parts.cells[1:4].tolist() == [3, 3, 4]
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), **NEAR)


@pytest.mark.parametrize(("n_numbers", "length"), [(15, 2), (18, 2), (24, 1), (27, 0)])
def test_parts_that_end_at_a_node_are_not_long(monkeypatch, n_numbers, length):
    monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", n_numbers)
    wa, words = case()
    _, parts = parts_of(wa, words)
    assert parts.lengths.tolist() == [length] * (length > 0)
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), **NEAR)


def test_a_root_that_is_not_in_the_table_begins_a_long_part(monkeypatch):
    monkeypatch.setattr(structured_nodes, "MAX_TABLE_NUMBERS", 9)  # of six roots, three
    wa, words = case()
    cuts, parts = parts_of(wa, words)
    # The roots 3, 4 and 5 are not: the start of each word, and the rows that a leads to.
    assert parts.nodes.tolist() == [3, 4, 5, 3, 3]
    assert parts.starts.tolist() == [0, 1, 5, 7, 8]
    assert parts.lengths.tolist() == [0, 2, 0, 0, 0]
    assert (parts.cells[parts.starts] < cuts.n_group_cells).all()
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), **NEAR)


def test_leaves_are_the_vectors_that_the_letters_of_nodes_lead_to(monkeypatch):
    monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", 104)
    wa = random_structured("abc", 4, seed=0)  # 8 roots, which have 18 children of 4 numbers
    steps = StructuredSteps(wa.blocks)
    nodes = part_nodes(steps, wa.initial_vector)
    assert nodes.has_leaves
    parents, codes = np.nonzero(nodes.children >= len(nodes.groups))
    leaves = WordCuts(steps, nodes).leaves(parents, nodes.groups[parents] * 4 + codes)
    np.testing.assert_array_equal(leaves, nodes.children[parents, codes])
    np.testing.assert_array_equal(leaves, np.arange(len(nodes.groups), len(nodes.vectors)))
