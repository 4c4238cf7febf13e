"""Which states of two automata are the same, and which arrows differ."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.decisions import scores_of
from seqray.automata.prediction_states import scaled_states
from seqray.automata.words import Words
from seqray.explain.named_automaton import NamedAutomaton
from seqray.explain.naming import GOOD_LOSS, name_by_prefixes, name_states
from seqray.explain.probable import grown_prefixes
from seqray.util.arrays import BoolArray, FloatArray

N_CONTEXTS = 300
"""Prefixes of each automaton that show which states are reached after which words."""

MAX_STATE_DISTANCE = 0.5
"""Two states further from each other than this, of at most 1, are not the same."""

MIN_CHANGE = 0.01
"""By how much a weight has to differ, relative to the largest, to count as changed."""

SAME_NAME_SHARE = 0.05
"""A state takes the name of its match if that costs no more of its share after the prefix."""


class ChangeKind(enum.StrEnum):
    """What became of a state or an arrow from A to B."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class ArrowPart(enum.StrEnum):
    """What a weight of an automaton is the weight of."""

    BEGIN = "words begin"
    STEP = "step"
    END = "words end"
    CLASS = "class"


@dataclass(frozen=True)
class ArrowChange:
    """A weight that differs between two automata.

    Parameters
    ----------
    change
        Whether the arrow is in one automaton only.
    part
        What the weight is of: words that begin in ``target``, a step with ``symbol`` from
        ``origin`` to ``target``, words that end in ``origin``, or the probability of the class
        ``symbol`` there.
    origin, symbol, target
        Names; empty where there is none.
    a, b
        The two weights: probabilities, where the automata are probabilistic.
    importance
        How much the change counts: its size, times the share of steps that are spent in its state.
    """

    change: ChangeKind
    part: ArrowPart
    origin: str
    symbol: str
    target: str
    a: float
    b: float
    importance: float


@dataclass(frozen=True)
class StateMatch:
    """A state of A and the state of B that is the same one; None: the other has none such.

    ``distance`` says how much they differ, 0 … 1: in the words that lead to them, and in what
    follows.
    """

    a: int | None
    b: int | None
    distance: float


@dataclass(frozen=True, eq=False)
class PlacedWeights:
    """The weights of one of two automata, in arrays that have a place for every state of both.

    Parameters
    ----------
    begin
        The initial weights, shape ``(n_states,)``.
    steps
        The transitions, shape ``(n_symbols, n_states, n_states)``.
    ends
        The final weights, shape ``(n_states, 1)``; of classifiers one column per class.
    mass
        The share of all steps in each state, 1 where that is unknown, shape ``(n_states,)``.
    present
        Whether the automaton has a state there, shape ``(n_states,)``.
    """

    begin: FloatArray
    steps: FloatArray
    ends: FloatArray
    mass: FloatArray
    present: BoolArray

    @classmethod
    def of(cls, side: NamedAutomaton, states: Sequence[int | None], n_states: int) -> PlacedWeights:
        """Return the weights of an automaton; ``states`` says which state stands where."""
        a = side.automaton
        places = np.array([at for at, state in enumerate(states) if state is not None])
        order = np.array([state for state in states if state is not None])
        own = a.state_scores if isinstance(a, ClassifierAutomaton) else a.final[:, None]
        begin, mass = np.zeros(n_states), np.zeros(n_states)
        steps = np.zeros((len(a.alphabet), n_states, n_states))
        ends, present = np.zeros((n_states, own.shape[1])), np.zeros(n_states, bool)
        begin[places], ends[places], present[places] = a.initial[order], own[order], True
        steps[:, places[:, None], places] = a.transitions[:, order][:, :, order]
        mass[places] = np.nan_to_num(side.mass[order], nan=1.0)
        return cls(begin, steps, ends, mass, present)


