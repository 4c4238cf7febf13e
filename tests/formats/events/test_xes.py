import gzip
import io
import tracemalloc
from itertools import pairwise

import pytest

from seqray.formats.events.columns import LIFECYCLE, EventColumns
from seqray.formats.events.event_log import read_events
from seqray.formats.events.xes import MAX_TAG_BYTES, read_xes
from seqray.util.errors import FileError

LOG = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a comment -->
<log xes.version="1.0" xmlns="http://www.xes-standard.org/">
  <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
  <global scope="event"><string key="concept:name" value="name"/></global>
  <trace>
    <string key="concept:name" value="Case 1"/>
    {events}
  </trace>
</log>
"""


def event(name, time=None, more=""):
    date = f'<date key="time:timestamp" value="{time}"/>' if time else ""
    return f'<event><string key="concept:name" value="{name}"/>{date}{more}</event>'


def read(text, **columns):
    events, names = read_xes(io.BytesIO(text.encode()), EventColumns(**columns))
    codes, offsets = events.sorted_codes()
    words = [
        tuple(events.activities[i] for i in codes[start:stop]) for start, stop in pairwise(offsets)
    ]
    return words, events.cases, names


def test_events_are_sorted_by_time_whatever_their_zone():
    first, second = "2011-04-13T14:00:00.000+02:00", "2011-04-13T12:30:00Z"
    words, cases, names = read(LOG.format(events=event("b", second) + event("a", first)))
    assert (words, cases) == ([("a", "b")], ["Case 1"])
    assert names.time == "time:timestamp"


def test_without_times_the_order_of_the_file_counts():
    words, _, names = read(LOG.format(events=event("b") + event("a")))
    assert words == [("b", "a")]
    assert names.time is None


def test_events_of_the_same_time_stay_in_order():
    time = "2011-04-13T14:00:00"
    words, *_ = read(LOG.format(events="".join(event(name, time) for name in "bacab")))
    assert words == [tuple("bacab")]


def test_a_time_that_is_missing_is_an_error_with_its_line():
    text = LOG.format(events=event("a", "2011-04-13T14:00:00") + "\n" + event("b"))
    with pytest.raises(FileError, match=r"1 of 2 events have no time, the first in line 9"):
        read(text)
    assert read(text, time="none")[0] == [("a", "b")]


def test_an_attribute_that_no_event_has_is_an_error():
    text = LOG.format(events=event("a") + event("b"))
    with pytest.raises(FileError, match="2 of 2 events have no activity"):
        read(text, activity="Activity")
    with pytest.raises(FileError, match="2 of 2 events have no time"):
        read(text, time="start")


def test_other_attributes_may_hold_case_activity_and_time():
    more = '<int key="cost" value="50"/><date key="start" value="2011-04-13"/>'
    text = LOG.format(events=event("a", None, more) + '<int key="number" value="7"/>')
    words, cases, _ = read(text, case="number", activity="cost", time="start")
    assert (words, cases) == ([("50",)], ["7"])


def test_attributes_of_attributes_do_not_count():
    nested = '<string key="x" value="y"><string key="concept:name" value="no"/></string>'
    words, cases, _ = read(LOG.format(events=nested + event("a", None, nested)))
    assert (words, cases) == ([("a",)], ["Case 1"])


def test_the_value_of_an_attribute_may_stand_before_its_key():
    text = LOG.format(events='<event><string value="a" key="concept:name"/></event>')
    assert read(text)[0] == [("a",)]


def test_a_trace_without_events_is_an_empty_word_and_one_without_a_name_has_its_number():
    text = LOG.format(events="</trace><trace>" + event("a") + "</trace><trace>")
    words, cases, _ = read(text)
    assert words == [(), ("a",), ()]
    assert cases == ["Case 1", "2", "3"]


def test_traces_of_the_same_name_are_different_cases():
    name = '<string key="concept:name" value="Case 1"/>'
    text = LOG.format(events=event("a") + "</trace><trace>" + name + event("b"))
    assert read(text)[:2] == ([("a",), ("b",)], ["Case 1", "Case 1"])


def test_only_completed_activities_on_request():
    def at(transition):
        return event("a", None, f'<string key="lifecycle:transition" value="{transition}"/>')

    text = LOG.format(events=at("start") + at("COMPLETE") + event("b"))
    assert read(text)[0] == [("a", "a", "b")]
    assert read(text, lifecycle=LIFECYCLE)[0] == [("a", "b")]


def test_names_may_have_prefixes_and_events_outside_of_traces_are_left_out():
    text = LOG.format(events=event("a")).replace("</log>", event("b") + "</log>")
    for name in ("log", "trace", "event"):
        text = text.replace(f"<{name}", f"<x:{name}").replace(f"</{name}", f"</x:{name}")
    assert read(text)[0] == [("a",)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_file_may_have_any_encoding_that_it_names(tmp_path, encoding):
    named = encoding.removesuffix("-sig")
    text = LOG.format(events=event("prüfen")).replace("UTF-8", named)
    path = tmp_path / "log.xes"
    path.write_bytes(text.encode(encoding))
    assert list(read_events(path).words) == [("prüfen",)]


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ('<!ENTITY a "b">', "&a;"),
        ('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;"),
        ('<!ENTITY % a SYSTEM "http://localhost/x.dtd"> %a;', ""),
    ],
)
def test_a_document_type_is_refused(declared, value):
    text = LOG.format(events=event(value)).replace(
        "<!-- a comment -->", f"<!DOCTYPE log [{declared}]>"
    )
    with pytest.raises(FileError, match=r"line 2: a document type .* is not read"):
        read(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html><body/></html>", "expected the element <log>, got <html>"),
        (LOG.format(events="<event>"), "not XES, or damaged: mismatched tag"),
        (LOG.format(events=event("&unknown;")), "not XES, or damaged: undefined entity"),
        (LOG[:200], "not XES, or damaged: unclosed token"),
        ("", "not XES, or damaged: no element found"),
        ('<?xml version="1.0" encoding="x-y"?><log/>', "not XES, or damaged: unknown encoding"),
        ('<?xml version="1.0" encoding="utf-7"?><log/>', "not XES, or damaged: multi-byte"),
        (
            LOG.format(events=event("a", "yesterday")),
            r"line 8: 'yesterday' is no time: .*--time no",
        ),
    ],
)
def test_a_damaged_file_is_refused(text, message):
    with pytest.raises(FileError, match=message):
        read(text)


def test_a_tag_that_never_ends_is_refused_before_it_fills_memory():
    class Endless(io.RawIOBase):
        n_bytes = 0

        def read(self, size=-1):
            self.n_bytes += size
            return (b"<log><x y='" if self.n_bytes == size else b"") + b"a" * size

    stream = Endless()
    with pytest.raises(FileError, match="a tag or text is longer than"):
        read_xes(stream, EventColumns())
    assert stream.n_bytes < 2 * MAX_TAG_BYTES


def test_memory_grows_with_words_and_not_with_the_file(tmp_path):
    path = tmp_path / "log.xes.gz"
    long = event("a", "2011-04-13T14:00:00", '<string key="x" value="%s"/>' % ("y" * 4000))
    path.write_bytes(gzip.compress(LOG.format(events=long * 3000).encode()))
    read_events(path)  # whatever is made once
    tracemalloc.start()
    try:
        assert read_events(path).words.lengths.tolist() == [3000]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4e6  # of 12 MB


def test_the_public_logs_are_read(data):
    folder = data / "cases"
    if not folder.is_dir():
        pytest.skip(f"no logs at {folder}")
    example = read_events(folder / "running-example.xes")
    assert example.cases == ("3", "2", "1", "6", "5", "4")
    assert example.words[1] == (
        "register request",
        "check ticket",
        "examine casually",
        "decide",
        "pay compensation",
    )
    helpdesk = read_events(folder / "helpdesk.xes.gz")
    assert (len(helpdesk.cases), len(helpdesk.words.alphabet)) == (4580, 14)
    assert helpdesk.words.lengths.sum() == 21348
