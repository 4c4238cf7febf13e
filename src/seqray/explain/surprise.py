"""Surprise: how probable each symbol of a word is after those before it, and where it is least so.

A model of normal words finds words that are not: somewhere in them stands a symbol that the model
holds for improbable. Where it stands says what went wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from seqray.automata.probabilities import as_probabilities
from seqray.automata.sampling import Sample
from seqray.automata.stepper import PredictingStepper, collect, predicts
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.protocol import BlackBox, check_lengths, max_length_of, name_of
from seqray.explain.plots import plot_surprise
from seqray.explain.text import END, Section, spelt
from seqray.formats.automaton_file import AutomatonLike
from seqray.formats.events.event_log import EventLog, plain_words
from seqray.util.arrays import BoolArray, FloatArray, IntArray, read_only
from seqray.util.display import Displayed
from seqray.util.errors import ArgumentError, SymbolError
from seqray.util.formatting import shortened, significant
from seqray.util.frames import data_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

N_SHOWN_WORDS = 10
"""How many words the table shows."""

MAX_SHOWN_SYMBOLS = 8
"""How many symbols the table shows before and after the least probable one."""


@dataclass(frozen=True)
class SurprisingStep:
    """One symbol of a word, or its end.

    Parameters
    ----------
    symbol
        The symbol; None for the end of the word.
    probability
        Its probability after the symbols before it.
    place
        Its place among all next symbols and the end, the most probable first: 1 is the first.
    """

    symbol: Symbol | None
    probability: float
    place: int

    @property
    def bits(self) -> float:
        """The surprise: −log₂ of the probability."""
        return float(_bits(np.array(self.probability)))


@dataclass(frozen=True, eq=False, repr=False)
class Surprise(Displayed):
    """How probable a model holds each symbol of some words; made by `surprise`.

    Index it by the number of a word for the steps of that word. Printed, it shows the words with
    the least probable symbols.

    Parameters
    ----------
    words
        The words.
    probabilities
        The probability of each symbol after those before it, and of the end of each word, one word
        after the other, shape ``(n_symbols + n_words,)``.
    places
        The place of each symbol or end among all that could come, 1 for the most probable, of the
        same shape.
    """

    words: Words
    probabilities: FloatArray
    places: IntArray

    @cached_property
    def offsets(self) -> IntArray:
        """Where each word begins in ``probabilities`` and ``places``, shape ``(n_words + 1,)``."""
        return read_only(self.words.offsets + np.arange(len(self.words) + 1))

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[tuple[SurprisingStep, ...]]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> tuple[SurprisingStep, ...]:
        at = range(len(self))[index]
        here = slice(self.offsets[at], self.offsets[at + 1])
        values = zip(self.probabilities[here].tolist(), self.places[here].tolist(), strict=True)
        symbols = (*self.words[at], None)
        return tuple(
            SurprisingStep(s, p, place) for s, (p, place) in zip(symbols, values, strict=True)
        )

    @cached_property
    def lowest(self) -> FloatArray:
        """The probability of the least probable step of each word, shape ``(n_words,)``."""
        return read_only(np.minimum.reduceat(self.probabilities, self.offsets[:-1]))

    @cached_property
    def worst_place(self) -> IntArray:
        """The worst place in each word, that of the least expected step, shape ``(n_words,)``."""
        return read_only(np.maximum.reduceat(self.places, self.offsets[:-1]))

    @cached_property
    def bits_per_symbol(self) -> FloatArray:
        """The mean surprise of the steps of each word, the end counted, shape ``(n_words,)``."""
        totals = np.add.reduceat(_bits(self.probabilities), self.offsets[:-1])
        return read_only(totals / np.diff(self.offsets))

    @cached_property
    def position(self) -> IntArray:
        """Where the first least probable step of each word is, shape ``(n_words,)``.

        The first symbol is at 0; at the length of the word stands its end.
        """
        lengths = np.diff(self.offsets)
        is_lowest = self.probabilities == np.repeat(self.lowest, lengths)
        candidates = np.flatnonzero(is_lowest)
        first = candidates[np.searchsorted(candidates, self.offsets[:-1])]
        return read_only(first - self.offsets[:-1])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per word: its least probable step, and its mean surprise."""
        columns = ("position", "lowest", "worst_place", "bits_per_symbol")
        values = [getattr(self, name).tolist() for name in columns]
        return data_frame(
            [
                {"word": word, **dict(zip(columns, row, strict=True))}
                for word, *row in zip(self.words, *values, strict=True)
            ]
        )

    def plot(self, which: Sequence[int], *, ax: Axes | None = None) -> Axes:
        """Plot some words as rows of symbols, coloured by their surprise.

        Parameters
        ----------
        which
            The numbers of the words.
        ax
            Where to plot; None: on a new figure.
        """
        steps = [self[i] for i in which]
        symbols = [[*(str(step.symbol) for step in word[:-1]), END] for word in steps]
        return plot_surprise(symbols, [[step.bits for step in word] for word in steps], ax=ax)

    def __repr__(self) -> str:
        return str(self.section())

    def section(self) -> Section:
        """Return the table of the words with the least probable symbols."""
        order = np.argsort(self.lowest, kind="stable")[:N_SHOWN_WORDS].tolist()
        rows = []
        for i in order:
            step = self[i][self.position[i]]
            rows.append((self._marked(i), significant(step.probability, 2), str(step.place)))
        title = f"Surprise of {len(self):,} words: those with the least probable symbols"
        note = "[ ]: the least probable symbol; place: its place among all that could come."
        return Section(title, ("word", " probability", " place"), tuple(rows), note)

    def _marked(self, i: int) -> str:
        """Write a word with its least probable symbol in brackets."""
        at, word = int(self.position[i]), (*self.words[i], END)
        start, stop = max(0, at - MAX_SHOWN_SYMBOLS), at + 1 + MAX_SHOWN_SYMBOLS
        parts = [shortened(str(symbol), 24) for symbol in word[start:stop]]
        parts[at - start] = f"[{parts[at - start]}]"
        if stop >= len(word) and at < len(word) - 1:
            del parts[-1]  # the end, unless it is what is marked
        before, after = ["…"] * (start > 0), ["…"] * (stop < len(word))
        return spelt(self.words.alphabet, [*before, *parts, *after])


