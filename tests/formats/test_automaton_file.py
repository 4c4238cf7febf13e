"""Opening an automaton, whatever it is in."""

from typing import NamedTuple

import numpy as np
import pytest

import seqray
from copied import N_STATES, copied
from seqray import WeightedAutomaton
from seqray.automata.purpose import Purpose
from seqray.formats.automaton_file import as_automaton, open_wa
from seqray.util.errors import ArgumentError, FileError, MissingFileError

WA = WeightedAutomaton("ab", [1, 0], [[[0, 0.5], [0.25, 0]], [[0.25, 0], [0, 0.5]]], [0.25, 0.25])
WORDS = ["", "a", "ab"]


@pytest.fixture(scope="module")
def extraction():
    return seqray.extract(WA, prefixes=10, suffixes=10, max_rank=2)


def test_what_holds_an_automaton_stands_for_it(extraction, tmp_path):
    seqray.save_run(extraction, tmp_path / "run")
    WA.save(tmp_path / "wa.json")
    paths = tmp_path / "run", f"wa:{tmp_path / 'run'}", tmp_path / "wa.json"
    for holder in (WA, extraction, seqray.name_states(WA), *paths):
        np.testing.assert_allclose(
            as_automaton(holder).weights(WORDS), WA.weights(WORDS), atol=1e-6
        )
    assert as_automaton(extraction).n_states == extraction.best_rank()


def test_anything_else_is_refused_by_the_name_of_the_argument():
    with pytest.raises(ArgumentError, match=r"source: expected a WeightedAutomaton.*got 3"):
        as_automaton(3, "source")


def test_a_folder_or_file_that_holds_no_automaton_is_refused(tmp_path):
    with pytest.raises(FileError, match="expected a run folder that `seqray extract` wrote"):
        open_wa(tmp_path)
    with pytest.raises(MissingFileError, match="there is no such file or folder"):
        open_wa(tmp_path / "none")


def test_a_purpose_chooses_between_the_copy_and_the_rank_for_reading(tmp_path):
    seqray.save_run(copied(), tmp_path / "run")
    for holder in (copied(), tmp_path / "run", f"wa:{tmp_path / 'run'}"):
        assert as_automaton(holder).n_states == N_STATES
        read = as_automaton(holder, purpose=Purpose.READING)
        assert read.n_states == copied().best_rank()
    assert open_wa(tmp_path / "run", purpose="reading").n_states == copied().best_rank()
    with pytest.raises(ArgumentError, match="purpose: expected one of reading, copying, got 'x'"):
        open_wa(tmp_path / "run", purpose="x")


def test_what_learning_a_dfa_returned_is_read_as_a_classifier():
    even = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    learned = seqray.learn_dfa(even, method="tree")
    read = as_automaton(learned, purpose=Purpose.READING)
    assert isinstance(read, seqray.ClassifierAutomaton)
    assert as_automaton(learned) is learned.automaton
    assert str(seqray.explain_decision(learned, "a")).startswith("a: no")
    named = Named(even, ["even", "odd"])
    assert isinstance(as_automaton(named, purpose=Purpose.READING), seqray.ClassifierAutomaton)


class Named(NamedTuple):
    """An automaton with names of its states."""

    automaton: WeightedAutomaton
    names: list[str]
