"""One decision explained: where it is made, what each symbol adds, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import decide
from seqray.automata.purpose import Purpose
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.blackbox.protocol import Classifier, max_length_of, threshold_of
from seqray.explain.background import Background
from seqray.explain.class_states import (
    classifier_of,
    name_class_states,
    nearest_states,
    state_name,
)
from seqray.explain.flips import Flip, FlipSearch, find_flips
from seqray.explain.named_automaton import NamedAutomaton
from seqray.explain.plots import plot_class_path
from seqray.explain.shapley import shapley_values
from seqray.explain.text import Section, as_text
from seqray.fidelity.decisions import check_same_classes
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.display import Displayed
from seqray.util.errors import ArgumentError
from seqray.util.formatting import shortened
from seqray.util.frames import data_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MAX_CONTINUATIONS = 1500
"""Continuations of each prefix that are looked at, to see whether its decision is settled."""

N_BOX_CONTINUATIONS = 200
"""How many of them the box is queried about."""


@dataclass(frozen=True, eq=False, repr=False)
class DecisionExplanation(Displayed):
    """Why an automaton, and a classifier beside it, give a word its class.

    Made by `explain_decision`. Printed, it is a few tables; `sections` are these, and `as_dict` all
    numbers.

    Parameters
    ----------
    named
        The automaton with states that have names.
    word
        What was explained, of n symbols.
    scores
        The probability of each class after each prefix, shape ``(n + 1, n_classes)``.
    decisions
        The number of the class after each prefix, shape ``(n + 1,)``.
    states
        The state that the automaton is in after each prefix, or the nearest one of the same class,
        shape ``(n + 1,)``; see `seqray.explain.class_states.nearest_states`.
    shapley
        What each position adds to the output of each class, shape ``(n, n_classes)``.
    decided_at
        The length of the shortest prefix from which on every prefix has the class of the word.
    settled_at
        The length of the shortest prefix with the class of the word that no continuation of up to
        ``horizon`` symbols changes; None: there is none.
    horizon
        How long continuations were.
    flips
        The shortest edits that change the decision.
    box_scores
        The classifier's probabilities for the word; None where there is no box.
    settled_share
        The share of these continuations of the prefix ``settled_at`` that the classifier gives the
        same class; None where there is no box, or no such prefix.
    """

    named: NamedAutomaton
    word: tuple[Symbol, ...]
    scores: FloatArray
    decisions: IntArray
    states: IntArray
    shapley: FloatArray
    decided_at: int
    settled_at: int | None
    horizon: int
    flips: FlipSearch
    box_scores: FloatArray | None = None
    box_class: str | None = None
    settled_share: float | None = None

    @property
    def automaton(self) -> ClassifierAutomaton:
        """The automaton in readable coordinates."""
        return classifier_of(self.named)

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.automaton.alphabet

    @property
    def name(self) -> str:
        """The class that the automaton gives the word."""
        return self.automaton.classes[int(self.decisions[-1])]

    def __repr__(self) -> str:
        return as_text(self.sections())

    def sections(self, *, is_short: bool = True) -> tuple[Section, ...]:
        """Return the tables that show it; ``is_short``: long words and names in part."""
        flips = self.flips.section(is_short=is_short)
        return (_summary(self, is_short), _steps(self, is_short), flips)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot the probability of each class after each prefix; returns the axes.

        A new figure is made unless ``ax`` names axes to plot on.
        """
        classes = self.automaton.classes
        return plot_class_path(self.word, self.scores, classes, self.decided_at, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per prefix, the empty one first, as a pandas data frame.

        ``symbol`` is the last one of the prefix, ``class`` its class, ``state`` the nearest state.
        ``p(…)`` is the probability of each class, ``adds(…)`` what the symbol adds to it.
        """
        classes = self.automaton.classes
        rows = []
        for n, number in enumerate(self.decisions.tolist()):
            state = state_name(self.named, int(self.states[n]))
            row = {"symbol": self.word[n - 1] if n else "", "class": classes[number]}
            row |= {"state": state, **_by_class("p", classes, self.scores[n])}
            rows.append(row | (_by_class("adds", classes, self.shapley[n - 1]) if n else {}))
        return data_frame(rows)

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, as JSON can hold them."""
        box = None if self.box_scores is None else self.box_scores.tolist()
        return {
            "word": list(self.word),
            "classes": list(self.automaton.classes),
            "class": self.name,
            "box_class": self.box_class,
            "scores": self.scores.tolist(),
            "box_scores": box,
            "decisions": [self.automaton.classes[number] for number in self.decisions],
            "states": [state_name(self.named, state) for state in self.states.tolist()],
            "question": self.automaton.question.value,
            "shapley": self.shapley.tolist(),
            "decided_at": self.decided_at,
            "settled_at": self.settled_at,
            "horizon": self.horizon,
            "settled_share": self.settled_share,
            "flips": [_flip_json(flip) for flip in self.flips.flips],
            "flips_searched": self.flips.n_searched,
            "flips_max_edits": self.flips.max_edits,
            "flips_refuted": self.flips.n_refuted or 0,
        }


def _by_class(what: str, classes: Sequence[str], values: FloatArray) -> dict[str, Any]:
    named = zip(classes, values.tolist(), strict=True)
    return {f"{what}({name})": value for name, value in named}


def _flip_json(flip: Flip) -> dict[str, Any]:
    return {
        "word": list(flip.word),
        "class": flip.name,
        "edits": list(flip.edits),
        "margin": flip.margin,
        "confirmed": flip.is_confirmed,
    }


def explain_decision(
    automaton: AutomatonLike,
    word: Word,
    *,
    box: Classifier | None = None,
    background: Background | None = None,
    n_flips: int = 3,
) -> DecisionExplanation:
    """Explain why a word has its class.

    Parameters
    ----------
    automaton
        An automaton that classifies, or what one is in: an extraction of a classifier, or the path
        of its run folder.
    word
        The word.
    box
        The classifier; flips are then only those that it confirms.
    background
        Where the symbols of positions that are not known come from, for Shapley values; by default
        every symbol has the same probability.
    n_flips
        How many words of each other class are suggested at most.

    Examples
    --------
    >>> swap, stay = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    >>> parity = ClassifierAutomaton("ab", [1, 0], [swap, stay], [[1, 0], [0, 1]],
    ...     classes=["even", "odd"])
    >>> explanation = explain_decision(parity, "aab")
    >>> explanation.name, explanation.decided_at, explanation.settled_at
    ('even', 2, None)
    """
    given = as_automaton(automaton, purpose=Purpose.READING)
    if not isinstance(given, ClassifierAutomaton):
        raise ArgumentError(
            f"automaton: expected one that classifies, got {given!r}: explain words of any other "
            "with explain_word"
        )
    alphabet = given.alphabet
    if box is not None:
        if box.alphabet != alphabet:
            raise ArgumentError(f"box: expected one over {alphabet}, got one over {box.alphabet}")
        check_same_classes(box.classes, given)
    symbols = alphabet.decode(alphabet.encode(word))
    named = name_class_states(given)
    readable = classifier_of(named)
    prefixes = alphabet.words([symbols[:n] for n in range(len(symbols) + 1)])
    scores = given.scores(prefixes)
    decisions = decide(scores, given.threshold)
    others = np.flatnonzero(decisions != decisions[-1])
    decided_at = int(others[-1]) + 1 if len(others) else 0
    endings = _continuations(alphabet)
    settled_at = _settled_at(given, prefixes, decisions, endings)
    return DecisionExplanation(
        named=named,
        word=symbols,
        scores=scores,
        decisions=decisions,
        states=nearest_states(readable, np.array([readable.state_after(w) for w in prefixes])),
        shapley=_shapley(given, symbols, background or Background.uniform(alphabet)),
        decided_at=decided_at,
        settled_at=settled_at,
        horizon=int(endings.lengths.max()),
        flips=find_flips(given, symbols, box=box, n_flips=n_flips),
        **_box_answers(box, prefixes, settled_at, endings),
    )


def _box_answers(
    box: Classifier | None, prefixes: Words, settled_at: int | None, endings: Words
) -> dict[str, Any]:
    """Return what the classifier says of the word, and of continuations of a settled prefix."""
    if box is None:
        return {}
    row = np.asarray(box.scores(prefixes[-1:]))
    number = int(decide(row, threshold_of(box))[0])
    share = None
    if settled_at is not None:
        words = prefixes[settled_at : settled_at + 1].followed_by(endings)
        limit = max_length_of(box)
        if limit is not None:  # the prefix itself is short enough
            words = words[np.flatnonzero(words.lengths <= limit)]
        words = words[np.random.default_rng(0).permutation(len(words))[:N_BOX_CONTINUATIONS]]
        share = float(np.mean(decide(box.scores(words), threshold_of(box)) == number))
    return {"box_scores": row[0], "box_class": box.classes[number], "settled_share": share}


def _shapley(
    automaton: ClassifierAutomaton, word: tuple[Symbol, ...], background: Background
) -> FloatArray:
    """Return what each position adds to the output of each class."""
    columns = [
        shapley_values(automaton.of_class(name), word, background=background).values
        for name in automaton.classes
    ]
    return np.stack(columns, axis=1)


def _continuations(alphabet: Alphabet) -> Words:
    """Return all continuations up to a length, the empty one too."""
    words: list[tuple[Symbol, ...]] = [()]
    length = 1
    while len(words) + len(alphabet) ** length <= MAX_CONTINUATIONS or length == 1:
        words += product(alphabet.symbols, repeat=length)
        length += 1
    return alphabet.words(words)


def _settled_at(
    automaton: ClassifierAutomaton, prefixes: Words, decisions: IntArray, endings: Words
) -> int | None:
    """Return the first prefix whose continuations all have the class of the word."""
    own = int(decisions[-1])
    for n in range(len(prefixes)):
        if decisions[n] == own:
            words = prefixes[n : n + 1].followed_by(endings)
            if (automaton.decisions(words) == own).all():
                return n
    return None


# Tables -------------------------------------------------------------------------------------------


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) >= 5e-4 else "0"


