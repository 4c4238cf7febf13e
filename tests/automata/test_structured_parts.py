"""Words cut into parts."""

import numpy as np
import pytest

from seqray import Grouping, StructuredAutomaton
from seqray.automata import structured_nodes
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
    nodes, codes = np.divmod(parts.ends - cuts.n_group_cells, 3)
    is_short = np.delete(np.arange(9), parts.long)
    assert nodes[is_short].tolist() == [3, 2, 5, 2, 3, 3, 2, 2]
    assert codes[is_short].tolist() == [0, 0, 1, 2, 2, 1, 1, 2]
    assert parts.firsts.tolist() == [0, 5, 6]
    # The second part is aab: its first a is a row, the next is multiplied, then b is read.
    assert parts.long.tolist() == [1]
    assert (parts.nodes.tolist(), parts.starts.tolist(), parts.lengths.tolist()) == ([4], [1], [2])
    assert parts.ends[1] == 4
    assert parts.cells[1:4].tolist() == [3, 3, 4]
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), **NEAR)


@pytest.mark.parametrize(("n_numbers", "length"), [(18, 2), (24, 2), (30, 1), (42, 0)])
def test_parts_that_end_at_a_node_are_not_long(monkeypatch, n_numbers, length):
    monkeypatch.setattr(structured_nodes, "MAX_NODE_NUMBERS", n_numbers)
    wa, words = case()
    _, parts = parts_of(wa, words)
    assert parts.lengths.tolist() == [length][: len(parts.long)]
    assert len(parts.long) == (length > 0)
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), **NEAR)
