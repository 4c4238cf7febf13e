import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqray.automata.generators import (
    KINDS,
    random_automaton,
    random_machine,
    random_structured,
)
from seqray.util.errors import ArgumentError, RankError

seeds = st.integers(0, 2**32)
shares = st.floats(0, 1)


@settings(max_examples=150)
@given(
    kind=st.sampled_from(KINDS),
    n_states=st.integers(1, 30),
    n_symbols=st.integers(1, 12),
    seed=seeds,
    sparsities=st.tuples(shares, shares),
)
def test_a_random_machine_is_a_distribution_in_which_all_is_used(
    kind, n_states, n_symbols, seed, sparsities
):
    machine = random_machine(
        kind,
        n_states,
        n_symbols,
        seed=np.random.default_rng(seed),
        symbol_sparsity=sparsities[0],
        transition_sparsity=sparsities[1],
    )
    moves = machine.transitions
    assert moves.shape == (n_symbols, n_states, n_states)
    assert min(moves.min(), machine.initial.min(), machine.final.min()) >= 0
    np.testing.assert_allclose(machine.final + moves.sum(axis=(0, 2)), 1)
    assert machine.total == pytest.approx(1, abs=1e-9)
    assert moves.any(axis=(1, 2)).all(), "a symbol is never used"
    steps = np.linalg.matrix_power(np.eye(n_states) + moves.sum(axis=0), n_states)
    assert (machine.initial @ steps > 0).all(), "a state is never reached"
    assert (steps @ machine.final > 0).all(), "a state never stops"


def test_a_dpfa_is_deterministic():
    machine = random_machine("dpfa", 12, 5, seed=np.random.default_rng(1))
    assert np.count_nonzero(machine.initial) == 1
    assert (np.count_nonzero(machine.transitions, axis=2) <= 1).all()


def test_an_hmm_moves_alike_whatever_the_symbol():
    machine = random_machine("hmm", 6, 4, seed=np.random.default_rng(1))
    sums = machine.transitions.sum(axis=2, keepdims=True)
    emitted = sums[..., 0] > 0
    moves = np.divide(machine.transitions, sums, where=sums > 0, out=np.zeros((4, 6, 6)))
    for state in range(6):
        rows = moves[emitted[:, state], state]
        np.testing.assert_allclose(rows, rows[:1].repeat(len(rows), axis=0))


def test_a_pfa_is_neither():
    machine = random_machine("pfa", 12, 5, seed=np.random.default_rng(1))
    assert np.count_nonzero(machine.initial) > 1
    assert (np.count_nonzero(machine.transitions, axis=2) > 1).any()


@settings(max_examples=30)
@given(n_states=st.integers(1, 12), n_symbols=st.integers(1, 3), seed=seeds, density=shares)
def test_weights_of_a_random_automaton_stay_tame(n_states, n_symbols, seed, density):
    automaton = random_automaton(
        n_states, n_symbols, seed=np.random.default_rng(seed), density=density
    )
    words = [[s] * n for s, n in itertools.product(range(n_symbols), (0, 1, 4, 12))]
    sizes = [np.linalg.norm(automaton.state_after(word)) for word in words]
    # No matrix stretches a vector by more than its Frobenius norm.
    assert max(sizes) <= 1.0001 * (1.1 * np.sqrt(n_states)) ** 12
    assert np.isfinite(automaton.weights(words)).all()


def test_weights_of_a_random_automaton_have_both_signs_and_do_not_vanish():
    rng = np.random.default_rng(3)
    words = rng.integers(3, size=(200, 12)).tolist()
    weights = np.array(
        [random_automaton(n, 3, seed=rng).weights(words) for n in (1, 2, 5, 20) for _ in range(20)]
    )
    assert 0.3 < (weights > 0).mean() < 0.7
    assert 1e-3 < np.median(np.abs(weights)) < 10
    assert np.abs(weights).max() < 1e4


