import numpy as np
import psutil
import pytest

from seqray import WeightedAutomaton
from seqray.automata.words import Alphabet
from seqray.extraction.settings import StructuredSettings
from seqray.extraction.structured import fit
from seqray.extraction.structured.build import to_automaton
from seqray.extraction.structured.fit import FitWords, fit_structured
from seqray.extraction.structured.gradient import FitNumbers
from seqray.extraction.structured.guess import first_guess
from seqray.fidelity.reference import Reference
from structured_fits import (
    drawn,
    last_symbol_box,
    leaking_box,
    random_layout,
    random_numbers,
    slow_predictions,
)

QUICK = StructuredSettings(min_steps=60, n_epochs=3)


def small_box(seed=4, **kind):
    """Return a random structured automaton with hidden states, and its layout."""
    layout = random_layout(seed, max_size=2, remembered=0.9, **kind)
    logarithms = FitNumbers(*(2 * each for each in random_numbers(layout, seed)))
    logarithms.emission[:, 2:] -= 1.5
    return layout, to_automaton(Alphabet(range(2)), layout, logarithms)


def words_of(box, n_words=150, seed=0, *, leaks=False):
    return FitWords(drawn(box, n_words, seed), leaks)


@pytest.fixture(scope="module")
def case():
    layout, box = small_box()
    return layout, words_of(box), words_of(box, seed=1)


@pytest.mark.parametrize(
    ("seed", "kind"),
    [(5, {}), (2, {"n_classes": 2}), (7, {"leaks": True}), (8, {"n_classes": 2, "leaks": True})],
)
def test_the_divergence_of_a_structured_automaton_falls_to_nearly_0(seed, kind):
    layout, box = small_box(seed, **kind)
    leaks = kind.get("leaks", False)
    words, validation = (words_of(box, 500, each, leaks=leaks) for each in (0, 1))
    guess = first_guess(layout, words.followed, np.random.default_rng(0))
    settings = StructuredSettings(min_steps=120, n_epochs=3)
    fitted = fit_structured(layout, words, validation, seed=0, settings=settings)
    assert fitted.divergence < 5e-4
    assert fitted.divergence < validation.divergence(layout, guess) / 10
    assert fitted.divergence == validation.divergence(layout, fitted.logarithms)
    assert fitted.layout is layout
    assert fitted.n_words == 500


def test_the_best_epoch_is_kept(case):
    layout, words, validation = case
    seen = []

    class Scripted(FitWords):
        """Says that the third check is the best one."""

        def divergence(self, layout, logarithms):
            seen.append(logarithms.emission.copy())
            return [0.5, 0.4, 0.3, 0.31, 0.32, 0.33, 0.3][len(seen) - 1]

    scripted = Scripted(validation.reference, leaks=False)
    settings = StructuredSettings(n_epochs=6, min_steps=1, n_checks=6)
    fitted = fit_structured(layout, words, scripted, seed=0, settings=settings)
    assert len(seen) == 7
    assert fitted.divergence == 0.3
    np.testing.assert_array_equal(fitted.logarithms.emission, seen[2])
    assert (seen[2] != seen[-1]).any()


def test_a_fit_that_gets_worse_ends(case):
    steps = []
    wild = StructuredSettings(min_steps=100, learning_rate=30, n_checks=20, max_rise=1.0)
    fit_structured(
        *case, seed=0, settings=wild, progress=lambda done, total: steps.append((done, total))
    )
    assert steps[-1][0] < steps[-1][1]
    assert len({total for _, total in steps}) == 1


def test_progress_counts_all_steps(case):
    steps = []
    fit_structured(*case, seed=0, settings=QUICK, progress=lambda *step: steps.append(step))
    total = steps[0][1]
    assert total >= QUICK.min_steps
    assert steps == [(done, total) for done in range(1, total + 1)]


def test_progress_may_raise_to_end_a_fit(case):
    def stop(done, total):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_structured(*case, seed=0, settings=QUICK, progress=stop)


def test_the_same_seed_gives_the_same_numbers(case):
    one, same, other = (fit_structured(*case, seed=seed, settings=QUICK) for seed in (0, 0, 1))
    for mine, again in zip(one.logarithms, same.logarithms, strict=True):
        np.testing.assert_array_equal(mine, again)
    assert (one.logarithms.emission != other.logarithms.emission).any()


