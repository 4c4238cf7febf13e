import itertools
import threading

import numpy as np
import pytest

import seqray
from growing import blocks_of, rare_machine
from seqray import WeightedAutomaton, black_box, extract
from seqray.automata.generators import random_machine
from seqray.extraction.hankel.growth import (
    counterexamples,
    grown_basis,
    independent_rows,
    sizes_up_to,
)
from seqray.extraction.hankel.plan import Plan
from seqray.extraction.settings import HANKEL
from told import rng


@pytest.mark.parametrize("sizes", [(800, 800), (100, 700), (76, 10), (75, 75), (1, 1)])
def test_sizes_double_and_end_with_what_was_wanted(sizes):
    found = sizes_up_to(*sizes)
    assert found[-1] == sizes
    assert max(found[0]) <= HANKEL.max_first_size
    for small, large in itertools.pairwise(found):
        assert 1.9 < max(large) / max(small) < 2.1
        assert small[0] <= large[0]
        assert small[1] <= large[1]


def test_where_all_words_weigh_nothing_the_basis_is_uniform():
    blocks = blocks_of(black_box(lambda words: [0] * len(words), "ab"))
    basis = grown_basis(
        blocks, lambda words: np.zeros(len(words)), 60, 50, seed=rng(), max_length=30
    )
    assert (len(basis.prefixes), len(basis.suffixes)) == (60, 50)


def test_independent_rows_span_all_rows():
    matrix = rng(1).standard_normal((40, 6)) @ rng(2).standard_normal((6, 30))
    rows = independent_rows(matrix)
    assert len(rows) == len(set(rows.tolist())) == 6
    assert np.linalg.matrix_rank(matrix[rows]) == 6
    assert len(independent_rows(rng(3).standard_normal((300, 300)))) == HANKEL.max_independent_rows
    assert independent_rows(np.zeros((3, 2))).tolist() == [0]


def test_a_grown_basis_is_closed_and_keeps_to_the_longest_word():
    box = random_machine("pfa", 5, 3, seed=rng(1))
    basis = grown_basis(blocks_of(box), box.weights, 90, 80, seed=rng(), max_length=4)
    assert (len(basis.prefixes), len(basis.suffixes)) == (90, 80)  # Basis checks that it is closed
    assert max(basis.prefixes.lengths.max(), basis.suffixes.lengths.max()) <= 4
    again = grown_basis(blocks_of(box), box.weights, 90, 80, seed=rng(), max_length=4)
    assert again.prefixes == basis.prefixes
    assert again.suffixes == basis.suffixes


def test_states_that_uniform_words_hardly_reach_are_found():
    machine = rare_machine(5)
    box = black_box(machine.weights, "abcd")
    found, uniform = (
        extract(box, n_prefixes=120, n_suffixes=120, basis=basis) for basis in (None, "uniform")
    )
    assert found.settings["basis"] == "grown"
    words = machine.sample(200, seed=rng(4)).words
    np.testing.assert_allclose(found.best().weights(words), machine.weights(words), atol=1e-8)
    assert found.max_rank == machine.n_states > uniform.max_rank


def test_states_many_symbols_away_are_found_at_once():
    length = 12
    ends = rng(5).uniform(0.2, 0.8, length + 1)
    a = np.diag(1 - ends[:-1], 1)
    machine = WeightedAutomaton("abcd", np.eye(length + 1)[0], [a, 0 * a, 0 * a, 0 * a], ends)
    small = blocks_of(machine)
    assert np.linalg.matrix_rank(small.block()) < 6
    basis = grown_basis(small, machine.weights, 80, 80, seed=rng(), max_length=30)
    found = extract(machine, method="weighted", basis=basis)
    assert found.max_rank == machine.n_states


@pytest.mark.parametrize(
    "function",
    [
        lambda word: 0.5 ** len(word),
        lambda word: (-1.0) ** word.count("a") * 0.7 ** len(word),
        lambda word: float(len(word) % 3 == 0),
        lambda word: 2.0 ** word.count("b"),
        lambda word: word.count("a") - 2.0 * word.count("b"),
        lambda word: float(word == "abab"),
    ],
    ids=["distribution", "signs", "periodic", "growing", "counting", "zero almost everywhere"],
)
def test_functions_of_every_kind_come_back(function):
    box = black_box(lambda words: [function(word) for word in words], "ab")
    found = extract(box, n_prefixes=90, n_suffixes=90)
    words = ["".join(word) for n in range(9) for word in itertools.product("ab", repeat=n)]
    expected = np.array([function(word) for word in words])
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found.best().weights(words) / scale, expected / scale, atol=1e-8)
    fidelity = seqray.compare(box, found.best(), words)
    assert fidelity["relative_error"] < 1e-7
    assert fidelity["sign_agreement"] == pytest.approx(1, abs=0.02)
    assert fidelity["correlation"] == pytest.approx(1)


