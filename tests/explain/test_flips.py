from itertools import product

import numpy as np
import pytest

import seqray
from classifier_boxes import THREE, all_words, remainder, remainder_automaton, three_classes
from seqray.explain.flips import find_flips
from seqray.util.errors import ArgumentError

NEVER = seqray.ClassifierAutomaton(
    "ab", [1], [[[1]], [[1]]], [[1, 0]], classes=["no", "yes"], question="decision"
)


def edit_distances(word, others):
    """Return the edit distance to each of other words, by the textbook recurrence."""
    distances = []
    for other in others:
        table = np.zeros((len(word) + 1, len(other) + 1), int)
        table[:, 0], table[0] = np.arange(len(word) + 1), np.arange(len(other) + 1)
        for i, j in product(range(1, len(word) + 1), range(1, len(other) + 1)):
            table[i, j] = min(
                table[i - 1, j] + 1,
                table[i, j - 1] + 1,
                table[i - 1, j - 1] + (word[i - 1] != other[j - 1]),
            )
        distances.append(int(table[-1, -1]))
    return np.array(distances)


def threes(symbols="ab"):
    """Return an automaton that says yes where a word has at least three a."""
    turn = np.eye(4)[[1, 2, 3, 3]]
    return seqray.ClassifierAutomaton(
        *(symbols, [1, 0, 0, 0], [turn, np.eye(4)], [[1, 0], [1, 0], [1, 0], [0, 1]]),
        classes=["no", "yes"],
    )


@pytest.mark.parametrize("word", ["", "a", "bab", "aaa", "abab", "aaaa"])
def test_no_word_of_another_class_is_nearer(word):
    automaton = threes()
    others = all_words("ab", 7)
    classes = np.array(automaton.decisions(others))
    wrong = classes != automaton.decisions([word])[0]
    nearest = edit_distances(word, others)[wrong].min()
    flips = find_flips(automaton, word).flips
    assert flips
    for flip in flips:
        assert len(flip.edits) == nearest
        assert edit_distances(word, [flip.word]) == nearest
        assert automaton.classify([flip.word]) == [flip.name] != automaton.classify([word])


def test_every_other_class_has_its_own_flips():
    flips = find_flips(remainder_automaton(), "abc", n_flips=2).flips
    assert sorted(flip.name for flip in flips) == ["one", "one", "two", "two"]
    assert all(THREE[remainder(flip.word)] == flip.name for flip in flips)


def test_only_what_the_box_confirms_is_suggested():
    box = three_classes()
    flips = find_flips(remainder_automaton(), "abcab", box=box).flips
    assert flips
    assert all(flip.is_confirmed and box.classify([flip.word]) == [flip.name] for flip in flips)


def test_a_box_that_decides_otherwise_refutes():
    box = seqray.classifier(lambda words: ["zero"] * len(words), "abc", THREE)
    search = find_flips(remainder_automaton(), "a", box=box, max_edits=1)
    assert search.flips == ()
    assert search.n_refuted > 0


def test_without_a_box_nothing_is_confirmed():
    assert {flip.is_confirmed for flip in find_flips(threes(), "aa").flips} == {None}


def test_a_box_with_a_limit_gets_no_longer_words():
    seen = []
    box = seqray.classifier(
        lambda words: [seen.append(len(w)) or w.count("a") >= 3 for w in words], "ab", max_length=3
    )
    flips = find_flips(threes(), "bbb", box=box).flips
    assert flips[0].word == ("a", "a", "a")
    assert max(seen) == 3


def test_a_class_that_no_word_has_is_not_found():
    search = find_flips(NEVER, "ab", max_edits=2)
    assert search.flips == ()
    assert search.max_edits == 2
    distances = edit_distances("ab", all_words("ab", 4))
    assert search.n_searched == np.isin(distances, (1, 2)).sum()


def test_a_search_ends_before_there_are_too_many_words():
    search = find_flips(NEVER, "ab" * 40, max_edits=3)
    assert search.max_edits == 1


def test_a_word_has_at_least_one_edit():
    with pytest.raises(ArgumentError, match="max_edits"):
        find_flips(threes(), "a", max_edits=0)


def test_a_search_prints_as_a_table():
    box = three_classes()
    text = str(find_flips(remainder_automaton(), "ab", box=box, n_flips=1))
    assert text.startswith("The fewest edits that change the decision\nedits")
    assert "confirmed" in text
    assert "The box gave 0 words another class: left out." in text
    assert "not queried" in str(find_flips(remainder_automaton(), "ab", n_flips=1))


def test_a_frame_has_one_row_per_edited_word():
    pytest.importorskip("pandas")
    search = find_flips(remainder_automaton(), "ab")
    frame = search.to_frame()
    assert frame["word"].tolist() == [flip.word for flip in search.flips]
    assert set(frame["class"]) == {"one", "two"}


def test_new_words_of_a_table_are_cut_between_symbols_and_never_alike():
    automaton = threes(["refund", "wait"])
    word = ["wait"] * 12 + ["refund", "refund"] + ["wait"] * 12
    search = find_flips(automaton, word)
    for is_short in (True, False):
        shown = [row[1] for row in search.section(is_short=is_short).rows]
        assert len(shown) == len(set(shown)) == 3
        assert {name for text in shown for name in text.split()} <= {"refund", "wait", "…"}
        assert any("…" in text for text in shown) == is_short
