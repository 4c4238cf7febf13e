import numpy as np
import pytest

from conditional_boxes import drawn_parameters, machine
from seqray import Alphabet, WeightedAutomaton
from seqray.automata.ranks import MIN_ENDING
from seqray.extraction.conditional import fit as fit_module
from seqray.extraction.conditional.fill import fill_conditional
from seqray.extraction.conditional.first_guess import first_guess
from seqray.extraction.conditional.fit import fit, to_automaton
from seqray.extraction.settings import CONDITIONAL, ConditionalSettings
from seqray.fidelity.reference import Reference
from told import ODD, known_of, odd_box, rng


@pytest.mark.parametrize("n_states", [1, 3, 8])
@pytest.mark.parametrize("spread", [1, 60])
def test_parameters_make_a_probabilistic_automaton(n_states, spread):
    begin, goes_on = drawn_parameters(n_states, 3)
    automaton = to_automaton(machine().alphabet, (spread * begin, spread * goes_on))
    for weights in (automaton.initial, automaton.transitions, automaton.final):
        assert weights.min() >= 0
    leaves = automaton.transitions.sum(axis=(0, 2)) + automaton.final
    np.testing.assert_allclose(leaves, 1)
    assert automaton.initial.sum() == pytest.approx(1)
    assert automaton.total == pytest.approx(1, abs=1e-5)
    words = machine().sample(30, seed=rng()).words
    probabilities = automaton.next_symbol(words)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities.min() >= -1e-12


def test_fitting_lowers_the_loss(predicted, monkeypatch):
    reference, blocks = predicted
    settings = ConditionalSettings(batch_size=1000, n_epochs=1, min_steps=60)
    losses, real = [], fit_module.gradient

    def recorded(parameters, batch):
        loss, slopes = real(parameters, batch)
        losses.append(loss)
        return loss, slopes

    monkeypatch.setattr(fit_module, "gradient", recorded)
    fit(blocks, reference, 4, settings=settings)
    assert len(losses) >= 60
    entropy = reference.compare(machine())["kl_per_symbol"]
    assert entropy == pytest.approx(0, abs=1e-9)
    assert np.mean(losses[-8:]) < np.mean(losses[:8])


def test_a_tenth_of_the_steps_is_for_extra_words(predicted, monkeypatch):
    reference, blocks = predicted
    extra = Reference.query(machine(), reference.words[:3])
    sizes, real = [], fit_module.gradient

    def recorded(parameters, batch):
        sizes.append(len(batch.follows))
        return real(parameters, batch)

    monkeypatch.setattr(fit_module, "gradient", recorded)
    settings = ConditionalSettings(batch_size=10)
    fit(blocks, reference, 2, extra_words=extra, settings=settings)
    n_extra = sizes.count(len(extra.tree))
    assert n_extra / len(sizes) == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_machine_is_fitted_at_its_own_rank(seed):
    box = machine(seed)
    reference = known_of(box, 500)
    blocks = fill_conditional(box, reference, n_contexts=150, n_columns=60)
    fitted = fit(blocks, reference, 4)
    assert fitted.n_states == 4
    fidelity = known_of(box, 300, seed=9).compare(fitted)
    assert fidelity["ndcg5"] > 0.995
    assert fidelity["zeros"] == 0
    guess = to_automaton(box.alphabet, first_guess(blocks, 4, rng()))
    assert fidelity["kl_per_symbol"] < known_of(box, 300, seed=9).compare(guess)["kl_per_symbol"]


