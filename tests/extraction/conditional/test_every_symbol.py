"""Over thousands of symbols, most of them rare, transitions are exact, and memory is bounded."""

import tracemalloc

import numpy as np
import pytest

import seqray
from seqray.extraction.conditional.decompose import decompose_conditional
from seqray.extraction.conditional.every_symbol import Following
from seqray.extraction.conditional.fill import fill_conditional
from seqray.fidelity.reference import Reference

N_STATES = 6


def machine(n_symbols, *, n_kinds=N_STATES):
    """An automaton whose symbols are as frequent as words; states of one kind predict alike."""
    rng = np.random.default_rng(0)
    emission = rng.gamma(0.5, 2, (n_kinds, n_symbols)) / np.arange(1, n_symbols + 1)
    emission *= 0.9 / emission.sum(axis=1, keepdims=True)
    emission = emission[np.arange(N_STATES) % n_kinds]
    moves = rng.dirichlet(np.full(N_STATES, 0.2), (n_symbols, N_STATES))
    transitions = emission.T[:, :, None] * moves
    initial = rng.dirichlet(np.ones(N_STATES))
    return seqray.WeightedAutomaton(range(n_symbols), initial, transitions, np.full(N_STATES, 0.1))


def decomposed(box, n_queries):
    reference = Reference.draw(box, 40, seed=1, max_length=40)
    blocks = fill_conditional(box, reference, n_contexts=40, n_columns=60)
    return decompose_conditional(blocks, following=Following(box, n_queries))


def test_an_automaton_of_two_thousand_symbols_is_learnt_exactly():
    box = machine(2000)
    automata = decomposed(box, 10**6)
    best = automata.largest
    words = Reference.draw(box, 50, seed=9, max_length=40)
    assert best.n_states == N_STATES
    assert best.weights(words.words) == pytest.approx(words.weights, rel=1e-8)
    assert best.next_symbol(words.words) == pytest.approx(box.next_symbol(words.words), abs=1e-10)


def test_a_function_that_predicts_many_symbols_is_extracted_exactly(hasty):
    box = machine(150)
    model = seqray.language_model(box.next_symbol, range(150))
    words = Reference.draw(box, 50, seed=9, max_length=40)
    weights = seqray.extract(model).best().weights(words.words)
    assert weights == pytest.approx(words.weights, rel=1e-8)


def test_states_that_predict_alike_are_distinguished_by_suffixes():
    box = machine(800, n_kinds=3)
    automata = decomposed(box, 10**6)
    words = Reference.draw(box, 50, seed=9, max_length=40)
    assert automata.max_rank == N_STATES
    assert automata.automaton(N_STATES).weights(words.words) == pytest.approx(
        words.weights, rel=1e-6
    )


@pytest.mark.parametrize("n_queries", [0, 5000])
def test_with_few_queries_rare_symbols_keep_their_probabilities(n_queries):
    box = machine(2000)
    automaton = decomposed(box, n_queries).automaton(N_STATES)
    first = automaton.next_symbol([[]])
    assert first == pytest.approx(box.next_symbol([[]]), abs=1e-9)
    assert automaton.total == pytest.approx(1)


def test_more_queries_about_rare_symbols_bring_the_automaton_nearer():
    box = machine(1000)
    words = Reference.draw(box, 50, seed=9, max_length=40)
    none, some, every = (
        words.compare(decomposed(box, n).automaton(N_STATES))["kl_per_symbol"]
        for n in (0, 2500, 10**6)
    )
    assert every < 1e-9 < some < none < 0.5


def test_rows_of_rare_symbols_are_not_stored():
    box = machine(3000)
    reference = Reference.draw(box, 10, seed=1, max_length=40)
    blocks = fill_conditional(box, reference, n_contexts=40, n_columns=60)
    tracemalloc.start()
    decompose_conditional(blocks, following=Following(box, 10**6))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    rows = 8 * (N_STATES + 1) * 3000 * 3001  # what contexts with every symbol would take
    assert peak < rows / 3
