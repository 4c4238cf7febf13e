import collections
import threading
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from seqray import Alphabet
from seqray.automata.stepper import PredictingStepper, Stepper
from seqray.blackbox.native.function import black_box, language_model
from seqray.blackbox.protocol import BlackBox
from seqray.util.errors import ArgumentError, BlackBoxError, SymbolError

CHANCES = {"": [0.5, 0.25, 0.25], "a": [0.1, 0.2, 0.7], "b": [0, 0, 1], "ab": [0.3, 0.3, 0.4]}


def next_probabilities(prefixes):
    return [CHANCES.get(prefix, [0.25, 0.25, 0.5]) for prefix in prefixes]


# A function on words ------------------------------------------------------------------------------


def test_a_function_is_a_black_box_and_no_stepper():
    box = black_box(lambda words: [0.0] * len(words), "ab")
    assert isinstance(box, BlackBox)
    assert not isinstance(box, Stepper)
    assert box.alphabet == Alphabet("ab")


def test_all_words_are_queried_in_one_call_as_strings():
    queried = []
    box = black_box(lambda words: queried.append(words) or [len(w) for w in words], "ab")
    assert box.weights(["ab", "", "ab"]).tolist() == [2, 0, 2]
    assert queried == [["ab", "", "ab"]]


@pytest.mark.parametrize("symbols", [[0, 1], ["do", "re"], [("x", 1), 2.5]])
def test_words_are_tuples_where_symbols_are_no_characters(symbols):
    queried = []
    box = black_box(lambda words: queried.extend(words) or np.ones(len(words)), symbols)
    box.weights([[], symbols])
    assert queried == [(), tuple(symbols)]


