"""Answers of one box: in a file that later runs read, or in memory as long as the run lasts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from seqray.automata.words import Alphabet, Words
from seqray.blackbox.queries.answer_cache import AnswerStore, join_answers, split_answers, word_keys
from seqray.util.arrays import BoolArray, FloatArray

MAX_MEMORY_BYTES = 2**28
"""Answers in memory take up to this much; those that follow go to a temporary file."""

MAX_FILE_BYTES = 2**30
"""The temporary file takes up to this much; answers that follow are not cached."""

ENTRY_BYTES = 200
"""About what Python takes for one entry of a dictionary, without its content."""


class BoxAnswers(Protocol):
    """The cached answers of one box."""

    @property
    def path(self) -> Path | None:
        """The file that keeps them after the run; None: there is none."""

    def find(self, words: Words) -> tuple[BoolArray, FloatArray]:
        """Return which words have an answer, and those answers in the order of the words."""

    def add(self, words: Words, answers: FloatArray) -> None:
        """Add answers, one entry or row per word."""


@dataclass(frozen=True, eq=False)
class StoredAnswers:
    """The answers that a file holds of one box.

    Parameters
    ----------
    store
        The file.
    number
        Under which number the file knows the box.
    """

    store: AnswerStore
    number: int

    @property
    def path(self) -> Path | None:
        """The file."""
        return self.store.path

    def find(self, words: Words) -> tuple[BoolArray, FloatArray]:
        """Return which words have an answer, and those answers in the order of the words."""
        return self.store.find(self.number, words)

    def add(self, words: Words, answers: FloatArray) -> None:
        """Write answers, one entry or row per word."""
        self.store.add(self.number, words, answers)


@dataclass(frozen=True, eq=False)
class BlockCache:
    """Blocks of answers of one box, in a file.

    Parameters
    ----------
    store
        The file.
    number
        Under which number the file knows the box.
    """

    store: AnswerStore
    number: int

    def find(self, name: bytes) -> FloatArray | None:
        """Return the answers that are cached under a name, flat, or None."""
        return self.store.find_block(self.number, name)

    def add(self, name: bytes, answers: FloatArray) -> None:
        """Cache answers under a name."""
        self.store.add_block(self.number, name, answers)


class MemoryAnswers:
    """Answers in memory, as long as the run lasts.

    Examples
    --------
    >>> words = Alphabet("ab").words(["", "a", "ab"])
    >>> answers = MemoryAnswers()
    >>> answers.add(words[:2], np.array([0.5, 0.25]))
    >>> answers.find(words)
    (array([ True,  True, False]), array([0.5 , 0.25]))
    """

    path = None

    def __init__(self) -> None:
        self._answers: dict[bytes, bytes] = {}
        self._n_bytes = self._n_file_bytes = 0
        self._overflow: StoredAnswers | None = None

    def find(self, words: Words) -> tuple[BoolArray, FloatArray]:
        """Return which words have an answer, and those answers in the order of the words."""
        contents = [self._answers.get(key) for key in word_keys(words)]
        known = np.fromiter((each is not None for each in contents), bool, len(contents))
        answers = join_answers([each for each in contents if each is not None])
        if self._overflow is None or known.all():
            return known, answers
        rest = np.flatnonzero(~known)
        in_file, others = self._overflow.find(words[rest])
        if not in_file.any():
            return known, answers
        both = np.concatenate([np.flatnonzero(known), rest[in_file]])
        known[rest[in_file]] = True
        together = np.concatenate([answers, others]) if len(answers) else others
        return known, together[np.argsort(both)]

    def add(self, words: Words, answers: FloatArray) -> None:
        """Add answers, one entry or row per word."""
        if self._n_bytes > MAX_MEMORY_BYTES:
            self._spill(words, answers)
            return
        for key, content in zip(word_keys(words), split_answers(answers), strict=True):
            self._answers[key] = content
            self._n_bytes += ENTRY_BYTES + len(key) + len(content)

    def _spill(self, words: Words, answers: FloatArray) -> None:
        if self._n_file_bytes > MAX_FILE_BYTES:
            return  # rows of thousands of symbols: whoever needs them again asks again
        self._n_file_bytes += answers.nbytes
        if self._overflow is None:
            store = AnswerStore()
            symbols = Alphabet(range(len(words.alphabet)))  # the user's need not fit into a file
            self._overflow = StoredAnswers(store, store.box("this run", "any", symbols))
        self._overflow.add(words, answers)


class CountedWords:
    """Remembers which words were counted, by a hash of each: millions fit into memory."""

    def __init__(self) -> None:
        self._old = np.empty(0, np.int64)
        self._recent: set[int] = set()

    def are_new(self, keys: list[bytes]) -> BoolArray:
        """Return which words were not counted yet."""
        hashes = np.fromiter(map(hash, keys), np.int64, len(keys))
        recent = self._recent
        is_new = np.fromiter((each not in recent for each in hashes.tolist()), bool, len(keys))
        if len(self._old):
            at = np.minimum(np.searchsorted(self._old, hashes), len(self._old) - 1)
            is_new &= self._old[at] != hashes
        return is_new

    def add(self, keys: list[bytes]) -> None:
        """Count words."""
        self._recent.update(map(hash, keys))
        if len(self._recent) > max(10_000, len(self._old) // 4):
            recent = np.fromiter(self._recent, np.int64, len(self._recent))
            self._old = np.union1d(self._old, recent)
            self._recent.clear()
