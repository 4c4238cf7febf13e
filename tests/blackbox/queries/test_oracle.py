import dataclasses
import threading
import time

import numpy as np
import pytest

import seqray
from same_gru import native
from seqray import Alphabet, WeightedAutomaton, black_box, language_model
from seqray.automata.sampling import sample
from seqray.automata.stepper import PredictingStepper, Stepper
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.meter import Meter
from seqray.blackbox.queries.oracle import KeptBlocks, attended, fingerprint_of, way_of
from seqray.util.errors import ArgumentError, BlackBoxError, Stopped

AB = Alphabet("ab")


class Count:
    """A function that keeps the words it was asked about."""

    def __init__(self, answer=lambda word: len(word) + 0.5):
        self.answer, self.asked = answer, []

    def __call__(self, words):
        self.asked.extend(words)
        return [self.answer(word) for word in words]


def halves(prefix):
    return [0.5, 0.25, 0.25] if len(prefix) % 2 else [0.25, 0.25, 0.5]


@pytest.fixture
def store(tmp_path):
    with AnswerStore(tmp_path / "answers.sqlite") as opened:
        yield opened


# What is asked only once --------------------------------------------------------------------------


def test_a_word_is_asked_once_whatever_the_batches(store):
    count = Count()
    box = attended(black_box(count, "ab", name="f"), Meter(), store=store)
    expected = [2.5, 0.5, 1.5, 2.5]
    assert box.weights(["ab", "", "a", "ab"]).tolist() == expected
    assert box.weights(["ab", "", "a", "ab"]).tolist() == expected
    assert box.weights(["b", "a"]).tolist() == [1.5, 1.5]
    assert sorted(count.asked) == ["", "a", "ab", "b"]


def test_answers_are_there_for_the_next_run(store):
    words = ["", "ab", "b"]
    first = attended(black_box(Count(), "ab", name="f"), Meter(), store=store).weights(words)
    count = Count()
    again = attended(black_box(count, "ab", name="f"), Meter(), store=store)
    assert sorted(count.asked) == words  # to see that it is the same
    assert again.weights(words).tobytes() == first.tobytes()
    assert len(count.asked) == 3


def test_a_box_that_has_changed_is_found_out(store):
    attended(black_box(Count(), "ab", name="f"), Meter(), store=store).weights(["", "a"])
    with pytest.raises(
        BlackBoxError,
        match=r"has changed: for the word 'a' it answers 7, and 1.5 is cached: .*prune --store '",
    ):
        attended(black_box(Count(lambda w: 7), "ab", name="f"), Meter(), store=store)
    other = attended(black_box(Count(lambda w: 7), "ab", name="g"), Meter(), store=store)
    assert other.weights(["a"]).tolist() == [7]


def test_a_prefix_is_asked_once_over_all_walks():
    count = Count(halves)
    model = attended(language_model(count, "ab"), Meter())
    sample(model, 50, seed=np.random.default_rng(0), max_length=8)
    model.weights(["abab", "ba"])
    model.next_symbol(["abab", "ba", "ab"])
    assert len(count.asked) == len(set(count.asked))


