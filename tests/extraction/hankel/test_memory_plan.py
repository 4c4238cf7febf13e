import logging
import shutil
import threading
from collections import namedtuple

import numpy as np
import pytest

from memory import peak_bytes
from seqray import (
    HankelBlocks,
    WeightedAutomaton,
    black_box,
    decompose,
    extract,
    fill,
    uniform_basis,
)
from seqray.automata.generators import random_automaton
from seqray.automata.stepper import collect
from seqray.automata.tree import PrefixTree
from seqray.blackbox.queries.noise import Noise
from seqray.blackbox.queries.oracle import direct_oracle
from seqray.extraction.hankel.blocks import WEIGHTINGS
from seqray.extraction.hankel.fill import fill_planned
from seqray.extraction.hankel.growth import grown_basis
from seqray.extraction.hankel.heavy_words import heavy_words
from seqray.extraction.hankel.plan import Plan
from seqray.extraction.validation import known_words
from seqray.util.errors import ArgumentError, Stopped
from seqray.util.row_file import RowFile


def rng(seed=0):
    return np.random.default_rng(seed)


def on_disk(shape):
    return RowFile(shape, rows_per_chunk=13)


def of_many_sizes(n_parts=8, n_states=4):
    """An automaton whose blocks have singular values of many sizes: a sum of ever lighter parts."""
    n = n_parts * n_states
    initial, final, transitions = rng(1).standard_normal(n), np.empty(n), np.zeros((2, n, n))
    for part in range(n_parts):
        own = slice(part * n_states, (part + 1) * n_states)
        final[own] = 10.0**-part * rng(part).standard_normal(n_states)
        for symbol in range(2):
            square = rng(10 * part + symbol).standard_normal((n_states, n_states))
            transitions[symbol, own, own] = np.linalg.qr(square)[0] / np.sqrt(2)
    return WeightedAutomaton("ab", initial, transitions, final)


class Reader:
    """A box with states that is no automaton, counts its steps and can be made to fail."""

    fingerprint = "reader of a test"

    def __init__(self, automaton, max_steps=None):
        self.automaton, self.n_steps, self.max_steps = automaton, 0, max_steps
        self.alphabet = automaton.alphabet

    def start(self):
        return self.automaton.start()

    def step(self, states, parents, symbols):
        self.n_steps += len(symbols)
        if self.max_steps is not None and self.n_steps > self.max_steps:
            raise KeyboardInterrupt
        return self.automaton.step(states, parents, symbols)

    def state_weights(self, states):
        return self.automaton.state_weights(states)

    def weights(self, words):
        nodes = PrefixTree.of(self.alphabet.words(words))
        return collect(self, nodes, self.state_weights)[nodes.node_of_word]


def as_automaton(wa):
    return wa


def as_function(wa):
    return black_box(wa.weights, wa.alphabet)


