import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqray import Alphabet, WeightedAutomaton, Words, sample
from seqray.util.errors import ArgumentError, SymbolError

AB = Alphabet("ab")


some_words = st.lists(st.text("ab", max_size=6), max_size=12)


def texts(words):
    return ["".join(word) for word in words]


def test_an_alphabet_keeps_the_order_of_its_symbols():
    alphabet = Alphabet(["b", 3, ("x", 1)])
    assert list(alphabet) == ["b", 3, ("x", 1)]
    assert alphabet.codes == {"b": 0, 3: 1, ("x", 1): 2}
    assert 3 in alphabet
    assert "c" not in alphabet


def test_alphabets_are_equal_when_their_symbols_are_in_the_same_order():
    assert Alphabet("ab") == Alphabet(["a", "b"]) != Alphabet("ba")
    assert hash(Alphabet("ab")) == hash(AB)
    assert pickle.loads(pickle.dumps(AB)) == AB


def test_symbols_that_hold_spaces_are_shown_and_typed_with_bars():
    alphabet = Alphabet(["take", "take ticket", "ticket", "close"])
    word = ("take", "ticket", "take ticket", "close")
    assert alphabet.show(word) == "take | ticket | take ticket | close"
    assert alphabet.parse(alphabet.show(word)) == word
    assert alphabet.encode("take | ticket").tolist() == [0, 2]
    assert alphabet.words(["take ticket close", ""]).lengths.tolist() == [2, 0]
    with pytest.raises(SymbolError, match="'open' at position 2"):
        alphabet.parse("close | open")


def test_a_bar_may_be_a_symbol():
    assert Alphabet(["|", "a b"]).parse("a b | | |") == ("a b", "|", "|", "|")


@pytest.mark.parametrize("symbols", [["pay", "pay | ship", "ship"], ["|", "pay it"], ["|| a", "|"]])
def test_words_of_symbols_with_bars_are_read_back_as_they_were_shown(symbols):
    alphabet = Alphabet(symbols)
    for word in product(symbols, repeat=3):
        assert alphabet.parse(alphabet.show(word)) == word


def test_a_long_alphabet_is_shown_in_short():
    assert repr(AB) == "Alphabet(['a', 'b'])"
    assert repr(Alphabet(range(8))) == "Alphabet([0, 1, 2, 3, 4, 5, 6, 7])"
    assert repr(Alphabet(range(99))) == "Alphabet([0, 1, 2, 3, 4, 5, 6, 7, … 99 in all])"


def test_a_string_is_read_by_characters_or_split_at_white_space():
    assert AB.encode("ba").tolist() == [1, 0]
    assert Alphabet(["do", "re"]).encode(" re  do\n").tolist() == [1, 0]
    assert Alphabet(["a", "re"]).encode("re a").tolist() == [1, 0]
    assert Alphabet(["do", "re"]).encode(["re"]).tolist() == [1]
    with pytest.raises(ArgumentError, match=r"got the string '1 2': pass a list, or alphabet"):
        Alphabet([1, 2]).encode("1 2")
    with pytest.raises(ArgumentError, match="got the string"):
        Alphabet([1, "a"]).encode("a")


@pytest.mark.parametrize("word", [[2, 0], (2, 0), np.array([2, 0]), range(2, -1, -2)])
def test_any_sequence_of_symbols_is_a_word(word):
    assert Alphabet(range(3)).encode(word).tolist() == [2, 0]


def test_an_unknown_symbol_is_named_with_its_position():
    message = r"symbol 'c' at position 3 is outside an alphabet of 2: Alphabet\(\['a', 'b'\]\)"
    with pytest.raises(SymbolError, match=message):
        AB.encode("abc")
    with pytest.raises(SymbolError, match=message):
        AB.words(["a", "abc"])
    with pytest.raises(SymbolError, match=message):
        AB.parse("abc")
    with pytest.raises(SymbolError, match="symbol '12' at position 2"):
        Alphabet(range(12)).parse("3 12")
    with pytest.raises(SymbolError, match=r"symbol \[1\] at position 1"):
        AB.encode([[1]])
    with pytest.raises(SymbolError, match=r"symbol \[1\] at position 1"):
        AB.words([[[1]]])


def test_what_is_not_a_word_is_refused():
    with pytest.raises(ArgumentError, match=r"expected a word .* got 5"):
        AB.encode(5)
    with pytest.raises(ArgumentError, match=r"expected a word .* got 5"):
        AB.words([5])
    with pytest.raises(ArgumentError, match=r"got the single string 'ab': write \['ab'\]"):
        AB.words("ab")


