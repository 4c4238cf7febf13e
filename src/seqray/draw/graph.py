"""What a drawing shows of an automaton: edges, names, numbers, and how much is left out."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.transitions import Transitions
from seqray.automata.words import Symbol
from seqray.util.arrays import BoolArray, FloatArray, IntArray
from seqray.util.errors import ArgumentError
from seqray.util.formatting import counted, percent_in_words, typeset

# Okabe and Ito's blue and vermilion: distinct with every common form of colour blindness.
POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
NEGATIVE_TEXT = "#A84A00"  # darker, so that it can be read in grey too
MAX_LINES = 6
MAX_NAME = 18
# Before a name written from right to left: the line runs from left to right, and the name is kept
# to itself, so that its weight stands to the right of it.
ISOLATE, CLOSE = "\u200e\u2068", "\u2069"

PAPER_THRESHOLD = 0.05
EDGES_PER_STATE = 3
MAX_HIDDEN_SHARE = 1 / 3  # of the weight, by default
MAX_EDGES = 100  # as many are drawn to hide no more than that
ALIKE_SHARE = 0.75  # of a weight that is shown: larger ones are shown with it
HEAVY_SHARE = 0.5  # of the largest weight: larger ones are shown
NEGLIGIBLE_SHARE = 0.01  # of the largest weight: smaller ones are shown only by a threshold

SAME_TOLERANCE = 1e-9  # weights that differ by no more, relative to themselves, are the same


class DrawnEdge(NamedTuple):
    """All shown transitions from one state to another, the heaviest first."""

    origin: int
    target: int
    weights: tuple[tuple[str, float], ...]
    names: tuple[str, ...]  # those of its symbols, cut to what has room, and distinct

    @property
    def heaviest(self) -> float:
        """The weight that is largest in size: it gives the edge its width and its sign."""
        return self.weights[0][1]

    @property
    def lines(self) -> tuple[tuple[str, float], ...]:
        """The label: a line and its weight for each symbol; the last may stand for the rest."""
        return self.label(MAX_LINES, 3)

    def label(self, n_lines: int, digits: int) -> tuple[tuple[str, float], ...]:
        """Return the label with at most so many lines, and digits in a number."""
        cut = len(self.weights) if len(self.weights) <= n_lines else n_lines - 1
        drawn = zip(self.names[:cut], self.weights, strict=False)
        lines = tuple((f"{name}: {typeset(w, digits)}", w) for name, (_, w) in drawn)
        rest = len(self.weights) - cut
        return (*lines, (f"… {rest} more", 0.0)) if rest else lines

    @property
    def full_text(self) -> str:
        """Every shown symbol with its weight, on one line."""
        return ", ".join(f"{name}: {typeset(weight)}" for name, weight in self.weights)


def drawn_edges(automaton: WeightedAutomaton, threshold: float) -> list[DrawnEdge]:
    """Return the edges that a threshold leaves, by origin and target."""
    return [*iter_edges(automaton, threshold)]


def iter_edges(automaton: WeightedAutomaton, threshold: float) -> Iterator[DrawnEdge]:
    """Yield `drawn_edges` one by one: there may be millions."""
    shown = _shown(automaton.listed(), threshold)
    names = [shown_name(symbol) for symbol in automaton.alphabet]
    cut = distinct(names, MAX_NAME)
    for begin, end in pairwise([*_edge_begins(shown).tolist(), len(shown.weights)]):
        codes, weights = shown.codes[begin:end].tolist(), shown.weights[begin:end].tolist()
        listed = tuple((names[c], weight) for c, weight in zip(codes, weights, strict=True))
        origin, target = int(shown.origins[begin]), int(shown.targets[begin])
        yield DrawnEdge(origin, target, listed, tuple(cut[c] for c in codes))


def heaviest_weight(automaton: WeightedAutomaton) -> float:
    """Return the size of the largest weight of a transition."""
    sizes = (float(np.abs(block.numbers).max()) for block in automaton.edge_blocks())
    return max(sizes)


def clear_threshold(automaton: WeightedAutomaton, n_edges: int | None = None) -> float:
    """Return a threshold of two digits that leaves few edges, and most of the weight.

    It is the smallest that leaves at most three edges a state. Where that hides more than a third
    of the weight, or a weight of half the largest, it is lowered until it does not, as far as 100
    edges go. Weights below a hundredth of the largest one are hidden in any case: nobody wants to
    see them. Of weights that are the same none is hidden unless all are: there may be more edges
    then.

    Parameters
    ----------
    automaton
        What to draw.
    n_edges
        Another number of edges to leave.

    Examples
    --------
    >>> clear_threshold(WeightedAutomaton("a", [1, 0], [[[0.5, 0.1], [0.003, 0.3]]], [0, 1]))
    0.005
    >>> circle = np.eye(4) / 2 + np.eye(4)[[1, 2, 3, 0]] / 4 + np.eye(4)[[2, 3, 0, 1]] / 8
    >>> clear_threshold(WeightedAutomaton("a", np.eye(4)[0], [circle + 0.0317], np.ones(4)))
    0.032
    >>> nearly = 1 - 0.001 * np.arange(25).reshape(5, 5)
    >>> clear_threshold(WeightedAutomaton("a", np.eye(5)[0], [nearly], np.ones(5)))
    0.5
    """
    sizes = _edge_sizes(automaton.listed())
    wanted = EDGES_PER_STATE * automaton.n_states if n_edges is None else n_edges
    threshold = few = _leaving(sizes, wanted)
    if hidden_share(automaton, threshold) > MAX_HIDDEN_SHARE:
        threshold = min(few, two_digits(ALIKE_SHARE * _least_needed(automaton), np.floor))
    threshold = min(threshold, two_digits(HEAVY_SHARE * float(sizes[0]), np.floor))
    return min(few, max(threshold, _leaving(sizes, MAX_EDGES)))


def _leaving(sizes: FloatArray, most: int) -> float:
    """Return the smallest threshold that leaves so many edges, whose sizes fall."""
    largest, hidden = float(sizes[0]), float(sizes[most]) if len(sizes) > most else 0.0
    if hidden < NEGLIGIBLE_SHARE * largest:
        return float(f"{NEGLIGIBLE_SHARE * largest:.2g}")
    last = float(sizes[most - 1]) if len(sizes) > most else np.inf
    if hidden > 1e-300 and hidden >= (1 - SAME_TOLERANCE) * last:  # like the last left
        return two_digits(hidden * (1 + SAME_TOLERANCE), np.floor)
    digits, exponent = f"{hidden:.1e}".replace(".", "").split("e")
    rounded, step = (float(f"{int(digits) + more}e{int(exponent) - 1}") for more in (0, 1))
    return min(step if rounded <= hidden else rounded, np.finfo(float).max)


def _least_needed(automaton: WeightedAutomaton) -> float:
    """Return the size of the last transition that is needed, the heaviest first."""
    sizes = np.sort(np.abs(automaton.listed().weights))[::-1]
    sums = np.cumsum(sizes / sizes[0])
    return float(sizes[int(np.searchsorted(sums, (1 - MAX_HIDDEN_SHARE) * sums[-1]))])


def two_digits(value: float, rounding: Callable[[float], float]) -> float:
    """Round a positive number to two significant digits, down or up.

    >>> two_digits(0.0379, np.floor), two_digits(0.0371, np.ceil)
    (0.037, 0.038)
    """
    if value < 1e-300:
        return 0.0
    place = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{rounding(value / place) * place:.2g}")


def hidden_share(automaton: WeightedAutomaton, threshold: float) -> float:
    """Return the share of Σ|weight| over all transitions that a threshold hides, 0 to 1.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.3]], [[-0.1]]], [1])
    >>> hidden_share(wa, 0.2)
    0.25
    """
    weights = automaton.listed().weights
    # Divided by the largest, so that the sum of huge weights does not overflow.
    sizes = np.abs(weights / np.abs(weights).max(initial=1e-300))
    total = sizes.sum()
    return float(sizes[~_is_shown(weights, threshold)].sum() / total) if total else 0.0


def hidden_caption(automaton: WeightedAutomaton, threshold: float) -> str:
    """Say what a threshold hides."""
    present = _shown(automaton.listed(), 0.0)
    shown = _shown(present, threshold)
    if len(present.weights) == len(shown.weights):
        return "all transitions are drawn"
    counts = [
        f"{before - after:,} of {counted(before, name)}"
        for name, before, after in (
            ("transition", len(present.weights), len(shown.weights)),
            ("edge", len(_edge_begins(present)), len(_edge_begins(shown))),
        )
    ]
    share = f"{percent_in_words(hidden_share(automaton, threshold))} of the weight"
    return f"|weight| < {threshold:g} is hidden: {', '.join(counts)}, {share}"


def state_weights(automaton: WeightedAutomaton, state: int) -> str:
    """Return ``input > output`` of a state."""
    return f"{typeset(automaton.initial[state])} > {typeset(automaton.final[state])}"


def shown_name(symbol: Symbol) -> str:
    r"""Return a symbol's name as one visible line, whatever it holds.

    >>> shown_name("a\nb"), shown_name(" "), shown_name(3)
    ('a\\nb', "' '", '3')
    """
    text = str(symbol)
    if not text.strip():
        text = repr(text)
    # Control characters are forbidden in XML, and direction overrides would garble the line. The
    # joiner is kept: it holds emoji together.
    text = "".join(
        char if char.isprintable() or char == "\u200d" else ascii(char)[1:-1] for char in text
    )
    if any(unicodedata.bidirectional(char) in ("R", "AL") for char in text):
        return f"{ISOLATE}{text}{CLOSE}"
    return text


def short(name: str, most: int = MAX_NAME) -> str:
    """Cut a name that is too long to be drawn.

    >>> short("a" * 9, 5)
    'aaaa…'
    """
    if len(name) <= most:
        return name
    closing = CLOSE if name.startswith(ISOLATE) else ""
    return name[: most - 1] + "…" + closing


def distinct(names: Sequence[str], most: int) -> list[str]:
    """Cut names that are too long, so that those that differ still differ.

    Ends are cut where names stay distinct, else beginnings, else middles; those that are still
    the same get the number of their place.

    >>> distinct(["start", "after 24 17 3", "after 24 17 5"], 8)
    ['start', '…24 17 3', '…24 17 5']
    >>> distinct(["a" * 9, "a" * 8], 5)
    ['aaa…1', 'aaa…2']
    """
    attempts = [[cut(name, most) for name in names] for cut in (short, _short_front, _short_middle)]
    n_names = len(set(names))
    best = max(attempts, key=lambda cuts: len(set(cuts)))
    if len(set(best)) >= n_names:
        return best
    owners: dict[str, set[str]] = {}
    for name, text in zip(names, best, strict=True):
        owners.setdefault(text, set()).add(name)
    places = {name: names.index(name) + 1 for name in names}
    return [
        text if len(owners[text]) == 1 else _numbered(name, places[name], most)
        for name, text in zip(names, best, strict=True)
    ]


def _numbered(name: str, place: int, most: int) -> str:
    return short(name, max(2, most - len(str(place)))) + str(place)


def _short_front(name: str, most: int) -> str:
    if len(name) <= most:
        return name
    opening = ISOLATE if name.startswith(ISOLATE) else ""
    return f"{opening}…{name[1 - most :].strip()}"


def _short_middle(name: str, most: int) -> str:
    if len(name) <= most:
        return name
    back = (most - 1) // 2
    return f"{name[: most - 1 - back]}…{name[-back:]}"


def _is_shown(weights: FloatArray, threshold: float) -> BoolArray:
    """Whether a threshold leaves each weight."""
    if not 0 <= threshold < np.inf:
        raise ArgumentError(f"threshold: expected a number from 0 up, got {threshold}")
    return np.asarray(np.abs(weights) >= (1 - SAME_TOLERANCE) * threshold)


def _shown(present: Transitions, threshold: float) -> Transitions:
    """Return the transitions that a threshold leaves, by edge, the heaviest of an edge first."""
    left = present.chosen(np.flatnonzero(_is_shown(present.weights, threshold)))
    return left.chosen(np.lexsort((left.codes, -np.abs(left.weights), left.targets, left.origins)))


def _edge_begins(shown: Transitions) -> IntArray:
    """Return where the transitions of each edge begin."""
    differs = (np.diff(shown.origins) != 0) | (np.diff(shown.targets) != 0)
    return np.flatnonzero(np.concatenate([[len(shown.weights) > 0], differs]))


def _edge_sizes(present: Transitions) -> FloatArray:
    """Return the size of the heaviest weight of each edge, the largest first."""
    shown = _shown(present, 0.0)
    return np.sort(np.append(np.abs(shown.weights[_edge_begins(shown)]), 0.0))[::-1]
