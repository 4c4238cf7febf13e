"""Rounds of boxes that only give numbers: exact with few queries, and no word twice."""

import threading

import numpy as np
import pytest

from automata import FIGURE_1 as MACHINE
from automata import random_automaton
from functions import Count
from seqray import black_box, extract
from seqray.blackbox.queries.noise_probe import N_PROBED
from seqray.extraction.hankel.sizes import N_PREFIXES
from seqray.util.errors import StopReason

WORDS = ["", "a", "ab", "abba", "babbab", "aaaabbbb"]


class Machine:
    """An automaton of many states that keeps the words it was queried about."""

    def __init__(self, n_states=60):
        self.automaton, self.queried = random_automaton(1, n_states, size=8.0), []
        self.alphabet = self.automaton.alphabet

    def __call__(self, words):
        self.queried.extend(words)
        return self.automaton.weights(words)


def n_repeated(count):
    return len(count.queried) - len(set(map(tuple, count.queried)))


@pytest.mark.parametrize(
    ("answer", "n_states"),
    [
        (lambda word: word.count("a") - 1, 2),
        (lambda word: word.count("a") * 0.5 ** len(word), 2),
        (lambda word: word.count("ab") % 2, 3),
        (lambda word: 0.5, 1),
    ],
)
def test_a_small_function_is_found_exactly_with_few_queries(answer, n_states):
    count = Count(answer)
    extraction = extract(black_box(count, "ab"))
    best = extraction.best()
    assert best.n_states == n_states
    np.testing.assert_allclose(best.weights(WORDS), [answer(word) for word in WORDS], atol=1e-9)
    assert len(count.queried) < 10_000
    assert n_repeated(count) <= N_PROBED  # the noise probe alone sends words once more
    (only,) = extraction.settings.rounds
    assert only.questions == extraction.settings.questions == len(count.queried)
    assert extraction.stop_reason is None


def test_a_box_that_needs_many_prefixes_gets_further_rounds():
    machine = Machine(52)
    extraction = extract(black_box(machine, machine.alphabet))
    rounds = extraction.settings.rounds
    assert len(rounds) >= 2
    assert [each.prefixes for each in rounds] == [50 * 2**i for i in range(len(rounds))]
    assert [each.questions for each in rounds] == sorted(each.questions for each in rounds)
    assert rounds[0].score < 0.999 < rounds[-1].score
    assert extraction.best_rank() == 52
    assert n_repeated(machine) <= N_PROBED


def test_blocks_of_zeros_are_never_enough():
    count = Count(lambda word: 0.0)
    event = threading.Event()

    def stops(words):
        if len(count.queried) > 100_000:
            event.set()
        return count(words)

    extraction = extract(black_box(stops, "ab"), stop=event)
    assert extraction.stop_reason is StopReason.INTERRUPTED
    assert extraction.settings.rounds[-1].prefixes >= 100


@pytest.mark.parametrize(
    ("sizes", "last"), [({"n_prefixes": 120, "n_suffixes": 110}, 120), ({"n_suffixes": 20}, 800)]
)
def test_a_size_that_was_asked_for_is_queried(sizes, last):
    extraction = extract(black_box(MACHINE.weights, "ab"), max_rank=4, **sizes)
    assert [each.prefixes for each in extraction.settings.rounds] == [last]
    assert len(extraction.basis.suffixes) == sizes["n_suffixes"]


def test_an_interruption_between_rounds_loses_no_answer(tmp_path):
    event, machines = threading.Event(), []

    def interrupted(words):
        if len(machines[-1].queried) > 4000:
            event.set()
        return machines[-1](words)

    def run(**options):
        machines.append(Machine(12))
        box = black_box(interrupted, machines[0].alphabet, name="many states")
        return extract(box, store=tmp_path / "answers.sqlite", **options)

    first = run(stop=event)
    assert first.stop_reason is StopReason.INTERRUPTED
    assert first.settings.rounds[-1].prefixes < N_PREFIXES
    assert first.max_rank > 1
    second = run()
    assert second.stop_reason is None
    assert second.best_rank() == 12
    assert second.settings.queries_sent < second.settings.questions
    asked = [set(map(tuple, each.queried)) for each in machines]
    assert len(asked[0] & asked[1]) < 500  # checks of cached answers, and the noise probe
    assert len(asked[0]) > 4000


def test_a_budget_and_a_time_limit_end_rounds_with_what_is_known():
    machine = Machine()
    box = black_box(machine, machine.alphabet)
    extraction = extract(box, budget=20_000)
    assert extraction.stop_reason is StopReason.BUDGET
    assert extraction.settings.questions <= 20_000
    late = extract(black_box(machine, machine.alphabet), time_limit=1.0)
    assert late.stop_reason in (StopReason.TIME, None)
    assert late.max_rank > 1
