"""Automata from graphs of transitions, structured where the graph is.

States are in one group if a word may activate both: the states where words begin, and then all that
one symbol leads to from one group. The groups are the finest with which the graph is a structured
automaton.
"""

from __future__ import annotations

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.grouping import Grouping, PairMatrices
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.transitions import Transitions
from seqray.automata.words import Alphabet
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.files import MAX_NUMBERS, too_many_numbers


def automaton_of_graph(
    alphabet: Alphabet,
    initial: FloatArray,
    moves: Transitions,
    final: FloatArray,
    elsewhere: FloatArray | None = None,
    *,
    prefers_dense: bool = False,
) -> WeightedAutomaton:
    """Return the automaton of a graph; weights of parallel transitions add up.

    It is structured if its states are in groups that are neighbours, as in what seqray writes, or
    if dense matrices would need too many numbers; then states that are not neighbours are moved.

    Parameters
    ----------
    alphabet, initial, final, elsewhere
        As for a `WeightedAutomaton`.
    moves
        The transitions.
    prefers_dense
        Whether the automaton is dense wherever that does not need too many numbers.

    Examples
    --------
    >>> moves = Transitions(*map(np.array, ([0, 1], [0, 1], [1, 0], [0.5, 0.25])))
    >>> automaton_of_graph(Alphabet("ab"), np.array([1.0, 0.0]), moves, np.array([0.5, 0.75]))
    StructuredAutomaton(2 states in 2 groups, 2 symbols)
    """
    n, k = len(initial), len(alphabet)
    is_small = k * n**2 <= MAX_NUMBERS
    if is_small and prefers_dense:
        return _dense(alphabet, initial, moves, final, elsewhere)
    groups = finest_groups(n, np.flatnonzero(initial), moves)
    is_ordered = bool((np.diff(groups) >= 0).all()) and groups[-1] > 0
    if is_small and not is_ordered:
        return _dense(alphabet, initial, moves, final, elsewhere)
    order = np.argsort(groups, kind="stable")
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    moved = Transitions(moves.codes, place[moves.origins], place[moves.targets], moves.weights)
    leak = None if elsewhere is None else elsewhere[order]
    return _structured(alphabet, groups[order], initial[order], moved, final[order], leak)


def finest_groups(n_states: int, begins: IntArray, moves: Transitions) -> IntArray:
    """Return the group of each state; groups are numbered by their first states.

    >>> split = Transitions(*map(np.array, ([0, 0, 1], [0, 0, 1], [1, 2, 0], [0.5, 0.5, 1])))
    >>> finest_groups(4, np.array([0]), split)
    array([0, 1, 1, 2])
    """
    parents = list(range(n_states))
    onward: list[dict[int, int]] = [{} for _ in range(n_states)]
    same = list(zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True))

    def lead(state: int, code: int, target: int) -> None:
        other = onward[state].setdefault(code, target)
        if other != target:
            same.append((other, target))

    def root(state: int) -> int:
        while parents[state] != state:
            parents[state] = state = parents[parents[state]]
        return state

    for code, origin, target, _ in moves.edges():
        lead(origin, code, target)
    while same:
        large, small = map(root, same.pop())
        if large == small:
            continue
        if len(onward[large]) < len(onward[small]):
            large, small = small, large
        parents[small] = large
        leads, onward[small] = onward[small], {}
        for code, target in leads.items():
            lead(large, code, target)
    roots = np.array([root(state) for state in range(n_states)])
    _, first, numbers = np.unique(roots, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[numbers])


def _dense(
    alphabet: Alphabet,
    initial: FloatArray,
    moves: Transitions,
    final: FloatArray,
    elsewhere: FloatArray | None,
) -> WeightedAutomaton:
    transitions = np.zeros((len(alphabet), len(initial), len(initial)))
    np.add.at(transitions, (moves.codes, moves.origins, moves.targets), moves.weights)
    return WeightedAutomaton(alphabet, initial, transitions, final, elsewhere)


def _structured(
    alphabet: Alphabet,
    groups: IntArray,
    initial: FloatArray,
    moves: Transitions,
    final: FloatArray,
    elsewhere: FloatArray | None,
) -> StructuredAutomaton:
    """Return a structured automaton: transitions to groups of one state are forgetful."""
    n, k, sizes = len(initial), len(alphabet), np.bincount(groups)
    origins, targets = groups[moves.origins], groups[moves.targets]
    pairs, pair_of_move = np.unique(origins * k + moves.codes, return_inverse=True)
    target_of_pair = np.zeros(len(pairs), np.int64)
    target_of_pair[pair_of_move] = targets
    is_kept = sizes[target_of_pair] > 1
    numbers = np.where(is_kept, sizes[pairs // k] * sizes[target_of_pair], 0)
    n_numbers = int(numbers.sum()) + n * (k + 1)
    if n_numbers > MAX_NUMBERS:
        raise too_many_numbers(f"the graph: {n:,} states and {k:,} symbols", n_numbers)
    table = np.tile(np.arange(len(sizes))[:, None], (1, k))
    table[pairs // k, pairs % k] = target_of_pair
    start = int(groups[np.flatnonzero(initial)[0]]) if initial.any() else 0
    grouping = Grouping(table, sizes, start)
    kept = is_kept[pair_of_move]
    emission = np.column_stack([np.zeros((n, k)), final])
    np.add.at(emission, (moves.origins[~kept], moves.codes[~kept]), moves.weights[~kept])
    rows = moves.origins - grouping.offsets[origins]
    columns = moves.targets - grouping.offsets[targets]
    places = (np.cumsum(numbers) - numbers)[pair_of_move] + rows * sizes[targets] + columns
    values = np.zeros(int(numbers.sum()))
    np.add.at(values, places[kept], moves.weights[kept])
    entry = np.zeros(n)
    entry[grouping.offsets[:-1]] = 1
    matrices = PairMatrices(pairs[is_kept] // k, pairs[is_kept] % k, values)
    vector = initial[grouping.states(start)]
    return StructuredAutomaton(alphabet, grouping, vector, emission, entry, matrices, elsewhere)
