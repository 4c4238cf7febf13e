import pytest

from seqray import Alphabet
from seqray.extraction.classes.growth import (
    MAX_WORDS,
    block_words,
    grown_class_basis,
    longest_piece,
    round_sizes,
)

AB = Alphabet("ab")


@pytest.mark.parametrize("n_symbols", [1, 2, 4, 30, 1000])
def test_rounds_grow_and_stay_within_the_words_of_a_small_box(n_symbols):
    sizes = round_sizes(n_symbols)
    assert sizes == sorted(sizes)
    least = 16 * (1 + n_symbols)
    assert block_words(sizes[-1], n_symbols) <= max(MAX_WORDS, least)


def test_the_last_round_has_what_was_asked_for():
    assert round_sizes(2, n_prefixes=300, n_suffixes=7)[-1] == (300, 7)
    assert round_sizes(2, n_prefixes=2, n_suffixes=2) == [(2, 2)] * 5


def test_parts_of_given_words_come_after_short_ones():
    basis = grown_class_basis(AB, (6, 5), None, ["bbab"], 9)
    assert [AB.show(word) for word in basis.prefixes] == ["λ", "a", "b", "bb", "bba", "bbab"]
    assert [AB.show(word) for word in basis.suffixes] == ["λ", "a", "b", "ab", "bab"]


def test_a_larger_basis_keeps_the_smaller_one():
    small = grown_class_basis(AB, (4, 4), None, [], 9)
    large = grown_class_basis(AB, (8, 9), small, ["aaaa"], 9)
    assert set(small.prefixes) <= set(large.prefixes)
    assert set(small.suffixes) <= set(large.suffixes)
    assert ("a",) * 4 in set(large.prefixes)


def test_no_part_is_longer_than_allowed():
    basis = grown_class_basis(AB, (50, 50), None, ["abababab"], 2)
    assert max(basis.prefixes.lengths.max(), basis.suffixes.lengths.max()) == 2
    assert len(basis.prefixes) == 7


def test_two_parts_and_a_symbol_fit_into_the_limit_of_a_box():
    assert [longest_piece(limit) for limit in (None, 1, 2, 3, 8)] == [1000, 0, 0, 1, 3]
