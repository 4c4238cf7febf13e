"""Graphs are among the formats that automata are written in."""

import pytest

import seqray
from automata import FIGURE_1
from deterministic_cases import random_pdfa, same_predictions
from seqray import DeterministicAutomaton
from seqray.automata import structured
from seqray.automata.generators import random_structured
from seqray.draw.dot import to_dot
from seqray.draw.exports import EXPORTS
from seqray.formats import exports
from seqray.formats.aalpy_dot import to_model_text
from seqray.formats.automaton_file import open_wa


def test_all_formats_are_offered_and_graphs_have_every_transition(tmp_path):
    assert set(EXPORTS) == {*exports.EXPORTS, ".dot"}
    EXPORTS[".dot"].write(FIGURE_1, tmp_path / "wa.dot")
    assert (tmp_path / "wa.dot").read_text("utf-8").startswith(to_dot(FIGURE_1, threshold=0))


def test_the_graph_of_a_structured_automaton_needs_no_dense_matrices(tmp_path, monkeypatch):
    wa = random_structured("ab", 4, seed=0, remembering=0.5)
    expected = to_dot(wa.to_dense(), threshold=0)
    fresh = random_structured("ab", 4, seed=0, remembering=0.5)
    monkeypatch.setattr(structured, "MAX_DENSE_NUMBERS", 0)
    EXPORTS[".dot"].write(fresh, tmp_path / "wa.dot")
    assert (tmp_path / "wa.dot").read_text("utf-8").startswith(expected)


def test_an_automaton_that_decides_is_written_as_aalpy_writes_it(tmp_path):
    even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    EXPORTS[".dot"].write(even, tmp_path / "even.dot")
    assert (tmp_path / "even.dot").read_text("utf-8") == to_model_text(even)


def test_a_pdfa_comes_back_from_its_graph(tmp_path):
    machine = random_pdfa(6, 3, 0, zeros=0.5)
    EXPORTS[".dot"].write(machine, tmp_path / "pdfa.dot")
    assert same_predictions(open_wa(tmp_path / "pdfa.dot"), machine)


def test_deterministic_states_without_probabilities_are_drawn(tmp_path):
    even = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0]).to_weighted()
    EXPORTS[".dot"].write(even, tmp_path / "even.dot")
    assert "penwidth" in (tmp_path / "even.dot").read_text("utf-8")


@pytest.mark.parametrize("ending", [".json", ".npz", ".dot", ".fst", ".logfst", ".pautomac"])
def test_what_is_saved_by_its_ending_opens_by_its_ending(tmp_path, ending):
    path = tmp_path / f"wa{ending}"
    seqray.save_automaton(FIGURE_1, path)
    words = ["", "a", "ab"] if ending != ".pautomac" else [[], [0], [0, 1]]
    assert seqray.open_black_box(path).weights(words) == pytest.approx(
        FIGURE_1.weights(["", "a", "ab"]), rel=1e-12
    )


def test_an_unknown_ending_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(
        seqray.ArgumentError, match=r"ends in \.json .* not '\.svg'; seqray\.save_d"
    ):
        seqray.save_automaton(FIGURE_1, tmp_path / "wa.svg")
