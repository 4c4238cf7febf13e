import pytest

from seqray import Alphabet, ArgumentError
from seqray.automata.regex_parser import OneOf, Repeat, Sequence, parse_regex

AB = Alphabet("ab")
CALLS = Alphabet(["open", "read", "write all", "a*b", 7])


def one(*codes):
    return OneOf(frozenset(codes))


def test_symbols_of_one_character_need_no_spaces():
    assert parse_regex("ab", AB) == parse_regex("a b", AB) == Sequence((one(0), one(1)))


def test_a_repeat_belongs_to_the_last_symbol():
    assert parse_regex("ab*", AB) == Sequence((one(0), Repeat(one(1), 0, None)))
    assert parse_regex("open read+", CALLS) == Sequence((one(0), Repeat(one(1), 1, None)))


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("a{2}", 2, 2), ("a{2,}", 2, None), ("a{,3}", 0, 3), ("a { 1 , 3 }", 1, 3), ("a?", 0, 1)],
)
def test_repeats_have_limits(text, least, most):
    assert parse_regex(text, AB) == Repeat(one(0), least, most)


@pytest.mark.parametrize("text", ['"write all"', "'write all'", r"write\ all"])
def test_quotes_and_backslashes_hold_spaces(text):
    assert parse_regex(text, CALLS) == one(2)


@pytest.mark.parametrize("text", ['"a*b"', r"a\*b"])
def test_quotes_and_backslashes_take_the_meaning_of_signs_away(text):
    assert parse_regex(text, CALLS) == one(3)


def test_numbers_are_named_by_their_text():
    assert parse_regex("7", CALLS) == one(4)


def test_classes_list_symbols_and_may_be_negated():
    assert parse_regex("[open 'write all']", CALLS) == one(0, 2)
    assert parse_regex("[^open 7]", CALLS) == one(1, 2, 3)
    assert parse_regex("[ab]", AB) == parse_regex(".", AB) == one(0, 1)


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("a(b", 4, "a '\\(' is not closed"),
        ("a)b", 2, "it closes nothing"),
        ("*a", 1, "nothing that it could belong to"),
        ("a{x}", 2, "no number of times"),
        ("a{3,2}", 2, "expected rising numbers up to 2,000"),
        ("a{2001}", 2, "expected rising numbers up to 2,000"),
        ("[a", 3, "a '\\[' is not closed"),
        ("[a*]", 3, "write symbols only"),
        ("ab 'a", 4, "a quotation mark without its end"),
        ("ab\\", 3, "a backslash without its end"),
        ("a c", 3, "'c': no symbol of the alphabet: expected one of"),
        ("'ab'", 1, "no symbol of the alphabet"),
        ("(" * 101 + ")" * 101, 102, "more than 100 brackets"),
    ],
)
def test_an_error_says_where_and_what(text, position, problem):
    with pytest.raises(ArgumentError, match=f"at position {position}, .*{problem}"):
        parse_regex(text, AB)


def test_a_misspelt_symbol_is_answered_with_a_similar_one():
    with pytest.raises(ArgumentError, match="did you mean 'open'"):
        parse_regex("opn read", CALLS)


def test_symbols_that_look_the_same_are_refused():
    with pytest.raises(ArgumentError, match="two symbols of the alphabet look the same"):
        parse_regex("1", Alphabet([1, "1"]))