def test_symbols_that_no_file_can_hold_are_no_trouble_without_one():
    model = attended(language_model(Count(halves), [("x", 1), frozenset()]), Meter())
    assert model.next_symbol([(), [("x", 1)]]).tolist() == [[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]


def test_what_was_answered_before_a_failure_is_kept(store):
    def fails_on_bb(word):
        return 1 / 0 if word == "bb" else 1.0

    count = Count(fails_on_bb)
    box = attended(black_box(count, "ab", name="f", batch_size=2), Meter(), store=store)
    with pytest.raises(BlackBoxError, match="failed on the word 'bb'"):
        box.weights(["", "a", "b", "ab", "aa", "bb", "ba"])
    (kept,) = store.boxes()
    assert kept.n_answers >= 4


def test_bad_answers_are_never_kept(store):
    box = attended(
        black_box(Count(lambda w: np.nan if w else 1), "ab", name="f"), Meter(), store=store
    )
    with pytest.raises(BlackBoxError, match="returned nan for the word 'a'"):
        box.weights(["", "a"])
    assert store.boxes()[0].n_answers == 0


def test_a_box_without_a_name_cannot_be_kept_in_a_file(store):
    with pytest.raises(ArgumentError, match=r"no name to be kept under.*name='my model 1'"):
        attended(black_box(len, "ab"), Meter(), store=store)


def test_nothing_stands_between_where_nothing_is_needed():
    machine = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    assert attended(machine, Meter()) is machine
    assert attended(machine, Meter(budget=1)) is machine


def test_who_answers_is_still_said(store):
    box = attended(black_box(Count(lambda w: "x"), "ab", name="f"), Meter(), store=store)
    with pytest.raises(BlackBoxError, match=r"the function '<.*Count object.*' returned strings"):
        box.weights(["a"])
    assert box.backend.fingerprint == "f"
    assert fingerprint_of(box) == "f"


@pytest.mark.parametrize(
    ("box", "way"),
    [
        (black_box(len, "ab"), "whole words"),
        (language_model(len, "ab"), "next symbols"),
        (native(), "states"),
        (WeightedAutomaton("a", [1], [[[0.5]]], [0.5]), "as an automaton"),
    ],
)
def test_the_way_of_asking_is_said(box, way):
    assert way_of(box) == way


def test_a_box_that_says_to_be_deterministic_may_have_changed_too(store):
    attended(black_box(Count(), "ab", name="f"), Meter(), store=store).weights(["", "a"])
    box = black_box(Count(lambda w: 7), "ab", name="f")
    box = dataclasses.replace(box, backend=dataclasses.replace(box.backend, deterministic=True))
    with pytest.raises(BlackBoxError, match="has changed"):
        attended(box, Meter(), store=store)


def test_a_change_that_only_few_cached_answers_show_is_found_when_they_are_used(store):
    words = AB.words([[*f"{i:012b}".replace("0", "a").replace("1", "b")] for i in range(4096)])
    attended(black_box(Count(), "ab", name="f"), Meter(), store=store).weights(words)
    changed = Count(lambda w: 7 if w.startswith("bbbab") else len(w) + 0.5)
    with pytest.raises(BlackBoxError, match="has changed"):
        attended(black_box(changed, "ab", name="f"), Meter(), store=store).weights(words)


def test_a_noisy_box_that_has_changed_is_found_out(store):
    rng = np.random.default_rng(0)
    words = AB.words(["a" * n for n in range(20)])

    def noisy(shift):
        return Count(lambda w: len(w) + shift + 1e-3 * rng.normal())

    for _ in range(2):
        attended(black_box(noisy(1), "ab", name="f"), Meter(), store=store).weights(words)
    with pytest.raises(BlackBoxError, match="has changed"):
        attended(black_box(noisy(2), "ab", name="f"), Meter(), store=store)


def test_a_failure_says_that_the_answers_until_then_are_cached(store):
    def gone(words):
        raise BlackBoxError("the server is gone")

    box = attended(black_box(gone, "ab", name="f"), Meter(), store=store)
    with pytest.raises(
        BlackBoxError, match=f"is gone; the answers until then .* {store.path}: run"
    ):
        box.weights(["a"])
    with pytest.raises(BlackBoxError, match=r"is gone$"):
        attended(black_box(gone, "ab"), Meter()).weights(["a"])


# Limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "n_asked"), [(1, 1), (3, 3), (4, 4)])
def test_no_more_is_asked_than_the_budget_allows(budget, n_asked):
    count = Count()
    box = attended(black_box(count, "ab"), Meter(budget))
    with pytest.raises(Stopped, match=f"the budget of {budget} questions is used up"):
        box.weights(["", "a", "a", "b", "ab", "ba"])
    assert len(count.asked) == n_asked
    box.weights(count.asked)  # what is known is free
    with pytest.raises(Stopped):
        box.weights(["bbb"])


def test_a_budget_counts_what_the_store_knows_as_well(store):
    attended(black_box(Count(), "ab", name="f"), Meter(), store=store).weights(["", "a", "b"])
    box = attended(black_box(Count(), "ab", name="f"), Meter(budget=2), store=store)
    with pytest.raises(Stopped):
        box.weights(["", "a", "b"])


def test_steps_are_counted_for_a_box_with_states():
    meter = Meter(budget=5)
    box = attended(native(), meter)
    assert isinstance(box, PredictingStepper)
    first = box.step(box.start(), np.zeros(3, np.int64), np.arange(3))
    assert meter.n_asked == 3
    assert box.state_weights(first).shape == (3,)
    assert box.state_next_symbol(first).shape == (3, 4)
    with pytest.raises(Stopped):
        box.step(first, np.arange(3), np.zeros(3, np.int64))


def test_the_weights_of_words_cost_their_steps():
    meter = Meter(budget=5)
    box = attended(native(), meter)
    box.weights(["abc", "ab"])
    assert meter.n_questions == meter.n_sent == 3
    with pytest.raises(Stopped):
        box.weights(["ccc"])
    assert meter.n_sent <= 5


def test_what_is_asked_several_times_costs_as_much():
    count, meter = Count(), Meter(budget=10)
    box = attended(black_box(count, "ab"), meter, repeat=3)
    with pytest.raises(Stopped):
        box.weights(["", "a", "b", "ab"])
    assert len(count.asked) == meter.n_questions == meter.n_sent == 9


def test_checks_of_cached_answers_are_within_the_budget(store):
    words = AB.words(["a" * n for n in range(30)])
    attended(black_box(Count(), "ab", name="f"), Meter(), store=store).weights(words)
    count, meter = Count(), Meter(budget=40)
    box = attended(black_box(count, "ab", name="f"), meter, store=store)
    box.weights(words)
    with pytest.raises(Stopped):
        box.weights(["b" * n for n in range(1, 30)])
    assert 30 < meter.n_questions <= 40
    assert meter.n_sent == len(count.asked) < meter.n_questions


def test_who_listens_hears_of_every_answer():
    heard = []
    box = attended(native(), Meter(budget=99, listener=heard.append))
    first = box.step(box.start(), np.zeros(3, np.int64), np.arange(3))
    box.step(first, np.arange(2), np.zeros(2, np.int64))
    assert heard == [3, 2]
    heard.clear()
    model = attended(
        language_model(Count(halves), "ab", batch_size=2), Meter(listener=heard.append)
    )
    model.next_symbol(["", "a", "b", "ab", "a"])
    model.next_symbol(["", "bb"])
    assert heard == [2, 2, 1, 1]  # two batches; what is known, and what is new


def test_prefixes_are_counted_without_a_budget_too():
    meter = Meter()
    model = attended(language_model(Count(halves), "ab"), meter)
    model.next_symbol(["", "a", "b", "a"])
    model.next_symbol(["ab", "a"])
    assert meter.n_asked == 4


def test_a_box_with_states_that_does_not_predict_stays_one():
    class Parity:
        alphabet = AB

        def weights(self, words):
            return np.zeros(len(words))

        def start(self):
            return np.zeros(1)

        def step(self, states, parents, symbols):
            return states[parents] + symbols

        def state_weights(self, states):
            return states % 2

    box = attended(Parity(), Meter(seconds=100))
    assert isinstance(box, Stepper)
    assert not isinstance(box, PredictingStepper)
    assert box.weights(["a"]).tolist() == [0]


def test_time_runs_out_between_two_batches():
    count = Count(lambda w: time.sleep(0.02) or 1.0)
    box = attended(black_box(count, "ab", batch_size=1), Meter(seconds=0.05))
    with pytest.raises(Stopped, match=r"the time of 0.05 s is over"):
        box.weights(["", "a", "b", "ab", "ba", "aa", "bb", "aaa"])
    assert 2 <= len(count.asked) < 8


def test_somebody_says_stop_and_the_batch_is_finished(store):
    stop = threading.Event()
    count = Count(lambda w: (stop.set() if w == "a" else None) or 1.0)
    box = attended(black_box(count, "ab", name="f", batch_size=2), Meter(stop=stop), store=store)
    with pytest.raises(Stopped, match="interrupted"):
        box.weights(["", "a", "b", "ab", "ba"])
    assert store.boxes()[0].n_answers == 2 == len(count.asked)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"budget": 0}, "budget: expected .* 1"),
        ({"budget": 2.5}, "budget: expected"),
        ({"seconds": 0}, "seconds: expected more than 0, got 0"),
        ({"seconds": float("nan")}, "seconds: expected more than 0"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits, message):
    with pytest.raises(ArgumentError, match=message):
        Meter(**limits)


