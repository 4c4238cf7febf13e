"""Structured automata that several tests share."""

import numpy as np
from hypothesis import strategies as st

from seqray import Grouping, PairMatrices, StructuredAutomaton

NEAR = {"rtol": 1e-12, "atol": 1e-12}
"""How near the numbers of a structured automaton are to those of the dense one."""


def random_case(seed, *, signed=False, leaking=False, remembered=0.5, n_groups=4, max_size=5):
    """Draw a structured automaton over any grouping; a probabilistic one unless ``signed``."""
    rng = np.random.default_rng(seed)
    n_symbols = int(rng.integers(1, 4))
    n_groups = int(rng.integers(1, n_groups + 1))
    grouping = Grouping(
        rng.integers(n_groups, size=(n_groups, n_symbols)),
        rng.integers(1, max_size + 1, n_groups),
        int(rng.integers(n_groups)),
    )
    kept = rng.random((n_groups, n_symbols)) < remembered
    make = _signed if signed else _probabilities
    outcomes = make(rng, grouping.n_states, n_symbols + 2)
    if not leaking:
        outcomes[:, -2] += outcomes[:, -1]
    emission = outcomes[:, :-1] * (0.9 if signed else 1)
    matrices = {}
    for group, symbol in np.argwhere(kept).tolist():
        target = int(grouping.sizes[grouping.next_group[group, symbol]])
        rows = emission[grouping.states(group), symbol]
        matrices[group, symbol] = rows[:, None] * make(rng, len(rows), target)
    entry = np.concatenate([make(rng, 1, size)[0] for size in grouping.sizes.tolist()])
    return StructuredAutomaton(
        range(n_symbols),
        grouping,
        make(rng, 1, int(grouping.sizes[grouping.start]))[0],
        emission,
        entry,
        matrices,
        outcomes[:, -1] if leaking else None,
    )


def prefix_tree_case(n_nodes, *, n_contexts=3, size=4, n_symbols=3, seed=0):
    """Draw a prefix tree of groups of one state, which matrices of one row lead out of.

    They lead to a few groups of ``size`` states, with transitions of all kinds between these.
    """
    rng = np.random.default_rng(seed)
    n_groups = n_nodes + n_contexts
    sizes = np.r_[np.ones(n_nodes, int), np.full(n_contexts, size)]
    next_group = rng.integers(n_nodes, n_groups, (n_groups, n_symbols))
    parents, symbols = np.divmod(np.arange(n_nodes - 1), n_symbols)
    next_group[parents, symbols] = np.arange(1, n_nodes)
    grouping = Grouping(next_group, sizes)
    emission = _probabilities(rng, grouping.n_states, n_symbols + 1)
    kept = (next_group >= n_nodes) & (rng.random(next_group.shape) < 0.7)
    groups, codes = np.nonzero(kept)
    n_rows = sizes[groups]
    states = np.repeat(grouping.offsets[groups] - np.cumsum(n_rows) + n_rows, n_rows)
    weights = emission[states + np.arange(n_rows.sum()), np.repeat(codes, n_rows)]
    values = weights[:, None] * _probabilities(rng, len(weights), size)
    entry = np.r_[np.ones(n_nodes), _probabilities(rng, n_contexts, size).ravel()]
    matrices = PairMatrices(groups, codes, values.ravel())
    return StructuredAutomaton(range(n_symbols), grouping, [1], emission, entry, matrices)


def _probabilities(rng, n_rows, n_columns):
    rows = rng.random((n_rows, n_columns)) + 0.05
    rows[:, rng.permutation(n_columns)[: n_columns // 4]] = 0
    return rows / rows.sum(axis=1, keepdims=True)


def _signed(rng, n_rows, n_columns):
    return rng.normal(size=(n_rows, n_columns)) / n_columns


def structured_automata():
    """Draw structured automata: any grouping, with and without matrices, signs and leaks."""
    return st.builds(
        random_case,
        st.integers(0, 2**32 - 1),
        signed=st.booleans(),
        leaking=st.booleans(),
        remembered=st.sampled_from([0, 0.5, 1]),
    )


def precise_log_weights(wa, words):
    """Return signs and logarithms of weights, word by word, with an exponent for each number."""
    words = wa.alphabet.words(words)
    codes = np.split(words.codes, words.offsets[1:-1])
    return np.transpose([wa.precise_log_weight(each) for each in codes])
