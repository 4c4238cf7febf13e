import numpy as np
import pytest

import seqray
from seqray.automata.generators import random_structured


def test_words_of_a_machine_give_back_what_it_predicts() -> None:
    truth = random_structured("abc", 2, seed=1)
    wa = seqray.fit_automaton(truth.sample(3000, seed=2).words, max_states=8, seed=3)
    fidelity = seqray.compare(truth, wa, truth.sample(1000, seed=4).words)
    assert fidelity["kl_per_symbol"] < 0.02
    assert wa.is_distribution


def test_one_state_per_symbol_has_the_frequencies_of_pairs() -> None:
    words = ["ab"] * 60 + ["aa"] * 40
    wa = seqray.fit_automaton(words, max_states=1)
    assert np.allclose(wa.next_symbol(["", "a", "ab"])[0], [1, 0, 0], atol=0.01)
    # Of 140 letters a, 60 are followed by b, 40 by a and 40 by the end.
    assert np.allclose(wa.next_symbol(["a"]), [[40 / 140, 60 / 140, 40 / 140]], atol=0.05)


def test_more_states_are_used_only_where_they_help() -> None:
    coin = seqray.WeightedAutomaton("ab", [1], [[[0.4]], [[0.4]]], [0.2])
    assert seqray.fit_automaton(coin.sample(3000, seed=0).words).n_states <= 20


def test_the_same_seed_gives_the_same_automaton() -> None:
    words = random_structured("ab", 2, seed=0).sample(300, seed=1).words
    first, second = (seqray.fit_automaton(words, max_states=4, seed=5) for _ in range(2))
    assert np.array_equal(first.weights(words), second.weights(words))


def test_a_symbol_that_no_word_has_stays_possible_but_improbable() -> None:
    wa = seqray.fit_automaton(["ab"] * 50, alphabet="abc", max_states=2)
    assert 0 < wa.weight("acb") < 0.01


def test_strings_are_split_at_white_space_where_one_of_them_has_any() -> None:
    assert seqray.fit_automaton(["open close", "open"] * 20).alphabet.symbols == ("close", "open")
    assert seqray.fit_automaton([[1, "x"], [1]] * 20).alphabet.symbols == (1, "x")


def test_a_bar_changes_nothing() -> None:
    shown = seqray.fit_automaton(["ab", "b"] * 30, max_states=2, progress=True)
    silent = seqray.fit_automaton(["ab", "b"] * 30, max_states=2)
    assert np.array_equal(shown.weights(["ab", "a"]), silent.weights(["ab", "a"]))


def test_a_single_word_can_be_fitted_to() -> None:
    assert seqray.fit_automaton(["abc"]).weight("abc") > 0.3


@pytest.mark.parametrize(("words", "message"), [([], "got 0"), ([""], "got 1"), ("ab", "a list")])
def test_what_cannot_be_fitted_to_is_refused(words: object, message: str) -> None:
    with pytest.raises(seqray.ArgumentError, match=message):
        seqray.fit_automaton(words)
