"""An extraction with copies, that several tests share."""

from dataclasses import replace
from functools import cache

import numpy as np

import seqray
from seqray import Grouping, StructuredAutomaton
from seqray.automata.generators import random_machine
from seqray.extraction.conditional.parts import ConditionalRound
from seqray.extraction.structured.copies import Copy
from seqray.fidelity.table import Fidelity

N_STATES = 7


@cache
def machine():
    """Return a box that is no automaton of two states."""
    return random_machine("pfa", N_STATES, 3, seed=np.random.default_rng(1))


def in_one_group(wa):
    """Return an automaton as a structured one, all of whose states are in one group."""
    n_symbols = len(wa.alphabet)
    grouping = Grouping(np.zeros((1, n_symbols), int), [wa.n_states], 0)
    emission = np.column_stack([*wa.transitions.sum(axis=2), wa.final])
    matrices = {(0, code): wa.transitions[code] for code in range(n_symbols)}
    entry = np.full(wa.n_states, 1 / wa.n_states)
    return StructuredAutomaton(wa.alphabet, grouping, wa.initial, emission, entry, matrices)


def _fidelity(bits):
    metrics = {"kl_per_symbol": bits, "ndcg5": 0.99, "entropy_per_symbol": 2.0}
    return Fidelity(metrics, 20, 90)


@cache
def copied():
    """Return an extraction of ranks 1 and 2, and two copies; the last one is the box itself."""
    ranked = seqray.extract(machine(), n_prefixes=20, max_rank=2, purpose="reading")
    smaller = random_machine("pfa", N_STATES - 1, 3, seed=np.random.default_rng(2))
    copies = tuple(
        Copy(in_one_group(wa), _fidelity(bits)) for wa, bits in ((smaller, 0.02), (machine(), 0.01))
    )
    score = copies[-1].fidelity.score
    rounds = (*(ranked.settings.rounds or ()), ConditionalRound(9, 8, 7, score, 0.99))
    return replace(ranked, copies=copies, settings=replace(ranked.settings, rounds=rounds))
