import dataclasses

import numpy as np
import pytest

import seqray
from functions import Count, halves
from same_gru import native
from seqray import Alphabet, WeightedAutomaton, black_box, language_model
from seqray.blackbox.protocol import checked_answers
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import (
    QueryMode,
    direct_oracle,
    fingerprint_of,
    open_oracle,
    query_mode,
)
from seqray.util.errors import ArgumentError, BlackBoxError

AB = Alphabet("ab")


@pytest.fixture
def store(tmp_path):
    with AnswerStore(tmp_path / "answers.sqlite") as opened:
        yield opened


def test_a_box_without_a_name_cannot_be_cached_in_a_file(store):
    with pytest.raises(ArgumentError, match=r"no name to be cached under.*name='my model 1'"):
        open_oracle(black_box(len, "ab"), cache=store)


@pytest.mark.parametrize("limits", [Limits(), Limits(budget=1)])
def test_an_automaton_is_computed_with_and_costs_nothing(limits):
    machine = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    oracle = open_oracle(machine, Meter(limits))
    assert oracle.automaton is oracle.stepper is oracle.reader is machine
    assert oracle.is_free
    assert not oracle.caches
    assert oracle.weights(["ab", "", "a"]).tolist() == machine.weights(["ab", "", "a"]).tolist()
    assert oracle.meter.n_queries == 0


def test_the_steps_of_an_automaton_can_be_counted():
    machine = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    oracle = open_oracle(machine, Meter(Limits(budget=1))).counted()
    assert oracle.predictor.weights(["ab", "a"]).tolist() == [0.03125, 0.125]
    assert oracle.meter.n_queries == 2
    other = open_oracle(black_box(Count(), "ab"))
    assert other.counted() is other


def test_the_name_of_the_box_is_known(store):
    box = open_oracle(black_box(Count(lambda w: "x"), "ab", name="f"), cache=store)
    with pytest.raises(BlackBoxError, match=r"the function '<.*Count object.*' returned strings"):
        box.weights(["a"])
    assert box.fingerprint == "f"


@pytest.mark.parametrize(
    ("box", "mode"),
    [
        (black_box(len, "ab"), QueryMode.WORDS),
        (language_model(len, "ab"), QueryMode.PREFIXES),
        (native(), QueryMode.STATES),
        (WeightedAutomaton("a", [1], [[[0.5]]], [0.5]), QueryMode.AUTOMATON),
    ],
)
def test_the_method_of_querying_is_known(box, mode):
    oracle = open_oracle(box)
    assert oracle.mode is query_mode(box) is mode
    assert oracle.caches == (mode in (QueryMode.WORDS, QueryMode.PREFIXES))
    assert (oracle.stepper is None) == (mode is QueryMode.WORDS)


def test_a_box_without_predictions_has_no_predictor():
    oracle = open_oracle(black_box(len, "ab"))
    assert not oracle.predicts
    with pytest.raises(ArgumentError, match="the function 'len' does not predict next symbols"):
        _ = oracle.predictor


def test_words_are_queried_anew_on_demand():
    count = Count()
    oracle = open_oracle(black_box(count, "ab"), repeat=3)
    words = AB.words(["a", "ab"])
    oracle.weights(words)
    assert oracle.uncached_weights(words).tolist() == [1.5, 2.5]
    assert len(count.queried) == 3 * 2 + 2
    assert oracle.meter.n_sent == 8
    assert oracle.meter.n_queries == 6
    network = open_oracle(native())
    words = network.alphabet.words(["ab"])
    assert network.uncached_weights(words).tolist() == network.weights(words).tolist()


def test_the_cost_of_words_is_theirs_or_that_of_their_prefixes():
    words = AB.words(["ab", "a", "bb"])
    assert open_oracle(black_box(Count(), AB)).cost_of(words) == 3
    assert open_oracle(language_model(Count(halves), AB)).cost_of(words) == 5


@pytest.mark.parametrize("repeat", [1, 2])
def test_each_answer_is_checked_once(repeat, monkeypatch):
    checked = []

    def check(answers, words, shape, who):
        checked.append(len(words))
        return checked_answers(answers, words, shape, who)

    monkeypatch.setattr("seqray.blackbox.queried.checked_answers", check)
    open_oracle(black_box(Count(), "ab"), repeat=repeat).weights(["a", "b"])
    assert checked == [2] * repeat


def test_no_file_is_made_without_a_cache(monkeypatch):
    def connect(*arguments, **options):
        raise AssertionError("a file was made")

    monkeypatch.setattr("sqlite3.connect", connect)
    assert open_oracle(black_box(Count(), "ab")).weights(["a", "b", "a"]).tolist() == [1.5] * 3


def test_a_direct_oracle_caches_nothing_and_an_oracle_stays_one():
    count = Count()
    oracle = direct_oracle(black_box(count, "ab"))
    oracle.weights(["a"])
    oracle.weights(["a"])
    assert count.queried == ["a", "a"]
    assert not oracle.caches
    assert direct_oracle(oracle) is oracle


