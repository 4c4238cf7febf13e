"""Words cut into parts."""

import numpy as np

from seqray import Grouping, StructuredAutomaton
from seqray.automata.structured_parts import WordCuts
from seqray.automata.structured_states import StructuredSteps
from structured_cases import NEAR


def test_words_are_cut_after_transitions_of_rank_1_only():
    grouping = Grouping.by_last_symbol([2, 1])
    remembers = {(group, 0): np.full((size, 2), 0.1) for group, size in enumerate([1, 2, 1])}
    wa = StructuredAutomaton("ab", grouping, [1], np.full((4, 3), 0.2), np.ones(4), remembers)
    words = wa.alphabet.words(["aabab", "", "bb"])
    parts = WordCuts(StructuredSteps(wa.blocks)).parts(words)
    assert parts.cells.tolist() == [0, 3, 4, 6, 4, 8, 2, 1, 7, 8]  # 3 times the group, and the code
    assert parts.starts.tolist() == [0, 1, 3, 4, 5, 6, 7, 8, 9]
    assert parts.lengths.tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert parts.roots.tolist() == [3, 4, 2, 5, 2, 3, 3, 2, 2]  # 3 is the start, 4 and 5 are rows
    assert parts.ends.tolist() == [0, 4, 6, 4, 8, 2, 1, 7, 8]
    assert parts.firsts.tolist() == [0, 5, 6]
    np.testing.assert_allclose(wa.weights(words), wa.to_dense().weights(words), **NEAR)