# Means --------------------------------------------------------------------------------------------


def test_the_mean_of_several_answers_counts():
    rng = np.random.default_rng(0)
    box = black_box(Count(lambda w: len(w) + rng.normal()), "ab")
    means = attended(box, Meter(), repeat=400).weights(["", "ab"])
    np.testing.assert_allclose(means, [0, 2], atol=0.2)
    assert isinstance(attended(box, Meter(), repeat=2), QueriedBox)


def test_a_model_is_averaged_row_by_row():
    rng = np.random.default_rng(0)

    def noisy(prefix):
        return rng.dirichlet([2, 1, 1])

    model = attended(language_model(Count(noisy), "ab"), Meter(), repeat=300)
    assert isinstance(model, QueriedModel)
    np.testing.assert_allclose(model.next_symbol(["", "a"]), [[0.5, 0.25, 0.25]] * 2, atol=0.05)


def test_a_box_with_states_is_averaged_over_words():
    network = native()
    repeated = attended(network, Meter(), repeat=2)
    words = ["", "ab", "abca"]
    np.testing.assert_allclose(repeated.weights(words), network.weights(words), rtol=1e-6)
    machine = WeightedAutomaton("ab", [1], [[[-2]], [[3]]], [1])
    np.testing.assert_allclose(
        attended(black_box(machine.weights, "ab"), Meter(), repeat=2).weights(["ab"]), [-6]
    )


