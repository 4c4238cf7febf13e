"""Graphviz files of AALpy as automata and boxes."""

import re

import numpy as np
import pytest

import seqray
from deterministic_cases import random_pdfa, same_predictions
from seqray import DeterministicAutomaton, FileError, SymbolError, to_aalpy
from seqray.automata.deterministic import deterministic_pfa
from seqray.formats.aalpy_dot import from_model_text, read_model, to_model_text, write_model

EVEN = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
THIRDS = DeterministicAutomaton("ab", [[1, 0], [2, 1], [0, 2]], [0, 1, 2], ["x", "y", "z"])

DFA = to_model_text(EVEN)


@pytest.mark.parametrize("automaton", [EVEN, THIRDS])
def test_what_is_written_comes_back(automaton, tmp_path):
    write_model(automaton, tmp_path / "model.dot")
    assert read_model(tmp_path / "model.dot").allclose(automaton)
    assert seqray.open_black_box(tmp_path / "model.dot").allclose(automaton)


@pytest.mark.parametrize(("automaton", "kind"), [(EVEN, "dfa"), (THIRDS, "moore")])
def test_files_go_to_aalpy_and_back(automaton, kind, tmp_path, capsys):
    handler = pytest.importorskip("aalpy.utils.FileHandler")
    write_model(automaton, tmp_path / "ours.dot")
    model = handler.load_automaton_from_file(tmp_path / "ours.dot", kind)
    assert seqray.from_aalpy(model).allclose(automaton)
    handler.save_automaton_to_file(model, tmp_path / "theirs")
    capsys.readouterr()
    assert read_model(tmp_path / "theirs.dot").allclose(automaton)


@pytest.mark.parametrize("seed", range(3))
def test_a_stochastic_mealy_machine_is_a_pdfa(seed, tmp_path, capsys):
    handler = pytest.importorskip("aalpy.utils.FileHandler")
    machine = random_pdfa(6, 2, seed)
    handler.save_automaton_to_file(to_aalpy(machine), tmp_path / "smm")
    capsys.readouterr()
    again = read_model(tmp_path / "smm.dot")
    order = [machine.alphabet.symbols.index(symbol) for symbol in again.alphabet]
    assert order == [0, 1]
    assert same_predictions(machine, again)


def test_whole_numbers_become_numbers():
    model = from_model_text(to_model_text(DeterministicAutomaton("01", [[0, 0]], [1])))
    assert model.alphabet.symbols == (0, 1)


def test_graphviz_lines_that_are_no_states_are_skipped():
    text = DFA.replace("{\n", "{\n  graph [rankdir=LR];\n  node [shape=circle];\n// a comment\n", 1)
    assert from_model_text(text).allclose(EVEN)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("__start0 -> s0", "__start0 -> s7"), "no start state"),
        (lambda text: text.replace('s1 [label="s1"];\n', ""), "state 's1' has a transition, but"),
        (lambda text: re.sub(r"s\d -> .*\n", "", text), "there is no transition"),
        (lambda text: text.replace('s1 -> s1 [label="b"];\n', ""), "no transition for 'b'"),
        (lambda text: text.replace('[label="b"]', '[label="a"]'), "two transitions for 'a'"),
    ],
)
def test_damaged_models_are_refused(change, message):
    with pytest.raises(FileError, match=message):
        from_model_text(change(DFA))


SMM = """digraph smm {
s0 [label="s0"];
end [label="end"];
s0 -> s0 [label="next/a:0.5"];
s0 -> end [label="next/end:0.5"];
end -> end [label="next/end:1.0"];
__start0 -> s0 [label=""];
}"""


def test_a_coin_is_read():
    coin = from_model_text(SMM)
    assert coin.weights(["", "a", "aa"]).tolist() == [0.5, 0.25, 0.125]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("next/a:0.5", "other/a:0.5", "expected a machine with one input, got 2"),
        ("next/a:0.5", "next/a:1.5", "expected a probability after the colon"),
        ("next/a:0.5", "next/a:1e", "expected a probability after the colon"),
        ("/end:", "/stop:", "no transition has the output 'end'"),
        (
            's0 -> s0 [label="next/a:0.5"];',
            's0 -> s0 [label="next/a:0.2"];\n' * 2,
            "two transitions",
        ),
        (
            "next/end:0.5",
            "next/end:0.9",
            "probabilities of state 's0' sum to 1.4: expected at most",
        ),
        ("__start0 -> s0", "__start0 -> end", "state 'end' comes after the end"),
        ('s0 -> s0 [label="next', 's0 -> end [label="next', "state 'end' comes after the end"),
    ],
)
def test_stochastic_machines_that_are_no_pdfa_are_refused(old, new, message):
    with pytest.raises(FileError, match=message):
        from_model_text(SMM.replace(old, new))


@pytest.mark.parametrize("zeros", [0.0, 0.6])
def test_a_written_pdfa_comes_back_with_its_alphabet(zeros):
    machine = random_pdfa(6, 3, 1, zeros)
    again = from_model_text(to_model_text(machine))
    assert again.alphabet == machine.alphabet
    assert same_predictions(machine, again)


def test_symbols_with_the_signs_of_labels_come_back():
    machine = deterministic_pfa(["a/b", "c:1"], [[0, 1], [1, 0]], [[0.25, 0.5, 0.25], [0, 0, 1]])
    again = from_model_text(to_model_text(machine))
    assert again.alphabet == machine.alphabet
    assert same_predictions(machine, again)


def test_a_symbol_called_end_cannot_be_written():
    with pytest.raises(SymbolError, match="rename the symbol"):
        to_model_text(deterministic_pfa(["end"], [[0]], [[0.5, 0.5]]))


