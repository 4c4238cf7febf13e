import dataclasses

import numpy as np
import pytest

from functions import Count
from seqray import Alphabet, black_box
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.util.errors import BlackBoxError, Stopped

AB = Alphabet("ab")


@pytest.fixture
def store(tmp_path):
    with AnswerStore(tmp_path / "answers.sqlite") as opened:
        yield opened


def test_a_box_that_has_changed_is_found_out(store):
    open_oracle(black_box(Count(), "ab", name="f"), cache=store).weights(["", "a"])
    with pytest.raises(
        BlackBoxError,
        match=r"has changed: for the word 'a' it answers 7, and 1.5 is cached: .*prune --store '",
    ):
        open_oracle(black_box(Count(lambda w: 7), "ab", name="f"), cache=store)
    other = open_oracle(black_box(Count(lambda w: 7), "ab", name="g"), cache=store)
    assert other.weights(["a"]).tolist() == [7]


def test_a_box_that_says_to_be_deterministic_may_have_changed_too(store):
    open_oracle(black_box(Count(), "ab", name="f"), cache=store).weights(["", "a"])
    box = black_box(Count(lambda w: 7), "ab", name="f")
    box = dataclasses.replace(box, backend=dataclasses.replace(box.backend, deterministic=True))
    with pytest.raises(BlackBoxError, match="has changed"):
        open_oracle(box, cache=store)


def test_a_change_that_only_few_cached_answers_show_is_found_when_they_are_used(store):
    words = AB.words([[*f"{i:012b}".replace("0", "a").replace("1", "b")] for i in range(4096)])
    open_oracle(black_box(Count(), "ab", name="f"), cache=store).weights(words)
    changed = Count(lambda w: 7 if w.startswith("bbbab") else len(w) + 0.5)
    with pytest.raises(BlackBoxError, match="has changed"):
        open_oracle(black_box(changed, "ab", name="f"), cache=store).weights(words)


def test_a_noisy_box_that_has_changed_is_found_out(store):
    rng = np.random.default_rng(0)
    words = AB.words(["a" * n for n in range(20)])

    def noisy(shift):
        return Count(lambda w: len(w) + shift + 1e-3 * rng.normal())

    for _ in range(2):
        open_oracle(black_box(noisy(1), "ab", name="f"), cache=store).weights(words)
    with pytest.raises(BlackBoxError, match="has changed"):
        open_oracle(black_box(noisy(2), "ab", name="f"), cache=store)


def test_checks_of_cached_answers_are_within_the_budget(store):
    words = AB.words(["a" * n for n in range(30)])
    open_oracle(black_box(Count(), "ab", name="f"), cache=store).weights(words)
    count, meter = Count(), Meter(Limits(budget=40))
    box = open_oracle(black_box(count, "ab", name="f"), meter, cache=store)
    box.weights(words)
    with pytest.raises(Stopped):
        box.weights(["b" * n for n in range(1, 30)])
    assert 30 < meter.n_queries <= 40
    assert meter.n_sent == len(count.queried) < meter.n_queries
