from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seqray
from automata import FIGURE_1, contraction
from seqray import WeightedAutomaton
from seqray.automata.algebra import add, change_basis
from seqray.automata.balanced import distance
from seqray.automata.generators import random_automaton, random_machine
from seqray.automata.prediction_states import states_after
from seqray.explain.loss import checked_words, weight_loss
from seqray.explain.naming import choose_rows, continuations, name_states
from seqray.util.errors import ArgumentError

CONTAINS_ABA = WeightedAutomaton(
    "ab",
    [1, 0, 0, 0],
    [
        [[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]],
        [[1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]],
    ],
    [0, 0, 0, 1],
)


def disguised(wa, seed):
    """The same function in coordinates that mean nothing."""
    return change_basis(wa, np.random.default_rng(seed).normal(size=(wa.n_states,) * 2))


def short_words(alphabet, length):
    return alphabet.words([w for n in range(length + 1) for w in product(alphabet, repeat=n)])


@settings(max_examples=40)
@given(
    st.sampled_from(["dpfa", "pfa", "hmm"]),
    st.integers(1, 8),
    st.integers(1, 4),
    st.integers(0, 999),
    st.booleans(),
)
def test_every_weight_of_a_machine_stays_the_same(kind, n_states, n_symbols, seed, hidden):
    machine = random_machine(kind, n_states, n_symbols, seed=np.random.default_rng(seed))
    wa = disguised(machine, seed) if hidden else machine
    named = name_states(wa)
    words = short_words(wa.alphabet, 5)
    scale = np.abs(machine.weights(words)).max()
    np.testing.assert_allclose(
        named.automaton.weights(words), machine.weights(words), rtol=0, atol=1e-7 * scale
    )
    assert named.loss < 1e-7
    assert len(named.names) == len(named.prefixes) == named.automaton.n_states <= n_states
    assert len(set(named.names)) == len(named.names)
    assert named.mass.sum() == pytest.approx(1)
    np.testing.assert_allclose(named.automaton.prefix_final, 1, atol=1e-5)


@settings(max_examples=40)
@given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 999))
def test_every_weight_of_any_function_stays_the_same(n_states, n_symbols, seed):
    wa = random_automaton(n_states, n_symbols, seed=np.random.default_rng(seed))
    named = name_states(wa)
    words = short_words(wa.alphabet, 5)
    scale = np.abs(wa.weights(words)).max()
    np.testing.assert_allclose(
        named.automaton.weights(words), wa.weights(words), rtol=0, atol=1e-7 * scale
    )
    assert named.names[0] == "start"
    assert (named.shares == 1).all()


def test_states_are_the_states_after_their_prefixes():
    wa = disguised(random_machine("pfa", 5, 3, seed=np.random.default_rng(4)), 4)
    named = name_states(wa)
    states = states_after(named.automaton, named.prefixes)
    np.testing.assert_allclose(
        states / states.sum(axis=1, keepdims=True), np.eye(named.automaton.n_states), atol=1e-9
    )


def test_a_hidden_deterministic_automaton_comes_to_light():
    box = seqray.black_box(lambda words: [float("aba" in word) for word in words], "ab")
    found = seqray.extract(box, prefixes=60, suffixes=60).best()
    named = name_states(found)
    assert named.names == ("start", "after a", "after ab", "after aba")
    np.testing.assert_allclose(
        named.automaton.transitions, CONTAINS_ABA.transitions, rtol=0, atol=1e-9
    )
    assert np.isnan(named.mass).all()
    assert named.loss < 1e-9


def test_a_machine_whose_states_are_prefixes_has_no_negative_weight():
    machine = random_machine("dpfa", 6, 3, seed=np.random.default_rng(0))
    named = name_states(disguised(machine, 1))
    assert named.automaton.transitions.min() > -1e-9


