"""Which states are the same, and which arrows differ."""

import numpy as np
import pytest

import seqray
from automata import contraction
from classifier_boxes import remainder_automaton
from compared_pairs import chain, changed, moved, rescaled
from seqray.automata.generators import random_machine
from seqray.explain.difference.states import ArrowPart, ChangeKind, compare_states

MACHINES = [random_machine("pfa", n, 3, seed=np.random.default_rng(n)) for n in (1, 2, 4, 6)]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: f"{machine.n_states} states")
@pytest.mark.parametrize("seed", range(3))
def test_states_in_another_order_and_scale_are_the_same(machine, seed):
    compared = compare_states(machine, rescaled(machine, seed))
    assert compared.changes() == ()
    assert all(match.distance < 1e-9 for match in compared.matches)
    assert [*compared.a.names] == [compared.b.names[match.b] for match in compared.matches]


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_any_sign_in_other_coordinates_are_the_same(seed):
    automaton = contraction(seed, 3, 2, size=0.6)
    assert compare_states(automaton, moved(automaton, seed)).changes(1e-6) == ()


def test_one_changed_arrow_is_the_one_that_is_reported():
    machine = MACHINES[2]
    compared = compare_states(machine, changed(machine, 0.1))
    step, end = sorted(compared.changes(), key=lambda each: each.part != ArrowPart.STEP)
    assert step.part is ArrowPart.STEP
    assert step.change is ChangeKind.CHANGED
    assert step.a == pytest.approx(machine.transitions.max())
    assert step.b == pytest.approx(step.a - 0.1)
    assert end.part is ArrowPart.END
    assert end.origin == step.origin
    assert end.b - end.a == pytest.approx(0.1)
    code = np.argwhere(machine.transitions == machine.transitions.max())[0, 0]
    assert step.symbol == str(machine.alphabet.symbols[code])


def test_small_changes_are_left_out_or_asked_for():
    compared = compare_states(MACHINES[2], changed(MACHINES[2], 0.005))
    assert compared.changes() == ()
    assert len(compared.changes(0.001)) == 2


def test_an_arrow_that_is_new_is_added_and_one_that_is_gone_removed():
    with_b, without = chain(), chain(to_second=0.0)
    kinds = {
        (each.part, each.symbol): each.change for each in compare_states(without, with_b).changes()
    }
    assert kinds[ArrowPart.STEP, "b"] is ChangeKind.ADDED
    kinds = {
        (each.part, each.symbol): each.change for each in compare_states(with_b, without).changes()
    }
    assert kinds[ArrowPart.STEP, "b"] is ChangeKind.REMOVED


def test_a_state_that_only_one_has_stands_alone():
    even = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    trapped = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 2], [2, 2]], [1, 0, 1])
    compared = compare_states(even, trapped)
    assert [(match.a, match.b) for match in compared.matches] == [(0, 0), (1, 1), (None, 2)]
    assert compared.name(compared.matches[-1]) == "after ab"
    one, other = compared.placed()
    assert one.present.tolist() == [True, True, False]
    assert other.present.all()
    assert {each.change for each in compared.changes()} == {ChangeKind.ADDED, ChangeKind.REMOVED}


def test_a_class_that_changed_is_reported_by_name():
    automaton = remainder_automaton()
    outputs = automaton.outputs.copy()
    outputs[2] = [0.0, 0.75, 0.25]
    other = automaton.with_arrays(automaton.initial, automaton.transitions, outputs)
    changes = compare_states(automaton, other).changes()
    assert {each.part for each in changes} == {ArrowPart.CLASS}
    assert {each.symbol: each.b - each.a for each in changes} == {"one": 0.75, "two": -0.75}


def test_the_most_used_changes_come_first():
    changes = compare_states(MACHINES[3], changed(MACHINES[3], 0.3)).changes()
    importances = [each.importance for each in changes]
    assert importances == sorted(importances, reverse=True)
