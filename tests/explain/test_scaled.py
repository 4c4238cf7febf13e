import numpy as np

from seqray.explain.scaled import (
    EXPONENT_OF_ZERO,
    Scaled,
    add_numbers,
    add_vectors,
    at_all_nodes,
    dot,
    power,
    shrunk,
    stacked,
    times_row,
)


def plain(numbers):
    shape = numbers.exponents.shape + (1,) * (numbers.values.ndim - numbers.exponents.ndim)
    return np.ldexp(numbers.values, numbers.exponents.reshape(shape))


def test_the_same_vector_at_all_nodes_keeps_its_value():
    assert plain(at_all_nodes(np.array([3.0, -0.25]), 2)).tolist() == [[3, -0.25]] * 2
    assert at_all_nodes(np.zeros(2), 1).exponents.tolist() == [EXPONENT_OF_ZERO]


def test_sums_and_products_are_those_of_the_plain_numbers():
    one, two = at_all_nodes(np.array([1.0, 2.0]), 2), at_all_nodes(np.array([0.5, 4.0]), 2, 3)
    assert plain(add_vectors(one, two)).tolist() == [[5, 34]] * 2
    assert plain(dot(one, two)).tolist() == [68, 68]
    assert plain(add_numbers(dot(one, two), dot(one, one))).tolist() == [73, 73]


def test_powers_do_not_underflow():
    tiny = power(np.array([0.5, 0.0, 1.0]), 5000)
    assert tiny.exponents.tolist()[0] == -5000
    assert (tiny.values[1], plain(tiny)[2]) == (0, 1)
    assert plain(power(np.array([0.25]), 0)).tolist() == [1]


def test_a_row_of_factors_multiplies_node_by_node():
    factors = stacked([power(np.array([0.5, 0.25]), n) for n in range(3)], 2)
    ones = Scaled(np.ones(2), np.zeros(2, np.int64))
    assert plain(times_row(factors, 2, ones)).tolist() == [0.25, 0.0625]


def test_only_very_large_and_very_small_arrays_are_shrunk():
    assert shrunk(np.array([8.0]))[1] == 0
    values, exponent = shrunk(np.array([2.0**100]))
    assert np.ldexp(values, exponent).tolist() == [2.0**100]
    assert abs(values[0]) <= 1
