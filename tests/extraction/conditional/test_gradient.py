import numpy as np
import pytest

from conditional_boxes import drawn_parameters, machine
from seqray import WeightedAutomaton
from seqray.extraction.conditional.fit import to_automaton
from seqray.extraction.conditional.gradient import (
    by_logarithm,
    fit_batches,
    gradient,
    reachable,
    softmax,
)
from seqray.extraction.settings import CONDITIONAL
from seqray.fidelity.reference import Reference
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


def test_what_follows_an_impossible_symbol_is_impossible():
    box = WeightedAutomaton("abc", [1], [[[0.5]], [[2e-9]], [[5e-10]]], [0.5 - 2.5e-9])
    reference = Reference.query(box, ["abca", "cab", "ba"])
    nodes = ["".join(word) for word in reference.tree.words()]
    expected = ["c" not in node for node in nodes]
    assert reachable(reference).tolist() == expected
    assert True in expected
    assert False in expected


@pytest.mark.parametrize("max_stay", [None, 0.8])
def test_batches_hold_what_the_box_predicts_as_often_as_its_prefix_comes(max_stay):
    stay = max_stay or 1
    box = WeightedAutomaton(
        "ab", [1], [[[0.5 * stay]], [[0.25 * stay]]], [0.25 * stay], elsewhere=[1 - stay]
    )
    reference = Reference.query(box, ["", "a", "ab", "ab"])
    (batch,) = fit_batches(reference, 4, 512, rng(), max_stay=max_stay)
    n_visits = np.array([4, 3, 2])  # of the nodes λ, a, ab
    row = [0.5, 0.25, 0.25] if max_stay is None else [0.5, 0.25, 0.25, 0]
    np.testing.assert_allclose(batch.follows, np.outer(n_visits / 9, row), rtol=1e-6)
    assert batch.follows.dtype == np.float32
    (first,) = fit_batches(reference, 2, 512, rng(), max_stay=max_stay)
    np.testing.assert_allclose(first.follows, np.outer([2 / 3, 1 / 3], row), rtol=1e-6)


def test_a_box_that_leaks_more_after_some_words_has_elsewhere_as_an_outcome():
    parts = [[[0, 0.5], [0, 0.2]]], [0.3, 0.2]
    box = WeightedAutomaton("a", [1, 0], *parts, elsewhere=[0.2, 0.6])
    (batch,) = fit_batches(Reference.query(box, ["a"]), 1, 512, rng(), max_stay=0.8)
    expected = [[0.625, 0.375, 0], [0.25, 0.25, 0.5]]
    np.testing.assert_allclose(batch.follows, np.array(expected) / 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("n_words", "batch_size", "n_batches"),
    [(300, 512, 9), (300, 30, 10), (300, 299, 9), (31, 512, 1), (33, 512, 2), (1000, 512, 9)],
)
def test_batches_are_an_eighth_of_the_words_but_not_tiny(predicted, n_words, batch_size, n_batches):
    assert len(fit_batches(predicted[0], n_words, batch_size, rng())) == n_batches


def test_the_softmax_of_huge_logarithms_is_finite():
    rows = softmax(np.array([[1000.0, 1000.0], [-1000.0, 0.0]]))
    assert rows.tolist() == [[0.5, 0.5], [0, 1]]


def test_the_gradient_by_logarithms_is_that_of_the_softmax():
    logarithms, slopes = rng().normal(size=(2, 4)), rng(1).normal(size=(2, 4))
    values = by_logarithm(softmax(logarithms), slopes)
    for at in np.ndindex(2, 4):
        moved = logarithms.copy()
        moved[at] += 1e-6
        change = ((softmax(moved) - softmax(logarithms)) * slopes).sum() / 1e-6
        assert values[at] == pytest.approx(change, abs=1e-5)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_word_that_the_automaton_finds_impossible_has_a_finite_loss_and_gradient(kind):
    box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    (batch,) = fit_batches(Reference.query(box, ["a"]), 1, 512, rng())
    parameters = np.zeros(1, kind), np.array([[-1000, 0, 0]], kind)
    loss, slopes = gradient(parameters, batch)
    impossible = -np.log(1e-12)
    root = 0.5 * impossible + 0.5 * np.log(2)
    assert loss == pytest.approx((root + impossible) / 2, rel=1e-5)
    assert all(np.isfinite(each).all() and np.abs(each).max() < 1e6 for each in slopes)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_gradient_is_finite_where_a_state_that_is_never_reached_fits_a_long_word(kind):
    box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    (batch,) = fit_batches(Reference.query(box, ["aaaaaa"]), 1, 512, rng())
    stays_and_reads_b, stays_and_reads_a = [-1000, -1000, 0, -1000, 0], [-1000, 0, -1000, -1000, 0]
    goes_on = np.array([stays_and_reads_b, stays_and_reads_a], kind)
    loss, slopes = gradient((np.array([0, -1000], kind), goes_on), batch)
    assert np.isfinite(loss)
    assert all(np.isfinite(each).all() and np.abs(each).max() < 1e6 for each in slopes)


def test_batches_of_one_word_are_the_words(predicted):
    reference, _ = predicted
    batches = fit_batches(reference, 40, 1, rng())
    n_nodes = sorted(len(batch.follows) for batch in batches)
    assert n_nodes == sorted(len(word) + 1 for word in reference.words[:40])
