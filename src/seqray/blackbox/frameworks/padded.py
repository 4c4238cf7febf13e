"""Networks that read whole sequences of ids, in batches, as black boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from seqray.automata.words import Words
from seqray.blackbox.card import Card
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.frameworks.scores import checked_scores
from seqray.blackbox.guarded import blamed
from seqray.blackbox.queried import QueriedBox, QueriedModel, halving
from seqray.util.arrays import FloatArray, IntArray, whole_number
from seqray.util.errors import ArgumentError, BlackBoxError

Forward: TypeAlias = Callable[[IntArray, IntArray], Any]
"""Takes ids ``(n, t)`` and lengths ``(n,)``, answers ``(n, t, k)``, ``(n, k)`` or ``(n,)``."""

MAX_IDS_PER_BATCH = 2**16
"""How many ids a batch may have, padding included."""


def sequence_box(
    forward: Forward,
    card: Card,
    *,
    who: str,
    fingerprint: str | None = None,
    batch_size: int = MAX_IDS_PER_BATCH,
) -> QueriedBox | QueriedModel | QueriedClassifier:
    """Make a black box of a network that reads whole sequences.

    Parameters
    ----------
    forward
        Runs the network on a batch of ids.
    card
        How words become ids, and scores answers.
    who
        The network's name in error messages.
    fingerprint
        The key of its cached answers.
    batch_size
        The most ids in one batch.
    """
    if card.answers == "next" and card.start is None:
        raise ArgumentError(
            f"{who}: a network that predicts the next symbol from whole sequences needs an id to "
            "begin with: give the card a start"
        )
    card.check_outputs()
    batch_size = whole_number("batch_size", batch_size, 1)
    if card.answers == "classes":
        card = _with_classes(forward, card, who)
        backend = SequenceBackend(forward, card, who, fingerprint, batch_size)
        classes = tuple(card.classes or ())
        return QueriedClassifier(backend, card.alphabet, classes, card.threshold)
    backend = SequenceBackend(forward, card, who, fingerprint, batch_size)
    if card.answers == "value":
        return QueriedBox(backend, card.alphabet)
    return QueriedModel(backend, card.alphabet, card.leaks)


def _with_classes(forward: Forward, card: Card, who: str) -> Card:
    """Return a classifier's card with its classes; those without names are counted in a trial."""
    if card.classes is not None:
        return card
    ids = card.of_words(card.alphabet.words([card.alphabet.symbols[:1]]))
    with blamed(who, f" on the ids {ids[0].tolist()}"):
        scores = np.asarray(forward(ids, np.array([ids.shape[1]])))
    return card.with_classes(scores.shape[-1] if scores.ndim > 1 else 1)


def filled_up(forward: Forward, card: Card, width: int, who: str) -> tuple[Forward, Card]:
    """Return a function that runs a network of exactly ``width`` ids, and the card for it.

    Every word is filled up with the card's pad; longer ones are refused.
    """
    if card.pad is None:
        raise ArgumentError(
            f"{who} reads sequences of {width} ids and no others: export it with a time axis that "
            "is free, or say in the card which id fills shorter words up (pad)"
        )
    filled = FilledUp(forward, card.pad, width)
    return filled, replace(card, limit=min(width, card.limit or width))


@dataclass(frozen=True, eq=False)
class FilledUp:
    """Runs a network of exactly ``width`` ids; the empty word is nothing but ``pad`` to it."""

    forward: Forward
    pad: int
    width: int

    def __call__(self, ids: IntArray, lengths: IntArray) -> Any:
        """Return the scores of ids that are filled up at their end."""
        more = ((0, 0), (0, self.width - ids.shape[1]))
        scores = np.asarray(self.forward(np.pad(ids, more, constant_values=self.pad), lengths))
        return scores[:, : ids.shape[1]] if scores.ndim == 3 else scores


@dataclass(frozen=True, eq=False)
class SequenceBackend:
    """Queries a network with words of one length at a time, or with padded ones."""

    forward: Forward
    card: Card
    who: str
    fingerprint: str | None
    batch_size: int
    deterministic: bool = False

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the network can read."""
        return self.card.max_length

    def query(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield answers batch by batch, short words first."""
        order = np.argsort(words.lengths, kind="stable")
        lengths = words.lengths[order]
        more = len(self.card.start_ids) + len(self.card.stop_ids)
        reads_empty = more > 0 or isinstance(self.forward, FilledUp)
        n_empty = 0
        if self.card.empty is not None or not reads_empty:
            n_empty = int((lengths == 0).sum())
        if n_empty:
            answer = self._answer_to_empty_word()
            yield order[:n_empty], np.broadcast_to(answer, (n_empty, *answer.shape))
        begin = n_empty
        while begin < len(order):
            stop = len(order)
            if self.card.pad is None:
                stop = int(np.searchsorted(lengths, lengths[begin], side="right"))
            n_columns = max(1, int(lengths[stop - 1]) + more)
            stop = min(stop, begin + max(1, self.batch_size // n_columns))
            which = order[begin:stop]
            yield from halving(lambda some: self._answer(words[some]), words, which, self.who)
            begin = stop

    def _answer_to_empty_word(self) -> FloatArray:
        if self.card.empty is None:
            raise BlackBoxError(
                f"{self.who} cannot read the empty word, and its card has neither start nor stop: "
                f"give it one of them, or {self.card.empty_hint}"
            )
        return self.card.empty_answer

    def _answer(self, words: Words) -> FloatArray:
        ids, lengths = self._ids(words)
        return self._read(np.asarray(self.forward(ids, lengths)), ids, lengths, words)

    def _read(
        self, scores: FloatArray, ids: IntArray, lengths: IntArray, words: Words
    ) -> FloatArray:
        """Return the answers that scores stand for: one value or row of probabilities per word."""
        if scores.ndim == 3:
            if not ids.shape[1]:
                return self._answer_to_empty_word()
            if scores.shape[:2] != ids.shape:
                raise BlackBoxError(
                    f"{self.who} read ids of shape {ids.shape} and answered shape {scores.shape}: "
                    "expected a row of scores for each id, or one for each word"
                )
            scores = scores[np.arange(len(scores)), lengths - 1]
        scores = checked_scores(
            *(scores, self.card, len(words), self.who),
            lambda row: f"for the word {words.alphabet.show(words[row])!r}",
        )
        if self.card.answers == "value":
            return self.card.values(scores)
        if self.card.answers == "classes":
            return self.card.class_scores(scores)
        return np.exp(self.card.log_next(scores))

    def _ids(self, words: Words) -> tuple[IntArray, IntArray]:
        """Return the ids of words, those of short words padded, and how many each word has."""
        lengths = words.lengths
        if lengths[0] == lengths[-1]:
            ids = self.card.of_words(words)
            return ids, np.full(len(words), ids.shape[1])
        assert self.card.pad is not None
        parts = [self.card.of_words(words[lengths == length]) for length in np.unique(lengths)]
        width = parts[-1].shape[1]
        padded = [
            np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=self.card.pad)
            for p in parts
        ]
        counts = np.concatenate([np.full(len(p), p.shape[1]) for p in parts])
        return np.concatenate(padded), counts
