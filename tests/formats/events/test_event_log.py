import csv
import gzip
import io

import numpy as np
import pytest

from seqray import Alphabet, read_events, read_words
from seqray.formats.events.event_log import is_event_file, plain_name
from seqray.util.errors import ArgumentError, FileError, MissingFileError, SymbolError

TABLE = "case,activity,time\n1,Take ticket,2\n2,Close,1\n1,Close,3\n2,Take ticket,0\n"
WORDS = [("Take ticket", "Close"), ("Take ticket", "Close")]
CUT_GZIP = gzip.compress(TABLE.encode(), mtime=0)[:40]  # without the time: it names a test


@pytest.fixture
def file(tmp_path):
    def write(content, name="log.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_one_word_per_case_in_the_order_of_cases(file):
    log = read_events(file(TABLE))
    assert list(log.words) == WORDS
    assert log.cases == ("1", "2")
    assert log.words.alphabet == Alphabet(["Close", "Take ticket"])
    assert repr(log) == f"EventLog(2 cases, {log.words!r})"


def test_a_compressed_file_is_the_same(file):
    path = file(gzip.compress(TABLE.encode()), "log.csv.gz")
    assert read_events(path) == read_events(file(TABLE))
    assert list(read_words(path)) == WORDS


def made_log(n_cases):
    """Make random cases of activities with spaces, with times that differ."""
    rng = np.random.default_rng(0)
    names = ["Take in charge ticket", 'Say "<no>" & wait', "schließen; zu", "a"]
    time = np.datetime64("2020-01-01T00:00:00", "ms")
    for case in range(n_cases):
        for _ in range(int(rng.integers(1, 9))):
            time += np.timedelta64(int(rng.integers(1, 10**7)), "ms")
            yield f"Case {case}", names[rng.integers(4)], f"{time}+00:00"


def as_xes(rows):
    from xml.sax.saxutils import quoteattr  # noqa: PLC0415

    parts, last = ["<log>"], None
    for case, activity, time in rows:
        if case != last:
            parts.append("</trace>" if last else "")
            parts.append(f'<trace><string key="concept:name" value={quoteattr(case)}/>')
            last = case
        name = f'<string key="concept:name" value={quoteattr(activity)}/>'
        parts.append(f'<event>{name}<date key="time:timestamp" value="{time}"/></event>')
    return "\n".join([*parts, "</trace></log>"])


def test_xes_csv_json_lines_and_parquet_of_one_log_give_the_same_words(file, tmp_path):
    import json  # noqa: PLC0415

    rows = list(made_log(200))
    text = io.StringIO()
    csv.writer(text).writerows([("case", "activity", "timestamp"), *rows])
    lines = [dict(zip(("case", "activity", "timestamp"), row, strict=True)) for row in rows]
    xes = read_events(file(as_xes(rows), "log.xes"))
    others = [
        read_events(file(text.getvalue())),
        read_events(file("\n".join(map(json.dumps, lines)), "log.jsonl")),
    ]
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(lines), tmp_path / "log.parquet")
    others.append(read_events(tmp_path / "log.parquet"))
    assert len(xes.words) == 200
    for other in others:
        assert (other.words, other.cases) == (xes.words, xes.cases)


def test_the_content_says_what_a_file_is(file):
    assert list(read_events(file(TABLE, "log.txt")).words) == WORDS
    assert read_events(file("<log/>", "log.data"), alphabet="ab").cases == ()


@pytest.mark.parametrize(
    ("name", "content", "is_one"),
    [
        ("log.XES", "", True),
        ("log.xes.gz", "", True),
        ("log.csv", "", True),
        ("log.tsv", "", True),
        ("log.parquet", "", True),
        ("a.fa", "", True),
        ("a.fastq.gz", "", True),
        ("a.jsonl", ' {"case": 1}', True),
        ("a.jsonl", '["a"]', False),
        ("a.txt", "", False),
        ("a.log", "", False),
    ],
)
def test_files_of_events_are_known_by_their_names(file, name, content, is_one):
    assert is_event_file(file(content, name)) is is_one


def test_a_name_is_plain_without_compression():
    assert plain_name("folder/A.XES.gz") == "a.xes"


def test_words_are_read_from_events_where_columns_can_be_guessed(file):
    assert list(read_words(file(TABLE))) == WORDS
    with pytest.raises(ArgumentError, match="no column looks like the case"):
        read_words(file("a,b\n1,2\n", "other.csv"))


def test_json_lines_of_words_are_still_words(file):
    assert list(read_words(file('["Take ticket", "b"]\n', "w.jsonl"))) == [("Take ticket", "b")]


def test_rare_activities_become_one_symbol(file):
    log = read_events(file("case,activity\n" + "1,a\n1,b\n1,c\n2,a\n2,b\n2,d\n"), rare=2)
    assert log.words.alphabet == Alphabet(["a", "b", "(rare)"])
    assert list(log.words) == [("a", "b", "(rare)")] * 2
    assert log.rare == {"c": 1, "d": 1}


def test_a_given_alphabet_is_kept_and_other_activities_are_an_error(file):
    path = file(TABLE)
    alphabet = Alphabet(["x", "Take ticket", "Close"])
    assert read_events(path, alphabet=alphabet).words.alphabet == alphabet
    with pytest.raises(SymbolError, match=r"log.csv: 2 events .* first is 'Take ticket', 1 in all"):
        read_events(path, alphabet=["Close"])


def test_numbers_of_a_given_alphabet_are_known_by_their_text(file):
    path = file("case,activity\n1,10\n1,2\n")
    assert list(read_events(path, alphabet=range(11)).words) == [(10, 2)]


def test_the_grouped_symbol_stands_for_unknown_activities(file):
    log = read_events(file(TABLE), alphabet=["Close", "(rare)"])
    assert list(log.words) == [("(rare)", "Close")] * 2


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("", FileError, "log.csv: the file is empty"),
        ("case,activity\n", FileError, "log.csv: there is no event in it: expected at least one"),
        (b"case,activity\n1,\xff\n", FileError, "log.csv: expected UTF-8 text"),
        (
            CUT_GZIP,
            FileError,
            "log.csv: not a file of events, or damaged: its compressed content .*: get the file",
        ),
        ("case,activity\n1,λ\n", SymbolError, "looks like no symbol"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(file, content, error, message):
    with pytest.raises(error, match=message):
        read_events(file(content))


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(MissingFileError, match="no such file"):
        read_events(tmp_path / "log.xes")


def test_a_format_of_times_is_used(file):
    path = file("case,activity,time\n1,a,02/01/2011\n1,b,01/02/2011\n")
    assert list(read_events(path, time_format="%d/%m/%Y").words) == [("a", "b")]
    assert list(read_events(path, time_format="%m/%d/%Y").words) == [("b", "a")]
    with pytest.raises(ArgumentError, match="expected fields such as"):
        read_events(path, time_format="dd")


def test_complete_events_only(file):
    path = file("case,activity,lifecycle:transition\n1,a,start\n1,a,complete\n2,b,start\n")
    assert list(read_events(path, complete_only=True).words) == [("a",), ()]
