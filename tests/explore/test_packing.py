import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from seqray.explore.packing import pack, rounded, unpack
from seqray.util.errors import ArgumentError

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(arrays(np.float64, (3, 4), elements=NUMBERS), st.integers(3, 8))
def test_what_is_packed_comes_back_rounded(array, n_bytes):
    found = unpack(pack(array, n_bytes))
    assert found.shape == array.shape
    assert np.array_equal(found, rounded(array, n_bytes))


@given(arrays(np.float64, 9, elements=st.floats(-1e300, 1e300)), st.integers(3, 8))
def test_rounding_loses_no_more_than_the_bits_it_drops(array, n_bytes):
    left = 8 * n_bytes - 12  # bits after the point
    smallest = 2.0**-1022  # below that all numbers are equally far apart
    error = np.abs(rounded(array, n_bytes) - array)
    assert (error <= 2.0 ** -(left + 1) * np.maximum(np.abs(array), smallest)).all()


def test_the_largest_numbers_stay_finite():
    largest = np.array([np.finfo(float).max, -np.finfo(float).max])
    found = rounded(largest, 4)
    assert np.isfinite(found).all()
    assert found == pytest.approx(largest, rel=1e-5)


def test_eight_bytes_are_exact_and_fewer_are_shorter():
    array = np.random.default_rng(0).normal(size=500)
    assert np.array_equal(unpack(pack(array)), array)
    sizes = [len(pack(array, n_bytes)["data"]) for n_bytes in range(3, 9)]
    assert sizes == sorted(sizes)
    assert unpack(pack(np.empty((0, 3)))).shape == (0, 3)


@pytest.mark.parametrize("n_bytes", [2, 9])
def test_other_numbers_of_bytes_are_refused(n_bytes):
    with pytest.raises(ArgumentError, match="expected 3 … 8"):
        pack(np.ones(2), n_bytes)
