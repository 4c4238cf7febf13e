"""Facts about an automaton as a whole: its words, lengths, symbols, states and rhythms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.probabilities import as_probabilities, total_variation
from seqray.automata.purpose import Purpose
from seqray.explain.background import expected_counts, expected_visits
from seqray.explain.graph import Part, leads, parts, reachable
from seqray.explain.named_automaton import NamedAutomaton
from seqray.explain.naming import continuations, name_states
from seqray.explain.probable import HeaviestWords, has_negative, heaviest_words, sums
from seqray.explain.text import Section, as_text, likeliest
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, read_only, whole_number
from seqray.util.display import Displayed
from seqray.util.errors import ArgumentError
from seqray.util.formatting import abbreviated, shortened, significant

MAX_LISTED_SYMBOLS = 39
"""The most frequent symbols are listed, one by one; the others are counted together."""

MAX_SYMBOLS_IN_PAIRS = 1000
"""Over more symbols, `Facts.as_dict` does not hold what follows each symbol."""

MAX_NUMBERS_AT_ONCE = 2**22
"""Probabilities of next symbols that are computed at once."""

MIN_EDGE_WEIGHT = 1e-9
"""Transitions below it do not count as paths from state to state."""

N_RHYTHMS, MIN_RHYTHM_STRENGTH = 3, 0.1
"""How many rhythms are listed, and how strong they are at least."""


class Rhythm(NamedTuple):
    """A wave in the weights of words by length, from an eigenvalue of ΣMσ.

    The wave comes back after ``period`` symbols; with every symbol ``strength`` of it is left,
    relative to what decays most slowly. At strength 1 it is there for ever.
    """

    period: float
    strength: float


@dataclass(frozen=True, eq=False)
class Successors:
    """What comes next after each symbol, averaged over all places where it stands.

    There is a row for each symbol, and the last one is the average after any prefix. Rows are
    computed when they are wanted: over 10,000 symbols all of them together take a gigabyte.

    Parameters
    ----------
    states
        The expected state at each row's places, shape ``(n_symbols + 1, n_states)``.
    readers
        What reads next symbols from a state, the end last, ``(n_symbols + 1, n_states)``.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> Successors.of(wa).rows([0])
    array([[0.5 , 0.25, 0.25]])
    """

    states: FloatArray
    readers: FloatArray

    @classmethod
    def of(cls, a: WeightedAutomaton) -> Successors:
        """Return what an automaton expects; its weights sum."""
        visits = expected_visits(a)
        states = np.concatenate([visits @ a.transitions, visits[None, :]])
        return cls(states, np.concatenate([a.transitions @ a.prefix_final, [a.final]]))

    def rows(self, numbers: Sequence[int] | slice) -> FloatArray:
        """Return the probabilities of next symbols in some rows, the end last."""
        read = self.states[numbers] @ self.readers.T
        total = read.sum(axis=1, keepdims=True)
        uniform = np.full_like(read, 1 / read.shape[1])
        return as_probabilities(np.divide(read, total, out=uniform, where=np.abs(total) > 1e-300))

    def influence(self) -> FloatArray:
        """Return how far each symbol's row is from the average, as total variation distance."""
        n_rows = len(self.states)
        average = self.rows([-1])[0]
        size = max(1, MAX_NUMBERS_AT_ONCE // n_rows)
        cuts = [*range(0, n_rows - 1, size), n_rows - 1]
        parts = [total_variation(self.rows(slice(*ends)), average) for ends in pairwise(cuts)]
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False, repr=False)
class Facts(Displayed):
    """What an automaton does as a whole; made by `facts`.

    Printed, it is a few tables; `sections` are these, and `as_dict` all numbers. What only makes
    sense where the weights of all words sum is nan, or None, where they do not.

    Parameters
    ----------
    named
        The automaton in readable coordinates, with the mass of its states.
    heaviest
        The words of largest weight.
    continuations
        How words go on from each named state.
    total
        The weight of all words together.
    mean_length, deviation
        Of the length of words: what is expected, and the standard deviation.
    counts
        How often each symbol is expected in a word, shape ``(n_symbols,)``.
    successors
        What comes next after each symbol.
    influence
        How much a symbol says about the next one: the total variation distance between what comes
        after it and the next symbols on average, shape ``(n_symbols,)``.
    rhythms
        Waves in the weights by length, the strongest first.
    parts
        The strongly connected parts of the named states; None where weights are negative, since
        paths may then cancel.
    unreached, endless
        The numbers of the automaton's own states that no word reaches, and of those from which
        none ends; no word passes through these, so they have no names.
    """

    named: NamedAutomaton
    heaviest: HeaviestWords
    continuations: tuple[HeaviestWords, ...]
    total: float
    mean_length: float
    deviation: float
    counts: FloatArray | None
    successors: Successors | None
    influence: FloatArray | None
    rhythms: tuple[Rhythm, ...]
    parts: tuple[Part, ...] | None
    unreached: tuple[int, ...]
    endless: tuple[int, ...]

    @property
    def after(self) -> FloatArray | None:
        """The probabilities of the next symbol after each symbol, the end last.

        Averaged over all places where it stands, shape ``(n_symbols, n_symbols + 1)``.
        """
        return None if self.successors is None else self.successors.rows(slice(-1))

    @property
    def periodic(self) -> tuple[Part, ...]:
        """The parts whose states come back only after multiples of a period above 1."""
        return tuple(part for part in self.parts or () if part.period > 1)

    @property
    def absorbing(self) -> tuple[Part, ...]:
        """The parts that are never left again, if there are others."""
        absorbing = tuple(part for part in self.parts or () if part.absorbing)
        return absorbing if len(self.parts or ()) > 1 else ()

    def __repr__(self) -> str:
        return as_text(self.sections())

    def sections(self) -> tuple[Section, ...]:
        """Return the tables that show it."""
        tables = [_whole(self), _words(self), _states(self), _symbols(self)]
        return tuple(table for table in tables if table is not None)

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, as JSON can hold them.

        ``after`` is None over more than `MAX_SYMBOLS_IN_PAIRS` symbols.
        """
        n_symbols = len(self.named.automaton.alphabet)
        after = self.after if n_symbols <= MAX_SYMBOLS_IN_PAIRS else None
        listed = {"counts": self.counts, "after": after, "influence": self.influence}
        return {
            "total": self.total,
            "mean_length": self.mean_length,
            "deviation": self.deviation,
            "heaviest": _word_list(self.heaviest),
            "heaviest_exact": self.heaviest.exact,
            "states": [
                {"name": name, "mass": float(mass), "continuations": _word_list(goes_on)}
                for name, mass, goes_on in zip(
                    self.named.names, self.named.mass, self.continuations, strict=True
                )
            ],
            "loss": self.named.loss,
            "symbols": self.named.automaton.alphabet.to_json(),
            **{name: None if a is None else a.tolist() for name, a in listed.items()},
            "rhythms": [rhythm._asdict() for rhythm in self.rhythms],
            "parts": None if self.parts is None else [part._asdict() for part in self.parts],
            "unreached": list(self.unreached),
            "endless": list(self.endless),
        }


def facts(automaton: AutomatonLike, *, n_words: int = 10) -> Facts:
    """Return what an automaton does as a whole.

    Parameters
    ----------
    automaton
        Any automaton, or what one is in: an extraction, a named automaton, or the path of a run
        folder.
    n_words
        How many of the heaviest words to find.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> whole = facts(wa, n_words=3)
    >>> whole.mean_length, whole.heaviest
    (3.0, HeaviestWords(λ 0.25, a 0.125, b 0.0625))
    """
    whole_number("n_words", n_words, 1)
    given = as_automaton(automaton, purpose=Purpose.READING)
    if isinstance(given, ClassifierAutomaton):
        raise ArgumentError(
            f"automaton: {given!r} classifies, and its words have a class instead of a weight: "
            "its facts are returned by seqray.explain.class_facts.class_facts"
        )
    named = automaton if isinstance(automaton, NamedAutomaton) else name_states(given)
    # Facts are about words: what goes elsewhere is none.
    a, original = (
        each if each.elsewhere is None else each.within for each in (named.automaton, given)
    )
    summing = sums(original)
    mean, deviation = _lengths(a) if summing else (np.nan, np.nan)
    successors = Successors.of(a) if summing else None
    unreached, endless = _dead(original) if summing and not has_negative(original) else ((), ())
    return Facts(
        named=named,
        heaviest=heaviest_words(a, n_words),
        continuations=continuations(named),
        total=original.total,
        mean_length=mean,
        deviation=deviation,
        counts=read_only(expected_counts(a) / a.total) if summing else None,
        successors=successors,
        influence=None if successors is None else read_only(successors.influence()),
        rhythms=_rhythms(a),
        parts=None if has_negative(a) else parts(leads(a, threshold=MIN_EDGE_WEIGHT)),
        unreached=unreached,
        endless=endless,
    )


def _lengths(a: WeightedAutomaton) -> tuple[float, float]:
    """Return mean and standard deviation of the length of words.

    A word has at least n symbols with probability α₀Mⁿ1̂ for M = ΣMσ. The sum over n ≥ 1 is the
    mean, and Σ(2n − 1)α₀Mⁿ1̂ the mean square.
    """
    step, visits = a.transitions.sum(axis=0), expected_visits(a)
    mean = visits @ step @ a.prefix_final / a.total
    twice = WeightedAutomaton(a.alphabet, a.initial, a.transitions, a.prefix_final).prefix_final
    square = 2 * (visits @ step @ twice) / a.total - mean
    return float(mean), float(np.sqrt(max(square - mean**2, 0.0)))


def _dead(a: WeightedAutomaton) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the states that no word reaches, and those from which none ends."""
    reached = reachable(leads(a), a.initial > 0)
    ends = reachable(leads(a).T, a.final > 0)
    return tuple(np.flatnonzero(~reached).tolist()), tuple(np.flatnonzero(~ends).tolist())


