import numpy as np
import pytest

from seqray import extract
from seqray.automata.stepper import PredictingStepper, Stepper
from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.stepped import SteppedBox, SteppedModel, stepped_box
from seqray.util.errors import ArgumentError, BlackBoxError, SymbolError

AB = Alphabet("ab")
WORDS = ["abba", "", "a", "bb", "ab", "b", "abb", "a"]


class Counter:
    """Remembers the ids that it has read as a decimal fraction; its scores are x, -x, 0."""

    def __init__(self, first=True, change=lambda scores: scores):
        self.first = first
        self.change = change
        self.n_steps = 0

    def begin(self):
        return (self.scores(np.zeros(1)) if self.first else None), np.zeros(1)

    def advance(self, state, parents, ids):
        self.n_steps += len(ids)
        value = (state[parents] + ids + 1) / 10
        return self.scores(value), value

    def scores(self, value):
        return self.change(np.stack([value, -value, 0 * value], axis=1).astype(np.float32))


def value_of(ids):
    value = 0.0
    for i in ids:
        value = (value + i + 1) / 10
    return value


def box_of(card, steps=None):
    return stepped_box(steps or Counter(), card, who="the net", fingerprint="f")


@pytest.mark.parametrize("start", [None, 4])
def test_a_value_network_is_read_after_each_symbol(start):
    box = box_of(Card(AB, "value", start=start, ids=[2, 0]))
    assert isinstance(box, Stepper)
    assert not isinstance(box, PredictingStepper)
    before = [] if start is None else [start]
    expected = [value_of([*before, *(2 - 2 * AB.encode(word))]) for word in WORDS]
    np.testing.assert_allclose(box.weights(WORDS), expected, rtol=1e-6)


@pytest.mark.parametrize("stop", [5, [5, 6]])
@pytest.mark.parametrize("start", [None, [4, 3]])
def test_ids_around_every_word_are_read_from_state_to_state(start, stop):
    box = box_of(Card(AB, "value", start=start, stop=stop), Counter(first=False))
    before, after = start or [], [stop] if stop == 5 else stop
    expected = [value_of([*before, *AB.encode(word), *after]) for word in WORDS]
    np.testing.assert_allclose(box.weights(WORDS), expected, rtol=1e-6)


def test_several_ids_are_read_before_the_first_prediction():
    actual = box_of(Card(AB, "next", start=[4, 3]), Counter(first=False)).next_symbol(["", "a"])
    x = np.array([value_of([4, 3]), value_of([4, 3, 0])])
    scores = np.exp(np.stack([x, -x, 0 * x], axis=1))
    np.testing.assert_allclose(actual, scores / scores.sum(axis=1, keepdims=True), rtol=1e-6)


def test_the_value_of_the_empty_word_may_be_given():
    box = box_of(Card(AB, "value", empty=-3), Counter(first=False))
    np.testing.assert_allclose(box.weights(["", "a"]), [-3, 0.1])


@pytest.mark.parametrize("renormalise", [True, False])
def test_a_predicting_network_says_what_follows(renormalise):
    card = Card(Alphabet("a"), "next", start=3, renormalise=renormalise)
    box = box_of(card)
    assert isinstance(box, SteppedModel)
    assert isinstance(box, PredictingStepper)
    x = np.array([value_of([3]), value_of([3, 0])])
    logits = np.exp(np.stack([x, -x, 0 * x], axis=1))
    outputs = logits[:, :2] if renormalise else logits
    expected = logits[:, :2] / outputs.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(box.next_symbol(["", "a"]), expected, rtol=1e-6)
    weights = [expected[0, 1], expected[0, 0] * expected[1, 1]]
    np.testing.assert_allclose(box.weights(["", "a"]), weights, rtol=1e-6)
    np.testing.assert_allclose(box.log_weights(["", "a"]), np.log(weights), rtol=1e-5)


def test_every_prefix_is_read_once():
    steps = Counter()
    box_of(Card(AB, "value"), steps).weights(WORDS)
    assert steps.n_steps == len({word[:n] for word in WORDS for n in range(1, 5)} - {""})


def test_logarithms_do_not_underflow():
    box = box_of(Card(AB, "next"))
    assert np.isfinite(box.log_weights(["ab" * 2000])).all()
    assert box.weights(["ab" * 2000]).tolist() == [0]


def test_what_is_stepped_can_be_extracted():
    extraction = extract(box_of(Card(AB, "value")), prefixes=20, suffixes=20)
    np.testing.assert_allclose(extraction.best().weight("abab"), value_of([0, 1, 0, 1]), rtol=1e-4)


def test_it_has_a_fingerprint():
    box = box_of(Card(AB, "value"))
    assert (box.who, box.fingerprint) == ("the net", "f")
    assert isinstance(box, SteppedBox)


# What goes wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", ["value", "next"])
def test_a_network_that_says_nothing_before_it_has_read_needs_a_start(answers):
    with pytest.raises(
        ArgumentError, match=r"the net answers nothing before .* its card has no start"
    ):
        box_of(Card(AB, answers), Counter(first=False)).weights(["a"])
    box_of(Card(AB, answers, start=2), Counter(first=False)).weights(["a"])


@pytest.mark.parametrize("when", ["begin", "advance"])
def test_a_network_that_fails_is_named(when):
    def fail(*_):
        raise RuntimeError("boom")

    steps = Counter()
    setattr(steps, when, fail)
    where = {"begin": "the start", "advance": "1 states and symbols"}[when]
    with pytest.raises(BlackBoxError, match=f"the net failed on {where}: RuntimeError: boom"):
        box_of(Card(AB, "value"), steps).weights(["a"])


def test_an_interruption_is_no_failure():
    def interrupt(*_):
        raise KeyboardInterrupt

    steps = Counter()
    steps.advance = interrupt
    with pytest.raises(KeyboardInterrupt):
        box_of(Card(AB, "value"), steps).weights(["a"])


def nan_after_b(scores):
    return np.where(scores[:, :1] == np.float32(0.2), np.nan, scores)


@pytest.mark.parametrize("answers", ["value", "next"])
def test_what_cannot_be_used_is_shown_with_the_symbol_before_it(answers):
    box = box_of(Card(AB, answers), Counter(change=nan_after_b))
    box.weights(["a"])
    with pytest.raises(BlackBoxError, match=r"the net answered \[.*nan.*\] after the symbol 'b'"):
        box.weights(["a", "b"])


def test_what_cannot_be_used_of_the_empty_word_is_shown_too():
    box = box_of(Card(AB, "value"), Counter(change=lambda scores: scores + np.inf))
    with pytest.raises(BlackBoxError, match="for the empty word: expected a finite number"):
        box.weights([""])


def test_a_network_that_gives_no_chance_to_anything_is_refused():
    def all_on_the_last(scores):
        return np.eye(4)[[3] * len(scores)]

    box = box_of(Card(AB, "next", "probabilities"), Counter(change=all_on_the_last))
    with pytest.raises(BlackBoxError, match="gave no probability to any symbol nor to the end"):
        box.weights(["a"])


def test_the_wrong_number_of_answers_is_refused():
    box = box_of(Card(AB, "value"), Counter(change=lambda scores: scores[:1]))
    with pytest.raises(BlackBoxError, match=r"got 2 queries and answered shape \(1, 3\)"):
        box.weights(["a", "b"])


def test_a_symbol_outside_the_alphabet_is_refused():
    with pytest.raises(SymbolError):
        box_of(Card(AB, "value")).weights(["x"])
