"""The map on the page of a classifier: its states and the steps between them."""

from __future__ import annotations

from seqray.draw.graph import clear_threshold, hidden_share
from seqray.draw.styles import MAX_DRAWN_STATES
from seqray.draw.svg import to_svg
from seqray.explain.class_facts import ClassFacts
from seqray.explore.numbers import share
from seqray.explore.terms import term
from seqray.fidelity.table import MANY_STATES, FidelityTable, readable_rank
from seqray.util.formatting import percent_in_words


def class_map(facts: ClassFacts, table: FidelityTable | None) -> str:
    """Return the drawing of the states with its explanation, as HTML.

    Parameters
    ----------
    facts
        The states and their classes.
    table
        The fidelity of smaller and larger automata; None where there are none.
    """
    named = facts.named
    many = _many(named.automaton.n_states, table)
    if named.automaton.n_states > MAX_DRAWN_STATES:
        return f"<p>There are too many to draw.</p>{many}"
    intro = term("classes.graph")
    if not facts.is_deterministic:
        intro += (
            " Where a symbol leads to a mixture of states, each arrow has a weight; that of a "
            "dashed one is negative."
        )
    limit = clear_threshold(named.automaton)
    drawing = to_svg(named.automaton, threshold=limit, names=named.names)
    drawing = drawing.replace('<g class="caption">', '<g class="caption experts">')
    hidden = hidden_share(named.automaton, limit)
    caption = "All arrows are drawn."
    if hidden:
        caption = f"The lightest arrows are left out, {percent_in_words(hidden)} of all weight."
    return (
        f'<p class="intro">{intro}</p>{many}'
        '<div class="card drawing" tabindex="0" role="region" aria-label="The map">'
        f'{drawing}<p class="caption everyone">{caption}</p></div>'
    )


def _many(n_states: int, table: FidelityTable | None) -> str:
    """Say what to do about more states than can be looked at, or nothing."""
    if n_states <= MANY_STATES:
        return ""
    said = f"{n_states} states are many to look at."
    small = None if table is None else readable_rank(table, n_states)
    if table is not None and small is not None:
        said += (
            f" <code>seqray explore --rank {small}</code> shows {small}, with the same class for "
            f"{share(table[small]['agreement'])} of the words."
        )
    said += " <code>seqray learn</code> looks for an automaton whose steps lead to one state each."
    return f'<p class="intro">{said}</p>'
