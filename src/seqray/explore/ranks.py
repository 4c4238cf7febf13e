"""The automata of every rank for a page: which fit into it, in which coordinates, how exactly.

What a rank computes and what is drawn of it may differ in coordinates. Automata that are cut from
the largest are stored as one block, and drawn with named states, in numbers of four bytes.
Probabilistic automata have names in their own coordinates, so that one array serves both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import MIN_ENDING, RankedAutomata
from seqray.automata.words import Alphabet, Symbol
from seqray.draw.graph import shown_name
from seqray.explain.background import expected_visits
from seqray.explain.named_automaton import NamedAutomaton
from seqray.explain.naming import name_states
from seqray.explain.probable import has_negative
from seqray.explore.first_graph import FirstGraph, state_names
from seqray.explore.packing import pack
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError, RankError

NAMED_UP_TO_RANK, NAMED_UP_TO_NUMBERS = 20, 20_000
"""All ranks up to this one, and with no more transitions than this, get names; above it the chosen
rank and the fitted ones."""

MAX_NAMED_STATES = 60
"""A graph of more states is not read name by name."""

PRECISIONS = (8, 7, 6)
"""Bytes per number, best first; the chosen rank alone may get fewer."""

DRAWN_BYTES = MIN_BYTES = 4

ROUGH_BYTES = 3
"""Bytes per number where nothing else helps: three digits."""


@dataclass(frozen=True, eq=False)
class ShownRank:
    """The automaton of one rank.

    Parameters
    ----------
    rank
        The rank.
    automaton
        What the page computes with.
    kept
        What the block of the largest rank is multiplied with where this one is cut from it; None
        where the automaton is not.
    named
        Names of its states, or None. Where the automaton is probabilistic, ``named.automaton`` is
        the automaton itself.
    """

    rank: int
    automaton: WeightedAutomaton
    kept: float | None
    named: NamedAutomaton | None

    @cached_property
    def drawn(self) -> WeightedAutomaton | None:
        """What is drawn, where that is not the automaton itself."""
        named = self.named
        return None if named is None or named.automaton is self.automaton else named.automaton

    @cached_property
    def mass(self) -> list[float] | None:
        """How much of the time is spent in each state, where nobody needs names for that."""
        a = self.automaton
        if not a.is_distribution or has_negative(a):
            return None
        visits = np.maximum(expected_visits(a) * a.prefix_final, 0)
        return [round(share, 6) for share in (visits / (visits.sum() or 1.0)).tolist()]

    def to_json(self) -> dict[str, Any]:
        """Return what a page needs beside the arrays."""
        document = {
            "rank": self.rank,
            "states": self.automaton.n_states,
            "kept": self.kept,
            "sums": self.automaton.is_distribution,
            "leaks": self.automaton.elsewhere is not None,
        }
        if self.named is None:
            return document | ({} if self.mass is None else {"mass": self.mass})
        return document | {
            "drawn": self.drawn is not None,
            "names": [spelt(self.automaton.alphabet, prefix) for prefix in self.named.prefixes],
            "shares": [round(share, 6) for share in self.named.shares.tolist()],
            "mass": [None if math.isnan(m) else round(m, 6) for m in self.named.mass.tolist()],
            "loss": self.named.loss,
        }


def spelt(alphabet: Alphabet, word: Iterable[Symbol]) -> str:
    """Write a word as pages show it: every symbol visible, ``λ`` when there is none.

    >>> spelt(Alphabet("ab"), "ab"), spelt(Alphabet(["do", "re"]), ["re", "do"])
    ('ab', 're do')
    """
    return alphabet.separator.join(shown_name(symbol) for symbol in word) or "λ"


def show_ranks(automata: RankedAutomata, ranks: Sequence[int], chosen: int) -> list[ShownRank]:
    """Prepare the automata of some ranks, with names where there are not too many states.

    Parameters
    ----------
    automata
        Of every rank.
    ranks
        The ranks to prepare, in rising order.
    chosen
        The rank that is shown first.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1, 0], [[[0.5, 0], [0, 0]], [[0, 0.2], [0, 0]]], [0.3, 1])
    >>> [shown] = show_ranks(RankedAutomata(wa, None, {2: wa}), [2], 2)
    >>> shown.named, shown.drawn, shown.kept
    (NamedAutomaton(2 states: start, after b), None, None)
    """
    if chosen not in ranks:
        raise RankError(f"rank {chosen} is outside {ranks[0]} … {ranks[-1]}")
    return [_show_rank(automata, rank, _is_named(automata, rank, chosen)) for rank in ranks]


def _is_named(automata: RankedAutomata, rank: int, chosen: int) -> bool:
    if rank == chosen or rank in automata.fitted:
        return rank <= MAX_NAMED_STATES
    n_numbers = len(automata.largest.alphabet) * rank**2
    return rank <= NAMED_UP_TO_RANK and n_numbers <= NAMED_UP_TO_NUMBERS


def _show_rank(automata: RankedAutomata, rank: int, is_named: bool) -> ShownRank:
    automaton = automata.automaton(rank)
    named = name_states(automaton) if is_named else None
    if rank not in automata.fitted:
        whole = np.array_equal(automaton.transitions, automata.largest.transitions[:, :rank, :rank])
        return ShownRank(rank, automaton, 1.0 if whole else 1 - MIN_ENDING, named)
    if named is not None and automaton.is_distribution and not has_negative(automaton):
        return ShownRank(rank, named.automaton, None, named)
    return ShownRank(rank, automaton, None, named)


def first_graph(shown: ShownRank) -> FirstGraph | None:
    """Return the graph of a rank, as a page first shows it."""
    automaton, named = shown.automaton, shown.named
    if named is None:
        names = [("", str(state + 1)) for state in range(automaton.n_states)]
        return FirstGraph.of(automaton, names, shown.mass)
    prefixes = [spelt(automaton.alphabet, prefix) for prefix in named.prefixes]
    n_bytes = 8 if shown.drawn is None else DRAWN_BYTES
    mass = [None if math.isnan(m) else m for m in named.mass.tolist()]
    return FirstGraph.of(
        named.automaton, state_names(prefixes, named.shares.tolist()), mass, n_bytes
    )


@dataclass(frozen=True, eq=False)
class PackedRanks:
    """What a page carries of the automata of some ranks.

    Parameters
    ----------
    ranks
        Those that it has, in rising order.
    arrays
        By name: ``block`` that most ranks are cut from, ``own_5`` and ``drawn_7`` of single ranks.
    n_bytes
        How many bytes each number has that weights are computed from.
    """

    ranks: list[ShownRank]
    arrays: dict[str, dict[str, Any]]
    n_bytes: int

    def to_json(self) -> dict[str, Any]:
        """Return it for the page."""
        ends = [
            np.concatenate([a.initial, a.final, a.prefix_final])
            for a in (shown.automaton for shown in self.ranks)
        ]
        ends += [
            np.concatenate([shown.drawn.initial, shown.drawn.final])
            for shown in self.ranks
            if shown.drawn is not None and f"drawn_{shown.rank}" in self.arrays
        ]
        listed = []
        for shown in self.ranks:
            entry = shown.to_json()
            if shown.drawn is not None and f"drawn_{shown.rank}" not in self.arrays:
                entry = {name: entry[name] for name in ("rank", "states", "kept", "sums")}
            listed.append(entry)
        return {
            "ranks": listed,
            "arrays": self.arrays | {"ends": pack(np.concatenate(ends))},
            "bytes": self.n_bytes,
        }


def pack_ranks(
    automata: RankedAutomata,
    shown: Sequence[ShownRank],
    chosen: int,
    room: int,
    least_bytes: int = MIN_BYTES,
) -> PackedRanks:
    """Pack as many ranks as fit, as exactly as fits, always with the chosen one.

    Parameters
    ----------
    automata, shown
        The automata, and what `show_ranks` made of them.
    chosen
        The rank that has to be there.
    room
        How many characters the packed arrays may take.
    least_bytes
        How many bytes each number has at least.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> wa = WeightedAutomaton(range(9), rng.random(30), rng.random((9, 30, 30)), rng.random(30))
    >>> automata = RankedAutomata(wa)
    >>> shown = [ShownRank(r, automata.automaton(r), 1.0, None) for r in range(1, 31)]
    >>> packed = pack_ranks(automata, shown, 4, 50_000)
    >>> len(packed.ranks), packed.n_bytes
    (23, 6)
    """
    most = room - sum(map(_ends_size, shown))
    for n_bytes in PRECISIONS:
        if _likely_size(automata, shown, n_bytes) > 1.1 * most:
            continue  # packing is slow, and would be for nothing
        arrays = _everything(automata, shown, n_bytes)
        if _size(arrays.values()) <= most:
            return PackedRanks(list(shown), arrays, n_bytes)
    wanted = next(each for each in shown if each.rank == chosen)
    for left in (most, room - _ends_size(wanted)):
        packed = _pack_chosen(automata, wanted, left, least_bytes)
        if packed is not None:
            arrays, n_bytes = packed
            others = shown if left == most else [wanted]
            return _what_fits(automata, others, wanted, arrays, n_bytes, left)
    raise ArgumentError(
        f"{chosen} states and {len(automata.largest.alphabet)} symbols are too many for one "
        "page: choose a smaller rank (--rank)"
    )


def least_size(automata: RankedAutomata, rank: int) -> float:
    """Estimate how many characters a page needs for one rank, in the fewest digits.

    >>> rng = np.random.default_rng(0)
    >>> wa = WeightedAutomaton(range(9), rng.random(30), rng.random((9, 30, 30)), rng.random(30))
    >>> 20_000 < least_size(RankedAutomata(wa), 30) < 9 * 30**2 * 4
    True
    """
    automaton = automata.automaton(rank)
    return _likely(automaton.transitions, ROUGH_BYTES) + 90 + 33 * automaton.n_states


def _ends_size(shown: ShownRank) -> int:
    """Return how many characters a rank takes beside its transitions."""
    return 90 + 33 * shown.automaton.n_states


def _likely(array: FloatArray, n_bytes: int) -> float:
    """Estimate the size of a packed array by a part of it."""
    numbers = array.ravel()
    some = numbers[:: max(1, len(numbers) // 5000)]
    return len(pack(some, n_bytes)["data"]) * len(numbers) / max(1, len(some))


def _likely_size(automata: RankedAutomata, shown: Sequence[ShownRank], n_bytes: int) -> float:
    """Estimate the size of everything."""
    largest = max((each.rank for each in shown if each.kept is not None), default=0)
    arrays = [(automata.largest.transitions[:, :largest, :largest], n_bytes)]
    arrays += [(each.automaton.transitions, n_bytes) for each in shown if each.kept is None]
    arrays += [(each.drawn.transitions, DRAWN_BYTES) for each in shown if each.drawn is not None]
    return sum(_likely(array, each_bytes) for array, each_bytes in arrays)


def _everything(
    automata: RankedAutomata, shown: Sequence[ShownRank], n_bytes: int
) -> dict[str, dict[str, Any]]:
    arrays = {name: array for each in shown for name, array in _single(each, n_bytes).items()}
    cut = [each.rank for each in shown if each.kept is not None]
    return arrays | (_block(automata, max(cut), n_bytes) if cut else {})


def _single(shown: ShownRank, n_bytes: int) -> dict[str, dict[str, Any]]:
    """Pack the arrays that belong to one rank alone."""
    arrays = {}
    if shown.kept is None:
        arrays[f"own_{shown.rank}"] = pack(shown.automaton.transitions, n_bytes)
    if shown.drawn is not None:
        arrays[f"drawn_{shown.rank}"] = pack(shown.drawn.transitions, DRAWN_BYTES)
    return arrays


def _block(automata: RankedAutomata, rank: int, n_bytes: int) -> dict[str, dict[str, Any]]:
    return {"block": pack(automata.largest.transitions[:, :rank, :rank], n_bytes)}


def _size(packed: Iterable[dict[str, Any]]) -> int:
    return sum(len(each["data"]) + 60 for each in packed)


def _pack_chosen(
    automata: RankedAutomata, wanted: ShownRank, room: int, least_bytes: int
) -> tuple[dict[str, dict[str, Any]], int] | None:
    """Pack the chosen rank as exactly as fits; where need be it loses the names of its states."""
    precisions = [n for n in (PRECISIONS[-1], 5, MIN_BYTES, ROUGH_BYTES) if n >= least_bytes]
    can_lose = wanted.drawn is not None and least_bytes == ROUGH_BYTES
    for keeps_names in (True, False) if can_lose else (True,):
        for n_bytes in precisions:
            arrays = _single(wanted, n_bytes)
            if not keeps_names:
                arrays = {name: a for name, a in arrays.items() if not name.startswith("drawn")}
            if wanted.kept is not None:
                arrays |= _block(automata, wanted.rank, n_bytes)
            if _size(arrays.values()) <= room:
                return arrays, n_bytes
    return None


def _what_fits(
    automata: RankedAutomata,
    shown: Sequence[ShownRank],
    wanted: ShownRank,
    arrays: dict[str, dict[str, Any]],
    n_bytes: int,
    room: int,
) -> PackedRanks:
    """Add to the chosen rank small ranks of their own, then as much of the block as fits."""
    chosen = wanted.rank
    least = chosen if wanted.kept is not None else 0
    largest = max((each.rank for each in shown if each.kept is not None), default=0)
    # Single ranks may take a third of what is left, so that there is room for the block.
    left = room - _size(arrays.values())
    for each in shown:
        single = _single(each, n_bytes)
        if each.rank != chosen and _size(single.values()) <= left / 3:
            arrays |= single
            left -= _size(single.values())
    left += _size([arrays["block"]]) if least else 0
    for rank in _falling(largest, least, len(automata.largest.alphabet), n_bytes, left):
        block = _block(automata, rank, n_bytes)
        if rank == least or _size(block.values()) <= left:
            arrays |= block
            largest = rank
            break
    else:
        largest = least
    kept = [
        each
        for each in shown
        if (each.kept is not None and each.rank <= largest) or f"own_{each.rank}" in arrays
    ]
    there = {"block", *(f"{what}_{each.rank}" for what in ("own", "drawn") for each in kept)}
    return PackedRanks(kept, {n: a for n, a in arrays.items() if n in there}, n_bytes)


def _falling(largest: int, least: int, n_symbols: int, n_bytes: int, room: int) -> range:
    """Return ranks to try, from about the largest that can fit."""
    # A number takes less than its bytes, and four characters three bytes.
    likely = math.isqrt(int(room / (n_symbols * (n_bytes - 1.2) * 4 / 3)))
    return range(min(largest, likely), max(least, 1) - 1, -1)
