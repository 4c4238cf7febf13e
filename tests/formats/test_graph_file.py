"""Graphviz files of automata of every kind come back exactly."""

import shutil
import subprocess

import pytest

import seqray
from automata import FIGURE_1
from scorer_cases import AUTOMATA
from seqray.draw.exports import write_dot
from seqray.formats.automaton_file import open_wa


@pytest.mark.parametrize("name", AUTOMATA)
def test_what_is_written_comes_back(tmp_path, name):
    automaton = AUTOMATA[name]
    write_dot(automaton, tmp_path / "wa.dot")
    again = open_wa(tmp_path / "wa.dot")
    assert repr(again) == repr(automaton)
    if not name.startswith("PDFA"):  # AALpy has labels: they become text or numbers
        assert again.allclose(automaton, rtol=0, atol=0)


def test_odd_symbols_and_line_ends_do_no_harm(tmp_path):
    automaton = seqray.WeightedAutomaton(["\n", "\u2028", '"'], [1], [[[0.25]]] * 3, [0.25])
    write_dot(automaton, tmp_path / "wa.dot")
    content = (tmp_path / "wa.dot").read_bytes()
    (tmp_path / "wa.dot").write_bytes(content.replace(b"\n", b"\r\n") + b"\r\n")
    assert open_wa(tmp_path / "wa.dot").allclose(automaton, rtol=0, atol=0)


def test_a_damaged_comment_is_refused(tmp_path):
    write_dot(FIGURE_1, tmp_path / "wa.dot")
    content = (tmp_path / "wa.dot").read_bytes()
    (tmp_path / "wa.dot").write_bytes(content.replace(b"[1.0, 0.0]", b"[1.0, 0.5]"))
    with pytest.raises(seqray.FileError, match=r"wa\.dot: damaged: it is not what was saved"):
        open_wa(tmp_path / "wa.dot")


def test_graphviz_skips_the_comment(tmp_path):
    if shutil.which("dot") is None:
        pytest.skip("there is no dot here (Debian: apt-get install graphviz)")
    write_dot(AUTOMATA["structured"], tmp_path / "wa.dot")
    command = ["dot", "-Tplain", str(tmp_path / "wa.dot")]
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert plain.count("\nnode ") == AUTOMATA["structured"].n_states
