"""Words for a classifier: random or given ones, and variations of those of rare classes.

Random words may all get the same class. So further words are made of those that get a rare class,
or are nearest to it, by one edit each: such words also lie near to the boundary.
"""

from __future__ import annotations

import numpy as np

from seqray.automata.decisions import decide
from seqray.automata.sampling import uniform_words
from seqray.automata.words import Words
from seqray.blackbox.protocol import Classifier, threshold_of
from seqray.util.arrays import FloatArray, IntArray

N_VARIATIONS = 4
"""How many times words of rare classes are varied."""

MAX_PARENTS = 50
"""Words of one class that are varied at once."""


def varied(words: Words, n_words: int, rng: np.random.Generator, max_length: int) -> Words:
    """Return words with one edit each: a symbol replaced, removed, inserted, or a part repeated.

    Parameters
    ----------
    words
        The words to vary, each drawn with the same probability.
    n_words
        How many variations to make; those that are too long are left out.
    rng
        The random generator, which is drawn from in place.
    max_length
        The longest word that may come of it.
    """
    alphabet, n_symbols = words.alphabet, len(words.alphabet)
    edited = []
    for at in rng.integers(0, len(words), n_words).tolist():
        word = words[at]
        cut, end = np.sort(rng.integers(0, len(word) + 1, 2)).tolist()
        symbol = (alphabet.symbols[int(rng.integers(n_symbols))],)
        kinds = (
            (*word[:cut], *symbol, *word[cut + 1 :]),
            (*word[:cut], *word[cut + 1 :]),
            (*word[:cut], *symbol, *word[cut:]),
            (*word[:end], *word[cut:]),
        )
        edited.append(kinds[int(rng.integers(len(kinds)))])
    return alphabet.words([word for word in edited if len(word) <= max_length])


def balanced_words(
    box: Classifier,
    n_words: int,
    rng: np.random.Generator,
    *,
    max_length: int,
    data: Words | None = None,
) -> tuple[Words, FloatArray]:
    """Return about ``n_words`` distinct words and their class probabilities; no class is rare.

    Parameters
    ----------
    box
        The classifier.
    n_words
        How many words: half of them are drawn, the others vary words of rare classes.
    rng
        The random generator, which is drawn from in place.
    max_length
        The longest word.
    data
        Words to draw from; None: words of random length and symbols.

    Examples
    --------
    Of random words about 3 % have the second class, and of these more than a quarter:

    >>> import seqray
    >>> box = seqray.classifier(lambda words: ["aaa" in w for w in words], "abcd")
    >>> words, scores = balanced_words(box, 400, np.random.default_rng(0), max_length=9)
    >>> bool(scores[:, 1].mean() > 0.25)
    True
    """
    n_drawn = max(1, n_words // 2)
    if data is None:
        words = uniform_words(
            box.alphabet, n_drawn, seed=rng, max_length=max(1, max_length), min_length=0
        ).cut(max_length)
    else:
        words = data[rng.permutation(len(data))[:n_drawn]]
    words = words.unique()[0]
    scores = np.asarray(box.scores(words))
    for _ in range(N_VARIATIONS):
        n_more = max(1, (n_words - n_drawn) // N_VARIATIONS)
        parents = _parents(scores, decide(scores, threshold_of(box)), rng)
        fresh = Words.concatenate(
            [varied(words[some], -(-n_more // len(parents)), rng, max_length) for some in parents]
        )
        both = Words.concatenate([words, fresh]).unique()[0]
        fresh, words = both[len(words) :], both
        scores = np.concatenate([scores, np.reshape(box.scores(fresh), (-1, scores.shape[1]))])
    order = rng.permutation(len(words))
    return words[order], scores[order]


def _parents(scores: FloatArray, decisions: IntArray, rng: np.random.Generator) -> list[IntArray]:
    """Return which words to vary: of each class that is rarer than its even share, or of any."""
    n, n_classes = scores.shape
    parents: list[IntArray] = []
    for number in range(n_classes):
        if np.sum(decisions == number) < n / n_classes:
            # ties in random order
            order = np.lexsort(np.stack([rng.random(n), -scores[:, number]]))
            n_own = int(np.sum(decisions == number))
            parents.append(order[: min(MAX_PARENTS, max(n_own, MAX_PARENTS // 5))])
    return parents or [np.arange(n)]
