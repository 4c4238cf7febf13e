import numpy as np
import pytest

from conditional_boxes import drawn_parameters, machine
from seqray.extraction.conditional.fit import to_automaton
from seqray.extraction.conditional.gradient import fit_batches, gradient
from seqray.extraction.settings import CONDITIONAL
from told import rng


@pytest.mark.parametrize("n_states", [1, 2, 5])
def test_the_gradient_is_what_a_small_change_changes(predicted, n_states):
    reference, _ = predicted
    batch = fit_batches(reference, 40, CONDITIONAL.batch_size, rng())[0]
    batch = batch._replace(follows=batch.follows.astype(np.float64))
    parameters = drawn_parameters(n_states, 3)
    _, slopes = gradient(parameters, batch)
    for which, (values, slope) in enumerate(zip(parameters, slopes, strict=True)):
        assert slope.dtype == np.float64
        assert slope.shape == values.shape
        for at in np.ndindex(values.shape):
            losses = []
            for change in (1e-5, -1e-5):
                moved = [each.copy() for each in parameters]
                moved[which][at] += change
                losses.append(gradient(tuple(moved), batch)[0])
            assert slope[at] == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-4, abs=1e-9)


def test_the_loss_is_the_cross_entropy_of_the_next_symbols(predicted):
    reference, _ = predicted
    (batch,) = fit_batches(reference, 30, CONDITIONAL.batch_size, rng())
    parameters = drawn_parameters(4, 3)
    automaton = to_automaton(reference.tree.alphabet, parameters)
    words = reference.words[:30]
    prefixes = [word[:n] for word in words for n in range(len(word) + 1)]
    box, ours = (each.next_symbol(prefixes) for each in (machine(), automaton))
    expected = -(box * np.log(ours)).sum() / len(prefixes)
    assert gradient(parameters, batch)[0] == pytest.approx(expected, rel=1e-6)


def test_batches_hold_every_word_once(predicted):
    reference, _ = predicted
    batches = fit_batches(reference, 300, CONDITIONAL.batch_size, rng())
    n_letters = [len(word) + 1 for word in reference.words]
    assert len(batches) == -(-300 // 37)
    for batch in batches:
        assert batch.follows.sum() == pytest.approx(1, rel=1e-5)
    few = fit_batches(reference, 5, CONDITIONAL.batch_size, rng())
    assert len(few) == 1
    assert len(few[0].follows) <= sum(n_letters[:5])
