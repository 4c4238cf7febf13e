import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqray import Alphabet
from seqray.formats.words_file import READERS, read_words, write_words
from seqray.util.errors import ArgumentError, FileError, MissingFileError, SymbolError

PAUTOMAC = "3 4\n2 0 3\n0\n3 1 1 2\n"


@pytest.fixture
def file(tmp_path):
    """Write a file and return its path."""

    def write(content, name="words.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# Reading PAutomaC ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        PAUTOMAC,
        PAUTOMAC.replace("\n", "\r\n"),
        PAUTOMAC.rstrip("\n"),
        PAUTOMAC.replace("\n", " \n"),
        PAUTOMAC + "\n \n",
        "\ufeff" + PAUTOMAC,
    ],
)
def test_pautomac_words_are_integers_below_the_headers_alphabet_size(file, content):
    words = read_words(file(content))
    assert words.alphabet == Alphabet(range(4))
    assert list(words) == [(0, 3), (), (1, 1, 2)]


def test_a_pautomac_file_may_hold_no_words(file):
    words = read_words(file("0 3\n"))
    assert len(words) == 0
    assert words.alphabet == Alphabet(range(3))


def test_symbols_counted_from_one_make_an_alphabet_from_one(file):
    words = read_words(file("2 3\n2 1 3\n1 2\n"))
    assert words.alphabet == Alphabet([1, 2, 3])
    assert list(words) == [(1, 3), (2,)]


def test_a_given_alphabet_replaces_the_headers(file):
    alphabet = Alphabet([3, 1, 0, 2, 7])
    words = read_words(file(PAUTOMAC), alphabet=alphabet)
    assert words.alphabet == alphabet
    assert words.codes.tolist() == [2, 0, 1, 1, 3]
    assert read_words(file(PAUTOMAC), alphabet=range(4)) == read_words(file(PAUTOMAC))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("\ufeff", "empty"),
        ("3 x\n", ":1: expected a header 'number_of_words alphabet_size', got '3 x'"),
        ("3\n", ":1: expected a header"),
        ("3 4 5\n", ":1: expected a header"),
        ("-3 4\n", ":1: expected a header"),
        (f"{'9' * 5000} 4\n", ":1: expected a header"),
        ("3 0\n", ":1: header promises an alphabet of 0 symbols"),
        ("3 99999999\n", ":1: header promises an alphabet of 99999999 symbols"),
        ("3 4\n2 0 3\n0\n", ":3: header promises 3 words, got 2"),
        ("3 4\n2 0 3\n0\n3 1", ":4: the line promises 3 symbols, got 1"),
        (PAUTOMAC + "1 0\n", ":5: header promises 3 words, got 4"),
        ("3 4\n2 0 3\n\n1 0\n", ":3: expected a length and symbols"),
        ("3 4\n2 0 3\n2 1\n1 0\n", ":3: the line promises 2 symbols, got 1"),
        ("3 4\n2 0 3\n1 a\n1 0\n", ":3: expected an integer, got 'a'"),
        ("3 4\n2 0 3\n1 0\n1 1.5\n", ":4: expected an integer, got '1.5'"),
        (f"1 4\n1 {10**30}\n", f":2: expected an integer, got '{10**30}'"),
        ("3 4\n2 0 3\n0\n3 0 4 0\n", ":4: letter 4 at position 1 is outside the 4 letters"),
        ("3 4\n2 0 3\n0\n2 0 -1\n", ":4: letter -1 at position 1 is outside the 4 letters"),
        ("1 4\n2 1 5\n", ":2: letter 5 at position 1 is outside the 4 letters"),
    ],
)
def test_a_damaged_pautomac_file_is_refused_with_its_line(file, content, message):
    path = file(content, "3.pautomac.train")
    with pytest.raises(FileError) as caught:
        read_words(path)
    assert f"{path}{message}" in str(caught.value) or message == "empty" in str(caught.value)


def test_a_letter_outside_a_given_alphabet_is_refused_with_its_line(file):
    path = file(PAUTOMAC)
    with pytest.raises(SymbolError) as caught:
        read_words(path, alphabet=range(3))
    assert f"{path}:2: letter 3 at position 1 is outside the given alphabet" in str(caught.value)


# Reading text, characters and JSON ----------------------------------------------------------------


def test_text_is_split_at_white_space_and_an_empty_line_is_the_empty_word(file):
    words = read_words(file("the cat\n\n the\tdog \r\n\n"))
    assert words.alphabet == Alphabet(["cat", "dog", "the"])
    assert list(words) == [("the", "cat"), (), ("the", "dog"), ()]


def test_characters_are_symbols_where_there_is_no_space(file):
    words = read_words(file("ba\n\nμa\r\n"))
    assert words.alphabet == Alphabet("abμ")
    assert list(words) == [("b", "a"), (), ("μ", "a")]


