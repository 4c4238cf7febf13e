"""AT&T text: what is written, what comes back, and what is refused."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata import FIGURE_1
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.generators import random_structured
from seqray.formats.fst import from_fst_text, to_fst_text, write_fst
from seqray.util.errors import ArgumentError, FileError, SymbolError

TABLE = "<eps> 0\na 1\nb 2\n"


def short_words(wa: WeightedAutomaton) -> list[tuple[object, ...]]:
    return [word for length in range(4) for word in product(wa.alphabet, repeat=length)]


def test_figure_1_is_written_with_a_fresh_start_state() -> None:
    text, symbols = to_fst_text(FIGURE_1)
    assert symbols == TABLE
    assert text.splitlines()[:3] == [
        "0 1 <eps> <eps> 1.0",
        "1 1 a a 0.5",
        f"1 2 a a {1 / 6!r}",
    ]
    assert text.endswith("1 0.0\n2 0.25\n")


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_a_round_trip_keeps_every_number(n_states: int, n_symbols: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    wa = WeightedAutomaton(
        "xyz"[:n_symbols],
        rng.normal(size=n_states),
        rng.normal(size=(n_symbols, n_states, n_states)) * rng.integers(0, 2, n_states),
        rng.normal(size=n_states),
    )
    back = from_fst_text(*to_fst_text(wa))
    assert back.allclose(wa, rtol=0, atol=0)
    words = short_words(wa)
    np.testing.assert_allclose(back.weights(words), wa.weights(words), rtol=1e-12, atol=1e-12)


def test_states_that_nothing_touches_come_back() -> None:
    empty = WeightedAutomaton("a", [0, 0, 0], np.zeros((1, 3, 3)), [0, 0, 0])
    assert from_fst_text(*to_fst_text(empty)).allclose(empty)


def test_symbols_come_back_as_text() -> None:
    wa = WeightedAutomaton(range(2), [1], [[[0.5]], [[0.25]]], [1])
    assert from_fst_text(*to_fst_text(wa)).weight(["0", "1"]) == 0.125


def test_an_ordinary_acceptor_starts_where_its_first_line_starts() -> None:
    wa = from_fst_text("7 9 a a 0.5\n9 9 b b\n9 2\n7\n", TABLE)
    assert wa.n_states == 2
    assert wa.weights(["", "a", "ab", "b"]).tolist() == [1, 1, 1, 0]


def test_a_start_state_that_also_reads_symbols_is_kept() -> None:
    wa = from_fst_text("0 1 <eps> <eps> 0.5\n0 1 a a 0.25\n1 2.0\n", TABLE)
    assert wa.weights(["", "a"]).tolist() == [1, 0.5]


def test_a_lone_final_state_is_an_automaton() -> None:
    assert from_fst_text("0 3.0\n", TABLE).weight("") == 3


def test_parallel_lines_add_up() -> None:
    text = "0 1 <eps> <eps> 0.5\n0 1 <eps> <eps> 0.5\n1 1 a a 1\n1 1 a a 2\n1 1\n"
    assert from_fst_text(text, TABLE).weight("a") == 3


def test_a_symbol_that_stands_for_none_is_refused() -> None:
    with pytest.raises(ArgumentError, match="'<eps>' cannot be written as FST text"):
        to_fst_text(WeightedAutomaton(["a", "<eps>"], [1], np.zeros((2, 1, 1)), [1]))


@pytest.mark.parametrize("symbol", ["two words", "tab\t", "line\nbreak", "\u00a0", "%20", "5 %2"])
def test_white_space_in_symbols_is_escaped_and_comes_back(symbol: str) -> None:
    automaton = WeightedAutomaton(["a", symbol], [1], [[[0.5]], [[0.25]]], [1])
    text, table = to_fst_text(automaton)
    assert all(len(line.split()) in (2, 5) for line in text.splitlines())
    again = from_fst_text(text, table)
    assert again.alphabet == automaton.alphabet
    assert again.allclose(automaton)


def test_spaces_are_escaped_as_in_addresses() -> None:
    _, table = to_fst_text(WeightedAutomaton(["Take ticket", "50%"], [1], np.ones((2, 1, 1)), [1]))
    assert table == "<eps> 0\nTake%20ticket 1\n50% 2\n"


def test_symbols_that_become_the_same_text_are_refused() -> None:
    with pytest.raises(SymbolError, match="stands twice"):
        to_fst_text(WeightedAutomaton([1, "1"], [1], np.zeros((2, 1, 1)), [1]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("0 1 a b 0.5\n", "line 1 of the FST text: expected 'from to symbol symbol weight'"),
        ("\n0 1 a\n", "line 2 of the FST text: expected 'from"),
        ("0 1 a a 0.5 6\n", "line 1 of the FST text: expected 'from"),
        ("0 x a a 0.5\n", "expected a state number, got 'x'"),
        ("-1 2\n", "expected a state number, got '-1'"),
        (f"{'9' * 5000} 2\n", "expected a state number, got '9999"),
        ("0 0 a a much\n", "expected a real weight, got 'much'"),
        ("0 Infinity\n", "expected a real weight, got 'Infinity'"),
        ("0 1 z z 0.5\n", "line 1 of the FST text: symbol 'z' is not in the symbol table"),
        ("0 1 a a 1\n1 2 <eps> <eps> 1\n", "from state 1 to 2: only a start state"),
        ("0 1 <eps> <eps> 1\n1 0 a a 1\n", "from state 0 to 1: only a start state"),
    ],
)
def test_damaged_text_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        from_fst_text(text, TABLE)


@pytest.mark.parametrize("table", ["a\n", "a one\n", "a 1\nb 1\n", "a 1 2\n", "a -1\n"])
def test_a_damaged_symbol_table_is_refused(table: str) -> None:
    with pytest.raises(FileError, match="of the symbol table: expected a symbol and a code"):
        from_fst_text("0 1\n", table)


def test_the_table_gives_the_alphabet_its_order() -> None:
    assert from_fst_text("0 1\n", "b 9\n<eps> 0\na 4\n").alphabet.symbols == ("a", "b")


def test_more_states_than_the_limit_are_refused_with_the_limit() -> None:
    text = "".join(f"{q} {q + 1} a a 0.5\n" for q in range(40_000))
    message = "40,001 states and 2 symbols would need 3,200,160,002 numbers, more than the limit"
    with pytest.raises(FileError, match=message):
        from_fst_text(text, TABLE)


def test_a_structured_automaton_is_written_like_a_dense_one(tmp_path):
    wa = random_structured("ab", 3, seed=0, remembering=0.5)
    text, symbols = to_fst_text(wa)
    assert (text, symbols) == to_fst_text(wa.to_dense())
    write_fst(wa, tmp_path / "wa.fst")
    assert (tmp_path / "wa.fst").read_text("utf-8") == text
    assert (tmp_path / "wa.syms").read_text("utf-8") == symbols
    assert from_fst_text(text, symbols).allclose(wa)


@given(st.lists(st.text(max_size=4), min_size=1, max_size=3))
def test_symbols_of_any_text_come_back_or_are_refused(symbols):
    try:
        wa = WeightedAutomaton(symbols, [1], np.full((len(symbols), 1, 1), 0.125), [0.5])
        texts = to_fst_text(wa)
    except SymbolError:
        return
    again = from_fst_text(*texts)
    assert again.alphabet == wa.alphabet
    assert again.allclose(wa)
