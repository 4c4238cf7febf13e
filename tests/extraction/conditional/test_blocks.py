import pytest

from seqray.automata.generators import random_machine
from seqray.extraction.conditional.blocks import RARE_PROBABILITY
from seqray.extraction.conditional.fill import fill_conditional
from told import known_of, rng


def test_rows_are_the_contexts_and_those_of_their_children_that_are_not_rare():
    machine = random_machine("pfa", 5, 3, seed=rng(1))
    reference = known_of(machine)
    blocks = fill_conditional(machine, reference, n_contexts=20, n_columns=40)
    rows = [*blocks.rows.words()]
    contexts = [rows[node] for node in blocks.contexts]
    assert contexts[0] == ()
    assert len(contexts) == len(set(contexts)) == 20
    expected = set(contexts)
    for i, context in enumerate(contexts):
        for symbol in machine.alphabet:
            child = (*context, symbol)
            probability = machine.prefix_weight(child) / machine.prefix_weight(context)
            assert blocks.probabilities[i, symbol] == pytest.approx(probability)
            node = blocks.children[i, symbol]
            assert (node >= 0) == (probability > RARE_PROBABILITY)
            if node >= 0:
                assert rows[node] == child
                expected.add(child)
    assert set(rows) == expected
