import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqray import (
    Alphabet,
    Basis,
    WeightedAutomaton,
    data_basis,
    language_model,
    sampled_basis,
    uniform_basis,
)
from seqray.automata.sampling import uniform_words
from seqray.util.errors import ArgumentError, BasisError, SymbolError

AB = Alphabet("ab")
COIN = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
ENDLESS = language_model(lambda prefixes: [[0.5, 0.5, 0]] * len(prefixes), "ab")
ONLY_AB = WeightedAutomaton.from_edges(  # the language {ab}
    "ab", 3, {0: 1}, [(0, "a", 1, 1), (1, "b", 2, 1)], {2: 1}
)


def rng(seed=0):
    return np.random.default_rng(seed)


def is_closed(prefixes):
    return all(word[:-1] in prefixes for word in prefixes)


def is_suffix_closed(suffixes):
    return all(word[1:] in suffixes for word in suffixes)


def test_a_basis_has_exactly_the_size_asked_for():
    for n_prefixes, n_suffixes in [(1, 1), (1, 40), (40, 1), (37, 53)]:
        for basis in (
            uniform_basis(AB, n_prefixes, n_suffixes, seed=rng()),
            sampled_basis(COIN, n_prefixes, n_suffixes, seed=rng()),
            sampled_basis(COIN, n_prefixes, n_suffixes, seed=rng(), split="whole"),
        ):
            assert (len(basis.prefixes), len(basis.suffixes)) == (n_prefixes, n_suffixes)
            assert basis.alphabet == AB


@given(
    seed=st.integers(0, 2**32),
    sizes=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    split=st.sampled_from(["whole", "halves"]),
)
def test_prefixes_are_closed_and_so_are_suffixes(seed, sizes, split):
    for basis in (
        uniform_basis(AB, *sizes, seed=rng(seed)),
        sampled_basis(COIN, *sizes, seed=rng(seed), split=split),
        data_basis(COIN.sample(60, seed=rng(seed)).words, *sizes, seed=rng(seed), split=split),
    ):
        assert is_closed(set(basis.prefixes))
        assert is_suffix_closed(set(basis.suffixes))


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: uniform_basis(AB, 50, 40, seed=rng),
        lambda rng: sampled_basis(COIN, 50, 40, seed=rng),
        lambda rng: data_basis(
            COIN.sample(99, seed=np.random.default_rng(9)).words, 50, 40, seed=rng
        ),
    ],
    ids=["uniform", "sampled", "data"],
)
def test_the_same_seed_gives_the_same_basis(draw):
    one, same, other = draw(rng(1)), draw(rng(1)), draw(rng(2))
    assert (one.prefixes, one.suffixes) == (same.prefixes, same.suffixes)
    assert one.prefixes != other.prefixes


def test_uniform_words_use_every_length_and_every_symbol():
    words = uniform_words(Alphabet(range(3)), 3000, seed=rng(), max_length=5)
    assert np.bincount(words.lengths)[1:].min() > 500
    assert words.lengths.min() == 1
    assert words.lengths.max() == 5
    assert np.bincount(words.codes).min() > 2500


def test_no_uniform_word_is_longer_than_the_longest_allowed():
    basis = uniform_basis(AB, 100, 100, seed=rng(), max_length=7)
    assert basis.prefixes.lengths.max() <= 7
    assert basis.suffixes.lengths.max() <= 7
    assert basis.source == "uniform up to length 7"


def test_one_symbol_needs_long_words():
    basis = uniform_basis(Alphabet("a"), 12, 5, seed=rng())
    assert sorted(basis.prefixes.lengths) == list(range(12))
    assert sorted(basis.suffixes.lengths) == list(range(5))


def test_words_that_the_box_does_not_end_are_cut_counted_and_logged(caplog):
    basis = sampled_basis(ENDLESS, 20, 20, seed=rng(), max_length=6, split="whole")
    assert basis.n_cut == 256
    assert basis.prefixes.lengths.max() <= 6
    assert "256 of the sampled words had not ended and were cut at" in caplog.text
    assert "--max-length (max_length) allows longer ones" in caplog.text


def test_a_box_that_stops_cuts_nothing(caplog):
    assert sampled_basis(COIN, 20, 20, seed=rng()).n_cut == 0
    assert not caplog.records


def test_a_sampled_basis_holds_only_what_the_box_can_say(caplog):
    basis = sampled_basis(ONLY_AB, 3, 3, seed=rng(), split="whole")
    assert {"".join(word) for word in basis.prefixes} == {"", "a", "ab"}
    assert {"".join(word) for word in basis.suffixes} == {"", "b", "ab"}
    assert not caplog.records


