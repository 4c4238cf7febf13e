"""Limits, progress and cache of learners."""

import threading

import pytest

import seqray
from seqray.learning.session import max_states_of, opened_session

COIN = seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5])


def test_every_prefix_of_an_automaton_is_one_query():
    with opened_session(COIN) as oracle:
        words = oracle.alphabet.words(["aaa", "a", "aaa"])
        assert oracle.next_symbol(words).tolist() == [[0.5, 0.5]] * 3
        assert oracle.meter.n_queries == 2


def test_progress_receives_what_is_answered():
    seen = []

    class Bar:
        def phase(self, name, unit):
            seen.append(unit)

        def __call__(self, done, total):
            seen.append((done, total))

    with opened_session(COIN, budget=10, progress=Bar()) as oracle:
        oracle.next_symbol(oracle.alphabet.words(["a", "aa"]))
    assert seen == ["answers", (2, 10)]
    with opened_session(COIN, progress=lambda done, total: seen.append((done, total))) as oracle:
        oracle.next_symbol(oracle.alphabet.words(["a"]))
    assert seen[-1] == (1, 1)


def test_answers_are_cached_in_a_file(tmp_path):
    calls = []

    def function(prefixes):
        calls.append(len(prefixes))
        return [[0.5, 0.5]] * len(prefixes)

    box = seqray.language_model(function, "a", name="coin")
    first = seqray.learn_pdfa(box, store=tmp_path / "answers.sqlite")
    n_calls = sum(calls)
    again = seqray.learn_pdfa(box, store=tmp_path / "answers.sqlite")
    assert again.n_queries == first.n_queries
    assert sum(calls) - n_calls < n_calls  # a check of a few cached answers


def test_a_set_event_stops():
    stop = threading.Event()
    stop.set()
    with pytest.raises(seqray.Stopped):
        seqray.learn_pdfa(COIN, stop=stop)


@pytest.mark.parametrize(
    ("learn", "misspelt"), [(seqray.learn_pdfa, "tolerence"), (seqray.learn_dfa, "metod")]
)
def test_a_misspelt_parameter_is_refused_before_any_query(learn, misspelt):
    def function(words):
        raise AssertionError("queried")

    box = seqray.black_box(function, "a")
    with pytest.raises(TypeError, match=rf"{learn.__name__}\(\) got an unexpected .* '{misspelt}'"):
        learn(box, **{misspelt: 1})


def test_the_most_states_are_a_whole_number():
    assert max_states_of({}) == 1000
    with pytest.raises(seqray.ArgumentError, match="max_states: expected a whole number from 1"):
        max_states_of({"max_states": 0})
