"""Conditional blocks: of a box that predicts, how every context goes on.

The row of a context u is its row of the Hankel matrix divided by the weight of u as a prefix, so
that all rows are of the same size however improbable their contexts are: entries are P(v…|u), the
probability that v comes next, and P(v⋊|u), that v comes and then the end. One reading of a box's state
fills as many of them as there are symbols, and one more.

From such blocks comes an automaton of every rank, as from others, with one difference: states are
scaled so that state(u)·1̂ = 1 for one vector 1̂. The weight of all that can follow a state is then
known without a sum over all words, and the end is what no symbol takes: α∞ = (I − ΣMσ) 1̂.

A box may leak: it knows symbols outside the alphabet, and its probabilities sum to less than 1. The
step to such a symbol is then an outcome of its own, *elsewhere*, beside the symbols and the end,
and nothing follows it: elsewhere goes (I − ΣMσ) 1̂ − α∞. What is rare is judged by how words go on
that stay within the alphabet.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.ranks import RankedAutomata, ending
from seqray.automata.stepper import PredictingStepper, leak_of, with_elsewhere
from seqray.automata.tree import PrefixTree, States, walk
from seqray.automata.tree_batches import Corpus
from seqray.automata.words import Words
from seqray.blackbox.protocol import max_length_of
from seqray.extraction.basis import piece_lengths
from seqray.extraction.conditional.columns import Outcomes
from seqray.extraction.svd import truncated_svd
from seqray.fidelity.compare import Reference
from seqray.util.arrays import FloatArray, IntArray, read_only
from seqray.util.memory import memory_limit
from seqray.util.progress import Progress

logger = logging.getLogger(__name__)

N_CONTEXTS, N_COLUMNS = 1500, 250
"""How many contexts, and columns of their blocks, are enough for most boxes."""

RARE = 1e-3
"""What follows with less than this probability is not looked at: it counts as nothing."""

MANY_SYMBOLS = 33
"""With more symbols than this, only the most frequent parts of words are futures: the columns are
a number for each future and each symbol, so that all symbols as futures would be too many."""

FEWEST_FUTURES = 4
"""How many futures there are at least, with that many symbols."""

COPIES = 3
"""How many times as much memory as the blocks themselves is needed to work with them."""

LANES = 256
"""Contexts whose futures are read together, so that memory is bounded."""

LONGEST = 12
"""The longest future."""

SHARE = 0.1
"""How much words that are looked at besides count, beside all others."""


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
        P(v σ…|u), and then P(v⋊|u), of each row u and future v, shape ``(n_rows, n_futures,
        n_outcomes)``; 0 where v is rare after u. There are n_symbols + 1 outcomes, and of a box
        that leaks one more, elsewhere. With very many symbols there are fewer: those that are
        not frequent share some, which hold their sums.
    probabilities
        What comes next after each context, the end and elsewhere last, of every symbol,
        ``(n_contexts, …)``.
    n_steps
        How many symbols the box read.
    stays
        Of a box that leaks: the largest probability to stay within the alphabet. Blocks are those
        of a box whose next-symbol probabilities are divided by it, and elsewhere goes the rest: so
        values of long futures are not tiny. 1 for a box that does not leak.

    Examples
    --------
    >>> import seqray
    >>> wa = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> known = Reference.ask(wa, ["", "a", "ab"])
    >>> blocks = fill_conditional(wa, known, n_contexts=2, n_columns=9)
    >>> blocks
    ConditionalBlocks(2 contexts, 5 rows, 9 columns)
    >>> blocks.values[0]  # after the empty word: a…, b…, the end; aa…, ab…, a and the end; …
    array([[0.5   , 0.25  , 0.25  ],
           [0.25  , 0.125 , 0.125 ],
           [0.125 , 0.0625, 0.0625]])
    """

    rows: PrefixTree
    contexts: IntArray
    visits: FloatArray
    futures: Words
    values: FloatArray
    probabilities: FloatArray
    n_steps: int
    stays: float = 1.0

    @property
    def leaks(self) -> bool:
        """Whether there is an outcome elsewhere."""
        return bool(self.probabilities.shape[1] > len(self.rows.alphabet) + 1)

    @cached_property
    def children(self) -> IntArray:
        """The row of each context with each symbol, -1 where that is rare."""
        n_symbols = len(self.rows.alphabet)
        place = np.full(len(self.rows), -1)
        place[self.contexts] = np.arange(len(self.contexts))
        parents = place[self.rows.parent[1:]]
        known = np.flatnonzero(parents >= 0)
        found = np.full((len(self.contexts), n_symbols), -1)
        found[parents[known], self.rows.symbol[1:][known]] = 1 + known
        found[_within(self.probabilities[:, : n_symbols + 1])[:, :n_symbols] <= RARE] = -1
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
    box: PredictingStepper,
    known: Reference,
    *,
    n_contexts: int = N_CONTEXTS,
    n_columns: int = N_COLUMNS,
    besides: Reference | None = None,
    telling: Words | None = None,
    progress: Progress | None = None,
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
        How many contexts at most, and how many columns, about.
    besides
        What the box said of words that matter, however seldom they come up: their prefixes are
        contexts too.
    telling
        More futures, which are followed however rare they are.
    progress
        Called with how many rows are filled, and how many there are.
    """
    n_symbols = len(box.alphabet)
    longest_context, longest_future = _longest(max_length_of(box))
    n_contexts = _that_fit(known, n_contexts, n_columns)
    first = first_words(known.words.cut(longest_context), n_contexts)
    others = first[:0] if besides is None else besides.words.cut(longest_context)
    if besides is not None:
        known = Reference.joined([known, besides])
    assert known.next_symbol is not None
    chosen = PrefixTree.of(Words.concatenate([first, others]))
    contexts = chosen.words()
    probabilities = known.next_symbol[:, known.tree.find(chosen)].T
    parents, symbols = np.nonzero(_within(probabilities)[:, :n_symbols] > RARE)
    rows = PrefixTree.of(Words.concatenate([contexts, contexts[parents].extended(symbols)]))
    forced = PrefixTree.of((contexts[:0] if telling is None else telling).cut(longest_future))
    often = _futures(known.words, n_columns)
    futures = PrefixTree.of(Words.concatenate([often, forced.words()]).cut(longest_future))
    rare = np.full(len(futures), RARE)
    rare[futures.find(forced)] = 0
    outcomes = Outcomes.of(known.words, _n_outcomes(n_columns), futures.symbol[1:])
    reader = _Reader.of(box, known, outcomes)
    values = np.zeros((len(rows), len(futures), outcomes.n_columns + 1 + reader.leaks))
    place = np.full(len(rows), -1)
    place[rows.node_of_word[: len(contexts)]] = np.arange(len(contexts))
    after = np.empty((len(contexts), n_symbols + 1 + reader.leaks))
    n_steps, n_filled = len(rows) - 1, 0
    widest = int(np.diff(futures.levels).max())
    lanes = max(1, min(LANES, (getattr(box, "max_states", None) or LANES * widest) // widest))
    for nodes, states in walk(box, rows, box.start()):
        read, at = reader.read(states), place[nodes]
        values[nodes, 0] = outcomes.grouped(read)
        after[at[at >= 0]] = read[at >= 0]
        for begin in range(nodes.start, nodes.stop, lanes):
            here: IntArray = np.arange(begin, min(begin + lanes, nodes.stop))
            lanes_of = here - nodes.start
            n_steps += _read_futures(reader, states, lanes_of, here, futures, rare, values)
            n_filled += len(here)
            if progress is not None:
                progress(n_filled, len(rows))
    return ConditionalBlocks(
        rows,
        rows.node_of_word[: len(contexts)],
        _visits(chosen, first, others),
        futures.words(),
        read_only(values),
        read_only(after),
        n_steps,
        reader.stays,
    )


def _longest(limit: int | None) -> tuple[int, int]:
    """Return how long contexts and futures may be: with a symbol between them they must fit."""
    if limit is None:
        return sys.maxsize, LONGEST
    _, longest_future = piece_lengths(limit)
    longest_future = min(LONGEST, longest_future)
    return limit - 1 - longest_future, longest_future


def _within(probabilities: FloatArray) -> FloatArray:
    """Return what comes next given that it stays within the alphabet; the end is last."""
    leak = leak_of(probabilities)
    return np.asarray(probabilities / np.where(leak > 0, 1 - leak, 1.0)[:, None])


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads states of a box, elsewhere too if it leaks; see `ConditionalBlocks.stays`."""

    box: PredictingStepper
    outcomes: Outcomes
    stays: float
    leaks: bool

    @classmethod
    def of(cls, box: PredictingStepper, known: Reference, outcomes: Outcomes) -> _Reader:
        assert known.next_symbol is not None
        if not known.leaks:
            return cls(box, outcomes, 1.0, leaks=False)
        stays = float(1 - leak_of(known.next_symbol.T).min())
        return cls(box, outcomes, max(stays, np.finfo(float).tiny), leaks=True)

    def read(self, states: States) -> FloatArray:
        """Return the outcomes of each state."""
        probabilities = self.box.state_next_symbol(states)
        return with_elsewhere(probabilities / self.stays) if self.leaks else probabilities

    def kept(self, outcomes: FloatArray) -> FloatArray | float:
        """Return what is left of 1 within the alphabet; long ways of a leaking box keep little."""
        return outcomes[:, :-1].sum(axis=1) if self.leaks else 1.0