def test_density_is_the_share_of_transitions():
    automaton = random_automaton(30, 2, seed=np.random.default_rng(0), density=0.2)
    assert (automaton.transitions != 0).mean() == pytest.approx(0.2, abs=0.06)
    assert (automaton.transitions != 0).any(axis=1).all()
    assert (automaton.transitions != 0).any(axis=2).all()


def test_the_same_seed_draws_the_same():
    first, second = (random_machine("pfa", 5, 3, seed=np.random.default_rng(7)) for _ in range(2))
    assert first.allclose(second, rtol=0, atol=0)


def test_how_often_and_how_likely_words_stop_can_be_said():
    machine = random_machine(
        "pfa", 200, 3, seed=np.random.default_rng(0), stopping=0.3, stop_probabilities=(0.7, 0.8)
    )
    stops = machine.final[machine.final > 0]
    assert len(stops) / 200 == pytest.approx(0.3, abs=0.1)
    assert 0.7 <= stops.min() <= stops.max() <= 0.8


def test_what_cannot_be_drawn_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ArgumentError, match="kind 'nfa' is not one of dpfa, pfa, hmm"):
        random_machine("nfa", 2, 2, seed=rng)
    with pytest.raises(RankError, match="n_states: expected 1 or more, got 0"):
        random_machine("pfa", 0, 2, seed=rng)
    with pytest.raises(ArgumentError, match="n_symbols: expected 1 or more, got 0"):
        random_automaton(2, 0, seed=rng)
    with pytest.raises(ArgumentError, match="stopping: expected a share from 0 to 1, got -1"):
        random_machine("pfa", 2, 2, seed=rng, stopping=-1)
    with pytest.raises(ArgumentError, match="stop_probabilities: expected 0 < least ≤ most ≤ 1"):
        random_machine("pfa", 2, 2, seed=rng, stop_probabilities=(0.5, 0.1))
    with pytest.raises(ArgumentError, match="density: expected a share from 0 to 1, got 2"):
        random_automaton(2, 2, seed=rng, density=2)


def test_machines_that_no_file_could_be_read_with_are_refused():
    for draw in (partial(random_machine, "pfa"), random_automaton):
        with pytest.raises(ArgumentError, match="need 200,000,000 numbers, more than the limit"):
            draw(10_000, 2, seed=np.random.default_rng(0))


@settings(max_examples=30)
@given(n_symbols=st.integers(1, 6), n_states=st.integers(1, 8), seed=seeds, remembering=shares)
def test_a_random_structured_automaton_is_a_distribution(n_symbols, n_states, seed, remembering):
    wa = random_structured(range(n_symbols), n_states, seed=seed, remembering=remembering)
    assert wa.is_probabilistic
    assert wa.is_distribution
    assert wa.n_states == 1 + n_symbols * n_states
    assert len(wa.remembering) <= n_symbols * (n_symbols + 1)
    assert wa.to_dense().total == pytest.approx(1, abs=1e-9)


def test_the_mean_length_of_its_words_can_be_chosen():
    words = random_structured("ab", 3, seed=0, mean_length=4).sample(5000, seed=0).words
    assert words.lengths.mean() == pytest.approx(4, rel=0.1)


def test_its_matrices_are_sparse():
    values = random_structured("abc", 40, seed=0).remembering.values
    assert 0.1 < (values > 0).mean() < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states_per_symbol": 0}, "states_per_symbol: expected a whole number from 1, got 0"),
        ({"states_per_symbol": 10**5}, "states_per_symbol: 100,000 states after each of 2 symbols"),
        ({"remembering": 1.5}, "remembering: expected a share from 0 to 1, got 1.5"),
        ({"mean_length": 0}, "mean_length: expected more than 0, got 0"),
    ],
)
def test_an_impossible_structured_automaton_is_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        random_structured("ab", **{"states_per_symbol": 2, **options}, seed=0)
