"""Hankel blocks of vectors: each cell holds one probability per class, and one SVD factors all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import Question, answers_to
from seqray.automata.ranks import RankedAutomata
from seqray.automata.words import Words
from seqray.extraction.basis import Basis
from seqray.util.arrays import FloatArray

RANK_TOLERANCE = 1e-6
"""Singular values below this share of the largest count as 0."""

ScoresOf = Callable[[Words], FloatArray]
"""Returns the class probabilities of words."""


@dataclass(frozen=True, eq=False)
class ClassBlocks:
    """The answers of a classifier to every prefix, and prefix and symbol, with every suffix.

    Parameters
    ----------
    basis
        The prefixes and suffixes.
    classes, threshold
        Those of the classifier.
    scores
        The class probabilities, shape ``(1 + n_symbols, n_prefixes, n_suffixes, n_classes)``: first
        of prefix and suffix, then with each symbol between them.
    """

    basis: Basis
    classes: tuple[str, ...]
    threshold: float | None
    scores: FloatArray

    def automata(self, question: Question, max_rank: int) -> RankedAutomata:
        """Return automata of every rank for a question; that of all classes is one.

        The columns of a suffix stand beside each other, one per class. One SVD of the block gives
        states that all classes share, and the columns of the empty suffix give their outputs.
        """
        answers = answers_to(question, self.scores.reshape(-1, len(self.classes)), self.threshold)
        blocks = answers.reshape(len(self.scores), len(self.basis.prefixes), -1)
        left, values, right = np.linalg.svd(blocks[0], full_matrices=False)
        rank = int((values > RANK_TOLERANCE * max(values[0], 1e-300)).sum())
        rank = max(1, min(rank, max_rank))
        root = np.sqrt(np.maximum(values[:rank], 1e-300))
        to_state = right[:rank].T / root
        from_rows = left[:, :rank].T / root[:, None]
        empty = int(self.basis.prefixes.lengths.argmin())
        column = int(self.basis.suffixes.lengths.argmin()) * len(self.classes)
        largest = ClassifierAutomaton(
            self.basis.alphabet,
            blocks[0][empty] @ to_state,
            np.stack([from_rows @ block @ to_state for block in blocks[1:]]),
            (right[:rank, column : column + len(self.classes)] * root[:, None]),
            classes=self.classes,
            question=question,
            threshold=self.threshold,
        )
        return RankedAutomata(largest, singular_values=values[:rank])


def class_words(basis: Basis) -> Words:
    """Return the words of the cells of all blocks, in their order; some occur several times."""
    n_symbols = len(basis.alphabet)
    rows = [basis.prefixes]
    rows += [basis.prefixes.extended(np.full(len(basis.prefixes), c)) for c in range(n_symbols)]
    return Words.concatenate(rows).followed_by(basis.suffixes)


def fill_class_blocks(
    basis: Basis, scores_of: ScoresOf, classes: tuple[str, ...], threshold: float | None
) -> ClassBlocks:
    """Query all cells of the blocks of a basis, each distinct word once.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.classifier(lambda words: [w.count("a") % 2 for w in words], "ab")
    >>> basis = Basis(box.alphabet.words(["", "a"]), box.alphabet.words(["", "a"]))
    >>> blocks = fill_class_blocks(basis, box.scores, box.classes, None)
    >>> automaton = blocks.automata(Question.PROBABILITY, 10).largest
    >>> automaton, automaton.classify(["aab", "bab"])
    (ClassifierAutomaton(2 states, 2 symbols, 2 classes), ['no', 'yes'])
    """
    distinct, which = class_words(basis).unique()
    shape = 1 + len(basis.alphabet), len(basis.prefixes), len(basis.suffixes), len(classes)
    return ClassBlocks(basis, classes, threshold, scores_of(distinct)[which].reshape(shape))
