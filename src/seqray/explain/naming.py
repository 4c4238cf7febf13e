"""Coordinates that a person can read: every state is, or is nearest to, what follows a prefix.

The states of an extraction are directions of an SVD; only sums over paths mean something. Here the
same function gets other coordinates:

- A probabilistic automaton (no negative weight) keeps its states. They are scaled so that all that
  can follow a state weighs 1, and each gets the name of a short prefix after which it has the
  largest share.
- Any other gets the states *after* some prefixes as coordinates: with B, a row for each prefix,
  α₀B⁻¹, BMσB⁻¹ and Bα∞. The prefixes are chosen so that B has (nearly) the largest volume. Every
  other prefix is then a combination of them with coefficients of at most about 1, and, where the
  chosen ones are corners of all there are, with none below 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.prediction_states import prediction_states, scaled_states
from seqray.automata.purpose import Purpose
from seqray.automata.span import perpendicular, pivoted_rows
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Word, Words
from seqray.explain.class_states import name_class_states
from seqray.explain.loss import Checked
from seqray.explain.named_automaton import NamedAutomaton, rescaled
from seqray.explain.probabilistic_naming import named_probabilistic, used_states
from seqray.explain.probable import (
    HeaviestWords,
    grown_prefixes,
    heaviest_words,
    observable,
    spanning_prefixes,
)
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, IntArray, read_only
from seqray.util.errors import ArgumentError

N_CANDIDATES = 600
"""How many prefixes are looked at first; four times as many where they are not enough."""

WEIGHT_PER_SYMBOL = 0.4
"""Where weights are not probabilities: how much less a prefix counts for each symbol it has."""

EXPONENTS = (1.0, 0.5, 0.25)
"""How much probable prefixes are preferred as states; what gives the fewest negative weights is
taken."""

TOLERANCES = (1e-13, 1e-9)
"""Which directions still count as reached."""

N_DRAWN = 200
"""How many words are drawn to see in which states they spend their time."""

MAX_COEFFICIENT = 1.05
"""Prefixes are exchanged until no coefficient is larger."""

SAME_STATE_TOLERANCE = 1e-9
"""Two prefixes lead to one state if no coordinate differs by more."""

MAX_NAMED_STATES = 1000
"""The most states that get names: more take minutes, and nobody reads so many names."""

GOOD_LOSS = 1e-9
"""A loss that needs no second attempt."""


def name_states(
    automaton: AutomatonLike, *, candidates: Words | Iterable[Word] | None = None
) -> NamedAutomaton:
    """Give an automaton coordinates in which its states have names.

    Every weight of every word stays the same, up to rounding; `NamedAutomaton.loss` says what that
    comes to.

    Parameters
    ----------
    automaton
        Any automaton, or what one is in: an extraction, or the path of a run folder. Where no
        weight is negative, its states are kept, most visited first; those
        that no word passes through are dropped. In any other case states become prefixes, the
        empty one first and the others by how much of the automaton's time is spent near them;
        directions that no word reaches are dropped. The states of an automaton that classifies are
        always prefixes, see `name_class_states`.
    candidates
        The prefixes to choose names from. By default the most probable ones, or all short ones
        where weights are not probabilities.

    Examples
    --------
    The automaton of Figure 1 in the paper, disguised by other coordinates:

    >>> from seqray.automata.algebra import change_basis
    >>> wa = WeightedAutomaton(
    ...     "ab", [1, 0], [[[1/2, 1/6], [0, 1/4]], [[0, 1/3], [1/4, 1/4]]], [0, 1/4]
    ... )
    >>> name_states(wa).names
    ('start', 'after b')
    >>> named = name_states(change_basis(wa, [[1, 2], [1, -1]]))
    >>> named.names, named.loss < 1e-12
    (('start', 'after b'), True)
    >>> np.abs(named.automaton.transitions[1]).round(9)
    array([[0.        , 0.33333333],
           [0.25      , 0.25      ]])
    """
    if isinstance(automaton, NamedAutomaton) and candidates is None:
        return automaton
    a = as_automaton(automaton, purpose=Purpose.READING)
    if isinstance(a, ClassifierAutomaton):
        return name_class_states(a, candidates=candidates)
    if a.n_states > MAX_NAMED_STATES:
        raise ArgumentError(
            f"automaton: expected at most {MAX_NAMED_STATES:,} states to name, got {a.n_states:,}: "
            "use an automaton of fewer states"
        )
    given = None if candidates is None else a.alphabet.words(candidates)
    if given is not None and not len(given):
        raise ArgumentError("candidates: expected at least one prefix, got none")
    used = used_states(a)
    return name_by_prefixes(a, given) if used is None else named_probabilistic(a, used, given)


def continuations(named: NamedAutomaton, n_words: int = 3) -> tuple[HeaviestWords, ...]:
    """Return how words most probably go on from each state, one entry per state.

    Where weights are not probabilities, what follows are the continuations of largest weight.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.2]]], [0.3])
    >>> continuations(name_states(wa))
    (HeaviestWords(λ 0.3, a 0.15, aa 0.075),)
    """
    a = named.automaton
    return tuple(
        heaviest_words(a, n_words, initial=state, effort=5_000) for state in np.eye(a.n_states)
    )


def name_by_prefixes(a: WeightedAutomaton, given: Words | None = None) -> NamedAutomaton:
    """Make states of prefixes, also where no weight is negative; see `name_states`.

    ``given`` are the prefixes to choose from. It tries harder as long as weights change.

    >>> name_by_prefixes(WeightedAutomaton("a", [1], [[[0.5]]], [0.5])).names
    ('start',)
    """
    best, best_key = None, (np.inf, 0, np.inf)
    checked, reduced = Checked.of(a), observable(a)
    if not reduced.initial.any():
        return _nothing(reduced, checked)
    for small in (reduced, a) if reduced.n_states < a.n_states else (a,):
        for n_words in (N_CANDIDATES, 4 * N_CANDIDATES) if given is None else (len(given),):
            words = given
            if words is None:
                grown = grown_prefixes(small, n_words), spanning_prefixes(small)
                words = Words.concatenate(grown)
            for named in _attempts(small, words, checked):
                sizes = np.maximum(-named.automaton.transitions, 0).sum(axis=(0, 2))
                often = np.nan_to_num(named.mass) + 1 / len(sizes)
                loss = named.loss if named.loss > GOOD_LOSS else 0.0
                key = (loss, -len(sizes), float(sizes @ often))
                if best is None or key < best_key:
                    best, best_key = named, key
            if best is not None and best_key[0] == 0:
                return best
    assert best is not None
    return best


def _attempts(a: WeightedAutomaton, words: Words, checked: Checked) -> Iterator[NamedAutomaton]:
    """Yield automata whose states are prefixes, chosen with several preferences."""
    cloud, travelled = _Cloud.of(a, words), _travelled(a)
    exponents = EXPONENTS if a.is_distribution else EXPONENTS[:1]
    tried = []
    for exponent, tolerance in product(exponents, TOLERANCES):
        chosen = choose_rows(cloud.rows * cloud.weights[:, None] ** exponent, tolerance)
        if set(chosen.tolist()) not in tried:
            tried.append(set(chosen.tolist()))
            yield _in_prefixes(a, cloud, chosen, travelled, checked)


def _nothing(zero: WeightedAutomaton, checked: Checked) -> NamedAutomaton:
    """Name the only state of the function that is 0 everywhere."""
    return NamedAutomaton(
        zero,
        zero.alphabet.words([()]),
        read_only(np.ones(1)),
        read_only(np.full(1, np.nan)),
        checked.loss(zero),
    )


@dataclass(frozen=True, eq=False)
class _Cloud:
    """Prefixes that may become states, the empty one first."""

    words: Words
    rows: FloatArray  # the states after them, divided by their sizes, (n_words, n_states)
    sizes: FloatArray  # (n_words,)
    weights: FloatArray  # how probable they are, or how short, (n_words,)

    @classmethod
    def of(cls, a: WeightedAutomaton, words: Words) -> _Cloud:
        words = Words.concatenate([a.alphabet.words([()]), words]).unique()[0]
        rows, log_scales = scaled_states(a, words)
        scales = np.exp(np.clip(log_scales, -400, 400))
        if a.is_distribution:  # all that can follow a state is to weigh 1
            totals = rows @ a.prefix_final
            weights, sizes = totals * scales, np.ones(len(words))
        else:
            totals = np.linalg.norm(rows, axis=1)
            weights, sizes = WEIGHT_PER_SYMBOL ** words.lengths.astype(float), totals * scales
            sizes[(sizes < 1e-100) | (sizes > 1e100)] = 1
        usable = np.flatnonzero(totals > 0)
        rows = rows[usable] / totals[usable, None]
        return cls(words[usable], rows, sizes[usable], weights[usable])


def _in_prefixes(
    a: WeightedAutomaton,
    cloud: _Cloud,
    chosen: IntArray,
    travelled: FloatArray,
    checked: Checked,
) -> NamedAutomaton:
    """Make states of the chosen prefixes, and measure what that changes."""
    if len(travelled):
        sizes = np.abs(travelled @ _pseudo_inverse(cloud.rows[chosen]))
        mass = (sizes / sizes.sum(axis=1, keepdims=True)).mean(axis=0)
        order = np.concatenate([[0], 1 + np.argsort(-mass[1:], kind="stable")]).astype(int)
    else:  # by length, and then as they were chosen, the furthest from those before first
        mass = np.full(len(chosen), np.nan)
        order = np.argsort(cloud.words.lengths[chosen], kind="stable")
    chosen, mass = _shorter(cloud, chosen[order]), mass[order]
    changed = _in_basis(a, cloud.rows[chosen])
    if not a.is_distribution:  # state i is not only in the direction of its prefix's: it is that
        changed = rescaled(changed, 1 / cloud.sizes[chosen])
    return NamedAutomaton(
        changed,
        cloud.words[chosen],
        read_only(np.ones(len(chosen))),
        read_only(mass),
        checked.loss(changed),
    )


def _shorter(cloud: _Cloud, chosen: IntArray) -> IntArray:
    """Exchange prefixes for shorter ones, or likelier ones, that lead to the very same state."""
    coefficients = cloud.rows @ _pseudo_inverse(cloud.rows[chosen])
    nearest = coefficients.argmax(axis=1)
    coefficients[np.arange(len(nearest)), nearest] -= 1
    same = np.abs(coefficients).max(axis=1) < SAME_STATE_TOLERANCE
    # The best comes last, so that it stays.
    order = np.lexsort((-cloud.weights, cloud.words.lengths))[::-1]
    order = order[same[order]]
    shorter = chosen.copy()
    shorter[nearest[order]] = order
    return shorter


def choose_rows(rows: FloatArray, tolerance: float) -> IntArray:
    """Choose rows that span all others, the first one among them, with nearly the largest volume.

    Rows are taken greedily, the one furthest from those before (a QR with pivoting), and then
    exchanged as long as that makes the volume clearly larger. Distances are relative to the spread
    of the rows, so the choice does not depend on coordinates.

    Parameters
    ----------
    rows
        Shape ``(n_rows, n_columns)``.
    tolerance
        Directions in which the rows spread less, relative to the largest, do not count.

    Examples
    --------
    >>> choose_rows(np.array([[1, 1], [1, 0.9], [1, 0.0], [0.5, 0.2]]), 1e-9)
    array([0, 2])
    """
    columns = np.abs(rows).max(axis=0)
    spread, sizes, _ = np.linalg.svd(rows / np.where(columns > 0, columns, 1), full_matrices=False)
    spread = spread[:, sizes > tolerance * sizes[0]]
    first = spread[:1] / (np.linalg.norm(spread[0]) or 1.0)
    others = pivoted_rows(perpendicular(spread, first))[0]
    order = np.concatenate([[0], others[: spread.shape[1] - 1]])
    while True:  # every exchange makes the volume larger, so this ends
        coefficients = np.abs(np.linalg.solve(spread[order].T, spread.T).T)
        coefficients[:, 0] = 0  # the first row stays
        row, state = divmod(int(coefficients.argmax()), len(order))
        if not coefficients[row, state] > MAX_COEFFICIENT:
            return order
        order[state] = row


def _pseudo_inverse(basis: FloatArray) -> FloatArray:
    """Return B⁺, shape ``(n_states, n)``; columns of very different sizes do no harm."""
    columns = np.abs(basis).max(axis=0)
    columns[columns == 0] = 1
    left, sizes, right = np.linalg.svd(basis / columns, full_matrices=False)
    inverse: FloatArray = (right.T / sizes) @ left.T / columns[:, None]
    return inverse


def _in_basis(a: WeightedAutomaton, basis: FloatArray) -> WeightedAutomaton:
    """Return the automaton whose states are the rows of a basis, shape ``(n, n_states)``."""
    back = _pseudo_inverse(basis)
    initial, transitions, final = a.initial @ back, basis @ a.transitions @ back, basis @ a.final
    elsewhere = None if a.elsewhere is None else basis @ a.elsewhere
    initial[1:] = 0  # a word begins in the state after the empty prefix, which is the first
    for part in (*transitions, final):  # what is left of a 0 after rounding is one
        part[np.abs(part) < 1e-13 * np.abs(part).max()] = 0
    return WeightedAutomaton(a.alphabet, initial, transitions, final, elsewhere)


def _travelled(a: WeightedAutomaton) -> FloatArray:
    """Return the states after the prefixes of some words that are drawn, always the same ones.

    Shape ``(n, n_states)``; none where the automaton is no distribution.
    """
    if not a.is_distribution:
        return np.empty((0, a.n_states))
    drawn = a.sample(N_DRAWN, seed=np.random.default_rng(0), max_length=50).words
    tree = PrefixTree.of(drawn)
    states = scaled_states(a, tree.words(np.arange(len(tree)))).vectors
    counts = tree.counts().sum(axis=1).astype(int) * (states @ a.prefix_final > 0)
    return np.repeat(prediction_states(a, states), counts, axis=0)
