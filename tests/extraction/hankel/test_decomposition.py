import itertools
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from seqray import (
    Basis,
    WeightedAutomaton,
    black_box,
    decompose,
    extract,
    fill,
    uniform_basis,
)
from seqray.automata.algebra import add, scale
from seqray.automata.generators import random_automaton
from seqray.automata.minimal import minimise
from seqray.automata.sampling import uniform_words
from seqray.blackbox.queries.noise import NO_NOISE, Noise
from seqray.extraction import svd
from seqray.extraction.hankel.blocks import WEIGHTINGS
from seqray.extraction.hankel.noise_size import size_of_noise
from seqray.util.errors import ArgumentError, RankError


def rng(seed=0):
    return np.random.default_rng(seed)


def automata_of(wa, *, size=150, seed=0, **options):
    basis = uniform_basis(wa.alphabet, size, size, seed=rng(seed))
    return decompose(fill(wa, basis), **options)


def all_words(alphabet, longest):
    lengths = range(longest + 1)
    return [word for n in lengths for word in itertools.product(alphabet, repeat=n)]


def check_same_function(automaton, wa):
    """Compare on all short words and on random longer ones, relative to the largest weight."""
    longest = 4 if len(wa.alphabet) ** 4 <= 1000 else 3
    short = all_words(wa.alphabet, longest)
    long = uniform_words(wa.alphabet, 500, seed=rng(7), max_length=12)
    expected = np.concatenate([wa.weights(short), wa.weights(long)])
    weights = np.concatenate([automaton.weights(short), automaton.weights(long)])
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


SIZES = [(1, 1), (1, 10), (2, 2), (3, 1), (5, 3), (8, 2), (12, 5), (20, 4), (20, 10)]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize(("n_states", "n_symbols"), SIZES)
def test_a_random_automaton_comes_back_exactly(n_states, n_symbols, weighting):
    wa = random_automaton(n_states, n_symbols, seed=rng(n_states + n_symbols))
    size = 40 if n_symbols == 1 else 250
    automata = automata_of(wa, size=size, weighting=weighting)
    assert automata.max_rank == n_states
    check_same_function(automata.automaton(n_states), wa)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_largest_rank_is_that_of_the_smallest_automaton(weighting):
    wa = random_automaton(4, 2, seed=rng(1))
    twice = add(add(wa, scale(wa, 2)), random_automaton(3, 2, seed=rng(2)))
    assert twice.n_states == 11
    automata = automata_of(twice, weighting=weighting)
    assert automata.max_rank == minimise(twice).n_states == 7
    assert len(automata.singular_values) == 7
    check_same_function(automata.largest, twice)