def numbers_of(fitted):
    return np.concatenate([each.ravel() for each in fitted.logarithms])


def test_a_large_fit_is_the_same_in_any_number_of_processes(case, monkeypatch):
    whole = fit_structured(*case, seed=0, settings=QUICK)
    monkeypatch.setattr(fit, "MIN_SHARED_NUMBERS", 1)
    alone, shared = (fit_structured(*case, seed=0, settings=QUICK, n_processes=n) for n in (1, 2))
    np.testing.assert_array_equal(numbers_of(alone), numbers_of(shared))
    assert alone.divergence == shared.divergence == pytest.approx(whole.divergence, rel=0.05)


def test_a_fit_whose_helper_dies_is_done_again_here(case, monkeypatch):
    monkeypatch.setattr(fit, "MIN_SHARED_NUMBERS", 1)
    alone = fit_structured(*case, seed=0, settings=QUICK)
    killed = []

    def kill(done, total):
        if done == 5 and not killed:
            killed.extend(psutil.Process().children())
            killed[0].kill()

    again = fit_structured(*case, seed=0, settings=QUICK, n_processes=2, progress=kill)
    np.testing.assert_array_equal(numbers_of(alone), numbers_of(again))


def test_batches_are_as_large_as_the_settings_say(case):
    def n_steps(**settings):
        totals = set()
        chosen = StructuredSettings(n_epochs=1, min_steps=1, **settings)
        fit_structured(*case, seed=0, settings=chosen, progress=lambda _, n: totals.add(n))
        return totals.pop()

    assert n_steps(min_batches=5, batch_prefixes=10**6) == 5
    assert n_steps(min_batches=1, batch_prefixes=1, max_batches=10) == 10
    assert n_steps(min_batches=10**9) == len(case[1].corpus)


def test_the_divergence_is_the_mean_over_all_prefixes():
    layout, box = small_box()
    words = words_of(box, 20)
    logarithms = random_numbers(layout, 5)
    bits = []
    for word in words.reference.words:
        predicted = slow_predictions(layout, logarithms, list(word))
        rows = box.next_symbol([word[:n] for n in range(len(word) + 1)])
        bits += list((rows * np.log2(rows / predicted)).sum(axis=1))
    assert words.divergence(layout, logarithms) == pytest.approx(np.mean(bits), rel=1e-4)


def test_predictions_are_those_of_the_nodes_of_the_tree(case):
    layout, words, _ = case
    logarithms = random_numbers(layout, 5)
    rows = words.predicted_at(layout, logarithms)
    for row, word in zip(rows, words.followed.tree.words(), strict=True):
        slow = slow_predictions(layout, logarithms, list(word))[-1]
        np.testing.assert_allclose(row, slow, rtol=1e-4)


def test_the_entropy_is_the_mean_over_all_prefixes():
    words = words_of(last_symbol_box(), 50)
    rows = np.concatenate(
        [
            last_symbol_box().next_symbol([word[:n] for n in range(len(word) + 1)])
            for word in words.reference.words
        ]
    )
    assert words.entropy == pytest.approx(-(rows * np.log2(rows)).sum(axis=1).mean(), rel=1e-5)


def test_of_a_box_that_leaks_elsewhere_is_an_outcome():
    words = words_of(leaking_box(), 30, leaks=True)
    rows = words.followed.rows
    assert rows.shape[1] == 4
    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-6)
    assert words_of(leaking_box(), 30).followed.rows.shape[1] == 3


def test_nothing_is_learnt_after_what_is_impossible():
    box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.0]]], [0.5])
    words = FitWords(Reference.query(box, ["aa", "ba", "ba"]), leaks=False)
    tree, visits = words.followed.tree, words.followed.visits
    by_word = dict(zip(map("".join, tree.words()), visits.tolist(), strict=True))
    assert by_word == {"": 3, "a": 1, "aa": 1, "b": 0, "ba": 0}


def test_empty_words_alone_can_be_fitted():
    box = WeightedAutomaton(range(2), [1], np.zeros((2, 1, 1)), [1])
    words = words_of(box, 20)
    fitted = fit_structured(random_layout(), words, words, seed=0, settings=QUICK)
    assert fitted.divergence < 0.1
