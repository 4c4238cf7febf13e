from itertools import product

import numpy as np
import pytest

import seqray
from seqray.automata.generators import random_machine
from seqray.automata.stepper import predicts
from seqray.blackbox.native.clipped import clipped
from seqray.extraction.repair import repair
from seqray.fidelity.reference import Reference
from seqray.util.errors import ArgumentError


def spoilt(seed=0, n_states=4, n_symbols=3, size=0.1):
    """A machine whose weights are a little off, some of them below 0, that still sums to one."""
    rng = np.random.default_rng(seed)
    machine = random_machine("pfa", n_states, n_symbols, seed=rng)
    moved = machine.transitions + size * rng.standard_normal(machine.transitions.shape)
    odd = seqray.WeightedAutomaton(machine.alphabet, machine.initial, moved, machine.final)
    return seqray.WeightedAutomaton(machine.alphabet, odd.initial / odd.total, moved, odd.final)


def all_words(alphabet, length):
    return [word for n in range(length + 1) for word in product(alphabet, repeat=n)]


def test_a_true_distribution_is_read_as_it_is():
    machine = random_machine("hmm", 5, 3, seed=np.random.default_rng(1))
    words = all_words(machine.alphabet, 5)
    np.testing.assert_allclose(clipped(machine).weights(words), machine.weights(words), rtol=1e-9)
    np.testing.assert_allclose(clipped(machine).next_symbol(words), machine.next_symbol(words))


@pytest.mark.parametrize("seed", range(4))
def test_a_clipped_reading_is_a_distribution_by_brute_force(seed):
    odd = spoilt(seed)
    box = clipped(odd)
    words = all_words(odd.alphabet, 4)
    rows = np.clip(odd.next_symbol(words), 0, None)
    rows /= rows.sum(axis=1, keepdims=True)
    probabilities = dict(zip(words, rows, strict=True))
    assert (odd.next_symbol(words) < 0).any()
    np.testing.assert_allclose(box.next_symbol(words), rows, atol=1e-12)
    codes = {symbol: code for code, symbol in enumerate(odd.alphabet)}
    reach = {w: np.prod([probabilities[w[:i]][codes[w[i]]] for i in range(len(w))]) for w in words}
    expected = [reach[w] * probabilities[w][-1] for w in words]
    np.testing.assert_allclose(box.weights(words), expected, atol=1e-15)
    assert (box.weights(words) >= 0).all()
    assert predicts(box)
    # What all words up to a length weigh, and what goes on from there, is everything.
    going = sum(reach[w] * (1 - probabilities[w][-1]) for w in words if len(w) == 4)
    assert box.weights(words).sum() + going == pytest.approx(1)


def test_a_prefix_after_which_nothing_is_positive_is_followed_by_anything():
    odd = seqray.WeightedAutomaton("a", [1], [[[0.0]]], [0.0])
    np.testing.assert_allclose(clipped(odd).next_symbol([""]), [[0.5, 0.5]])


@pytest.mark.parametrize("seed", range(2))
def test_a_repaired_automaton_is_a_distribution_near_the_old_one(seed):
    odd = spoilt(seed, size=0.03)
    found = repair(odd, n_words=3000)
    new = found.automaton
    assert new.n_states <= odd.n_states
    assert min(new.initial.min(), new.transitions.min(), new.final.min()) >= 0
    assert new.total == pytest.approx(1)
    words = odd.sample(300, seed=np.random.default_rng(5)).words
    rows = new.next_symbol(words)
    assert rows.min() >= 0
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert found.fidelity["zeros"] == 0
    assert found.fidelity["ndcg5"] > 0.97
    assert "zeros" in found.fidelity.intervals
    again = Reference.query(clipped(odd), words).compare(new)
    assert again["ndcg5"] > 0.96


def test_the_same_seed_gives_the_same_repair():
    odd = spoilt(3)
    one, two = (repair(odd, n_words=500, seed=7).automaton for _ in range(2))
    np.testing.assert_array_equal(one.transitions, two.transitions)


def test_more_or_fewer_states_can_be_asked_for():
    assert repair(spoilt(1), n_states=2, n_words=500).automaton.n_states == 2


def test_what_is_no_distribution_is_refused():
    wa = seqray.WeightedAutomaton("a", [1], [[[0.5]]], [2])
    with pytest.raises(ArgumentError, match="sum to 4, expected about 1"):
        repair(wa)
