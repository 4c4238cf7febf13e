import pytest

from seqray.blackbox.call_size import (
    FIRST_WORDS_PER_CALL,
    MAX_CALLS_PER_ESTIMATE,
    TARGET_CALL_SECONDS,
    CallSize,
)


def sizes(seconds, n_calls=12, size=None, **limits):
    """Return the sizes of calls that take ``seconds(n_words)`` each."""
    size, result = size or CallSize(), []
    for _ in range(n_calls):
        result.append(size.n_words)
        size.adapt(size.n_words, seconds(size.n_words), **limits)
    return result


@pytest.mark.parametrize("fixed", [0.0, 0.4, 0.6, 1.5, 3.0, 40.0])
def test_calls_that_take_the_same_time_whatever_their_words_keep_growing(fixed):
    assert sizes(lambda n: fixed)[-1] >= 1024


@pytest.mark.parametrize("per_word", [0.07, 0.3, 0.6, 2.0, 30.0])
def test_calls_that_cost_a_time_for_each_word_take_about_a_second_or_have_one_word(per_word):
    taken = [n * per_word for n in sizes(lambda n: n * per_word, 60)]
    assert max(taken[4:]) <= max(4 * TARGET_CALL_SECONDS, 2 * per_word)
    assert sum(taken[4:]) / 56 < 1.5 * max(TARGET_CALL_SECONDS, per_word)


@pytest.mark.parametrize("fixed", [0.1, 0.6, 5.0])
def test_the_words_of_a_call_take_about_a_second_or_as_long_as_the_fixed_cost(fixed):
    last = sizes(lambda n: fixed + 0.01 * n, 20)[-1]
    longest = max(TARGET_CALL_SECONDS, fixed)
    assert longest / 4 < 0.01 * last <= 2 * longest


def test_a_first_call_of_one_word_that_is_slow_does_not_stay_alone():
    size = CallSize()
    size.adapt(1, 3.0)
    assert size.n_words == 1
    assert sizes(lambda n: 3.0, 14, size)[-1] >= 1024


def test_loading_at_the_first_call_does_not_count_for_every_word():
    first = [20.0]
    assert sizes(lambda n: first.pop() if first else 0.3)[-1] >= 1024


def test_one_call_that_took_longer_by_chance_is_forgotten():
    times = [0.6, 3.0]
    n_calls = 2 * MAX_CALLS_PER_ESTIMATE
    assert sizes(lambda n: times.pop(0) if times else 0.6, n_calls)[-1] >= 1024


def test_a_function_that_becomes_slow_for_each_word_gets_fewer():
    size = CallSize()
    assert sizes(lambda n: 0.6, 12, size)[-1] >= 1024
    assert sizes(lambda n: 0.6 * n, 5, size)[-1] <= 2


def test_a_call_with_fewer_words_than_allowed_says_nothing_about_larger_ones():
    size = CallSize()
    for n_words in (4, 1, 6, 8, 10):
        size.adapt(n_words, 0.6)
    assert size.n_words == FIRST_WORDS_PER_CALL


def test_no_call_grows_that_might_take_longer_than_its_timeout():
    assert sizes(lambda n: 0.6, timeout=1.0) == [FIRST_WORDS_PER_CALL] * 12
    assert sizes(lambda n: 0.6, timeout=1.2)[-1] >= 1024
