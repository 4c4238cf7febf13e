"""A map of the groups of a structured automaton: thousands of states as a few dozen places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.structured import StructuredAutomaton
from seqray.draw.graph import shown_name
from seqray.explore.first_graph import FirstGraph
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.formatting import counted

MAX_PLACES = 40
"""Places that a map has; of more groups, those with the same last symbol share one."""

MAX_STEPS, LEFT_OVER = 1000, 1e-6
"""Visits are summed until the rest of all words is less than this, or words are so long."""

MAX_CONTEXT = 4
"""Symbols of a group's name."""


@dataclass(frozen=True, eq=False)
class GroupMap:
    """The groups of a structured automaton as places, and how words go from place to place.

    Parameters
    ----------
    automaton
        The automaton.

    Examples
    --------
    >>> from seqray import Grouping
    >>> emission = [[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.25, 0.25, 0.5]]
    >>> wa = StructuredAutomaton(
    ...     "ab", Grouping.by_last_symbol([2, 1]), [1], emission, [1, 0.5, 0.5, 1]
    ... )
    >>> groups = GroupMap(wa)
    >>> groups.names, groups.mass.round(3).tolist()
    (('start', 'after a', 'after b'), [0.333, 0.333, 0.333])
    >>> groups.next_symbol(1).round(3).tolist()
    [0.25, 0.25, 0.5]
    """

    automaton: StructuredAutomaton

    # How words use the states ---------------------------------------------------------------------

    @cached_property
    def _is_distribution(self) -> bool:
        return self.automaton.is_distribution

    @cached_property
    def _visits(self) -> FloatArray:
        """How often each state is expected in a word; 1 where that has no meaning."""
        a = self.automaton
        if not self._is_distribution:
            return np.ones(a.n_states)
        state, visits = np.array(a.initial), np.zeros(a.n_states)
        for _ in range(MAX_STEPS):
            visits += state
            state = a.advance(state)
            if abs(float(state @ a.prefix_final)) < LEFT_OVER:
                break
        return np.maximum(visits, 0.0)

    @cached_property
    def flows(self) -> FloatArray:
        """How often each symbol is read in each state, the end last, per word."""
        a = self.automaton
        follows = a.prefix_final if self._is_distribution else np.ones(a.n_states)
        read = np.column_stack([a.blocks.times(follows), a.final])
        flows: FloatArray = read * self._visits[:, None]
        return flows

    @cached_property
    def state_mass(self) -> FloatArray:
        """The share of the time in each state, shape ``(n_states,)``."""
        time = np.maximum(self.flows, 0).sum(axis=1)
        mass: FloatArray = time / (time.sum() or 1.0)
        return mass

    # Groups ---------------------------------------------------------------------------------------

    @cached_property
    def group_mass(self) -> FloatArray:
        """The share of the time in each group."""
        mass: FloatArray = np.add.reduceat(self.state_mass, self.automaton.offsets[:-1])
        return mass

    @cached_property
    def _group_flows(self) -> FloatArray:
        flows: FloatArray = np.add.reduceat(self.flows, self.automaton.offsets[:-1], axis=0)
        return flows

    @cached_property
    def contexts(self) -> list[tuple[int, ...]]:
        """What all words that lead to a group end with, up to four symbols; codes."""
        table = self.automaton.next_group.tolist()
        n_groups = len(table)
        sources: list[set[tuple[int, int]]] = [set() for _ in range(n_groups)]
        for group, row in enumerate(table):
            for code, target in enumerate(row):
                sources[target].add((group, code))
        known: list[tuple[int, ...]] = [()] * n_groups
        start = self.automaton.start_group
        for _ in range(MAX_CONTEXT):
            longer = [
                _common_end([(*known[group], code) for group, code in sorted(sources[target])])
                for target in range(n_groups)
            ]
            known = [() if group == start else end for group, end in enumerate(longer)]
        return known

    def group_name(self, group: int) -> str:
        """Return what to call a group: the end of the words that lead there."""
        if group == self.automaton.start_group:
            return "start"
        if not self.contexts[group]:
            return f"group {group + 1}"
        name, depth = f"after {self._spelt(self.contexts[group])}", self._depths[group]
        if self.contexts.count(self.contexts[group]) == 1:
            return name
        return f"{name}, from {counted(depth, 'symbol')} on" if depth else f"{name}, never reached"

    @cached_property
    def _depths(self) -> list[int]:
        """The length of the shortest word that leads to each group; 0 where there is none."""
        depths, table = [0] * self.automaton.grouping.n_groups, self.automaton.next_group
        seen, length = {self.automaton.start_group}, 0
        last = [self.automaton.start_group]
        while last:
            length += 1
            last = sorted({int(g) for g in table[last].ravel()} - seen)
            seen.update(last)
            for group in last:
                depths[group] = length
        return depths

    def _spelt(self, codes: Sequence[int]) -> str:
        return self.automaton.alphabet.separator.join(self._symbols[code] for code in codes)

    @cached_property
    def _symbols(self) -> list[str]:
        return [shown_name(symbol) for symbol in self.automaton.alphabet]

    # Places ---------------------------------------------------------------------------------------

    @cached_property
    def place_of_group(self) -> IntArray:
        """The place of each group on the map, shape ``(n_groups,)``."""
        n_groups = self.automaton.grouping.n_groups
        if n_groups <= MAX_PLACES:
            return np.arange(n_groups)
        last = [context[-1] if context else -1 for context in self.contexts]
        keys = [-2 if g == self.automaton.start_group else code for g, code in enumerate(last)]
        mass = dict.fromkeys(keys, 0.0)
        for key, share in zip(keys, self.group_mass.tolist(), strict=True):
            mass[key] += share
        heavy = sorted(mass, key=lambda key: -mass[key])[: MAX_PLACES - 1]
        order = {key: place for place, key in enumerate(sorted(heavy))}
        return np.array([order.get(key, len(order)) for key in keys])

    @cached_property
    def places(self) -> list[list[int]]:
        """The groups of each place, those first in which most time is spent."""
        members = [np.flatnonzero(self.place_of_group == p) for p in range(self.n_places)]
        return [m[np.argsort(-self.group_mass[m], kind="stable")].tolist() for m in members]

    @property
    def n_places(self) -> int:
        """The number of places."""
        return int(self.place_of_group.max()) + 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each place."""
        return tuple(self._place_name(groups) for groups in self.places)

    def _place_name(self, groups: Sequence[int]) -> str:
        if len(groups) == 1:
            return self.group_name(groups[0])
        end = _common_end([self.contexts[group] for group in groups])
        return f"after {self._spelt(end)}" if end else counted(len(groups), "other group")

    @cached_property
    def mass(self) -> FloatArray:
        """The share of the time in each place."""
        mass = np.zeros(self.n_places)
        np.add.at(mass, self.place_of_group, self.group_mass)
        return mass

    def n_states(self, place: int) -> int:
        """Return how many states a place has."""
        return int(self.automaton.group_sizes[self.places[place]].sum())

    def next_symbol(self, place: int) -> FloatArray:
        """Return what comes next in a place on average, the end last."""
        flows: FloatArray = np.maximum(self._group_flows[self.places[place]].sum(axis=0), 0)
        return flows / (flows.sum() or 1.0)

    # The drawing ----------------------------------------------------------------------------------

    @cached_property
    def quotient(self) -> WeightedAutomaton:
        """The automaton whose states are the places: what happens in each of them on average."""
        n, n_symbols = self.n_places, len(self.automaton.alphabet)
        flows = np.maximum(self._group_flows, 0)
        moved = np.zeros((n_symbols, n, n))
        codes = np.broadcast_to(np.arange(n_symbols), flows[:, :-1].shape)
        origins = np.broadcast_to(self.place_of_group[:, None], codes.shape)
        targets = self.place_of_group[self.automaton.next_group]
        np.add.at(moved, (codes, origins, targets), flows[:, :-1])
        ends = np.bincount(self.place_of_group, flows[:, -1], n)
        total = np.maximum(moved.sum(axis=(0, 2)) + ends, 1e-300)
        initial = np.zeros(n)
        initial[self.place_of_group[self.automaton.start_group]] = 1.0
        return WeightedAutomaton(
            self.automaton.alphabet, initial, moved / total[:, None], ends / total
        )

    def drawing(self) -> FirstGraph:
        """Return the map as a graph of the page, whose places are links."""
        names = [_name_parts(name) for name in self.names]
        links = [f"#group-{place}" for place in range(self.n_places)]
        texts = [
            f"{name}: {counted(self.n_states(place), 'state')}"
            for place, name in enumerate(self.names)
        ]
        mass = [float(share) for share in self.mass]
        return FirstGraph(self.quotient, names, mass, tuple(zip(links, texts, strict=True)))


def _name_parts(name: str) -> tuple[str, str]:
    how, _, what = name.partition(" ")
    return (how, what) if how == "after" else ("", name)


def _common_end(words: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the symbols that all words end with, at most four.

    >>> _common_end([(1, 2, 3), (0, 2, 3)]), _common_end([])
    ((2, 3), ())
    """
    if not words:
        return ()
    length = 0
    shortest = min(map(len, words))
    while length < min(shortest, MAX_CONTEXT) and len({w[-length - 1] for w in words}) == 1:
        length += 1
    return tuple(words[0][len(words[0]) - length :])
