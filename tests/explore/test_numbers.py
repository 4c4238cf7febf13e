import math

import pytest

from seqray.explore.numbers import bits, share, show


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 3, "0"),
        (None, 3, "–"),
        (math.nan, 3, "–"),
        (-math.inf, 3, "−∞"),
        (0.0012345, 3, "0.00123"),
        (1e-4, 2, "1 × 10⁻⁴"),
        (2.5e7, 2, "2.5 × 10⁷"),
        (999_999.4, 3, "999999"),
        (0.9999999, 3, "0.9999999"),
        (0.99999999, 3, "0.999999"),
        (1 + 1e-12, 3, "1"),
    ],
)
def test_numbers_have_few_digits_and_are_1_only_where_they_are(value, digits, text):
    assert show(value, digits) == text


def test_bits_are_written_without_powers_as_long_as_that_can_be_read():
    assert [bits(value) for value in (0, 1e-6, 0.123, 999)] == ["0", "0.000001", "0.12", "1000"]


def test_shares_never_claim_more_than_they_are():
    assert [share(value) for value in (0, 1e-6, 0.5, 0.99949, 0.999996, 1 - 1e-13)] == [
        *("0 %", "< 0.01 %", "50 %", "99.95 %", "99.9996 %", "100 %"),
    ]
