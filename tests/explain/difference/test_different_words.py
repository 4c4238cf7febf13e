"""Words on which two sides differ most."""

import pytest

import seqray
from classifier_boxes import THREE, three_classes
from compared_pairs import chain, changed, moved, rarely
from explore.subjects import machine
from seqray.explain.difference.different_words import MAX_LISTED_WORDS, different_words
from seqray.explain.difference.distance import measure_distance


def words_of(a, b, words=None):
    words = None if words is None else a.alphabet.words(words)
    return different_words(measure_distance(a, b, words), a, b, words)


def test_answers_are_those_of_the_two_sides():
    a, b = machine(), changed(machine())
    found = words_of(a, b)
    assert 1 < len(found) <= MAX_LISTED_WORDS
    names = [*map(str, a.alphabet.symbols), "end"]
    for each in found:
        place = names.index(each.next)
        assert each.a == pytest.approx(a.next_symbol([each.word])[0, place])
        assert each.b == pytest.approx(b.next_symbol([each.word])[0, place])
    sizes = [float(f"{each.distance:.2g}") for each in found]
    assert sizes == sorted(sizes, reverse=True)


def test_one_word_stands_for_all_that_show_the_same_difference():
    found = words_of(chain(), chain((0.4, 0.4), 0.35))
    assert [(each.word, each.next) for each in found] == [((), "end")]


def test_a_difference_that_no_drawn_word_shows_is_searched():
    found = words_of(rarely(0.5), rarely(0.1))
    assert found[0].word[-11:] == ("a",) * 11
    assert found[0].distance == pytest.approx(0.4)
    assert found[0].source in ("random", "search")


def test_words_that_a_side_never_says_are_left_out():
    with_b, without = chain(), chain(to_second=0.0)
    assert not any("b" in each.word for each in words_of(with_b, without))
    assert words_of(machine(), moved(machine())) == ()


def test_of_given_words_only_prefixes_are_looked_at():
    queried = set()

    def rows(prefixes):
        queried.update(map("".join, prefixes))
        return [[0.5, 0.25, 0.25] for _ in prefixes]

    box = seqray.language_model(rows, "ab")
    found = words_of(chain(), box, ["ab"])
    assert {each.source for each in found} == {"given"}
    assert queried == {"", "a", "ab"}


def test_given_words_of_other_boxes_are_looked_at_alone():
    queried = set()

    def count(words):
        queried.update(words)
        return [len(word) for word in words]

    one = seqray.black_box(count, "a")
    two = seqray.black_box(lambda words: [2 * len(word) for word in words], "a")
    found = words_of(one, two, ["aa", "aaa"])
    assert [(each.word, each.a, each.b) for each in found] == [
        (("a",) * 3, 3, 6),
        (("a",) * 2, 2, 4),
    ]
    assert queried == {"aa", "aaa"}


def test_words_with_different_classes_are_listed_the_shortest_first():
    other = seqray.classifier(lambda words: [THREE[0] for _ in words], "abc", THREE)
    found = words_of(three_classes(), other, ["ab", "a", "a", "bb", "aab"])
    assert [("".join(each.word), each.a, each.b) for each in found] == [
        ("a", "one", "zero"),
        ("bb", "one", "zero"),
        ("aab", "one", "zero"),
    ]
    assert {each.source for each in found} == {"given"}
