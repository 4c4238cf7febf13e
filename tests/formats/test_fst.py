"""AT&T text: what is written, what comes back, and what is refused."""

import math
import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import FIGURE_1
from docs.run_page import blocks
from scorer_cases import AUTOMATA
from seqray import DeterministicAutomaton, StructuredAutomaton, deterministic_pfa
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.generators import random_structured
from seqray.formats.automaton_file import open_wa
from seqray.formats.fst import from_fst_text, to_fst_text, write_fst, write_log_fst
from seqray.util.errors import ArgumentError, FileError, SymbolError
from source_rules import ROOT

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
    text = "0 1 a a 0.5\n" + "".join(f"0 {q} a a 0.5\n{q} {q} a a 1\n" for q in range(40_000))
    message = "40,000 states and 2 symbols would need 1,600,120,000 numbers, more than the limit"
    with pytest.raises(FileError, match=message):
        from_fst_text(text, TABLE)


def test_a_structured_automaton_comes_back_with_its_groups(tmp_path):
    wa = random_structured("ab", 3, seed=0, remembering=0.5)
    write_fst(wa, tmp_path / "wa.fst")
    again = open_wa(tmp_path / "wa.fst")
    assert isinstance(again, StructuredAutomaton)
    assert again.group_sizes.tolist() == wa.group_sizes.tolist()
    assert again.allclose(wa, rtol=0, atol=0)


def test_thousands_of_deterministic_states_need_no_dense_matrices(tmp_path):
    n = 10_000
    table = np.column_stack([(np.arange(n) + 1) % n, np.zeros(n, np.int64)])
    wa = deterministic_pfa("ab", table, np.tile([0.5, 0.25, 0.25], (n, 1)))
    write_log_fst(wa, tmp_path / "wa.logfst")
    again = open_wa(tmp_path / "wa.logfst")
    assert again.n_bytes < 10**6
    assert again.weights(["", "aaab"]) == pytest.approx(wa.weights(["", "aaab"]), rel=1e-14)


@given(st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=25)
def test_a_round_trip_of_logarithms_keeps_weights(n_states, seed):
    rng = np.random.default_rng(seed)
    matrices = rng.exponential(size=(2, n_states, n_states)) * rng.integers(0, 2, n_states)
    wa = WeightedAutomaton("ab", *(rng.exponential(size=n_states), matrices), np.eye(n_states)[0])
    with tempfile.TemporaryDirectory() as folder:
        write_log_fst(wa, Path(folder, "wa.logfst"))
        again = open_wa(Path(folder, "wa.logfst"))
    assert again.allclose(wa, rtol=1e-14, atol=0)


def test_negative_weights_have_no_logarithm(tmp_path):
    wa = WeightedAutomaton("a", [1], [[[-0.5]]], [1])
    with pytest.raises(ArgumentError, match=r"has no negative weights: .* write \.fst"):
        write_log_fst(wa, tmp_path / "wa.logfst")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["decisions", "probabilities", "logits"])
def test_what_decides_between_classes_is_refused(tmp_path, name):
    for write in (write_fst, write_log_fst):
        with pytest.raises(ArgumentError, match="one weight per word"):
            write(AUTOMATA[name], tmp_path / "wa.fst")
    moore = DeterministicAutomaton("a", [[1], [0]], [0, 2], ["x", "y", "z"])
    with pytest.raises(ArgumentError, match=r"between the classes x, y, z; write it as \.json"):
        to_fst_text(moore)
    assert list(tmp_path.iterdir()) == []


def test_a_dfa_gives_1_to_what_it_accepts():
    again = from_fst_text(*to_fst_text(AUTOMATA["DFA"]))
    assert again.weights(["", "a", "aba"]).tolist() == [1, 0, 1]


def test_a_file_without_its_symbols_is_refused(tmp_path):
    (tmp_path / "wa.fst").write_text("0 1\n")
    with pytest.raises(FileError, match=r"wa\.syms: there is no such file: expected the symbols"):
        open_wa(tmp_path / "wa.fst")


@pytest.mark.parametrize("damaged", ["m.fst", "m.syms"])
def test_a_damaged_file_is_refused_and_an_edited_one_opens_without_its_checksum(tmp_path, damaged):
    write_fst(FIGURE_1, tmp_path / "m.fst")
    assert open_wa(tmp_path / "m.fst").allclose(FIGURE_1)
    file = tmp_path / damaged
    file.write_text(file.read_text().replace("a", "b").replace("b 2", "a 2"))
    with pytest.raises(FileError, match=f"{damaged}: damaged: .*, remove {damaged}.sha256"):
        open_wa(tmp_path / "m.fst")
    file.with_name(f"{damaged}.sha256").unlink()
    assert open_wa(tmp_path / "m.fst").n_states == 2