@pytest.mark.parametrize("kind", [as_automaton, Reader, as_function])
@pytest.mark.parametrize("is_closed", [True, False])
def test_blocks_on_disk_hold_the_same_numbers(kind, is_closed):
    wa = random_automaton(5, 3, seed=rng())
    basis = uniform_basis(wa.alphabet, 60, 40, seed=1)
    if not is_closed:
        basis = type(basis)(basis.prefixes, basis.suffixes[np.r_[0, 7:40:3]])
    oracle, plan = direct_oracle(kind(wa)), Plan.of(basis)
    expected = fill_planned(oracle, plan)
    blocks = fill_planned(oracle, plan, allocate=on_disk)
    assert blocks.is_on_disk
    assert not expected.is_on_disk
    np.testing.assert_allclose(blocks.values[:], expected.values, rtol=1e-14, atol=1e-300)
    assert blocks.largest == pytest.approx(expected.largest)
    np.testing.assert_allclose(blocks.block(0), expected.block(0), rtol=1e-14)
    for weighting in WEIGHTINGS:
        for one, other in zip(blocks.weights(weighting), expected.weights(weighting), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.fixture(scope="module")
def pair():
    """The same blocks in memory and on disk."""
    wa = of_many_sizes()
    blocks = fill(wa, uniform_basis(wa.alphabet, 300, 250, seed=0))
    rows = on_disk(blocks.values.shape)
    rows[:] = blocks.values
    return blocks, HankelBlocks(blocks.basis, rows)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_automata_of_blocks_on_disk_are_those_of_memory(pair, weighting):
    one, other = (decompose(blocks, max_rank=20, weighting=weighting) for blocks in pair)
    assert one.max_rank == other.max_rank == 20
    np.testing.assert_allclose(other.singular_values, one.singular_values, rtol=1e-10)
    words = ["", "a", "ab", "abba", "bbbab"]
    largest = np.abs(one.largest.weights(words)).max()
    for rank in (1, 5, 20):
        weights = [each.automaton(rank).weights(words) for each in (one, other)]
        np.testing.assert_allclose(weights[1], weights[0], rtol=0, atol=1e-10 * largest)


def test_noise_cuts_blocks_on_disk_at_about_the_same_rank(pair):
    ranks = [decompose(each, noise=Noise(1e-4, False)).max_rank for each in pair]
    assert abs(ranks[0] - ranks[1]) <= 1
    assert ranks[1] < 30


@pytest.mark.parametrize("size", [1e305, 1e-305])
def test_weights_at_the_limits_of_numbers_come_back_from_disk(size):
    box = black_box(lambda words: [size * 0.5 ** len(word) for word in words], "ab")
    basis = uniform_basis(box.alphabet, 40, 40, seed=0)
    blocks = fill_planned(direct_oracle(box), Plan.of(basis), allocate=on_disk)
    weights = decompose(blocks).automaton(1).weights(["", "ab"])
    np.testing.assert_allclose(weights / size, [1, 0.25], rtol=1e-9)


def test_words_are_drawn_from_blocks_on_disk_as_from_memory(pair):
    batches = [next(heavy_words(blocks, seed=3)) for blocks in pair]
    same = sum(one == other for one, other in zip(*batches, strict=True))
    assert same > 0.99 * len(batches[0])  # sums round differently
    references = [known_words(blocks) for blocks in pair]
    np.testing.assert_array_equal(references[0].weights, references[1].weights)


def test_known_words_are_the_heaviest_and_others_each_once(pair):
    reference = known_words(pair[1], 400)
    sizes = np.sort(np.abs(pair[0].values).ravel())[::-1]
    np.testing.assert_allclose(np.abs(reference.weights[:200]), sizes[:200])
    assert np.abs(reference.weights[200:]).max() <= sizes[199]


def test_a_basis_grows_from_blocks_on_disk(pair):
    wa = of_many_sizes()
    bases = [grown_basis(blocks, wa.weights, 120, 120, seed=0, max_length=20) for blocks in pair]
    ranks = [len(decompose(fill(wa, basis)).singular_values) for basis in bases]
    assert ranks[1] == ranks[0] == 32


def test_an_extraction_within_a_small_limit_is_that_of_memory(caplog):
    """2,000 × 2,000: 64 MB of numbers within 30 MB, against the exact SVD."""
    caplog.set_level(logging.INFO, "seqray")
    wa = of_many_sizes()
    basis = uniform_basis(wa.alphabet, 2000, 2000, seed=0)
    options = {"basis": basis, "method": "paper", "max_rank": 30}
    found = []
    peak = peak_bytes(lambda: found.append(extract(wa, memory="30MB", **options)))
    assert peak < 30e6
    assert "take about 64 MB of disk in" in caplog.text
    assert "up to 30 MB of memory; in memory they would take 214 MB" in caplog.text
    exact = np.linalg.svd(fill(wa, basis).block(), compute_uv=False)[:30]
    values = found[0].automata.singular_values
    assert exact[29] < 1e-6 * exact[0]
    np.testing.assert_allclose(values, exact, rtol=1e-7)
    large = exact > 1e-4 * exact[0]
    np.testing.assert_allclose(values[large], exact[large], rtol=1e-10)
    words = ["", "a", "abab", "bbabaab"]
    weights = found[0].automaton(30).weights(words)
    np.testing.assert_allclose(weights, wa.weights(words), rtol=0, atol=1e-6)


def test_a_grown_basis_fills_its_last_rounds_on_disk(caplog):
    caplog.set_level(logging.INFO, "seqray")
    wa = random_automaton(6, 2, seed=rng(3))
    options = {"n_prefixes": 150, "n_suffixes": 150, "max_rank": 10}
    expected = extract(as_function(wa), **options)
    found = extract(as_function(wa), memory=11_500_000, **options)
    assert "of disk" in caplog.text
    assert found.best_rank() == expected.best_rank() == 6
    words = ["", "a", "abab"]
    words = [[wa.alphabet.symbols["ab".index(c)] for c in word] for word in words]
    np.testing.assert_allclose(found.best().weights(words), wa.weights(words), atol=1e-8)


def test_blocks_that_fit_within_the_limit_stay_in_memory(caplog):
    caplog.set_level(logging.INFO, "seqray")
    wa = random_automaton(3, 2, seed=rng())
    options = {"n_prefixes": 40, "n_suffixes": 40, "method": "paper", "max_rank": 5}
    found, expected = extract(wa, memory="1GB", **options), extract(wa, **options)
    assert "of 1 GB allowed, and no disk" in caplog.text
    assert found.best().allclose(expected.best(), rtol=0, atol=0)


def test_a_limit_that_is_too_small_is_refused_with_advice():
    def refused(words):
        raise AssertionError("the box was queried")

    box = black_box(refused, "ab")
    message = (
        r"memory: blocks of 800 × 700 .* at rank 100 take at least .* MB, and 500 kB are allowed: "
        r"allow more \(memory=…\), or choose a smaller rank .* \(max_rank=…, n_prefixes=…"
    )
    with pytest.raises(ArgumentError, match=message):
        extract(box, n_prefixes=800, n_suffixes=700, basis="uniform", memory="500kB")


def test_a_disk_that_is_too_small_is_refused_with_advice(monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10, 9, 10_000_000))
    wa = random_automaton(3, 2, seed=rng())
    with pytest.raises(ArgumentError, match=r"64 MB of disk in .* 10 MB are free: set TMPDIR"):
        extract(wa, n_prefixes=2000, n_suffixes=2000, method="paper", memory="60MB", max_rank=9)


