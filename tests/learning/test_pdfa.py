"""PDFA from boxes that predict: exact where there is one, usable at any time."""

import threading

import numpy as np
import pytest

import seqray
from deterministic_cases import all_words, random_pdfa, same_predictions
from seqray import ArgumentError, LearningEnd, WeightedAutomaton, learn_pdfa
from seqray.automata.deterministic import is_deterministic
from seqray.learning.pdfa import readable


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("zeros", [0.0, 0.6])
def test_random_machines_come_back_exactly(seed, zeros):
    machine = random_pdfa(60, 3, seed, zeros)
    learned = learn_pdfa(machine, tolerance=1e-3)
    assert learned.end is LearningEnd.COMPLETE
    assert is_deterministic(learned.automaton)
    assert learned.automaton.n_states <= machine.n_states
    assert learned.largest_distance < 1e-12
    assert same_predictions(machine, learned.automaton)


@pytest.mark.parametrize("seed", range(3))
def test_quantised_rows_give_the_same_machine(seed):
    machine = random_pdfa(40, 2, seed)
    learned = learn_pdfa(machine, partitions=1000)
    assert same_predictions(machine, learned.automaton)


def test_a_large_tolerance_merges_states_and_says_how_far_it_is_off():
    rng = np.random.default_rng(0)
    table, rows = rng.integers(0, 60, (60, 2)), 0.3 + 0.05 * rng.random((60, 3))
    machine = seqray.deterministic_pfa("ab", table, rows / rows.sum(axis=1, keepdims=True))
    exact, merged = (learn_pdfa(machine, tolerance=each) for each in (1e-4, 0.04))
    assert merged.automaton.n_states < exact.automaton.n_states <= machine.n_states
    assert 0.001 < merged.largest_distance <= 0.04


def test_states_that_predict_alike_are_separated_by_what_follows():
    """Only the third symbol differs: it depends on the first one."""

    def third(prefixes):
        rows = {True: [0.8, 0.1, 0.1], False: [0.1, 0.8, 0.1]}
        return [
            rows[p[0] == "a"] if len(p) == 2 else [0.0, 0.0, 1.0] if len(p) > 2 else [0.5, 0.5, 0]
            for p in prefixes
        ]

    learned = learn_pdfa(seqray.language_model(third, "ab"))
    assert learned.automaton.n_states == 6  # λ, a, b, aa=ab, ba=bb, and the end
    assert learned.automaton.next_symbol(["ab", "bb"]).tolist() == [
        [0.8, 0.1, 0.1],
        [0.1, 0.8, 0.1],
    ]


def test_given_words_show_what_drawn_words_do_not():
    def trigger(prefixes):
        return [[0.1, 0.1, 0.8] if "b" * 7 in p else [0.49, 0.01, 0.5] for p in prefixes]

    box = seqray.language_model(trigger, "ab")
    options = {"n_words": 5, "seed": 1}
    without = learn_pdfa(box, **options)
    learned = learn_pdfa(box, words=["b" * 7], **options)
    assert without.automaton.n_states == 1
    assert learned.automaton.n_states == 8
    assert learned.automaton.next_symbol(["a" + "b" * 7 + "a"]).tolist() == [[0.1, 0.1, 0.8]]


def test_improbable_symbols_need_not_be_followed():
    def rare(prefixes):
        assert all("b" not in prefix for prefix in prefixes)
        return [[0.5, 0.001, 0.499]] * len(prefixes)

    learned = learn_pdfa(seqray.language_model(rare, "ab"), min_probability=0.01)
    assert learned.automaton.next_symbol(["", "b"]) == pytest.approx(
        np.array([[0.5, 0.001, 0.499]] * 2)
    )
    assert learned.automaton.elsewhere is None


def test_a_box_that_leaks_gives_an_automaton_that_leaks():
    leaking = WeightedAutomaton("a", [1], [[[0.5]]], [0.25], elsewhere=[0.25])
    learned = learn_pdfa(leaking)
    assert learned.automaton.elsewhere.tolist() == [0.25]
    assert learned.automaton.next_symbol(["a"]).tolist() == [[0.5, 0.25]]


