import logging
import re
import time
from types import SimpleNamespace

import pytest

from automata import FIGURE_1 as MACHINE
from functions import Count
from seqray import black_box, extract, language_model, uniform_basis
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.estimate import MANY_QUERIES, log_estimate, measured_speed
from seqray.extraction.hankel.default_cost import default_cost
from seqray.extraction.job import Job
from seqray.extraction.request import Request
from seqray.extraction.self_check import check
from seqray.util.errors import ArgumentError

NAME = "seqray.extraction.estimate"


def job(box, budget=None, time_limit=None):
    return Job(open_oracle(box, Meter(Limits(budget, time_limit))), Request(), None)


def estimates(caplog):
    return [record for record in caplog.records if record.name == NAME]


@pytest.mark.parametrize(
    ("n_queries", "speed", "level"),
    [
        (1000, None, logging.INFO),
        (MANY_QUERIES + 1, None, logging.WARNING),
        (MANY_QUERIES + 1, 1e-6, logging.INFO),
        (1000, 2.0, logging.WARNING),
    ],
)
def test_much_work_is_a_warning(caplog, n_queries, speed, level):
    caplog.set_level(logging.INFO)
    log_estimate(job(black_box(Count(), "ab")), n_queries, "words", speed)
    (record,) = estimates(caplog)
    assert record.levelno == level
    assert record.getMessage().startswith(
        f"at most about {n_queries:,} words are queried (2 symbols)"
    )
    assert (" or less" in record.getMessage()) == (speed is not None)


def test_a_budget_is_the_most_and_an_automaton_is_free(caplog):
    caplog.set_level(logging.INFO)
    log_estimate(job(MACHINE), 1000, "words", None)
    assert not estimates(caplog)
    log_estimate(job(black_box(Count(), "ab"), budget=70), 1000, "words", None)
    assert "at most about 70 words" in estimates(caplog)[0].getMessage()


@pytest.mark.parametrize(("time_limit", "is_said"), [(30, True), (3000, False), (None, False)])
def test_a_time_limit_is_the_most(caplog, time_limit, is_said):
    caplog.set_level(logging.INFO)
    log_estimate(job(black_box(Count(), "ab"), time_limit=time_limit), 1000, "words", 0.5, "a note")
    message = estimates(caplog)[0].getMessage()
    assert (", but no longer than 30 s; a note" in message) == is_said
    assert message.endswith("; a note")


def test_the_speed_is_measured_on_words_that_are_queried_anyway():
    count = Count()
    one = job(black_box(count, "ab"))
    basis = uniform_basis(one.oracle.alphabet, 50, 50, seed=0)
    assert 0 < measured_speed(one, basis) < 1
    words = set(basis.prefixes.followed_by(basis.suffixes))
    assert {tuple(word) for word in count.queried} <= words
    assert measured_speed(job(black_box(count, "ab"), budget=1000), basis) is None


def test_what_a_box_does_once_is_not_counted_for_every_word():
    once = [0.5]

    def slow_at_first(words):
        time.sleep(once.pop() if once else 0)
        return [len(word) for word in words]

    one = job(black_box(slow_at_first, "ab"))
    assert measured_speed(one, uniform_basis(one.oracle.alphabet, 50, 50, seed=0)) < 0.5 / 16


@pytest.mark.parametrize(
    ("fixed", "per_word", "expected"),
    [(0.6, 0.0, 3 * 0.6 / 1024), (0.0, 0.3, 0.3), (0.05, 0.01, 0.013)],
)
def test_the_speed_is_that_of_as_many_words_as_are_queried_at_once(
    monkeypatch, fixed, per_word, expected
):
    clock = SimpleNamespace(seconds=0.0)
    for module in ("blackbox.native.function", "blackbox.queries.limits"):
        now = SimpleNamespace(monotonic=lambda: clock.seconds)
        monkeypatch.setattr(f"seqray.{module}.time", now)

    def slow(words):
        clock.seconds += fixed + per_word * len(words)
        return [len(word) for word in words]

    one = job(black_box(slow, "abcd"))
    basis = uniform_basis(one.oracle.alphabet, 50, 50, seed=0)
    assert measured_speed(one, basis) == pytest.approx(expected, rel=0.3)


