import math

import pytest

from seqray.util.formatting import (
    abbreviated,
    counted,
    decimals,
    duration,
    megabytes,
    page_percent,
    percent,
    percent_in_words,
    short_percent,
    shortened,
    significant,
    significant_but_one,
    typeset,
)


def test_a_number_has_as_many_significant_digits_as_wanted():
    assert significant(1234.5678) == "1235"
    assert significant(-1 / 3, 2) == "-0.33"
    assert significant(math.nan) == ""


@pytest.mark.parametrize(
    ("value", "text"), [(1, "1"), (0.999998, "0.999998"), (0.98765432, "0.9877")]
)
def test_what_is_not_one_is_not_written_as_one(value, text):
    assert significant_but_one(value, 4) == text


def test_drawn_numbers_have_three_digits_a_real_minus_and_no_negative_zero():
    drawn = [typeset(value) for value in (-0.0, 1 / 3, -12.345, 1e-5)]
    assert drawn == ["0", "0.333", "−12.3", "1e−05"]


def test_tables_of_experiments_have_fixed_decimals_and_a_dash_for_what_is_missing():
    assert [decimals(value) for value in (0.98765, math.nan, math.inf)] == ["0.988", "–", "∞"]
    assert [percent(value) for value in (0.135, math.nan)] == ["13.5 %", "–"]


@pytest.mark.parametrize(
    ("share", "page", "label", "sentence"),
    [
        (0.2512, "25.1 %", "25 %", "25 %"),
        (0.0321, "3.2 %", "3.2 %", "3.2 %"),
        (0.00004, "< 0.01 %", "0 %", "less than 0.01 %"),
        (0.99999, "99.999 %", "100 %", "more than 99 %"),
        (1.0, "100 %", "100 %", "100 %"),
    ],
)
def test_a_share_is_written_for_a_page_a_label_and_a_sentence(share, page, label, sentence):
    assert page_percent(share) == page
    assert short_percent(share) == label
    assert percent_in_words(share) == sentence


def test_negative_shares_have_a_real_minus():
    assert page_percent(-0.1) == "−10 %"
    assert page_percent(-1e-6) == "> −0.01 %"
    assert short_percent(-0.00004) == "0 %"


def test_one_thing_is_singular_and_many_have_separators():
    assert [counted(number, "state") for number in (0, 1, 1200)] == [
        "0 states",
        "1 state",
        "1,200 states",
    ]


def test_sizes_durations_and_long_texts_are_short():
    assert megabytes(2_345_678) == "2.3 MB"
    assert [duration(seconds) for seconds in (42, 600, 9000)] == ["42 s", "10 min", "2.5 h"]
    assert shortened("abcd", 3) == "…cd"
    assert shortened("abc", 3) == "abc"


def test_a_long_name_keeps_its_beginning():
    assert abbreviated("abcd", 3) == "ab…"
    assert abbreviated("abc", 3) == "abc"


def test_names_between_bars_are_abbreviated_before_they_are_left_out():
    text = "Assign seriousness | Take in charge ticket | Closed"
    assert shortened(text, 60) == text
    assert shortened(text, 38) == "Assign serio… | Take in char… | Closed"
    assert shortened(text, 24) == "… | Take in ch… | Closed"
    assert shortened(text, 6) == "Closed"
    assert shortened(f"{text} | Take in charge ticket", 6) == "Take …"