@dataclass(frozen=True, eq=False)
class StateComparison:
    """Two automata with named states, matched with each other; made by `compare_states`.

    Parameters
    ----------
    a, b
        The automata.
    matches
        Every state of both, once: those of A in their order, then what only B has.
    scale
        What counts as a weight of 1: 1 where weights are probabilities, else the largest weight.
    loss_a, loss_b
        How far each automaton is from the box that it was extracted from, in the unit of
        `seqray.explain.difference.distance.METRICS`; None where it is the compared thing itself.
    """

    a: NamedAutomaton
    b: NamedAutomaton
    matches: tuple[StateMatch, ...]
    scale: float
    loss_a: float | None = None
    loss_b: float | None = None

    def name(self, match: StateMatch) -> str:
        """Return what to call a matched state: by its name in A, or in B where A has none."""
        if match.a is not None:
            return self.a.names[match.a]
        assert match.b is not None
        name = self.b.names[match.b]
        return f"{name} (B)" if name in self.a.names else name

    def changes(self, min_change: float = MIN_CHANGE) -> tuple[ArrowChange, ...]:
        """Return the weights that differ, the most important first.

        Parameters
        ----------
        min_change
            By how much a weight has to differ, relative to ``scale``.
        """
        one, other = self.placed()
        mass, limit = np.maximum(one.mass, other.mass), min_change * self.scale
        listed: list[ArrowChange] = []
        for part, before, after in (
            (ArrowPart.BEGIN, one.begin, other.begin),
            (ArrowPart.STEP, one.steps, other.steps),
            (self._end, one.ends, other.ends),
        ):
            for place in np.argwhere(np.abs(before - after) >= limit).tolist():
                a, b = float(before[tuple(place)]), float(after[tuple(place)])
                state = place[1] if part is ArrowPart.STEP else place[0]
                importance = abs(b - a) * float(mass[state])
                where = self._labels(part, place)
                listed.append(ArrowChange(_change(a, b, limit), part, *where, a, b, importance))
        return tuple(sorted(listed, key=lambda each: -each.importance))

    def placed(self) -> tuple[PlacedWeights, PlacedWeights]:
        """Return the weights of A and of B, with a place for each of the matches."""
        n_states = len(self.matches)
        return (
            PlacedWeights.of(self.a, [match.a for match in self.matches], n_states),
            PlacedWeights.of(self.b, [match.b for match in self.matches], n_states),
        )

    @property
    def _end(self) -> ArrowPart:
        is_classifier = isinstance(self.a.automaton, ClassifierAutomaton)
        return ArrowPart.CLASS if is_classifier else ArrowPart.END

    def _labels(self, part: ArrowPart, place: Sequence[int]) -> tuple[str, str, str]:
        """Return origin, symbol and target of a weight."""
        names = [self.name(match) for match in self.matches]
        if part is ArrowPart.BEGIN:
            return "", "", names[place[0]]
        if part is ArrowPart.STEP:
            symbol = str(self.a.automaton.alphabet.symbols[place[0]])
            return names[place[1]], symbol, names[place[2]]
        a = self.a.automaton
        output = a.classes[place[1]] if isinstance(a, ClassifierAutomaton) else ""
        return names[place[0]], output, ""


def compare_states(a: WeightedAutomaton, b: WeightedAutomaton) -> StateComparison:
    """Name the states of two automata over one alphabet, and match them.

    States are the same where the same words lead to them and the same follows. The best matching of
    all is taken (an assignment problem), without pairs that are too far from each other.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> steps = np.array([[[0, 0.5], [0, 0.25]], [[0.25, 0], [0.25, 0]]])
    >>> one = WeightedAutomaton("ab", [1, 0], steps, [0.25, 0.5])
    >>> turned = WeightedAutomaton("ab", [0, 1], steps[:, ::-1, ::-1], [0.5, 0.25])
    >>> compare_states(one, turned).changes()
    ()
    """
    named, other = _both_named(a, b)
    contexts = _contexts(named, other)
    shares = _shares_in_both(named.automaton, other.automaton, contexts)
    following = [_continuations(each.automaton) for each in (named, other)]
    distances = (_relative(*shares) + _relative(*(each.T for each in following))) / 2
    matches = _matched(distances)
    other = _renamed(named, other, matches)
    probable = all(_predicts(each.automaton) for each in (named, other))
    largest = max(float(np.abs(each.automaton.transitions).max()) for each in (named, other))
    return StateComparison(named, other, matches, 1.0 if probable else largest or 1.0)


def _both_named(
    a: WeightedAutomaton, b: WeightedAutomaton
) -> tuple[NamedAutomaton, NamedAutomaton]:
    """Name the states of both in coordinates of one kind; where they are prefixes, of the same."""
    named, other = name_states(a), name_states(b)
    if isinstance(named.automaton, ClassifierAutomaton):
        return named, _alike(other, named, name_states(b, candidates=named.prefixes))
    kept = [_keeps_states(each) for each in (named, other)]
    if all(kept):
        return named, other
    named, other = (
        name_by_prefixes(each.automaton) if keeps else each
        for each, keeps in zip((named, other), kept, strict=True)
    )
    return named, _alike(other, named, name_by_prefixes(other.automaton, named.prefixes))


