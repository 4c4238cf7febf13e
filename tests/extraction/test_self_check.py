import numpy as np
import pytest

from same_gru import native
from seqray import WeightedAutomaton, black_box, language_model
from seqray.extraction.self_check import check


def failed(box):
    return {finding.name for finding in check(box) if finding.ok is False}


def found(box, name):
    return next(finding for finding in check(box) if finding.name == name)


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
    assert "order kept" in failed(black_box(lambda words: sorted(good(words)), "ab"))


def test_a_noisy_box_is_found_out_and_told_what_to_do():
    rng = np.random.default_rng(0)
    box = black_box(lambda words: good(words) * (1 + 0.01 * rng.normal(size=len(words))), "ab")
    finding = found(box, "deterministic")
    assert finding.ok is False
    assert "of the answer" in finding.found
    assert "--repeat" in finding.therefore


def test_a_box_that_cannot_take_the_empty_word_is_found_out():
    box = black_box(lambda words: [1 / len(word) for word in words], "ab")
    finding = found(box, "empty word")
    assert finding.ok is False
    assert "ZeroDivisionError" in finding.found


def test_a_box_that_says_zero_to_everything_is_suspicious():
    assert "answers" in failed(black_box(lambda words: [0] * len(words), "ab"))


def test_negative_answers_are_said_and_fine():
    finding = found(black_box(lambda words: [len(w) - 5 for w in words], "ab"), "answers")
    assert finding.ok
    assert "negative" in finding.found


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
    assert "have not ended after 100" in found(box, "words end").found


def test_the_way_of_asking_and_the_speed_are_said():
    assert "whole words; 2 symbols" in found(black_box(good, "ab"), "can be asked for").found
    assert "words a second" in found(black_box(good, "ab"), "speed").found
    assert "800 × 800 blocks" in found(black_box(good, "ab"), "speed").therefore
    model = language_model(lambda prefixes: [[0.5, 0.25, 0.25]] * len(prefixes), "ab")
    assert "words are drawn from the box" in found(model, "can be asked for").therefore
    assert "contexts of 20,000 words ask up to" in found(model, "speed").therefore


@pytest.mark.parametrize("limit", [1, 4])
def test_a_box_is_checked_on_words_that_it_can_read(limit):
    def ask(prefixes):
        assert max(map(len, prefixes)) <= limit
        return [[0.25, 0.25, 0.5]] * len(prefixes)

    box = language_model(ask, "ab", max_length=limit)
    assert [f.name for f in check(box) if f.ok is False] == []