@pytest.mark.parametrize(
    "answers",
    [
        [1, 2],
        (1.0, 2.0),
        np.array([1, 2], np.uint8),
        np.array([1, 2], np.float32),
        np.array([1, 2.0], object),
        [True, 2],
    ],
)
def test_any_real_numbers_are_answers(answers):
    weights = black_box(lambda words: answers, "ab").weights(["a", "b"])
    assert weights.dtype == np.float64
    assert weights.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([1], r"2 words and returned shape \(1,\): expected \(2,\)"),
        ([1, 2, 3], r"returned shape \(3,\)"),
        ([[1], [2]], r"returned shape \(2, 1\)"),
        (1.0, r"returned shape \(\)"),
        ([], r"returned shape \(0,\)"),
        (None, r"returned objects such as \[None\].*: is a return statement missing\?"),
        ([[0.5, 0.3, 0.2]] * 2, r"\(2, 3\): .*seqray.language_model\(function, alphabet\)"),
        ([1, None], "returned objects such as"),
        ([1, np.nan], "returned nan for the word 'bb': expected a finite number"),
        ([np.inf, 1], "returned inf for the word 'a'"),
        ([1, -np.inf], "returned -inf for the word 'bb'"),
        ([1j, 1], "returned complex numbers: expected an array of real numbers"),
        (["1", "2"], "returned strings"),
        ([b"1", b"2"], "returned bytes"),
        ([[1, 2], [3]], "returned something that is no array"),
        ([Fraction(1, 2), Decimal(1)], "returned objects such as"),
        ({"a": 1}, "returned objects such as"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused(answers, message):
    def answer(words):
        return answers

    with pytest.raises(BlackBoxError, match=message) as caught:
        black_box(answer, "ab").weights(["a", "bb"])
    assert "the function 'answer'" in str(caught.value)


def test_a_function_that_fails_on_one_word_is_named_with_that_word():
    queried = []

    def broken(words):
        queried.append(words)
        return [{"aa": 1, "ab": 2, "ba": 3}[word] for word in words]

    with pytest.raises(
        BlackBoxError, match=r"'broken' failed on the word 'bb': KeyError"
    ) as caught:
        black_box(broken, "ab").weights(["aa", "ab", "ba", "bb", "aa"])
    assert isinstance(caught.value.__cause__, KeyError)
    assert queried == [
        ["aa", "ab", "ba", "bb", "aa"],
        ["aa", "ab"],
        ["ba", "bb", "aa"],
        ["ba"],
        ["bb", "aa"],
        ["bb"],
    ]


def test_a_function_that_fails_on_large_batches_answers_small_ones():
    def small(words):
        if len(words) > 2:
            raise MemoryError
        return [len(word) for word in words]

    assert black_box(small, "ab").weights(["", "a", "b", "ab", "aba"]).tolist() == [0, 1, 1, 2, 3]


def test_a_batch_size_is_respected():
    sizes = []
    box = black_box(lambda words: sizes.append(len(words)) or [1] * len(words), "ab", batch_size=2)
    box.weights(["", "a", "b", "ab", "aba"])
    assert sizes == [2, 2, 1]


def test_a_function_that_hangs_is_left_after_its_timeout():
    forever = threading.Event()
    box = black_box(lambda words: forever.wait(), "ab", timeout=0.05)
    with pytest.raises(
        BlackBoxError, match=r"gave no answer in 0.05 s to 2 words that begin with 'a'"
    ):
        box.weights(["a", "b"])
    forever.set()


def test_a_function_in_time_answers_and_fails_as_without_a_timeout():
    assert black_box(lambda words: [1] * len(words), "ab", timeout=9).weights(["a"]).tolist() == [1]
    with pytest.raises(BlackBoxError, match="ZeroDivisionError"):
        black_box(lambda words: 1 / 0, "ab", timeout=9).weights(["a"])


@pytest.mark.parametrize("option", ["timeout", "batch_size"])
def test_sizes_and_times_are_positive(option):
    with pytest.raises(ArgumentError, match=f"{option}: expected .*got 0"):
        black_box(len, "ab", **{option: 0})


def test_the_projects_own_errors_and_interrupts_pass_through():
    def refuse(words):
        raise SymbolError("no")

    def interrupt(words):
        raise KeyboardInterrupt

    with pytest.raises(SymbolError, match=r"^no$"):
        black_box(refuse, "ab").weights(["a"])
    with pytest.raises(KeyboardInterrupt):
        black_box(interrupt, "ab").weights(["a"])


def test_a_callable_without_a_name_is_shown():
    class Model:
        def __call__(self, words):
            return ["x"] * len(words)

        def __repr__(self):
            return "Model()"

    with pytest.raises(BlackBoxError, match=r"the function 'Model\(\)' returned strings"):
        black_box(Model(), "ab").weights(["a"])


def test_words_outside_the_alphabet_are_never_queried():
    box = black_box(lambda words: pytest.fail("queried"), Alphabet("ab"))
    with pytest.raises(SymbolError):
        box.weights(["abc"])


# A function that predicts the next symbol ---------------------------------------------------------


def test_a_predicting_function_is_a_predicting_stepper():
    assert isinstance(language_model(next_probabilities, "ab"), PredictingStepper)


def test_a_words_weight_is_the_product_of_its_symbols_and_its_end():
    weights = language_model(next_probabilities, "ab").weights(["", "a", "b", "ab", "aba", "ba"])
    expected = [
        0.25,
        0.5 * 0.7,
        0.25 * 1,
        0.5 * 0.2 * 0.4,
        0.5 * 0.2 * 0.3 * 0.5,
        0.25 * 0 * 0.5,
    ]
    np.testing.assert_allclose(weights, expected, rtol=1e-14)


def test_every_prefix_is_queried_once():
    queried = collections.Counter()

    def count(prefixes):
        queried.update(prefixes)
        return next_probabilities(prefixes)

    language_model(count, "ab").weights(["ab", "abb", "ab", "", "ba"])
    assert queried == dict.fromkeys(["", "a", "b", "ab", "ba", "abb"], 1)


def test_next_symbol_is_what_the_function_says():
    box = language_model(next_probabilities, "ab")
    assert box.next_symbol(["ab", "", "ab"]).tolist() == [CHANCES["ab"], CHANCES[""], CHANCES["ab"]]
    start = box.start()
    both = box.step(start, np.array([0, 0]), np.array([1, 0]))
    assert box.state_next_symbol(both).tolist() == [CHANCES["b"], CHANCES["a"]]
    np.testing.assert_allclose(box.state_weights(both), [0.25, 0.35])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            [0.5, 0.25, 0.2],
            r"returned \[0.5, 0.25, 0.2\] for the prefix 'λ': expected probabilities",
        ),
        ([1.5, -0.25, -0.25], "expected probabilities that sum to 1.*apply softmax"),
        ([0.5, 0.5], r"returned shape \(1, 2\): expected \(1, 3\)"),
        ([0.5, 0.5, np.nan], "returned nan for the word 'λ'"),
        (["a", "b", "c"], "returned strings"),
    ],
)
def test_what_is_no_distribution_is_refused(row, message):
    with pytest.raises(BlackBoxError, match=message):
        language_model(lambda prefixes: [row] * len(prefixes), "ab").weights(["ab"])


