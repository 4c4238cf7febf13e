import re
from itertools import product

import numpy as np
import pytest

import seqray
from seqray import ArgumentError, BlackBoxError, DeterministicAutomaton, WeightedAutomaton, guided
from seqray.blackbox.queries.oracle import QueryMode, open_oracle
from seqray.learning.pdfa import learn_pdfa

REGEX = "a (b | c a)* c?"
LENGTH = 5


class Recorded:
    """A function that predicts, and records the prefixes that it is queried about."""

    def __init__(self):
        self.prefixes = []

    def __call__(self, prefixes):
        self.prefixes += prefixes
        seeds = [[ord(letter) for letter in prefix] or [0] for prefix in prefixes]
        return np.array([np.random.default_rng(seed).dirichlet(np.ones(4)) for seed in seeds])

    def box(self):
        return seqray.language_model(self, "abc", name="recorded 1")

    def __repr__(self):
        return "recorded"


def machine():
    """Return an automaton that gives every word a probability."""
    numbers = np.random.default_rng(0).dirichlet(np.ones(13), 4)  # 3 symbols × 4 states, the end
    transitions = numbers[:, :-1].reshape(4, 3, 4).transpose(1, 0, 2)
    return WeightedAutomaton("abc", [1, 0, 0, 0], transitions, numbers[:, -1])


def all_words(length=LENGTH):
    return ["".join(word) for n in range(length + 1) for word in product("abc", repeat=n)]


def brute_force(box, regex):
    """Return the rows after all allowed prefixes and the weights of all words, by definition."""
    pattern = re.compile(regex.replace(" ", ""))
    accepted = {word for word in all_words(LENGTH + 2) if pattern.fullmatch(word)}
    begun = {word[:n] for word in accepted for n in range(len(word) + 1)}
    rows = {}
    for prefix in sorted(begun & set(all_words())):
        row = box.next_symbol([prefix])[0]
        allowed = [*(prefix + symbol in begun for symbol in "abc"), prefix in accepted]
        rows[prefix] = row * allowed / (row * allowed).sum()
    weights = []
    for word in all_words():
        weight = rows[word][-1] if word in rows else 0.0
        for n, symbol in enumerate(word):
            weight *= rows[word[:n]]["abc".index(symbol)] if word[:n] in rows else 0.0
        weights.append(weight)
    return rows, np.array(weights)


@pytest.mark.parametrize("make", [machine, lambda: Recorded().box()], ids=["states", "prefixes"])
@pytest.mark.parametrize("regex", [REGEX, "(a|b)*c", ".{2,3}", "(a b c)+|b*"])
def test_it_equals_renormalisation_by_brute_force(make, regex):
    box = make()
    rows, weights = brute_force(box, regex)
    expected = np.array([*rows.values()])
    small = guided(box, regex)
    read, by_states = small.next_symbol([*rows]), open_oracle(small).weights(all_words())
    np.testing.assert_allclose(read, expected, rtol=1e-12)
    assert (read[expected == 0] == 0).all()
    for found in (small.weights(all_words()), by_states):
        np.testing.assert_allclose(found, weights, rtol=1e-12)
        assert (found[weights == 0] == 0).all()


def test_logarithms_of_weights_are_those_of_the_weights():
    box = guided(machine(), REGEX)
    logs = box.log_weights(all_words(3))
    np.testing.assert_allclose(np.exp(logs), box.weights(all_words(3)), rtol=1e-12)


def test_all_words_of_a_finite_guide_weigh_one_together():
    box = guided(machine(), "[a b c]{1,3}")
    assert box.weights(all_words(4)).sum() == pytest.approx(1, abs=1e-12)


def test_renormalising_is_not_conditioning():
    edges = [(0, "a", 1, 0.5), (0, "b", 2, 0.5), (1, "c", 3, 0.1), (1, "d", 3, 0.9), (2, "c", 3, 1)]
    box = WeightedAutomaton.from_edges("abcd", 4, initial={0: 1}, edges=edges, final={3: 1})
    np.testing.assert_allclose(guided(box, ". c").weights(["ac", "bc"]), [0.5, 0.5])
    conditioned = seqray.restricted(box, ". c").weights(["ac", "bc"])
    np.testing.assert_allclose(conditioned, [1 / 11, 10 / 11])


def test_a_guide_that_allows_everything_changes_nothing_but_a_leak():
    words, box = all_words(3), machine()
    np.testing.assert_allclose(guided(box, ".*").next_symbol(words), box.next_symbol(words))
    few = WeightedAutomaton("ab", [1], [[[0.25]], [[0.125]]], [0.125], [0.5])
    assert guided(few, ".*").next_symbol([""]).tolist() == [[0.5, 0.25, 0.25]]


def test_the_box_is_queried_only_where_a_symbol_may_follow():
    recorded = Recorded()
    box = guided(recorded.box(), "a b? c")
    box.weights(all_words())
    box.next_symbol(all_words())
    assert set(recorded.prefixes) == {"", "a", "ab"}


def test_a_guide_that_allows_only_the_empty_word_queries_nothing():
    recorded = Recorded()
    assert guided(recorded.box(), "").weights(["", "a"]).tolist() == [1, 0]
    assert recorded.prefixes == []


