"""One word explained: its path, what each symbol adds, its neighbours, and the fidelity there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import ClassifierAutomaton
from seqray.automata.prediction_states import prediction_states, scaled_states, states_after
from seqray.automata.probabilities import as_probabilities, total_variation
from seqray.automata.purpose import Purpose
from seqray.automata.words import Alphabet, Symbol, Word, Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.protocol import BlackBox, max_length_of
from seqray.explain.background import Background
from seqray.explain.edits import Edit, show_edit
from seqray.explain.named_automaton import NamedAutomaton
from seqray.explain.naming import name_states
from seqray.explain.neighbours import Neighbour, OneEditWords
from seqray.explain.plots import plot_additions
from seqray.explain.shapley import ShapleyValues, shapley_values
from seqray.explain.text import Section, as_text, likeliest
from seqray.fidelity.metrics import MEANINGS
from seqray.fidelity.reference import Reference
from seqray.fidelity.table import Fidelity
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray, read_only, whole_number
from seqray.util.display import Displayed
from seqray.util.errors import ArgumentError, SymbolError
from seqray.util.formatting import abbreviated, counted, shortened, significant
from seqray.util.frames import data_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

REPORTED_LOSS = 1e-6
"""Relative loss of the readable coordinates above which it is reported."""

MAX_EXPLAINED_LENGTH = 5000
"""Symbols of a word that is explained: time and memory grow with the square of its length."""

MAX_TITLE_WIDTH = 200
"""Characters of the word that the title shows."""


@dataclass(frozen=True, eq=False, repr=False)
class WordExplanation(Displayed):
    """What an automaton, and a box beside it, make of one word; made by `explain_word`.

    Printed, it is a few tables; `sections` are these, and `as_dict` all numbers.

    Parameters
    ----------
    named
        The automaton in readable coordinates.
    word
        What was explained, of n symbols.
    weight, box_weight
        What automaton and box give it; nan where there is no box.
    path
        After each prefix, how much of each state there is, shape ``(n + 1, n_states)``; rows sum to
        1 where the automaton is a distribution.
    factors
        The probability of each symbol after those before it, and last that of the end, shape
        ``(n + 1,)``; nan where the automaton is no distribution.
    shapley
        What each position adds to the weight.
    next_symbol, box_next_symbol
        Probabilities of the next symbol after each prefix, the end last, shape
        ``(n + 1, n_symbols + 1)``; None for a side that does not predict. An automaton's negative
        values count as 0.
    neighbours
        Words with one edit where the answer changes most.
    fidelity
        Of the automaton to the box, on this word and words with one edit; None without a box.
    """

    named: NamedAutomaton
    word: tuple[Symbol, ...]
    weight: float
    path: FloatArray
    factors: FloatArray
    shapley: ShapleyValues
    next_symbol: FloatArray | None
    neighbours: tuple[Neighbour, ...]
    box_weight: float = np.nan
    box_next_symbol: FloatArray | None = None
    fidelity: Fidelity | None = None

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words."""
        return self.named.automaton.alphabet

    def __repr__(self) -> str:
        return as_text(self.sections())

    def sections(self) -> tuple[Section, ...]:
        """Return the tables that show it."""
        parts = [_summary(self), _steps(self), _next_symbols(self), _near(self), _trust(self)]
        return tuple(part for part in parts if part is not None)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot what each symbol adds to the weight, as bars; returns the axes.

        A new figure is made unless ``ax`` names axes to plot on.
        """
        if self.shapley.weight > 0:
            return plot_additions(self.word, 100 * self.shapley.relative, "%", ax=ax)
        return plot_additions(self.word, self.shapley.values, "weight", ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per symbol, and one for the end, as a pandas data frame.

        ``probability`` is that of the symbol after those before it, ``bits`` −log₂ of it, and
        ``adds`` its Shapley value, relative to the larger of the weight and the expected one.
        """
        with np.errstate(divide="ignore"):
            bits = -np.log2(self.factors)
        adds = (*self.shapley.relative, np.nan)
        rows = zip((*self.word, "end"), self.factors, bits, adds, strict=True)
        names = ("symbol", "probability", "bits", "adds")
        return data_frame([dict(zip(names, row, strict=True)) for row in rows])

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, as JSON can hold them."""
        listed = {
            "path": self.path,
            "factors": self.factors,
            "next_symbol": self.next_symbol,
            "box_next_symbol": self.box_next_symbol,
        }
        return {
            "word": list(self.word),
            "weight": self.weight,
            "box_weight": self.box_weight,
            "states": list(self.named.names),
            "loss": self.named.loss,
            **{name: None if a is None else a.tolist() for name, a in listed.items()},
            "shapley": self.shapley.values.tolist(),
            "shapley_relative": self.shapley.relative.tolist(),
            "expected": self.shapley.expected,
            "neighbours": [
                {**each._asdict(), "word": list(each.word), "edit": self._edit(each.edit)}
                for each in self.neighbours
            ],
            "fidelity": None if self.fidelity is None else self.fidelity.as_dict(),
        }

    def _edit(self, edit: Edit) -> dict[str, Any]:
        """Return an edit with symbols instead of codes."""
        symbols = {
            name: None if code is None else self.alphabet.symbols[code]
            for name, code in (("before", edit.before), ("after", edit.after))
        }
        return {"position": edit.position, **symbols}


def explain_word(
    automaton: AutomatonLike,
    word: Word,
    *,
    box: BlackBox | None = None,
    background: Background | None = None,
    n_neighbours: int = 5,
) -> WordExplanation:
    """Explain what an automaton makes of one word, with the box's own answers beside it.

    Parameters
    ----------
    automaton
        Any automaton, or what one is in: an extraction, a named automaton, or the path of a run
        folder.
    word
        The word.
    box
        The box that the automaton was extracted from: it is queried on this word and on 40 words
        with one edit.
    background
        What Shapley values compare with, see `seqray.shapley_values`.
    n_neighbours
        How many near words to show where the weight changes, and how many where the next symbol
        does.

    Examples
    --------
    >>> wa = WeightedAutomaton(
    ...     "ab", [1, 0], [[[1/2, 1/6], [0, 1/4]], [[0, 1/3], [1/4, 1/4]]], [0, 1/4]
    ... )
    >>> explained = explain_word(wa, "ab")
    >>> explained.factors.round(4)
    array([0.6667, 0.375 , 0.2083])
    >>> print(explained.sections()[1])
    Symbol by symbol
       symbol  probability   bits     adds  leads to
    0                                       1 start
    1  a             0.667  0.585  +23.6 %  0.75 start, 0.25 after b
    2  b             0.375   1.42  +16.0 %  0.83 after b, 0.17 start
       end           0.208   2.26
    probability: of the symbol after those before it; bits: −log₂ of it.
    adds: Shapley values of the positions, in % of the larger of the weight and
    the expected one.
    """
    whole_number("n_neighbours", n_neighbours, 0)
    wa = as_automaton(automaton, purpose=Purpose.READING)
    if isinstance(wa, ClassifierAutomaton):
        raise ArgumentError(
            f"automaton: {wa!r} classifies, and its words have a class instead of a weight: "
            "explain them with seqray.explain_decision"
        )
    named = automaton if isinstance(automaton, NamedAutomaton) else name_states(wa)
    box = None if box is None else as_box(box)
    if box is not None and box.alphabet != wa.alphabet:
        raise SymbolError(
            f"the box reads {box.alphabet}, the automaton {wa.alphabet}: expected the same symbols "
            "in the same order"
        )
    symbols = wa.alphabet.decode(wa.alphabet.encode(word).tolist())
    if len(symbols) > MAX_EXPLAINED_LENGTH:
        raise ArgumentError(
            f"word: {len(symbols):,} symbols, expected at most {MAX_EXPLAINED_LENGTH:,}: explain a "
            "part of it; seqray.surprise reads words of any length"
        )
    prefixes = wa.alphabet.words([symbols[:n] for n in range(len(symbols) + 1)])
    following, factors = None, np.full(len(prefixes), np.nan)
    if wa.is_distribution:
        following = wa.next_symbol(prefixes)
        factors = following[np.arange(len(prefixes)), [*wa.alphabet.encode(symbols), -1]]
    edited = OneEditWords.of(wa, symbols, n_neighbours, max_length_of(box))
    reference = None if box is None else Reference.query(box, edited.queries())
    return WordExplanation(
        named=named,
        word=symbols,
        weight=wa.weight(symbols),
        path=read_only(_path(named.automaton, prefixes)),
        factors=read_only(factors),
        shapley=shapley_values(wa, symbols, background=background),
        next_symbol=None if following is None else read_only(as_probabilities(following)),
        neighbours=edited.neighbours(reference),
        box_weight=np.nan if reference is None else float(reference.weights[0]),
        box_next_symbol=None if reference is None else _along(reference, len(symbols)),
        fidelity=None if reference is None else reference.compare(wa),
    )


def _path(a: WeightedAutomaton, prefixes: Words) -> FloatArray:
    """Return the state after each prefix; for distributions divided by all that can follow it."""
    if not a.is_distribution:
        with np.errstate(over="ignore", invalid="ignore"):  # beyond float64: inf says so
            return states_after(a, prefixes)
    return prediction_states(a, scaled_states(a, prefixes).vectors)


def _along(reference: Reference, length: int) -> FloatArray | None:
    """Return the box's next symbols after each prefix of the first word."""
    if reference.next_symbol is None:
        return None
    node, nodes = int(reference.tree.node_of_word[0]), []
    for _ in range(length + 1):
        nodes.append(node)
        node = int(reference.tree.parent[node])
    return reference.next_symbol[:, nodes[::-1]].T