def test_integers_may_be_probabilities():
    box = language_model(lambda prefixes: [[0, 0, 1]] * len(prefixes), "ab")
    assert box.weights(["", "a"]).tolist() == [1, 0]


def test_a_function_is_not_called_with_a_word_longer_than_it_reads():
    box = black_box(lambda words: [len(w) for w in words], "ab", max_length=2)
    assert box.max_length == 2
    with pytest.raises(BlackBoxError, match="at most 2 symbols, and 'aba' has 3: "):
        box.weights(["a", "aba"])


def test_the_longest_word_of_a_function_is_a_whole_number():
    with pytest.raises(ArgumentError, match="max_length: expected a whole number from 0"):
        black_box(len, "ab", max_length=-1)


def test_a_function_that_takes_one_word_gets_an_error_that_says_it_gets_a_list():
    with pytest.raises(BlackBoxError, match="one number for each word: it gets a list of words"):
        black_box(lambda word: 1.0, "ab").weights(["a", "b"])


def test_what_cannot_be_called_is_no_function():
    with pytest.raises(
        ArgumentError, match="expected a function of a list of words, got 'my_module'"
    ):
        black_box("my_module", "ab")


def test_a_row_without_the_end_is_refused_with_what_is_missing():
    with pytest.raises(BlackBoxError, match="every symbol and last of the end"):
        language_model(lambda prefixes: [[0.5, 0.5]] * len(prefixes), "ab").weights(["a"])


# How many words a call gets ----------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only when a function adds to its seconds."""
    clock = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(
        "seqray.blackbox.native.function.time", SimpleNamespace(monotonic=lambda: clock.seconds)
    )
    return clock


def timed(clock, fixed, per_word):
    """Return a function with a fixed time per call and a time per word, and the calls it got."""
    calls = []

    def answer(words):
        clock.seconds += fixed + per_word * len(words)
        calls.append(words)
        return [len(word) for word in words]

    return answer, calls


WORDS = [f"{n:012b}" for n in range(4000)]


@pytest.mark.parametrize("fixed", [0.4, 0.6, 5.0])
def test_a_function_as_fast_with_many_words_as_with_few_gets_many(clock, fixed):
    function, calls = timed(clock, fixed, 0.0)
    box = black_box(function, "01")
    box.weights(WORDS)
    assert max(map(len, calls)) == 1024
    assert len(calls) <= 13
    assert sorted(word for call in calls for word in call) == WORDS


def test_a_function_that_is_slow_for_each_word_gets_few_in_every_call(clock):
    function, calls = timed(clock, 0.0, 0.6)
    black_box(function, "01").weights(WORDS[:100])
    assert max(map(len, calls[1:])) <= 4
    assert sorted(word for call in calls for word in call) == WORDS[:100]


def test_a_batch_size_stays_the_most_words_of_a_function_of_constant_time(clock):
    function, calls = timed(clock, 0.6, 0.0)
    black_box(function, "01", batch_size=100).weights(WORDS)
    assert max(map(len, calls)) == 100


def test_the_time_in_which_answers_are_stored_is_not_the_functions(clock):
    function, calls = timed(clock, 0.0, 0.001)
    for _ in black_box(function, "01").answers(Alphabet("01").words(WORDS)):
        clock.seconds += 60
    assert max(map(len, calls)) >= 512
