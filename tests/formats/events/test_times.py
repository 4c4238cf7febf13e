import numpy as np
import pytest

from seqray.formats.events.times import TimeColumn, check_format, microseconds, number
from seqray.util.errors import ArgumentError


def numbers(texts, time_format=None):
    times = TimeColumn(time_format)
    for text in texts:
        times.append(text)
    return times.numbers()


@pytest.mark.parametrize(
    "text",
    [
        "2011-04-13T12:02:31Z",
        "2011-04-13T14:02:31.000+02:00",
        "2011-04-13 12:02:31",
        "2011/04/13 12:02:31.000",
        "20110413T120231",
    ],
)
def test_the_same_moment_is_the_same_number(text):
    assert microseconds(text) == 1302696151000000


def test_numbers_stay_numbers_and_large_ones_stay_exact():
    assert numbers(["1302696151000000001", "1302696151000000002"]).tolist() == [
        1302696151000000001,
        1302696151000000002,
    ]
    assert numbers(["2", "1.5"]).tolist() == [2.0, 1.5]


def test_the_first_time_says_how_all_are_written():
    with pytest.raises(ValueError, match="could not convert"):
        numbers(["1", "2011-04-13"])
    with pytest.raises(ValueError, match="Invalid isoformat"):
        numbers(["2011-04-13", "x"])


def test_what_is_expected_depends_on_the_format_and_the_first_time():
    assert TimeColumn("%d.%m.%Y").expected == "the form '%d.%m.%Y'"
    times = TimeColumn()
    with pytest.raises(ValueError, match="Invalid isoformat"):
        times.append("soon")
    assert times.expected.startswith("numbers, or ISO 8601 such as")
    times.append("5")
    assert times.expected == "a number, as the times before it"


@pytest.mark.parametrize("text", ["nan", "NaN", "", "x"])
def test_what_is_not_a_number_is_no_time(text):
    with pytest.raises(ValueError, match=r"."):
        number(text)


def test_other_forms_need_a_format():
    times = numbers(["13/04/2011 14:02", "12/05/2010 09:00"], "%d/%m/%Y %H:%M")
    assert np.argsort(times).tolist() == [1, 0]


@pytest.mark.parametrize("wrong", ["yyyy", "", "%Q", "%", "%d/%m/%Y %d"])
def test_a_format_without_fields_is_refused(wrong):
    with pytest.raises(ArgumentError, match="expected fields such as"):
        check_format(wrong)
