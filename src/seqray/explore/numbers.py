"""Numbers as the page writes them (tools.js)."""

from __future__ import annotations

import math

from seqray.util.formatting import page_percent

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def show(value: float | None, digits: int = 3) -> str:
    """Write a number with a few digits and a real minus, and never 1 for what is not 1.

    >>> [show(value) for value in (0.12345, -2.5, 1.43e-14, 123456, 0.99999, 1 - 1e-12, None)]
    ['0.123', '−2.5', '1.43 × 10⁻¹⁴', '123456', '0.99999', '1', '–']
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.{max(0, digits - 1)}e}".split("e")
        text = f"{_trimmed(mantissa)} × 10{str(int(exponent)).translate(SUPERSCRIPT)}"
        return text.replace("-", "−")
    text = _precise(value, digits)
    return (_near_one(value) if text == "1" else text).replace("-", "−")


def _precise(value: float, digits: int) -> str:
    """Return so many significant digits, and all digits of whole numbers."""
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    if exponent >= digits:
        return str(math.floor(value + 0.5))
    return _trimmed(f"{value:.{digits - 1 - exponent}f}")


def _near_one(value: float) -> str:
    """Return 1 for what differs by rounding only, and else the first digits that differ."""
    if abs(value - 1) <= 1e-9:
        return "1"
    tried = (_precise(value, digits) for digits in range(4, 8))
    return next((text for text in tried if text != "1"), "0.999999" if value < 1 else "1")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def bits(value: float) -> str:
    """Write a number of bits: two digits, without a power of ten as long as that can be read.

    >>> bits(0.000043), bits(12.34), bits(1.2e-9)
    ('0.000043', '12', '1.2 × 10⁻⁹')
    """
    if not 1e-6 <= value < 1e3:
        return show(value, 2)
    return _trimmed(f"{float(f'{value:.2g}'):.9f}")


def share(value: float | None) -> str:
    """Write a share in per cent with four digits, as tiles do.

    >>> share(0.98765), share(1.0), share(None)
    ('98.77 %', '100 %', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    hundred = 100 * value
    if value > 0.9995 or abs(hundred) < 0.01:
        return page_percent(value)
    return f"{_precise(hundred, 4)} %".replace("-", "−")
