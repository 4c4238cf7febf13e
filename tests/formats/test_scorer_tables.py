"""Tables of automata: one form for dense and structured ones."""

import numpy as np
import pytest

from scorer_cases import AUTOMATA
from seqray import DeterministicAutomaton
from seqray.formats.scorer_tables import FORGETFUL, ScorerTables


@pytest.mark.parametrize("name", AUTOMATA)
def test_tables_hold_the_matrices_of_the_automaton(name):
    automaton = AUTOMATA[name]
    moves = ScorerTables.of(automaton).moves
    rebuilt = np.zeros((len(automaton.alphabet), automaton.n_states, automaton.n_states))
    for (group, code), begin in np.ndenumerate(moves.begins):
        target = moves.next_group[group, code]
        rows, columns = (
            slice(moves.offsets[g], moves.offsets[g] + moves.sizes[g]) for g in (group, target)
        )
        shape = moves.sizes[group], moves.sizes[target]
        if begin == FORGETFUL:
            block = np.outer(moves.emission[rows, code], moves.entry[columns])
        else:
            block = moves.values[begin : begin + shape[0] * shape[1]].reshape(shape)
        rebuilt[code, rows, columns] = block
    assert np.array_equal(rebuilt, automaton.transitions)


def test_a_machine_with_one_output_does_not_classify():
    always = DeterministicAutomaton("a", [[0]], [0], ["yes"])
    assert ScorerTables.of(always).classes is None
