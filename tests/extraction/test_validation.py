"""Words that ranks are chosen on: what value-only boxes are compared on, and by which score."""

import logging

import numpy as np
import pytest

import seqray
from seqray import WeightedAutomaton, black_box, extract
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.job import Job
from seqray.extraction.request import Request
from seqray.extraction.validation import known_words, validation_words
from seqray.fidelity.reference import Reference
from told import rng

BOXES = {
    "no ab": lambda word: float("ab" not in word),
    "parity": lambda word: float(word.count("a") % 2 == 0),
    "counter": lambda word: float(word.count("a") - word.count("b")),
    "sigmoid": lambda word: 1 / (1 + np.exp(4.0 - 8.0 * ("ab" not in word))),
    "1 % positive": lambda word: float("abbabb" in word),
}


def value_box(name):
    return black_box(lambda words: [BOXES[name](word) for word in words], "ab")


def drawn(name, n=40, **options):
    """The words that the rank of a box would be chosen on, and what it says of them."""
    box = value_box(name)
    meter = Meter(Limits(options.pop("budget", None)))
    oracle = open_oracle(box, meter)
    basis = seqray.uniform_basis(box.alphabet, n, n, seed=rng(), max_length=7)
    known = seqray.fill(oracle, basis)
    request = Request(n, n, 9, max_length=options.get("max_length"))
    job = Job(oracle, request, None)
    return validation_words(job, basis, known, rng(1)), oracle


@pytest.mark.parametrize("name", BOXES)
def test_words_to_choose_a_rank_on_weigh_much_and_little_and_are_long(name):
    words, box = drawn(name)
    weights = words.query(box).weights
    assert 200 < len(weights) <= 1000
    large = np.abs(weights) > 0.5 * np.abs(weights).max() if name != "counter" else weights > 0
    assert 0.05 < large.mean() < 0.95
    assert (weights <= 0.1).mean() > 0.05
    assert (words.words.lengths > 50).mean() > 0.05


def test_no_word_to_choose_a_rank_on_is_longer_than_allowed():
    words, _ = drawn("parity", max_length=20)
    assert words.words.lengths.max() <= 20


def test_any_part_of_the_words_is_a_mixture():
    words, _ = drawn("no ab")
    part = words.first(100)
    assert 0.3 < part.typical.mean() < 0.8
    assert part.words.lengths.max() > 50


def test_the_constant_1_is_no_copy_of_a_box_that_gives_0_to_some_words():
    box, constant = value_box("no ab"), WeightedAutomaton("ab", [1], [[[1]], [[1]]], [1])
    words = ["", "a", "b", "aa", "ab", "ba", "bb", "aab"]
    score = Reference.query(box, words).compare(constant).score
    assert score == pytest.approx((1 / 8) ** (2 / 8))


@pytest.mark.parametrize("name", ["no ab", "counter", "sigmoid"])
def test_a_score_of_a_constant_is_far_from_1_and_that_of_the_chosen_rank_is_not(name):
    box = value_box(name)
    found = extract(box, prefixes=40, suffixes=40)
    words, asked = drawn(name)
    reference = words.query(asked)
    constant = WeightedAutomaton("ab", [1], [[[1]], [[1]]], [1])
    assert reference.compare(constant).score < 0.7
    assert reference.compare(found.best()).score > 0.99


def test_an_automaton_that_goes_wrong_on_long_words_has_no_good_score():
    box = black_box(
        lambda words: [1 / (1 + np.exp(w.count("b") - w.count("a"))) for w in words], "ab"
    )
    found = extract(box, prefixes=40, suffixes=40)
    long = ["a" * n + "b" * n for n in range(40, 50)]
    assert np.abs(found.best().weights(long) - box.weights(long)).max() > 0.1
    assert found.fidelity.at(found.best_rank()).score < 0.98


def test_a_box_that_gives_0_to_all_words_but_one_is_not_taken_for_0():
    box = black_box(lambda words: [float(word == "abba") for word in words], "ab")
    found = extract(box, prefixes=31, suffixes=31, basis="uniform")
    assert found.best_rank() == found.max_rank == 5
    assert found.best().weight("abba") == pytest.approx(1)


def test_words_of_filled_blocks_weigh_much_and_nothing():
    box = value_box("no ab")
    basis = seqray.uniform_basis(box.alphabet, 40, 40, seed=rng())
    reference = known_words(seqray.fill(box, basis), 100)
    assert reference.weights.mean() == pytest.approx(0.6, abs=0.15)
    np.testing.assert_array_equal(reference.weights, box.weights(reference.words))


def network(seed=35, n_states=3):
    """A classifier: the sigmoid of a random network that remembers much, with some chaos."""
    random = np.random.default_rng(seed)
    moves = random.normal(size=(n_states, n_states))
    moves *= 1.6 / np.abs(np.linalg.eigvals(moves)).max()
    reads = {symbol: 1.2 * random.normal(size=n_states) for symbol in "ab"}
    shift, out = 0.1 * random.normal(size=n_states), rng(seed + 9).normal(size=n_states)

    def answer(word):
        state = np.zeros(n_states)
        for symbol in word:
            state = np.tanh(state @ moves + reads[symbol] + shift)
        return 1 / (1 + np.exp(-8 * state @ out))

    return black_box(lambda words: [answer(word) for word in words], "ab")


def test_the_chosen_rank_of_a_classifier_is_right_on_long_words():
    box = network()
    found = extract(box, prefixes=30, suffixes=30)
    words = ["".join(rng(seed).choice(["a", "b"], 40 + seed % 21)) for seed in range(300)]
    accepted = box.weights(words) > 0.5
    agreement = [np.mean((wa.weights(words) > 0.5) == accepted) for wa in ranks_of(found)]
    assert agreement[found.best_rank() - 1] > max(agreement) - 0.01
    assert min(agreement[found.best_rank() :]) < 0.7


def ranks_of(found):
    return [found.automaton(rank) for rank in range(1, found.max_rank + 1)]


def warnings_of(caplog, answer, n=15, **options):
    """What is warned of when a box of numbers is extracted."""
    with caplog.at_level(logging.WARNING, "seqray"):
        extract(black_box(answer, "ab"), prefixes=n, suffixes=n, **options)
    return caplog.text


def test_nearly_all_answers_being_one_number_is_warned_of(caplog):
    text = warnings_of(caplog, lambda words: [float("abbabbaabbab" not in w) for w in words])
    assert "the same answer, 1, to" in text
    assert "the fidelity score says little" in text


def test_a_word_that_no_rank_holds_is_warned_of(caplog):
    answer = lambda words: [float(word == "abba") for word in words]  # noqa: E731
    assert "the same answer, 0, to 464 of the 465 words" in warnings_of(
        caplog, answer, basis="uniform"
    )


def test_answers_too_small_for_float64_are_warned_of(caplog):
    text = warnings_of(caplog, lambda words: [1e-320 * (1 + w.count("a")) for w in words])
    assert "holds about 4 digits" in text
    assert "multiply its answers" in text


@pytest.mark.parametrize("size", [1.0, 1e-300])
def test_a_box_that_is_learnt_is_not_warned_of(caplog, size):
    assert not warnings_of(caplog, lambda words: [size * (1 + w.count("a")) for w in words])
