"""`seqray.diff` as a whole."""

import pytest

import seqray
from classifier_boxes import THREE, remainder, three_classes
from compared_pairs import chain, changed, moved
from copied import copied
from explore.subjects import machine
from seqray.explain.difference.exact import exact_distance


class Model:
    """A box that predicts as an automaton does, and counts what it is queried."""

    def __init__(self, automaton, name):
        self.automaton, self.n_queries = automaton, 0
        self.box = seqray.language_model(self.rows, automaton.alphabet, name=name)

    def rows(self, prefixes):
        self.n_queries += len(prefixes)
        return self.automaton.next_symbol(prefixes)


@pytest.fixture
def models():
    return Model(chain(), "one"), Model(chain(to_second=0.45), "two")


def test_boxes_are_compared_as_the_automata_in_them(hasty, models, tmp_path):
    one, two = (model.box for model in models)
    difference = seqray.diff(one, two, store=tmp_path / "answers.sqlite")
    expected = exact_distance(models[0].automaton, models[1].automaton)
    for figure, bits in zip(difference.distance.figures, expected.bits_per_symbol, strict=True):
        assert figure.interval[0] <= bits <= figure.interval[1]
    steps = {(c.origin, c.symbol): c.b - c.a for c in difference.changes()}
    assert steps == pytest.approx({("start", "a"): -0.15, ("start", "b"): 0.15}, abs=0.01)
    assert difference.a.is_extracted
    assert difference.a.n_states == 2

    before = [model.n_queries for model in models]
    assert min(before) > 1000
    again = seqray.diff(one, two, store=tmp_path / "answers.sqlite")
    assert again.figure == difference.figure
    # A few cached answers are checked.
    assert all(model.n_queries - n <= 40 for model, n in zip(models, before, strict=True))


def test_given_words_are_all_that_is_queried_without_states(models):
    before = [model.n_queries for model in models]
    words = ["ab", "abb", ""]
    difference = seqray.diff(models[0].box, models[1].box, words=words, with_states=False)
    assert [model.n_queries - n for model, n in zip(models, before, strict=True)] == [4, 4]
    assert (difference.a.n_queries, difference.b.n_queries) == (4, 4)


def test_the_same_function_in_other_coordinates_is_no_difference():
    for other in (machine(), moved(machine())):
        same = seqray.diff(machine(), other)
        assert same.is_same
        assert same.changes() == ()
        assert same.different == ()


def test_the_same_seed_gives_the_same_difference():
    one, two = (seqray.diff(machine(), changed(machine()), seed=3) for _ in range(2))
    assert one.to_json() == two.to_json()
    assert one.seed == 3


def test_classifiers_are_read_as_moore_machines():
    def other(words):
        return [THREE[0 if word.endswith("cc") else remainder(word[:-1])] for word in words]

    difference = seqray.diff(three_classes(), seqray.classifier(other, "abc", THREE))
    assert difference.a.n_states == 3
    for named in (difference.states.a, difference.states.b):
        assert set(named.automaton.transitions.ravel()) == {0, 1}
    assert difference.states.loss_a == 0


def test_a_run_is_compared_as_its_copy_and_read_as_its_small_automaton():
    difference = seqray.diff(copied(), copied().best())
    assert difference.is_same
    assert difference.a.n_states == 2
    assert difference.b.n_states == 7


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(seqray.ArgumentError, match="alphabets differ"):
        seqray.diff(chain(), machine())
    with pytest.raises(seqray.ArgumentError, match="nowhere"):
        seqray.diff("nowhere.json", chain())
