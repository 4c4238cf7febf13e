"""Weighted L*: a PDFA of a language model, by queries and counterexamples.

The algorithm of Weiss, Goldberg and Yahav, "Learning Deterministic Weighted Automata with Queries
and Counterexamples" (NeurIPS 2019), written from the paper. A table has prefixes as rows and
suffixes as columns; entries are the probabilities of a suffix's last symbol. Rows are equal if no
entry differs by more than the tolerance. The table is closed, the most probable prefixes first, and
made consistent; its rows are clustered, first by equality in steps, then into sets that are equal
throughout, then so that each symbol leads from a cluster to one cluster. Counterexamples are
searched in words that are drawn from the box and from the PDFA. It ends where none is found, or at
a limit on queries or time, with the PDFA of the table as it is.

Two things differ, in its favour: a suffix adds the whole next-symbol row as columns, since that is
one query; and a transition that was not read at a limit leads where the longest ending of its word
that is a row of the table leads.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from counted_box import CountedBox
from job import Arrays, Clock, Drawn, LimitReachedError, Word
from scipy.sparse.csgraph import connected_components

N_SAMPLES, MAX_LENGTH = 500, 100
"""Words of each kind in one search for counterexamples, and their greatest length."""


def fit(
    drawn: Drawn, clock: Clock, box: str, budget: int, tolerance: float
) -> tuple[Arrays, dict[str, Any]]:
    counted = CountedBox.open(box, budget, clock)
    table, is_complete = learn(counted, drawn.n_symbols, tolerance)
    next_state, rows = table.hypothesis()
    return {"table": next_state, "rows": rows}, {
        "queries": counted.n_queries,
        "limited": clock.is_over,
        "complete": is_complete,
    }


def learn(box: CountedBox, n_symbols: int, tolerance: float, seed: int = 0) -> tuple[Table, bool]:
    """Return the table at the end, and whether no counterexample was left in the last search."""
    table, rng = Table(box, n_symbols, tolerance), np.random.default_rng(seed)
    try:
        while True:
            table.close()
            while table.make_consistent():
                table.close()
            counterexample = search(table, rng)
            if counterexample is None:
                return table, True
            table.add_prefixes(counterexample)
    except LimitReachedError:
        return table, False


class Table:
    """The observation table: prefixes, suffixes without their last symbol, and their rows."""

    def __init__(self, box: CountedBox, n_symbols: int, tolerance: float) -> None:
        self.box, self.n_symbols, self.tolerance = box, n_symbols, tolerance
        self.stems: list[Word] = [()]
        self.weight: dict[Word, float] = {}  # of the prefixes in the table
        self.vectors: dict[Word, np.ndarray] = {}  # of them and of what follows them
        self.queue: list[tuple[float, Word]] = [(-1.0, ())]
        self.equal_to: dict[Word, int] = {}  # of what follows a prefix, and is in no row itself
        self._matrix = np.empty((0, n_symbols + 1))

    def vector(self, prefix: Word) -> np.ndarray:
        """Return the entries of a prefix, read if need be."""
        width = len(self.stems) * (self.n_symbols + 1)
        known = self.vectors.get(prefix)
        if known is None or len(known) < width:
            known = np.concatenate([self.box.row((*prefix, *stem)) for stem in self.stems])
            self.vectors[prefix] = known
        return known

    def close(self) -> None:
        """Add prefixes, the most probable first, until what follows them is equal to one."""
        while self.queue:
            weight, prefix = heapq.heappop(self.queue)
            if prefix not in self.weight and not self._is_covered(prefix):
                self.add(prefix, -weight)

    def add(self, prefix: Word, weight: float) -> None:
        """Add a prefix to the table; what follows it waits to be looked at."""
        vector = self.vector(prefix)
        self.weight[prefix] = weight
        self._matrix = np.concatenate([self._matrix, vector[None]])
        row = self.box.row(prefix)
        for code in range(self.n_symbols):
            heapq.heappush(self.queue, (-weight * row[code], (*prefix, code)))

    def add_prefixes(self, word: Word) -> None:
        """Add all prefixes of a counterexample."""
        weight = 1.0
        for end in range(len(word) + 1):
            if word[:end] not in self.weight:
                self.add(word[:end], weight)
            if end < len(word):
                weight *= self.box.row(word[:end])[word[end]]

    def _is_covered(self, prefix: Word) -> bool:
        """Say whether the table has an equal prefix, and remember the most nearly equal one."""
        distances = np.abs(self._matrix - self.vector(prefix)).max(axis=1)
        if not len(distances) or distances.min() > self.tolerance:
            return False
        self.equal_to[prefix] = int(distances.argmin())
        return True

    def make_consistent(self) -> bool:
        """Add a suffix if equal prefixes are followed by unequal ones; return whether it was."""
        prefixes = list(self.weight)
        matrix = np.stack([self.vector(prefix) for prefix in prefixes])
        after = [
            np.stack([self.vector((*prefix, code)) for prefix in prefixes])
            for code in range(self.n_symbols)
        ]
        for at in range(len(prefixes)):
            equal = np.abs(matrix[at:] - matrix[at]).max(axis=1) <= self.tolerance
            for code in range(self.n_symbols):
                distances = np.abs(after[code][at:][equal] - after[code][at]).max(axis=0)
                if distances.max() > self.tolerance:
                    stem = self.stems[int(distances.argmax()) // (self.n_symbols + 1)]
                    self._add_stem((code, *stem))
                    return True
        return False

    def _add_stem(self, stem: Word) -> None:
        self.stems.append(stem)
        prefixes = list(self.weight)
        self._matrix = np.stack([self.vector(prefix) for prefix in prefixes])
        for prefix in prefixes:
            row = self.box.row(prefix)
            for code in range(self.n_symbols):
                if (*prefix, code) not in self.weight:
                    self.queue.append((-self.weight[prefix] * row[code], (*prefix, code)))
        heapq.heapify(self.queue)

    # The PDFA -----------------------------------------------------------------------------------

    def hypothesis(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the next state by symbol, and the next-symbol row, of each cluster of prefixes."""
        prefixes = list(self.weight)
        first = self.n_symbols + 1
        width = min(len(self.vectors[prefix]) for prefix in prefixes)
        matrix = np.stack([self.vectors[prefix][:width] for prefix in prefixes])
        place = {prefix: at for at, prefix in enumerate(prefixes)}
        follows = np.array(
            [
                [place.get((*prefix, code), -1) for code in range(self.n_symbols)]
                for prefix in prefixes
            ]
        )
        cluster = deterministic(clustered(matrix, self.tolerance), follows)
        weights = np.array([self.weight[prefix] for prefix in prefixes]) + 1e-300
        n = int(cluster.max()) + 1
        sums = np.zeros((n, first))
        np.add.at(sums, cluster, matrix[:, :first] * weights[:, None])
        rows = sums / np.bincount(cluster, weights, n)[:, None]
        table = np.zeros((n, self.n_symbols), np.int64)
        for state in range(n):
            members = np.flatnonzero(cluster == state)
            members = members[np.argsort(-weights[members], kind="stable")]
            for code in range(self.n_symbols):
                inside = follows[members, code]
                if (inside >= 0).any():
                    at = int(inside[inside >= 0][0])
                else:
                    at = self._equal((*prefixes[members[0]], code), place)
                table[state, code] = cluster[at]
        return table, rows

    def _equal(self, word: Word, place: dict[Word, int]) -> int:
        if word in self.equal_to:
            return self.equal_to[word]
        while word not in place:
            word = word[1:]
        return place[word]