def _futures(words: Words, n_columns: int) -> Words:
    """Return what is looked at after every context, for about so many columns."""
    n_symbols = len(words.alphabet)
    n_parts = n_columns // (n_symbols + 1)
    if n_symbols > MANY_SYMBOLS:
        return frequent_parts(words, max(FEWEST_FUTURES, n_parts))
    # Every symbol is a future: a rare one may be all that tells two contexts apart.
    empty = words.alphabet.words([()])
    every = empty[np.zeros(n_symbols, np.int64)].extended(np.arange(n_symbols))
    return Words.concatenate([every, frequent_parts(words, max(1, n_parts))])


def _n_outcomes(n_columns: int) -> int:
    """Return how many columns the symbols after each future may have; there may be fewer."""
    return max(N_COLUMNS, n_columns) // FEWEST_FUTURES - 1


def _that_fit(known: Reference, n_contexts: int, n_columns: int) -> int:
    """Return how many contexts, of those wanted, have blocks that fit into half of the limit."""
    assert known.next_symbol is not None
    n_symbols, limit = len(known.tree.alphabet), memory_limit() // 2
    n_futures = len(PrefixTree.of(_futures(known.words, n_columns)))
    row = 8 * COPIES * n_futures * (min(n_symbols, _n_outcomes(n_columns)) + 2)
    n_children = (known.next_symbol[:n_symbols] > RARE).sum(axis=0)
    n_fit = n_contexts
    while True:
        chosen = known.tree.find(PrefixTree.of(first_words(known.words, n_fit)))
        n_rows = len(chosen) + int(n_children[chosen].sum())
        n_bytes = row * n_rows
        if n_bytes <= limit or n_fit == 1:
            break
        n_fit = max(1, int(0.9 * n_fit * limit / n_bytes))
    logger.info(
        "up to %s prefixes are asked about; blocks of %s rows take up to %.2g GB",
        *(f"{n_rows * n_futures:,}", f"{n_rows:,}", n_bytes / 1e9),
    )
    if n_fit < n_contexts:
        logger.warning(
            "only %d contexts of %d fit into %.2g GB of memory with %d symbols",
            *(n_fit, n_contexts, limit / 1e9, n_symbols),
        )
    return n_fit


