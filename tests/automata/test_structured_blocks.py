"""Products with the blocks of a structured automaton, beside those of dense matrices."""

import numpy as np
from hypothesis import given

from structured_cases import NEAR, structured_automata


@given(structured_automata())
def test_blocks_are_parts_of_the_dense_matrices(wa):
    whole = np.zeros_like(wa.transitions)
    for code, origin, target, numbers in wa.blocks.blocks():
        n_rows, n_columns = numbers.shape
        whole[code, origin : origin + n_rows, target : target + n_columns] += numbers
    np.testing.assert_allclose(whole, wa.to_dense().transitions, **NEAR)


@given(structured_automata())
def test_products_are_those_of_the_dense_matrices(wa):
    dense, vector = wa.to_dense(), np.random.default_rng(0).normal(size=wa.n_states)
    np.testing.assert_allclose(wa.blocks.times(vector), (dense.transitions @ vector).T, **NEAR)
    np.testing.assert_allclose(wa.blocks.advance(vector), vector @ dense.step_sum, **NEAR)
    np.testing.assert_allclose(wa.advance(vector), dense.advance(vector), **NEAR)


@given(structured_automata())
def test_a_state_is_able_to_stop_where_a_path_leads_to_an_end(wa):
    final = np.zeros(wa.n_states)
    final[0] = 1
    leads = (np.abs(wa.to_dense().transitions) > 0).any(axis=0) | np.eye(wa.n_states, dtype=bool)
    paths = np.linalg.matrix_power(leads.astype(float), wa.n_states)
    assert wa.blocks.able(final).tolist() == (paths[:, 0] > 0).tolist()
