import numpy as np

import seqray
from seqray.extraction.classes.drawn_words import balanced_words, varied


def edit_distance(a, b):
    """Return the fewest replacements, removals and insertions."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = next_row(row, i, x, b)
    return row[-1]


def next_row(row, i, x, b):
    new = [i]
    for j, y in enumerate(b, 1):
        new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (x != y)))
    return new


def test_a_variation_is_one_edit_away_or_repeats_a_part():
    words = seqray.Alphabet("ab").words(["abba"])
    for word in varied(words, 200, np.random.default_rng(0), 9):
        repeats = any(
            word == (*"abba"[:end], *"abba"[cut:]) for cut in range(5) for end in range(cut, 5)
        )
        assert edit_distance("abba", word) <= 1 or repeats


def test_variations_are_not_too_long():
    words = seqray.Alphabet("ab").words(["abba"])
    made = varied(words, 200, np.random.default_rng(0), 4)
    assert made.lengths.max() <= 4


def test_a_rare_class_is_not_rare_among_balanced_words():
    box = seqray.classifier(lambda words: ["bbb" in w for w in words], "abc")
    words, scores = balanced_words(box, 600, np.random.default_rng(0), max_length=12)
    assert scores[:, 1].mean() > 0.25
    assert len(words) == len(words.unique()[0]) == len(scores)
    np.testing.assert_array_equal(scores, box.scores(words))
    assert words.lengths.max() <= 12


def test_data_are_drawn_from():
    box = seqray.classifier(lambda words: ["a" in w for w in words], "ab")
    data = box.alphabet.words(["bbbb", "bbb", "bab"])
    words, _ = balanced_words(box, 6, np.random.default_rng(0), max_length=9, data=data)
    assert {("b",) * 4, ("b",) * 3, tuple("bab")} <= set(words)


def test_a_box_of_one_class_is_varied_evenly():
    box = seqray.classifier(lambda words: [0.1] * len(words), "ab")
    words, _ = balanced_words(box, 40, np.random.default_rng(0), max_length=5)
    assert len(words) > 12
