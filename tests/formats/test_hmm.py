"""Probabilistic automata as hidden Markov models of hmmlearn, and back."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import random_automaton, short_words
from seqray import (
    ArgumentError,
    FileError,
    MissingExtraError,
    WeightedAutomaton,
    deterministic_pfa,
    from_hmmlearn,
    to_hmmlearn,
)
from seqray.automata.generators import random_machine

COIN = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
NO_MODEL = SimpleNamespace(
    startprob_=np.array([0.5, 0.5]), transmat_=np.eye(2), emissionprob_=np.eye(2)
)


def hmm_form(seed, n_states=3, n_symbols=2):
    """Return an automaton whose next state does not depend on the symbol."""
    rng = np.random.default_rng(seed)
    start, moves = rng.dirichlet(np.ones(n_states)), rng.dirichlet(np.ones(n_states), n_states)
    emission = rng.dirichlet(np.ones(n_symbols + 1), n_states)
    matrices = emission.T[:-1, :, None] * moves
    return WeightedAutomaton(range(n_symbols), start, matrices, emission[:, -1])


def scores(model, wa, words):
    """Return the probability of each word and the end."""
    codes = [[*wa.alphabet.encode(word), len(wa.alphabet)] for word in words]
    return np.exp([model.score(np.array(each)[:, None]) for each in codes])


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_an_automaton_of_the_form_of_a_model_keeps_its_states(seed):
    pytest.importorskip("hmmlearn")
    wa = hmm_form(seed)
    model = to_hmmlearn(wa)
    assert model.n_components == wa.n_states
    words = short_words(wa, 2)
    assert scores(model, wa, words) == pytest.approx(wa.weights(words), rel=1e-9)
    assert from_hmmlearn(model, end=2).allclose(wa, rtol=1e-12)


@pytest.mark.parametrize(
    "wa",
    [
        random_machine("pfa", 3, 2, seed=0),
        deterministic_pfa("ab", [[0, 1], [1, 0]], [[0.5, 0.25, 0.25], [0, 0.5, 0.5]]),
    ],
    ids=repr,
)
def test_any_other_probabilistic_automaton_gets_a_state_for_each_symbol(wa):
    pytest.importorskip("hmmlearn")
    model = to_hmmlearn(wa)
    assert wa.n_states < model.n_components <= wa.n_states * len(wa.alphabet) + 1
    words = short_words(wa, 3)
    weights = wa.weights(words)
    assert scores(model, wa, words)[weights > 0] == pytest.approx(weights[weights > 0], rel=1e-9)
    again = from_hmmlearn(model, wa.alphabet, end=len(wa.alphabet))
    assert again.weights(words) == pytest.approx(weights, rel=1e-9)


def test_without_an_end_weights_are_those_of_beginnings():
    hmm = pytest.importorskip("hmmlearn.hmm")
    model = hmm.CategoricalHMM(n_components=2, n_features=2)
    model.startprob_ = np.array([0.25, 0.75])
    model.transmat_ = np.array([[0.5, 0.5], [0.1, 0.9]])
    model.emissionprob_ = np.array([[0.2, 0.8], [0.7, 0.3]])
    wa = from_hmmlearn(model, "xy")
    for word in ("x", "xyy", "yxyx"):
        codes = [[code] for code in wa.alphabet.encode(word)]
        assert wa.weight(word) == pytest.approx(np.exp(model.score(codes)), rel=1e-12)
    assert wa.weights(["x", "y"]).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("wa", "message"),
    [
        (random_automaton(0), r"below 0: a hidden Markov model needs a probabilistic automaton"),
        (WeightedAutomaton("a", [1], [[[0.5]]], [0.25]), r"sum to 0\.75, not to 1"),
        (WeightedAutomaton("a", [2], [[[0.5]]], [0.5]), r"initial sums to 2, not to 1"),
    ],
    ids=repr,
)
def test_what_is_not_probabilistic_is_refused_with_the_reason(wa, message):
    with pytest.raises(ArgumentError, match=message):
        to_hmmlearn(wa)


def test_a_model_too_large_is_refused():
    n = 3000
    wa = deterministic_pfa("ab", np.zeros((n, 2), int), np.tile([0.25, 0.25, 0.5], (n, 1)))
    with pytest.raises(FileError, match="3,000 states and 2 symbols would need 81,000,000 numbers"):
        to_hmmlearn(wa)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"emissionprob_": ...}, {}, "that was fitted, got .* without emissionprob_"),
        ({"transmat_": np.ones((2, 2))}, {}, "transmat_ has rows that are no probabilities"),
        ({"startprob_": np.array([-1.0, 2.0])}, {}, "startprob_ has rows that are no"),
        (
            {"startprob_": [], "transmat_": np.ones((0, 0)), "emissionprob_": np.ones((0, 2))},
            {},
            "startprob_ has rows that are no",
        ),
        ({}, {"end": 2}, "end: expected a symbol from 0 to 1, got 2"),
        ({}, {"end": "b"}, "end: expected a whole number from 0, got 'b'"),
        ({}, {"end": 1.0}, "end: expected a whole number from 0, got 1.0"),
        ({}, {"alphabet": "ab", "end": 1}, "alphabet: expected 1 symbols"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused(changes, options, message):
    parts = {**vars(NO_MODEL), **changes}
    model = SimpleNamespace(**{name: each for name, each in parts.items() if each is not ...})
    with pytest.raises(ArgumentError, match=message):
        from_hmmlearn(model, **options)


def test_a_model_is_read_without_the_package():
    assert from_hmmlearn(NO_MODEL, end=1).weights([[], [0], [0, 0]]).tolist() == [0.5, 0, 0]


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hmmlearn.hmm", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[hmmlearn\]'"):
        to_hmmlearn(COIN)
