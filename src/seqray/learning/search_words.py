"""Words to search for counterexamples: walks along every transition of the hypothesis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.learning.known_rows import Codes, codes_of
from seqray.learning.tree_learner import Hypothesis, TreeLearner

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


class Walks:
    """Words that go along transitions of a hypothesis and on at random.

    Each symbol that the hypothesis takes as possible is as likely as any other, so that rare
    behaviour is looked at too; what is probable is in words drawn from the box.

    Parameters
    ----------
    learner
        What has the hypothesis.
    """

    def __init__(self, learner: TreeLearner) -> None:
        self.learner = learner
        self._walked: dict[Codes, int] = {}

    def draw(self, rng: np.random.Generator) -> list[Codes]:
        """Return all new prefixes of one walk along each transition that was not walked yet.

        One that leads to another state since then counts as new. Where these are few, there are
        `MIN_WALKS` walks along others.
        """
        hypothesis, every = self.learner.hypothesis(), self.learner.transitions()
        targets = [int(hypothesis.next_state[each.origin, each.symbol]) for each in every]
        pairs = list(zip(every, targets, strict=True))
        chosen = [pair for pair in pairs if self._walked.get(pair[0].word) != pair[1]]
        n_more = max(0, MIN_WALKS - len(chosen)) if pairs else 0
        chosen += [pairs[i] for i in rng.integers(0, max(1, len(pairs)), n_more).tolist()]
        words: list[Codes] = []
        for transition, target in chosen:
            self._walked[transition.word] = target
            words += self._walk(transition.word, target, hypothesis, rng)
        return words

    def _walk(
        self, word: Codes, state: int, hypothesis: Hypothesis, rng: np.random.Generator
    ) -> Iterator[Codes]:
        """Yield a word with one more symbol each time."""
        for _ in range(int(rng.geometric(1 / MEAN_WALK_LENGTH))):
            symbols = np.flatnonzero(hypothesis.possible[state])
            if not len(symbols) or not self.learner.rows.may_query(len(word) + 1):
                return
            code = int(rng.choice(symbols))
            word, state = (*word, code), int(hypothesis.next_state[state, code])
            yield word