def _keeps_states(named: NamedAutomaton) -> bool:
    """Whether the states are those of a probabilistic automaton, and not prefixes."""
    return bool(named.automaton.is_nonnegative) and _predicts(named.automaton)


def _alike(plain: NamedAutomaton, named: NamedAutomaton, alike: NamedAutomaton) -> NamedAutomaton:
    """Return an automaton with the prefixes of another one as states, if they are as good."""
    sizes = {each.automaton.n_states for each in (plain, named, alike)}
    return alike if len(sizes) == 1 and alike.loss <= max(GOOD_LOSS, plain.loss) else plain


def _predicts(automaton: WeightedAutomaton) -> bool:
    return bool(automaton.is_distribution)


def _contexts(a: NamedAutomaton, b: NamedAutomaton) -> Words:
    """Return prefixes that show which states are reached: probable ones, and those of names."""
    parts = [a.prefixes, b.prefixes]
    parts += [grown_prefixes(each.automaton, N_CONTEXTS) for each in (a, b)]
    return Words.concatenate(parts).unique()[0]


def _shares(automaton: WeightedAutomaton, words: Words) -> FloatArray:
    """Return how much of each state there is after each word, ``(n_words, n_states)``."""
    vectors = np.abs(scaled_states(automaton, words).vectors)
    total = vectors.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, total, out=np.zeros_like(vectors), where=total > 0))


def _shares_in_both(
    a: WeightedAutomaton, b: WeightedAutomaton, words: Words
) -> tuple[FloatArray, FloatArray]:
    """Return the shares of states after those words that both automata can read."""
    one, other = _shares(a, words), _shares(b, words)
    is_read = one.any(axis=1) & other.any(axis=1)
    return one[is_read], other[is_read]


def _continuations(automaton: WeightedAutomaton) -> FloatArray:
    """Return what follows each state, one row each: next symbols, weights, or classes."""
    a = automaton
    if isinstance(a, ClassifierAutomaton):
        after = [a.outputs, *(matrix @ a.outputs for matrix in a.transitions)]
        return np.concatenate([scores_of(a.question, each) for each in after], axis=1)
    ends = a.prefix_final if _predicts(a) else a.final
    return np.column_stack([a.final, *(matrix @ ends for matrix in a.transitions)])


def _relative(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return Σ|x − y| / Σ(|x| + |y|) of each column of one and each of the other."""
    difference = np.abs(one[:, :, None] - other[:, None, :]).sum(axis=0)
    size = np.add.outer(np.abs(one).sum(axis=0), np.abs(other).sum(axis=0))
    return np.asarray(np.divide(difference, size, out=np.zeros_like(size), where=size > 0))


def _matched(distances: FloatArray) -> tuple[StateMatch, ...]:
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - heavy, and only needed here

    rows, columns = linear_sum_assignment(distances)
    pairs = {
        int(row): int(column)
        for row, column in zip(rows, columns, strict=True)
        if distances[row, column] <= MAX_STATE_DISTANCE
    }
    of_a = [
        StateMatch(i, pairs.get(i), float(distances[i, pairs[i]]) if i in pairs else 1.0)
        for i in range(len(distances))
    ]
    left = sorted(set(range(distances.shape[1])) - set(pairs.values()))
    return (*of_a, *(StateMatch(None, j, 1.0) for j in left))


def _renamed(a: NamedAutomaton, b: NamedAutomaton, matches: Sequence[StateMatch]) -> NamedAutomaton:
    """Give states of B the names of their matches where these are as good."""
    after = _shares(b.automaton, a.prefixes)
    prefixes, shares = [*b.prefixes], b.shares.copy()
    for match in matches:
        if match.a is not None and match.b is not None:
            share = float(after[match.a, match.b])
            if share >= shares[match.b] - SAME_NAME_SHARE:
                prefixes[match.b], shares[match.b] = a.prefixes[match.a], share
    return replace(b, prefixes=b.automaton.alphabet.words(prefixes), shares=shares)


def _change(before: float, after: float, limit: float) -> ChangeKind:
    """Return what became of an arrow: one whose weight was below the limit is a new one."""
    if abs(before) < limit <= abs(after):
        return ChangeKind.ADDED
    return ChangeKind.REMOVED if abs(after) < limit <= abs(before) else ChangeKind.CHANGED
