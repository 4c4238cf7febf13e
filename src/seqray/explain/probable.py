"""The most probable prefixes and words of an automaton, by a best-first search."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice, product

import numpy as np
from numpy.typing import ArrayLike

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.gramians import solve_gramians
from seqray.automata.span import extended, perpendicular
from seqray.automata.words import Alphabet, Words
from seqray.util.arrays import FloatArray, IntArray, read_only, real_array, whole_number

MAX_SEARCHED_PREFIXES = 100_000
"""How many prefixes a search for the heaviest words may look beyond."""

N_SHORT_WORDS = 20_000
"""How many of the shortest words are looked at, where weights grow with length."""

MAX_PREFIX_LENGTH = 24
"""Probable prefixes are not followed further."""

MAX_GROWN_LENGTH = 400
"""Over a single symbol prefixes are not grown beyond this length: their letters add up."""

PREFIXES_PER_BATCH = 512
"""How many prefixes a search extends at once."""

MAX_NUMBERS_PER_BATCH = 2**22
"""Coordinates of states that are computed at once: over thousands of symbols, of few prefixes."""

MAX_SEARCHED_NUMBERS = 2**28
"""Coordinates of states that a search computes at most: over thousands of symbols it looks beyond
fewer prefixes."""


@dataclass(frozen=True, eq=False, repr=False)
class HeaviestWords:
    """The words of largest weight, the heaviest first; made by `heaviest_words`.

    Parameters
    ----------
    words, weights
        The words, and the weight of each, shape ``(n_words,)``.
    exact
        Whether it is proven that no other word is heavier than these.
    """

    words: Words
    weights: FloatArray
    exact: bool

    def __repr__(self) -> str:
        pairs = zip(self.words, self.weights, strict=True)
        shown = ", ".join(f"{self.words.alphabet.show(w)} {x:.4g}" for w, x in pairs)
        return f"HeaviestWords({shown}{'' if self.exact else '; others may be heavier'})"


def heaviest_words(
    automaton: WeightedAutomaton,
    n_words: int = 10,
    *,
    initial: ArrayLike | None = None,
    effort: int = MAX_SEARCHED_PREFIXES,
) -> HeaviestWords:
    """Search for the words of largest weight.

    No word is heavier than all words with the same beginning together. So prefixes are followed in
    the order of their weight, as long as that is above the weight of the lightest word so far.
    Without negative weights this is exact, if the effort is enough. Where weights do not sum, but
    their squares do, the same is done with the root of the sum of squares, and words of largest
    size are returned. Where these do not sum either, there may be no largest one: all short words
    are looked at.

    Parameters
    ----------
    automaton
        Any automaton.
    n_words
        How many to find at most; words of weight 0 are none.
    initial
        Another state to begin in, shape ``(n_states,)``.
    effort
        How many prefixes to look beyond at most.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.2]]], [0.3])
    >>> heaviest_words(wa, 4)
    HeaviestWords(λ 0.3, a 0.15, aa 0.075, b 0.06)
    """
    whole_number("n_words", n_words, 1)
    whole_number("effort", effort, 1)
    a = automaton
    start = a.initial if initial is None else real_array("initial", initial, (a.n_states,))
    if sums(a):
        heaviest, done = _search(a, start, n_words, effort, lambda states: states @ a.prefix_final)
        return (
            heaviest if done and not has_negative(a) and (start >= 0).all() else _unsure(heaviest)
        )
    squares = _squares(a)
    if squares is None:
        begun = WeightedAutomaton(a.alphabet, start, a.transitions, a.final)
        return _shortest(begun, n_words, min(effort, N_SHORT_WORDS))

    def size(states: FloatArray) -> FloatArray:
        total = ((states @ squares) * states).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(total, 0)) * (1 + 1e-9))

    heaviest, done = _search(a, start, n_words, effort, size, signed=True)
    return heaviest if done else _unsure(heaviest)


@lru_cache(maxsize=1)  # called for every state of an automaton, one after the other
def _squares(a: WeightedAutomaton) -> FloatArray | None:
    """Return Q with xQxᵀ the sum of the squares of all weights from a state x, if there is one."""
    both = solve_gramians(a)
    return None if both is None else both[1]


def has_negative(a: WeightedAutomaton) -> bool:
    """Whether a weight of the automaton is negative, so that weights are not probabilities.

    >>> has_negative(WeightedAutomaton("a", [1], [[[-0.5]]], [1]))
    True
    """
    return any(bool((part < 0).any()) for part in (a.initial, a.transitions, a.final))


def sums(a: WeightedAutomaton) -> bool:
    """Whether the weight of all that follows a prefix means something.

    It does where the automaton is (nearly) a distribution, and where no weight is negative and
    their sum is finite.

    >>> sums(WeightedAutomaton("a", [3], [[[0.5]]], [1]))
    True
    >>> sums(WeightedAutomaton("a", [3], [[[-0.5]]], [1]))
    False
    """
    if a.is_distribution:
        return True
    finite = a.spectral_radius <= 1 + 1e-9 and a.total > 0 and bool((a.prefix_final >= 0).all())
    return finite and not has_negative(a)


def _unsure(heaviest: HeaviestWords) -> HeaviestWords:
    return HeaviestWords(heaviest.words, heaviest.weights, exact=False)


def _search(
    a: WeightedAutomaton,
    start: FloatArray,
    n_words: int,
    effort: int,
    bound: Callable[[FloatArray], FloatArray],
    *,
    signed: bool = False,
) -> tuple[HeaviestWords, bool]:
    """Follow the heaviest prefixes; also return whether none is left that could matter.

    ``bound`` returns how heavy a word may be that goes on from each state; if ``signed``, in size.
    """
    size = np.abs if signed else np.asarray
    n_symbols, n_numbers = len(a.alphabet), len(a.alphabet) * a.n_states
    n_batch = max(1, min(PREFIXES_PER_BATCH, MAX_NUMBERS_PER_BATCH // n_numbers))
    effort = max(1, min(effort, MAX_SEARCHED_NUMBERS // n_numbers))
    parents, symbols = [np.zeros(1, np.int64)], [np.full(1, -1)]  # of each prefix, by number
    n_prefixes, looked, dropped = 1, 0, 0.0
    nodes, states = np.zeros(1, np.int64), start[None, :]
    bounds = bound(states)
    best_nodes, best = nodes, states @ a.final
    least = 0.0
    while len(nodes) and looked < effort:
        order = np.argsort(-bounds, kind="stable")
        here, rest = order[:n_batch], order[n_batch:]
        looked += len(here)
        left = max(0, effort - looked)
        dropped = max(dropped, *bounds[rest[left : left + 1]].tolist(), 0.0)  # never reached
        rest = rest[:left]
        # After each symbol, then in the order of the prefixes: (n_symbols · n_here, n_states).
        after = (states[here] @ a.transitions).reshape(-1, a.n_states)
        weights, new_bounds = after @ a.final, bound(after)
        all_best = np.concatenate([best, weights])
        top = np.argsort(-size(all_best), kind="stable")[:n_words]
        least = max(0.0, float(size(all_best[top])[-1])) if len(top) == n_words else 0.0
        goes_on = new_bounds > least
        # Only what goes on, or is among the best, gets a number.
        known = goes_on.copy()
        known[top[top >= len(best)] - len(best)] = True
        numbers = np.where(known, n_prefixes - 1 + np.cumsum(known), -1)
        n_prefixes += int(known.sum())
        parents.append(np.tile(nodes[here], n_symbols)[known])
        symbols.append(np.repeat(np.arange(n_symbols), len(here))[known])
        best_nodes, best = np.concatenate([best_nodes, numbers])[top], all_best[top]
        rest = rest[bounds[rest] > least]
        nodes = np.concatenate([nodes[rest], numbers[goes_on]])
        states = np.concatenate([states[rest], after[goes_on]])
        bounds = np.concatenate([bounds[rest], new_bounds[goes_on]])
    some = size(best) > 0
    words = _spelt(a.alphabet, best_nodes[some], np.concatenate(parents), np.concatenate(symbols))
    done = not len(nodes) and dropped <= least
    return HeaviestWords(words, read_only(best[some]), exact=True), done


def _spelt(alphabet: Alphabet, nodes: IntArray, parents: IntArray, symbols: IntArray) -> Words:
    """Return the words of prefixes that are known by their last symbol and the prefix before."""
    spelt: list[tuple[int, ...]] = []
    for node in nodes.tolist():
        codes, at = [], node
        while at:
            codes.append(int(symbols[at]))
            at = int(parents[at])
        spelt.append(tuple(reversed(codes)))
    return encoded(alphabet, spelt)


def _shortest(a: WeightedAutomaton, n_words: int, n_looked: int) -> HeaviestWords:
    """Return those of largest size among the shortest words."""
    words = grown_prefixes(a, n_looked)
    weights = a.weights(words)
    order = np.argsort(-np.abs(weights), kind="stable")[:n_words]
    order = order[weights[order] != 0]
    return HeaviestWords(words[order], read_only(weights[order]), exact=False)


def encoded(alphabet: Alphabet, codes: Sequence[Sequence[int]]) -> Words:
    """Return words that are given as codes.

    >>> encoded(Alphabet("ab"), [(), (0, 1)])
    Words(2 words over 2 symbols: λ, ab)
    """
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in codes])]).astype(np.int64)
    flat = np.fromiter((code for word in codes for code in word), np.int32, int(offsets[-1]))
    return Words(alphabet, flat, offsets)


def grown_prefixes(automaton: WeightedAutomaton, n_words: int) -> Words:
    """Return prefixes grown from the empty one, up to ``n_words`` of them, of bounded length.

    Where weights sum these are the most probable prefixes, and all that are short enough to take
    no more than half of the places. Otherwise they are the shortest.

    Examples
    --------
    >>> wa = WeightedAutomaton("ab", [1], [[[0.7]], [[0.05]]], [0.25])
    >>> grown_prefixes(wa, 5)
    Words(5 words over 2 symbols: λ, a, aa, aaa, …)
    """
    n_symbols, likely = len(automaton.alphabet), sums(automaton)
    room = n_words // 2 if likely else n_words
    codes: list[tuple[int, ...]] = [()]
    level = codes
    while len(codes) < room and len(level[0]) < MAX_GROWN_LENGTH:
        if likely and len(codes) + len(level) * n_symbols > room:
            break
        longer = ((*word, code) for word, code in product(level, range(n_symbols)))
        level = list(islice(longer, room - len(codes)))
        codes = codes + level
    if likely:
        codes = list(dict.fromkeys(codes + _most_probable(automaton, n_words)))
    return encoded(automaton.alphabet, codes[:n_words])


def _most_probable(a: WeightedAutomaton, n_words: int) -> list[tuple[int, ...]]:
    """Return the prefixes of largest weight, the heaviest first.

    Only those that can be among the first ``n_words`` are stored.
    """
    number = count()
    smallest = np.empty(0)  # of all keys so far, as many as there may be words
    heap: list[tuple[float, int, tuple[int, ...], FloatArray]] = [(-1.0, -1, (), a.initial)]
    prefixes: list[tuple[int, ...]] = []
    while heap and len(prefixes) < n_words:
        below, _, word, state = heapq.heappop(heap)
        prefixes.append(word)
        if len(word) == MAX_PREFIX_LENGTH:
            continue
        after = state @ a.transitions
        weights = after @ a.prefix_final
        codes = np.flatnonzero(weights > 0)
        # Where weights are not probabilities a longer prefix may weigh more than a shorter one.
        keys = np.maximum(below, -weights[codes])
        first = np.sort(np.argsort(keys, kind="stable")[:n_words])
        smallest = np.sort(np.concatenate([smallest, keys[first]]))[:n_words]
        if len(smallest) == n_words:
            first = first[keys[first] <= smallest[-1]]
        for code, key in zip(codes[first].tolist(), keys[first].tolist(), strict=True):
            heapq.heappush(heap, (key, next(number), (*word, code), after[code].copy()))
    return prefixes


def spanning_prefixes(automaton: WeightedAutomaton, *, tolerance: float = 1e-10) -> Words:
    """Return prefixes whose states span all that words reach, as few as that takes.

    Every one is a shorter one of them and one symbol more. The one that is furthest from those
    before is always taken next, and only what is behind it is looked at then: so states that take
    a long word to reach are among them, too.

    Parameters
    ----------
    automaton
        Any automaton.
    tolerance
        How far from the others a state must be, relative to its size.

    Examples
    --------
    >>> chain = np.zeros((2, 3, 3))
    >>> chain[0, 0, 1] = chain[1, 1, 2] = 1
    >>> spanning_prefixes(WeightedAutomaton("ab", [1, 0, 0], chain, [0, 0, 1]))
    Words(3 words over 2 symbols: λ, a, ab)
    """
    return _spanning(automaton, tolerance)[0]


def observable(automaton: WeightedAutomaton, *, tolerance: float = 1e-10) -> WeightedAutomaton:
    """Return the same function without directions of the state that no word can distinguish.

    Examples
    --------
    >>> wa = WeightedAutomaton("a", [1, 2], [[[0.5, 0], [0, 0.5]]], [1, 1])
    >>> observable(wa), round(observable(wa).weight("a"), 9)
    (WeightedAutomaton(1 states, 1 symbols), 1.5)
    """
    a = automaton
    _, basis = _spanning(a.mirror, tolerance)
    initial = a.initial @ basis.T
    if not np.linalg.norm(initial) > 1e-13 * np.linalg.norm(a.initial):
        return WeightedAutomaton(a.alphabet, [0], np.zeros((len(a.alphabet), 1, 1)), [0])
    if len(basis) == a.n_states:
        return a
    elsewhere = None if a.elsewhere is None else basis @ a.elsewhere
    transitions = basis @ a.transitions @ basis.T
    return WeightedAutomaton(a.alphabet, initial, transitions, basis @ a.final, elsewhere)


def _spanning(automaton: WeightedAutomaton, tolerance: float) -> tuple[Words, FloatArray]:
    """Return words that span what all words reach, and an orthonormal basis of that, as rows."""
    spanning: list[tuple[int, ...]] = []
    words: list[tuple[int, ...]] = [()]
    states = _unit(automaton.initial[None, :])
    basis: FloatArray = np.empty((0, automaton.n_states))
    left = states
    while words and len(spanning) < automaton.n_states:
        sizes = np.linalg.norm(left, axis=1)
        best = int(sizes.argmax())
        if not sizes[best] > tolerance:
            break
        spanning.append(words[best])
        basis = extended(basis, left[best] / sizes[best])
        after = _unit(states[best] @ automaton.transitions)
        words = words + [(*words[best], code) for code in range(len(after))]
        states, left = np.concatenate([states, after]), np.concatenate([left, after])
        left = perpendicular(left, basis)
        del words[best]
        states, left = np.delete(states, best, axis=0), np.delete(left, best, axis=0)
    return encoded(automaton.alphabet, spanning), basis


def _unit(rows: FloatArray) -> FloatArray:
    """Scale rows to length 1; those of length 0 stay."""
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: FloatArray = np.divide(rows, sizes, out=np.zeros_like(rows), where=sizes > 0)
    return unit
