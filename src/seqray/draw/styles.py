"""A drawing of an automaton, in the style that its arguments call for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.purpose import Purpose
from seqray.draw.graph import PAPER_THRESHOLD, clear_threshold
from seqray.draw.paper import paper_scene
from seqray.draw.readable import readable_scene
from seqray.draw.scene import Scene
from seqray.formats.automaton_file import AutomatonLike, as_automaton
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError

MAX_DRAWN_STATES = 500
"""The most states in a drawing: the layout of more takes minutes, and nobody can read it."""


def picture(
    automaton: AutomatonLike,
    *,
    threshold: float | None = None,
    names: Sequence[str] | None = None,
    mass: ArrayLike | None = None,
) -> Scene:
    """Return a drawing of an automaton as shapes; see `to_svg` for the parameters.

    Examples
    --------
    >>> picture(WeightedAutomaton("a", [1], [[[0.5]]], [0.5])).title
    'Weighted automaton, 1 state, 1 symbol'
    """
    automaton, names, mass = subject(automaton, names, mass)
    if automaton.n_states > MAX_DRAWN_STATES:
        raise ArgumentError(
            f"automaton: expected at most {MAX_DRAWN_STATES} states to draw, got "
            f"{automaton.n_states:,}: draw one of fewer states, or write its graph with "
            "seqray convert AUTOMATON graph.dot"
        )
    chosen = chosen_threshold(automaton, threshold, names)
    if names is None:
        if mass is not None:
            raise ArgumentError("mass: only the readable style shows it, and that needs names too")
        return paper_scene(automaton, chosen)
    return readable_scene(automaton, chosen, *checked(automaton, names, mass))


def subject(
    given: AutomatonLike, names: Sequence[str] | None, mass: ArrayLike | None
) -> tuple[WeightedAutomaton, Sequence[str] | None, ArrayLike | None]:
    """Return the automaton to draw, and the names and mass of its states: its own by default."""
    if names is None and mass is None:
        names, mass = getattr(given, "names", None), getattr(given, "mass", None)
    return as_automaton(given, purpose=Purpose.READING), names, mass


def chosen_threshold(
    automaton: WeightedAutomaton, threshold: float | None, names: Sequence[str] | None
) -> float:
    """Return the given threshold, or that of the style."""
    if threshold is not None:
        return threshold
    return PAPER_THRESHOLD if names is None else clear_threshold(automaton)


def checked(
    automaton: WeightedAutomaton, names: Sequence[str], mass: ArrayLike | None
) -> tuple[list[str], FloatArray | None]:
    """Return names and mass, one per state; no mass if it is not known for all."""
    n = automaton.n_states
    if len(names) != n:
        raise ArgumentError(f"names: expected one for each of {n} states, got {len(names)}")
    if mass is None:
        return [str(name) for name in names], None
    shares = np.array(mass, dtype=float)
    if shares.shape != (n,):
        raise ArgumentError(f"mass: expected shape ({n},), one per state, got {shares.shape}")
    return [str(name) for name in names], shares if np.isfinite(shares).all() else None
