import numpy as np
import pytest

from seqray import Alphabet, group_rare, read_words
from seqray.formats.rare_symbols import rare_symbol
from seqray.util.errors import ArgumentError

WORDS = Alphabet("abcd").words(["aab", "cab", "", "d"])


def test_symbols_below_the_limit_become_one_behind_the_others():
    words, counts = group_rare(WORDS, 2)
    assert list(words) == [("a", "a", "b"), ("(rare)", "a", "b"), (), ("(rare)",)]
    assert words.alphabet == Alphabet(["a", "b", "(rare)"])
    assert counts == {"c": 1, "d": 1}


@pytest.mark.parametrize("rare", [0, 1])
def test_words_without_rare_symbols_stay_as_they_are(rare):
    assert group_rare(WORDS, rare) == (WORDS, {})


def test_the_name_is_never_that_of_another_symbol():
    words, _ = group_rare(Alphabet(["a", "(rare)", "b"]).words([["a", "a", "(rare)", "b"]]), 2)
    assert words.alphabet == Alphabet(["a", "(rare 2)"])
    assert rare_symbol(words.alphabet) == "(rare 2)"


def test_symbols_may_be_numbers():
    words, counts = group_rare(Alphabet(range(3)).words([[0, 0, 2]]), 2)
    assert list(words) == [(0, 0, "(rare)")]
    assert counts == {1: 0, 2: 1}


def test_a_limit_that_leaves_nothing_is_refused():
    with pytest.raises(ArgumentError, match="the most frequent one 3 times: expected a smaller"):
        group_rare(WORDS, 4)
    with pytest.raises(ArgumentError, match="rare: expected a whole number from 0"):
        group_rare(WORDS, -1)


@pytest.mark.parametrize("symbols", ["ab", ["(rare)", "a"], [1, 2], ["(rare x)"]])
def test_only_the_last_symbol_can_stand_for_rare_ones(symbols):
    assert rare_symbol(Alphabet(symbols)) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [("w.txt", "a b\nzz a\n"), ("w.jsonl", '["a", "b"]\n["zz", "a"]\n'), ("w2.txt", "a b\nc a")],
)
def test_files_of_words_have_unknown_symbols_as_rare_ones(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    words = read_words(path, alphabet=["a", "b", "(rare)"])
    assert list(words) == [("a", "b"), ("(rare)", "a")]


def test_files_of_numbers_have_unknown_symbols_as_rare_ones(tmp_path):
    path = tmp_path / "1.pautomac.test"
    path.write_text("2 9\n2 0 8\n1 1\n")
    words = read_words(path, alphabet=[0, 1, "(rare)"])
    assert list(words) == [(0, "(rare)"), (1,)]
    assert words.codes.dtype == np.int32