def test_an_extraction_has_one_estimate_that_agrees_with_the_check(caplog):
    caplog.set_level(logging.INFO)
    extract(black_box(Count(), "ab"))
    (record,) = estimates(caplog)
    assert f"after at most {default_cost(2).n_words:,} words" in record.getMessage()
    assert "rounds end where nothing is left to learn" in record.getMessage()
    (speed,) = (each for each in check(black_box(Count(), "ab")) if each.name == "speed")
    assert f"at most {default_cost(2).n_words:,} words" in speed.advice


def test_a_box_that_predicts_has_one_estimate_whatever_the_rounds(caplog):
    caplog.set_level(logging.INFO)
    box = language_model(lambda prefixes: [[0.5, 0.25, 0.25]] * len(prefixes), "ab")
    extract(box, n_prefixes=60, target=0.99)
    assert len(estimates(caplog)) == 1


@pytest.mark.slow(reason="thousands of symbols")
def test_a_box_of_ten_thousand_symbols_is_queried_in_small_rounds(caplog):
    count = Count(lambda word: 0.5 ** len(word))
    extraction = extract(black_box(count, range(10_000)), max_rank=3)
    assert extraction.best_rank() == 1
    assert len(count.queried) < 500_000
    assert "10,000 symbols: at most 70 × 70 prefixes and suffixes are queried" in caplog.text
    with pytest.raises(ArgumentError, match="10,000 symbols"):
        extract(black_box(count, range(10_000)), n_prefixes=800, n_suffixes=800)


class Slow:
    """A box with states: a batch of steps takes a fixed time and a time per step, by a clock."""

    alphabet = MACHINE.alphabet

    def __init__(self, clock):
        self.clock, self.at_first = clock, 100.0

    def weights(self, words):
        return MACHINE.weights(words)

    def start(self):
        return MACHINE.start()

    def step(self, states, parents, symbols):
        self.clock.seconds += self.at_first + 0.05 + 0.001 * len(parents)
        self.at_first = 0.0
        return MACHINE.step(states, parents, symbols)

    def state_weights(self, states):
        return MACHINE.state_weights(states)

    def state_next_symbol(self, states):
        return MACHINE.state_next_symbol(states)


def test_a_network_is_estimated_at_the_speed_of_its_large_batches(caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    clock = SimpleNamespace(seconds=0.0)
    now = SimpleNamespace(monotonic=lambda: clock.seconds)
    monkeypatch.setattr("seqray.blackbox.queries.limits.time", now)
    extract(Slow(clock), purpose="reading", max_rank=2, n_prefixes=100)
    message = estimates(caplog)[0].getMessage()
    n_steps, seconds = re.search(r"about ([\d,]+) steps .* about (\d+) s", message).groups()
    expected = 0.001 * int(n_steps.replace(",", ""))
    assert expected < int(seconds) < 3 * expected


def test_what_the_first_round_takes_decides_whether_it_is_a_warning(caplog):
    caplog.set_level(logging.INFO)
    box = job(black_box(Count(), "ab"))
    log_estimate(box, 98_000_000, "words", 0.001, n_first=160_000)
    log_estimate(box, 98_000_000, "words", 0.1, n_first=160_000)
    short, long = estimates(caplog)
    assert [short.levelname, long.levelname] == ["INFO", "WARNING"]
    assert short.getMessage() == (
        "the first round queries about 160,000 words (2 symbols), which takes about 3 min; "
        "rounds end where nothing is left to learn, after at most 98,000,000 words and 27.2 h"
    )
