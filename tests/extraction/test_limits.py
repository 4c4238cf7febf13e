"""Extraction within limits, from kept answers, and from noisy boxes."""

import re
import threading
import time
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from automata import FIGURE_1 as MACHINE
from same_gru import native
from seqray import Alphabet, WeightedAutomaton, black_box, extract, language_model
from seqray.blackbox.queries import limits
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.noise import Noise
from seqray.extraction.basis import uniform_basis
from seqray.extraction.hankel.decomposition import decompose
from seqray.extraction.hankel.fill import fill
from seqray.extraction.hankel.plan import Plan
from seqray.util.errors import ArgumentError, BlackBoxError, Stopped

pytestmark = pytest.mark.usefixtures("hasty")

SIZES = {"prefixes": 60, "suffixes": 60, "max_rank": 6, "max_length": 12}

WAYS = [("weights", "weighted"), ("next_symbol", "weighted"), ("next_symbol", "conditional")]
"""What the machine is asked for, and how automata are extracted from that."""


class Asked:
    """Answers of the machine, all words counted."""

    def __init__(self, method="weights", pause=0.0):
        self.words, self.method, self.pause = [], method, pause

    def __call__(self, words):
        time.sleep(self.pause * len(words))
        self.words.extend(words)
        answers = getattr(MACHINE, self.method)(words)
        return answers.round(12) if answers.ndim == 2 else answers  # the same in every batch


def boxes(asked):
    if asked.method == "weights":
        return black_box(asked, "ab", name="figure 1", batch_size=64)
    return language_model(asked, "ab", name="figure 1", batch_size=64)


@cache
def whole(asks, method):
    """What an extraction without limits finds."""
    return extract(boxes(Asked(asks)), **SIZES, method=method)


@cache
def whole_network(method):
    return extract(native(), **SIZES, method=method)


def same(one, other):
    left, right = one.automaton(one.max_rank), other.automaton(other.max_rank)
    return all(
        np.array_equal(getattr(left, name), getattr(right, name))
        for name in ("initial", "transitions", "final")
    )


# Kept answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asks", "method"), WAYS)
def test_a_second_run_asks_nothing_new_and_finds_the_same(tmp_path, asks, method):
    store = tmp_path / "answers.sqlite"
    first, second = Asked(asks), Asked(asks)
    found = extract(boxes(first), **SIZES, method=method, store=store)
    again = extract(boxes(second), **SIZES, method=method, store=store)
    assert same(found, again)
    assert found.settings["questions"] == again.settings["questions"]
    assert len(second.words) <= 8 + found.settings["questions"] / 250  # that it has not changed
    assert same(found, whole(asks, method))


@pytest.mark.parametrize(("asks", "method"), WAYS)
def test_nothing_is_asked_twice_but_to_see_that_the_answer_is_the_same(tmp_path, asks, method):
    asked = Asked(asks)
    extract(boxes(asked), **SIZES, method=method, store=tmp_path / "answers.sqlite")
    twice = len(asked.words) - len(set(asked.words))
    assert 0 < twice < 400
    longest = max(map(len, asked.words))
    assert twice <= 16 * (1 if asks == "weights" else longest)


@pytest.mark.parametrize(("asks", "method"), WAYS)
def test_a_run_that_broke_goes_on_where_it_was(tmp_path, asks, method):
    store = tmp_path / "answers.sqlite"

    class Dies(Asked):
        def __call__(self, words):
            if len(self.words) > 900:
                raise KeyboardInterrupt
            return super().__call__(words)

    first, second = Dies(asks), Asked(asks)
    with pytest.raises(KeyboardInterrupt):
        extract(boxes(first), **SIZES, method=method, store=store)
    again = extract(boxes(second), **SIZES, method=method, store=store)
    assert same(again, whole(asks, method))
    repeated = set(first.words) & set(second.words)
    assert len(repeated) <= 8 + 16 * max(map(len, second.words))