def test_characters_that_some_call_line_ends_are_symbols(file):
    assert list(read_words(file("a\u2028b\n"), layout="characters")) == [("a", "\u2028", "b")]


def test_json_lines_are_lists_or_strings(file):
    words = read_words(file('["do", 10, 2]\n"ab"\n[]\n[1.5]\n', "words.jsonl"))
    assert words.alphabet == Alphabet([1.5, 2, 10, "a", "b", "do"])
    assert list(words) == [("do", 10, 2), ("a", "b"), (), (1.5,)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1,", "not a line of JSON"),
        ("", "not a line of JSON"),
        ("[NaN]", "NaN is no symbol"),
        ("[1, -1e999]", "-1e999 is no symbol"),
        ("[" * 100_000, "not a line of JSON"),
        ("7", "expected a list of symbols or a string, got 7"),
        ('[1, {"a": 2}]', "{'a': 2} is no symbol"),
    ],
)
def test_a_damaged_json_line_is_refused_with_its_number(file, line, message):
    path = file(f"[1]\n{line}\n[2]\n", "words.jsonl")
    with pytest.raises(FileError) as caught:
        read_words(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "layout", "alphabet"),
    [
        ("a b\nb c\n", "text", "ab"),
        ("ab\nbc\n", "characters", "ab"),
        ('["a"]\n["c"]\n', "jsonl", "ab"),
        ("1 2\n2 3\n", "text", [1, 2]),
    ],
)
def test_a_symbol_outside_a_given_alphabet_is_refused_with_its_line(
    file, content, layout, alphabet
):
    path = file(content)
    with pytest.raises(SymbolError, match="is outside an alphabet of 2") as caught:
        read_words(path, alphabet=alphabet, layout=layout)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_symbols_of_a_given_alphabet_are_found_by_their_text(file):
    assert list(read_words(file("10 2\n"), alphabet=[2, 10])) == [(10, 2)]
    assert list(read_words(file("102\n"), alphabet=[0, 1, 2])) == [(1, 0, 2)]


def test_a_file_without_symbols_needs_an_alphabet(file):
    path = file("\n\n")
    with pytest.raises(FileError, match="no symbol in the file"):
        read_words(path)
    assert list(read_words(path, alphabet="ab")) == [(), ()]


def test_what_is_no_utf8_text_or_not_there_is_refused(file, tmp_path):
    with pytest.raises(FileError, match="expected UTF-8 text, byte 1"):
        read_words(file(b"a\xff\n"))
    with pytest.raises(MissingFileError, match=r"missing: there is no such file$"):
        read_words(tmp_path / "missing")


# The layout ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "alphabet", "first"),
    [
        ("2 3\n1 0\n1 2\n", None, (0,)),  # a header and lengths
        ("9 3\n1 0\n7 2\n1 2\n", None, "header"),  # most lines, not all
        ("2 3\n1 0 1\n2 2\n", None, ("2", "3")),  # no lengths
        ("2 3\n", None, ("2", "3")),
        ("2 3 1\n1 2\n", None, ("2", "3", "1")),
        ("2 3\n1 0\n1 2\n", ["1", "2", "3", "0"], ("2", "3")),  # no integers in the alphabet
        ("do\nre\n", ["do", "re"], ("do",)),
        ("a b\n", " ab", ("a", " ", "b")),
        ("a b\n", "ab", ("a", "b")),
        ("ab\n", "ab", ("a", "b")),
    ],
)
def test_the_layout_is_guessed_from_content_and_alphabet(file, content, alphabet, first):
    if first == "header":
        with pytest.raises(FileError, match="header promises"):
            read_words(file(content), alphabet=alphabet)
    else:
        assert read_words(file(content), alphabet=alphabet)[0] == first


def test_an_unknown_layout_is_refused(file, tmp_path):
    with pytest.raises(ArgumentError, match="layout 'csv' is not one of auto, pautomac, text"):
        read_words(file("a"), layout="csv")
    with pytest.raises(ArgumentError, match="layout 'csv'"):
        write_words(Alphabet("a").words(["a"]), tmp_path / "words", layout="csv")


# Writing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symbols", "name", "content"),
    [
        (range(3), "words.txt", "2 3\n2 0 2\n0\n"),
        (range(1, 4), "words.txt", "2 3\n2 1 3\n0\n"),
        (range(3), "3.pautomac.train", "2 3\n2 0 2\n0\n"),
        ([1.5, 3, "μ"], "pautomac.jsonl", '[1.5, "μ"]\n[]\n'),
        ("abc", "words.txt", "ac\n\n"),
        (["do", "re", "mi"], "words.txt", "do mi\n\n"),
        ([1.5, 3, "μ"], "words.jsonl", '[1.5, "μ"]\n[]\n'),
    ],
)
def test_the_layout_of_a_new_file_follows_symbols_and_name(tmp_path, symbols, name, content):
    alphabet = Alphabet(symbols)
    words = alphabet.words([[alphabet.symbols[0], alphabet.symbols[2]], []])
    write_words(words, tmp_path / name)
    assert (tmp_path / name).read_bytes().decode() == content
    assert read_words(tmp_path / name, alphabet=alphabet) == words


