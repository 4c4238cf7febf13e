from itertools import product

import pytest

from seqray import Alphabet
from seqray.explain import edits
from seqray.explain.edits import Edit, edited, one_edit, show_edit


def distances(one, other):
    """Levenshtein's distance, by its definition."""
    if not one or not other:
        return len(one) + len(other)
    same = one[0] == other[0]
    return min(
        distances(one[1:], other[1:]) + (not same),
        distances(one[1:], other) + 1,
        distances(one, other[1:]) + 1,
    )


@pytest.mark.parametrize("word", ["", "a", "ab", "aab", "abca"])
def test_all_words_with_one_edit_are_there_once(word):
    alphabet = Alphabet("abc")
    found, words = one_edit(word, alphabet)
    spelt = ["".join(each) for each in words]
    longest = len(word) + 1
    every = ["".join(w) for n in range(longest + 1) for w in product("abc", repeat=n)]
    assert sorted(spelt) == sorted(each for each in every if distances(word, each) == 1)
    codes = tuple(alphabet.encode(word).tolist())
    assert [alphabet.decode(edited(codes, edit)) for edit in found] == [*words]


def test_very_many_edits_are_sampled(monkeypatch):
    monkeypatch.setattr(edits, "MAX_EDITS", 20)
    found, words = one_edit("abcabcabc", Alphabet("abc"))
    assert len(found) == len(words) <= 20
    assert words == one_edit("abcabcabc", Alphabet("abc"))[1]


@pytest.mark.parametrize(
    ("edit", "shown"),
    [
        (Edit(1, 1, None), "10 [−20] 30"),
        (Edit(0, 0, 2), "[10→30] 20 30"),
        (Edit(3, None, 0), "10 20 30 [+10]"),
    ],
)
def test_an_edit_is_shown_in_its_word(edit, shown):
    alphabet = Alphabet([10, 20, 30])
    assert show_edit([10, 20, 30], edit, alphabet) == shown


def test_only_what_is_around_an_edit_is_shown():
    alphabet = Alphabet("ab")
    assert show_edit("a" * 100, Edit(50, 0, 1), alphabet, width=11) == "…aa[a→b]aa…"
    assert show_edit("a" * 100, Edit(0, 0, 1), alphabet, width=9) == "[a→b]aaa…"
    assert show_edit("a" * 100, Edit(50, 0, 1), alphabet, width=3) == "[a→b]"
    assert show_edit("", Edit(0, None, 0), alphabet) == "[+a]"


def test_no_edit_makes_a_word_too_long():
    longest = [max(one_edit("aba", Alphabet("ab"), max_length=n)[1].lengths) for n in (None, 4, 3)]
    assert longest == [4, 4, 3]


def test_long_names_leave_room_for_what_is_around_an_edit():
    names = Alphabet(["Assign seriousness", "Take in charge ticket", "Closed"])
    shown = show_edit(["Assign seriousness", "Closed"], Edit(1, None, 1), names)
    assert shown == "Assign … | [+Take in charge …] | Closed"
