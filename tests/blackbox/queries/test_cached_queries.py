import threading
import time

import numpy as np
import pytest

from functions import Count, halves
from seqray import Alphabet, black_box, language_model
from seqray.automata.sampling import sample
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.util.errors import BlackBoxError, Stopped

AB = Alphabet("ab")


@pytest.fixture
def store(tmp_path):
    with AnswerStore(tmp_path / "answers.sqlite") as opened:
        yield opened


def test_a_word_is_queried_once_whatever_the_batches(store):
    count = Count()
    box = open_oracle(black_box(count, "ab", name="f"), cache=store)
    expected = [2.5, 0.5, 1.5, 2.5]
    assert box.weights(["ab", "", "a", "ab"]).tolist() == expected
    assert box.weights(["ab", "", "a", "ab"]).tolist() == expected
    assert box.weights(["b", "a"]).tolist() == [1.5, 1.5]
    assert sorted(count.queried) == ["", "a", "ab", "b"]


def test_answers_are_there_for_the_next_run(store):
    words = ["", "ab", "b"]
    first = open_oracle(black_box(Count(), "ab", name="f"), cache=store).weights(words)
    count = Count()
    again = open_oracle(black_box(count, "ab", name="f"), cache=store)
    assert sorted(count.queried) == words  # to see that it is the same
    assert again.weights(words).tobytes() == first.tobytes()
    assert len(count.queried) == 3


def test_a_prefix_is_queried_once_over_all_walks():
    count = Count(halves)
    model = open_oracle(language_model(count, "ab")).predictor
    sample(model, 50, seed=np.random.default_rng(0), max_length=8)
    model.weights(["abab", "ba"])
    model.next_symbol(["abab", "ba", "ab"])
    assert len(count.queried) == len(set(count.queried))