@pytest.mark.parametrize(
    ("symbols", "layout"),
    [
        ("ab", "pautomac"),
        ([0, 2], "pautomac"),
        (["a", "bc"], "characters"),
        (["a", "\n"], "characters"),
        (["a", "\n"], "auto"),
        (["a", "b c"], "text"),
        (["1", 1], "text"),
        (["1", 1], "characters"),
        (["a", ("b", "c")], "jsonl"),
        (["a", "\ud800"], "jsonl"),
    ],
)
def test_symbols_that_a_layout_cannot_hold_are_refused(tmp_path, symbols, layout):
    words = Alphabet(symbols).words([symbols])
    with pytest.raises(SymbolError):
        write_words(words, tmp_path / "words", layout=layout)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["3.pautomac.train", "pautomac.txt", "0.spice.train"])
@pytest.mark.parametrize("symbols", ["ab", [0, 2], ["do", "re"]])
def test_a_name_of_pautomac_takes_no_other_symbols(tmp_path, name, symbols):
    words = Alphabet(symbols).words([symbols])
    with pytest.raises(SymbolError, match=f"{name}: the pautomac layout has the symbols 0 … k-1"):
        write_words(words, tmp_path / name)
    assert not list(tmp_path.iterdir())
    write_words(words, tmp_path / name, layout="text")  # the layout says so
    assert read_words(tmp_path / name, alphabet=symbols, layout="text") == words


@pytest.mark.parametrize("layout", ["text", "characters", "jsonl"])
def test_no_words_are_refused_where_the_file_would_be_empty(tmp_path, layout):
    with pytest.raises(ArgumentError, match="no words to write"):
        write_words(Alphabet("ab").words([]), tmp_path / "words", layout=layout)


@given(
    words=st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=8),
    layout=st.sampled_from(sorted(READERS)),
)
def test_words_come_back_from_every_layout(tmp_path_factory, words, layout):
    path = tmp_path_factory.mktemp("words") / "words"
    encoded = Alphabet(range(10)).words(words)
    write_words(encoded, path, layout=layout)
    assert read_words(path, alphabet=range(10), layout=layout) == encoded


@given(
    data=st.data(), symbols=st.sets(st.text("ab1 \t\u2028μ", min_size=1, max_size=2), min_size=1)
)
def test_words_come_back_from_the_guessed_layout(tmp_path_factory, data, symbols):
    path = tmp_path_factory.mktemp("words") / "words"
    alphabet = Alphabet(sorted(symbols))
    words = data.draw(st.lists(st.lists(st.sampled_from(alphabet.symbols)), min_size=1))
    try:
        write_words(alphabet.words(words), path)
    except SymbolError:  # white space within a longer symbol
        assert any(character.isspace() for symbol in symbols for character in symbol)
    else:
        assert read_words(path, alphabet=alphabet) == alphabet.words(words)


TEXTS = st.text(max_size=5).filter(lambda text: "λ" not in text)  # the empty word's name


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_json_lines_hold_any_text(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("words") / "words.jsonl"
    path.write_text("".join(json.dumps(word) + "\n" for word in words))
    if any(words):
        read = read_words(path)
        assert ["".join(word) for word in read] == words
        if not any("\ud800" <= letter <= "\udfff" for word in words for letter in word):
            write_words(read, path)
            assert read_words(path) == read


# Public data --------------------------------------------------------------------------------------


def test_trucks_are_read_over_the_alphabet_of_the_training_words(data):
    folder = data / "pautomac-real"
    train = read_words(folder / "pautomac-real-2.train.txt")
    assert train.alphabet == Alphabet(range(1, 19))
    assert len(train) == 20000
    assert np.isin(train.lengths, 20).all()
    test = read_words(folder / "pautomac-real-2.test.txt", alphabet=train.alphabet)
    assert test[0][:4] == (11, 2, 10, 14)


@pytest.mark.parametrize(
    ("name", "n_words", "n_symbols"),
    [("0.spice.train", 20000, 4), ("0.spice.prefix.public", 1000, 4), ("4.spice.train", 5987, 33)],
)
def test_spice_files_are_read(data, name, n_words, n_symbols):
    words = read_words(data / "spice" / name)
    assert len(words) == n_words
    assert words.alphabet == Alphabet(range(n_symbols))