def test_halves_give_prefixes_of_the_front_and_suffixes_of_the_back():
    data = Alphabet("abc").words(["ab" + "c" * 9] * 60)
    halves = data_basis(data, 99, 99, seed=rng(), split="halves")
    whole = data_basis(data, 99, 99, seed=rng(), split="whole")
    assert len(whole.prefixes) == len(whole.suffixes) == 12
    assert set(halves.prefixes) <= set(whole.prefixes)
    assert set(halves.suffixes) <= set(whole.suffixes)


@pytest.mark.parametrize("split", ["whole", "halves"])
def test_a_data_basis_uses_only_pieces_of_the_data(split):
    data = COIN.sample(700, seed=rng(3)).words
    basis = data_basis(data, 120, 120, seed=rng(), split=split)
    assert set(basis.prefixes) <= {word[:n] for word in data for n in range(len(word) + 1)}
    assert set(basis.suffixes) <= {word[n:] for word in data for n in range(len(word) + 1)}
    assert basis.source == "from a data set"


def test_a_finite_language_gives_what_there_is_and_says_so(caplog):
    caplog.set_level(logging.WARNING, "seqray")
    basis = sampled_basis(ONLY_AB, 10, 2, seed=rng(), split="whole")
    assert (len(basis.prefixes), len(basis.suffixes)) == (3, 2)
    assert "wanted 10 prefixes, got only 3 (sampled from the box)" in caplog.text
    assert "suffixes" not in caplog.text


def test_no_data_gives_the_empty_word(caplog):
    basis = data_basis(AB.words([]), 5, 5, seed=rng())
    assert list(basis.prefixes) == list(basis.suffixes) == [()]
    assert "wanted 5 suffixes, got only 1 (from a data set)" in caplog.text


def test_a_basis_shows_its_sizes_and_where_it_is_from():
    words = AB.words(["", "a"])
    assert repr(Basis(words, words)) == "Basis(2 prefixes, 2 suffixes, given)"


@pytest.mark.parametrize(
    ("prefixes", "suffixes", "message"),
    [
        ([], [""], "prefixes: expected at least the empty word, got no word"),
        ([""], [], "suffixes: expected at least the empty word, got no word"),
        (["", "a", "a", "a"], [""], "prefixes: 'a' stands there 3 times: give each word once"),
        ([""], ["", "ab", "ab"], "suffixes: 'ab' stands there 2 times"),
        (["a"], [""], "prefixes: the empty word is missing"),
        ([""], ["b"], "suffixes: the empty word is missing"),
        (["", "b", "a", "aba"], [""], "not closed, 'ab' is a prefix of one of them"),
    ],
)
def test_a_basis_refuses_words_that_are_none(prefixes, suffixes, message):
    with pytest.raises(BasisError, match=message):
        Basis(AB.words(prefixes), AB.words(suffixes))


def test_prefixes_and_suffixes_share_an_alphabet():
    with pytest.raises(SymbolError, match=r"expected words over Alphabet\(\['a', 'b'\]\)"):
        Basis(AB.words([""]), Alphabet("abc").words([""]))


@pytest.mark.parametrize(
    ("sizes", "name"),
    [
        ((0, 5), "prefixes"),
        ((5, -1), "suffixes"),
        ((2.5, 5), "prefixes"),
        ((5, "9"), "suffixes"),
        ((None, 5), "prefixes"),
    ],
)
def test_sizes_are_whole_numbers_from_one(sizes, name):
    with pytest.raises(ArgumentError, match=f"{name}: expected a whole number from 1, got"):
        uniform_basis(AB, *sizes, seed=rng())
    with pytest.raises(ArgumentError, match=f"{name}: expected a whole number from 1, got"):
        sampled_basis(COIN, *sizes, seed=rng())
    with pytest.raises(ArgumentError, match=f"{name}: expected a whole number from 1, got"):
        data_basis(AB.words(["a"]), *sizes, seed=rng())


def test_an_unknown_split_is_refused():
    with pytest.raises(ArgumentError, match="split: expected one of whole, halves, got 'thirds'"):
        sampled_basis(COIN, 5, 5, seed=rng(), split="thirds")


@pytest.mark.parametrize("longest", [0, -3])
def test_the_longest_word_has_a_symbol(longest):
    for draw in (
        lambda: uniform_words(AB, 5, seed=rng(), max_length=longest),
        lambda: uniform_basis(AB, 1, 1, seed=rng(), max_length=longest),
        lambda: sampled_basis(COIN, 5, 5, seed=rng(), max_length=longest),
    ):
        with pytest.raises(
            ArgumentError, match=f"max_length: expected a whole number from 1, got {longest}"
        ):
            draw()