def test_singular_values_are_those_of_the_block():
    wa = random_automaton(5, 3, seed=rng(3))
    basis = uniform_basis(wa.alphabet, 60, 50, seed=rng())
    blocks = fill(wa, basis)
    automata = decompose(blocks, weighting="none")
    exact = np.linalg.svd(blocks.block(), compute_uv=False)[:5]
    np.testing.assert_allclose(automata.singular_values, exact, rtol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        automata.singular_values[0] = 1


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_a_smaller_rank_is_the_leading_block_of_a_larger(weighting):
    wa = random_automaton(6, 3, seed=rng(4))
    blocks = fill(wa, uniform_basis(wa.alphabet, 80, 80, seed=rng()))
    large = decompose(blocks, weighting=weighting)
    for rank in range(1, 7):
        small = decompose(blocks, weighting=weighting, max_rank=rank)
        assert small.max_rank == rank
        assert large.automaton(rank).allclose(small.largest, rtol=1e-9, atol=1e-9)
    assert large.automaton(2).allclose(large.largest.truncate(2), rtol=0, atol=0)


def test_the_formulas_of_the_paper_give_the_same_automaton():
    wa = random_automaton(6, 2, seed=rng(5))
    basis = uniform_basis(wa.alphabet, 50, 40, seed=rng())
    blocks = fill(wa, basis)
    left, sizes, right = np.linalg.svd(blocks.block(), full_matrices=False)
    left, sizes, right = left[:, :3], sizes[:3], right[:3]
    back = np.diag(1 / sizes) @ left.T
    empty = int(basis.suffixes.lengths.argmin())
    root = int(basis.prefixes.lengths.argmin())
    paper = WeightedAutomaton(
        wa.alphabet,
        blocks.block()[root] @ right.T,
        [back @ blocks.block(symbol) @ right.T for symbol in wa.alphabet],
        back @ blocks.block()[:, empty],
    )
    assert decompose(blocks, weighting="none").automaton(3).allclose(paper, atol=1e-9)


def test_the_empty_word_may_stand_anywhere():
    wa = random_automaton(3, 2, seed=rng(6))
    basis = uniform_basis(wa.alphabet, 40, 40, seed=rng())
    mirrored = Basis(basis.prefixes[::-1], basis.suffixes[::-1])
    check_same_function(decompose(fill(wa, mirrored)).largest, wa)


def test_a_function_that_is_zero_has_one_state_and_no_weight():
    box = black_box(lambda words: np.zeros(len(words)), "ab")
    basis = uniform_basis(box.alphabet, 20, 20, seed=rng())
    for weighting in WEIGHTINGS:
        automata = decompose(fill(box, basis), weighting=weighting)
        assert automata.max_rank == 1
        assert repr(automata) == "RankedAutomata(ranks 1 … 1)"
        np.testing.assert_array_equal(automata.largest.weights(["", "a", "abba"]), 0)


def test_ranks_outside_the_range_are_refused_and_the_range_is_named():
    automata = automata_of(random_automaton(3, 2, seed=rng()))
    for rank in (0, -1, 4):
        with pytest.raises(RankError, match=f"rank {rank} is outside 1 … 3: .* max_rank"):
            automata.automaton(rank)
    for rank in (0, -5):
        with pytest.raises(RankError, match=f"max_rank: expected 1 or more, got {rank}"):
            automata_of(random_automaton(3, 2, seed=rng()), max_rank=rank)


def test_an_unknown_weighting_is_refused():
    with pytest.raises(
        ArgumentError, match="expected one of none, softer, soft, balanced, got 'row'"
    ):
        automata_of(random_automaton(1, 1, seed=rng()), size=3, weighting="row")


def test_a_large_block_gives_the_same_automaton_and_the_same_again(monkeypatch):
    wa = random_automaton(8, 3, seed=rng(8))
    exact = automata_of(wa, size=200, max_rank=20)
    monkeypatch.setattr(svd, "MAX_EXACT_SIZE", 100)
    one, same = (automata_of(wa, size=200, max_rank=20, seed=0) for _ in range(2))
    assert one.max_rank == exact.max_rank == 8
    np.testing.assert_allclose(one.singular_values, exact.singular_values, rtol=1e-9)
    assert one.largest.allclose(same.largest, rtol=0, atol=0)
    check_same_function(one.largest, wa)


def test_there_are_a_hundred_ranks_at_most_unless_more_are_wanted():
    box = black_box(lambda words: [sha256(str(word).encode()).digest()[0] for word in words], "01")
    words = all_words("01", 6)[:120]
    blocks = fill(box, Basis(box.alphabet.words(words), box.alphabet.words(words)))
    assert np.linalg.matrix_rank(blocks.block()) > 100
    assert decompose(blocks).max_rank == 100
    assert decompose(blocks, max_rank=103).max_rank == 103


def test_the_seed_is_0_by_default(monkeypatch):
    monkeypatch.setattr(svd, "MAX_EXACT_SIZE", 100)
    wa = random_automaton(20, 3, seed=rng(8))
    blocks = fill(wa, uniform_basis(wa.alphabet, 200, 200, seed=rng()))
    one, same, other = (
        decompose(blocks, max_rank=5, **given) for given in ({}, {"seed": 0}, {"seed": 1})
    )
    assert one.largest.allclose(same.largest, rtol=0, atol=0)
    assert not one.largest.allclose(other.largest, rtol=0, atol=0)


@pytest.mark.parametrize(
    "noise", [Noise(0.5, relative=False), Noise(0.5, relative=True), Noise(1e9, relative=False)]
)
def test_ranks_that_noise_alone_would_make_are_left_out(noise):
    wa = random_automaton(8, 2, seed=rng(1))
    blocks = fill(wa, uniform_basis(wa.alphabet, 150, 150, seed=rng()))
    every = decompose(blocks)
    size = size_of_noise(blocks, noise, *blocks.weights("balanced"), seed=3)
    n_larger = int((every.singular_values > size).sum())
    assert n_larger < every.max_rank
    some = decompose(blocks, noise=noise, seed=3)
    assert some.max_rank == max(1, n_larger)
    assert some.largest.allclose(every.automaton(some.max_rank), rtol=1e-9)
    assert decompose(blocks, noise=NO_NOISE).max_rank == every.max_rank


@pytest.mark.parametrize("factor", [2.0**1000, 2.0**-1000])
@pytest.mark.parametrize("relative", [False, True])
def test_blocks_that_have_to_be_scaled_are_decomposed_as_others_bit_by_bit(
    monkeypatch, factor, relative
):
    monkeypatch.setattr(svd, "MAX_EXACT_SIZE", 100)
    wa = random_automaton(8, 3, seed=rng(8))
    blocks = fill(wa, uniform_basis(wa.alphabet, 150, 150, seed=rng()))
    below_one = 0.5 ** np.frexp(blocks.largest)[1]
    decomposed = []
    for by in (1.0, factor):
        own = replace(blocks, values=blocks.values * below_one * by)
        noise = Noise(1.5 if relative else 0.01 * by, relative)
        options = {"max_rank": 7, "weighting": "soft", "seed": 5}
        decomposed += [decompose(own, noise=noise, **options), decompose(own, **options)]
    for plain, scaled in (decomposed[::2], decomposed[1::2]):
        assert plain.singular_values.tolist() == scaled.singular_values.tolist()
        assert np.array_equal(plain.largest.transitions, scaled.largest.transitions)
        words = [(), (0,), (2, 1)]
        weights = factor * plain.largest.weights(words)
        np.testing.assert_allclose(scaled.largest.weights(words), weights, rtol=1e-12)
    assert 1 < decomposed[0].max_rank < decomposed[1].max_rank == 7


@pytest.mark.parametrize("size", [1e305, 1e299, 1e-305, 1e-310])
def test_weights_at_the_limits_of_numbers_come_back(size):
    box = black_box(
        lambda words: [size * 0.5 ** len(word) * (1 + word.count("a")) for word in words], "ab"
    )
    extraction = extract(box, n_prefixes=20, n_suffixes=20)
    words = ["", "a", "aab", "abab"]
    assert extraction.best_rank() == 2
    np.testing.assert_allclose(extraction.best().weights(words) / box.weights(words), 1, rtol=1e-9)
    assert extraction.fidelity.at(2)["relative_error"] < 1e-9
