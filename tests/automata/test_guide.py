import json
from itertools import product

import numpy as np
import pytest

from seqray import Alphabet, ArgumentError, DeterministicAutomaton, WeightedAutomaton
from seqray.automata.deterministic import deterministic_pfa
from seqray.automata.generators import random_machine
from seqray.automata.guide import Guide

AB = Alphabet("ab")
WORDS = [word for n in range(6) for word in product("ab", repeat=n)]
EVEN = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])


def test_only_what_can_still_be_completed_is_allowed():
    guide = Guide.of_regex("a b? a | b b", AB)
    allowed = guide.allows(WORDS)
    accepted = {word for word, is_allowed in zip(WORDS, allowed, strict=True) if is_allowed}
    assert accepted == {("a", "a"), ("a", "b", "a"), ("b", "b")}
    for word in WORDS:
        goes_on = [any(other[: len(word) + 1] == (*word, x) for other in accepted) for x in "ab"]
        expected = [*goes_on, word in accepted]
        assert guide.allowed[guide.dfa.states([word])[0]].tolist() == expected
        assert guide.allows_prefixes([word])[0] == any(expected)


def test_open_states_are_those_that_a_symbol_may_follow():
    guide = Guide.of_regex("a b", AB)
    assert guide.is_open[guide.dfa.states(["", "a", "ab", "b"])].tolist() == [True, True, 0, 0]


def test_a_guide_that_allows_nothing_is_refused():
    with pytest.raises(ArgumentError, match=r"expected one that accepts some word, '\[\^a b\]'"):
        Guide.of_regex("[^a b]", AB)


def test_a_dfa_is_a_guide_whatever_the_order_of_its_symbols():
    guide = Guide.of_automaton(EVEN, Alphabet("ba"))
    assert guide.allows(["", "a", "aba"]).tolist() == [True, False, True]
    assert str(guide) == "a DFA of 2 states"


def test_the_support_of_an_automaton_without_negative_weights_is_a_guide():
    machine = random_machine("pfa", 4, 2, seed=3)
    guide = Guide.of_automaton(machine, machine.alphabet)
    words = [word for n in range(7) for word in product(machine.alphabet.symbols, repeat=n)]
    assert (guide.allows(words) == (machine.weights(words) > 0)).all()


def test_a_pdfa_allows_what_has_a_probability():
    pdfa = deterministic_pfa("ab", [[1, 0], [1, 1]], [[0.5, 0.5, 0], [0, 0.5, 0.5]])
    guide = Guide.of_automaton(pdfa, AB)
    assert guide.allows(["", "ba", "bab", "aa"]).tolist() == [False, True, True, False]


def test_automata_without_a_clear_support_are_refused():
    odd = WeightedAutomaton("ab", [1], [[[0.6]], [[-0.1]]], [0.5])
    with pytest.raises(ArgumentError, match=r"without negative weights, got -0\.1 among the trans"):
        Guide.of_automaton(odd, AB)
    moore = DeterministicAutomaton("ab", [[0, 0]], [0], ["x", "y"])
    for automaton in (moore, moore.to_classifier()):
        with pytest.raises(ArgumentError, match="expected a DFA, which accepts or rejects"):
            Guide.of_automaton(automaton, AB)


def test_other_symbols_are_refused():
    with pytest.raises(ArgumentError, match="only one of them has c"):
        Guide.of_automaton(EVEN, Alphabet("abc"))


def test_masked_rows_sum_to_one_or_are_zero():
    guide = Guide.of_regex("a b*", AB)
    states = guide.dfa.states(["", "a", "", "b"])
    rows = [[0.25, 0.5, 0.25], [0.5, 0.375, 0.125], [0, 0.5, 0.5], [0.5, 0.25, 0.25]]
    expected = [[1, 0, 0], [0, 0.75, 0.25], [0, 0, 0], [0, 0, 0]]
    assert guide.masked(np.array(rows), states).tolist() == expected


@pytest.mark.parametrize("guide", [Guide.of_regex("a b*", AB), Guide.of_automaton(EVEN, AB)])
def test_json_brings_it_back(guide):
    again = Guide.from_json(json.loads(json.dumps(guide.to_json())))
    assert (again.regex, again.fingerprint) == (guide.regex, guide.fingerprint)
    assert repr(again) == repr(guide)


def test_guides_of_the_same_words_have_the_same_fingerprint():
    one, same, other = (Guide.of_regex(each, AB) for each in ("a a*", "a+", "a*"))
    assert one.fingerprint == same.fingerprint != other.fingerprint


def test_a_guide_can_be_given_in_several_forms():
    guide = Guide.of("b* (a b* a b*)*", AB)
    for given in (guide, EVEN, Guide.of(EVEN, AB)):
        assert Guide.of(given, AB).fingerprint == guide.fingerprint
