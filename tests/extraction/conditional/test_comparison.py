import pytest

from conditional_boxes import machine
from seqray import WeightedAutomaton
from seqray.extraction.conditional.comparison import compare, is_exact, nearest
from seqray.extraction.conditional.decompose import decompose_conditional
from seqray.extraction.conditional.parts import Counterexamples, LearntPart
from seqray.fidelity.reference import Reference
from told import known_of


@pytest.fixture
def held_out():
    return known_of(machine(), 50, seed=3)


def test_counterexamples_lower_the_score_of_an_automaton_that_has_not_learnt_them(held_out):
    other = WeightedAutomaton(machine().alphabet, [1], [[[0.3]], [[0.3]], [[0.2]]], [0.2])
    counterexamples = Reference.query(machine(), held_out.words[:5])
    plain, lower = (compare(other, held_out, each) for each in (None, counterexamples))
    assert lower.score < plain.score
    assert lower["ndcg5"] == plain["ndcg5"]
    assert compare(machine(), held_out, counterexamples).score == pytest.approx(1, abs=1e-9)


def test_only_the_box_itself_is_exact(held_out):
    assert is_exact(compare(machine(), held_out, None))
    assert not is_exact(compare(machine(seed=2), held_out, None))


def test_the_nearer_of_two_automata_is_taken(predicted, held_out):
    reference, blocks = predicted
    svd = decompose_conditional(blocks, max_rank=1)
    part = LearntPart(1.0, reference, blocks, svd, 0, Counterexamples())
    automaton, fidelity = nearest(part, held_out, None)
    assert automaton is part.largest or automaton.allclose(part.largest)
    for fitted, is_nearer in ((machine(), True), (machine(seed=2), False)):
        both = LearntPart(1.0, reference, blocks, svd, 0, Counterexamples(), fitted)
        automaton, best = nearest(both, held_out, None)
        assert (automaton is fitted) == is_nearer == (best.score > fidelity.score)