def test_the_same_seed_gives_the_same_automaton_to_the_bit(predicted):
    reference, blocks = predicted
    settings = ConditionalSettings(min_steps=20)
    one, same, other = (
        fit(blocks, reference, 3, n_words=100, seed=seed, settings=settings) for seed in (4, 4, 5)
    )
    for name in ("initial", "transitions", "final"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
    assert not one.allclose(other)
    zero, default = (
        fit(blocks, reference, 3, n_words=100, settings=settings, **seed)
        for seed in ({"seed": 0}, {})
    )
    np.testing.assert_array_equal(zero.transitions, default.transitions)


def test_progress_counts_every_step_and_may_stop_it(predicted):
    reference, blocks = predicted
    calls = []
    fit(blocks, reference, 2, n_words=64, progress=lambda *call: calls.append(call))
    n_steps = calls[-1][1]
    assert calls == [(done, n_steps) for done in range(1, n_steps + 1)]
    assert n_steps >= CONDITIONAL.min_steps

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(blocks, reference, 2, progress=stop)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("n_states", [1, 3])
def test_odd_boxes_are_fitted(name, n_states):
    settings = ConditionalSettings(min_steps=100)
    box = odd_box(name)
    reference = known_of(box, 40, max_length=12)
    blocks = fill_conditional(box, reference, n_contexts=30, n_columns=20)
    fitted = fit(blocks, reference, n_states, settings=settings)
    assert 1 <= fitted.n_states <= n_states
    assert fitted.total == pytest.approx(1, abs=1e-5)
    fidelity = reference.compare(fitted)
    assert np.isfinite([fidelity["ndcg5"], fidelity["kl_per_symbol"]]).all()
    if n_states == 3:
        assert fidelity["ndcg5"] > 0.99


def test_nothing_is_learnt_from_impossible_words():
    box = WeightedAutomaton("abc", [1], [[[0.5]], [[0.25]], [[0]]], [0.25])
    reference = Reference.query(box, ["ab", "caab", "acb", "b", "", "ccc"] * 20)
    fitted = fit(fill_conditional(box, reference, n_contexts=20, n_columns=20), reference, 2)
    probabilities = fitted.next_symbol(["", "a", "ab"])
    np.testing.assert_allclose(probabilities, np.tile([0.5, 0.25, 0, 0.25], (3, 1)), atol=0.02)
    only = Reference.query(box, ["c", "cc"])
    fitted = fit(fill_conditional(box, only, n_contexts=20, n_columns=20), only, 2)
    assert np.isfinite(fitted.next_symbol(["", "c"])).all()


@pytest.mark.parametrize("max_stay", [None, 0.8])
def test_the_automaton_has_the_probabilities_of_its_parameters(max_stay):
    begin, goes_on = drawn_parameters(3, 2)
    if max_stay is not None:  # the last column is elsewhere
        goes_on = np.column_stack([goes_on, rng(1).normal(size=3)])
    automaton = to_automaton(Alphabet("ab"), (begin, goes_on), max_stay=max_stay)
    np.testing.assert_allclose(automaton.initial, np.exp(begin) / np.exp(begin).sum())
    stay = 1 if max_stay is None else max_stay
    for state, row in enumerate(goes_on):
        probabilities = stay * np.exp(row) / np.exp(row).sum()
        np.testing.assert_allclose(automaton.transitions[0, state], probabilities[:3])
        np.testing.assert_allclose(automaton.transitions[1, state], probabilities[3:6])
        assert automaton.final[state] == pytest.approx(probabilities[6])
        if max_stay is not None:
            elsewhere = 1 - probabilities[:7].sum()
            assert automaton.elsewhere[state] == pytest.approx(elsewhere)
    assert (automaton.elsewhere is None) == (max_stay is None)


def test_every_state_ends_with_some_probability():
    goes_on = np.array([[0.0, 0.0, -1000.0], [0.0, 0.0, 5.0]])
    automaton = to_automaton(Alphabet("a"), (np.zeros(2), goes_on))
    assert automaton.final[0] == pytest.approx(MIN_ENDING)
    assert automaton.final[1] == pytest.approx(np.exp(5) / (2 + np.exp(5)))
    np.testing.assert_allclose(automaton.transitions.sum(axis=(0, 2)) + automaton.final, 1)


@pytest.mark.parametrize(
    ("n_words", "settings", "n_steps"),
    [
        (None, {"n_epochs": 1, "min_steps": 1}, 9),  # batches of 37 of 300 words
        (64, {"n_epochs": 1, "min_steps": 1}, 2),  # batches of 32
        (64, {"n_epochs": 1, "min_steps": 5}, 6),  # whole epochs
        (64, {"n_epochs": 1, "min_steps": 6}, 6),
        (64, {"n_epochs": 4, "min_steps": 6}, 8),
        (64, {"n_epochs": 1, "min_steps": 1, "batch_size": 16}, 4),
    ],
)
def test_all_batches_are_read_until_there_were_enough_steps(predicted, n_words, settings, n_steps):
    calls = []
    fit(
        *predicted[::-1],
        2,
        n_words=n_words,
        settings=ConditionalSettings(**settings),
        progress=lambda *call: calls.append(call),
    )
    assert calls == [(done, n_steps) for done in range(1, n_steps + 1)]


@pytest.mark.parametrize(
    ("share", "n_extra", "n_steps"), [(0.1, 3, 33), (0.5, 3, 45), (0.001, 3, 31), (0.5, 25, 45)]
)
def test_extra_words_are_repeated_as_often_as_their_share_says(predicted, share, n_extra, n_steps):
    reference, blocks = predicted
    settings = ConditionalSettings(
        batch_size=10, n_epochs=1, min_steps=1, counterexample_share=share
    )
    calls = []
    extra = Reference.query(machine(), reference.words[:n_extra])
    fit(
        blocks,
        reference,
        2,
        extra_words=extra,
        settings=settings,
        progress=lambda *call: calls.append(call),
    )
    assert calls[-1] == (n_steps, n_steps)


def test_a_fit_of_the_first_words_does_not_depend_on_the_others(predicted):
    reference, blocks = predicted
    first = Reference.query(machine(), reference.words[:50])
    settings = ConditionalSettings(n_epochs=1, min_steps=20)
    some = fit(blocks, reference, 2, n_words=50, settings=settings)
    only = fit(blocks, first, 2, settings=settings)
    assert some.allclose(only, rtol=1e-3, atol=1e-4)
    assert not some.allclose(fit(blocks, reference, 2, settings=settings), rtol=1e-3, atol=1e-4)


def test_a_box_that_leaks_is_fitted_with_its_leak():
    box = WeightedAutomaton("ab", [1], [[[0.4]], [[0.2]]], [0.2], elsewhere=[0.2])
    reference = Reference.query(box, ["", "a", "b", "ab", "aab", "ba"] * 20)
    blocks = fill_conditional(box, reference, n_contexts=20, n_columns=20)
    extra = Reference.query(box, ["bb", "bba"])
    for fitted in (fit(blocks, reference, 2), fit(blocks, reference, 2, extra_words=extra)):
        probabilities = fitted.next_symbol(["", "a", "ab", "bb"])
        np.testing.assert_allclose(probabilities, [[0.4, 0.2, 0.2]] * 4, atol=0.02)
