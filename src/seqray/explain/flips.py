"""The shortest edits that change a classifier's decision, searched on its automaton.

All words with one edit are scored, then all with two, and so on: the first level on which a class
appears has the fewest edits. So the search is exact on the automaton. Where there are too many
words, it goes on over the states of the automaton (`seqray.explain.state_search`): the edited word
is scored, and only whether fewer edits are enough depends on states that count as one. With the box
at hand, a word is suggested only if the box decides as the automaton does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import decide, margins
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.blackbox.protocol import Classifier, max_length_of, threshold_of
from seqray.explain.class_states import classifier_of, name_class_states
from seqray.explain.edits import Edit, one_edit, show_edit
from seqray.explain.state_search import search_states
from seqray.explain.text import Section, spelt
from seqray.fidelity.decisions import check_same_classes
from seqray.util.arrays import IntArray, whole_number
from seqray.util.display import Displayed
from seqray.util.formatting import counted, shortened
from seqray.util.frames import data_frame

if TYPE_CHECKING:
    import pandas as pd

MAX_SEARCHED_WORDS = 20_000
"""Edited words that are scored at most."""

MAX_REPETITIONS = 4
"""About how many times an edited word comes up at most, while all are listed."""

MAX_CHECKED = 20
"""Words per class and number of edits that are sent to the box."""

MAX_WORD_CHARACTERS, N_AROUND = 40, 2
"""Longer words are shown in part: what differs, and so many symbols before and after it."""

Steps = tuple[tuple[tuple[Symbol, ...], Edit], ...]
"""Edits one after the other, each with the word that it changes."""


class Flip(NamedTuple):
    """Edits that change the decision.

    ``word`` is the edited word, ``name`` its class, and ``margin`` how far the automaton is from
    another decision there. ``is_confirmed`` says whether the box gives it that class, too; None
    where there is no box.
    """

    word: tuple[Symbol, ...]
    name: str
    edits: tuple[str, ...]
    margin: float
    is_confirmed: bool | None


@dataclass(frozen=True, repr=False)
class FlipSearch(Displayed):
    """What came of a search for the shortest edits that change a decision; printed, a table.

    Parameters
    ----------
    flips
        The fewest edits first, and for each class no more edits than needed.
    n_searched
        How many edited words the automaton scored.
    max_edits
        All words with so many edits were searched; those with more edits over states.
    n_refuted
        How many words the box gave another class than the automaton; they are not suggested.
        None where there is no box.
    alphabet
        The symbols of the words.
    """

    flips: tuple[Flip, ...]
    n_searched: int
    max_edits: int
    n_refuted: int | None
    alphabet: Alphabet

    def __repr__(self) -> str:
        return str(self.section())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per edited word as a pandas data frame."""
        return data_frame(
            [
                {"word": flip.word, "class": flip.name, "edits": ", ".join(flip.edits)}
                | {"margin": flip.margin, "is_confirmed": flip.is_confirmed}
                for flip in self.flips
            ]
        )

    def section(self, *, is_short: bool = True) -> Section:
        """Return the table that shows it; ``is_short``: long words without what all share."""
        columns = ("edits", "new word", "class", " margin", "box")
        box = {None: "not queried", True: "confirmed", False: "another class"}
        rows = tuple(
            (
                ", ".join(flip.edits),
                word,
                flip.name,
                f"{flip.margin:.3f}",
                box[flip.is_confirmed],
            )
            for flip, word in zip(self.flips, self._new_words(is_short), strict=True)
        )
        note = (
            f"All {counted(self.n_searched, 'word')} with up to {counted(self.max_edits, 'edit')} "
            "were searched on the automaton."
        )
        if any(len(flip.edits) > self.max_edits for flip in self.flips):
            note += " With more edits its states were searched."
        if self.n_refuted is not None:
            note += f" The box gave {counted(self.n_refuted, 'word')} another class: left out."
        return Section("The fewest edits that change the decision", columns, rows, note)

    def _new_words(self, is_short: bool) -> list[str]:
        """Write the edited words, of long ones what differs and a few symbols around it."""
        words = [flip.word for flip in self.flips]
        shown = [self.alphabet.show(word) for word in words]
        if not is_short or max(map(len, shown), default=0) <= MAX_WORD_CHARACTERS:
            return shown
        if len(words) == 1:
            return [shortened(shown[0], MAX_WORD_CHARACTERS)]
        begin = max(0, _n_common(words) - N_AROUND)
        end = max(0, _n_common([word[begin:][::-1] for word in words]) - N_AROUND)
        return [
            spelt(
                self.alphabet,
                ["…"] * (begin > 0) + [*word[begin : len(word) - end]] + ["…"] * (end > 0),
            )
            for word in words
        ]


def _n_common(words: Sequence[tuple[Symbol, ...]]) -> int:
    """Return with how many symbols all words begin alike."""
    alike = takewhile(lambda symbols: len(set(symbols)) == 1, zip(*words, strict=False))
    return sum(1 for _ in alike)


@dataclass(frozen=True, eq=False)
class _Level:
    """All words with some number of edits, and how each came about."""

    words: Words
    steps: list[Steps]


