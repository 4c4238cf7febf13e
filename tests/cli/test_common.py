import click
import pytest

from seqray import WeightedAutomaton
from seqray.cli.common import at_rank, open_automaton, open_source, some_ranks


def test_a_run_folder_has_automata_of_every_rank(extracted):
    assert open_automaton("run", 2).n_states == 2
    assert open_automaton("run", None).n_states == open_source("run").best().n_states


def test_an_automaton_file_has_one_rank(folder):
    assert isinstance(open_source("wa:machine.json"), WeightedAutomaton)
    assert open_automaton("machine.json", None).n_states == 4
    with pytest.raises(click.BadParameter, match=r"machine\.json is no run folder"):
        at_rank(open_source("machine.json"), 2, "machine.json")


def test_about_ten_ranks_are_shown_the_best_and_the_largest_among_them():
    ranks = some_ranks(100, 37)
    assert {37, 100} <= set(ranks)
    assert ranks == sorted(ranks)
    assert len(ranks) <= 12
    assert some_ranks(3, 2) == [1, 2, 3]
