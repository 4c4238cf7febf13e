"""Made automata: machines like PAutomaC's, weights of both signs, states in groups, triggers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.grouping import Grouping
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.words import Alphabet, Symbol
from seqray.util.arrays import BoolArray, FloatArray, whole_number
from seqray.util.errors import ArgumentError, RankError
from seqray.util.files import MAX_NUMBERS
from seqray.util.random import Seed, random_generator

KINDS = ("dpfa", "pfa", "hmm")


def random_machine(
    kind: str,
    n_states: int,
    n_symbols: int,
    *,
    seed: Seed,
    symbol_sparsity: float = 0.5,
    transition_sparsity: float = 0.3,
    stopping: float = 0.5,
    stop_probabilities: tuple[float, float] = (0.05, 0.4),
) -> WeightedAutomaton:
    """Draw a stochastic machine, much like those of PAutomaC.

    Every state can be reached and can still stop, and every symbol is used, so that the weights
    of all words sum to 1.

    Parameters
    ----------
    kind
        ``"dpfa"``: state and symbol say what the next state is. ``"pfa"``: they give a
        distribution over next states. ``"hmm"``: the state alone gives it.
    n_states, n_symbols
        The size. The symbols are 0 … ``n_symbols`` - 1.
    seed
        Random seed, or a random generator.
    symbol_sparsity
        The share of symbols that a state emits.
    transition_sparsity
        The share of states that a state, with a symbol, leads to; nothing to a dpfa.
    stopping
        The share of states where a word may stop.
    stop_probabilities
        The smallest and largest probability that it does stop there.

    Examples
    --------
    >>> machine = random_machine("pfa", 5, 3, seed=np.random.default_rng(0))
    >>> machine, round(machine.total, 9)
    (WeightedAutomaton(5 states, 3 symbols), 1.0)
    """
    rng = random_generator(seed)
    if kind not in KINDS:
        raise ArgumentError(f"kind {kind!r} is not one of {', '.join(KINDS)}")
    _check_size(n_states, n_symbols)
    _check_share("symbol_sparsity", symbol_sparsity)
    _check_share("transition_sparsity", transition_sparsity)
    _check_share("stopping", stopping)
    least, most = stop_probabilities
    if not 0 < least <= most <= 1:
        raise ArgumentError(
            f"stop_probabilities: expected 0 < least ≤ most ≤ 1, got {stop_probabilities}"
        )
    emits = rng.random((n_states, n_symbols)) < symbol_sparsity
    emits[np.arange(n_states), rng.integers(n_symbols, size=n_states)] = True
    unused = np.flatnonzero(~emits.any(axis=0))
    emits[rng.integers(n_states, size=len(unused)), unused] = True
    leads = _leads(kind, emits, transition_sparsity, rng)
    final = np.where(rng.random(n_states) < stopping, rng.uniform(least, most, n_states), 0)
    # One more state that stops, again and again, until all can reach one.
    while not (able := _able_to_stop(leads, final)).all():
        final[rng.choice(np.flatnonzero(~able))] = rng.uniform(least, most)
    initial: FloatArray = np.eye(n_states)[0]
    if kind != "dpfa":
        begins = rng.random(n_states) < transition_sparsity
        begins[0] = True
        initial = _distribution(begins, rng)
    if kind == "hmm":  # the same distribution whatever the symbol
        leads = np.any(leads, axis=1, keepdims=True)
    targets = _distribution(leads, rng)
    moves = (1 - final)[:, None, None] * _distribution(emits, rng)[:, :, None] * targets
    return WeightedAutomaton(range(n_symbols), initial, moves.transpose(1, 0, 2), final)


def random_automaton(
    n_states: int, n_symbols: int, *, seed: Seed, density: float = 1.0
) -> WeightedAutomaton:
    """Draw an automaton with weights of both signs; it is no probability distribution.

    Words of a dozen symbols have weights that neither explode nor vanish.

    Parameters
    ----------
    n_states, n_symbols
        The size. The symbols are 0 … ``n_symbols`` - 1.
    seed
        Random seed, or a random generator.
    density
        The share of transitions that are not 0. Each state has at least one in and one out.

    Examples
    --------
    >>> random_automaton(4, 2, seed=np.random.default_rng(0)).weights([[], [0], [1, 0]]).round(2)
    array([-1.5 , -0.39,  0.22])
    """
    rng = random_generator(seed)
    _check_size(n_states, n_symbols)
    _check_share("density", density)
    shape = (n_symbols, n_states, n_states)
    present = rng.random(shape) < density
    for matrix in present:
        matrix[np.arange(n_states), rng.permutation(n_states)] = True
    matrices = np.where(present, rng.normal(size=shape), 0)
    # On average a matrix changes the length of a vector little.
    norms = np.linalg.norm(matrices, axis=(1, 2)) / np.sqrt(n_states)
    matrices *= (rng.uniform(0.8, 1.1, n_symbols) / norms)[:, None, None]
    initial = rng.normal(size=n_states)
    return WeightedAutomaton(
        range(n_symbols), initial / np.linalg.norm(initial), matrices, rng.normal(size=n_states)
    )


def random_structured(
    alphabet: Alphabet | Iterable[Symbol],
    states_per_symbol: int,
    *,
    seed: Seed,
    remembering: float = 1.0,
    mean_length: float = 10.0,
) -> StructuredAutomaton:
    """Draw a probabilistic automaton whose states are grouped by the last symbol read.

    The last symbol says most about the next one, and the state within its group the rest. From
    each state a symbol leads to a few states of the next group.

    Parameters
    ----------
    alphabet
        The symbols.
    states_per_symbol
        How many states there are after each symbol; before the first there is one more.
    seed
        Random seed, or a random generator.
    remembering
        The share of transitions that have a matrix of their own.
    mean_length
        The mean length of a word.

    Examples
    --------
    >>> automaton = random_structured("abc", 5, seed=0)
    >>> automaton, round(automaton.total, 9)
    (StructuredAutomaton(16 states in 4 groups, 3 symbols), 1.0)
    """
    rng, alphabet = random_generator(seed), Alphabet.of(alphabet)
    n_symbols = len(alphabet)
    _check_groups(n_symbols, states_per_symbol)
    _check_share("remembering", remembering)
    if not mean_length > 0:
        raise ArgumentError(f"mean_length: expected more than 0, got {mean_length}")
    grouping = Grouping.by_last_symbol([states_per_symbol] * n_symbols)
    likely = rng.dirichlet(np.full(n_symbols, 0.3), grouping.n_groups)[grouping.group_of_state]
    symbols = 0.7 * likely + 0.3 * rng.dirichlet(np.full(n_symbols, 0.1), grouping.n_states)
    stop = 1 / (mean_length + 1)
    emission = np.column_stack([(1 - stop) * symbols, np.full(grouping.n_states, stop)])
    pairs = np.argwhere(rng.random(grouping.next_group.shape) < remembering)
    matrices = {
        (group, symbol): emission[grouping.states(group), symbol, None]
        * _few_targets(rng, int(grouping.sizes[group]), states_per_symbol)
        for group, symbol in pairs.tolist()
    }
    entry = np.append(1.0, rng.dirichlet(np.ones(states_per_symbol), n_symbols))
    return StructuredAutomaton(alphabet, grouping, [1.0], emission, entry, matrices)


def _few_targets(rng: np.random.Generator, n_rows: int, n_columns: int) -> FloatArray:
    """Draw distributions over the columns, in which most have no share at all."""
    shares = rng.gamma(0.1, size=(n_rows, n_columns)) + np.finfo(float).tiny
    shares[shares < 0.01 * shares.max(axis=1, keepdims=True)] = 0
    distributions: FloatArray = shares / shares.sum(axis=1, keepdims=True)
    return distributions


def triggered_machine(trigger: str, symbols: str = "abc") -> WeightedAutomaton:
    """Return a machine of words by accident, but after a trigger the last symbol is nearly sure.

    Wherever in a word the trigger stands, and however seldom that is.

    >>> triggered_machine("abba", "ab").next_symbol(["abb", "abba", "babba"]).round(3)
    array([[0.45 , 0.45 , 0.1  ],
           [0.045, 0.855, 0.1  ],
           [0.045, 0.855, 0.1  ]])
    """
    n_states, probability = len(trigger) + 1, 0.9 / len(symbols)
    transitions = np.zeros((len(symbols), n_states, n_states))
    for state in range(n_states):
        for code, symbol in enumerate(symbols):
            read = trigger[:state] + symbol
            known = (n for n in range(n_states - 1, -1, -1) if read.endswith(trigger[:n]))
            transitions[code, state, next(known)] = probability
    after = transitions[:, -1]
    after[:] *= 0.1
    after[-1] *= (0.9 - 0.1 * (0.9 - probability)) / (0.1 * probability)
    return WeightedAutomaton(symbols, np.eye(n_states)[0], transitions, np.full(n_states, 0.1))


def _leads(kind: str, emits: BoolArray, share: float, rng: np.random.Generator) -> BoolArray:
    """Which states each state and symbol lead to, shape ``(n_states, n_symbols, n_states)``."""
    n_states, n_symbols = emits.shape
    # A tree that reaches every state. Each state emits a symbol, so one is always free.
    leads = np.zeros((n_states, n_symbols, n_states), bool)
    free: list[tuple[int, int]] = []
    for state in range(n_states):
        if state:
            origin, symbol = free.pop(rng.integers(len(free)))
            leads[origin, symbol, state] = True
        free += [(state, int(symbol)) for symbol in np.flatnonzero(emits[state])]
    for origin, symbol in free:
        leads[origin, symbol, rng.integers(n_states)] = True
    if kind == "pfa":
        leads |= (rng.random(leads.shape) < share) & emits[:, :, None]
    if kind == "hmm":
        anywhere = leads.any(axis=1) | (rng.random((n_states, n_states)) < share)
        leads = anywhere[:, None, :] & emits[:, :, None]
    return leads


def _able_to_stop(leads: BoolArray, final: FloatArray) -> BoolArray:
    """Whether a path leads from each state to one that stops."""
    steps = leads.any(axis=1)
    able: BoolArray = final > 0
    while (wider := able | (steps @ able)).sum() > able.sum():
        able = wider
    return able


def _distribution(present: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Draw a distribution over the last axis wherever ``present`` says."""
    probabilities = np.where(present, 0.05 + rng.exponential(size=present.shape), 0)
    sums = probabilities.sum(axis=-1, keepdims=True)
    shares: FloatArray = np.divide(probabilities, sums, out=probabilities, where=sums > 0)
    return shares


def _check_size(n_states: int, n_symbols: int) -> None:
    if n_states < 1:
        raise RankError(f"n_states: expected 1 or more, got {n_states}")
    if n_symbols < 1:
        raise ArgumentError(f"n_symbols: expected 1 or more, got {n_symbols}")
    if n_symbols * n_states**2 > MAX_NUMBERS:
        raise ArgumentError(
            f"{n_states:,} states and {n_symbols:,} symbols need {n_symbols * n_states**2:,} "
            f"numbers, more than the limit of {MAX_NUMBERS:,}: choose fewer states or symbols"
        )


def _check_groups(n_symbols: int, states_per_symbol: int) -> None:
    whole_number("states_per_symbol", states_per_symbol, 1)
    n_numbers = (n_symbols * states_per_symbol) ** 2
    if n_numbers > MAX_NUMBERS:
        raise ArgumentError(
            f"states_per_symbol: {states_per_symbol:,} states after each of {n_symbols:,} symbols "
            f"need {n_numbers:,} numbers, more than the limit of {MAX_NUMBERS:,}: choose fewer"
        )


def _check_share(name: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ArgumentError(f"{name}: expected a share from 0 to 1, got {share}")
