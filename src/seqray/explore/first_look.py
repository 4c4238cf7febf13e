"""What a page says before any script runs: headline, figures and tables, as HTML.

The page's script writes the same sentences anew as soon as it runs (page.js, state.js, facts.js).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from seqray.explore.first_graph import FirstGraph
from seqray.explore.frame import static_text
from seqray.explore.numbers import bits, share, show
from seqray.explore.terms import NO_BREAK, term
from seqray.util.arrays import FloatArray
from seqray.util.formatting import counted, page_percent

MAX_SPELLED = 12
SPELLED = (
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)

LEVELS = ("practically the same", "very close", "close", "roughly alike", "very different")
KL_BOUNDS, ORDER_BOUNDS = (1e-3, 1e-2, 5e-2, 0.2), (1e-3, 1e-2, 5e-2, 0.15)
ERROR_BOUNDS = (1e-3, 1e-2, 0.1, 0.3)
"""Up to which loss each level goes (page.js)."""

TILES: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("kl_per_symbol", lambda value: f"{bits(value)} bits"),
    ("ratio_per_symbol", share),
    ("disagreement", lambda value: share(1 - value)),
    ("ndcg5", lambda value: show(value, 5)),
)
WEIGHT_TILES: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("weight_agreement", share),
    ("relative_error", lambda value: show(value, 3)),
    ("correlation", lambda value: show(value, 5)),
    ("sign_agreement", share),
)
MIN_NEAR_ONE, MIN_REACH = 0.5, 1e-6
"""Figures near 1 have six digits: a smaller interval is not shown beside them."""

SHARES = ("ratio_per_symbol", "disagreement", "sign_agreement")

PARTS = (
    *("KICKER", "LEDE", "TILES", "MEASURED", "INTRO", "STATES", "NO_NEGATIVE", "NO_END"),
    *("NO_TIME", "FACTS", "NO_FACTS", "FACTS_INTRO", "SIZES", "NO_SIZES", "COPIES"),
    *("MADE", "MADE_INTRO"),
)
"""The parts of the frame that are filled here."""

EXTRACTED = (
    "All of it comes from the box's answers. seqray used no training data and did not look inside "
    "the box."
)
GIVEN = "The automaton was given as it is; everything on this page is computed from it."

N_SYMBOLS, N_STATES, N_NEXT = 12, 14, 3
"""Rows of the tables, and next symbols of a state."""


def spelled_states(number: int) -> str:
    """Write a number of states.

    >>> spelled_states(1), spelled_states(5), spelled_states(1200)
    ('one state', 'five states', '1,200 states')
    """
    if number > MAX_SPELLED:
        return counted(number, "state")
    return f"{SPELLED[number]} {'state' if number == 1 else 'states'}"


@dataclass(frozen=True, eq=False)
class FirstLook:
    """The texts of a page at the number of states that it shows first.

    Parameters
    ----------
    document
        The page's content, see `seqray.explore.content`.
    graph
        The graph that it shows first, or None.
    """

    document: Mapping[str, Any]
    graph: FirstGraph | None

    def parts(self) -> dict[str, str]:
        """Return HTML by the name of the part of the frame."""
        document = self.document
        switch = static_text("terms_switch.html")
        if not document:
            return dict.fromkeys(PARTS, "") | {"SWITCH": switch}
        is_extracted = document["queries"] is not None
        return {
            "KICKER": "An X-ray of a black box" if is_extracted else "A weighted automaton",
            "LEDE": self._lede(),
            "SWITCH": switch,
            "TILES": "".join(self._tiles()),
            "MEASURED": self._measured(),
            **self._about_graph(),
            "FACTS": self._facts(),
            "NO_FACTS": _hidden_unless(self._tells_facts),
            "FACTS_INTRO": self._facts_intro(),
            "SIZES": self._sizes(),
            "NO_SIZES": _hidden_unless(len(document.get("singular_values", ())) > 1),
            "COPIES": escape(document.get("copies") or ""),
            "MADE_INTRO": EXTRACTED if is_extracted else GIVEN,
            "MADE": "".join(
                f"<dt>{self._label(name)}</dt><dd>{escape(text)}</dd>"
                for name, text in document["made"]
            ),
        }

    # The top --------------------------------------------------------------------------------------

    def _figure(self, name: str) -> float | None:
        table = self.document["fidelity"]
        if not table or self.document["chosen"] not in table["ranks"]:
            return None
        values = table["values"].get(name)
        value = None if values is None else values[table["ranks"].index(self.document["chosen"])]
        return None if value is None else float(value)

    def _lede(self) -> str:
        queries = self.document["queries"]
        symbols = counted(len(self.document["alphabet"]["names"]), "symbol")
        if queries is None:
            said = f"A machine over {symbols} that gives every word a number. "
        else:
            sent = "1 query" if queries == 1 else f"{queries:,} queries"
            said = (
                f"seqray sent the box {sent} and used nothing else. From the answers it built a "
                f"small machine over {symbols} that stands for it. "
            )
        if not self.document["fidelity"]:
            return (
                f"{escape(said)}To see how faithful it is to a box, make this page with "
                "<code>--against BOX</code>."
            )
        return escape(said) + self._verdict()

    def _verdict(self) -> str:
        lost, order = self._figure("kl_per_symbol"), self._figure("ndcg5")
        error, next_symbol = self._figure("relative_error"), "In predicting the next symbol"
        if lost is not None:
            own, ratio = self._figure("entropy_per_symbol"), self._figure("ratio_per_symbol")
            values = {
                "ratio": share(2**-lost if ratio is None else ratio),
                "lost": bits(lost),
                "of": "" if own is None else f" of {show(own, 3)}",
            }
            said = _levelled(next_symbol, lost, KL_BOUNDS)
            return f"{said}: {term('lede.ratio', values)}."
        if order is not None:
            return f"{_levelled(next_symbol, 1 - order, ORDER_BOUNDS)}."
        if error is not None:
            return f"{_levelled('In their numbers for words', error, ERROR_BOUNDS)}."
        return ""

    def _shown(self) -> list[tuple[str, Callable[[float], str]]]:
        """Return the figures that have a tile, and how each is written."""
        shown = [(name, write) for name, write in TILES if self._figure(name) is not None]
        if self._figure("ndcg5") is None:
            shown += [(n, write) for n, write in WEIGHT_TILES if self._figure(n) is not None]
        return shown

    def _tiles(self) -> list[str]:
        return [self._tile(name, write) for name, write in self._shown()]

    def _tile(self, name: str, write: Callable[[float], str]) -> str:
        value = self._figure(name)
        assert value is not None
        reach = self._reach(name, value)
        per_word = self._figure("kl_per_word")
        word = "" if per_word is None else f"; {bits(per_word)} per word"
        sure = f" <small>± {reach}</small>" if reach else ""
        return (
            f'<div class="tile" data-metric="{name}"><span class="tile-value">'
            f"<span>{write(value)}</span>{sure}</span>"
            f'<span class="tile-text">{term(f"tile.{name}", {"word": word})}</span></div>'
        )

    def _reach(self, name: str, value: float) -> str:
        """Return half the width of the confidence interval, or nothing."""
        table = self.document["fidelity"]
        intervals = table["intervals"].get(name) or [None] * len(table["ranks"])
        between = intervals[table["ranks"].index(self.document["chosen"])]
        if between is None or None in between:
            return ""
        half = max(between[1] - value, value - between[0])
        if not half or (value > MIN_NEAR_ONE and half < MIN_REACH):
            return ""
        if name in SHARES:
            return f"{bits(100 * half)} %"
        return bits(half) if name == "kl_per_symbol" else show(half, 2)

    def _measured(self) -> str:
        table = self.document["fidelity"]
        if not table:
            return ""
        source = table["source"]
        many = "" if any(map(str.isdigit, source)) else f" ({table['words']:,})"
        said = f"Measured on {source}{many}"
        names = [name for name, _ in self._shown()]
        if any(self._reach(name, value) for name in names if (value := self._figure(name))):
            return escape(f"{said}; ± 95 % confidence interval, for words like these.")
        why = self._why_no_interval()
        return escape(f"{said}. {why}." if why else f"{said}.")

    def _why_no_interval(self) -> str | None:
        table, chosen = self.document["fidelity"], self.document["chosen"]
        at = table["ranks"].index(chosen) if chosen in table["ranks"] else None
        return None if at is None else table["no_interval"][at]

    # The graph ------------------------------------------------------------------------------------

    def _about_graph(self) -> dict[str, str]:
        graph = self.graph
        if graph is None:
            return dict.fromkeys(("INTRO", "STATES", "NO_NEGATIVE", "NO_END", "NO_TIME"), "")
        return {
            "INTRO": self._intro(graph),
            "STATES": states_table(graph),
            "NO_NEGATIVE": _hidden_unless(graph.use.has_negative),
            "NO_END": _hidden_unless(graph.use.are_probabilities),
            "NO_TIME": _hidden_unless(any(share is not None for share in graph.mass or ())),
        }

    def _intro(self, graph: FirstGraph) -> str:
        """Say how to read the graph (state.js)."""
        entries = {entry["rank"]: entry for entry in self.document.get("ranks", ())}
        entry = entries.get(self.document["chosen"], {"names": True})
        is_fitted = entry.get("kept") is None
        named = "named" if entry.get("names") else "many" if is_fitted else "coordinates"
        kind = "probabilities" if graph.use.are_probabilities else "weights"
        said = [term(f"graph.{kind}"), term(f"graph.{named}")]
        if kind == "weights" and graph.use.has_negative:
            said.append(term("graph.negative"))
        return " ".join(said)

    # Tables ---------------------------------------------------------------------------------------

    @property
    def _tells_facts(self) -> bool:
        facts = self.document["facts"]
        return any(facts.get(name) for name in ("words", "length", "rhythms", "counts"))

    def _facts_intro(self) -> str:
        states = counted(self.document["chosen"], "state")
        sure = (
            "the results are exact."
            if self.document["facts"].get("exact")
            else "the words come from a search, so heavier ones may exist."
        )
        return f"Computed from the automaton of {states}, not by sampling: {sure}"

    def _label(self, name: str) -> str:
        return term(f"made.{name}") if name in ("Basis", "Queries", "Seed") else escape(name)

    def _sizes(self) -> str:
        table = self.document["fidelity"]
        if not table or self.document["largest"] == 1:
            return ""
        names = list(table["values"])
        rows = [
            (str(rank), *(show(table["values"][name][at], 4) for name in names))
            for at, rank in enumerate(table["ranks"])
        ]
        return table_html(["states", *names], rows)

    def _facts(self) -> str:
        facts = self.document["facts"]
        counts = facts.get("counts")
        write = page_percent if counts else show
        words = [(self._spelt(each["word"]), write(each["weight"])) for each in facts["words"]]
        title = f"The {'most probable' if counts else 'heaviest'} word{'s' * (len(words) != 1)}"
        cards = [_card(title, table_html(["word", ""], words))] if words else []
        if counts:
            names = self.document["alphabet"]["names"]
            order = np.argsort(-np.asarray(counts, float), kind="stable")[:N_SYMBOLS].tolist()
            rows = [(names[c], show(counts[c]), page_percent(facts["influence"][c])) for c in order]
            cards.append(
                _card("The symbols", table_html(["symbol", "per word", "influence"], rows))
            )
        return "".join(cards)

    def _spelt(self, codes: Sequence[int]) -> str:
        alphabet = self.document["alphabet"]
        return alphabet["separator"].join(alphabet["names"][code] for code in codes) or "λ"


def states_table(graph: FirstGraph) -> str:
    """Return the states with what comes next there, those first in which most time is spent."""
    automaton, mass = graph.automaton, graph.mass
    known = mass is not None and all(each is not None for each in mass)
    shares = np.array(mass, float) if known else np.zeros(automaton.n_states)
    order = np.argsort(-shares, kind="stable")[:N_STATES].tolist()
    names = [f"{how} {what}".strip() for how, what in graph.names]
    follows = _next_symbols(graph) if graph.use.are_probabilities else None
    heads = ["state"] + ["time"] * known + ["mostly next"] * (follows is not None)
    rows = [
        (
            names[state],
            *([page_percent(shares[state])] if known else []),
            *([_likeliest(graph, follows[state])] if follows is not None else []),
        )
        for state in order
    ]
    rest = automaton.n_states - len(order)
    more = f'<p class="caption">And {rest:,} more.</p>' if rest else ""
    return f"<h3>The states</h3>{table_html(heads, rows)}{more}"


def _next_symbols(graph: FirstGraph) -> FloatArray:
    """Return the probabilities of what follows each state, the end last."""
    a = graph.automaton
    rows: FloatArray = np.column_stack([*(a.transitions @ a.prefix_final), a.final])
    shares: FloatArray = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)
    return shares


def _likeliest(graph: FirstGraph, row: FloatArray) -> str:
    names = [*map(str, graph.automaton.alphabet), "end"]
    best = np.argsort(-row, kind="stable")[:N_NEXT].tolist()
    shares = {c: page_percent(float(row[c])).replace(" ", NO_BREAK) for c in best if row[c] > 0}
    return ", ".join(f"{names[c]}{NO_BREAK}{text}" for c, text in shares.items())


def _levelled(begin: str, value: float, bounds: Sequence[float]) -> str:
    level = LEVELS[sum(value > bound for bound in bounds)]
    return f"{begin}, the two are <strong>{level}</strong>"


def _hidden_unless(condition: object) -> str:
    return "" if condition else " hidden"


def _card(title: str, content: str) -> str:
    return f'<div class="card"><h3>{escape(title)}</h3>{content}</div>'


def table_html(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first cell of a row is its head.

    >>> table_html(["a"], [["<1>"]]).count("&lt;")
    1
    """
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<table class="compact"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
