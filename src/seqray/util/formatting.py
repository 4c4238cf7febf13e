"""How numbers, shares, counts and durations are written: one place for all rooms."""

from __future__ import annotations

import math

NAME_SEPARATOR = " | "
"""What stands between symbols that hold spaces."""

MIN_NAME_WIDTH = 8
"""Names are not abbreviated to fewer characters while others can be left out."""


def significant(value: float, digits: int = 4) -> str:
    """Write a number with a few significant digits, and nothing for nan.

    >>> significant(0.12345678), significant(-1 / 3, 2), significant(float("nan"))
    ('0.1235', '-0.33', '')
    """
    return "" if math.isnan(value) else f"{value:.{digits}g}"


def significant_but_one(value: float, digits: int) -> str:
    """Write a number with a few significant digits, but never 1 for what is not 1.

    >>> significant_but_one(0.12345678, 4), significant_but_one(0.9999999, 4)
    ('0.1235', '0.9999999')
    """
    text = f"{value:.{digits}g}"
    return f"{value:.9g}" if text == "1" and value != 1 else text


def typeset(value: float, digits: int = 3) -> str:
    """Write a number for a drawing: a few significant digits and a real minus sign.

    >>> typeset(-1 / 3), typeset(-0.0), typeset(1 / 3, 2)
    ('−0.333', '0', '0.33')
    """
    return f"{value + 0.0:.{digits}g}".replace("-", "−")  # + 0.0 turns −0 into 0


def decimals(value: float, digits: int = 3) -> str:
    """Write a number with a fixed number of decimals, and a dash for nan.

    >>> decimals(0.98765), decimals(float("nan")), decimals(float("inf"))
    ('0.988', '–', '∞')
    """
    if math.isinf(value):
        return "∞"
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def percent(share: float) -> str:
    """Write a share in per cent with one decimal, and a dash for nan.

    >>> percent(0.135), percent(float("nan"))
    ('13.5 %', '–')
    """
    return f"{decimals(100 * share, 1)} %" if math.isfinite(share) else decimals(share)


def page_percent(share: float) -> str:
    """Write a share in per cent with three significant digits, as the page does (tools.js).

    What differs from 1 by rounding only is 100 %; what is a little less keeps its first other
    digit, up to 99.9999 %.

    >>> [page_percent(share) for share in (0.2512, 0.0321, 1e-6, -0.1, 0.99997, 1 - 1e-12)]
    ['25.1 %', '3.2 %', '< 0.01 %', '−10 %', '99.997 %', '100 %']
    """
    value = 100 * share
    if value and abs(value) < 0.01:
        return "< 0.01 %" if value > 0 else "> −0.01 %"
    text = f"{value:.3g}" if abs(value) >= 10 else f"{value:.2g}"
    if text == "100" and share < 1 - 1e-9:
        tried = (f"{value:.{places}f}" for places in range(2, 5))
        text = next((each for each in tried if float(each) < 100), "99.9999")
    return f"{text.replace('-', '−')} %"


def short_percent(share: float) -> str:
    """Write a share in per cent for a label: whole numbers from 10 % up.

    >>> short_percent(0.2512), short_percent(0.0321), short_percent(-0.1), short_percent(0.9996)
    ('25 %', '3.2 %', '−10 %', '99.96 %')
    >>> short_percent(-0.00004)
    '0 %'
    """
    hundred = 100 * share
    text = f"{hundred:.0f}" if abs(hundred) >= 9.5 else f"{hundred:.1f}".removesuffix(".0")
    if text == "100" and share != 1:
        text = f"{hundred:.4g}"
    return f"{text.replace('-0', '0') if text == '-0' else text} %".replace("-", "−")


def signed_percent(share: float) -> str:
    """Write a difference of shares in per cent, with its sign and without the unit.

    >>> signed_percent(0.0015), signed_percent(-0.25), signed_percent(-0.0)
    ('+0.15', '−25.00', '0.00')
    """
    text = f"{100 * share:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "−")


def percent_in_words(share: float) -> str:
    """Write a share for a sentence: never 0 % of something, and never 100 % of less.

    >>> percent_in_words(0.00987), percent_in_words(1e-7), percent_in_words(0.9999)
    ('0.99 %', 'less than 0.01 %', 'more than 99 %')
    """
    if 0 < share < 1e-4:
        return "less than 0.01 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{100 * share:.2g} %" if share < 0.99 else "100 %"


def counted(number: int, noun: str) -> str:
    """Write a number of things.

    >>> counted(1, "state"), counted(1200, "state")
    ('1 state', '1,200 states')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def megabytes(n_bytes: int) -> str:
    """Write the size of a file.

    >>> megabytes(2_345_678)
    '2.3 MB'
    """
    return f"{n_bytes / 1e6:,.1f} MB"


def duration(seconds: float) -> str:
    """Write a duration in seconds, minutes or hours.

    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def shortened(text: str, width: int) -> str:
    """Leave out the beginning of a text that is too long: the end of a prefix matters most.

    Of names with bars between them, the ends of long names are left out first. Names with spaces
    between them are left out whole.

    >>> shortened("abcdefgh", 5), shortened("abc", 5)
    ('…efgh', 'abc')
    >>> shortened("Take in charge ticket | Wait | Closed", 28)
    'Take in cha… | Wait | Closed'
    >>> shortened("wait refund bug fix", 12)
    '… bug fix'
    >>> shortened("Take in charge ticket | Wait | Closed", 20)
    '… | Wait | Closed'
    """
    if len(text) <= width:
        return text
    names = text.split(NAME_SEPARATOR)
    if len(names) > 1:
        return _shortened_names(names, width)
    end = text[-width + 1 :]
    _, space, whole = end.partition(" ")
    return f"… {whole}" if space and whole else f"…{end}"


def _shortened_names(names: list[str], width: int) -> str:
    """Write as many of the last names as there is room for, each with as much as possible."""
    for n_left_out in range(len(names)):
        gap = ["…"] if n_left_out else []
        for room in range(width, MIN_NAME_WIDTH - 1, -1):
            kept = [abbreviated(name, room) for name in names[n_left_out:]]
            if len(text := NAME_SEPARATOR.join([*gap, *kept])) <= width:
                return text
    return abbreviated(names[-1], width)


def abbreviated(text: str, width: int) -> str:
    """Leave out the end of a text that is too long: names are known by how they begin.

    >>> abbreviated("abcdefgh", 5), abbreviated("abc", 5)
    ('abcd…', 'abc')
    """
    return text if len(text) <= width else f"{text[: width - 1]}…"