def clustered(matrix: np.ndarray, tolerance: float) -> np.ndarray:
    """Return a cluster of each row, the first row's is 0: no entry varies by more than allowed."""
    near = np.stack([np.abs(matrix - row).max(axis=1) <= tolerance for row in matrix])
    label = connected_components(near, directed=False)[1]
    waiting = [np.flatnonzero(label == at) for at in range(label.max() + 1)]
    cluster, n_done = np.empty(len(matrix), np.int64), 0
    while waiting:
        members = waiting.pop()
        low, high = matrix[members].min(axis=0), matrix[members].max(axis=0)
        widest = int((high - low).argmax())
        if high[widest] - low[widest] <= tolerance:
            cluster[members], n_done = n_done, n_done + 1
        else:
            is_low = matrix[members, widest] <= (low[widest] + high[widest]) / 2
            waiting += [members[is_low], members[~is_low]]
    return numbered(cluster)


def deterministic(cluster: np.ndarray, follows: np.ndarray) -> np.ndarray:
    """Split clusters until a symbol leads from all members that have it to one cluster."""
    before = 0
    while before < len(set(cluster.tolist())):
        before = len(set(cluster.tolist()))
        for after in follows.T:
            is_known = after >= 0
            target = np.where(is_known, cluster[after], -1)
            usual = np.zeros(len(cluster), np.int64)
            usual[cluster[is_known][::-1]] = target[is_known][::-1]  # of the first that has one
            target = np.where(is_known, target, usual[cluster])
            cluster = numbered(cluster * len(cluster) + target)
    return cluster


def numbered(keys: np.ndarray) -> np.ndarray:
    """Return equal numbers for equal keys, from 0 on in the order in which they come."""
    _, first, label = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[label]


def search(table: Table, rng: np.random.Generator) -> Word | None:
    """Return a word outside the table after which box and PDFA predict unequal rows."""
    next_state, rows = table.hypothesis()
    for at in range(2 * N_SAMPLES):
        word: list[int] = []
        state = 0
        while len(word) <= MAX_LENGTH:
            answer = table.box.row(tuple(word))
            is_unequal = np.abs(answer - rows[state]).max() > table.tolerance
            if is_unequal and tuple(word) not in table.weight:
                return tuple(word)
            drawn_from = answer if at % 2 else rows[state]
            code = int(np.searchsorted(drawn_from.cumsum(), rng.random() * drawn_from.sum()))
            if code >= table.n_symbols:
                break
            word.append(code)
            state = int(next_state[state, code])
    return None