@pytest.mark.parametrize("budget", [1, 2, 10, 100])
def test_a_budget_is_kept_and_the_automaton_usable(budget):
    machine = random_pdfa(60, 2, 0)
    learned = learn_pdfa(machine, budget=budget)
    assert learned.end is LearningEnd.BUDGET
    assert learned.n_queries <= budget
    assert learned.automaton.next_symbol([[0, 1]]).sum() == pytest.approx(1)


def test_an_interrupt_leaves_an_automaton():
    stop = threading.Event()

    def slow(prefixes):
        if max(map(len, prefixes)) > 3:
            stop.set()
        return [[0.4 - 0.01 * p.count("a"), 0.4, 0.2 + 0.01 * p.count("a")] for p in prefixes]

    learned = learn_pdfa(seqray.language_model(slow, "ab"), stop=stop, tolerance=0.001)
    assert learned.end is LearningEnd.INTERRUPTED
    assert learned.automaton.n_states > 1


def test_at_the_most_states_the_nearest_ones_are_taken():
    learned = learn_pdfa(random_pdfa(60, 2, 0), max_states=10)
    assert learned.end is LearningEnd.MAX_STATES
    assert learned.automaton.n_states == 10


def test_the_longest_word_of_a_box_is_kept():
    def short(prefixes):
        assert max(map(len, prefixes)) <= 5
        return [[0.3 + 0.1 * (len(p) % 5), 0.7 - 0.1 * (len(p) % 5)] for p in prefixes]

    learned = learn_pdfa(seqray.language_model(short, "a", max_length=5), tolerance=0.001)
    assert learned.automaton.n_states == 5


def test_given_words_are_read_as_far_as_the_box_reads():
    def short(prefixes):
        assert max(map(len, prefixes)) <= 8
        return [
            [0.5, 0.3, 0.2] if p.count("a") % 5 == 4 and p.endswith("ab") else [0.2, 0.2, 0.6]
            for p in prefixes
        ]

    box = seqray.language_model(short, "ab", max_length=8)
    words = ["a" * 12, "aaaabab"]
    learned = learn_pdfa(box, words=words)
    prefixes = all_words("ab", 8)
    assert learned.end is LearningEnd.COMPLETE
    assert learned.largest_distance == 0
    assert np.allclose(learned.automaton.next_symbol(["aaaab"]), [0.5, 0.3, 0.2])
    share = np.isclose(learned.automaton.next_symbol(prefixes), box.next_symbol(prefixes)).mean()
    assert share > 0.95


def test_access_words_lead_to_their_states():
    machine = random_pdfa(30, 2, 0)
    learned = learn_pdfa(machine, tolerance=1e-3)
    rows = learned.automaton.next_symbol(learned.access_words)
    assert np.allclose(rows, learned.automaton.emission, rtol=0, atol=1e-12)


def test_a_box_of_numbers_is_refused():
    box = seqray.black_box(lambda words: [len(word) for word in words], "ab")
    with pytest.raises(ArgumentError, match="does not predict next symbols"):
        learn_pdfa(box)
    with pytest.raises(ArgumentError, match="min_probability: expected 0 or more"):
        learn_pdfa(random_pdfa(3, 2, 0), min_probability=1)


def test_an_automaton_with_negative_weights_is_read_as_a_distribution():
    a, b = [[0.6, -0.1], [0.1, 0.2]], [[0, 0.2], [0, 0]]
    wa = WeightedAutomaton("ab", [1, 0], [a, b], [0.3, 0.7])
    learned = learn_pdfa(wa, tolerance=0.02)
    words = ["", "a", "ab", "aab"]
    box = readable(wa)
    assert learned.automaton.weights(words) == pytest.approx(box.weights(words), abs=0.02)


def test_the_automaton_is_saved_and_drawn_like_any_other(tmp_path):
    learned = learn_pdfa(random_pdfa(5, 2, 0), tolerance=1e-3)
    learned.automaton.save(tmp_path / "pdfa.json")
    assert seqray.open_black_box(tmp_path / "pdfa.json").allclose(learned.automaton)
    assert "<svg" in seqray.to_svg(learned)


def test_a_classifier_is_sent_to_the_learner_of_moore_machines():
    box = seqray.classifier(lambda words: [[0.1, 0.7, 0.2]] * len(words), "a", ["x", "y", "z"])
    with pytest.raises(ArgumentError, match=r"Moore machine of its classes \(seqray.learn_dfa"):
        seqray.learn_pdfa(box)