def _summary(it: DecisionExplanation, is_short: bool) -> Section:
    columns: tuple[str, ...] = ("class", " automaton")
    rows = [
        [name, _percent(float(x))]
        for name, x in zip(it.automaton.classes, it.scores[-1], strict=True)
    ]
    if it.box_scores is not None:
        columns = (*columns, " box")
        for row, score in zip(rows, it.box_scores.tolist(), strict=True):
            row.append(_percent(score))
    shown = _cut(it.alphabet.show(it.word), 40, is_short)
    notes = [_decided(it, is_short)]
    if it.box_class is not None and it.box_class != it.name:
        notes.append(f"The box decides otherwise: {it.box_class}.")
    title = f"{shown}: {it.name}"
    return Section(title, columns, tuple(map(tuple, rows)), " ".join(notes))


def _cut(text: str, width: int, is_short: bool) -> str:
    return shortened(text, width) if is_short else text


def _decided(it: DecisionExplanation, is_short: bool) -> str:
    """Say from which prefix on the class stays, and whether it is settled."""

    def shown(n: int) -> str:
        return _cut(it.alphabet.show(it.word[:n]), 30, is_short) if n else "the empty word"

    text = f"From {shown(it.decided_at)} on it has this class."
    if it.settled_at is None:
        return f"{text} It is never settled: some continuation changes it."
    text += (
        f" After {shown(it.settled_at)} no continuation of up to {it.horizon} symbols changes it"
    )
    if it.settled_share is not None:
        text += f", and {_percent(it.settled_share)} of those sent to the box keep it there, too"
    return f"{text}."


def _steps(it: DecisionExplanation, is_short: bool) -> Section:
    """Return one row per prefix: its state, its class, and what its last symbol adds."""
    classes = it.automaton.classes
    shown = range(len(classes)) if len(classes) <= 4 else [int(it.decisions[-1])]
    adding = [f" {classes[number]} adds" for number in shown]
    columns = ("symbol", "nearest state", "class", " prob.", *adding)
    rows = []
    for n, number in enumerate(it.decisions.tolist()):
        symbol = "" if n == 0 else str(it.word[n - 1])
        adds = ["" if n == 0 else _signed(it.shapley[n - 1, c]) for c in shown]
        state = _cut(state_name(it.named, int(it.states[n])), 24, is_short)
        rows.append((symbol, state, classes[number], _percent(it.scores[n, number]), *adds))
    unit = it.automaton.question.value
    note = (
        f"adds: what the symbol adds to the {unit} of a class, its Shapley value. "
        "prob.: probability of the class."
    )
    return Section("Where the decision is made", columns, tuple(rows), note)