def test_states_of_chances_are_kept_and_ordered_by_mass():
    machine = random_machine("pfa", 5, 3, seed=np.random.default_rng(7))
    named = name_states(machine)
    assert (np.diff(named.mass) <= 0).all()
    assert named.automaton.transitions.min() >= 0
    np.testing.assert_allclose(named.automaton.prefix_final, 1)
    # The share of steps in a state, by walking through a lot of words.
    words = machine.sample(3000, seed=np.random.default_rng(0)).words
    tree = seqray.automata.tree.PrefixTree.of(words)
    states = states_after(named.automaton, tree.words())
    often = tree.counts().sum(axis=1)
    shares = often @ (states / states.sum(axis=1, keepdims=True)) / often.sum()
    np.testing.assert_allclose(named.mass, shares, atol=0.02)


def test_the_share_is_how_much_of_the_state_there_is_after_its_prefix():
    machine = random_machine("hmm", 4, 3, seed=np.random.default_rng(7))
    named = name_states(machine)
    states = states_after(named.automaton, named.prefixes)
    shares = np.diag(states) / states.sum(axis=1)
    np.testing.assert_allclose(named.shares, shares)
    assert len(named.prefixes.unique()[0]) == 4


def test_names_say_how_sure_they_are():
    mixed = WeightedAutomaton(
        "ab", [0.6, 0.4], [[[0.1, 0.0], [0.0, 0.3]], [[0.1, 0.1], [0.2, 0.1]]], [0.7, 0.4]
    )
    words = {
        share: name.split()[0]
        for share, name in zip(name_states(mixed).shares, name_states(mixed).names, strict=True)
    }
    assert {name for share, name in words.items() if 0.5 <= share < 0.99} == {"mostly"}
    coin = WeightedAutomaton("a", [0.5, 0.5, 0], np.ones((1, 3, 3)) * 0.2, [0.4, 0.4, 0.4])
    assert any(name.startswith("partly after") for name in name_states(coin).names)


def test_states_that_no_word_passes_through_are_dropped():
    wa = WeightedAutomaton(
        "ab",
        [1, 0, 0],
        [[[0.5, 0.1, 0], [0, 1, 0], [0.2, 0, 0]], np.zeros((3, 3))],
        [0.4, 0, 0.8],
    )
    named = name_states(wa)  # the second never ends, the third is never reached
    assert named.names == ("start",)
    assert named.loss < 1e-12


def test_directions_that_no_word_reaches_are_dropped():
    half = WeightedAutomaton("ab", [-1], [[[-0.5]], [[0.25]]], [-1])
    named = name_states(add(half, half))
    assert named.automaton.n_states == 1
    assert named.loss < 1e-12
    assert not named.automaton.is_distribution or named.mass.sum() == pytest.approx(1)


def test_a_chain_that_takes_long_words_to_reach_is_named_whole():
    n = 30  # nothing but a^29 brings the word to its end
    chain = np.zeros((2, n, n))
    chain[0, np.arange(n - 1), np.arange(1, n)] = 0.9
    chain[1, :, 0] = 0.1
    chain[1, -1, 0] = 0.5
    final = np.zeros(n)
    final[-1] = 0.5
    wa = disguised(WeightedAutomaton("ab", np.eye(n)[0], chain, final), 2)
    assert name_states(wa).automaton.n_states == n


def test_a_function_that_is_0_has_one_state():
    for wa in (
        WeightedAutomaton("a", [0, 0], [np.eye(2)], [0, 0]),
        WeightedAutomaton("a", [1, -1], [np.eye(2) * 0.5], [1, 1]),
    ):
        named = name_states(wa)
        assert named.names == ("start",)
        assert named.loss == 0


def test_candidates_are_what_names_are_chosen_from():
    wa = disguised(FIGURE_1, 0)
    assert name_states(wa, candidates=["bb"]).names == ("start", "after bb")
    assert name_states(FIGURE_1, candidates=["ab", "abab"]).names[0].endswith("after abab")
    with pytest.raises(ArgumentError, match="candidates: expected at least one prefix"):
        name_states(wa, candidates=[])
    with pytest.raises(ArgumentError, match="at least 2 different prefixes, one per state, got 1"):
        name_states(FIGURE_1, candidates=["a", "a"])


def test_too_few_candidates_are_an_honest_loss():
    wa = disguised(random_machine("pfa", 5, 3, seed=np.random.default_rng(4)), 4)
    named = name_states(wa, candidates=[[0], [1]])
    assert named.automaton.n_states == 3
    assert named.loss > 1e-4


