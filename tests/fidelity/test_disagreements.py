from itertools import product

import numpy as np
import pytest

import seqray
from automata import FIGURE_1
from large_alphabets import zipf_machine
from memory import peak_bytes
from seqray.automata.generators import random_machine
from seqray.fidelity.disagreements import disagreements
from seqray.util.errors import ArgumentError


def trapped(probability=0.9):
    """A machine over a and b that behaves otherwise after aaaa alone; and one that does not."""
    n = 6
    a, b = np.zeros((n, n)), np.zeros((n, n))
    for state in range(4):
        a[state, state + 1], b[state, 0] = 0.3, 0.4
    a[4, 5], b[4, 0] = 0.3, 0.4
    a[5, 5], b[5, 0] = 0.3, 0.4
    final = np.full(n, 0.3)
    plain = seqray.WeightedAutomaton("ab", np.eye(n)[0], [a, b], final)
    a, b = a.copy(), b.copy()
    a[4, 5], b[4, 0] = 0.0, probability
    final = final.copy()
    final[4] = 1 - probability
    return seqray.WeightedAutomaton("ab", np.eye(n)[0], [a, b], final), plain


def test_the_one_place_where_they_differ_is_found():
    box, plain = trapped()
    found = disagreements(box, plain, n_drawn=30, seed=1)
    assert found[0].word[-4:] == ("a",) * 4
    assert found[0].distance == pytest.approx(0.5)
    assert (found[0].box, found[0].automaton) == pytest.approx((0.9, 0.4))


def test_distances_are_those_of_the_next_symbols_by_brute_force():
    rng = np.random.default_rng(0)
    box, other = (random_machine("pfa", 4, 2, seed=rng) for _ in range(2))
    found = disagreements(box, other, n_rounds=2)
    for each in found:
        one, two = box.next_symbol([each.word])[0], other.next_symbol([each.word])[0]
        assert each.distance == pytest.approx(np.abs(one - two).sum() / 2)
        most = np.abs(one - two).argmax()
        assert (each.box, each.automaton) == pytest.approx((one[most], two[most]))
    assert [each.distance for each in found] == sorted((e.distance for e in found), reverse=True)
    words = [w for n in range(7) for w in product(box.alphabet, repeat=n)]
    worst = (np.abs(box.next_symbol(words) - other.next_symbol(words)).sum(axis=1) / 2).max()
    assert found[0].distance > 0.8 * worst


def test_search_finds_worse_words_than_drawing_does():
    box, plain = trapped()
    still = disagreements(box, plain, n_drawn=3, n_rounds=0, seed=3)
    moved = disagreements(box, plain, n_drawn=3, n_rounds=8, seed=3)
    assert moved[0].distance >= still[0].distance
    assert any(each.source == "search" for each in moved)


def test_numbers_of_words_are_compared_where_a_side_does_not_predict():
    box = seqray.black_box(lambda words: [len(w) - 100.0 * (w == "bb") for w in words], "ab")
    count = seqray.WeightedAutomaton("ab", [1, 0], [[[1, 1], [0, 1]]] * 2, [0, 1])
    found = disagreements(box, count, n_drawn=50, max_length=4)
    assert found[0].word == ("b", "b")
    assert found[0].distance == pytest.approx(100)
    assert {each.source for each in found} <= {"random", "search"}


def test_equal_ones_do_not_disagree_and_the_same_seed_finds_the_same():
    found = disagreements(FIGURE_1, FIGURE_1, n_drawn=20)
    assert max(each.distance for each in found) < 1e-12
    box, plain = trapped(0.6)
    assert disagreements(box, plain, seed=5) == disagreements(box, plain, seed=5)
    generator = np.random.default_rng(5)
    assert disagreements(box, plain, seed=generator) == disagreements(box, plain, seed=5)


def test_as_many_as_asked_for_of_each_kind_and_none_too_long():
    box, plain = trapped()
    found = disagreements(box, plain, n_words=3, max_length=7)
    kinds = [each.source for each in found]
    assert max(kinds.count(kind) for kind in kinds) == 3
    assert max(len(each.word) for each in found) <= 7


def test_bad_arguments_are_refused():
    with pytest.raises(ArgumentError, match="n_drawn"):
        disagreements(FIGURE_1, FIGURE_1, n_drawn=0)
    with pytest.raises(ArgumentError, match="same symbols"):
        disagreements(FIGURE_1, seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))


def test_the_search_keeps_to_words_that_the_box_can_read():
    def ask(prefixes):
        assert max(map(len, prefixes)) <= 3
        return [[0.5, 0.25, 0.25]] * len(prefixes)

    box = seqray.language_model(ask, "ab", max_length=3)
    off = seqray.WeightedAutomaton("ab", [1], [[[0.25]], [[0.5]]], [0.25])
    assert max(len(each.word) for each in disagreements(box, off)) == 3
    with pytest.raises(ArgumentError, match="reads words of at most 3 symbols, got 4"):
        disagreements(box, off, max_length=4)


@pytest.mark.slow(reason="thousands of symbols")
def test_the_search_over_thousands_of_symbols_takes_little_memory():
    machine, other = zipf_machine(), zipf_machine(n_states=2)
    found = []
    assert peak_bytes(lambda: found.extend(disagreements(machine, other, n_rounds=2))) < 500e6
    assert found[0].distance > 0.01


def test_of_given_words_only_their_prefixes_are_looked_at():
    box, plain = trapped()
    found = disagreements(box, plain, words=["aaaab", "b"], n_rounds=5)
    assert {each.word for each in found} == {tuple("aaaab"[:n]) for n in range(6)} | {("b",)}
    assert {each.source for each in found} == {"given"}
    assert found[0].word == ("a",) * 4