def test_symbols_that_no_file_can_hold_are_no_trouble_without_one():
    model = open_oracle(language_model(Count(halves), [("x", 1), frozenset()])).predictor
    assert model.next_symbol([(), [("x", 1)]]).tolist() == [[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]


def test_what_was_answered_before_a_failure_is_cached(store):
    def fails_on_bb(word):
        return 1 / 0 if word == "bb" else 1.0

    count = Count(fails_on_bb)
    box = open_oracle(black_box(count, "ab", name="f", batch_size=2), cache=store)
    with pytest.raises(BlackBoxError, match="failed on the word 'bb'"):
        box.weights(["", "a", "b", "ab", "aa", "bb", "ba"])
    (kept,) = store.boxes()
    assert kept.n_answers >= 4


def test_bad_answers_are_never_cached(store):
    box = open_oracle(black_box(Count(lambda w: np.nan if w else 1), "ab", name="f"), cache=store)
    with pytest.raises(BlackBoxError, match="returned nan for the word 'a'"):
        box.weights(["", "a"])
    assert store.boxes()[0].n_answers == 0


def test_a_failure_says_that_the_answers_until_then_are_cached(store):
    def gone(words):
        raise BlackBoxError("the server is gone")

    box = open_oracle(black_box(gone, "ab", name="f"), cache=store)
    with pytest.raises(
        BlackBoxError, match=f"is gone; the answers until then .* {store.path}: run"
    ):
        box.weights(["a"])
    with pytest.raises(BlackBoxError, match=r"is gone$"):
        open_oracle(black_box(gone, "ab")).weights(["a"])


@pytest.mark.parametrize(("budget", "n_queried"), [(1, 1), (3, 3), (4, 4)])
def test_no_more_is_queried_than_the_budget_allows(budget, n_queried):
    count = Count()
    box = open_oracle(black_box(count, "ab"), Meter(Limits(budget)))
    with pytest.raises(Stopped, match=f"the budget of {budget} queries is used up"):
        box.weights(["", "a", "a", "b", "ab", "ba"])
    assert len(count.queried) == n_queried
    box.weights(count.queried)  # what is known is free
    with pytest.raises(Stopped):
        box.weights(["bbb"])


def test_a_budget_counts_what_the_store_knows_as_well(store):
    open_oracle(black_box(Count(), "ab", name="f"), cache=store).weights(["", "a", "b"])
    box = open_oracle(black_box(Count(), "ab", name="f"), Meter(Limits(budget=2)), cache=store)
    with pytest.raises(Stopped):
        box.weights(["", "a", "b"])


def test_what_is_queried_several_times_costs_as_much():
    count, meter = Count(), Meter(Limits(budget=10))
    box = open_oracle(black_box(count, "ab"), meter, repeat=3)
    with pytest.raises(Stopped):
        box.weights(["", "a", "b", "ab"])
    assert len(count.queried) == meter.n_queries == meter.n_sent == 9


def test_prefixes_are_counted_without_a_budget_too():
    meter = Meter()
    model = open_oracle(language_model(Count(halves), "ab"), meter).predictor
    model.next_symbol(["", "a", "b", "a"])
    model.next_symbol(["ab", "a"])
    assert meter.n_answers == 4


def test_time_runs_out_between_two_batches():
    count = Count(lambda w: time.sleep(0.02) or 1.0)
    box = open_oracle(black_box(count, "ab", batch_size=1), Meter(Limits(time_limit=0.05)))
    with pytest.raises(Stopped, match=r"the time of 0.05 s is over"):
        box.weights(["", "a", "b", "ab", "ba", "aa", "bb", "aaa"])
    assert 2 <= len(count.queried) < 8


def test_somebody_says_stop_and_the_batch_is_finished(store):
    stop = threading.Event()
    count = Count(lambda w: (stop.set() if w == "a" else None) or 1.0)
    box = open_oracle(
        black_box(count, "ab", name="f", batch_size=2), Meter(Limits(stop=stop)), cache=store
    )
    with pytest.raises(Stopped, match="interrupted"):
        box.weights(["", "a", "b", "ab", "ba"])
    assert store.boxes()[0].n_answers == 2 == len(count.queried)


def test_the_mean_of_several_answers_counts():
    rng = np.random.default_rng(0)
    box = black_box(Count(lambda w: len(w) + rng.normal()), "ab")
    means = open_oracle(box, repeat=400).weights(["", "ab"])
    np.testing.assert_allclose(means, [0, 2], atol=0.2)


def test_a_model_is_averaged_row_by_row():
    rng = np.random.default_rng(0)

    def noisy(prefix):
        return rng.dirichlet([2, 1, 1])

    model = open_oracle(language_model(Count(noisy), "ab"), repeat=300).predictor
    np.testing.assert_allclose(model.next_symbol(["", "a"]), [[0.5, 0.25, 0.25]] * 2, atol=0.05)


def test_means_and_single_answers_are_cached_separately(store):
    box = black_box(Count(), "ab", name="f")
    open_oracle(box, cache=store).weights(["a"])
    open_oracle(box, cache=store, repeat=3).weights(["a"])
    assert sorted(kept.kind for kept in store.boxes() if kept.n_answers) == [
        "value",
        "value, mean of 3",
    ]


@pytest.mark.parametrize(
    ("batch_size", "sizes"),
    [(10, [3] * 6 + [2] * 3), (8, [2] * 12), (2, [1] * 24), (100, [8] * 3)],
)
def test_repeated_queries_fill_one_batch_of_the_box_together(batch_size, sizes):
    words, batches = ["", "a", "b", "aa", "ab", "ba", "bb", "aaa"], []

    def answer(some):
        batches.append(len(some))
        return [len(word) + 10.0 ** -len(batches) for word in some]

    box = open_oracle(black_box(answer, "ab", batch_size=batch_size), repeat=3)
    answers = box.weights(words)
    assert batches == sizes
    np.testing.assert_allclose(answers, [len(word) for word in words], atol=0.04)


def test_after_a_stop_nothing_is_queried_and_nothing_answered():
    stop, count = threading.Event(), Count()
    box = open_oracle(black_box(count, "ab"), Meter(Limits(stop=stop)))
    box.weights(["a"])
    stop.set()
    for words in (["a"], ["b"]):
        with pytest.raises(Stopped, match="interrupted"):
            box.weights(words)
    assert count.queried == ["a"]
    assert box.weights([]).tolist() == []


def test_a_listener_hears_of_distinct_words_as_their_answers_come():
    heard = []
    box = open_oracle(black_box(Count(), "ab", batch_size=2), Meter(listener=heard.append))
    box.weights(["", "a", "a", "b"])
    assert heard == [2, 1]
    box.weights(["a", "b", "ab", "ba", "bb"])
    assert heard[2:] == [2, 2, 1]  # what is known, then what is sent


def test_a_stop_during_the_last_batch_loses_no_answer():
    stop = threading.Event()
    count = Count(lambda word: stop.set() or 1.0)
    box = open_oracle(black_box(count, "ab", batch_size=2), Meter(Limits(stop=stop)))
    assert box.weights(["", "a"]).tolist() == [1, 1]