# Tables -------------------------------------------------------------------------------------------


def _summary(e: WordExplanation) -> Section:
    """Show the word and its weights."""
    word = shortened(e.alphabet.show(e.word), MAX_TITLE_WIDTH)
    rows = [("automaton", f"{e.weight:.6g}")]
    if not np.isnan(e.box_weight):
        rows.append(("box", f"{e.box_weight:.6g}"))
    rows.append((f"expected, of {counted(len(e.word), 'symbol')}", f"{e.shapley.expected:.6g}"))
    notes = []
    if e.named.loss > REPORTED_LOSS:
        notes.append(
            f"Readable coordinates change weights by up to {e.named.loss:.1g} of the largest."
        )
    return Section(f"The word {word}", ("", " weight"), tuple(rows), "\n".join(notes))


def _steps(e: WordExplanation) -> Section:
    """Show the path symbol by symbol."""
    probabilities = not np.isnan(e.factors).any()
    relative = probabilities and e.shapley.weight > 0
    columns = [
        "",
        "symbol",
        *([" probability", " bits"] if probabilities else []),
        " adds",
        "leads to",
    ]
    rows = [("0", "", *([""] * (2 if probabilities else 0)), "", _states(e, 0))]
    adds = 100 * e.shapley.relative if relative else e.shapley.values
    for i, symbol in enumerate(e.word):
        factor = _factor(e.factors[i]) if probabilities else ()
        add = f"{adds[i]:+.1f} %" if relative else f"{adds[i]:+.4g}"
        add = add[1:] if add[1:] == "0.0 %" else add
        name = abbreviated(str(symbol), 16)
        rows.append((str(i + 1), name, *factor, add, _states(e, i + 1)))
    if probabilities:
        rows.append(("", "end", *_factor(e.factors[-1]), "", ""))
    note = "adds: Shapley values of the positions"
    if relative:
        note += ", in % of the larger of the weight and\nthe expected one"
    if probabilities:
        note = f"probability: of the symbol after those before it; bits: −log₂ of it.\n{note}"
    return Section("Symbol by symbol", tuple(columns), tuple(rows), f"{note}.")


