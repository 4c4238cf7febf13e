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
    assert "a small deterministic automaton may not exist" in record.getMessage()
