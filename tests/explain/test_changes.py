import json

import numpy as np
import pytest

import seqray
from automata import contraction
from seqray import WeightedAutomaton, what_changes
from seqray.automata.generators import random_machine
from seqray.explain.probable import grown_prefixes
from seqray.util.errors import RankError


@pytest.fixture(scope="module")
def found():
    every = {"symbol_sparsity": 1, "transition_sparsity": 1, "stopping": 1}
    machine = random_machine("pfa", 4, 3, seed=np.random.default_rng(1), **every)
    return seqray.extract(machine, prefixes=60, max_rank=4)


def test_the_change_is_the_mean_over_probable_prefixes(found):
    (step,) = what_changes(found, [2, 4]).steps
    one, two = found.automaton(2), found.automaton(4)
    prefixes = grown_prefixes(two, 300)
    distances = np.abs(one.next_symbol(prefixes) - two.next_symbol(prefixes)).sum(axis=1) / 2
    weights = two.prefix_weights(prefixes)
    assert (step.before, step.after) == (2, 4)
    assert step.distance == pytest.approx(distances @ weights / weights.sum(), abs=1e-3)
    for change in step.changes:
        both = [a.next_symbol([change.prefix])[0] for a in (one, two)]
        names = [*map(str, one.alphabet), "end"]
        assert change.before == names[both[0].argmax()]
        assert change.after == names[both[1].argmax()]
        assert change.distance == pytest.approx(np.abs(both[0] - both[1]).sum() / 2, abs=1e-3)


def test_ranks_are_chosen_if_none_are_named(found):
    steps = what_changes(found).steps
    assert [(step.before, step.after) for step in steps] == [(1, 2), (2, 3), (3, 4)]
    assert all(len(step.changes) <= 1 for step in what_changes(found, n_changes=1).steps)


def test_automata_that_do_not_predict_are_compared_by_weights():
    automata = {2: contraction(1, 2, 2), 3: contraction(2, 3, 2)}
    found = what_changes(automata)
    assert not found.predicting
    (step,) = found.steps
    change = step.changes[0]
    one, two = (automata[rank].weight(change.prefix) for rank in (2, 3))
    assert change.distance == pytest.approx(abs(one - two))
    assert change.before == f"{one:.4g}"
    assert "weight" in repr(found)
    assert json.loads(json.dumps(found.as_dict()))["steps"][0]["before"] == 2


def test_where_nothing_changes_nothing_is_shown():
    wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    found = what_changes({1: wa, 2: wa})
    assert found.steps[0].changes == ()
    assert found.steps[0].distance == 0
    assert "1 → 2" in repr(found)


def test_a_first_choice_that_stays_is_shown_once():
    one = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    two = WeightedAutomaton("ab", [1], [[[0.6]], [[0.15]]], [0.25])
    (change,) = what_changes({1: one, 2: two}, n_changes=1).steps[0].changes
    assert (change.before, change.after) == ("a", "a")
    assert "a → a" not in repr(what_changes({1: one, 2: two}))


def test_one_rank_has_no_steps(found):
    assert what_changes(found, [3]).steps == ()


@pytest.mark.parametrize("ranks", [[5], [0, 1], []])
def test_ranks_that_are_not_there_are_refused(found, ranks):
    with pytest.raises(RankError, match=r"ranks: expected 1 … 4, got"):
        what_changes(found, ranks)
    with pytest.raises(RankError, match=r"ranks: expected some of \[\], got \[\]"):
        what_changes({})
