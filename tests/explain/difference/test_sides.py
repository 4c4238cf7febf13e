"""What can be compared, and what is refused."""

import pytest

import seqray
from classifier_boxes import three_classes
from compared_pairs import chain
from copied import copied
from seqray.explain.difference.sides import MAX_READ_STATES, check_comparable, open_side


def test_an_automaton_a_file_and_an_extraction_are_compared_as_automata(tmp_path):
    path = tmp_path / "chain.json"
    chain().save(path)
    for given, name in ((chain(), "A"), (str(path), str(path)), (path, str(path))):
        side = open_side(given, "A")
        assert side.name == name
        assert side.automaton is not None
        assert side.reading.n_states == 2
        assert not side.is_cached
        assert not side.classifies


def test_an_extraction_is_queried_as_its_copy_and_read_as_its_small_automaton():
    extraction = copied()
    side = open_side(extraction, "A")
    assert side.automaton.n_states == extraction.best().n_states == 7
    assert side.reading.n_states == extraction.best(purpose="reading").n_states == 2


def test_a_box_is_queried_and_its_answers_are_worth_caching():
    side = open_side(three_classes(), "A")
    assert side.automaton is side.reading is None
    assert side.is_cached
    assert side.classifies


def test_an_automaton_with_many_states_has_none_to_read():
    n = MAX_READ_STATES + 1
    large = seqray.deterministic_pfa("a", [[(q + 1) % n] for q in range(n)], [[0.5, 0.5]] * n)
    assert open_side(large, "A").reading is None


def test_options_are_for_boxes(tmp_path):
    chain().save(tmp_path / "chain.json")
    assert open_side(f"wa:{tmp_path / 'chain.json'}", "A", {"timeout": 3}).automaton is not None
    with pytest.raises(seqray.ArgumentError, match="timeout"):
        open_side("demo", "A", {"timeout": 3})


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ("abc", "abd", r"A has 'c', which B has not; B has 'd', which A has not: expected the sam"),
        ("ab", "ba", r"A and B have the same symbols in another order, .*: expected one order"),
        (range(30), range(2), r"A has 2, 3, .* and 20 more, which B has not: expected"),
    ],
)
def test_other_symbols_are_refused_by_name(one, other, message):
    sides = [
        open_side(seqray.WeightedAutomaton(each, [1], [[[0.1]]] * len(each), [0.1]), letter)
        for each, letter in ((one, "A"), (other, "B"))
    ]
    with pytest.raises(seqray.ArgumentError, match=message):
        check_comparable(*sides)


def test_a_classifier_is_compared_with_classifiers_alone():
    numbers = seqray.black_box(lambda words: [0.0 for _ in words], "abc", name="numbers")
    sides = open_side(three_classes(), "A"), open_side(numbers, "B")
    with pytest.raises(seqray.ArgumentError, match=r"decides for classes, .* gives numbers"):
        check_comparable(*sides)
    other = seqray.classifier(lambda words: [0 for _ in words], "abc", ["no", "yes"])
    sides = open_side(other, "A"), open_side(three_classes(), "B")
    with pytest.raises(seqray.ArgumentError, match=r"has no, yes; .* has zero, one, two: expected"):
        check_comparable(*sides)
