"""Filled blocks and machines, for tests of bases that grow."""

import numpy as np

import seqray
from seqray import WeightedAutomaton, fill
from told import rng


def blocks_of(box, n_prefixes=20, n_suffixes=20, **options):
    return fill(
        box, seqray.uniform_basis(box.alphabet, n_prefixes, n_suffixes, seed=rng(), **options)
    )


def rare_machine(length=7):
    """Words a…ab with a chain of states: uniform words hardly ever follow it."""
    a = np.diag(np.full(length, 0.9), 1)
    b = np.zeros((length + 1, length + 1))
    b[length, 0] = 0.5
    final = np.append(np.full(length, 0.1), 0.5)
    return WeightedAutomaton("abcd", np.eye(length + 1)[0], [a, b, 0 * a, 0 * a], final)
