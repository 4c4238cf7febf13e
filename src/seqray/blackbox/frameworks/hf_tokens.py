"""Language models whose symbols are several tokens, as black boxes.

What follows a word is read off the nodes of a tree of tokens (`seqray.blackbox.token_tree`). A
`TokenModel` reads each node once: a symbol is stepped from the node of its last token but one, or
is a node itself. A `TokenBackend` reads whole sequences of tokens, for a model whose cache cannot
be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from seqray.automata.reading import ReadsPredictions
from seqray.automata.words import Words
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.hf_cache import CachedStates, CachedStepper
from seqray.blackbox.frameworks.stepped import SteppedBox
from seqray.blackbox.guarded import blamed
from seqray.blackbox.longest_match import TokenIds
from seqray.blackbox.queried import QueriedModel, halving
from seqray.blackbox.token_tree import TokenTree, token_tree
from seqray.util.arrays import FloatArray, IntArray, whole_number
from seqray.util.errors import ArgumentError, BlackBoxError


def tree_of(card: Card) -> TokenTree:
    """Return the tree of the tokens of a card with tokens and an end."""
    ends = [] if card.end is None else [(card.end,)]
    try:
        tree = token_tree(card.tokens or (), ends, renormalise=card.renormalise)
        tree.max_length(card.limit, len(card.start_ids))  # refuses a limit without room
        return tree
    except ArgumentError as error:
        names = ", ".join(f"{i} is {symbol!r}" for i, symbol in enumerate(card.alphabet))
        raise ArgumentError(f"{error} ({names})") from error


def distinct_tokens(tree: TokenTree) -> IntArray:
    """Return the ids of all tokens in a tree, sorted: the columns of scores in this module."""
    return np.unique([path[-1] for path in tree.paths])


class NodeArrays(NamedTuple):
    """The nodes that are read after an exclusion, and where their scores go.

    The nodes of exclusion 0 come first, whatever the exclusion: symbols are stepped from them.
    """

    depth: IntArray
    """The depth of each node, which rises."""
    parent: IntArray
    """The number of each node's parent."""
    token: IntArray
    """The token that leads to each node."""
    column: IntArray
    """The columns of the array that `TokenTree.log_rows` takes."""
    column_node: IntArray
    """The node of each column."""
    column_score: IntArray
    """The place of each column's token among the distinct ones."""


class TokenBatch(NamedTuple):
    """States of words with the same number of tokens, and what was read to predict their rows."""

    n_tokens: int
    levels: tuple[CachedStates, ...]
    """The stepper's states at the nodes of each depth."""
    scores: tuple[FloatArray, ...]
    """The logarithm of each distinct token's probability there."""
    places: IntArray
    """The place of each node of exclusion 0 in its level, ``(n_nodes, n)``."""


class TokenStates(NamedTuple):
    """A batch of states: where each of them is, and logarithms of probabilities."""

    batches: tuple[TokenBatch, ...]
    batch: IntArray
    row: IntArray
    exclusions: IntArray
    log_weight: FloatArray
    log_next: FloatArray


class _SteppedPart(NamedTuple):
    """Some words after one more symbol, as states of a batch of the stepper."""

    which: IntArray
    states: CachedStates
    places: IntArray
    scores: FloatArray


class _Anchors(NamedTuple):
    """For each symbol the node from which it is stepped: its own, or that of its parent."""

    kinds: list[tuple[int, int]]
    """The number of tokens and the depth of the node, for each kind of symbol."""
    kind: IntArray
    node: IntArray
    last: IntArray
    """The last token of each symbol."""


