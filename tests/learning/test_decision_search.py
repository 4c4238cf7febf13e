"""The search for words that a box decides otherwise than an automaton."""

import numpy as np

from seqray import Alphabet, DeterministicAutomaton, WeightedAutomaton
from seqray.learning.decision_search import (
    FIRST_PIECE,
    DecisionSearch,
    access_words,
    walks_along,
)
from seqray.learning.known_rows import KnownRows

EVEN = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
NEVER = DeterministicAutomaton("ab", [[0, 0]], [0])


class Needle:
    """Accepts one word; remembers how many words were queried."""

    def __init__(self, word):
        self.word, self.n_queried = tuple(word), 0

    def __call__(self, words):
        self.n_queried += len(words)
        return np.eye(2)[[int(word == self.word) for word in words]]


def search_of(query, *, given=(), hint=None, n_words=20, max_length=8):
    alphabet = Alphabet("ab")
    return DecisionSearch(
        KnownRows(alphabet, query, None),
        alphabet.words(given),
        hint,
        lambda wa, words: (wa.weights(words) >= 0.5).astype(int),
        n_words,
        max_length,
    )


def test_what_is_known_costs_nothing():
    needle = Needle("a")
    search = search_of(needle)
    search.known.query([(0,), (1,)])
    assert search.counterexample(NEVER, np.random.default_rng(0)) == (0,)
    assert needle.n_queried == 2


def test_given_words_are_searched_with_their_prefixes():
    search = search_of(Needle("babab"), given=["bababbb"], max_length=9)
    assert search.counterexample(NEVER, np.random.default_rng(0)) == (1, 0, 1, 0, 1)


def test_a_hint_says_where_to_look():
    word = "abbaabab"
    n = len(word)
    transitions = np.zeros((2, n + 1, n + 1))
    for at, sign in enumerate(word):
        transitions["ab".index(sign), at, at + 1] = 1
    hint = WeightedAutomaton("ab", np.eye(n + 1)[0], transitions, np.eye(n + 1)[n])
    needle = Needle(word)
    hinted = search_of(needle, hint=hint, n_words=200)
    assert hint.is_distribution
    found = hinted.counterexample(NEVER, np.random.default_rng(0))
    assert hinted.known.alphabet.decode(found) == tuple(word)
    assert needle.n_queried == 1


def test_random_words_and_walks_find_what_is_frequent():
    def even(words):
        return np.eye(2)[[(word.count("a") % 2 == 0 and 1) or 0 for word in words]]

    search = search_of(even)
    assert search.counterexample(NEVER, np.random.default_rng(0)) is not None
    assert search.counterexample(EVEN, np.random.default_rng(0)) is None


def test_a_counterexample_ends_the_search_before_more_is_queried():
    queried = []

    def even(words):
        queried.append(len(words))
        return np.eye(2)[[int(word.count("a") % 2 == 0) for word in words]]

    search = search_of(even, n_words=1000)
    assert search.counterexample(NEVER, np.random.default_rng(0)) is not None
    assert queried == [FIRST_PIECE]
    assert search.counterexample(EVEN, np.random.default_rng(0)) is None
    assert queried[1:3] == [FIRST_PIECE, 2 * FIRST_PIECE]
    assert sum(queried) > 300


def test_ignored_words_are_no_counterexamples():
    search = search_of(Needle("a"))
    search.known.query([(0,)])
    assert search.counterexample(NEVER, np.random.default_rng(0), {(0,)}) is None


def test_no_word_is_longer_than_allowed():
    def short(words):
        assert words.lengths.max() <= 3
        return np.tile([1.0, 0.0], (len(words), 1))

    hint = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    search = search_of(short, given=["aaaaa"], hint=hint, max_length=3)
    assert search.counterexample(NEVER, np.random.default_rng(0)) is None
    assert search_of(short, max_length=0).counterexample(NEVER, np.random.default_rng(0)) is None
    only = search_of(short, hint=hint, max_length=0)
    assert only.counterexample(NEVER, np.random.default_rng(0)) is None


def test_walks_begin_with_every_transition():
    walks = walks_along(EVEN, 100, np.random.default_rng(0))
    assert len(walks) >= 100
    assert access_words(EVEN) == [(), (0,)]
    for transition in [(0,), (1,), (0, 0), (0, 1)]:
        assert any(walk[: len(transition)] == transition for walk in walks)
