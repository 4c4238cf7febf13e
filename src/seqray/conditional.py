"""Conditional blocks: of a box that predicts, how every context goes on.

The row of a context u is its row of the Hankel matrix divided by the weight of u as a prefix, so
that all rows are of the same size however improbable their contexts are: entries are P(v…|u), the
chance that v comes next, and P(v⋊|u), that v comes and then the end. One reading of a box's state
fills as many of them as there are symbols, and one more.

From such blocks comes an automaton of every rank, as from others, with one difference: states are
scaled so that state(u)·1̂ = 1 for one vector 1̂. The weight of all that can follow a state is then
known without a sum over all words, and the end is what no symbol takes: α∞ = (I − ΣMσ) 1̂.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.arrays import FloatArray, IntArray, read_only
from seqray.automaton import WeightedAutomaton
from seqray.batches import Corpus, TreeBatch
from seqray.fidelity import Reference
from seqray.spectral import Decomposition, truncated_svd
from seqray.stepper import PredictingStepper
from seqray.tree import PrefixTree, States, walk
from seqray.words import Words

RARE = 1e-3
"""What follows with less than this chance is not looked at: it counts as nothing."""

LANES = 256
"""Contexts whose futures are read together, so that memory is bounded."""

LONGEST = 12
"""The longest future."""


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalBlocks:
    """How contexts go on, and their children.

    Parameters
    ----------
    rows
        The contexts and those children of theirs that are not rare, closed under prefixes.
    contexts
        Which nodes of ``rows`` are the contexts, the empty word first, shape ``(n_contexts,)``.
    visits
        How often each context was met, shape ``(n_contexts,)``.
    futures
        What may follow, closed under prefixes.
    values
        P(v σ…|u), and last P(v⋊|u), of each row u and future v, shape ``(n_rows, n_futures,
        n_symbols + 1)``; 0 where v is rare after u.
    n_steps
        How many symbols the box read.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> known = Reference.ask(wa, ["", "a", "ab"])
    >>> blocks = fill_conditional(wa, known, n_contexts=2, n_columns=6)
    >>> blocks
    ConditionalBlocks(2 contexts, 5 rows, 6 columns)
    >>> blocks.values[0]  # after the empty word: a…, b…, the end; aa…, ab…, a and the end
    array([[0.5  , 0.25 , 0.25 ],
           [0.25 , 0.125, 0.125]])
    """

    rows: PrefixTree
    contexts: IntArray
    visits: FloatArray
    futures: Words
    values: FloatArray
    n_steps: int

    @cached_property
    def chances(self) -> FloatArray:
        """What comes next after each context, the end last, ``(n_contexts, n_symbols + 1)``."""
        return read_only(self.values[self.contexts, 0])

    @cached_property
    def children(self) -> IntArray:
        """The row of each context with each symbol, -1 where that is rare."""
        n_symbols = len(self.rows.alphabet)
        found = np.full((len(self.rows), n_symbols), -1)
        found[self.rows.parent[1:], self.rows.symbol[1:]] = np.arange(1, len(self.rows))
        found = found[self.contexts]
        found[self.chances[:, :n_symbols] <= RARE] = -1
        return read_only(found)

    @cached_property
    def features(self) -> FloatArray:
        """The rows as they are compared, shape ``(n_rows, n_columns)``.

        A column is divided by the root of its size, so that frequent futures count for more than
        rare ones, but not as much more as they are frequent.
        """
        flat = self.values.reshape(len(self.rows), -1)
        share = self.visits / self.visits.sum()
        sizes = np.sqrt(share @ flat[self.contexts] ** 2)
        return read_only(flat / np.sqrt(np.maximum(sizes, 1e-4)))

    def __repr__(self) -> str:
        n_columns = self.values.shape[1] * self.values.shape[2]
        return (
            f"ConditionalBlocks({len(self.contexts)} contexts, {len(self.rows)} rows, "
            f"{n_columns} columns)"
        )


def fill_conditional(
    box: PredictingStepper, known: Reference, *, n_contexts: int = 1500, n_columns: int = 250
) -> ConditionalBlocks:
    """Ask a box how the prefixes of some words go on.

    Parameters
    ----------
    box
        What to ask.
    known
        What the box said of words, best drawn from the box itself. The prefixes of the first of
        them become the contexts, and what is most frequent in all of them the futures.
    n_contexts, n_columns
        How many contexts and columns, about.
    """
    assert known.next_symbol is not None
    n_symbols, words = len(box.alphabet), known.words
    chosen = _first_words(Corpus(words), n_contexts)
    contexts = known.tree.words(chosen.nodes)
    parents, symbols = np.nonzero(known.next_symbol[:n_symbols, chosen.nodes].T > RARE)
    rows = PrefixTree.of(Words.concatenate([contexts, contexts[parents].extended(symbols)]))
    # Every symbol is a future: a rare one may be all that tells two contexts apart.
    every = contexts[np.zeros(n_symbols, np.int64)].extended(np.arange(n_symbols))
    often = frequent_parts(words, n_columns // (n_symbols + 1))
    futures = PrefixTree.of(Words.concatenate([every, often]))
    values = np.zeros((len(rows), len(futures), n_symbols + 1))
    n_steps = len(rows) - 1
    for nodes, states in walk(box, rows, box.start()):
        values[nodes, 0] = box.state_next_symbol(states)
        for begin in range(nodes.start, nodes.stop, LANES):
            here: IntArray = np.arange(begin, min(begin + LANES, nodes.stop))
            n_steps += _read_futures(box, states, here - nodes.start, here, futures, values)
    return ConditionalBlocks(
        rows,
        rows.node_of_word[: len(contexts)],
        chosen.counts.sum(axis=1, dtype=np.float64),
        futures.words(),
        read_only(values),
        n_steps,
    )


def _first_words(corpus: Corpus, n_prefixes: int) -> TreeBatch:
    """Return the tree of as many of the first words as have so many prefixes, at least of one."""
    low, high = 1, len(corpus)
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(corpus.batch(np.arange(middle)).nodes) <= n_prefixes
        low, high = (middle, high) if fits else (low, middle - 1)
    return corpus.batch(np.arange(low))


def _read_futures(
    box: PredictingStepper,
    states: States,
    lanes: IntArray,
    rows: IntArray,
    futures: PrefixTree,
    values: FloatArray,
) -> int:
    """Read all futures that are not rare after some rows; return how many steps that took."""
    n_steps = 0
    at: IntArray = np.zeros(len(rows), np.int64)  # the future that each state has read
    while True:
        n_children = np.diff(futures.first_child)[at]
        parents = np.repeat(np.arange(len(at)), n_children)
        first = np.repeat(futures.first_child[at] - np.cumsum(n_children) + n_children, n_children)
        child = first + np.arange(len(parents))
        symbols = futures.symbol[child]
        reach = values[rows[parents], at[parents], symbols]
        goes_on = reach > RARE
        if not goes_on.any():
            return n_steps
        parents, at, reach = parents[goes_on], child[goes_on], reach[goes_on]
        states = box.step(states, lanes[parents], symbols[goes_on])
        rows, lanes = rows[parents], np.arange(len(parents))
        values[rows, at] = reach[:, None] * box.state_next_symbol(states)
        n_steps += len(parents)


def frequent_parts(words: Words, n_parts: int) -> Words:
    """Return the most frequent parts of words, the empty one first, closed under prefixes.

    >>> from seqray.words import Alphabet
    >>> [*frequent_parts(Alphabet("ab").words(["abab", "bab"]), 4)]
    [(), ('b',), ('a',), ('a', 'b')]
    """
    n_symbols = len(words.alphabet)
    left = np.repeat(words.offsets[1:], words.lengths) - np.arange(len(words.codes))
    start, part = np.flatnonzero(left > 0), np.zeros(len(words.codes), np.int64)
    parts, counts = [words.alphabet.words([()])], [np.array([len(words.codes) + 1])]
    for length in range(min(LONGEST, int(words.lengths.max(initial=0)))):
        alive = left[start] > length
        start, part = start[alive], part[alive]
        if not len(start):
            break
        keys = part * n_symbols + words.codes[start + length]
        distinct, part, n_met = np.unique(keys, return_inverse=True, return_counts=True)
        parts.append(parts[-1][distinct // n_symbols].extended(distinct % n_symbols))
        counts.append(n_met)
        # What is not among the most frequent now is the beginning of nothing that is.
        met = np.concatenate(counts)
        least = np.partition(met, -n_parts)[-n_parts] if len(met) > n_parts else 0
        often = (n_met >= least)[part]
        start, part = start[often], part[often]
    order = np.argsort(-np.concatenate(counts), kind="stable")[:n_parts]
    return Words.concatenate(parts)[order]


def decompose_conditional(blocks: ConditionalBlocks, *, max_rank: int = 100) -> Decomposition:
    """Factor conditional blocks into weighted automata of every rank up to ``max_rank``.

    Contexts count as often as they were met. States are scaled so that, over the contexts, their
    coordinates are uncorrelated and of size 1.
    """
    share = blocks.visits / blocks.visits.sum()
    features = blocks.features
    weighted = np.sqrt(share)[:, None] * features[blocks.contexts]
    _, sizes, right = truncated_svd(weighted, max_rank, rng=np.random.default_rng(0))
    states = features @ (right.T / sizes)
    n_symbols = len(blocks.rows.alphabet)
    transitions = np.empty((n_symbols, len(sizes), len(sizes)))
    before = share[:, None] * states[blocks.contexts]
    for symbol in range(n_symbols):
        child = blocks.children[:, symbol]
        known = child >= 0
        after = blocks.chances[known, symbol, None] * states[child[known]]
        transitions[symbol] = before[known].T @ after
    through = before.sum(axis=0)
    start = states[blocks.contexts[0]]
    final = through - transitions.sum(axis=0) @ through
    largest = WeightedAutomaton(blocks.rows.alphabet, start / (start @ through), transitions, final)
    return Decomposition(read_only(sizes), largest, read_only(through))