def first_words(words: Words, n_prefixes: int) -> Words:
    """Return the first words that have so many prefixes together, the last one cut for that.

    >>> from seqray.automata.words import Alphabet
    >>> first_words(Alphabet("ab").words(["ab", "abba", "b"]), 4)
    Words(2 words over 2 symbols: ab, abb)
    """
    corpus = Corpus(words)

    def count(n_words: int) -> int:
        return len(corpus.batch(np.arange(n_words)).nodes) if n_words else 1

    low, high = 0, len(corpus)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(middle) <= n_prefixes else (low, middle - 1)
    if low == len(corpus):
        return words
    last = words[low : low + 1]
    n_old = count(low) + int(last.lengths[0]) - count(low + 1)  # how long a part of it is known
    length = n_old + n_prefixes - count(low)
    cut = Words(words.alphabet, last.codes[:length], np.array([0, length]))
    return Words.concatenate([words[:low], cut])


def _visits(chosen: PrefixTree, first: Words, others: Words) -> FloatArray:
    """Return how often each node is met in the first words, and a little in the others."""
    visits = _met(chosen, first)
    if not len(others):
        return visits
    more = _met(chosen, others)
    more *= SHARE * visits.sum() / more.sum()
    return visits + more


def _met(chosen: PrefixTree, words: Words) -> FloatArray:
    tree = PrefixTree.of(words)
    met = np.zeros(len(chosen))
    met[chosen.find(tree)] = tree.counts().sum(axis=1)
    return met


