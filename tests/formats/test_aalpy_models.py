"""Automata as objects of AALpy, and back."""

import pytest

import seqray
from deterministic_cases import all_words, random_pdfa, same_predictions
from seqray import (
    ArgumentError,
    DeterministicAutomaton,
    SymbolError,
    deterministic_pfa,
    from_aalpy,
    to_aalpy,
)
from seqray.formats.aalpy_models import load_aalpy

aalpy = pytest.importorskip("aalpy.automata")

EVEN = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
THIRDS = DeterministicAutomaton("ab", [[1, 0], [2, 1], [0, 2]], [0, 1, 2], ["x", "y", "z"])


@pytest.mark.parametrize("automaton", [EVEN, THIRDS])
def test_models_decide_as_the_automaton_and_come_back(automaton):
    model = to_aalpy(automaton)
    for word in all_words("ab", 4)[1:]:
        output = model.execute_sequence(model.initial_state, word)[-1]
        expected = automaton.decide([word])[0]
        assert output == (expected == "yes" if automaton.is_dfa else expected)
    assert from_aalpy(model).allclose(automaton)
    assert model.states[1].prefix == ("a",)


def test_letters_may_be_codes_and_outputs_numbers():
    by_code = DeterministicAutomaton([0, 1], THIRDS.next_state, THIRDS.outputs, ["0", "1", "2"])
    model = to_aalpy(by_code)
    assert from_aalpy(model, "ab", ["x", "y", "z"]).allclose(THIRDS)
    assert from_aalpy(to_aalpy(EVEN), "ba").next_state.tolist() == [[0, 1], [1, 0]]


def test_a_pdfa_is_a_stochastic_mealy_machine_with_one_input():
    machine = random_pdfa(6, 2, 0, zeros=0.2)
    model = to_aalpy(machine)
    for q, state in enumerate(model.states[:-1]):
        (moves,) = state.transitions.values()
        emitted = {output: probability for _, output, probability in moves}
        row = machine.emission[q].tolist()
        assert [emitted.get(each, 0.0) for each in (0, 1, "end")] == row
        for target, output, _ in moves:
            if output != "end":
                assert model.states.index(target) == machine.next_group[q, output]


@pytest.mark.parametrize("zeros", [0.0, 0.6])
def test_a_pdfa_comes_back(zeros):
    machine = random_pdfa(6, 3, 1, zeros)
    again = from_aalpy(to_aalpy(machine), machine.alphabet)
    assert again.alphabet == machine.alphabet
    assert same_predictions(machine, again)
    assert set(from_aalpy(to_aalpy(machine)).alphabet) <= set(machine.alphabet)


def test_a_stochastic_machine_that_is_no_pdfa_is_refused():
    model = to_aalpy(deterministic_pfa("ab", [[0, 0]], [[0.5, 0.25, 0.25]]))
    with pytest.raises(SymbolError, match="alphabet: it has no 'b', which the model emits"):
        from_aalpy(model, "a")
    (moves,) = model.states[0].transitions.values()
    moves.append(moves[0])
    with pytest.raises(ArgumentError, match=r"model: state .* has two transitions"):
        from_aalpy(model)
    model.states[0].transitions["other"].append(moves.pop())
    with pytest.raises(ArgumentError, match="a stochastic machine with one input, got 2"):
        from_aalpy(model)


def test_what_is_not_deterministic_is_refused():
    with pytest.raises(ArgumentError, match=r"make it one with seqray\.determinise"):
        to_aalpy(seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))


def test_a_pdfa_that_aalpy_would_hold_as_another_one_is_refused():
    ending = deterministic_pfa(["a", "end"], [[0, 0]], [[0.5, 0.25, 0.25]])
    with pytest.raises(SymbolError, match="'end' stands for the end of a word"):
        to_aalpy(ending)
    leaking = deterministic_pfa("a", [[1], [0]], [[0.5, 0.5], [0.5, 0.25]])
    with pytest.raises(ArgumentError, match=r"state 1 sum to 0\.75: expected 1"):
        to_aalpy(leaking)


def test_outputs_are_sorted_by_name_as_in_files():
    moore = DeterministicAutomaton("a", [[1], [0]], [1, 0], ["x", "y"])
    assert from_aalpy(to_aalpy(moore)).allclose(moore)


def test_a_model_with_missing_transitions_is_refused():
    model = to_aalpy(EVEN)
    del model.states[1].transitions["b"]
    with pytest.raises(ArgumentError, match="state 's1' has no transition for 'b'"):
        from_aalpy(model)


def test_a_module_that_is_not_there_is_named():
    with pytest.raises(seqray.MissingExtraError, match="no_such"):
        load_aalpy("aalpy.no_such")
