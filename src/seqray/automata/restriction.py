"""An automaton restricted to a guide: all other words weigh exactly 0."""

from __future__ import annotations

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.deterministic import breadth_first
from seqray.automata.grouping import Grouping, PairMatrices
from seqray.automata.guide import Guide
from seqray.automata.structured import StructuredAutomaton
from seqray.util.arrays import BoolArray, IntArray
from seqray.util.errors import ArgumentError
from seqray.util.files import MAX_NUMBERS


def restricted(
    automaton: WeightedAutomaton, guide: str | WeightedAutomaton | Guide
) -> StructuredAutomaton:
    """Return the product of an automaton and a guide, scaled so that all words weigh 1 together.

    It gives an allowed word the weight that it had, divided by that of all allowed words, and
    every other word exactly 0. A group of states becomes one group for each state of the guide,
    with the same matrices: so one symbol takes as many multiplications as before.

    Parameters
    ----------
    automaton
        An automaton that is nearly a distribution.
    guide
        The words that keep a weight: a regular expression, see `seqray.regex_dfa`, a DFA, or an
        automaton without negative weights.

    Examples
    --------
    >>> coin = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> small = restricted(coin, "a b*")
    >>> small
    StructuredAutomaton(2 states in 2 groups, 2 symbols)
    >>> small.weights(["a", "ab", "b", "aa"])
    array([0.75  , 0.1875, 0.    , 0.    ])
    """
    product = _product(as_structured(automaton), Guide.of(guide, automaton.alphabet))
    total = float(product.initial @ product.prefix_final)
    if not (np.isfinite(total) and total > 0):
        raise ArgumentError(
            f"guide: the automaton gives all allowed words together the weight {total:.3g}: "
            "expected more than 0"
        )
    arrays = {**product.arrays, "initial_vector": product.initial_vector / total}
    return StructuredAutomaton.from_arrays(product.alphabet, arrays)


def masked(automaton: WeightedAutomaton, guide: Guide) -> StructuredAutomaton:
    """Return the product of an automaton and a guide, where all that is forbidden goes elsewhere.

    Allowed words keep their weights, and allowed symbols their probabilities after each prefix.

    >>> from seqray.automata.words import Alphabet
    >>> coin = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> leaking = masked(coin, Guide.of_regex("a b*", Alphabet("ab")))
    >>> leaking.weights(["a", "ab", "b"]), leaking.next_symbol(["a"])
    (array([0.125  , 0.03125, 0.     ]), array([[0.  , 0.25, 0.25]]))
    """
    return _product(as_structured(automaton), guide, leaks=True)


def _product(
    source: StructuredAutomaton, guide: Guide, *, leaks: bool = False
) -> StructuredAutomaton:
    """Return the product; where it leaks, what is forbidden goes elsewhere."""
    groups, guide_states, next_group = _pairs(source.grouping, guide)
    sizes = source.group_sizes[groups]
    most = MAX_NUMBERS // (len(source.alphabet) + 1)
    if sizes.sum() > most:
        raise ArgumentError(
            f"guide: the automaton restricted to it has {sizes.sum():,} states: expected at most "
            f"{most:,}, use a smaller automaton or a guide of fewer states"
        )
    offsets = source.offsets[groups]
    states = np.repeat(offsets - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    allowed = guide.allowed[guide_states]
    of_state = np.repeat(allowed, sizes, axis=0)
    elsewhere = None if source.elsewhere is None else source.elsewhere[states]
    if leaks:
        lost = np.column_stack([source.blocks.times(source.prefix_final), source.final])[states]
        forbidden = np.where(of_state, 0.0, lost).sum(axis=1)
        elsewhere = forbidden if elsewhere is None else elsewhere + forbidden
    return StructuredAutomaton(
        source.alphabet,
        Grouping(next_group, sizes),
        source.initial_vector,
        np.where(of_state, source.emission[states], 0.0),
        source.entry[states],
        _matrices(source, groups, allowed[:, :-1]),
        elsewhere,
    )


def as_structured(automaton: WeightedAutomaton) -> StructuredAutomaton:
    """Return the same automaton as one whose states are in groups: a dense one has one group.

    >>> as_structured(WeightedAutomaton("a", [1], [[[0.5]]], [0.5]))
    StructuredAutomaton(1 states in 1 groups, 1 symbols)
    """
    if isinstance(automaton, StructuredAutomaton):
        return automaton
    n, n_symbols = automaton.n_states, len(automaton.alphabet)
    emission = np.zeros((n, n_symbols + 1))
    emission[:, -1] = automaton.final
    codes = np.arange(n_symbols)
    return StructuredAutomaton(
        automaton.alphabet,
        Grouping(np.zeros((1, n_symbols), np.int64), [n]),
        automaton.initial,
        emission,
        np.full(n, 1 / n),
        PairMatrices(np.zeros_like(codes), codes, automaton.transitions.ravel()),
        automaton.elsewhere,
    )


def _pairs(grouping: Grouping, guide: Guide) -> tuple[IntArray, IntArray, IntArray]:
    """Return the group and the guide's state of each pair that a word reaches, and their table.

    The start comes first. What the guide forbids leads there, too: it has no weight.
    """
    n_guide, start = guide.dfa.n_states, grouping.start * guide.dfa.n_states
    start += guide.dfa.start_state
    code = np.arange(grouping.n_groups * n_guide)
    groups, states = np.divmod(code, n_guide)
    table = grouping.next_group[groups] * n_guide + guide.dfa.next_state[states]
    table = np.where(guide.allowed[states, :-1], table, start)
    reached = breadth_first(table, start)
    place = np.empty(len(code), np.int64)
    place[reached] = np.arange(len(reached))
    return groups[reached], states[reached], place[table[reached]]


def _matrices(source: StructuredAutomaton, groups: IntArray, allowed: BoolArray) -> PairMatrices:
    """Return the matrices of all pairs of a new group and a symbol that may follow it."""
    remembering = source.remembering
    pair = np.where(allowed, remembering.index[groups], -1)
    new_groups, symbols = np.nonzero(pair >= 0)
    pairs = pair[new_groups, symbols]
    _, first, numbers = np.unique(
        remembering.numbers[pairs], return_index=True, return_inverse=True
    )
    values = [np.empty(0), *(remembering[each].ravel() for each in pairs[first].tolist())]
    return PairMatrices(new_groups, symbols, np.concatenate(values), numbers.ravel())