def _read_futures(
    reader: _Reader,
    states: States,
    lanes: IntArray,
    rows: IntArray,
    futures: PrefixTree,
    rare: FloatArray,
    values: FloatArray,
) -> int:
    """Read all futures that are not rare after some rows; return how many steps that took."""
    n_steps = 0
    kept = reader.kept(values[rows, 0]) * np.ones(len(rows))
    at: IntArray = np.zeros(len(rows), np.int64)  # the future that each state has read
    while True:
        n_children = np.diff(futures.first_child)[at]
        parents = np.repeat(np.arange(len(at)), n_children)
        first = np.repeat(futures.first_child[at] - np.cumsum(n_children) + n_children, n_children)
        child = first + np.arange(len(parents))
        symbols = futures.symbol[child]
        reach = values[rows[parents], at[parents], reader.outcomes.column[symbols]]
        goes_on = reach > rare[child] * kept[parents]
        if not goes_on.any():
            return n_steps
        parents, at, reach = parents[goes_on], child[goes_on], reach[goes_on]
        states = reader.box.step(states, lanes[parents], symbols[goes_on])
        rows, lanes = rows[parents], np.arange(len(parents))
        outcomes = reader.read(states)
        kept = kept[parents] * reader.kept(outcomes)
        values[rows, at] = reach[:, None] * reader.outcomes.grouped(outcomes)
        n_steps += len(parents)


def frequent_parts(words: Words, n_parts: int) -> Words:
    """Return the most frequent parts of words, the empty one first, closed under prefixes.

    >>> from seqray.automata.words import Alphabet
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


def frequent_endings(words: Words, n_endings: int) -> Words:
    """Return what most of some words end with.

    >>> from seqray.automata.words import Alphabet
    >>> [*frequent_endings(Alphabet("ab").words(["aab", "bab", "b"]), 2)]
    [('b',), ('a', 'b')]
    """
    met = Counter(
        word[len(word) - length :]
        for word in words
        for length in range(1, min(len(word), LONGEST) + 1)
    )
    return words.alphabet.words([ending for ending, _ in met.most_common(n_endings)])


def decompose_conditional(blocks: ConditionalBlocks, *, max_rank: int = 100) -> RankedAutomata:
    """Factor conditional blocks into weighted automata of every rank up to ``max_rank``.

    Contexts count as often as they were met. States are scaled so that, over the contexts, their
    coordinates are uncorrelated and of size 1.
    """
    share = blocks.visits / blocks.visits.sum()
    features = blocks.features
    weighted = np.sqrt(share)[:, None] * features[blocks.contexts]
    _, sizes, right = truncated_svd(weighted, max_rank, seed=np.random.default_rng(0))
    states = features @ (right.T / sizes)
    n_symbols = len(blocks.rows.alphabet)
    transitions = np.empty((n_symbols, len(sizes), len(sizes)))
    before = share[:, None] * states[blocks.contexts]
    for symbol in range(n_symbols):
        child = blocks.children[:, symbol]
        known = child >= 0
        after = blocks.probabilities[known, symbol, None] * states[child[known]]
        transitions[symbol] = before[known].T @ after
    through = before.sum(axis=0)
    start = states[blocks.contexts[0]]
    final, elsewhere = np.zeros(len(sizes)), None
    if blocks.leaks:  # what goes there is counted by `ending`
        transitions *= blocks.stays
        final, elsewhere = blocks.stays * (before.T @ blocks.probabilities[:, n_symbols]), final
    open_end = WeightedAutomaton(blocks.rows.alphabet, start, transitions, final, elsewhere)
    largest = ending(open_end, through)
    return RankedAutomata(largest, read_only(through), singular_values=read_only(sizes))