def test_a_box_is_asked_about_no_word_twice():
    asked = []

    def function(words):
        asked.extend(words)
        return [0.5 ** len(word) for word in words]

    found = extract(black_box(function, "ab"), n_prefixes=150, n_suffixes=100)
    probes = 16  # asked once more, to see whether the box changes its mind
    assert len(asked) <= len(set(asked)) + probes
    assert found.settings["questions"] == found.settings["queries_sent"] == len(asked)
    assert 0 < found.settings["validation_questions"] < 0.5 * len(asked)


# Counterexamples, and enough ----------------------------------------------------------------------


def surprising(word):
    """Halves with each symbol, but not after "cab": a word in a thousand."""
    return 0.5 ** len(word) * (8.0 if "cab" in word else 1.0)


def test_counterexamples_are_where_a_guess_is_wrong():
    box = black_box(lambda words: [surprising(word) for word in words], "abc")
    guess = black_box(lambda words: [0.5 ** len(word) for word in words], "abc")
    found = counterexamples(blocks_of(box, 60, 60), box.weights, guess.weights, 9, seed=rng())
    assert 0 < len(found) <= 9
    assert all("cab" in "".join(word) for word in found)
    right = counterexamples(blocks_of(box, 60, 60), box.weights, box.weights, 9, seed=rng())
    assert not len(right)


def test_a_grown_basis_has_the_parts_of_the_words_that_were_wrong():
    box = random_machine("pfa", 5, 3, seed=rng(1))
    wrong = box.alphabet.words([[*box.alphabet] * 5] * 40)
    basis = grown_basis(
        blocks_of(box), box.weights, 90, 80, seed=rng(), max_length=20, extra_words=wrong
    )
    assert basis.prefixes.lengths.max() > 9
    assert basis.suffixes.lengths.max() > 9


@pytest.mark.parametrize("steps", [False, True])
def test_asking_ends_when_there_is_enough(steps):
    machine = random_machine("pfa", 5, 2, seed=rng(1))
    box = Numbers(machine) if steps else black_box(machine.weights, machine.alphabet)
    whole, some = (
        extract(box, n_prefixes=200, n_suffixes=200, target=target) for target in (None, 0.99)
    )
    rounds = some.settings["rounds"]
    assert [each["prefixes"] for each in rounds] == [50, 100]  # one alone might be luck
    assert all(each["score"] > 0.99 for each in rounds)
    cost = "steps" if steps else "questions"
    assert rounds[-1]["questions"] <= some.settings[cost] < whole.settings[cost] / 2
    assert len(whole.settings["rounds"]) == 1
    assert some.settings["stopped"] == whole.settings["stopped"] == ""
    words = machine.sample(99, seed=rng(4)).words
    np.testing.assert_allclose(some.best().weights(words), machine.weights(words), rtol=1e-6)


def test_asking_goes_on_where_there_is_not_enough(caplog):
    found = extract(
        black_box(rare_machine().weights, "abcd"), n_prefixes=90, n_suffixes=90, target=1
    )
    assert [each["prefixes"] for each in found.settings["rounds"]] == [45, 90]
    assert "the target of 1 was not reached" in caplog.text


def test_a_box_of_no_finite_rank_is_not_asked_for_more_and_more():
    box = black_box(
        lambda words: [np.tanh(0.3 * (w.count("a") - w.count("b"))) for w in words], "ab"
    )
    found = extract(box, n_prefixes=100, n_suffixes=100)
    assert found.settings["questions"] < 5 * Plan.of(found.basis).n_queries


@pytest.mark.parametrize("n_asked", [9000, 60_000])
def test_somebody_who_says_stop_while_the_basis_grows_gets_what_is_known(n_asked):
    machine = random_machine("pfa", 8, 4, seed=rng(1))
    stop, asked = threading.Event(), []

    def function(words):
        asked.extend(words)
        if len(asked) > n_asked:
            stop.set()
        return machine.weights(words)

    box = black_box(function, machine.alphabet, batch_size=256)
    found = extract(box, n_prefixes=200, n_suffixes=200, stop=stop)
    assert found.settings["stopped"] == "interrupted"
    assert found.settings["prefixes"] in ([50] if n_asked == 9000 else range(51, 101))
    assert found.settings["questions"] <= len(asked) < n_asked + 300
    words = machine.sample(99, seed=rng(4)).words
    np.testing.assert_allclose(found.best().weights(words), machine.weights(words), rtol=1e-6)


class Numbers:
    """A box with states that gives numbers and no more."""

    def __init__(self, machine):
        self.alphabet, self.weights = machine.alphabet, machine.weights
        self.start, self.step = machine.start, machine.step
        self.state_weights = machine.state_weights
