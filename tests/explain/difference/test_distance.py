"""How far two sides are from each other, against brute force."""

import numpy as np
import pytest

import seqray
from automata import short_words
from classifier_boxes import THREE, remainder, three_classes
from compared_pairs import chain
from seqray.explain.difference.distance import (
    DistanceKind,
    as_predictor,
    measure_distance,
    shared_length,
)
from seqray.explain.difference.exact import exact_distance

PAIR = chain(), chain((0.4, 0.5), 0.4)
WORDS = ["", "ab", "abb", "bbab"]


def divergence(p, q):
    return (p * np.log2(p / q)).sum(axis=1)


def test_bits_per_symbol_are_the_mean_divergence_over_prefixes():
    a, b = PAIR
    prefixes = [word[:n] for word in WORDS for n in range(len(word) + 1)]
    p, q = a.next_symbol(prefixes), b.next_symbol(prefixes)
    distance = measure_distance(a, b, a.alphabet.words(WORDS))
    assert distance.kind is DistanceKind.DIVERGENCE
    values = [each.value for each in distance.figures]
    assert values == pytest.approx([divergence(p, q).mean(), divergence(q, p).mean()])
    assert distance.words_a == distance.words_b == "4 given words"
    assert distance.largest.value == max(values)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_of_drawn_words_holds_the_exact_distance(seed):
    distance, exact = measure_distance(*PAIR, None, seed=seed), exact_distance(*PAIR)
    for figure, expected in zip(distance.figures, exact.bits_per_symbol, strict=True):
        low, high = figure.interval
        assert low <= expected <= high
    assert distance.words_a == "2,000 words drawn from A"
    assert distance.words_b == "2,000 words drawn from B"


def test_classifiers_differ_by_the_share_of_words_with_another_class():
    def other(words):
        return [THREE[(remainder(word) + ("bb" in word)) % 3] for word in words]

    one, two = three_classes(), seqray.classifier(other, "abc", THREE)
    words = ["".join(word) for word in short_words(one, 4)]
    distance = measure_distance(one, two, one.alphabet.words(words))
    (figure,) = distance.figures
    assert figure.name == "share of words that get different classes"
    assert figure.value == pytest.approx(np.mean(["bb" in word for word in words]))
    assert figure.interval[0] < figure.value < figure.interval[1]


def test_other_boxes_differ_by_the_error_of_their_weights():
    one = seqray.black_box(lambda words: [len(w) for w in words], "a")
    two = seqray.black_box(lambda words: [1.5 * len(w) for w in words], "a")
    distance = measure_distance(one, two, one.alphabet.words(["a", "aa"]))
    assert distance.kind is DistanceKind.WEIGHTS
    assert [each.value for each in distance.figures] == pytest.approx([1 / 2, 1 / 3])


def test_the_rounding_of_small_floats_is_no_difference():
    def rows(prefixes):
        return np.tile(np.float32([0.7, 0.2, 0.1]), (len(prefixes), 1))

    box, exact = (
        seqray.language_model(rows, "ab"),
        seqray.WeightedAutomaton("ab", [1], [[[0.7]], [[0.2]]], [0.1]),
    )
    assert measure_distance(box, exact, None).largest.value < 1e-12
    assert as_predictor(box).next_symbol([""]).sum() == pytest.approx(1, abs=1e-15)


def test_no_word_is_longer_than_both_can_read():
    box = seqray.language_model(lambda words: [[0.4, 0.5, 0.1]] * len(words), "ab", max_length=7)
    assert shared_length(PAIR[0], box, None, 100) == shared_length(box, PAIR[0], None, 100) == 7
    assert measure_distance(PAIR[0], box, None).forward.n_words == 2000
