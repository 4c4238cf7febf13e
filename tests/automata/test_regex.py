import re
from itertools import product

import numpy as np
import pytest

from seqray import ArgumentError, DeterministicAutomaton, regex_dfa

WORDS = ["".join(word) for n in range(7) for word in product("abc", repeat=n)]


def random_regex(rng, depth):
    """Return an expression that Python's own regular expressions read alike."""
    kind = rng.integers(4) if depth else 3
    if kind == 0:
        return random_regex(rng, depth - 1) + random_regex(rng, depth - 1)
    if kind == 1:
        return f"({random_regex(rng, depth - 1)}|{random_regex(rng, depth - 1)})"
    if kind == 2:
        times = ["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"][rng.integers(7)]
        return f"({random_regex(rng, depth - 1)}){times}"
    return ["a", "b", "c", ".", "[ab]", "[^a]", "()"][rng.integers(7)]


@pytest.mark.parametrize("seed", range(60))
def test_it_accepts_what_python_accepts(seed):
    regex = random_regex(np.random.default_rng(seed), 4)
    dfa = regex_dfa(regex, "abc")
    pattern = re.compile(regex)
    assert (dfa.weights(WORDS) == [bool(pattern.fullmatch(word)) for word in WORDS]).all(), regex
    assert (dfa.minimised().next_state == dfa.next_state).all()  # in the same order, too


@pytest.mark.parametrize(
    ("regex", "n_states"),
    [("", 2), (".*", 1), ("a{300}", 302), ("a{0,300}", 302), (".*a.{5}", 64), ("[^a b c]", 1)],
)
def test_it_is_minimal(regex, n_states):
    assert regex_dfa(regex, "abc").n_states == n_states


def test_a_choice_may_be_empty():
    assert regex_dfa("a|", "ab").decide(["", "a", "b"]) == ["yes", "yes", "no"]


def test_many_symbols_are_no_problem():
    symbols = [f"s{i}" for i in range(5000)]
    dfa = regex_dfa("s1 [^s1 s2]* s4999", symbols)
    assert isinstance(dfa, DeterministicAutomaton)
    assert dfa.decide([["s1", "s3", "s4999"], ["s1", "s2", "s4999"]]) == ["yes", "no"]


def test_nothing_repeated_is_nothing():
    regex = "((((){2000}){2000}){2000}|(a{0}){2000})*"
    assert regex_dfa(regex, "ab").decide(["", "a"]) == ["yes", "no"]
    assert regex_dfa(f"a({regex}){{2,5}}b", "ab").decide(["ab", "a"]) == ["yes", "no"]


def test_what_is_too_deep_is_refused():
    with pytest.raises(ArgumentError, match="too deep inside each other"):
        regex_dfa("a" + "?" * 5000, "ab")


def test_what_is_too_large_is_refused():
    with pytest.raises(ArgumentError, match="more than 2,000 symbols once its repeats"):
        regex_dfa("(a{100}){100}", "ab")
    with pytest.raises(ArgumentError, match="more than 20,000 states"):
        regex_dfa(".*a.{20}", "ab")
