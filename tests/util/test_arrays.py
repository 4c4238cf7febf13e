import numpy as np
import pytest

from seqray.util.arrays import read_only, real_array
from seqray.util.errors import ArgumentError


def test_a_real_array_is_a_read_only_float64_copy():
    source = np.arange(6, dtype=np.int32).reshape(2, 3)
    array = real_array("table", source, (2, None))
    source[:] = 9
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, np.arange(6.0).reshape(2, 3))
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1


@pytest.mark.parametrize("values", [True, 3, np.float32(3), np.uint8(3)])
def test_every_real_number_type_is_taken(values):
    assert real_array("number", values, ()) == float(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "2"], "table: expected real numbers, got dtype <U1"),
        ([1j, 2], "table: expected real numbers, got dtype complex128"),
        ([None, 2], "table: expected real numbers, got dtype object"),
        ([1, 2, 3], r"table: expected shape \(2\), got \(3,\)"),
        ([[1, 2]], r"table: expected shape \(2\), got \(1, 2\)"),
        ([1, np.nan], r"table: expected finite numbers, got nan at \(1,\)"),
        ([-np.inf, 1], r"table: expected finite numbers, got -inf at \(0,\)"),
        ([[1], [1, 2]], "table: expected rows of equal lengths"),
    ],
)
def test_what_is_wrong_with_an_array_is_said(values, message):
    with pytest.raises(ArgumentError, match=message):
        real_array("table", values, (2,))


def test_any_size_is_shown_as_any():
    with pytest.raises(ArgumentError, match=r"expected shape \(any, 2\), got \(2,\)"):
        real_array("table", [1, 2], (None, 2))


def test_a_read_only_view_leaves_the_array_itself_writable():
    array = np.zeros(2)
    view = read_only(array)
    array[0] = 1
    assert view[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 2