def test_without_a_limit_blocks_that_do_not_fit_are_refused_and_the_limit_is_named():
    wa = random_automaton(3, 2, seed=rng())
    with pytest.raises(ArgumentError, match=r"40 GB, .*--memory 2GB, memory.*--prefixes"):
        extract(wa, n_prefixes=35_000, n_suffixes=35_714, method="paper")


def test_rows_that_were_filled_are_not_queried_again(tmp_path):
    wa = random_automaton(5, 2, seed=rng())
    options = {"n_prefixes": 300, "n_suffixes": 300, "basis": "uniform", "method": "weighted"}
    options |= {"memory": 4_200_000, "max_rank": 5}
    whole = Reader(wa)
    expected = extract(whole, **options)
    store = tmp_path / "answers.sqlite"
    killed = Reader(wa, max_steps=whole.n_steps * 3 // 4)
    with pytest.raises(KeyboardInterrupt):
        extract(killed, store=store, **options)
    again = Reader(wa)
    found = extract(again, store=store, **options)
    assert again.n_steps < 0.55 * whole.n_steps
    assert found.best().allclose(expected.best(), rtol=0, atol=1e-12)


def test_ctrl_c_ends_the_filling_of_blocks_on_disk():
    wa, stop = random_automaton(5, 2, seed=rng()), threading.Event()

    def progress(done, total):
        stop.set()

    with pytest.raises(Stopped, match="interrupted"):
        extract(
            wa,
            n_prefixes=300,
            n_suffixes=300,
            method="paper",
            memory=3_000_000,
            max_rank=5,
            stop=stop,
            progress=progress,
        )
