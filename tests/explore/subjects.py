"""What the pages of several tests are about."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np

import seqray
from seqray import WeightedAutomaton
from seqray.automata.generators import random_machine

NASTY = (
    *("<script>window.hit=1</script>", "</script><img src=x onerror=window.hit=2>"),
    *('"quotes"', "it's", "&amp;", "שלום", "👩‍🔬", "a b", "__proto__"),
)
"""Names of symbols that try to be something else."""


@cache
def machine(n_states=4):
    """Probabilities over four characters."""
    made = random_machine("pfa", n_states, 4, seed=np.random.default_rng(1))
    return WeightedAutomaton("abcd", made.initial, made.transitions, made.final)


@cache
def many_symbols():
    """Probabilities over sixty names."""
    names = [f"{what}.{how}" for what in ("order", "pay", "ship", "refund", "cancel", "notify")
             for how in ("begin", "end", "failed", "retry", "late", "by customer", "by agent",
                         "timeout", "again", "done")]  # fmt: skip
    made = random_machine("pfa", 5, 60, seed=np.random.default_rng(1))
    return WeightedAutomaton(names, made.initial, made.transitions, made.final)


@cache
def long_names(n=14):
    """Probabilities over names that differ at their end only; each state follows one of them."""
    rng = np.random.default_rng(0)
    names = [f"The customer asks for number {code}" for code in range(n)]
    transitions = np.zeros((n, n, n))
    transitions[np.arange(n), :, np.arange(n)] = rng.dirichlet(np.ones(n), size=n).T * 0.9
    return WeightedAutomaton(names, np.eye(n)[0], transitions, np.full(n, 0.1))


@cache
def probabilities():
    """An extraction by contexts: two ranks are fitted, the others cut from the largest.

    Nothing is nearer to a machine than what is cut, so the fitted ones are other machines.
    """
    found = seqray.extract(machine(), prefixes=60, max_rank=6, purpose="reading")
    automata = replace(found.automata, fitted={3: machine(3), 5: machine(5)})
    return replace(found, automata=automata)


@cache
def real_box():
    return seqray.black_box(lambda words: [w.count("a") - 0.5 * w.count("b") for w in words], "ab")


@cache
def real():
    """An extraction whose weights are not probabilities."""
    return seqray.extract(real_box(), prefixes=40, suffixes=40)


@cache
def signed():
    """An automaton with weights of both signs, over numbers."""
    rng = np.random.default_rng(3)
    transitions = rng.normal(size=(12, 5, 5)) * 0.2
    return WeightedAutomaton(range(12), rng.normal(size=5), transitions, rng.normal(size=5))


@cache
def large(n_states=100, n_symbols=20):
    """A distribution of many states and symbols."""
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.full(n_states * n_symbols + 1, 0.05), size=n_states) + 1e-9
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    transitions = probabilities[:, :-1].reshape(n_states, n_symbols, n_states).transpose(1, 0, 2)
    initial = rng.dirichlet(np.full(n_states, 0.2))
    return WeightedAutomaton(range(n_symbols), initial, transitions, probabilities[:, -1])


def brute_force_shapley(automaton, word, frequencies):
    """Shapley values by their definition, over all sets of known positions."""
    codes = automaton.alphabet.encode(word)
    n = len(codes)
    mean = np.tensordot(frequencies, automaton.transitions, 1)
    worth = {}
    for known in product((0, 1), repeat=n):
        state = automaton.initial
        for is_known, code in zip(known, codes, strict=True):
            state = state @ (automaton.transitions[code] if is_known else mean)
        worth[known] = state @ automaton.final
    values = np.zeros(n)
    factorial = np.array([float(np.prod(range(1, k + 1))) for k in range(n + 1)])
    for known, value in worth.items():
        size = sum(known)
        for at in range(n):
            if not known[at]:
                with_it = (*known[:at], 1, *known[at + 1 :])
                share = factorial[size] * factorial[n - size - 1] / factorial[n]
                values[at] += share * (worth[with_it] - value)
    return values