def test_blocks_of_a_network_are_cached_under_its_weights(store):
    blocks = open_oracle(native(), cache=store).blocks
    assert blocks.find(b"x") is None
    blocks.add(b"x", np.arange(4.0).reshape(2, 2))
    assert open_oracle(native(), cache=store).blocks.find(b"x").tolist() == [0, 1, 2, 3]
    assert store.boxes()[0].fingerprint.startswith("rnn ")
    other = open_oracle(seqray.open_black_box("demo"), cache=store)
    assert other.blocks.find(b"x") is None
    assert open_oracle(native()).blocks is None
    assert open_oracle(black_box(Count(), "ab", name="f"), cache=store).blocks is None


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
def test_what_a_box_can_read_is_known_of_the_oracle(box, repeat, budget):
    assert open_oracle(box, Meter(Limits(budget=budget)), repeat=repeat).max_length == 9


def test_what_a_box_with_states_can_read_is_known_of_the_oracle():
    class Limited(type(native())):
        max_length = 9

    box = Limited(**{f.name: getattr(native(), f.name) for f in dataclasses.fields(native())})
    assert open_oracle(box, Meter(Limits(budget=100))).max_length == 9
    assert open_oracle(box, repeat=2).max_length == 9


def test_a_box_without_a_limit_reads_any_word():
    assert open_oracle(black_box(Count(), AB)).max_length is None


@pytest.mark.parametrize("kind", ["automaton", "stepper"])
def test_any_box_that_predicts_can_be_queried_by_prefixes(kind):
    wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    box = wa if kind == "automaton" else seqray.clipped(wa)
    oracle = open_oracle(box, by_words=True)
    words = oracle.alphabet.words(["abab", "b", "b"])
    assert oracle.next_symbol(words) == pytest.approx(np.tile([0.5, 0.25, 0.25], (3, 1)))
    assert oracle.meter.n_queries == 2
    stepped = open_oracle(box)
    assert stepped.next_symbol(words) == pytest.approx(np.tile([0.5, 0.25, 0.25], (3, 1)))


# Classifiers --------------------------------------------------------------------------------------


class OwnScores:
    """A classifier of somebody's own, with a name for its answers."""

    alphabet, classes, fingerprint = seqray.Alphabet("ab"), ("no", "yes"), "own 1"
    deterministic = True

    def __init__(self):
        self.n_words = 0

    def scores(self, words):
        self.n_words += len(words)
        return np.array([[1 - len(w) / 10, len(w) / 10] for w in words])

    def weights(self, words):
        return self.scores(words)[:, -1]


def test_a_classifier_is_queried_once_per_word_for_all_classes():
    box = OwnScores()
    oracle = open_oracle(box)
    assert oracle.reader is oracle.classifier
    np.testing.assert_allclose(oracle.classifier.scores(["a", "ab", "a"])[:, 1], [0.1, 0.2, 0.1])
    assert (box.n_words, oracle.meter.n_queries) == (2, 2)
    np.testing.assert_allclose(oracle.weights(["a", "ab"]), [0.1, 0.2])
    np.testing.assert_allclose(oracle.classifier.weights(["ab"]), [0.2])
    assert box.n_words == 2
    assert oracle.classifier.who == "the OwnScores"
    assert oracle.classifier.max_length is None
    assert oracle.is_deterministic
    np.testing.assert_allclose(oracle.uncached_weights(box.alphabet.words(["a"])), [0.1])
    assert box.n_words == 3


def test_rows_of_a_classifier_are_cached_in_a_file(tmp_path):
    first, again = OwnScores(), OwnScores()
    for box in (first, again):
        with seqray.AnswerStore(tmp_path / "answers.sqlite") as store:
            scores = open_oracle(box, cache=store).classifier.scores(["a", "ab"])
        np.testing.assert_allclose(scores, [[0.9, 0.1], [0.8, 0.2]])
    assert first.n_words == 2
    assert again.n_words <= 4  # cached ones are checked, no more


def test_a_noisy_classifier_is_averaged():
    rng = np.random.default_rng(0)
    box = seqray.classifier(lambda words: 0.5 + rng.uniform(-0.3, 0.3, len(words)), "ab")
    oracle = open_oracle(box, repeat=200)
    assert abs(oracle.classifier.scores(["a"])[0, 1] - 0.5) < 0.06
    assert oracle.meter.n_queries == 200


def test_other_boxes_are_no_classifiers():
    assert open_oracle(seqray.black_box(len, "ab")).classifier is None


def test_an_automaton_that_classifies_is_read_as_it_is():
    automaton = seqray.ClassifierAutomaton("a", [1], [[[1]]], [[0.25, 0.75]], classes=["x", "y"])
    oracle = open_oracle(automaton)
    assert oracle.is_free
    assert oracle.classifier.scores(["aa"]).tolist() == [[0.25, 0.75]]


def test_a_classifier_without_a_name_is_told_how_to_get_one():
    box = seqray.classifier(lambda words: [0.5] * len(words), "ab")
    with pytest.raises(ArgumentError, match=r"seqray.classifier\(function, .* name='my model 1'"):
        fingerprint_of(box)
