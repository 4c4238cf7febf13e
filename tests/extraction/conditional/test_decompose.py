import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.extraction.conditional.decompose import decompose_conditional
from seqray.extraction.conditional.fill import fill_conditional
from told import ODD, known_of, odd_box, rng


def dense(seed, n_states, n_symbols):
    """A machine in which everything is possible everywhere."""
    rows = rng(seed).dirichlet(np.ones(n_symbols * n_states + 1), n_states)
    rows = 0.9 * rows + 0.1 / rows.shape[1]
    transitions = rows[:, :-1].reshape(n_states, n_symbols, n_states).transpose(1, 0, 2)
    initial = rng(seed).dirichlet(np.ones(n_states))
    return WeightedAutomaton(range(n_symbols), initial, transitions, rows[:, -1])


def every_word(alphabet, length):
    words = [()]
    for word in words:
        if len(word) < length:
            words.extend((*word, symbol) for symbol in alphabet)
    return alphabet.words(words)


@pytest.mark.parametrize("n_states", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_a_dense_machine_comes_back_exactly(n_states, seed):
    machine = dense(seed, n_states, 2)
    reference = known_of(machine, 200)
    blocks = fill_conditional(machine, reference, n_contexts=150, n_columns=21)
    assert (blocks.values > 0).all()  # nothing is rare
    automata = decompose_conditional(blocks)
    automaton = automata.automaton(n_states)
    words = every_word(machine.alphabet, 6)
    np.testing.assert_allclose(automaton.weights(words), machine.weights(words), atol=1e-8)
    np.testing.assert_allclose(automaton.next_symbol(words), machine.next_symbol(words), atol=1e-6)
    assert automata.singular_values[n_states:].sum() < 1e-9
    assert (np.diff(automata.singular_values) <= 0).all()


def test_every_rank_is_a_leading_block_with_an_end_of_its_own():
    machine = random_machine("pfa", 6, 3, seed=rng(3))
    blocks = fill_conditional(machine, known_of(machine, 200), n_contexts=100, n_columns=60)
    automata = decompose_conditional(blocks, max_rank=5)
    assert automata.max_rank == len(automata.singular_values) == len(automata.prefix_final) == 5
    for rank in range(1, 6):
        automaton = automata.automaton(rank)
        prefix_final = automata.prefix_final[:rank]
        np.testing.assert_array_equal(
            automaton.transitions, automata.largest.transitions[:, :rank, :rank]
        )
        initial = automata.largest.initial[:rank]
        np.testing.assert_allclose(automaton.initial, initial / (initial @ prefix_final))
        np.testing.assert_allclose(
            automaton.final,
            prefix_final - automaton.transitions.sum(axis=0) @ prefix_final,
            atol=1e-14,
        )
        np.testing.assert_allclose(automaton.prefix_final, prefix_final, atol=1e-6)
        assert automaton.total == pytest.approx(1)
        assert automaton.is_distribution


def test_states_are_uncorrelated_over_the_contexts():
    machine = random_machine("pfa", 6, 3, seed=rng(3))
    blocks = fill_conditional(machine, known_of(machine, 200), n_contexts=100, n_columns=60)
    automata = decompose_conditional(blocks, max_rank=4)
    share = blocks.visits / blocks.visits.sum()
    _, sizes, right = np.linalg.svd(
        np.sqrt(share)[:, None] * blocks.features[blocks.contexts], full_matrices=False
    )
    states = blocks.features[blocks.contexts] @ (right[:4].T / sizes[:4])
    np.testing.assert_allclose(states.T @ (share[:, None] * states), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(automata.singular_values, sizes[:4])


@pytest.mark.parametrize("name", ODD)
def test_odd_boxes_are_copied(name):
    box = odd_box(name)
    reference = known_of(box, 40, max_length=12)
    automata = decompose_conditional(fill_conditional(box, reference, n_contexts=60, n_columns=30))
    fidelity = reference.compare(automata.automaton(automata.max_rank))
    assert fidelity["ndcg5"] == pytest.approx(1, abs=1e-9)
    assert fidelity["kl_per_symbol"] < 1e-5
