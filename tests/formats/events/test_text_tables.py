import io
import json
from itertools import pairwise

import pytest

from seqray.formats.events.columns import LIFECYCLE, EventColumns
from seqray.formats.events.text_tables import as_text, read_csv, read_json_lines
from seqray.util.errors import ArgumentError, FileError

TABLE = "case,activity,time\n1,a,2011-01-02\n2,b,2011-01-01\n1,c,2011-01-01\n"


def words_of(events):
    codes, offsets = events.sorted_codes()
    return [[events.activities[i] for i in codes[start:stop]] for start, stop in pairwise(offsets)]


def from_csv(text, **columns):
    content = text if isinstance(text, bytes) else text.encode()
    events, names = read_csv(io.BytesIO(content), EventColumns(**columns))
    return words_of(events), events.cases, names


def from_json(events, **columns):
    content = "\n".join(json.dumps(event) for event in events).encode()
    read, names = read_json_lines(io.BytesIO(content), EventColumns(**columns))
    return words_of(read), read.cases, names


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_events_of_a_case_are_sorted_by_time(delimiter, end):
    text = TABLE.replace(",", delimiter).replace("\n", end)
    words, cases, names = from_csv(text)
    assert (words, cases) == ([["c", "a"], ["b"]], ["1", "2"])
    assert names.names == ("case", "activity", "time", None)


def test_the_order_of_the_file_on_request():
    words, _, names = from_csv(TABLE, time="none")
    assert words == [["a", "c"], ["b"]]
    assert names.time is None


def test_a_byte_order_mark_quotes_spaces_and_blank_lines_do_not_matter():
    text = '\ufeff"case", activity ,x\n\n 1 ," Take, ""in""\ncharge ",5\n'
    assert from_csv(text)[:2] == ([['Take, "in"\ncharge']], ["1"])


def test_only_completed_activities_on_request_and_other_cases_are_empty_words():
    text = "case,activity,lifecycle\n1,a,start\n1,a,complete\n2,b,start\n3,c,\n"
    assert from_csv(text)[0] == [["a", "a"], ["b"], ["c"]]
    assert from_csv(text, lifecycle=LIFECYCLE)[0] == [["a"], [], ["c"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case,activity\n1,a\n2\n", "line 3: expected 2 fields, .* got 1: complete"),
        ("case,activity\n1,a,b\n", "line 2: expected 2 fields, .* got 3: complete"),
        ('case,activity\n1,"a\n', "line 2: not CSV, or damaged"),
        ("case,activity\n1,a\n1,\n2, \n", "2 of 3 events have no activity, the first in line 3"),
        ("case,activity\n,a\n", "1 of 1 events have no case, the first in line 2"),
        (TABLE + "3,a,\n", "1 of 4 events have no time, the first in line 5: .*--time none"),
        (TABLE + "3,a,13.4.2011\n", r"line 5: '13.4.2011' is no time: expected ISO .*--time-form"),
        (f"case,activity\n1,{'x' * 200000}\n", "line 2: not CSV, or damaged: field larger"),
    ],
)
def test_a_damaged_table_is_refused_with_its_line(text, message):
    with pytest.raises(FileError, match=message):
        from_csv(text)


def test_a_table_without_known_columns_is_refused_with_those_it_has():
    with pytest.raises(ArgumentError, match=r"looks like the case .* got 'id', 'what': .*--case"):
        from_csv("id,what\n1,a\n")


def test_a_json_object_is_an_event():
    events = [
        {"case": 1, "activity": "a b", "time": 5.5},
        {"time": 2, "activity": "c", "case": 1, "more": [1]},
        {"case": 2.0, "activity": True, "time": 1},
    ]
    assert from_json(events)[:2] == ([["c", "a b"], ["True"]], ["1", "2"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"case": 1, "activity": "a"}\n\n[1]\n', "line 3: expected an object with an event"),
        ('{"case": 1, "activity": "a"}\n{"case"\n', "line 2: not a line of JSON"),
        ('{"case": 1, "activity": "a"}\n{"case": 1}\n', "1 of 2 events have no activity"),
        ('{"case": 1, "activity": null}\n', "1 of 1 events have no activity"),
        ('{"case": 1, "activity": "a"}\n' + "[" * 100000, "line 2: not a line of JSON"),
    ],
)
def test_damaged_json_lines_are_refused(lines, message):
    with pytest.raises(FileError, match=message):
        read_json_lines(io.BytesIO(lines.encode()), EventColumns())


def test_values_become_text_as_in_csv():
    assert [as_text(value) for value in (1, 1.0, 1.5, "x", None)] == ["1", "1", "1.5", "x", ""]
