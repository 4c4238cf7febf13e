from itertools import pairwise

import numpy as np
import pytest

from seqray.formats.events.columns import EventColumns
from seqray.formats.events.event_table import EventTable, EventTableBuilder, collected, completes
from seqray.formats.events.times import TimeColumn
from seqray.util.errors import FileError

COLUMNS = EventColumns("case", "activity", "time")


def test_sorting_is_stable_within_a_case_and_leaves_cases_where_they_are():
    rng = np.random.default_rng(0)
    case_of, times = rng.integers(0, 50, 2000), rng.integers(0, 5, 2000)
    table = EventTable(list(map(str, range(50))), [], case_of, np.arange(2000), times)
    codes, offsets = table.sorted_codes()
    expected = [sorted(np.flatnonzero(case_of == c), key=lambda i: times[i]) for c in range(50)]
    assert [codes[a:b].tolist() for a, b in pairwise(offsets)] == expected


def test_spaces_around_names_do_not_count():
    table = collected([(1, "1", "a ", "5", ""), (2, " 1", "a", "6", "")], COLUMNS)
    assert (table.cases, table.activities) == (["1"], ["a"])
    assert table.case_of.tolist() == table.activity_of.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("at", "what"),
    [(1, "case"), (2, "activity"), (3, "time")],
)
def test_all_that_is_missing_is_counted(at, what):
    row = (7, "1", "a", "5", "")
    broken = [(place, *row[1:at], "", *row[at + 1 :]) for place in (8, 9)]
    with pytest.raises(FileError, match=f"2 of 3 events have no {what}, the first in row 8"):
        collected([row, *broken], COLUMNS, "row")


def test_a_builder_without_times_reads_none():
    events = EventTableBuilder(None)
    events.add(events.case("1", 1), "a", "nonsense", 1)
    assert events.table().times is None


def test_a_time_that_cannot_be_read_says_where_it_stands():
    events = EventTableBuilder(TimeColumn(), "row")
    with pytest.raises(FileError, match="row 3: 'soon' is no time"):
        events.add(events.case("1", 3), "a", "soon", 3)


def test_what_does_not_say_that_it_only_starts_completes():
    assert [completes(each) for each in ("complete", " Complete", "", "schedule")] == [
        True,
        True,
        True,
        False,
    ]
