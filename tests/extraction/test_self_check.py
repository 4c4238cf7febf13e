import numpy as np
import pytest

from same_gru import native
from seqray import WeightedAutomaton, black_box, classifier, language_model
from seqray.extraction.self_check import check


def failed(box):
    return {result.name for result in check(box) if result.ok is False}


def result_of(box, name):
    return next(result for result in check(box) if result.name == name)


def native_as(kind):
    """The native network, as one of a class derived from its own."""
    box = object.__new__(kind)
    box.__dict__.update(native().__dict__)
    return box


def good(words):
    return [0.5 ** len(word) * (1 + word.count("a")) for word in words]


@pytest.mark.parametrize(
    "box",
    [
        black_box(good, "ab"),
        language_model(lambda prefixes: [[0.5, 0.25, 0.25]] * len(prefixes), "ab"),
        WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25]),
        native(),
    ],
    ids=["function", "model", "automaton", "network"],
)
def test_a_good_box_passes(box):
    assert failed(box) == set()


def test_a_box_that_looks_at_the_batch_is_found_out():
    assert "batch = single" in failed(black_box(lambda w: np.array(good(w)) * len(w), "ab"))


def test_a_box_that_minds_padding_is_found_out():
    def padded(words):
        longest = max(map(len, words))
        return [longest + len(word) for word in words]

    assert "padded = unpadded" in failed(black_box(padded, "ab"))


def test_a_box_that_sorts_is_found_out():
    assert "same in any order" in failed(black_box(lambda words: sorted(good(words)), "ab"))


def test_a_box_that_rounds_differently_in_another_place_does_not_sort():
    def rounded(words):
        return np.array(good(words)) * (1 + 0.001 * np.arange(len(words)) / len(words))

    advice = result_of(black_box(rounded, "ab"), "same in any order").advice
    assert "depend a little on what is queried before or beside them" in advice
    advice = result_of(black_box(lambda words: sorted(good(words)), "ab"), "same in any order")
    assert "do not come in the order of the words" in advice.advice


def test_a_noisy_box_is_found_out_and_told_what_to_do():
    rng = np.random.default_rng(0)
    box = black_box(lambda words: good(words) * (1 + 0.01 * rng.normal(size=len(words))), "ab")
    result = result_of(box, "deterministic")
    assert result.ok is False
    assert "of the answer" in result.observed
    assert "--repeat" in result.advice


def test_a_box_that_cannot_take_the_empty_word_is_found_out():
    box = black_box(lambda words: [1 / len(word) for word in words], "ab")
    result = result_of(box, "empty word")
    assert result.ok is False
    assert "ZeroDivisionError" in result.observed


def test_a_box_that_says_zero_to_everything_is_suspicious():
    assert "answers" in failed(black_box(lambda words: [0] * len(words), "ab"))


def test_negative_answers_are_said_and_fine():
    result = result_of(black_box(lambda words: [len(w) - 5 for w in words], "ab"), "answers")
    assert result.ok
    assert "negative" in result.observed


def test_probabilities_that_do_not_sum_to_one_are_found_out():
    class Leaks(type(native())):
        def state_next_symbol(self, states):
            return super().state_next_symbol(states) * 0.9

    assert failed(native_as(Leaks)) == {"Σp = 1"}


def test_states_that_say_something_else_are_found_out():
    class Wrong(type(native())):
        def weights(self, words):
            return super().weights(words) * 2

    assert "states = words" in failed(native_as(Wrong))


def test_words_that_do_not_end_are_said():
    box = language_model(lambda prefixes: [[0.5, 0.499, 0.001]] * len(prefixes), "ab")
    assert "have not ended after 100" in result_of(box, "words end").observed


def test_how_the_box_is_queried_and_its_speed_are_reported():
    assert (
        "whole words; 2 symbols" in result_of(black_box(good, "ab"), "can be queried for").observed
    )
    assert "words per second" in result_of(black_box(good, "ab"), "speed").observed
    assert "800 × 800 blocks" in result_of(black_box(good, "ab"), "speed").advice
    model = language_model(lambda prefixes: [[0.5, 0.25, 0.25]] * len(prefixes), "ab")
    assert "words are drawn from the box" in result_of(model, "can be queried for").advice
    assert "contexts of 20,000 words take up to" in result_of(model, "speed").advice


@pytest.mark.parametrize("limit", [1, 4])
def test_a_box_is_checked_on_words_that_it_can_read(limit):
    def ask(prefixes):
        assert max(map(len, prefixes)) <= limit
        return [[0.25, 0.25, 0.5]] * len(prefixes)

    box = language_model(ask, "ab", max_length=limit)
    assert [f.name for f in check(box) if f.ok is False] == []


def test_the_check_of_a_classifier_names_classes_and_their_probabilities():
    def scores(words):
        return [[0.0, 0.75, 0.25] if len(word) % 2 else [0.9, 0.1, 0.0] for word in words]

    box = classifier(scores, "ab", ["low", "middle", "high"])
    assert result_of(box, "empty word").observed == "has the class low, probability 0.9"
    answers = result_of(box, "answers")
    assert "% low, " in answers.observed
    assert answers.observed.endswith(", 0% high")
    assert (answers.ok, answers.advice) == (True, "")


def test_a_classifier_that_always_decides_alike_is_asked_about():
    box = classifier(lambda words: ["no"] * len(words), "ab")
    assert "all words get one class" in result_of(box, "answers").advice


def test_a_symbol_that_is_never_seen_at_the_end_is_reported_and_no_failure():
    def sees(words):
        return [sum((at + 1) * ord(s) for at, s in enumerate(w.rstrip("-"))) for w in words]

    box = black_box(sees, "-ab")
    result = result_of(box, "every symbol counts")
    assert result.ok is None
    assert '"-" at the end never changes the answer' in result.observed
    assert result.advice == "is its id also the padding id?"
    assert result_of(box, "long words count").ok
    assert failed(box) == set()


def test_a_long_list_of_symbols_that_are_one_is_cut():
    box = black_box(lambda words: [sum(map(ord, w.lower())) for w in words], "abcdefABCDEF")
    result = result_of(box, "every symbol counts")
    assert '"a" and "A" are one symbol to the box' in result.observed
    assert result.observed.endswith("; 2 more")


def test_a_box_that_fails_on_long_words_without_saying_so_is_found_out():
    def short(words):
        if max(map(len, words)) > 50:
            raise ValueError("too long")
        return good(words)

    assert "long words count" in failed(black_box(short, "ab"))