def _rhythms(a: WeightedAutomaton) -> tuple[Rhythm, ...]:
    """Return the waves of the strongest eigenvalues that are not real and positive."""
    values = np.linalg.eigvals(a.transitions.sum(axis=0))
    largest = float(np.abs(values).max())
    if largest == 0:
        return ()
    # Of each pair λ, λ̄ the one above; rounding leaves small angles at real ones.
    waves = values[(values.imag >= -1e-9) & (np.abs(np.angle(values)) > 1e-6)]
    rhythms = [Rhythm(abs(float(2 * np.pi / np.angle(v))), float(abs(v)) / largest) for v in waves]
    strong = [wave for wave in rhythms if wave.strength > MIN_RHYTHM_STRENGTH]
    return tuple(sorted(strong, key=lambda wave: -wave.strength)[:N_RHYTHMS])


def _word_list(words: HeaviestWords) -> list[dict[str, Any]]:
    pairs = zip(words.words, words.weights, strict=True)
    return [{"word": list(word), "weight": float(weight)} for word, weight in pairs]


# Tables -------------------------------------------------------------------------------------------


def _whole(f: Facts) -> Section:
    """Show states, lengths, parts and rhythms."""
    names = f.named.names
    rows = [("states", str(len(names)), "")]
    dropped = [("states never reached", f.unreached), ("states that never end", f.endless)]
    rows += [(what, str(len(states)), _numbers(states)) for what, states in dropped if states]
    if not np.isnan(f.mean_length):
        rows.append(("weight of all words", significant(f.total), ""))
        spread = f"standard deviation {significant(f.deviation)}"
        rows.append(("expected length", significant(f.mean_length), spread))
    for part in f.absorbing:
        rows.append(("never left again", f"{len(part.states)} states", _named(part, names)))
    for part in f.periodic:
        rows.append(("period", str(part.period), _named(part, names)))
    for wave in f.rhythms:
        fades = f"fades to {wave.strength:.0%} with each" if wave.strength < 0.999 else "stays"
        rows.append(("rhythm", f"{wave.period:.3g}", f"symbols: a wave that {fades}"))
    return Section("The whole", ("", " value", ""), tuple(rows))