def _factor(probability: float) -> tuple[str, str]:
    bits = significant(-float(np.log2(probability)), 3) if probability > 0 else "∞"
    return significant(float(probability), 3), bits


def _states(e: WordExplanation, at: int) -> str:
    """Write the largest parts of a state, those that matter."""
    # How much of it there is stands beside the name: no need to say "mostly".
    shares, names = e.path[at], [re.sub("^(mostly|partly) ", "", name) for name in e.named.names]
    order = np.argsort(-np.abs(shares), kind="stable")[:2]
    least = 0.05 * np.abs(shares).max()
    parts = [f"{shares[i]:.2g} {shortened(names[i], 30)}" for i in order if abs(shares[i]) > least]
    return ", ".join(parts)


def _next_symbols(e: WordExplanation) -> Section | None:
    """Show the next symbols of automaton and box."""
    if e.next_symbol is None:
        return None
    box, rows = e.box_next_symbol, []
    for i, probabilities in enumerate(e.next_symbol):
        after = shortened(e.alphabet.show(e.word[:i]), 14)
        row = [after, likeliest(e.alphabet, probabilities)]
        if box is not None:
            distance = float(total_variation(box[i], probabilities))
            row += [likeliest(e.alphabet, box[i]), significant(distance, 2)]
        rows.append(tuple(row))
    columns = ("after", "automaton", *(("box", " distance") if box is not None else ()))
    note = "" if box is None else "distance: total variation distance."
    return Section("What comes next", columns, tuple(rows), note)


def _near(e: WordExplanation) -> Section | None:
    """Show words with one edit where the answer changes most."""
    if not e.neighbours:
        return None
    has_box, has_next = not np.isnan(e.box_weight), e.next_symbol is not None
    columns = ["", "word", " weight", *([" box"] if has_box else [])]
    columns += ["next", *(["box's"] if has_box else []), " distance"] if has_next else []
    rows = []
    for each in e.neighbours:
        row = [each.why, show_edit(e.word, each.edit, e.alphabet), significant(each.weight, 3)]
        row += [significant(each.box_weight, 3)] if has_box else []
        if has_next:
            following = [each.next_symbol, each.box_next_symbol][: 1 + has_box]
            width = 8 if has_box else 16  # the edits need the room
            row += [abbreviated(name, width) for name in following]
            row.append(significant(each.distance, 2))
        rows.append(tuple(row))
    note = "[a→b]: b instead of a; [−a]: a is left out; [+a]: a is put in."
    if has_next:
        note += (
            "\nnext: the likeliest next symbol; distance: total variation distance to the next\n"
            "symbols of the word itself."
        )
    return Section(
        "One edit away, where the answer changes most", tuple(columns), tuple(rows), note
    )


def _trust(e: WordExplanation) -> Section | None:
    """Show how faithful the automaton is to the box, here."""
    if e.fidelity is None:
        return None
    names = ("kl_per_symbol", "ndcg5", "disagreement", "relative_error", "sign_agreement")
    meanings = {**MEANINGS, "ndcg5": "how good its order of next symbols is; 1 is the box's own"}
    rows = [(n, significant(e.fidelity[n]), meanings[n]) for n in names if n in e.fidelity]
    note = f"on the word and {e.fidelity.n_words - 1} words with one edit, with all their prefixes."
    return Section("How far to trust this", ("", " value", "meaning"), tuple(rows), note)
