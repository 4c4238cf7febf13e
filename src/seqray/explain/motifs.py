"""Motifs: the short sequences that change the answers of a box most, and where in a word.

A motif is written into words, over the symbols that stand there. Its effect is the mean change of
the answer. An automaton is measured like any box: its outputs could be summed over all words
exactly, but a few words outside its training have outputs so large that they would decide the sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqray.automata.decisions import Question, answers_to, decide
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.protocol import (
    BlackBox,
    Classifier,
    max_length_of,
    query_weights,
    threshold_of,
)
from seqray.explain.plots import plot_profiles
from seqray.explain.text import Section, as_text
from seqray.util.arrays import FloatArray, IntArray, whole_number
from seqray.util.display import Displayed
from seqray.util.errors import ArgumentError
from seqray.util.formatting import percent
from seqray.util.frames import data_frame
from seqray.util.random import Seed, random_generator

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MAX_POSITIONS = 100
"""Positions at which a motif is measured; in longer words they are spread evenly."""

MAX_CODES_AT_ONCE = 2**23
"""How many symbols the words may have that are made at once."""


class Motif(NamedTuple):
    """A motif and what it does.

    ``effect`` is the mean change of the answer over words and positions, ``profile`` the mean at
    each position, ``peak`` the position with the largest, counted from 1. ``share`` is the share of
    the words that get the class with the motif at its peak; None where the box does not classify.
    """

    symbols: tuple[Symbol, ...]
    effect: float
    profile: FloatArray
    peak: int
    share: float | None


@dataclass(frozen=True, eq=False, repr=False)
class MotifSearch(Displayed):
    """The motifs that change the answers of a box most; printed, a table.

    Made by `find_motifs`.

    Parameters
    ----------
    motifs
        The largest effect first, up or down.
    positions
        The positions of the profiles: where the first symbol stands, counted from 1.
    alphabet
        The symbols of the words.
    class_name
        The class whose logit effects are measured in; None where the box does not classify.
    share
        The share of the words that have the class without any motif.
    n_words
        How many words the motifs were written into.
    n_measured
        How many motifs were measured.
    """

    motifs: tuple[Motif, ...]
    positions: IntArray
    alphabet: Alphabet
    class_name: str | None
    share: float | None
    n_words: int
    n_measured: int

    def __repr__(self) -> str:
        return as_text(self.sections())

    @property
    def measured_in(self) -> str:
        """What effects are measured in."""
        return "weight" if self.class_name is None else f"logit of {self.class_name}"

    def sections(self) -> tuple[Section, ...]:
        """Return the table that shows it."""
        columns = ["motif", " effect", " peak", " effect there"]
        if self.class_name is not None:
            columns.append(f" {self.class_name} there")
        rows = []
        for motif in self.motifs:
            there = motif.profile[np.flatnonzero(self.positions == motif.peak)[0]]
            name = self.alphabet.show(motif.symbols)
            row = (name, f"{motif.effect:+.3g}", str(motif.peak), f"{there:+.3g}")
            rows.append(row if motif.share is None else (*row, percent(motif.share)))
        note = (
            f"effect: mean change of the {self.measured_in} when the motif is written into "
            f"{self.n_words} words, over all positions. peak: the position with the largest. "
            f"{self.n_measured:,} motifs were measured."
        )
        if self.share is not None:
            note += f" Without a motif {percent(self.share)} of the words are {self.class_name}."
        return (Section("What changes the answer most", tuple(columns), tuple(rows), note),)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot the effect of each motif against its position; returns the axes.

        A new figure is made unless ``ax`` names axes to plot on.
        """
        profiles = {self.alphabet.show(each.symbols): each.profile for each in self.motifs}
        return plot_profiles(self.positions, profiles, self.measured_in, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per motif as a pandas data frame, without the profiles."""
        names = ("effect", "peak", "share")
        return data_frame(
            [
                {"motif": self.alphabet.show(each.symbols)} | {n: getattr(each, n) for n in names}
                for each in self.motifs
            ]
        )

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, as JSON can hold them."""
        motifs = [
            {**each._asdict(), "symbols": list(each.symbols), "profile": each.profile.tolist()}
            for each in self.motifs
        ]
        return {
            "motifs": motifs,
            "positions": self.positions.tolist(),
            "class": self.class_name,
            "share": self.share,
            "n_words": self.n_words,
            "n_measured": self.n_measured,
        }


def find_motifs(
    box: BlackBox | Classifier,
    words: Words | Iterable[Word],
    *,
    length: int = 6,
    n_motifs: int = 5,
    class_name: str | None = None,
    n_words: int = 100,
    budget: int = 300_000,
    seed: Seed = 0,
) -> MotifSearch:
    """Find the motifs that change the answers of a box most, and where in a word they do.

    A motif is written into words of yours, over the symbols that stand there, and the mean change
    of the answer is its effect. All short motifs are measured first; the best of them grow by one
    symbol at either end, again and again. A motif that shares all symbols but one, in a row, with a
    better one is left out: it is the same one shifted.

    Parameters
    ----------
    box
        Any box or classifier, or an automaton.
    words
        Words as they occur, in which motifs are measured.
    length
        How many symbols a motif has.
    n_motifs
        How many motifs to return.
    class_name
        The class whose logit counts; by default the last.
    n_words
        How many of the words motifs are written into.
    budget
        The most queries. What is left for motifs of each length decides how many are measured.
    seed
        Random seed for the words and positions, a number or a generator.

    Examples
    --------
    >>> import seqray
    >>> box = seqray.classifier(lambda words: ["abba" in word for word in words], "abc")
    >>> search = seqray.find_motifs(box, ["cccccccc", "cacbcaca"], length=4)
    >>> "".join(search.motifs[0].symbols)
    'abba'
    """
    box, rng = as_box(box), random_generator(seed)
    for name, number in (("length", length), ("n_motifs", n_motifs), ("n_words", n_words)):
        whole_number(name, number, 1)
    chosen = _chosen_words(box, box.alphabet.words(words), length, n_words, rng)
    positions = _positions(chosen, length)
    effects = _Effects(box, chosen, _class_number(box, class_name), length)
    n_profiled = n_motifs * len(positions) + n_motifs + 2
    n_candidates = _n_candidates(budget, len(chosen), length, len(box.alphabet), n_profiled)
    drawn = [rng.permutation(n) for n in (chosen.lengths - length + 1).tolist()]
    best, n_measured = _search(effects, drawn, n_candidates, n_motifs)
    return MotifSearch(
        motifs=_measured(effects, best, positions),
        positions=positions + 1,
        alphabet=box.alphabet,
        class_name=box.classes[effects.number] if isinstance(box, Classifier) else None,
        share=effects.share(chosen),
        n_words=len(chosen),
        n_measured=n_measured,
    )


class _Effects:
    """Queries a box about words that motifs, each a row of codes, are written into."""

    def __init__(self, box: BlackBox, words: Words, number: int, length: int) -> None:
        self.box, self.words, self.number, self.length = box, words, number, length
        self.unchanged = self._answers(words)

    def _answers(self, words: Words) -> FloatArray:
        if isinstance(self.box, Classifier):
            scores = np.asarray(self.box.scores(words))
            return answers_to(Question.LOGIT, scores, None)[:, self.number]
        return query_weights(self.box, words)

    def at(self, positions: IntArray, motifs: IntArray, which: IntArray) -> FloatArray:
        """Return the mean effect of each motif at ``positions[i]`` in word ``which[i]``."""
        n_each = max(1, MAX_CODES_AT_ONCE // (len(motifs) * int(self.words.lengths.max())))
        total = np.zeros(len(motifs))
        for begin in range(0, len(which), n_each):
            some = which[begin : begin + n_each]
            words = _placed(self.words[some], positions[begin : begin + n_each], motifs)
            answers = self._answers(words).reshape(len(motifs), len(some))
            total += (answers - self.unchanged[some]).sum(axis=1)
        return total / len(which)

    def fitting(self, position: int) -> IntArray:
        """Return the words that have room for a motif at a position."""
        return np.flatnonzero(self.words.lengths >= position + self.length)

    def share(self, words: Words) -> float | None:
        """Return the share of words that get the class; None where the box does not classify."""
        if not isinstance(self.box, Classifier):
            return None
        decisions = decide(np.asarray(self.box.scores(words)), threshold_of(self.box))
        return float(np.mean(decisions == self.number))


def _placed(words: Words, positions: IntArray, motifs: IntArray) -> Words:
    """Return the words with each motif at the position of each word, motif by motif."""
    where = (words.offsets[:-1] + positions)[:, None] + np.arange(motifs.shape[1])
    codes = np.tile(words.codes, (len(motifs), 1))
    codes[:, where] = motifs[:, None, :]
    lengths = np.tile(words.lengths, len(motifs))
    return Words(words.alphabet, codes.ravel(), np.concatenate([[0], np.cumsum(lengths)]))


def _positions(words: Words, length: int) -> IntArray:
    """Return the positions at which profiles are measured, from 0."""
    n_positions = int(words.lengths.max()) - length + 1
    spread = np.linspace(0, n_positions - 1, min(n_positions, MAX_POSITIONS))
    return spread.round().astype(np.int64)


def _chosen_words(
    box: BlackBox, words: Words, length: int, n_words: int, rng: np.random.Generator
) -> Words:
    """Return different words that are long enough for a motif, and that the box can read."""
    words, limit = words.unique()[0], max_length_of(box)
    fits = words.lengths >= length
    if limit is not None:
        fits &= words.lengths <= limit
    which = np.flatnonzero(fits)
    if not len(which):
        most = "" if limit is None else f" and at most {limit}"
        raise ArgumentError(
            f"words: none of {len(words)} has at least {length}{most} symbols: give longer words "
            "or a smaller length"
        )
    return words[np.sort(rng.permutation(which)[:n_words])]


def _class_number(box: BlackBox, class_name: str | None) -> int:
    if not isinstance(box, Classifier):
        if class_name is not None:
            raise ArgumentError(
                f"class_name: got {class_name!r}, and the box is no classifier: leave it out"
            )
        return 0
    if class_name is None:
        return len(box.classes) - 1
    if class_name not in box.classes:
        raise ArgumentError(
            f"class_name: expected one of {', '.join(box.classes)}, got {class_name!r}"
        )
    return box.classes.index(class_name)


def _n_candidates(budget: int, n_words: int, length: int, n_symbols: int, n_profiled: int) -> int:
    """Return how many motifs of each length a budget allows beside what is measured at the end."""
    available = budget // n_words - n_profiled
    for first in range(length, 0, -1):  # all motifs of this length, then one symbol more each time
        n_candidates = available // (length - first + 1)
        if n_candidates >= max(n_symbols**first, 2 * n_symbols):
            return n_candidates
    least = n_words * (n_profiled + 2 * n_symbols * length)
    raise ArgumentError(
        f"budget: {budget:,} queries are too few for motifs of {length} symbols in {n_words} "
        f"words: expected {least:,}; give more, or choose fewer words (n_words)"
    )


def _first_length(n_symbols: int, length: int, n_candidates: int) -> int:
    """Return the longest length of which all motifs can be measured."""
    n = 1
    while n < length and n_symbols ** (n + 1) <= n_candidates:
        n += 1
    return n


def _search(
    effects: _Effects, drawn: list[IntArray], n_candidates: int, n_motifs: int
) -> tuple[IntArray, int]:
    """Return the motifs with the largest effects, and how many were measured.

    ``drawn`` has the positions in each word, in random order. The fewer motifs there are, the more
    of these positions are measured.
    """
    n_symbols = len(effects.box.alphabet)
    n = _first_length(n_symbols, effects.length, n_candidates)
    motifs, n_measured = np.array(list(product(range(n_symbols), repeat=n))), 0
    while True:
        some = [positions[: n_candidates // len(motifs)] for positions in drawn]
        words = np.repeat(np.arange(len(some)), [len(positions) for positions in some])
        sizes = np.abs(effects.at(np.concatenate(some), motifs, words))
        order, n_measured = np.argsort(-sizes, kind="stable"), n_measured + len(motifs)
        if motifs.shape[1] == effects.length:
            return _different(motifs[order], n_motifs), n_measured
        motifs = _extended(motifs[order[: max(1, n_candidates // (2 * n_symbols))]], n_symbols)


def _extended(motifs: IntArray, n_symbols: int) -> IntArray:
    """Return the motifs with one symbol more at either end, each once."""
    symbols = np.tile(np.arange(n_symbols), len(motifs))[:, None]
    each = np.repeat(motifs, n_symbols, axis=0)
    both = np.concatenate([np.hstack([symbols, each]), np.hstack([each, symbols])])
    return np.unique(both, axis=0)


def _different(motifs: IntArray, n_motifs: int) -> IntArray:
    """Return the first motifs that are not an earlier one shifted by a symbol."""
    chosen: list[list[int]] = []
    parts: set[tuple[int, ...]] = set()
    for motif in motifs.tolist():
        own = {tuple(motif[1:]), tuple(motif[:-1])} - {()}
        if not own & parts:
            chosen.append(motif)
            parts |= own
        if len(chosen) == n_motifs:
            break
    return np.array(chosen)


def _measured(effects: _Effects, motifs: IntArray, positions: IntArray) -> tuple[Motif, ...]:
    """Measure motifs at every position in all words that have room, the largest effect first."""
    fitting = [effects.fitting(position) for position in positions.tolist()]
    columns = [
        effects.at(np.full(len(fits), position), motifs, fits)
        for position, fits in zip(positions.tolist(), fitting, strict=True)
    ]
    counts, ranked = np.array([len(fits) for fits in fitting]), []
    for codes, profile in zip(motifs, np.stack(columns, axis=1), strict=True):
        effect = float(profile @ counts / counts.sum())
        peak = int(np.argmax(profile * np.sign(effect)))
        fits, position = fitting[peak], int(positions[peak])
        changed = _placed(effects.words[fits], np.full(len(fits), position), codes[None])
        symbols = effects.box.alphabet.decode(codes.tolist())
        ranked.append(Motif(symbols, effect, profile, position + 1, effects.share(changed)))
    return tuple(sorted(ranked, key=lambda motif: -abs(motif.effect)))
