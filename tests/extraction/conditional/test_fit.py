import numpy as np
import pytest

from seqray import WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.extraction.conditional import fit as fitting
from seqray.extraction.conditional.blocks import fill_conditional
from seqray.extraction.conditional.fit import (
    cluster,
    first_guess,
    fit,
    gradient,
    lessons_of,
    to_automaton,
)
from seqray.fidelity.reference import Reference
from told import ODD, known_of, odd_box, rng


def machine(seed=1, n_states=4, n_symbols=3):
    return random_machine("pfa", n_states, n_symbols, seed=rng(seed))


@pytest.fixture(scope="module")
def told():
    """What a machine said of words, and how their contexts go on."""
    box = machine()
    known = known_of(box, 300)
    return known, fill_conditional(box, known, n_contexts=100, n_columns=40)


def drawn_parameters(n_states, n_symbols, seed=0):
    return rng(seed).normal(size=n_states), rng(seed).normal(
        size=(n_states, n_symbols * n_states + 1)
    )


# The gradient -------------------------------------------------------------------------------------


@pytest.mark.parametrize("few", [0, 2**17])  # a product a symbol, a matrix each
@pytest.mark.parametrize("n_states", [1, 2, 5])
def test_the_gradient_is_what_a_small_change_changes(told, monkeypatch, few, n_states):
    monkeypatch.setattr(fitting, "FEW", few)
    known, _ = told
    lesson = lessons_of(known, 40, rng())[0]
    lesson = lesson._replace(follows=lesson.follows.astype(np.float64))
    parameters = drawn_parameters(n_states, 3)
    _, slopes = gradient(parameters, lesson)
    for which, (values, slope) in enumerate(zip(parameters, slopes, strict=True)):
        assert slope.dtype == np.float64
        assert slope.shape == values.shape
        for at in np.ndindex(values.shape):
            losses = []
            for change in (1e-5, -1e-5):
                moved = [each.copy() for each in parameters]
                moved[which][at] += change
                losses.append(gradient(tuple(moved), lesson)[0])
            assert slope[at] == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-4, abs=1e-9)


def test_both_ways_to_multiply_give_the_same(told, monkeypatch):
    lesson = lessons_of(told[0], 300, rng())[0]
    parameters = tuple(each.astype(np.float32) for each in drawn_parameters(6, 3))
    found = []
    for few in (0, 2**30):
        monkeypatch.setattr(fitting, "FEW", few)
        found.append(gradient(parameters, lesson))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-5)
    for one, other in zip(found[0][1], found[1][1], strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-6)


def test_the_loss_is_the_cross_entropy_of_the_next_symbols(told):
    known, _ = told
    (lesson,) = lessons_of(known, 30, rng())
    parameters = drawn_parameters(4, 3)
    automaton = to_automaton(known.tree.alphabet, parameters)
    words = known.words[:30]
    prefixes = [word[:n] for word in words for n in range(len(word) + 1)]
    box, ours = (each.next_symbol(prefixes) for each in (machine(), automaton))
    expected = -(box * np.log(ours)).sum() / len(prefixes)
    assert gradient(parameters, lesson)[0] == pytest.approx(expected, rel=1e-6)