def test_means_and_single_answers_are_kept_apart(store):
    box = black_box(Count(), "ab", name="f")
    attended(box, Meter(), store=store).weights(["a"])
    attended(box, Meter(), store=store, repeat=3).weights(["a"])
    assert sorted(kept.kind for kept in store.boxes() if kept.n_answers) == [
        "value",
        "value, mean of 3",
    ]


# Blocks -------------------------------------------------------------------------------------------


def test_blocks_of_a_network_are_kept_under_its_weights(store):
    blocks = KeptBlocks.of(native(), store)
    assert blocks.find(b"x") is None
    blocks.add(b"x", np.arange(4.0).reshape(2, 2))
    assert KeptBlocks.of(native(), store).find(b"x").tolist() == [0, 1, 2, 3]
    assert store.boxes()[0].fingerprint.startswith("rnn ")
    other = seqray.open_black_box("demo")
    assert KeptBlocks.of(other, store).find(b"x") is None


# A box that reads words of a limited length ---------------------------------------------------


class Plain:
    """A box of somebody's own, without a base class."""

    alphabet, max_length = AB, 9

    def weights(self, words):
        return np.ones(len(words))


@pytest.mark.parametrize(
    "box",
    [
        Plain(),
        black_box(Count(), AB, max_length=9, name="f"),
        language_model(Count(halves), AB, max_length=9, name="g"),
    ],
)
@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.parametrize("budget", [None, 100])
def test_what_a_box_can_read_is_known_of_the_box_that_attends_it(box, repeat, budget):
    assert attended(box, Meter(budget=budget), repeat=repeat).max_length == 9


def test_what_a_box_with_states_can_read_is_known_of_the_one_that_counts_its_steps():
    class Limited(type(native())):
        max_length = 9

    box = Limited(**{f.name: getattr(native(), f.name) for f in dataclasses.fields(native())})
    assert attended(box, Meter(budget=100)).max_length == 9
    assert attended(box, Meter(), repeat=2).max_length == 9


def test_a_box_without_a_limit_reads_any_word():
    assert attended(black_box(Count(), AB), Meter()).max_length is None
