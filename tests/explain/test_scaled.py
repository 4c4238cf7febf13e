import numpy as np

from seqray.explain.scaled import (
    Scaled,
    add_numbers,
    add_vectors,
    at_all_nodes,
    dot,
    power,
    rescaled_nodes,
    shrunk,
    stacked,
    times_row,
)

RNG = np.random.default_rng(0)


def value(scaled):
    """What scaled numbers or vectors stand for, where float64 can hold it."""
    shape = scaled.exponents.shape + (1,) * (scaled.values.ndim - scaled.exponents.ndim)
    return scaled.values * 2.0 ** scaled.exponents.reshape(shape)


def vectors(n_nodes=4, n_states=3, exponent=0):
    return rescaled_nodes(RNG.normal(size=(n_nodes, n_states)), np.full(n_nodes, exponent))


def test_scaling_changes_no_value():
    values = RNG.normal(size=(4, 3)) * 1e30
    scaled = rescaled_nodes(values, np.zeros(4, np.int64))
    np.testing.assert_allclose(value(scaled), values)
    assert (abs(scaled.values) <= 1).all()


def test_sums_and_products_are_those_of_the_values():
    one, other = vectors(), vectors(exponent=5)
    np.testing.assert_allclose(value(add_vectors(one, other)), value(one) + value(other))
    product = dot(one, other)
    np.testing.assert_allclose(value(product), (value(one) * value(other)).sum(axis=1))
    np.testing.assert_allclose(value(add_numbers(product, product)), 2 * value(product))
    factors = stacked([product, product], 4)
    np.testing.assert_allclose(
        value(times_row(factors, 1, one)), value(product)[:, None] * value(one)
    )


def test_what_no_float_can_hold_is_kept():
    tiny = at_all_nodes(np.ones(2), 1, exponent=-3000)
    assert dot(tiny, tiny).exponents[0] < -5000
    huge = Scaled(np.ones(1), np.full(1, 5000))
    assert add_numbers(huge, huge).exponents[0] >= 5000


def test_powers_of_numbers_from_zero_to_one():
    bases = np.array([0.0, 0.3, 1.0])
    np.testing.assert_allclose(value(power(bases, 5)), bases**5)
    np.testing.assert_allclose(value(power(bases, 0)), 1)


def test_only_what_is_far_from_one_is_shrunk():
    assert shrunk(np.array([3.0])) == (np.array([3.0]), 0)
    values, exponent = shrunk(np.array([1e200]))
    assert values[0] * 2.0**exponent == 1e200
    assert abs(values[0]) <= 1