def test_a_written_pdfa_is_read_by_aalpy(tmp_path):
    handler = pytest.importorskip("aalpy.utils.FileHandler")
    write_model(random_pdfa(4, 2, 0), tmp_path / "pdfa.dot")
    model = handler.load_automaton_from_file(tmp_path / "pdfa.dot", "smm")
    assert len(model.states) == 5
    assert model.get_input_alphabet() == ["next"]


def test_a_drawing_is_called_one_and_the_way_to_a_model_is_shown():
    drawing = seqray.to_dot(EVEN)
    with pytest.raises(FileError, match=r"looks like a drawing.*seqray convert dfa\.json"):
        from_model_text(drawing)


def test_a_file_with_names_the_file(tmp_path):
    (tmp_path / "bad.dot").write_text("digraph {}")
    with pytest.raises(FileError, match=r"bad\.dot"):
        read_model(tmp_path / "bad.dot")


@pytest.mark.parametrize("symbol", ['"', "a|b", "a\nb"])
def test_symbols_that_a_file_cannot_hold_are_refused(symbol):
    with pytest.raises(SymbolError, match="rename it first"):
        to_model_text(DeterministicAutomaton([symbol], [[0]], [1]))


def test_nothing_in_a_file_is_run(tmp_path):
    text = DFA.replace('"a"', "\"__import__('os')\"")
    assert "__import__('os')" in from_model_text(text).alphabet.symbols


def test_a_random_machine_comes_back():
    rng = np.random.default_rng(0)
    dfa = DeterministicAutomaton("abc", rng.integers(0, 20, (20, 3)), rng.integers(0, 2, 20))
    assert from_model_text(to_model_text(dfa)).allclose(dfa)


@pytest.mark.parametrize(
    "line",
    [
        "s0 -> s0" + " " * 60_000 + "x",
        "s0 [" + "a" * 60_000 + "]",
        "s0 [" + "a = " * 15_000 + "]",
        "s0 [label=" + '"\\' * 30_000 + "]",
        "s0 -> s0 " + "[]" * 30_000 + "x",
    ],
)
def test_a_long_line_takes_time_in_proportion_to_its_length(line):
    with pytest.raises(FileError):  # minutes if the time were quadratic
        from_model_text("\n".join([line] * 5 + ["__start0 -> s7"]))


def test_a_long_label_takes_time_in_proportion_to_its_length():
    label = "/" * 30_000 + ":" * 30_000
    text = f's0 [];\ns0 -> s0 [label="{label}"];\n__start0 -> s0'
    assert from_model_text(text).alphabet.symbols == (label,)


def test_a_line_without_end_is_refused():
    with pytest.raises(FileError, match=r"line 2 has 70,000 characters: expected at most 65,536"):
        from_model_text("digraph {\n" + "a" * 70_000)


@pytest.mark.parametrize("label", ["{}", "next/{}:0"])
def test_a_small_file_cannot_ask_for_a_large_table(label):
    names = range(9000)
    lines = [f's{name} [label="s{name}"];' for name in names]
    lines += [f's0 -> s0 [label="{label.format(f"x{name}")}"];' for name in names]
    if label != "{}":
        lines += ["end [];", 's0 -> end [label="next/end:1"];']
    with pytest.raises(FileError, match="more than the limit of"):
        from_model_text("\n".join([*lines, "__start0 -> s0"]))


@pytest.mark.parametrize(
    "symbols",
    [
        ["a\x85b", "a\u2028b", "a\x0bb", "a\x0cb", "a\x1cb", "a\tb", " a", "a]"],
        [1, "01", "٣", "1" * 30],
        ["x/y:0.5", "z"],
    ],
)
def test_all_symbols_that_are_written_come_back(symbols):
    n = len(symbols)
    dfa = DeterministicAutomaton(symbols, [[1] * n, list(np.arange(n) % 2)], [1, 0])
    assert from_model_text(to_model_text(dfa)).allclose(dfa)


def test_symbols_that_would_be_read_as_stochastic_are_refused():
    with pytest.raises(SymbolError, match="would be read as the outputs of a stochastic Mealy"):
        to_model_text(DeterministicAutomaton(["x/y:0.5", "x/z:0.5"], [[0, 0]], [1]))


def test_symbols_that_are_too_long_for_a_line_are_refused():
    with pytest.raises(SymbolError, match="expected at most 32,768 characters, got 40,000"):
        to_model_text(DeterministicAutomaton(["a" * 40_000], [[0]], [1]))


def test_outputs_keep_their_order_even_those_without_a_state(tmp_path):
    names = ["x", "label", "y", "w"]
    moore = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [2, 0], names)
    write_model(moore, tmp_path / "ours.dot")
    again = read_model(tmp_path / "ours.dot")
    assert again.allclose(moore)
    assert again.output_names == tuple(names)
    handler = pytest.importorskip("aalpy.utils.FileHandler")
    model = handler.load_automaton_from_file(tmp_path / "ours.dot", "moore")
    assert [state.output for state in model.states] == ["y", "x"]


def test_outputs_of_other_files_are_sorted_by_name():
    text = to_model_text(DeterministicAutomaton("a", [[1], [0]], [0, 1], ["y", "x"]))
    without = "\n".join(line for line in text.split("\n") if not line.startswith("//"))
    assert from_model_text(without).output_names == ("x", "y")
    assert from_model_text(without).decide([""]) == ["y"]


def test_outputs_that_a_file_cannot_hold_are_refused():
    with pytest.raises(SymbolError, match="expected no space at its begin and end"):
        to_model_text(DeterministicAutomaton("a", [[0]], [0], [" x", "y"]))