def test_white_space_between_characters_does_not_count():
    assert AB.parse(" a b a ") == ("a", "b", "a")
    assert Alphabet("a ").parse("a a") == ("a", " ", "a")


def test_a_symbol_may_hold_spaces():
    cities = Alphabet(["New York", "New", "Old  Town", "x"])
    assert cities.parse("New York x New Old Town New York") == (
        *("New York", "x", "New", "Old  Town", "New York"),
    )
    with pytest.raises(SymbolError, match="'York' at position 2"):
        cities.parse("x York")


@given(st.lists(st.integers(0, 11), max_size=8))
def test_what_is_shown_can_be_parsed_again(word):
    alphabet = Alphabet(range(12))
    assert alphabet.decode(alphabet.encode(word)) == tuple(word)
    assert alphabet.show(word) == (" ".join(map(str, word)) or "λ")
    if word:
        assert alphabet.parse(alphabet.show(word)) == tuple(word)
    assert AB.parse("") == alphabet.parse("  ") == ()


@pytest.mark.parametrize("code", [-1, 2])
def test_a_code_outside_the_alphabet_is_not_decoded(code):
    with pytest.raises(SymbolError, match=f"letter {code} at position 1 is outside an alphabet"):
        AB.decode([0, code])


def test_json_holds_strings_and_numbers_only():
    assert Alphabet(["a", 1, 2.5, "μ"]).to_json() == ["a", 1, 2.5, "μ"]
    for symbol in (("x",), b"x", np.int64(3), "\ud800", float("nan")):
        with pytest.raises(SymbolError, match="cannot be written to a file"):
            Alphabet([symbol]).to_json()


@given(some_words)
def test_words_come_back_as_they_went_in(words):
    batch = AB.words(words)
    assert len(batch) == len(words)
    assert texts(batch) == words
    assert batch.lengths.tolist() == [len(word) for word in words]
    assert AB.words(batch) is batch
    assert AB.words(iter(words)) == batch


def test_words_are_gone_through_as_they_are_taken_one_by_one():
    words = Alphabet("ab").words(["", "ab", "b", "", "abba", "a", ""])
    assert list(words) == [words[i] for i in range(7)]
    assert list(words[2:5]) == [("b",), (), ("a", "b", "b", "a")]
    assert list(words[:0]) == []


def test_words_over_another_alphabet_are_refused():
    with pytest.raises(SymbolError, match="encode them with the same alphabet"):
        Alphabet("ba").words(AB.words(["a"]))
    with pytest.raises(SymbolError, match="same alphabet"):
        Words.concatenate([AB.words(["a"]), Alphabet("abc").words(["a"])])


@given(some_words, st.slices(12))
def test_slices_are_those_of_a_list(words, where):
    assert texts(AB.words(words)[where]) == words[where]


@given(some_words.filter(len), st.data())
def test_one_word_a_mask_or_a_list_of_words_can_be_chosen(words, data):
    batch, n = AB.words(words), len(words)
    at = data.draw(st.integers(-n, n - 1))
    assert batch[at] == batch[np.int64(at)] == tuple(words[at])
    chosen = data.draw(st.lists(st.integers(-n, n - 1)))
    assert texts(batch[chosen]) == [words[i] for i in chosen]
    mask = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    kept = [word for word, keep in zip(words, mask, strict=True) if keep]
    assert texts(batch[np.array(mask)]) == kept


@pytest.mark.parametrize("at", [2, -3])
def test_a_word_that_is_not_there_is_an_index_error(at):
    with pytest.raises(IndexError):
        AB.words(["a", "b"])[at]


@given(st.lists(some_words, min_size=1, max_size=4))
def test_batches_are_put_behind_each_other(batches):
    together = Words.concatenate([AB.words(words) for words in batches])
    assert texts(together) == [word for words in batches for word in words]


def test_no_batches_make_no_words():
    with pytest.raises(ArgumentError, match="at least one batch"):
        Words.concatenate([])


@given(some_words)
def test_unique_words_stand_as_they_first_appear(words):
    distinct, which = AB.words(words).unique()
    assert texts(distinct) == list(dict.fromkeys(words))
    assert texts(distinct[which]) == words


@given(some_words, st.data())
def test_words_are_extended_by_one_letter_each(words, data):
    letters = data.draw(st.lists(st.integers(0, 1), min_size=len(words), max_size=len(words)))
    extended = AB.words(words).extended(np.array(letters, int))
    assert texts(extended) == [w + "ab"[s] for w, s in zip(words, letters, strict=True)]


def test_words_are_not_extended_by_letters_outside_the_alphabet():
    with pytest.raises(SymbolError, match="letter 2 at position 1 of word 0"):
        AB.words(["a", "b"]).extended(np.array([2, 0]))


