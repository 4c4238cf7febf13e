import numpy as np
import pytest

from seqray import Grouping, StructuredAutomaton
from seqray.explain.background import expected_counts, expected_visits
from seqray.explore.groups import MAX_PLACES, GroupMap


def structured(n_symbols=3, size=4, n_classes=1):
    """Return probabilities, with groups by last symbol and class of positions."""
    rng = np.random.default_rng(0)
    n_groups = 1 + n_classes * n_symbols
    table = np.zeros((n_groups, n_symbols), int)
    for group in range(n_groups):
        later = 0 if group == 0 else min((group - 1) // n_symbols + 1, n_classes - 1)
        table[group] = 1 + later * n_symbols + np.arange(n_symbols)
    grouping = Grouping(table, [1] + [size] * (n_groups - 1), 0)
    n = grouping.n_states
    emission = rng.dirichlet(np.ones(n_symbols + 1), size=n)
    entry = np.concatenate([rng.dirichlet(np.ones(s)) for s in grouping.sizes])
    matrices = {
        (1, code): emission[1 : 1 + size, code, None] * rng.dirichlet(np.ones(size), size=size)
        for code in range(n_symbols)
    }
    return StructuredAutomaton(range(n_symbols), grouping, [1], emission, entry, matrices)


def test_time_and_symbols_are_those_of_the_dense_automaton():
    wa = structured()
    groups, dense = GroupMap(wa), wa.to_dense()
    visits = expected_visits(dense) * dense.prefix_final
    assert groups.state_mass == pytest.approx(visits / visits.sum(), abs=1e-6)
    assert groups.flows[:, :-1].sum(axis=0) == pytest.approx(expected_counts(dense), abs=1e-4)
    assert groups.flows[:, -1].sum() == pytest.approx(1, abs=1e-4)


def test_the_automaton_of_places_expects_as_many_symbols_as_the_automaton_itself():
    wa = structured()
    expected = expected_counts(wa.to_dense())
    assert expected_counts(GroupMap(wa).quotient) == pytest.approx(expected, abs=1e-4)


def test_groups_are_named_by_what_leads_there():
    groups = GroupMap(structured(2, n_classes=2))
    assert groups.names == (
        *("start", "after 0, from 1 symbol on", "after 1, from 1 symbol on"),
        *("after 0, from 2 symbols on", "after 1, from 2 symbols on"),
    )


def test_many_groups_with_the_same_last_symbol_share_a_place():
    groups = GroupMap(structured(9, 2, n_classes=6))
    assert groups.names == ("start", *(f"after {code}" for code in range(9)))
    assert groups.n_states(1) == 12
    assert groups.mass.sum() == pytest.approx(1)


def test_rare_symbols_share_a_place_where_there_are_too_many():
    groups = GroupMap(structured(60, 1))
    assert groups.n_places == MAX_PLACES
    assert sorted(group for place in groups.places for group in place) == list(range(61))
    assert "other groups" in groups.names[-1]


def test_weights_that_are_no_probabilities_have_a_map_too():
    wa = StructuredAutomaton(
        "ab", Grouping.by_last_symbol([2, 2]), [1], 2 * np.ones((5, 3)), np.ones(5)
    )
    assert GroupMap(wa).drawing().to_svg().count("<a href=") == 3
