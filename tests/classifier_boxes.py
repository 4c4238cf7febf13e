"""Classifiers that tests share: small rules with known automata."""

from itertools import product

import numpy as np

import seqray

THREE = ("zero", "one", "two")


def remainder(word):
    """a counts 1, b counts 2, c begins anew: three states."""
    total = 0
    for symbol in word:
        total = 0 if symbol == "c" else (total + {"a": 1, "b": 2}[symbol]) % 3
    return total


def three_classes(**options):
    """Return a classifier of three classes that knows no doubt."""
    return seqray.classifier(
        lambda words: [THREE[remainder(word)] for word in words], "abc", THREE, **options
    )


def remainder_automaton(question="probability"):
    """Return the automaton of `three_classes`, state by state."""
    turn = np.roll(np.eye(3), 1, axis=1)
    again = np.tile([1.0, 0, 0], (3, 1))
    return seqray.ClassifierAutomaton(
        *("abc", [1, 0, 0], [turn, turn @ turn, again], np.eye(3)),
        classes=THREE,
        question=question,
    )


def doubtful_classes():
    """Return a classifier of two classes whose probability depends on the last two symbols."""

    def scores(words):
        return [0.1 + 0.5 * (w[-1:] == "a") + 0.3 * (w[-2:-1] == "a") for w in words]

    return seqray.classifier(scores, "ab", ["low", "high"])


def all_words(symbols, max_length):
    """Return all words up to a length."""
    return [w for n in range(max_length + 1) for w in product(symbols, repeat=n)]
