import pytest

from seqray.formats.events.columns import LIFECYCLE, EventColumns
from seqray.util.errors import ArgumentError


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("case:concept:name concept:name time:timestamp", "012"),
        ("CaseID ActivityID CompleteTimestamp", "012"),
        ("x case_id y activity z timestamp", "135"),
        ("@timestamp session event", "120"),
        ("when case activity", "120"),
        ("time:timestamp lifecycle:transition concept:name case:concept:name", "320"),
    ],
)
def test_columns_are_known_by_their_names(header, names):
    header = header.split()
    columns = EventColumns().resolved(header)
    assert columns.names[:3] == tuple(header[int(at)] for at in names)


def test_a_table_may_have_no_time():
    assert EventColumns().resolved(["case", "activity"]).time is None


def test_given_names_come_before_known_ones():
    columns = EventColumns(case="x", activity="y", time="z").resolved(
        ["case", "activity", "time", "x", "y", "z"]
    )
    assert columns.names == ("x", "y", "z", None)


def test_a_lifecycle_is_only_read_on_request():
    header = ["case", "activity", "lifecycle:transition"]
    assert EventColumns().resolved(header).lifecycle is None
    assert EventColumns(lifecycle=LIFECYCLE).resolved(header).lifecycle == "lifecycle:transition"
    assert EventColumns(lifecycle=LIFECYCLE).resolved(header[:2]).lifecycle is None


@pytest.mark.parametrize("name", ["case", "activity", "time"])
def test_a_column_that_is_not_there_is_an_error_that_lists_the_others(name):
    with pytest.raises(ArgumentError, match=f"no {name} column 'x': expected one of 'case', 'act"):
        EventColumns(**{name: "x"}).resolved(["case", "activity", "time"])


def test_two_columns_of_one_name_are_refused_if_they_are_read():
    header = ["case", "activity", "note", "note"]
    assert EventColumns().resolved(header).activity == "activity"
    with pytest.raises(ArgumentError, match="2 columns are called 'note': expected one: rename"):
        EventColumns(activity="note").resolved(header)


def test_columns_may_be_called_by_numbers():
    columns = EventColumns(case=0, activity=1).resolved([0, 1, 2])
    assert columns.names == (0, 1, None, None)


def test_a_long_list_of_columns_is_cut():
    with pytest.raises(ArgumentError, match="'c19', … 30 in all"):
        EventColumns().resolved([f"c{i}" for i in range(30)])