@dataclass(frozen=True, eq=False, repr=False)
class TokenModel(ReadsPredictions, SteppedBox):
    """A language model with states, whose symbols are several tokens."""

    stepper: CachedStepper
    tree: TokenTree
    _arrays: dict[int, NodeArrays] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.tree.sizes})"

    @property
    def leaks(self) -> bool:
        """Whether next-symbol probabilities may sum to less than 1."""
        return self.card.leaks

    @property
    def max_states(self) -> int:
        """How many states may be stepped at once: each has keys and values at all its nodes."""
        return max(1, self.stepper.max_states // len(self.tree.nodes(0)))

    def start(self) -> TokenStates:
        """Return a batch of one: the state before the first symbol."""
        scores, inner = self._begin()
        exclusions = np.zeros(1, np.int64)
        batch, log_next = self._read_nodes(inner, self._usable(scores), exclusions)
        zeros = np.zeros(1, np.int64)
        return TokenStates((batch,), zeros, zeros, exclusions, np.zeros(1), log_next)

    def step(self, states: TokenStates, parents: IntArray, symbols: IntArray) -> TokenStates:
        """Return the states after reading ``symbols[i]`` in state ``states[parents[i]]``."""
        n = len(symbols)
        exclusions = self.tree.next_exclusions(states.exclusions[parents], symbols)
        log_weight = states.log_weight[parents] + states.log_next[parents, symbols]
        log_next = np.empty((n, len(self.alphabet) + 1))
        batch, row = np.empty(n, np.int64), np.empty(n, np.int64)
        batches: list[TokenBatch] = []
        with blamed(self.who, f" on {n} states and symbols"):
            for parts in self._stepped(states, parents, symbols).values():
                which = np.concatenate([part.which for part in parts])
                inner = self.stepper.joined([(part.states, part.places) for part in parts])
                scores = np.concatenate([part.scores for part in parts])
                batch[which], row[which] = len(batches), np.arange(len(which))
                fresh, log_next[which] = self._read_nodes(inner, scores, exclusions[which])
                batches.append(fresh)
        return TokenStates(tuple(batches), batch, row, exclusions, log_weight, log_next)

    def _stepped(
        self, states: TokenStates, parents: IntArray, symbols: IntArray
    ) -> dict[int, list[_SteppedPart]]:
        """Read symbols, or find them among the nodes; return parts by their number of tokens."""
        parts: dict[int, list[_SteppedPart]] = {}
        batch, row = states.batch[parents], states.row[parents]
        for number, before in enumerate(states.batches):
            for kind, (length, depth) in enumerate(self._anchors.kinds):
                which = np.flatnonzero((batch == number) & (self._anchors.kind[symbols] == kind))
                if not len(which):
                    continue
                places = before.places[self._anchors.node[symbols[which]], row[which]]
                level, scores = before.levels[depth], before.scores[depth]
                if length > depth:
                    last = self._anchors.last[symbols[which]]
                    fresh, level = self.stepper.advance(level, places, last)
                    scores, places = self._usable(fresh), np.arange(len(which))
                else:
                    scores = scores[places]
                part = _SteppedPart(which, level, places, scores)
                parts.setdefault(before.n_tokens + length, []).append(part)
        return parts

    @cached_property
    def _anchors(self) -> _Anchors:
        """The nodes from which symbols are stepped."""
        number = {node.path: i for i, node in enumerate(self.tree.nodes(0))}
        anchors = [s if s in number else s[:-1] for s in self.tree.symbols]
        pairs = [(len(s), len(a)) for s, a in zip(self.tree.symbols, anchors, strict=True)]
        kinds = sorted(set(pairs))
        return _Anchors(
            kinds,
            np.array([kinds.index(pair) for pair in pairs]),
            np.array([number[anchor] for anchor in anchors]),
            np.array([symbol[-1] for symbol in self.tree.symbols]),
        )

    def _read_nodes(
        self, inner: CachedStates, scores: FloatArray, exclusions: IntArray
    ) -> tuple[TokenBatch, FloatArray]:
        """Read the nodes of the tree after words of one number of tokens; return what follows."""
        groups = [
            (np.flatnonzero(exclusions == each), self._node_arrays(each))
            for each in np.unique(exclusions).tolist()
        ]
        places = [np.zeros((len(nodes.depth), len(rows)), np.int64) for rows, nodes in groups]
        for at, (rows, _) in zip(places, groups, strict=True):
            at[0] = rows
        logs = np.zeros((len(exclusions), len(self.tree.paths)))
        levels, all_scores = [inner], [scores]
        for depth in range(self.tree.n_tokens):
            if depth:
                parents, ids = _level(groups, places, depth)
                fresh, inner = self.stepper.advance(levels[-1], parents, ids)
                levels.append(inner)
                all_scores.append(self._usable(fresh))
            for at, (rows, nodes) in zip(places, groups, strict=True):
                here = np.flatnonzero(nodes.depth[nodes.column_node] == depth)
                read = all_scores[-1][at[nodes.column_node[here]], nodes.column_score[here, None]]
                logs[rows[:, None], nodes.column[here]] = read.T
        n_nodes = len(self.tree.nodes(0))
        joined = np.empty((n_nodes, len(exclusions)), np.int64)
        for at, (rows, _) in zip(places, groups, strict=True):
            joined[:, rows] = at[:n_nodes]
        batch = TokenBatch(levels[0].ids.shape[1], tuple(levels), tuple(all_scores), joined)
        return batch, checked_rows(self.tree.log_rows(exclusions, logs), self.who)

    def _node_arrays(self, exclusion: int) -> NodeArrays:
        if exclusion not in self._arrays:
            self._arrays[exclusion] = _node_arrays(self.tree, exclusion)
        return self._arrays[exclusion]

    def _usable(self, scores: FloatArray) -> FloatArray:
        return checked_logs(scores, self.who)


def _level(
    groups: Sequence[tuple[IntArray, NodeArrays]], places: Sequence[IntArray], depth: int
) -> tuple[IntArray, IntArray]:
    """Return parents and tokens of all nodes of a depth; set the places that they will have."""
    parents, ids, n = [], [], 0
    for at, (rows, nodes) in zip(places, groups, strict=True):
        here = np.flatnonzero(nodes.depth == depth)
        parents.append(at[nodes.parent[here]].ravel())
        ids.append(np.repeat(nodes.token[here], len(rows)))
        at[here] = n + np.arange(len(parents[-1])).reshape(len(here), len(rows))
        n += len(parents[-1])
    return np.concatenate(parents), np.concatenate(ids)


def _node_arrays(tree: TokenTree, exclusion: int) -> NodeArrays:
    needed = {node.path: node for node in tree.nodes(exclusion)}
    first = [node.path for node in tree.nodes(0)]
    paths = [*first, *sorted(needed.keys() - set(first), key=len)]
    number = {path: i for i, path in enumerate(paths)}
    tokens = distinct_tokens(tree)
    nodes = list(needed.values())
    return NodeArrays(
        depth=np.array([len(path) for path in paths]),
        parent=np.array([number[path[:-1]] for path in paths]),
        token=np.array([0, *(path[-1] for path in paths[1:])]),
        column=np.concatenate([node.columns for node in nodes]),
        column_node=np.repeat([number[n.path] for n in nodes], [len(n.tokens) for n in nodes]),
        column_score=np.searchsorted(tokens, np.concatenate([n.tokens for n in nodes])),
    )


def checked_logs(scores: Any, who: str) -> FloatArray:
    """Return the logarithms of probabilities that a model answered; refuse nan."""
    logs: FloatArray = np.asarray(scores, np.float64)
    wrong = np.isnan(logs).any(axis=1)
    if wrong.any():
        shown = np.array2string(logs[wrong.argmax()], precision=4, threshold=8)
        raise BlackBoxError(f"{who} answered {shown}: expected numbers, none nan")
    return logs


def checked_rows(rows: FloatArray, who: str) -> FloatArray:
    """Return rows of logarithms of probabilities; refuse those in which all are 0."""
    if np.isnan(rows).any():
        raise BlackBoxError(
            f"{who} gave no probability to any symbol nor to the end: expected probabilities of "
            "the next token; see the card's tokens and end"
        )
    return rows


# Whole sequences ------------------------------------------------------------------------------


def token_sequence_box(
    forward: Callable[[IntArray], FloatArray],
    card: Card,
    tree: TokenTree,
    *,
    who: str,
    fingerprint: str | None,
    batch_size: int,
) -> QueriedModel:
    """Make a black box of a language model that reads whole sequences of tokens.

    Parameters
    ----------
    forward
        Runs the model on ids ``(n, t)``, and returns the logarithms of the probabilities of the
        distinct tokens of the tree.
    card
        The symbols, and the tokens before a word.
    tree
        The tree of the symbols' tokens.
    who
        The model's name in error messages.
    fingerprint
        The key of its cached answers.
    batch_size
        The most ids in one call.
    """
    if card.start is None:
        raise ArgumentError(
            f"{who}: a language model needs an id to begin with: give the card a start"
        )
    batch_size = whole_number("batch_size", batch_size, 1)
    backend = TokenBackend(forward, card, tree, who, fingerprint, batch_size)
    return QueriedModel(backend, card.alphabet, card.leaks)


@dataclass(frozen=True, eq=False)
class TokenBackend:
    """Queries a language model whose symbols are several tokens, with whole sequences."""

    forward: Callable[[IntArray], FloatArray]
    card: Card
    tree: TokenTree
    who: str
    fingerprint: str | None
    batch_size: int
    deterministic: bool = False

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the model can certainly read."""
        return self.card.max_length

    def query(self, words: Words) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield rows of probabilities for some of the words at a time, short ones first."""
        order = np.argsort(words.lengths, kind="stable")
        n_nodes, longest = len(self.tree.nodes(0)), int(words.lengths.max(initial=0)) + 1
        n_together = max(1, self.batch_size // (n_nodes * longest * self.tree.n_tokens))
        for begin in range(0, len(order), n_together):
            which = order[begin : begin + n_together]
            yield from halving(lambda some: self._rows(words[some]), words, which, self.who)

    def _rows(self, words: Words) -> FloatArray:
        """Return what follows each word; each sequence of tokens is read once."""
        queries = list(self.tree.queries(words))
        scores = self._scores({query.read for query in queries})
        tokens = distinct_tokens(self.tree)
        logs = np.zeros((len(words), len(self.tree.paths)))
        for query in queries:
            read = scores[query.read]
            logs[query.prefix, query.columns] = read[np.searchsorted(tokens, query.tokens)]
        rows = self.tree.log_rows(self.tree.exclusions(words), logs)
        return np.exp(checked_rows(rows, self.who))

    def _scores(self, sequences: set[TokenIds]) -> dict[TokenIds, FloatArray]:
        """Return the logarithms of the distinct tokens' probabilities after sequences."""
        scores: dict[TokenIds, FloatArray] = {}
        for length in sorted({len(each) for each in sequences}):
            same = sorted(each for each in sequences if len(each) == length)
            read = np.array([(*self.card.start_ids, *each) for each in same], np.int64)
            n_together = max(1, self.batch_size // read.shape[1])
            for begin in range(0, len(read), n_together):
                some = self.forward(read[begin : begin + n_together])
                scores |= zip(same[begin:], checked_logs(some, self.who), strict=False)
        return scores