@given(some_words, some_words)
def test_every_word_is_followed_by_every_other(words, others):
    together = AB.words(words).followed_by(AB.words(others))
    assert texts(together) == [word + other for word in words for other in others]


@given(some_words)
def test_words_are_read_backwards(words):
    assert texts(AB.words(words).reversed()) == [word[::-1] for word in words]


@given(some_words, some_words)
def test_words_are_equal_when_all_their_letters_are(words, others):
    assert (AB.words(words) == AB.words(others)) == (words == others)
    assert AB.words(words) != words
    assert AB.words(words) != Alphabet("abc").words(words)
    assert pickle.loads(pickle.dumps(AB.words(words))) == AB.words(words)


def test_words_are_not_hashable():
    with pytest.raises(TypeError):
        hash(AB.words(["a"]))


def test_words_are_shown_in_short():
    assert repr(AB.words([])) == "Words(0 words over 2 symbols: )"
    assert repr(AB.words(["", "a", "b", "ab"])) == "Words(4 words over 2 symbols: λ, a, b, ab)"
    assert repr(AB.words(["", "a", "b", "ab", "a"])).endswith("λ, a, b, ab, …)")


@pytest.mark.parametrize(
    ("codes", "offsets", "message"),
    [
        (np.zeros((2, 1), int), [0, 2], r"codes: expected a one-dimensional integer array"),
        (np.zeros(2), [0, 2], "codes: .* got float64"),
        (np.zeros(2, int), [[0, 2]], r"offsets: .* of shape \(1, 2\)"),
        (np.zeros(2, int), [0.0, 2.0], "offsets: .* got float64"),
        (np.zeros(2, int), np.zeros(0, int), "offsets: expected to rise from 0 to 2"),
        (np.zeros(2, int), [1, 2], "offsets: expected to rise from 0 to 2"),
        (np.zeros(2, int), [0, 1], "offsets: expected to rise from 0 to 2"),
        (np.zeros(2, int), [0, 2, 1, 2], "offsets: expected to rise from 0 to 2"),
        (np.zeros(2, int), np.array([0, 2, 1, 2], np.uint64), "offsets: expected to rise"),
        (np.array([0, 1, -1]), [0, 1, 3], "letter -1 at position 1 of word 1 is outside an"),
        (np.array([0, 2, 1]), [0, 0, 0, 3], "letter 2 at position 1 of word 2 is outside an"),
        (np.array([0, 2**32]), [0, 2], "letter 4294967296 at position 1 of word 0"),
    ],
)
def test_damaged_arrays_are_refused(codes, offsets, message):
    with pytest.raises(ArgumentError, match=message):
        Words(AB, codes, np.asarray(offsets))


def test_the_arrays_of_words_are_read_only():
    words = AB.words(["a", "ba", "b"])
    for batch in (words, words[1:], words[[2, 0]], words.unique()[0], words.followed_by(words)):
        for array in (batch.codes, batch.offsets):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_words_are_cut_to_a_length():
    words = Alphabet("ab").words(["", "abba", "b", "ab"])
    assert [*words.cut(2)] == [(), ("a", "b"), ("b",), ("a", "b")]
    assert [*words.cut(0)] == [()] * 4
    assert words.cut(9) == words


def test_what_was_sampled_counts_as_its_words():
    drawn = sample(WeightedAutomaton("a", [1], [[[0.5]]], [0.5]), 9, seed=0)
    assert Alphabet("a").words(drawn) is drawn.words


def test_an_alphabet_is_extended_by_what_else_occurs_in_the_order_of_appearance():
    assert Alphabet("ab").extended(["ba", "dcd"]).symbols == ("a", "b", "d", "c")
    assert Alphabet(["do", "re"]).extended(["re mi", ("fa so",)]).symbols == (
        "do",
        "re",
        "mi",
        "fa so",
    )
    assert Alphabet("ab").extended([]) == Alphabet("ab")


def test_an_unknown_name_is_shown_whole_with_the_nearest_known_one():
    names = Alphabet(["Take in charge ticket", "Closed"])
    message = "'Take in charge tiket' at position 2 .* did you mean 'Take in charge ticket'"
    with pytest.raises(SymbolError, match=message):
        names.parse("Closed | Take in charge tiket | Closed")
    with pytest.raises(SymbolError, match="did you mean the symbols '0 5 9', with spaces"):
        Alphabet(range(10)).words([["059"]])
    with pytest.raises(SymbolError, match=r"symbol 'opne' .* did you mean 'open'"):
        Alphabet(["open", "close"]).parse("opne close")