@pytest.mark.parametrize(
    ("name", "store", "note"),
    [
        (None, False, "no answer is cached. Next time give the box a name, name='my model 1', and"),
        ("mine", False, "no answer is cached. Next time pass a file, store='answers.sqlite'."),
        ("mine", True, "answers.sqlite: run the same again, and only the missing queries are sent"),
    ],
)
def test_an_interrupt_says_what_became_of_the_answers(tmp_path, name, store, note):
    def answer(words):
        raise KeyboardInterrupt

    box, file = black_box(answer, "ab", name=name), tmp_path / "answers.sqlite"
    with pytest.raises(KeyboardInterrupt) as interrupted:
        extract(box, **SIZES, store=file if store else None)
    (said,) = interrupted.value.__notes__
    assert note in said
    assert (str(file) in said) == store


def test_an_interrupt_loses_no_answer_of_an_automaton():
    def progress(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as interrupted:
        extract(MACHINE, **SIZES, progress=progress)
    assert "no answer is lost" in interrupted.value.__notes__[0]


def test_blocks_of_a_network_are_read_and_not_computed_again(tmp_path):
    network, blocks = native(), {**SIZES, "method": "weighted"}
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        found = extract(network, **blocks, store=store)
        assert same(found, whole_network("weighted"))
        n_blocks = sum(box.n_blocks for box in store.boxes())
        assert n_blocks > 1
        again = extract(network, **blocks, store=store)
        assert same(again, found)
        assert again.settings["steps"] == found.settings["steps"]
        assert again.settings["queries_sent"] < 0.7 * found.settings["queries_sent"]
        assert sum(box.n_blocks for box in store.boxes()) == n_blocks


class Stepped:
    """A box with states that gives words a number, and goes by a name of its own."""

    alphabet, fingerprint = Alphabet("ab"), "python:m:box"

    def __init__(self, worth):
        self.worth, self.n_steps = np.array(worth), 0

    def weights(self, words):
        return np.array([sum(self.worth["ab".index(s)] for s in word) for word in words])

    def start(self):
        return np.zeros(1)

    def step(self, states, parents, symbols):
        self.n_steps += len(parents)
        return states[parents] + self.worth[symbols]

    def state_weights(self, states):
        return states


def test_cached_blocks_of_a_box_that_has_changed_are_not_used(tmp_path):
    store = tmp_path / "answers.sqlite"
    extract(Stepped([1.0, -1.0]), **SIZES, store=store)
    with pytest.raises(BlackBoxError, match=r"has changed: for the word .* is cached: delete"):
        extract(Stepped([1.0, -1.5]), **SIZES, store=store)
    found = extract(Stepped([1.0, -1.0]), **SIZES, store=store)
    assert found.best().weight("bbb") == pytest.approx(-3)


# Budget -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asks", "method"), WAYS)
@pytest.mark.parametrize("budget", [600, 10_000])
def test_no_more_is_asked_than_the_budget(asks, method, budget):
    asked = Asked(asks)
    found = extract(boxes(asked), **SIZES, method=method, budget=budget)
    probes = 16 * max(map(len, asked.words))
    assert len(asked.words) <= budget + probes
    assert len(asked.words) > min(budget, 6000) / 3
    assert len(set(asked.words)) <= budget
    assert found.settings["stopped"] == (
        f"the budget of {budget:,} queries allows no more" if budget < 10_000 else ""
    )
    assert found.settings["prefixes"] < 60 or budget == 10_000
    np.testing.assert_allclose(
        found.automaton(2).weights(["ab", "bb"]), MACHINE.weights(["ab", "bb"]), rtol=1e-6
    )


@pytest.mark.parametrize("budget", [600, 6000])
@pytest.mark.parametrize(("asks", "method"), WAYS)
def test_a_budget_holds_for_all_that_is_sent(asks, method, budget, tmp_path):
    for _ in range(2):  # the second time with cached answers, which are checked
        asked = Asked(asks)
        options = {"method": method, "budget": budget, "store": tmp_path / "answers.sqlite"}
        settings = extract(boxes(asked), **SIZES, **options).settings
        assert settings["queries_sent"] == len(asked.words) <= settings["questions"] <= budget


@pytest.mark.parametrize("budget", [2000, 20_000])
def test_a_budget_holds_for_all_steps_of_a_box_that_gives_numbers(budget):
    box = Stepped([1.0, -1.0])
    settings = extract(box, **SIZES, budget=budget).settings
    assert box.n_steps == settings["questions"] == settings["steps"] <= budget
    assert settings["rounds"][-1]["questions"] == settings["questions"]


def test_a_budget_that_is_enough_for_a_grown_basis_makes_no_difference(caplog):
    sizes = {**SIZES, "prefixes": 76, "suffixes": 76}
    free = extract(boxes(Asked()), **sizes)
    found = extract(boxes(Asked()), **sizes, budget=free.settings["questions"])
    assert same(found, free)
    assert found.settings["stopped"] == ""
    assert "allows no more" not in caplog.text


@pytest.mark.parametrize("budget", [2000, 6000])
def test_a_budget_that_is_not_enough_is_used_and_kept(budget, caplog):
    asked = Asked()
    settings = extract(boxes(asked), max_rank=6, budget=budget).settings
    assert 0.75 * budget < len(asked.words) == settings["questions"] <= budget
    assert f"the budget of {budget:,} queries allows no more" in caplog.text


def test_it_is_said_why_a_budget_was_not_used(caplog):
    extract(boxes(Asked()), **SIZES, budget=10**6)
    assert "of the 1,000,000 queries allowed were needed: 60 × 60 prefixes" in caplog.text


@pytest.mark.parametrize("method", ["weighted", "conditional"])
def test_steps_are_the_questions_to_a_network(method):
    found = extract(native(), **SIZES, method=method, budget=3000)
    assert found.settings["steps"] < 3000
    assert found.settings["prefixes"] < 60


def test_a_budget_for_nothing_is_refused():
    with pytest.raises(Stopped, match="budget of 10"):
        extract(boxes(Asked()), **SIZES, budget=10)
    with pytest.raises(ArgumentError, match="budget"):
        extract(boxes(Asked()), budget=0)


@pytest.mark.parametrize("make", [native, lambda: boxes(Asked("next_symbol"))])
def test_a_budget_that_is_too_small_says_what_is_enough(make):
    for budget in (1, 30):
        with pytest.raises(Stopped, match=f"budget of {budget} queries is used up") as caught:
            extract(make(), **SIZES, budget=budget)
        enough = int(re.search(r"about ([\d,]+) are enough", str(caught.value))[1].replace(",", ""))
        found = extract(make(), **SIZES, budget=enough)
        assert np.isfinite(found.best().weights(["", "ab", "abab"])).all()


def test_an_automaton_costs_nothing():
    n_prefixes = extract(MACHINE, **SIZES).settings["prefixes"]
    assert extract(MACHINE, **SIZES, budget=1).settings["prefixes"] == n_prefixes


# Time and stop ------------------------------------------------------------------------------------


def test_when_time_is_over_the_automaton_is_made_of_what_is_known():
    asked = Asked(pause=1e-3)
    found = extract(boxes(asked), **SIZES, method="weighted", seconds=2.5)
    assert found.settings["stopped"] == "the time of 2.5 s is over"
    assert 2 <= found.settings["prefixes"] < 60
    assert len(asked.words) >= found.settings["questions"]  # and some to choose the rank by
    np.testing.assert_allclose(found.best().weights(["ab", "bb"]), MACHINE.weights(["ab", "bb"]))


@pytest.mark.parametrize("method", ["weighted", "conditional"])
def test_enough_time_makes_no_difference(method):
    asks = "weights" if method == "weighted" else "next_symbol"
    free = (whole(asks, method), whole_network(method))
    for make, known in zip((lambda: boxes(Asked(asks)), native), free, strict=True):
        limits = {"seconds": 1000, "stop": threading.Event()}
        assert same(extract(make(), **SIZES, method=method, **limits), known)


@pytest.mark.parametrize("method", ["weights", "next_symbol"])
def test_somebody_who_says_stop_gets_an_automaton_of_what_is_known(method):
    stop = threading.Event()
    basis = uniform_basis(Alphabet("ab"), 60, 60, seed=np.random.default_rng(0))
    n = Plan.of(basis).n_queries

    def progress(done, total):
        assert total == n
        if done > n / 2:
            stop.set()

    found = extract(boxes(Asked(method)), basis=basis, stop=stop, progress=progress)
    assert found.settings["stopped"] == "interrupted"
    assert 20 < found.settings["prefixes"] < 60


def test_stop_before_anything_is_known_is_an_error():
    stop = threading.Event()
    stop.set()
    for box in (boxes(Asked()), boxes(Asked("next_symbol")), native()):
        with pytest.raises(Stopped, match="interrupted"):
            extract(box, **SIZES, stop=stop)


# Noise --------------------------------------------------------------------------------------------


def noisy(level, seed=0):
    rng = np.random.default_rng(seed)
    return lambda words: MACHINE.weights(words) + level * rng.normal(size=len(words))


def test_a_box_that_changes_its_mind_is_detected(caplog):
    found = extract(black_box(noisy(1e-3), "ab"), **SIZES)
    assert found.settings["noise"]["level"] == pytest.approx(1e-3, rel=0.6)
    assert not found.settings["noise"]["relative"]
    assert "answers differently each time" in caplog.text


@pytest.mark.parametrize("method", ["weights", "next_symbol"])
def test_answers_that_depend_on_the_batch_are_noise(caplog, method):
    def answer(words):
        answers = getattr(MACHINE, method)(words)
        if method == "weights":
            return answers * (1 + 0.01 / len(words))
        answers[:, 0] *= 1 - 0.01 / len(words)
        return answers / answers.sum(axis=1, keepdims=True)

    make = black_box if method == "weights" else language_model
    for seed in range(2):
        found = extract(make(answer, "ab"), **SIZES, seed=seed)
        assert found.settings["noise"]["level"] > 0


def test_noise_reaches_the_rank():
    calm = extract(black_box(MACHINE.weights, "ab"), **SIZES, method="paper")
    assert calm.settings["noise"]["level"] == 0
    assert calm.max_rank == 2
    found = extract(black_box(noisy(1e-4), "ab"), **SIZES, method="paper")
    assert found.max_rank <= 4
    basis = found.basis
    blocks = fill(black_box(noisy(1e-4), "ab"), basis)
    assert decompose(blocks, weighting="none").max_rank > 40
    heard = decompose(blocks, weighting="none", noise=Noise(1e-4, relative=False))
    assert heard.max_rank <= 3


def test_asking_again_makes_it_better():
    words = ["", "a", "b", "ab", "ba", "bb", "bab"]
    errors = []
    for repeat in (1, 30):
        box = black_box(noisy(3e-3), "ab", batch_size=50_000)
        found = extract(box, **SIZES, method="paper", repeat=repeat)
        assert found.settings["repeat"] == repeat
        errors.append(np.abs(found.best().weights(words) - MACHINE.weights(words)).max())
    assert errors[1] < errors[0] / 3


def test_a_noisy_box_keeps_its_answers_and_its_noise(tmp_path):
    store = tmp_path / "answers.sqlite"
    found = [
        extract(black_box(noisy(1e-3, seed), "ab", name="noisy"), **SIZES, store=store)
        for seed in (0, 1)
    ]
    assert same(*found)
    assert found[0].settings["noise"] == found[1].settings["noise"]


# A box of one's own, and what else was once wrong -------------------------------------------------


class Own:
    """A box that has nothing but what the protocol asks for."""

    alphabet = Alphabet("ab")

    def __init__(self, fingerprint=None):
        self.asked, self.fingerprint = [], fingerprint

    def weights(self, words):
        self.asked.extend(words)
        return MACHINE.weights(words)


def test_a_box_of_ones_own_is_kept_counted_and_stopped_like_any_other(tmp_path):
    first, second = Own("mine"), Own("mine")
    store = tmp_path / "answers.sqlite"
    assert same(extract(first, **SIZES, store=store), extract(second, **SIZES, store=store))
    assert len(second.asked) <= 8 + len(first.asked) / 250
    limited = Own()
    extract(limited, **SIZES, budget=1000)
    assert len(set(limited.asked)) <= 1000
    with pytest.raises(ArgumentError, match="no name to be cached under"):
        extract(nameless := Own(), **SIZES, store=store)
    assert nameless.asked == []


def test_an_automaton_needs_no_store_and_no_repetition(tmp_path):
    twice = WeightedAutomaton("ab", [2], [[[0.5]], [[0.25]]], [0.25])
    found = extract(twice, **SIZES, store=tmp_path / "answers.sqlite", repeat=3)
    np.testing.assert_allclose(found.best().weights(["", "ab"]), twice.weights(["", "ab"]))


def test_a_noisy_box_that_was_interrupted_early_goes_on(tmp_path):
    store, stop = tmp_path / "answers.sqlite", threading.Event()
    rng = np.random.default_rng(0)

    def answer(words):
        stop.set()
        return MACHINE.weights(words) + 1e-3 * rng.normal(size=len(words))

    with pytest.raises(Stopped):
        extract(black_box(answer, "ab", name="noisy"), **SIZES, store=store, stop=stop)
    found = extract(black_box(answer, "ab", name="noisy"), **SIZES, store=store)
    assert found.settings["noise"]["level"] > 1e-4


def test_held_out_words_are_new_ones_under_a_budget_too():
    asked = Asked()
    found = extract(boxes(asked), **SIZES, budget=3000)
    blocks = {p + s for p in found.basis.prefixes for s in found.basis.suffixes}
    held_out = [tuple(word) for word in asked.words[: found.settings["held_out_words"]]]
    assert np.mean([word in blocks for word in held_out]) < 0.5


def test_a_budget_and_a_time_do_not_hinder_each_other():
    for method, budget in (("weighted", 6000), ("conditional", 3000)):
        alone = extract(native(), **SIZES, method=method, budget=budget)
        both = extract(native(), **SIZES, method=method, budget=budget, seconds=1000)
        assert both.settings["prefixes"] > 0.6 * alone.settings["prefixes"]


@pytest.mark.parametrize("budget", [600, 3000])
@pytest.mark.parametrize("method", ["weighted", "conditional"])
def test_a_model_is_sampled_within_the_budget(budget, method):
    asked = Asked("next_symbol")
    sizes = {"prefixes": 400, "suffixes": 400, "max_rank": 2, "max_length": 12}
    found = extract(boxes(asked), **sizes, method=method, budget=budget)
    assert found.settings["prefixes"] > 3
    assert len(set(asked.words)) <= budget


def test_a_slow_model_leads_to_an_automaton_in_little_time(monkeypatch):
    for method, stopped in (("weighted", "the time of 3 s is over"), ("conditional", "")):
        asked, began = Asked("next_symbol"), time.monotonic()

        def monotonic(asked=asked, began=began):
            """An answer takes 2 ms, and nothing else takes time: not even on a busy machine."""
            return began + 0.1 + 2e-3 * len(asked.words)

        monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=monotonic))
        extraction = extract(boxes(asked), **SIZES, method=method, seconds=3.0)
        assert extraction.settings["stopped"] == stopped  # a part is exact, and is enough
        assert extraction.settings["prefixes"] > 2
