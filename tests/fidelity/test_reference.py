"""Words with a box's answers: queried, drawn and joined."""

import numpy as np
import pytest

from large_alphabets import zipf_machine
from memory import peak_bytes
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.sampling import sample
from seqray.blackbox.native.function import black_box
from seqray.fidelity.compare import compare
from seqray.fidelity.reference import Reference, drawn_words
from seqray.util.errors import BlackBoxError


def test_the_box_is_queried_once_on_each_word(box, words):
    queried = []

    def weights(batch):
        queried.extend(batch)
        return box.weights(batch)

    reference = Reference.query(black_box(weights, "abc"), words)
    for rank in (1, 2):
        reference.compare(box.truncate(rank))
    assert len(queried) == len(set(words)) < len(words)
    np.testing.assert_allclose(reference.weights, box.weights(words), rtol=1e-12)
    assert repr(reference) == f"Reference(300 words, {reference.n_prefixes} prefixes)"


class Counted:
    """A box with states that counts its steps, and may take few at a time."""

    def __init__(self, box, max_states=None):
        self.box, self.alphabet, self.n_steps = box, box.alphabet, 0
        self.max_states = max_states
        self.start, self.weights = box.start, box.weights
        self.state_weights, self.state_next_symbol = box.state_weights, box.state_next_symbol

    def step(self, states, parents, symbols):
        self.n_steps += len(parents)
        return self.box.step(states, parents, symbols)


@pytest.mark.parametrize("max_length", [1, 3, 100])
def test_answers_while_words_are_drawn_are_those_on_the_words(max_length, stochastic):
    machine = stochastic(4, seed=1)
    box = Counted(machine)
    drawn = Reference.draw(box, 200, seed=np.random.default_rng(2), max_length=max_length)
    words, _ = sample(machine, 200, seed=np.random.default_rng(2), max_length=max_length)
    assert drawn.words == words
    assert box.n_steps == len(drawn.tree) - 1
    queried = Reference.query(machine, words)
    np.testing.assert_allclose(drawn.weights, queried.weights, rtol=1e-12)
    np.testing.assert_allclose(drawn.next_symbol, queried.next_symbol, rtol=1e-12)


def test_words_are_drawn_as_many_at_a_time_as_a_box_takes(stochastic):
    machine = stochastic(4, seed=1)
    few = Reference.draw(Counted(machine, 7), 50, seed=np.random.default_rng(2), max_length=9)
    queried = Reference.query(machine, few.words)
    assert len(few.weights) == 50
    np.testing.assert_allclose(few.next_symbol, queried.next_symbol, rtol=1e-12)


def test_references_are_joined_in_their_order(stochastic):
    machine = stochastic(4, seed=1)
    words = machine.sample(60, seed=np.random.default_rng(3)).words
    parts = [Reference.query(machine, words[begin : begin + 20]) for begin in (0, 20, 40)]
    joined, whole = Reference.joined(parts), Reference.query(machine, words)
    assert joined.words == words
    np.testing.assert_allclose(joined.weights, whole.weights, rtol=1e-12)
    np.testing.assert_allclose(joined.next_symbol, whole.next_symbol, rtol=1e-12)
    assert Reference.joined(parts[:1]) is parts[0]


def test_a_box_that_says_nonsense_while_words_are_drawn_is_named(stochastic):
    box = Counted(stochastic(4, seed=1))
    real = box.state_next_symbol
    box.state_next_symbol = lambda states: np.where(real(states) > 0.3, np.nan, real(states))
    with pytest.raises(BlackBoxError, match="the Counted returned nan for the word"):
        Reference.draw(box, 50, seed=np.random.default_rng(0), max_length=5)


def test_a_seed_may_be_a_number_or_a_generator(stochastic):
    machine = stochastic(4, seed=1)
    by_number = Reference.draw(machine, 20, seed=3, max_length=9)
    assert (
        by_number.words
        == Reference.draw(machine, 20, seed=np.random.default_rng(3), max_length=9).words
    )


def test_words_to_compare_on_are_drawn_from_a_box_that_predicts_else_at_random(stochastic):
    machine = stochastic(4, seed=1)
    words, source = drawn_words(machine, seed=0)
    assert source == "2,000 words drawn from the box"
    assert words == sample(machine, 2000, seed=0, max_length=100)[0]
    words, source = drawn_words(black_box(len, "ab"), seed=0, max_length=5)
    assert source == "2,000 random words"
    assert words.lengths.max() == 5


def test_of_a_box_with_thousands_of_symbols_fewer_words_are_drawn():
    n = 10_000
    box = WeightedAutomaton(range(n), [1], np.full((n, 1, 1), 0.9 / n), [0.1])
    words, source = drawn_words(box, seed=0)
    assert 100 < len(words) < 1000
    assert source == f"{len(words):,} words drawn from the box"


@pytest.mark.slow(reason="thousands of symbols")
def test_a_comparison_over_thousands_of_symbols_takes_less_than_a_gigabyte():
    box = zipf_machine()
    words, _ = drawn_words(box, seed=0)
    assert peak_bytes(lambda: compare(box, box, words)) < 900e6
