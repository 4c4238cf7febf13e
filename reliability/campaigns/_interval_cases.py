"""Boxes and automata whose fidelity is known, easy and hard ones, for the campaign of intervals."""

from typing import NamedTuple

import numpy as np

from seqray import WeightedAutomaton
from seqray.automata.generators import random_machine
from seqray.util.arrays import FloatArray


class Case(NamedTuple):
    """A box, and an automaton near to it; the first symbol of a word says of which kind it is."""

    box: WeightedAutomaton
    automaton: WeightedAutomaton
    n_words: int = 100_000


def cases(seed: int) -> dict[str, Case]:
    """Return all cases by name; other seeds have other machines."""
    found = {}
    for kind, at in (("pfa", 41), ("hmm", 42), ("dpfa", 44)):
        machine = random_machine(kind, 6, 4, seed=at + 100 * seed)
        found[f"{kind}, moved by half"] = Case(machine, moved(machine, 0.5, at))
    machine = random_machine("pfa", 6, 4, seed=45 + 100 * seed)
    found["nearly perfect"] = Case(machine, moved(machine, 1e-4, 3))
    common, rare = (random_machine("pfa", 5, 3, seed=at + 100 * seed) for at in (41, 47))
    for share in (1 / 70, 0.01, 0.001):
        shares = (1 - share, share)
        box = branching([common, rare], shares)
        exact = branching([common, moved(rare, 3, 5)], shares)
        near = branching([moved(common, 0.1, 2), moved(rare, 3, 5)], shares)
        found[f"1 word in {round(1 / share):,} fails, others exact"] = Case(box, exact)
        found[f"1 word in {round(1 / share):,} fails, others near"] = Case(box, near)
    found["heavy tail of losses"] = Case(doubling(False), doubling(True))
    short, long = chain(0.4, 1), chain(0.01, 2)
    lengths = [moved(short, 0.3, 1), moved(long, 1.0, 2)]
    found["lengths of 1 and of 100"] = Case(
        branching([short, long], (0.9, 0.1)), branching(lengths, (0.9, 0.1)), n_words=20_000
    )
    for share in (0.1, 0.005):
        shares = (1 - share, share)
        near = branching([moved(common, 0.3, 1), without_last(short)], shares)
        found[f"probability 0 after 1 word in {round(1 / share):,}"] = Case(
            branching([common, short], shares), near
        )
    return found


def moved(machine: WeightedAutomaton, by: float, seed: int) -> WeightedAutomaton:
    """Return a machine whose probabilities are changed by up to a factor of e to the ``by``."""
    rng = np.random.default_rng(seed)

    def change(values: FloatArray) -> FloatArray:
        return values * np.exp(by * rng.uniform(-1, 1, values.shape))

    return _scaled(machine, change(machine.transitions), change(machine.final))


def without_last(machine: WeightedAutomaton) -> WeightedAutomaton:
    """Return a machine that gives the probability 0 to the last symbol."""
    transitions = np.array(machine.transitions)
    transitions[-1] = 0
    return _scaled(machine, transitions, machine.final)


def _scaled(
    machine: WeightedAutomaton, transitions: FloatArray, final: FloatArray
) -> WeightedAutomaton:
    rows = transitions.sum(axis=(0, 2)) + final
    return WeightedAutomaton(
        machine.alphabet, machine.initial, transitions / rows[:, None], final / rows
    )


def branching(machines: list[WeightedAutomaton], shares: tuple[float, ...]) -> WeightedAutomaton:
    """Return an automaton that reads symbol i first, as often as share i says, then machine i."""
    n_symbols = max(len(each.alphabet) for each in machines)
    n = 1 + sum(each.n_states for each in machines)
    transitions, final = np.zeros((n_symbols, n, n)), np.zeros(n)
    at = 1
    for i, (machine, share) in enumerate(zip(machines, shares, strict=True)):
        states = slice(at, at + machine.n_states)
        transitions[i, 0, states] = share * machine.initial
        transitions[: len(machine.alphabet), states, states] = machine.transitions
        final[states] = machine.final
        at = states.stop
    return WeightedAutomaton(range(n_symbols), np.eye(n)[0], transitions, final)


def chain(stop: float, seed: int) -> WeightedAutomaton:
    """Return an automaton of one state that stops with a probability."""
    symbols = np.random.default_rng(seed).dirichlet(np.ones(3))
    return WeightedAutomaton(range(3), [1.0], ((1 - stop) * symbols)[:, None, None], [stop])


def doubling(loses: bool, n_symbols: int = 9) -> WeightedAutomaton:
    """Return an automaton with losses of huge variance: from symbol to symbol they double.

    The first symbol is k with a probability like 4⁻ᵏ; then one that loses 2ᵏ / 16 bits.
    """
    first = 4.0 ** -np.arange(n_symbols)
    kept = 2.0 ** -(2.0 ** np.arange(n_symbols) / 16) if loses else np.ones(n_symbols)
    n = n_symbols + 2
    transitions, final = np.zeros((n_symbols, n, n)), np.zeros(n)
    codes = np.arange(n_symbols)
    transitions[codes, 0, 1 + codes] = first / first.sum()
    transitions[0, 1 + codes, n - 1] = kept
    final[1:-1], final[-1] = 1 - kept, 1
    return WeightedAutomaton(range(n_symbols), np.eye(n)[0], transitions, final)
