import numpy as np
import pytest

from seqray import Alphabet
from seqray.extraction.conditional.outcomes import Outcomes


def test_each_symbol_has_its_own_column_where_there_are_enough():
    outcomes = Outcomes.of(Alphabet("abc").words(["cc", "a"]), 3)
    assert outcomes.column.tolist() == [0, 1, 2]
    probabilities = np.array([[0.1, 0.2, 0.3, 0.4]])
    assert outcomes.grouped(probabilities) is probabilities


def test_rare_symbols_share_columns_that_hold_their_sums():
    alphabet = Alphabet("abcdefgh")
    outcomes = Outcomes.of(alphabet.words(["hhg", "h"]), 4)
    assert outcomes.n_columns == 4
    assert outcomes.column[[7, 6]].tolist() == [0, 1]
    probabilities = np.random.default_rng(0).dirichlet(np.ones(9), 5)
    grouped = outcomes.grouped(probabilities)
    assert grouped.shape == (5, 5)
    assert grouped.sum(axis=1) == pytest.approx(1)
    np.testing.assert_array_equal(grouped[:, [0, 1, 4]], probabilities[:, [7, 6, 8]])


def test_needed_symbols_have_a_column_of_their_own():
    alphabet = Alphabet("abcdefgh")
    needed = np.array([0, 1, 2, 0])
    outcomes = Outcomes.of(alphabet.words(["hhg"]), 4, needed)
    others = np.delete(outcomes.column, [0, 1, 2])
    assert len(set(outcomes.column[:3])) == 3
    assert not set(outcomes.column[:3]) & set(others)