def surprise(
    model: BlackBox | AutomatonLike, words: Words | Sample | EventLog | Iterable[Word]
) -> Surprise:
    """Return how probable a model holds each symbol of words, and the end of each word.

    Parameters
    ----------
    model
        A box that predicts; or an automaton, an extraction or the `pathlib.Path` of a run folder.
        An automaton's negative values count as 0.
    words
        The words, or what `seqray.sample` or `seqray.read_events` returned. A symbol that the model
        does not know has probability 0, and what follows it is read as if it were not there.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> wa = WeightedAutomaton("ab", [1, 0], [[[0, 0.9], [0, 0]], [[0, 0], [0.1, 0]]], [0.1, 0.9])
    >>> surprise(wa, ["a", "aba", "ac", "b"])
    Surprise of 4 words: those with the least probable symbols
    word  probability  place
    a[c]            0     4
    [b]             0     3
    a[b]a         0.1     2
    [a]           0.9     1
    [ ]: the least probable symbol; place: its place among all that could come.
    >>> surprise(wa, ["aba"]).position
    array([1])
    """
    reader = _reader(model)
    words = plain_words(words)
    if not isinstance(words, Words):
        words = list(words)
        words = reader.alphabet.extended(words).words(words)
    if not len(words):
        raise ArgumentError("words: expected at least one word, got none")
    known, is_known = _known_part(words, reader.alphabet)
    check_lengths(known, max_length_of(reader), name_of(reader))
    tree = PrefixTree.of(known)
    following = as_probabilities(collect(reader, tree, reader.state_next_symbol))
    entered = _outcome(following, tree.parent[1:], tree.symbol[1:])
    ended = _outcome(following, tree.node_of_word, np.full(len(words), -1))
    nodes = _nodes_along(tree, known) - 1  # no symbol leads to the root
    columns = []
    for of_nodes, of_ends, of_unknown in zip(
        entered, ended, (0, following.shape[1] + 1), strict=True
    ):
        of_letters = np.full(len(words.codes), of_unknown, of_nodes.dtype)
        of_letters[is_known] = of_nodes[nodes]
        columns.append(read_only(np.insert(of_letters, words.offsets[1:], of_ends)))
    return Surprise(words, *columns)


def _reader(model: object) -> PredictingStepper:
    """Return what predicts: the box, or the automaton that an argument holds."""
    box = as_box(model)
    if not predicts(box):
        raise ArgumentError(
            f"model: {box!r} does not predict next symbols: expected a language model, or an "
            "automaton whose weights sum to 1"
        )
    return box


def _known_part(words: Words, alphabet: Alphabet) -> tuple[Words, BoolArray]:
    """Return words over another alphabet without the symbols it lacks, and which it has."""
    codes = np.array([alphabet.codes.get(symbol, -1) for symbol in words.alphabet], np.int32)
    encoded = codes[words.codes]
    is_known = encoded >= 0
    if len(is_known) and not is_known.any():
        raise SymbolError(
            f"no symbol of the words, over {words.alphabet}, is one of the model's, {alphabet}: "
            "expected words of the kind that the model reads"
        )
    offsets = np.concatenate([[0], np.cumsum(is_known)])[words.offsets]
    return Words(alphabet, encoded[is_known], offsets), is_known


def _outcome(
    following: FloatArray, nodes: IntArray, symbols: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return probability and place of a symbol, or the end (-1), after each of some nodes."""
    probabilities = following[nodes, symbols]
    return probabilities, 1 + (following[nodes] > probabilities[:, None]).sum(axis=1)


def _nodes_along(tree: PrefixTree, words: Words) -> IntArray:
    """Return the node that each letter of the tree's words leads to, shape ``(n_letters,)``."""
    nodes = np.empty(len(words.codes), np.int64)
    at, here = words.offsets[1:] - 1, tree.node_of_word
    while len(here):
        alive = here > 0
        at, here = at[alive], here[alive]
        nodes[at] = here
        at, here = at - 1, tree.parent[here]
    return nodes


def _bits(probabilities: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        bits: FloatArray = -np.log2(probabilities)
    return bits
