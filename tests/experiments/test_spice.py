import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.experiments.spice import spice_score
from seqray.formats.spice import Targets
from seqray.util.errors import SymbolError

# After any prefix: the symbols 0 … 5 in this order, and then the end.
CHANCES = [0.3, 0.2, 0.15, 0.12, 0.1, 0.08, 0.05]
MODEL = WeightedAutomaton(range(6), [1], [[[p]] for p in CHANCES[:-1]], CHANCES[-1:])


@pytest.mark.parametrize(("place", "score"), [(0, 1), (1, 0.6309), (4, 0.3869), (5, 0), (6, 0)])
def test_a_symbol_that_follows_counts_by_the_place_it_was_given(place, score):
    targets = Targets(MODEL.alphabet.words([[2, 1]]), np.eye(7)[[place]])
    assert spice_score(MODEL, targets) == pytest.approx(score, abs=1e-4)


def test_the_true_model_scores_1():
    words = MODEL.alphabet.words([[], [1], [5, 5, 0]])
    assert spice_score(MODEL, Targets(words, MODEL.next_symbol(words))) == pytest.approx(1)


def test_another_alphabet_is_refused():
    targets = Targets(WeightedAutomaton("a", [1], [[[0.5]]], [0.5]).alphabet.words([""]), np.eye(2))
    with pytest.raises(SymbolError, match="read them with the model's alphabet"):
        spice_score(MODEL, targets)
