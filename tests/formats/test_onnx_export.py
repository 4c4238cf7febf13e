"""Automata as ONNX graphs, run by onnxruntime."""

import sys

import numpy as np
import pytest

from automata import FIGURE_1
from scorer_cases import AUTOMATA, code_words, symbols_of
from seqray import ArgumentError, FileError, MissingExtraError, open_black_box
from seqray.formats import onnx_export
from seqray.formats.onnx_export import write_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def run(path, words):
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    lengths = np.array([len(word) for word in words])
    padded = np.zeros((len(words), lengths.max(initial=0)), np.int64)
    for row, word in zip(padded, words, strict=True):
        row[: len(word)] = word
    outputs = session.run(None, {"words": padded, "lengths": lengths})
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, outputs, strict=True))


@pytest.mark.parametrize("name", AUTOMATA)
def test_the_graph_answers_as_the_automaton(tmp_path, name):
    automaton, path = AUTOMATA[name], tmp_path / "wa.onnx"
    write_onnx(automaton, path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    codes = code_words(automaton)
    words = symbols_of(automaton, codes)
    answers = run(path, codes)
    assert answers["weights"] == pytest.approx(automaton.weights(words), rel=1e-10, abs=1e-300)
    sign, logs = automaton.log_weights(words)
    assert answers["log_weights"][sign != 0] == pytest.approx(logs[sign != 0], rel=1e-12, abs=1e-10)
    if "scores" in answers:
        assert answers["scores"] == pytest.approx(automaton.scores(words), abs=1e-10)
    assert ("next_symbol" in answers) == ("scores" not in answers and automaton.is_distribution)
    if "next_symbol" in answers:
        assert answers["next_symbol"] == pytest.approx(automaton.next_symbol(words), abs=1e-10)


def test_nothing_but_empty_words_and_padding_with_the_free_code_can_be_read(tmp_path):
    write_onnx(FIGURE_1, tmp_path / "wa.onnx")
    assert run(tmp_path / "wa.onnx", [[], []])["weights"].tolist() == [0, 0]
    weights = run(tmp_path / "wa.onnx", [[2, 1, 2, 0, 2]])["weights"]
    assert weights == pytest.approx([FIGURE_1.weight("ba")])


def test_a_code_that_no_symbol_has_is_refused(tmp_path):
    write_onnx(FIGURE_1, tmp_path / "wa.onnx")
    with pytest.raises(Exception, match="indices element out of data bounds"):
        run(tmp_path / "wa.onnx", [[3]])


@pytest.mark.parametrize("name", ["probabilistic", "structured", "PDFA that leaks"])
def test_what_predicts_opens_again_as_a_language_model(tmp_path, name):
    automaton = AUTOMATA[name]
    write_onnx(automaton, tmp_path / "wa.onnx")
    box = open_black_box(f"onnx:{tmp_path / 'wa.onnx'}")
    words = symbols_of(automaton, code_words(automaton, long=40))
    assert box.next_symbol(words) == pytest.approx(automaton.next_symbol(words), abs=1e-10)


def test_a_damaged_number_is_noticed(tmp_path):
    path = tmp_path / "wa.onnx"
    write_onnx(AUTOMATA["probabilistic"], path)
    number = np.float64(AUTOMATA["probabilistic"].final[0]).tobytes()
    assert number in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(number, np.float64(0.7).tobytes()))
    with pytest.raises(FileError, match=r"wa\.onnx: damaged"):
        open_black_box(f"onnx:{path}")


def test_other_automata_open_again_as_boxes_of_values_and_classes(tmp_path):
    for name in ("of any sign", "probabilities", "DFA"):
        automaton = AUTOMATA[name]
        write_onnx(automaton, tmp_path / "wa.onnx")
        box = open_black_box(f"onnx:{tmp_path / 'wa.onnx'}")
        words = symbols_of(automaton, code_words(automaton, long=20))
        ask = "weights" if name == "of any sign" else "scores"
        expected = getattr(automaton, ask)(words)
        assert getattr(box, ask)(words) == pytest.approx(expected, abs=1e-10)


def test_without_the_package_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[onnx\]'"):
        write_onnx(FIGURE_1, tmp_path / "wa.onnx")


def test_more_than_an_onnx_file_can_hold_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_export, "MAX_BYTES", 8)
    with pytest.raises(ArgumentError, match=r"take 64 bytes: expected at most 8 .* write \.npz"):
        write_onnx(FIGURE_1, tmp_path / "wa.onnx")