def test_the_loss_is_the_largest_change():
    wa, other = contraction(1, 3, 2), contraction(2, 3, 2)
    words = short_words(wa.alphabet, 8)
    distances = np.abs(wa.weights(words) - other.weights(words)).max()
    expected = distances / np.abs(wa.weights(words)).max()
    assert weight_loss(wa, other) == pytest.approx(expected)
    zero = WeightedAutomaton(range(2), [0], np.zeros((2, 1, 1)), [0])
    assert weight_loss(zero, zero) == 0


@pytest.mark.parametrize("n_symbols", [1, 2, 3, 4, 21])
def test_words_for_the_loss_are_of_all_lengths_and_not_too_many(n_symbols):
    words = checked_words(seqray.Alphabet(range(n_symbols)))
    assert set(words.lengths.tolist()) == set(range(9))
    assert len(words) <= 20_000
    if sum(n_symbols**n for n in range(9)) <= 20_000:
        assert words == short_words(words.alphabet, 8)


@pytest.mark.parametrize("power", [1, 3])
def test_chosen_rows_leave_no_large_coefficient(power):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(60, 6)) ** power
    chosen = choose_rows(rows, 1e-12)
    coefficients = np.linalg.solve(rows[chosen].T, rows.T).T
    assert chosen[0] == 0
    assert np.abs(coefficients[:, 1:]).max() <= 1.05 + 1e-9
    # and do not depend on coordinates
    assert (choose_rows(rows @ rng.normal(size=(6, 6)), 1e-12) == chosen).all()


def test_corners_are_chosen_where_there_are_any():
    rng = np.random.default_rng(1)
    corners = rng.normal(size=(4, 4))
    inside = rng.dirichlet(np.ones(4), size=100) @ corners
    rows = np.concatenate([corners[:1], inside, corners[1:]])
    assert sorted(choose_rows(rows, 1e-12)) == [0, 101, 102, 103]


def test_words_go_on_as_the_weights_say():
    named = name_states(FIGURE_1)
    for state, goes_on in zip(np.eye(2), continuations(named, 4), strict=True):
        wa = named.automaton
        from_here = WeightedAutomaton("ab", state, wa.transitions, wa.final)
        np.testing.assert_allclose(goes_on.weights, from_here.weights(goes_on.words))
        every = short_words(wa.alphabet, 7)
        assert goes_on.weights[-1] >= np.sort(from_here.weights(every))[-4] - 1e-15
        assert goes_on.exact


def test_a_long_list_of_states_is_shown_in_part():
    machine = random_machine("dpfa", 6, 3, seed=np.random.default_rng(0))
    assert repr(name_states(machine)).endswith(", …)")
    assert repr(name_states(FIGURE_1)) == "NamedAutomaton(2 states: start, after b)"


@pytest.mark.parametrize("problem", [5, 24])
def test_what_is_extracted_from_a_machine_keeps_its_weights(data, problem):
    machine = seqray.open_black_box(f"wa:{data}/pautomac/{problem}.pautomac_model.txt")
    found = seqray.extract(
        machine, prefixes=150, suffixes=150, max_rank=10, method="weighted"
    ).best()
    named = name_states(found)
    assert named.loss < 1e-6
    largest = np.abs(found.weights(checked_words(found.alphabet))).max()
    assert distance(found, named.automaton) < 1e-6 * largest


@pytest.mark.parametrize("size", [1e-100, 1e-30, 1e3, 1e30, 1e100])
def test_weights_that_shrink_or_grow_fast_are_no_trouble(size):
    wa = random_automaton(4, 2, seed=np.random.default_rng(5))
    steep = WeightedAutomaton(wa.alphabet, wa.initial, wa.transitions * size, wa.final)
    named = name_states(steep)
    assert named.automaton.n_states == 4
    assert named.loss < 1e-9


def test_more_states_than_anybody_reads_get_no_names():
    many = random_machine("dpfa", 1001, 2, seed=0)
    with pytest.raises(ArgumentError, match="at most 1,000 states to name, got 1,001"):
        name_states(many)