def _numbers(states: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, states[:8]))
    return f"numbers {shown}{', …' if len(states) > 8 else ''}"


def _named(part: Part, names: tuple[str, ...]) -> str:
    return shortened(", ".join(names[i] for i in part.states), 44)


def _words(f: Facts) -> Section | None:
    """Show the heaviest words."""
    heaviest = f.heaviest
    if not len(heaviest.words):
        return None
    pairs = zip(heaviest.words, heaviest.weights, strict=True)
    alphabet = heaviest.words.alphabet
    width = 50 if alphabet.has_characters else 160  # names wrap at their spaces
    rows = tuple(
        (shortened(alphabet.show(word), width), significant(weight)) for word, weight in pairs
    )
    note = "" if heaviest.exact else "the search was not exhaustive; other words may be heavier."
    if f.counts is None:
        note = "by size." if heaviest.exact else "by size, of short words only."
    title = "The heaviest words" if f.counts is None else "The most probable words"
    return Section(title, ("word", " weight"), rows, note)


def _states(f: Facts) -> Section:
    """Show the states by mass, and how words go on from there."""
    a, rows = f.named.automaton, []
    has_characters = a.alphabet.has_characters
    width = 16 if has_characters else 44
    for i, name in enumerate(f.named.names):
        goes_on = f.continuations[i]
        show = [shortened(a.alphabet.show(word), width) for word in goes_on.words]
        weights = [f"{weight:.2g}" for weight in goes_on.weights]
        typical = ", ".join(f"{w} {x}" for w, x in zip(show, weights, strict=True))
        typical = abbreviated(typical, 44) if has_characters else typical
        mass = () if np.isnan(f.named.mass[i]) else (f"{f.named.mass[i]:.1%}",)
        rows.append((shortened(name, 32), *mass, significant(a.final[i], 3), typical))
    mass_column = () if np.isnan(f.named.mass).any() else (" mass",)
    note = "goes on: the rest of the word (λ: none), and its weight."
    if mass_column:
        note = f"mass: share of all steps spent there;\n{note}"
    columns = ("state", *mass_column, " end", "goes on")
    return Section("The states", columns, tuple(rows), note)


def _symbols(f: Facts) -> Section | None:
    """Show the symbols by how often they come."""
    if f.counts is None or f.successors is None or f.influence is None:
        return None
    alphabet, rows = f.named.automaton.alphabet, []
    order = np.argsort(-f.counts, kind="stable")
    listed = order[:MAX_LISTED_SYMBOLS].tolist()
    for i, after in zip(listed, f.successors.rows(listed), strict=True):
        name = abbreviated(str(alphabet.symbols[i]), 16)
        cells = (significant(f.counts[i], 3), f"{f.influence[i]:.2f}")
        rows.append((name, *cells, likeliest(alphabet, after)))
    if len(others := order[MAX_LISTED_SYMBOLS:]):
        rest = significant(f.counts[others].sum(), 3)
        rows.append((f"{len(others):,} others", rest, "", ""))
    columns = ("symbol", " per word", " influence", "what comes next")
    note = (
        "per word: expected number in a word; influence: total variation distance between the\n"
        "next symbols after it and on average."
    )
    return Section("The symbols", columns, tuple(rows), note)
