"""Words to search for counterexamples: walks along every transition of the hypothesis."""

from __future__ import annotations

import numpy as np

from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.learning.known_rows import Codes, codes_of
from seqray.learning.tree_learner import TreeLearner

MIN_WALKS = 200
"""Walks of one search, where there are fewer transitions."""

MEAN_WALK_LENGTH = 2
"""Symbols of a walk after its transition, on average."""


def prefixes_of(words: Words) -> list[Codes]:
    """Return all prefixes of words, each once.

    >>> from seqray.automata.words import Alphabet
    >>> prefixes_of(Alphabet("ab").words(["ab", "aa"]))
    [(), (0,), (0, 0), (0, 1)]
    """
    return codes_of(PrefixTree.of(words).words())


def walks(learner: TreeLearner, rng: np.random.Generator) -> list[Codes]:
    """Return words that go along each transition and on at random, with all their new prefixes.

    Each symbol that the hypothesis takes as possible is as likely as any other, so that rare
    behaviour is looked at too; what is probable is in words drawn from the box.
    """
    hypothesis, transitions = learner.hypothesis(), learner.transitions()
    repeats = -(-MIN_WALKS // max(1, len(transitions)))
    words: list[Codes] = []
    for each in transitions * repeats:
        word, state = each.word, int(hypothesis.next_state[each.origin, each.symbol])
        for _ in range(int(rng.geometric(1 / MEAN_WALK_LENGTH))):
            symbols = np.flatnonzero(hypothesis.possible[state])
            if not len(symbols) or len(word) == learner.max_length:
                break
            code = int(rng.choice(symbols))
            word, state = (*word, code), int(hypothesis.next_state[state, code])
            words.append(word)
    return words
