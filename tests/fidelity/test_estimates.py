"""Estimates on drawn words: each is the metric itself on those words."""

import numpy as np
import pytest

import seqray
from seqray.automata.tree import PrefixTree
from seqray.fidelity.estimates import along_words, next_estimates, zeros_estimate
from seqray.fidelity.metrics import METRICS


def test_every_estimate_is_the_metric_itself_for_words_drawn_as_they_are_and_for_any_others(pair):
    box, automaton, words = pair
    tree = PrefixTree.of(words)
    sides = [box.next_symbol(tree.words()).T, automaton.next_symbol(tree.words()).T]
    estimates = {**next_estimates(tree, *sides), "zeros": zeros_estimate(automaton.weights(words))}
    turned = {each.name: each.from_estimate or float for each in METRICS}
    rng = np.random.default_rng(4)
    drawn = rng.multinomial(len(words), np.full(len(words), 1 / len(words)), 5)
    drawn[0] = 1
    for sample in drawn:
        again = words[np.repeat(np.arange(len(words)), sample)]
        expected = seqray.compare(box, automaton, again)
        for name, estimate in estimates.items():
            found = turned[name](estimate(sample[None].astype(float))[0])
            assert found == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name


def test_sums_along_words_are_those_of_their_prefixes(pair):
    _, _, words = pair
    tree = PrefixTree.of(words)
    values = np.random.default_rng(0).random(len(tree))
    place = dict(zip(tree.words(), values, strict=True))
    expected = [sum(place[word[:n]] for n in range(len(word) + 1)) for word in words]
    np.testing.assert_allclose(along_words(tree, values), expected)