def find_flips(
    automaton: ClassifierAutomaton,
    word: Word,
    *,
    box: Classifier | None = None,
    n_flips: int = 3,
    max_edits: int = 10,
) -> FlipSearch:
    """Find the fewest edits of a word that give it another class.

    Parameters
    ----------
    automaton
        The automaton that is searched.
    word
        The word to edit: a symbol is replaced, left out or put in.
    box
        The classifier. Only words that it gives the same class as the automaton are suggested.
    n_flips
        How many words of each other class are suggested at most.
    max_edits
        The most edits. Where there are more words than `MAX_SEARCHED_WORDS`, states are searched
        instead.

    Examples
    --------
    >>> swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    >>> parity = ClassifierAutomaton("ab", [1, 0], [swap, stay], [[1, 0], [0, 1]],
    ...     classes=["even", "odd"])
    >>> for flip in find_flips(parity, "ab").flips:
    ...     print(flip.name, flip.edits)
    even ('[a→b]b',)
    even ('a[b→a]',)
    even ('[−a]b',)
    """
    whole_number("n_flips", n_flips, 1)
    whole_number("max_edits", max_edits, 1)
    if box is not None:
        check_same_classes(box.classes, automaton)
    start = automaton.alphabet.words([word])
    search = _Search(automaton, box, n_flips, start)
    level, seen = _Level(start, [()]), {start[0]}
    n_searched = n_done = 0
    while search.left and n_done < max_edits:
        longer = _edited(level, seen, search.limit, MAX_SEARCHED_WORDS - n_searched)
        if longer is None or not len(longer.words):
            break
        level = longer
        n_searched += len(level.words)
        n_done += 1
        search.add(level)
    if search.left and n_done < max_edits:
        readable = classifier_of(name_class_states(automaton))
        for n_edits, words in search_states(readable, start[0], max_edits):
            made = [each for number, each in words if number in search.left]
            if n_edits > n_done and made:
                steps = [each.steps for each in made]
                search.add(_Level(start.alphabet.words([each.word for each in made]), steps))
            if not search.left:
                break
    n_refuted = None if box is None else search.n_refuted
    return FlipSearch(tuple(search.flips), n_searched, n_done, n_refuted, start.alphabet)


class _Search:
    """The flips so far, and the classes that are still looked for."""

    def __init__(
        self, automaton: ClassifierAutomaton, box: Classifier | None, n_flips: int, start: Words
    ) -> None:
        self.automaton, self.box, self.n_flips = automaton, box, n_flips
        own = {int(automaton.decisions(start)[0])}
        if box is not None:
            own.add(int(decide(box.scores(start), threshold_of(box))[0]))
        self.left = set(range(automaton.n_classes)) - own
        self.limit = None if box is None else max_length_of(box)
        self.flips: list[Flip] = []
        self.n_refuted = 0

    def add(self, level: _Level) -> None:
        """Add the words of a level that have a class which is still looked for."""
        words, automaton = level.words, self.automaton
        scores = automaton.scores(words)
        decisions, margin = (each(scores, automaton.threshold) for each in (decide, margins))
        fits = words.lengths <= (words.lengths.max() if self.limit is None else self.limit)
        for number in sorted(self.left):
            places = np.flatnonzero((decisions == number) & fits)
            places = places[np.argsort(-margin[places].round(3), kind="stable")]
            confirmed, refuted = _confirmed(words, places, number, self.box, self.n_flips)
            self.n_refuted += refuted
            for place in confirmed:
                edits = [show_edit(w, edit, words.alphabet) for w, edit in level.steps[place]]
                size, is_confirmed = float(margin[place]), None if self.box is None else True
                name = automaton.classes[number]
                self.flips.append(Flip(words[place], name, tuple(edits), size, is_confirmed))
            if confirmed:
                self.left = self.left - {number}


def _edited(
    level: _Level, seen: set[tuple[Symbol, ...]], limit: int | None, most: int
) -> _Level | None:
    """Return the words with one edit more; None where there are too many of them."""
    alphabet = level.words.alphabet
    n_each = (2 * int(level.words.lengths.min()) + 1) * len(alphabet)
    if len(level.words) * n_each > MAX_REPETITIONS * most:  # most words come up several times
        return None
    fresh: dict[tuple[Symbol, ...], Steps] = {}
    for word, steps in zip(level.words, level.steps, strict=True):
        edits, words = one_edit(word, alphabet, max_length=limit)
        for new, edit in zip(words, edits, strict=True):
            if new not in seen and new not in fresh:
                fresh[new] = (*steps, (word, edit))
        if len(fresh) > most:
            return None
    seen.update(fresh)
    return _Level(alphabet.words([*fresh]), [*fresh.values()])


def _confirmed(
    words: Words, places: IntArray, number: int, box: Classifier | None, n_flips: int
) -> tuple[list[int], int]:
    """Return the first words that the box gives a class, and how many it gives another."""
    if box is None:
        return places[:n_flips].tolist(), 0
    confirmed: list[int] = []
    n_refuted = 0
    for begin in range(0, min(len(places), MAX_CHECKED), n_flips):
        some = places[begin : begin + n_flips]
        right = decide(box.scores(words[some]), threshold_of(box)) == number
        n_refuted += int((~right).sum())
        confirmed += some[right].tolist()
        if len(confirmed) >= n_flips:
            break
    return confirmed[:n_flips], n_refuted
