"""Where no small deterministic automaton exists, a note says so early."""

import logging

import numpy as np
import pytest

import seqray
from deterministic_cases import decider, random_pdfa
from seqray.learning.growth import n_distinct


def fraction(prefixes):
    """Predict by all of the prefix: each has its own probabilities."""
    numbers = [sum(2.0 ** -(i + 1) for i, s in enumerate(p[::-1]) if s == "a") for p in prefixes]
    return [[0.4 * x + 0.1, 0.8 - 0.4 * x, 0.1] for x in numbers]


def test_distinct_rows_are_counted_within_a_tolerance():
    rows = np.linspace(0, 1, 11)[:, None]
    assert n_distinct(rows, 0.05) == 11
    assert n_distinct(rows, 0.11) == 6
    assert n_distinct(rows, 0.99) == 2


def test_a_box_that_remembers_everything_is_reported_with_what_it_would_take(caplog):
    box = seqray.language_model(fraction, "ab")
    with caplog.at_level(logging.WARNING):
        learned = seqray.learn_pdfa(box, tolerance=1e-4, budget=2000)
    assert learned.end is seqray.LearningEnd.BUDGET
    (record,) = caplog.records
    message = record.getMessage()
    assert "are states of their own" in message
    assert "at 0.05" in message
    assert "--tolerance" in message


def test_a_large_tolerance_has_nothing_larger_to_compare_with(caplog):
    def wild(prefixes):
        """Put nearly all on two symbols, chosen by the whole prefix, in one of three shares."""
        rows = np.full((len(prefixes), 41), 0.0005)
        for row, prefix in zip(rows, prefixes, strict=True):
            rng = np.random.default_rng([*prefix.encode()])
            first, second = rng.choice(40, 2, replace=False)
            row[first], row[second] = [(0.73, 0.25), (0.49, 0.49), (0.97, 0.01)][rng.integers(3)]
        return rows / rows.sum(axis=1, keepdims=True)

    with caplog.at_level(logging.WARNING):
        seqray.learn_pdfa(
            seqray.language_model(wild, [chr(65 + i) for i in range(40)]), tolerance=0.2, budget=900
        )
    assert any("as many states at any tolerance" in each.getMessage() for each in caplog.records)


def test_nothing_is_said_of_a_small_automaton(caplog):
    box = seqray.language_model(lambda prefixes: [[0.5, 0.25, 0.25]] * len(prefixes), "ab")
    seqray.learn_pdfa(box)
    seqray.learn_pdfa(random_pdfa(20, 26, 0))
    assert not caplog.records


@pytest.mark.parametrize("method", ["kv", "tree"])
def test_a_dfa_of_many_states_is_reported(method, caplog):
    box = decider(lambda word: len(word) % 150 == 0, "a")
    with caplog.at_level(logging.WARNING):
        learned = seqray.learn_dfa(
            box, method=method, max_length=400, n_words=300, words=["a" * 150, "a" * 300]
        )
    assert learned.automaton.n_states == 150
    (record,) = caplog.records
    message = record.getMessage()
    assert "a small deterministic automaton may not exist" in message
    assert message.index("--") == message.index("--max-length")


def test_states_that_only_counterexamples_show_are_reported(caplog):
    """After 5 equal states each state of a circle of 100 looks like the one before it."""

    def circle(prefixes):
        return [[0.45, 0.45, 0.1] if len(p) % 100 else [0.6, 0.3, 0.1] for p in prefixes]

    with caplog.at_level(logging.WARNING):
        learned = seqray.learn_pdfa(
            seqray.language_model(circle, "ab"), words=["a" * 100, "b" * 200], n_words=5
        )
    assert learned.automaton.n_states == 100
    (record,) = caplog.records
    assert "2 states became " in record.getMessage()
    assert "--min-probability" in record.getMessage()


def test_one_decision_for_all_words_is_reported_with_the_range_of_weights(caplog):
    box = seqray.black_box(lambda words: [len(word) / 100 for word in words], "a")
    with caplog.at_level(logging.WARNING):
        learned = seqray.learn_dfa(box, method="tree", max_length=8)
    assert learned.automaton.n_states == 1
    (record,) = caplog.records
    assert "the decision is no for every word that was queried" in record.getMessage()
    assert "from 0 to 0.08, and the threshold is 0.5" in record.getMessage()
    assert "--threshold" in record.getMessage()


def test_no_threshold_is_proposed_where_all_weights_are_equal(caplog):
    box = seqray.black_box(lambda words: [1.0] * len(words), "a")
    with caplog.at_level(logging.WARNING):
        seqray.learn_dfa(box, method="tree", max_length=8)
    (record,) = caplog.records
    assert "the decision is yes" in record.getMessage()
    assert "--threshold" not in record.getMessage()


def test_one_class_for_all_words_is_reported(caplog):
    box = seqray.classifier(lambda words: [[0.1, 0.7, 0.2]] * len(words), "a", ["x", "y", "z"])
    with caplog.at_level(logging.WARNING):
        seqray.learn_dfa(box, method="tree", max_length=8)
    (record,) = caplog.records
    assert "into the class y" in record.getMessage()
