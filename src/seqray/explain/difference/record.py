"""What `seqray.diff` returns: typed records, tables for people, and JSON for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from seqray.automata.words import Alphabet, Symbol
from seqray.explain.difference.distance import (
    UNITS,
    Distance,
    DistanceFigure,
    DistanceKind,
)
from seqray.explain.difference.states import (
    MIN_CHANGE,
    ArrowChange,
    ArrowPart,
    StateComparison,
    StateMatch,
)
from seqray.explain.text import Section, as_text
from seqray.fidelity.table import Fidelity
from seqray.fidelity.word_metrics import MAX_ROUNDING
from seqray.util.display import Displayed
from seqray.util.formatting import counted, shortened, significant, significant_but_one
from seqray.util.version import __version__

MAX_SHOWN_CHANGES = 20
"""How many arrows a table shows."""

MAX_WORD_CHARACTERS = 60
"""Of a longer word a table shows the end."""

SHOWN_METRICS: Mapping[DistanceKind, Mapping[str, str]] = MappingProxyType(
    {
        DistanceKind.DIVERGENCE: {
            "kl_per_symbol": "bits lost per symbol: the divergence",
            "kl_per_word": "bits lost per word",
            "disagreement": "prefixes whose first choices differ",
        },
        DistanceKind.DECISIONS: {
            "agreement": "share of words that both give the same class",
            "score_distance": "distance of the class probabilities",
        },
        DistanceKind.WEIGHTS: {
            "relative_error": "size of the difference over all words",
            "max_error": "largest difference on one word",
            "correlation": "correlation of the two weights",
        },
    }
)
"""The metrics of a table and what they mean, the one that the figure comes from first."""


@dataclass(frozen=True)
class SideSummary:
    """One side of a comparison.

    Parameters
    ----------
    name
        What it is called.
    n_queries
        How many queries it was sent, those of the extraction included; 0 for an automaton.
    n_states
        The states of the automaton that was compared with the other one; None: none was.
    is_extracted
        Whether that automaton was extracted from the box for this.
    """

    name: str
    n_queries: int
    n_states: int | None
    is_extracted: bool


@dataclass(frozen=True)
class DifferentAnswer:
    """A word on which two sides answer differently.

    Where both predict, the answers ``a`` and ``b`` are the probabilities of ``next`` after the
    word, the next symbol on which they differ most, and ``distance`` is the total variation
    distance of all next symbols. Of classifiers they are classes, and ``distance`` that of the
    class probabilities. Otherwise they are weights, and ``distance`` is their difference.
    ``source`` says where the word is from: drawn from ``A`` or ``B``, ``random``, ``given``, or
    varied by the ``search``.
    """

    word: tuple[Symbol, ...]
    distance: float
    next: str
    a: float | str
    b: float | str
    source: str


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Displayed):
    """What differs between two sides, A and B; made by `seqray.diff`.

    Parameters
    ----------
    a, b
        The two sides.
    alphabet
        Their symbols.
    distance
        How far they are from each other.
    different
        Words on which they differ most, the most different first.
    states
        Their automata, with matched states; None where states were not compared.
    seed
        The random seed.
    """

    a: SideSummary
    b: SideSummary
    alphabet: Alphabet
    distance: Distance
    different: tuple[DifferentAnswer, ...]
    states: StateComparison | None
    seed: int

    @property
    def figure(self) -> DistanceFigure:
        """The figure to watch: bits per symbol, or what fits; the larger of both directions."""
        return self.distance.largest

    @property
    def is_same(self) -> bool:
        """Whether no word that was looked at has another answer, but for rounding."""
        exact = self.distance.exact
        is_separated = exact is not None and exact.separating_word is not None
        return self.figure.value == 0 and not self.different and not is_separated

    def changes(self, min_change: float = MIN_CHANGE) -> tuple[ArrowChange, ...]:
        """Return the arrows that differ; see `StateComparison.changes`."""
        return () if self.states is None else self.states.changes(min_change)

    @property
    def is_below_noise(self) -> bool:
        """Whether extraction loses as much as the boxes differ, so that arrows may differ by it."""
        if self.states is None:
            return False
        losses = [x for x in (self.states.loss_a, self.states.loss_b) if x is not None]
        if self.is_same:
            return bool(losses)
        return any(loss > MAX_ROUNDING and loss >= self.figure.value for loss in losses)

    @property
    def shown_states(self) -> StateComparison | None:
        """The states to show; None where there are none, or what differs may be extraction's."""
        return None if self.is_below_noise and self.changes() else self.states

    def __repr__(self) -> str:
        return f"Difference({self.a.name} → {self.b.name}: {self.summary})"

    def __str__(self) -> str:
        return as_text(self.sections())

    @property
    def summary(self) -> str:
        """What differs, by how much, and what that means, in one sentence."""
        return f"{self.headline}: {self.explanation}"

    @property
    def headline(self) -> str:
        """By how much they differ."""
        if self.is_same:
            return "They decide alike" if self._score_distance > MAX_ROUNDING else "No difference"
        size = self.figure.value
        if size == 0:
            return "They differ on rare words only"
        if self.distance.kind is DistanceKind.DIVERGENCE:
            return f"They differ by {size:.3g} bits per symbol"
        if self.distance.kind is DistanceKind.DECISIONS:
            return f"They decide differently on {100 * size:.3g} % of the words"
        return f"Their weights differ by {100 * size:.3g} %"

    @property
    def explanation(self) -> str:
        """What the headline was measured on, with its interval."""
        distance, interval = self.distance, self._interval()
        if self.is_same:
            is_proven = distance.exact is not None and distance.exact.is_equivalent
            which = "" if is_proven else " that was looked at"
            text = f"both give the same {self._answer} to every word{which}"
            if (score_distance := self._score_distance) > MAX_ROUNDING:
                text += f"; their class probabilities differ by {score_distance:.2g} on average"
            return f"{text}."
        is_forward = self.figure == distance.figures[0]
        one, other = "AB" if is_forward else "BA"
        words = distance.words_a if is_forward else distance.words_b
        if self.figure.value == 0:
            return f"on {words} they do not differ."
        if distance.kind is DistanceKind.DECISIONS:
            return f"counted on {words}{interval}."
        if distance.kind is DistanceKind.WEIGHTS:
            return f"on {words}, relative to the weights of {one}{interval}."
        own = distance.forward if is_forward else distance.backward
        entropy = significant(own["entropy_per_symbol"], 3)
        return (
            f"on {words}, with {entropy} bits per symbol, {other} needs that much more than "
            f"{one}{interval}."
        )

    @property
    def _answer(self) -> str:
        """What is compared: a classifier's probabilities may differ where its classes do not."""
        return "class" if self.distance.kind is DistanceKind.DECISIONS else "answer"

    @property
    def _score_distance(self) -> float:
        """The distance of the class probabilities; 0 where there are none."""
        return self.distance.forward.get("score_distance") or 0.0

    def _interval(self) -> str:
        """Write the interval of the figure in brackets, in the unit of the headline."""
        if self.figure.interval is None or math.isnan(sum(self.figure.interval)):
            return ""
        factor, unit = (1, "") if self.distance.kind is DistanceKind.DIVERGENCE else (100, " %")
        low, high = (f"{factor * end:.3g}" for end in self.figure.interval)
        return f" (95 % interval {low} … {high}{unit})"

    def sections(self) -> tuple[Section, ...]:
        """Return everything as tables."""
        parts = [self._distances(), self._words()]
        if self.shown_states is not None:
            parts += [_states(self.shown_states), self._arrows()]
        elif self.states is not None:
            parts.append(Section("States and arrows", (), (), self._noise(self.states)))
        return tuple(parts)

    def _distances(self) -> Section:
        """Return the figure and a few metrics beside it, in both directions if they differ."""
        distance = self.distance
        both: tuple[Fidelity, ...] = (distance.forward, distance.backward)
        if distance.kind is DistanceKind.DECISIONS:
            both = both[:1]
        rows = []
        for name, meaning in SHOWN_METRICS[distance.kind].items():
            if all(name in each for each in both):
                values = (
                    DistanceFigure(name, each[name], each.intervals.get(name)) for each in both
                )
                rows.append((name, *map(shown_figure, values), meaning))
        rows += self._exact_rows()
        names = f"A: {self.a.name}, B: {self.b.name}. "
        if distance.kind is DistanceKind.DECISIONS:
            columns: tuple[str, ...] = ("metric", " value", "meaning")
            measured = f"On {distance.words_a}"
        else:
            columns = ("metric", " A → B", " B → A", "meaning")
            measured = f"A → B on {distance.words_a}, B → A on {distance.words_b}"
        names = "" if (self.a.name, self.b.name) == ("A", "B") else names
        return Section(self.summary, columns, tuple(rows), f"{names}{measured}; 95 % intervals.")

    def _exact_rows(self) -> list[tuple[str, ...]]:
        exact = self.distance.exact
        rows: list[tuple[str, ...]] = []
        if exact is None:
            return rows
        if exact.separating_word is not None:
            word = self.alphabet.show(exact.separating_word)
            rows.append(("separating_word", word, "a shortest word with different classes"))
        if exact.l2 is not None and math.isfinite(exact.l2):
            l2 = significant(exact.l2, 3)
            rows.append(("L2", l2, l2, "exact: sqrt(Σ (A(w) − B(w))²)"))
        for name, both in (("symbol", exact.bits_per_symbol), ("word", exact.bits_per_word)):
            if both is not None:
                values = [significant(each, 3) for each in both]
                meaning = f"exact: bits lost per {name}"
                rows.append((f"exact_per_{name}", *values, meaning))
        return rows

    def _words(self) -> Section:
        by_next = self.distance.kind is DistanceKind.DIVERGENCE
        names = ("after the word" if by_next else "word", " distance")
        columns = (*names, *(("next",) if by_next else ()), " A", " B", "source")
        rows = tuple(
            (
                shortened(self.alphabet.show(each.word), MAX_WORD_CHARACTERS),
                significant(each.distance, 2),
                *((each.next,) if by_next else ()),
                *(v if isinstance(v, str) else significant(v, 3) for v in (each.a, each.b)),
                each.source,
            )
            for each in self.different
        )
        note = f"None: both give the same {self._answer} to every word that was looked at."
        note = "" if rows else note
        return Section("Words on which they differ most", columns, rows, note)

    def _arrows(self) -> Section:
        changes = self.changes()
        rows = tuple(
            (
                each.change.value,
                shown_arrow(each),
                significant(each.a, 3),
                significant(each.b, 3),
                f"{each.b - each.a:+.2g}",
            )
            for each in changes[:MAX_SHOWN_CHANGES]
        )
        note = f"{counted(len(changes), 'arrow')} differ by {MIN_CHANGE:g} or more."
        if len(changes) == 1:
            note = f"1 arrow differs by {MIN_CHANGE:g} or more."
        if not changes:
            note = f"No arrow differs by {MIN_CHANGE:g} or more."
        if len(changes) > MAX_SHOWN_CHANGES:
            note += f" The first {MAX_SHOWN_CHANGES} are shown, the most important first."
        return Section("Arrows that differ", ("", "arrow", " A", " B", " B − A"), rows, note)

    def _noise(self, states: StateComparison) -> str:
        """Say why states and arrows are not shown, and what to do."""
        losses = [loss for loss in (states.loss_a, states.loss_b) if loss is not None]
        shown = " and ".join(f"{loss:.2g}" for loss in losses)
        sizes = f"the boxes differ by {self.figure.value:.2g}"
        if self.is_same:
            sizes = f"on the words that were looked at {sizes}"
        return (
            "Not shown: arrows may differ by extraction alone. The automata that were extracted "
            f"for this miss their boxes by {shown} ({UNITS[self.distance.kind]}); {sizes}. Leave "
            "states out (--no-states), compare shorter words (--max-length N), or extract each "
            "with more queries (seqray extract) and compare the two runs."
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as a document of JSON; what is not finite is null there."""
        return {
            "seqray": __version__,
            "a": asdict(self.a),
            "b": asdict(self.b),
            "alphabet": self.alphabet.to_json(),
            "seed": self.seed,
            "distance": {
                "kind": self.distance.kind.value,
                "unit": UNITS[self.distance.kind],
                **asdict(self.figure),
                "a_to_b": _metrics_json(self.distance, 0),
                "b_to_a": _metrics_json(self.distance, 1),
                "exact": None if self.distance.exact is None else asdict(self.distance.exact),
            },
            "words": [asdict(each) for each in self.different],
            "is_below_noise": self.is_below_noise,
            "states": None if self.states is None else _states_json(self.states),
            "arrows": [asdict(each) for each in self.changes()],
        }


def shown_figure(figure: DistanceFigure) -> str:
    """Write a figure with its interval.

    >>> shown_figure(DistanceFigure("bits", 0.123456, (0.1, 0.2)))
    '0.123 (0.1 … 0.2)'
    """
    is_zero = abs(figure.value) <= MAX_ROUNDING
    value = "0" if is_zero else significant_but_one(figure.value, 3)
    if figure.interval is None or math.isnan(sum(figure.interval)):
        return value
    low, high = (significant_but_one(end, 3) for end in figure.interval)
    return f"{value} ({low} … {high})"


def shown_arrow(each: ArrowChange) -> str:
    """Write where an arrow begins and leads."""
    if each.part is ArrowPart.BEGIN:
        return f"→ {each.target}"
    if each.part is ArrowPart.END:
        return f"{each.origin} → end"
    if each.part is ArrowPart.CLASS:
        return f"{each.origin}: class {each.symbol}"
    return f"{each.origin} –{each.symbol}→ {each.target}"


def _states(states: StateComparison) -> Section:
    """Return which states are which."""
    rows = tuple(
        (
            "" if match.a is None else states.a.names[match.a],
            "" if match.b is None else states.b.names[match.b],
            _matched_text(match),
        )
        for match in states.matches
    )
    note = "0: the same words lead to both states, and the same follows; 1: nothing in common."
    return Section("States", ("in A", "in B", " distance"), rows, note)


def _matched_text(match: StateMatch) -> str:
    if match.a is None:
        return "only in B"
    return "only in A" if match.b is None else significant(round(match.distance, 6), 2)


def _metrics_json(distance: Distance, at: int) -> dict[str, Any]:
    fidelity = (distance.forward, distance.backward)[at]
    return {
        "words": (distance.words_a, distance.words_b)[at],
        "n_words": fidelity.n_words,
        "metrics": fidelity.as_dict(),
        "intervals": {name: [*ends] for name, ends in fidelity.intervals.items()},
    }


def _states_json(states: StateComparison) -> dict[str, Any]:
    return {
        "loss_a": states.loss_a,
        "loss_b": states.loss_b,
        "matches": [
            {
                "a": None if each.a is None else states.a.names[each.a],
                "b": None if each.b is None else states.b.names[each.b],
                "distance": each.distance,
            }
            for each in states.matches
        ],
    }