def test_a_weight_beyond_all_numbers_is_refused():
    with pytest.raises(FileError, match="expected a real weight, got '-1000'"):
        from_fst_text("0 -1000\n", TABLE, is_log=True)


class OpenFst:
    """The tools of OpenFst, in a folder with an automaton for the log semiring."""

    def __init__(self, wa, folder):
        if shutil.which("fstcompile") is None:
            pytest.skip("there is no fstcompile here (Debian: apt-get install libfst-tools)")
        self.folder = folder
        write_log_fst(wa, folder / "wa.logfst")
        self.compile("wa")

    def tool(self, name, *options):
        done = subprocess.run(
            [name, *options], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return done.stdout

    def compile(self, name):
        symbols = "--isymbols=wa.syms", "--osymbols=wa.syms"
        self.tool("fstcompile", "--arc_type=log64", *symbols, f"{name}.logfst", f"{name}.bin")
        self.tool("fstarcsort", f"{name}.bin", f"{name}.bin")

    def total(self, name):
        """Return the weight of all paths."""
        lines = self.tool("fstshortestdistance", "--reverse", "--delta=1e-12", f"{name}.bin")
        return math.exp(-float(lines.split()[1]))

    def weight(self, word):
        lines = [f"{q} {q + 1} {symbol} {symbol}" for q, symbol in enumerate(word)]
        (self.folder / "word.logfst").write_text("\n".join([*lines, f"{len(word)}"]) + "\n")
        self.compile("word")
        self.tool("fstcompose", "word.bin", "wa.bin", "both.bin")
        return self.total("both")


@pytest.mark.parametrize("wa", [FIGURE_1, random_structured("ab", 2, seed=0)], ids=repr)
def test_the_tools_of_openfst_compute_the_same_weights(tmp_path, wa):
    openfst = OpenFst(wa, tmp_path)
    assert openfst.total("wa") == pytest.approx(wa.total, rel=1e-6)
    for word in ("a", "ab", "bba"):
        assert openfst.weight(word) == pytest.approx(wa.weight(word), rel=1e-6)


def test_what_the_tools_of_openfst_print_comes_back(tmp_path):
    openfst = OpenFst(FIGURE_1, tmp_path)
    printed = openfst.tool("fstprint", "--isymbols=wa.syms", "--osymbols=wa.syms", "wa.bin")
    again = from_fst_text(printed, (tmp_path / "wa.syms").read_text(), is_log=True)
    words = short_words(FIGURE_1)
    assert again.weights(words) == pytest.approx(FIGURE_1.weights(words), rel=1e-6)


def test_the_commands_of_the_docs_run(tmp_path, monkeypatch):
    """Those of docs/interchange.md: written, made shorter by OpenFst, and read again."""
    OpenFst(FIGURE_1, tmp_path)
    FIGURE_1.save(tmp_path / "wa.json")
    text = (ROOT / "docs" / "interchange.md").read_text("utf-8")
    (commands,) = [block.text for block in blocks(text) if block.language == "sh"]
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / "answers.sqlite"))
    script = f'set -eo pipefail\nseqray() {{ "{sys.executable}" -m seqray "$@"; }}\n{commands}'
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "kl_per_symbol" in done.stdout
    short = open_wa(tmp_path / "short.logfst")
    words = short_words(FIGURE_1)
    assert short.weights(words) == pytest.approx(FIGURE_1.weights(words), rel=1e-6)


def test_pynini_reads_the_same_weights(tmp_path):
    reason = "there is no pynini here (pip install pynini)"
    pywrapfst = pytest.importorskip("pywrapfst", reason=reason)
    write_log_fst(FIGURE_1, tmp_path / "wa.logfst")
    table = pywrapfst.SymbolTable.read_text(str(tmp_path / "wa.syms"))
    compiler = pywrapfst.Compiler(arc_type="log64", isymbols=table, osymbols=table)
    compiler.write((tmp_path / "wa.logfst").read_text())
    distances = pywrapfst.shortestdistance(compiler.compile(), reverse=True, delta=1e-12)
    assert math.exp(-float(distances[0])) == pytest.approx(FIGURE_1.total, rel=1e-6)


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