def test_after_a_forbidden_prefix_words_end():
    box = guided(machine(), REGEX)
    assert box.next_symbol(["b", "aab"]).tolist() == [[0, 0, 0, 1]] * 2


ONLY_AB = (
    WeightedAutomaton.from_edges(
        "ab", 3, initial={0: 1}, edges=[(0, "a", 1, 1), (1, "b", 2, 1)], final={2: 1}
    ),
    seqray.language_model(
        lambda some: [[p == "", p == "a", p not in ("", "a")] for p in some], "ab"
    ),
)
"""Boxes that say ab always, with states and without."""


@pytest.mark.parametrize("box", ONLY_AB, ids=["states", "prefixes"])
def test_a_box_that_gives_nothing_to_what_is_allowed_fails_with_the_prefix(box):
    assert guided(box, "a b").weights(["ab"])[0] == 1
    with pytest.raises(BlackBoxError, match=r"allows after the prefix 'a': expected more than 0"):
        guided(box, "a a").weights(["aa"])
    with pytest.raises(BlackBoxError, match="allows after the prefix 'a'"):
        guided(box, "a a").next_symbol(["a"])


def test_impossible_prefixes_are_no_failure():
    box = guided(ONLY_AB[1], "a b | b b")
    assert box.weights(["bb", "ab"]).tolist() == [0, 1]


def test_boxes_that_do_not_predict_are_refused():
    numbers = seqray.black_box(lambda words: [1] * len(words), "ab")
    classes = seqray.classifier(lambda words: [0.5] * len(words), "ab")
    odd = WeightedAutomaton("a", [1], [[[-3]]], [2])
    for box in (numbers, classes, odd):
        with pytest.raises(ArgumentError, match="does not predict next symbols: expected a box"):
            guided(box, "a*")


def test_a_second_guide_is_refused():
    box = guided(machine(), REGEX)
    with pytest.raises(ArgumentError, match="has one already"):
        guided(box, "a*")


def test_a_guide_may_come_from_a_file(tmp_path):
    even = DeterministicAutomaton("abc", [[1, 0, 0], [0, 1, 1]], [1, 0])
    even.save(tmp_path / "even.json")
    box = machine()
    for given in (str(tmp_path / "even.json"), tmp_path / "even.json", even):
        assert guided(box, given).weights(["a", "bab"]).tolist() == [0, 0]
        assert guided(box, given).weights(["aa"])[0] > 0
    with pytest.raises(ArgumentError, match=r"guide: there is no file or folder 'odd\.json'"):
        guided(box, "odd.json")


def test_it_says_what_it_is():
    box = guided(Recorded().box(), "a*")
    assert repr(box) == "GuidedBox(the function 'recorded', 'a*')"


# Behind an oracle ---------------------------------------------------------------------------------


def test_cached_answers_are_those_of_the_box_without_a_guide(tmp_path):
    recorded, words = Recorded(), all_words(3)
    with seqray.AnswerStore(tmp_path / "answers") as store:
        open_oracle(recorded.box(), cache=store).next_symbol(recorded.box().alphabet.words(words))
        recorded.prefixes.clear()
        oracle = open_oracle(guided(recorded.box(), REGEX), cache=store)
        n_checked = len(recorded.prefixes)  # whether cached answers are still those of the box
        weights = oracle.weights(words)
        assert len(recorded.prefixes) == n_checked < 10
        assert oracle.meter.n_answers == 7  # allowed prefixes
    np.testing.assert_allclose(weights, guided(Recorded().box(), REGEX).weights(words))


def test_a_guided_box_is_queried_like_the_box_in_it():
    oracle = open_oracle(guided(Recorded().box(), REGEX))
    assert oracle.mode is QueryMode.PREFIXES
    assert oracle.caches
    network = open_oracle(guided(seqray.open_black_box("demo"), "a*"))
    assert network.mode is QueryMode.STATES
    automaton = open_oracle(guided(machine(), REGEX))
    assert automaton.mode is QueryMode.STATES
    assert automaton.is_deterministic
    assert not automaton.is_free


def test_steps_that_the_guide_forbids_are_not_counted():
    oracle = open_oracle(guided(machine(), "a b? c"))
    oracle.weights(all_words())
    assert oracle.meter.n_queries == 2  # to a and ab


def test_blocks_of_other_guides_are_cached_apart(tmp_path):
    box = seqray.open_black_box("demo")
    one, other = guided(box, "a*"), guided(box, "b*")
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == guided(box, "a a* | ").fingerprint


def test_repeated_queries_are_means_of_the_box_within_the_guide():
    rng = np.random.default_rng(0)
    noisy = seqray.language_model(lambda some: rng.dirichlet([5, 5, 5], len(some)), "ab")
    row = open_oracle(guided(noisy, "a b*"), repeat=400).next_symbol(
        noisy.alphabet.words(["", "a"])
    )
    np.testing.assert_allclose(row, [[1, 0, 0], [0, 0.5, 0.5]], atol=0.03)


def test_a_pdfa_is_learnt_within_the_guide():
    box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    learned = learn_pdfa(guided(box, "(a b)*"), words=["ba", "abab"])
    rows = learned.automaton.next_symbol(["", "a", "ab"])
    np.testing.assert_allclose(rows, [[2 / 3, 0, 1 / 3], [0, 1, 0], [2 / 3, 0, 1 / 3]])
