"""Symbols of several tokens: from probabilities of tokens to probabilities of symbols.

A language model predicts tokens, and a symbol (a word, an action) may be several of them. The
symbols' tokens form a tree, which a `TokenTree` holds: symbols that begin with the same tokens
share its nodes. It knows neither a framework nor a server. After each prefix, whoever has the model

1. looks up which nodes of the tree are needed (`TokenTree.queries`),
2. finds the logarithm of the probability of each token that a node names, and
3. gets one row of probabilities of symbols and end (`TokenTree.log_rows`).

**The rule.** The probability of a symbol is the product of the probabilities of its tokens. Where
other symbols begin with all tokens of a symbol, the *longest match* counts: a stream of tokens is
read from left to right, and at each place the longest symbol that fits is read. So

- P(symbol) = P(its tokens) · (1 − P(going on to a longer symbol));
- after the symbol a continuation to the longer one is excluded, and the other probabilities are
  divided by the probability that it is excluded with;
- a symbol is impossible, with probability exactly 0, where its tokens would complete a longer
  symbol that began earlier. With the symbols 1, 2 and 12 for the tokens 1, 2 and (1, 2) the word
  '1 2' is impossible: its tokens are read as '12'.

Every stream of tokens is thus read as one word at most, and the probability of a word is that of
its tokens and the end, or 0. The end follows the same rule as symbols. Two symbols with the same
tokens, or with none, are refused. A symbol has one token sequence: other spellings of its text are
other streams. Whoever makes the sequences tokenises each symbol alone, with a separator before it
if the texts of symbols are separated (``" cat"``): a tokenizer that merges over the boundary of
two symbols would make other tokens of whole texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np

from seqray.automata.words import Words
from seqray.blackbox.longest_match import Exclusion, LongestMatch, TokenIds
from seqray.util.arrays import FloatArray, IntArray, read_only, whole_number
from seqray.util.errors import ArgumentError


class TokenNode(NamedTuple):
    """A node of the tree at which a model is queried."""

    path: TokenIds
    """The tokens that are read after the prefix."""
    tokens: TokenIds
    """The tokens whose probabilities are needed there."""
    columns: IntArray
    """Their columns in the array that `TokenTree.log_rows` takes."""


class TokenQuery(NamedTuple):
    """A query for the next token, see `TokenTree.queries`."""

    prefix: int
    """The number of the word, which is the row in the array that `TokenTree.log_rows` takes."""
    read: TokenIds
    """The tokens to read: those of the word, and then the path to the node."""
    tokens: TokenIds
    """The tokens whose probabilities are needed."""
    columns: IntArray
    """Their columns in the array that `TokenTree.log_rows` takes."""


class _RowPlan(NamedTuple):
    """How rows are computed after an exclusion: nodes, and numbers of entries and columns."""

    nodes: tuple[TokenNode, ...]
    entries: IntArray
    """The column of each entry: of the symbols, and then of the ends."""
    impossible: IntArray
    """Entries that cannot follow."""
    shorter: IntArray
    """Entries with which longer sequences begin."""
    longer: IntArray
    """The columns of these longer sequences, those of one entry together."""
    shorter_columns: IntArray
    """For each longer sequence the column of its entry."""
    first_longer: IntArray
    """For each shorter entry the place of its first longer sequence."""
    excluded: IntArray
    """The columns of the excluded sequences."""


@dataclass(frozen=True, eq=False, repr=False)
class TokenTree:
    """The tree of the tokens of symbols; `token_tree` makes it.

    What cannot follow a prefix is its *exclusion*, a number. It is 0 where nothing is excluded, as
    after the empty word, and always if no symbol begins with another.

    Parameters
    ----------
    symbols
        The token ids of each symbol, in the order of the alphabet.
    ends
        The token ids of the end; there may be several ends.
    renormalise
        Whether rows are divided by their sum over the symbols and the end.
    paths
        For each column of the array that `log_rows` takes, the path to the token that it is for.
    """

    symbols: tuple[TokenIds, ...]
    ends: tuple[TokenIds, ...]
    renormalise: bool
    paths: tuple[TokenIds, ...]
    _column: Mapping[TokenIds, int]
    _rule: LongestMatch
    _exclusions: tuple[Exclusion, ...]
    _after: IntArray
    _special: tuple[IntArray, IntArray]
    _levels: tuple[tuple[IntArray, IntArray], ...]
    _plans: dict[int, _RowPlan] = field(default_factory=dict)

    def __repr__(self) -> str:
        n_nodes = len(self.nodes(0))
        return f"TokenTree({len(self.symbols)} symbols, {self.sizes}, {n_nodes} nodes)"

    @property
    def sizes(self) -> str:
        """How many tokens the symbols have, for people: ``1 to 4 tokens each``."""
        sizes = sorted({len(tokens) for tokens in self.symbols})
        return f"{' to '.join(map(str, sizes[:: max(1, len(sizes) - 1)]))} tokens each"

    @property
    def n_exclusions(self) -> int:
        """How many exclusions there are: 1, which is 0, if nothing is ever excluded."""
        return len(self._exclusions)

    def nodes(self, exclusion: int) -> tuple[TokenNode, ...]:
        """Return the nodes that a row needs, the root first, parents before children."""
        return self._plan(exclusion).nodes

    @property
    def n_tokens(self) -> int:
        """The number of tokens of the longest symbol, or end."""
        return max(map(len, (*self.symbols, *self.ends)))

    def max_length(self, limit: int | None, n_before: int) -> int | None:
        """Return a length up to which a model can read all words; None: it can read any.

        Parameters
        ----------
        limit
            The most tokens that the model reads.
        n_before
            How many it reads before a word.
        """
        return None if limit is None else longest_word(limit, n_before, self.n_tokens)

    def contexts(self, words: Words) -> list[TokenIds]:
        """Return the tokens of each word."""
        return [
            tuple(chain.from_iterable(self.symbols[code] for code in words.codes[a:b].tolist()))
            for a, b in zip(words.offsets[:-1], words.offsets[1:], strict=True)
        ]

    def exclusions(self, words: Words) -> IntArray:
        """Return the exclusion after each word."""
        exclusions = np.zeros(len(words), np.int64)
        if self.n_exclusions > 1:
            for at in range(int(words.lengths.max(initial=0))):
                longer = np.flatnonzero(words.lengths > at)
                symbols = words.codes[words.offsets[longer] + at]
                exclusions[longer] = self.next_exclusions(exclusions[longer], symbols)
        return exclusions

    def next_exclusions(self, exclusions: IntArray, symbols: IntArray) -> IntArray:
        """Return the exclusions after one more symbol each."""
        following = self._after[symbols]
        keys, values = self._special
        if len(keys):
            key = exclusions * len(self.symbols) + symbols
            at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            following = np.where(keys[at] == key, values[at], following)
        return following

    def queries(self, words: Words) -> Iterator[TokenQuery]:
        """Yield what a model has to be queried for, to predict what follows each word."""
        contexts, exclusions = self.contexts(words), self.exclusions(words).tolist()
        for prefix, (context, exclusion) in enumerate(zip(contexts, exclusions, strict=True)):
            for path, tokens, columns in self.nodes(exclusion):
                yield TokenQuery(prefix, context + path, tokens, columns)

    def log_rows(self, exclusions: IntArray, logs: FloatArray) -> FloatArray:
        """Return the logarithm of the probability of each symbol, and last of the end.

        Parameters
        ----------
        exclusions
            The exclusion after each prefix, ``(n,)``.
        logs
            The logarithm of the probability of each token among all tokens, after each prefix and
            the path to its node, ``(n, n_paths)``. Columns that the exclusion's nodes do not name
            may hold anything.

        Returns
        -------
        FloatArray
            Shape ``(n, n_symbols + 1)``. With `renormalise` the probabilities of each row sum to 1;
            nan where all are 0. Otherwise what is missing from 1 is the probability of a stream
            that goes on with neither a symbol nor an end.
        """
        logs = np.asarray(logs, np.float64)
        rows = np.empty((len(logs), len(self.symbols) + 1))
        for exclusion in np.unique(exclusions).tolist():
            which = exclusions == exclusion
            rows[which] = self._rows(self._plan(exclusion), logs[which])
        return rows

    def _rows(self, plan: _RowPlan, logs: FloatArray) -> FloatArray:
        """Return rows of prefixes that have the same exclusion; ``logs`` is changed."""
        with np.errstate(invalid="ignore", divide="ignore"):  # where probabilities are 0
            for columns, parents in self._levels:
                logs[:, columns] += logs[:, parents]
            entries = logs[:, plan.entries]
            if len(plan.shorter):
                longer = np.exp(logs[:, plan.longer] - logs[:, plan.shorter_columns])
                going_on = np.add.reduceat(longer, plan.first_longer, axis=1)
                entries[:, plan.shorter] += _log_of_rest(going_on)
            entries[:, plan.impossible] = -np.inf
            if len(self.ends) > 1:
                n = len(self.symbols)
                entries = np.column_stack([entries[:, :n], _log_sum(entries[:, n:])])
            total = _log_sum(entries)
            if not self.renormalise:
                excluded = np.exp(logs[:, plan.excluded]).sum(axis=1, keepdims=True)
                total = np.fmax(total, _log_of_rest(excluded))
            rows: FloatArray = entries - total
        return rows

    def _plan(self, exclusion: int) -> _RowPlan:
        """Return how rows are computed; it is worked out when an exclusion is first met."""
        if exclusion not in self._plans:
            self._plans[exclusion] = self._new_plan(self._exclusions[exclusion])
        return self._plans[exclusion]

    def _new_plan(self, exclusion: Exclusion) -> _RowPlan:
        column, entries = self._column, self._rule.entries
        longer = self._rule.longer(exclusion)
        counts = [len(paths) for paths in longer.values()]
        return _RowPlan(
            nodes=_nodes(self._rule.paths(exclusion), column),
            entries=_numbers(column[tokens] for tokens in entries),
            impossible=_numbers(exclusion.impossible),
            shorter=_numbers(longer),
            longer=_numbers(column[path] for paths in longer.values() for path in paths),
            shorter_columns=np.repeat(_numbers(column[entries[i]] for i in longer), counts),
            first_longer=np.cumsum(_numbers([0, *counts[:-1]])),
            excluded=_numbers(column[path] for path in exclusion.sequences),
        )


def token_tree(
    symbols: Iterable[Sequence[int]],
    ends: Iterable[Sequence[int]],
    *,
    renormalise: bool = True,
) -> TokenTree:
    """Make the tree of the tokens of symbols.

    Parameters
    ----------
    symbols
        The token ids of each symbol, in the order of the alphabet.
    ends
        The token ids of the end. A model may have several ends: each of them ends the word.
    renormalise
        Whether rows are divided by their sum over the symbols and the end. Otherwise probabilities
        stay as they are among all streams of tokens, and rows may sum to less than 1.

    Examples
    --------
    The symbols are 'cat' and 'cats', which begin with the same token; the end is token 0.

    >>> tree = token_tree([[1], [1, 2]], [[0]])
    >>> tree
    TokenTree(2 symbols, 1 to 2 tokens each, 2 nodes)
    >>> [(node.path, node.tokens) for node in tree.nodes(0)]
    [((), (1, 0)), ((1,), (2,))]
    >>> tree.paths
    ((1,), (0,), (1, 2))
    >>> logs = np.log([[0.8, 0.1, 0.25]])  # P(cats) is 0.8 · 0.25, P(cat) is 0.8 · (1 - 0.25)
    >>> np.exp(tree.log_rows(np.array([0]), logs)).round(3)  # divided by their sum, 0.9
    array([[0.667, 0.222, 0.111]])
    """
    entries, n = _checked_entries(symbols, ends)
    rule = LongestMatch(entries, keeps_all=not renormalise)
    exclusions = rule.exclusions()
    sequences = chain(entries, *(sorted(exclusion.sequences) for exclusion in exclusions))
    cuts = dict.fromkeys(each[:cut] for each in sequences for cut in range(1, len(each) + 1))
    paths = sorted(cuts, key=len)
    column = {path: at for at, path in enumerate(paths)}
    number = {exclusion.sequences: i for i, exclusion in enumerate(exclusions)}
    special = {
        i * n + place: number[following]
        for i, exclusion in enumerate(exclusions)
        for place, following in sorted(exclusion.following.items())
        if place < n
    }
    return TokenTree(
        symbols=tuple(entries[:n]),
        ends=tuple(entries[n:]),
        renormalise=renormalise,
        paths=tuple(paths),
        _column=column,
        _rule=rule,
        _exclusions=tuple(exclusions),
        _after=_numbers(number[rule.sequences_after(place)] for place in range(n)),
        _special=(_numbers(special), _numbers(special.values())),
        _levels=_levels(paths, column),
    )


def longest_word(limit: int, n_before: int, n_tokens: int) -> int:
    """Return how many symbols any word may have, so that what follows can still be predicted.

    Parameters
    ----------
    limit
        The most tokens that a model reads.
    n_before
        How many it reads before a word.
    n_tokens
        The number of tokens of the longest symbol. To predict it, all but the last are read.

    Examples
    --------
    >>> longest_word(64, 1, 1), longest_word(64, 1, 3)
    (63, 20)
    """
    room = limit - n_before - (n_tokens - 1)
    if room < 0:
        raise ArgumentError(
            f"limit: {limit} tokens have no room for the {n_before} before a word and the "
            f"{n_tokens - 1} that are read to predict a symbol: choose shorter symbols"
        )
    return room // n_tokens


def _checked_entries(
    symbols: Iterable[Sequence[int]], ends: Iterable[Sequence[int]]
) -> tuple[list[TokenIds], int]:
    """Return the token ids of symbols and ends, and how many are symbols."""
    given = {"symbol": list(symbols), "end": list(ends)}
    entries: list[TokenIds] = []
    names: dict[TokenIds, str] = {}
    for what, sequences in given.items():
        if not sequences:
            raise ArgumentError(f"{what}s: expected the token ids of one at least, got none")
        for at, sequence in enumerate(sequences):
            name = f"{what} {at}"
            tokens = tuple(whole_number(f"tokens of {name}", token, 0) for token in sequence)
            if not tokens:
                raise ArgumentError(f"{name}: expected one token at least, got none")
            if tokens in names:
                raise ArgumentError(
                    f"{names[tokens]} and {name} have the same tokens {list(tokens)}: a stream of "
                    "tokens would not say which is read: leave one of them out"
                )
            names[tokens] = name
            entries.append(tokens)
    return entries, len(given["symbol"])


def _nodes(paths: Iterable[TokenIds], column: Mapping[TokenIds, int]) -> tuple[TokenNode, ...]:
    """Return the nodes on paths, with the tokens that the paths go on with."""
    tokens: dict[TokenIds, dict[int, None]] = {}
    for path in paths:
        for cut in range(len(path)):
            tokens.setdefault(path[:cut], {})[path[cut]] = None
    return tuple(
        TokenNode(path, tuple(some), _numbers(column[(*path, token)] for token in some))
        for path, some in sorted(tokens.items(), key=lambda item: len(item[0]))
    )


def _levels(
    paths: Sequence[TokenIds], column: Mapping[TokenIds, int]
) -> tuple[tuple[IntArray, IntArray], ...]:
    """Return the columns of the paths of each length from 2, and those of their parents."""
    levels = []
    for length in range(2, len(paths[-1]) + 1):
        same = [path for path in paths if len(path) == length]
        levels.append((_numbers(column[p] for p in same), _numbers(column[p[:-1]] for p in same)))
    return tuple(levels)


def _numbers(numbers: Iterable[int]) -> IntArray:
    return read_only(np.fromiter(numbers, np.int64))


def _log_of_rest(probabilities: FloatArray) -> FloatArray:
    """Return log(1 - p); rounding may have taken p above 1."""
    return np.where(probabilities < 1, np.log1p(-np.fmin(probabilities, 1)), -np.inf)


def _log_sum(logs: FloatArray) -> FloatArray:
    """Return the logarithms of the sums of probabilities, ``(n, 1)``; -inf where all are 0."""
    top = np.maximum(logs.max(axis=1, keepdims=True), np.finfo(np.float64).min)
    total: FloatArray = top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
    return total
