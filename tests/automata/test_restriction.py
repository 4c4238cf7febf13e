from itertools import product

import numpy as np
import pytest

import seqray
from seqray import ArgumentError, restricted
from seqray.automata.generators import random_machine, random_structured
from seqray.automata.guide import Guide
from seqray.automata.restriction import masked

MACHINES = {
    "dense": random_machine("pfa", 5, 3, seed=1),
    "structured": random_structured("abc", 3, seed=0, remembering=0.5),
}
REGEX = "{0} ({1} | {2} .)* {0}?"


def words_of(machine, length=6):
    return [word for n in range(length) for word in product(machine.alphabet.symbols, repeat=n)]


@pytest.fixture(params=MACHINES, name="machine")
def machine_of(request):
    return MACHINES[request.param]


@pytest.fixture(name="guide")
def guide_for(machine):
    regex = REGEX.format(*(f'"{symbol}"' for symbol in machine.alphabet.symbols[:3]))
    return Guide.of_regex(regex, machine.alphabet)


def test_forbidden_words_weigh_nothing_and_the_others_are_scaled(machine, guide):
    words = words_of(machine)
    small, allowed = restricted(machine, guide.regex), guide.allows(words)
    weights, before = small.weights(words), machine.weights(words)
    assert (weights[~allowed] == 0).all()
    factors = weights[allowed] / before[allowed]
    np.testing.assert_allclose(factors, factors[0], rtol=1e-9)
    assert float(small.initial @ small.prefix_final) == pytest.approx(1, abs=1e-12)


def test_next_symbols_are_conditioned_on_the_language(machine, guide):
    small, symbol = restricted(machine, guide), machine.alphabet.symbols[0]
    whole = seqray.multiply(machine, guide.dfa.to_weighted())
    rows = whole.next_symbol([(), (symbol,)])
    np.testing.assert_allclose(small.next_symbol([(), (symbol,)]), rows, atol=1e-9)


def test_a_symbol_costs_as_much_as_before(machine, guide):
    assert restricted(machine, guide).cost_per_symbol <= machine.cost_per_symbol


def test_masked_automata_keep_weights_and_probabilities(machine, guide):
    words = words_of(machine, 4)
    small, allowed = masked(machine, guide), guide.allows(words)
    weights = np.where(allowed, machine.weights(words), 0)
    np.testing.assert_allclose(small.weights(words), weights, rtol=1e-12)
    prefixes = [word for word in words if guide.allows_prefixes([word])[0]]
    rows = np.where(guide.allowed[guide.dfa.states(prefixes)], machine.next_symbol(prefixes), 0)
    np.testing.assert_allclose(small.next_symbol(prefixes), rows, atol=1e-9)


def test_an_automaton_without_allowed_words_is_refused():
    machine = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0]]], [0.5])
    with pytest.raises(ArgumentError, match="all allowed words together the weight 0"):
        restricted(machine, "b")


def test_too_many_states_are_refused(monkeypatch):
    monkeypatch.setattr("seqray.automata.restriction.MAX_NUMBERS", 100)
    with pytest.raises(ArgumentError, match="has 1,005 states: expected at most 25"):
        restricted(MACHINES["dense"], ".{200}")


def test_files_hold_it(machine, guide, tmp_path):
    small = restricted(machine, guide)
    small.save(tmp_path / "small.npz")
    words = words_of(machine, 4)
    again = seqray.WeightedAutomaton.load(tmp_path / "small.npz")
    np.testing.assert_array_equal(again.weights(words), small.weights(words))