def test_lessons_hold_every_word_once(told):
    known, _ = told
    lessons = lessons_of(known, 300, rng())
    n_letters = [len(word) + 1 for word in known.words]
    assert len(lessons) == -(-300 // 37)
    for lesson in lessons:
        assert lesson.follows.sum() == pytest.approx(1, rel=1e-5)
    few = lessons_of(known, 5, rng())
    assert len(few) == 1
    assert len(few[0].follows) <= sum(n_letters[:5])


# The automaton ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_states", [1, 3, 8])
@pytest.mark.parametrize("spread", [1, 60])
def test_an_automaton_of_chances_is_one(n_states, spread):
    begin, goes_on = drawn_parameters(n_states, 3)
    automaton = to_automaton(machine().alphabet, (spread * begin, spread * goes_on))
    for weights in (automaton.initial, automaton.transitions, automaton.final):
        assert weights.min() >= 0
    leaves = automaton.transitions.sum(axis=(0, 2)) + automaton.final
    np.testing.assert_allclose(leaves, 1)
    assert automaton.initial.sum() == pytest.approx(1)
    assert automaton.total == pytest.approx(1, abs=1e-5)
    words = machine().sample(30, seed=rng())
    probabilities = automaton.next_symbol(words)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities.min() >= -1e-12


def test_the_first_guess_of_a_machine_is_near_it(told):
    known, blocks = told
    guess = to_automaton(known.tree.alphabet, first_guess(blocks, 20, rng()))
    assert known.compare(guess)["ndcg5"] > 0.97


def test_fitting_lowers_the_loss(told, monkeypatch):
    known, blocks = told
    for name, value in {"BATCH": 1000, "EPOCHS": 1, "STEPS": 60}.items():
        monkeypatch.setattr(fitting, name, value)
    losses, real = [], fitting.gradient

    def heard(parameters, lesson):
        loss, slopes = real(parameters, lesson)
        losses.append(loss)
        return loss, slopes

    monkeypatch.setattr(fitting, "gradient", heard)
    fit(blocks, known, 4)
    assert len(losses) >= 60
    entropy = known.compare(machine())["kl_per_symbol"]
    assert entropy == pytest.approx(0, abs=1e-9)
    assert np.mean(losses[-8:]) < np.mean(losses[:8])


def test_a_tenth_of_the_steps_is_for_words_that_are_looked_at_besides(told, monkeypatch):
    known, blocks = told
    besides = Reference.query(machine(), known.words[:3])
    monkeypatch.setattr(fitting, "BATCH", 10)
    sizes, real = [], fitting.gradient

    def heard(parameters, lesson):
        sizes.append(len(lesson.follows))
        return real(parameters, lesson)

    monkeypatch.setattr(fitting, "gradient", heard)
    fit(blocks, known, 2, besides=besides)
    n_besides = sizes.count(len(besides.tree))
    assert n_besides / len(sizes) == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_machine_is_fitted_at_its_own_rank(seed):
    box = machine(seed)
    known = known_of(box, 500)
    blocks = fill_conditional(box, known, n_contexts=150, n_columns=60)
    fitted = fit(blocks, known, 4)
    assert fitted.n_states == 4
    fidelity = known_of(box, 300, seed=9).compare(fitted)
    assert fidelity["ndcg5"] > 0.995
    assert fidelity["zeros"] == 0
    guess = to_automaton(box.alphabet, first_guess(blocks, 4, rng()))
    assert fidelity["kl_per_symbol"] < known_of(box, 300, seed=9).compare(guess)["kl_per_symbol"]


def test_the_same_seed_gives_the_same_automaton_to_the_bit(told, monkeypatch):
    known, blocks = told
    monkeypatch.setattr(fitting, "STEPS", 20)
    one, same, other = (fit(blocks, known, 3, n_words=100, seed=seed) for seed in (4, 4, 5))
    for name in ("initial", "transitions", "final"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
    assert not one.allclose(other)


def test_progress_is_told_of_every_step_and_may_stop_it(told):
    known, blocks = told
    calls = []
    fit(blocks, known, 2, n_words=64, progress=lambda *call: calls.append(call))
    n_steps = calls[-1][1]
    assert calls == [(done, n_steps) for done in range(1, n_steps + 1)]
    assert n_steps >= fitting.STEPS

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(blocks, known, 2, progress=stop)


# Clusters -----------------------------------------------------------------------------------------


def test_clusters_are_where_the_points_are():
    centres = np.array([[0.0, 0], [5, 5], [0, 9]])
    points = np.concatenate([c + 0.1 * rng(i).normal(size=(40, 2)) for i, c in enumerate(centres)])
    found = cluster(points, np.ones(len(points)), 3, rng(1))
    order = np.argsort(found @ [1.0, 10.0])
    np.testing.assert_allclose(found[order], centres[np.argsort(centres @ [1.0, 10.0])], atol=0.1)


def test_there_are_no_more_clusters_than_points_and_none_is_empty():
    points = np.repeat(np.eye(3), [5, 1, 2], axis=0)
    for n in (1, 2, 3, 8):
        found = cluster(points, np.ones(8), n, rng(n))
        nearest = ((points[:, None] - found) ** 2).sum(axis=2).argmin(axis=1)
        assert set(nearest) == set(range(len(found)))
        assert len(found) == min(n, 3)


def test_a_heavy_point_draws_its_centre():
    points = np.array([[0.0], [1.0]])
    assert cluster(points, np.array([3.0, 1.0]), 1, rng())[0] == pytest.approx(0.25)


# Odd boxes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("n_states", [1, 3])
def test_odd_boxes_are_fitted(name, n_states, monkeypatch):
    monkeypatch.setattr(fitting, "STEPS", 100)
    box = odd_box(name)
    known = known_of(box, 40, max_length=12)
    fitted = fit(fill_conditional(box, known, n_contexts=30, n_columns=20), known, n_states)
    assert 1 <= fitted.n_states <= n_states
    assert fitted.total == pytest.approx(1, abs=1e-5)
    fidelity = known.compare(fitted)
    assert np.isfinite([fidelity["ndcg5"], fidelity["kl_per_symbol"]]).all()
    if n_states == 3:
        assert fidelity["ndcg5"] > 0.99


def test_nothing_is_learnt_from_what_the_box_says_never_comes():
    box = WeightedAutomaton("abc", [1], [[[0.5]], [[0.25]], [[0]]], [0.25])
    known = Reference.query(box, ["ab", "caab", "acb", "b", "", "ccc"] * 20)
    fitted = fit(fill_conditional(box, known, n_contexts=20, n_columns=20), known, 2)
    probabilities = fitted.next_symbol(["", "a", "ab"])
    np.testing.assert_allclose(probabilities, np.tile([0.5, 0.25, 0, 0.25], (3, 1)), atol=0.02)
    only = Reference.query(box, ["c", "cc"])
    fitted = fit(fill_conditional(box, only, n_contexts=20, n_columns=20), only, 2)
    assert np.isfinite(fitted.next_symbol(["", "c"])).all()
