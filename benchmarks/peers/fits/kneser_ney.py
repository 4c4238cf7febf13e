"""n-grams with interpolated Kneser-Ney smoothing, as an exact PDFA whose states are contexts.

The end of a word is a symbol, and `BEGIN` stands before its first one. Counts of the full order,
and of contexts that begin a word, are how often a symbol follows; those of shorter contexts are
how many different symbols stand before context and symbol. Each order has one discount,
D = n₁ / (n₁ + 2 n₂), where n₁ and n₂ are how many of its counts are 1 and 2. The shortest context,
the empty one, is interpolated with the uniform distribution.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from job import Arrays, Clock, Drawn, Word

BEGIN = -1

Counts = dict[Word, Counter[int]]


def fit(drawn: Drawn, clock: Clock, order: int) -> tuple[Arrays, dict[str, Any]]:
    contexts, table, rows = kneser_ney(drawn.training, drawn.n_symbols, order)
    n_numbers = sum(len(row) for row in contexts.values()) + 2 * len(contexts)
    model = {"table": table, "rows": rows}
    return model, {"limited": clock.is_over, "numbers": n_numbers}


def kneser_ney(
    words: Iterable[Word], n_symbols: int, order: int
) -> tuple[Counts, np.ndarray, np.ndarray]:
    """Return the counts of each context, the next state by symbol, and the next-symbol rows.

    States are in the order of the contexts; state 0 is the one before the first symbol.
    """
    counts = counted(words, n_symbols, order)
    discounts = {length: discount(counts, length) for length in range(order)}
    rows: dict[Word, np.ndarray] = {}
    uniform = np.full(n_symbols + 1, 1 / (n_symbols + 1))
    for context in sorted(counts, key=len):
        shorter = rows[context[1:]] if context else uniform
        rows[context] = interpolated(counts[context], discounts[len(context)], shorter)
    place = {context: at for at, context in enumerate(counts)}
    table = np.array(
        [
            [place[longest_known((*context, code), place, order)] for code in range(n_symbols)]
            for context in counts
        ]
    )
    return counts, table, np.stack([rows[context] for context in counts])


def counted(words: Iterable[Word], n_symbols: int, order: int) -> Counts:
    """Return how often each symbol counts after each context of fewer than ``order`` symbols."""
    first = (BEGIN,)[: order - 1]
    full: Counts = defaultdict(Counter)
    full[first] = Counter()  # state 0
    for word in words:
        history = first
        for code in (*word, n_symbols):
            full[history][code] += 1
            history = (*history, code)[-(order - 1) :] if order > 1 else ()
    counts = dict(full)
    level = full
    for length in range(order - 1, 0, -1):
        shorter: Counts = defaultdict(Counter)
        for context, row in level.items():
            if len(context) == length:
                for code in row:
                    shorter[context[1:]][code] += 1  # one more symbol stands before it
        counts = {**counts, **{key: row for key, row in shorter.items() if key not in counts}}
        level = {**{key: row for key, row in full.items() if len(key) < length}, **shorter}
    return counts


def discount(counts: Counts, length: int) -> float:
    """Return the discount of the contexts of one length."""
    values = Counter(n for key, row in counts.items() if len(key) == length for n in row.values())
    return values[1] / (values[1] + 2 * values[2]) if values[1] else 0.5


def interpolated(row: Counter[int], cut: float, shorter: np.ndarray) -> np.ndarray:
    """Return the probabilities of a context: discounted counts, the rest as after a shorter one."""
    total = sum(row.values())
    probabilities = cut * len(row) / total * shorter
    for code, n in row.items():
        probabilities[code] += (n - cut) / total
    return probabilities


def longest_known(history: Word, place: dict[Word, int], order: int) -> Word:
    """Return the longest ending of a history that is a context with counts."""
    known = history[max(0, len(history) - order + 1) :]
    while known not in place:
        known = known[1:]
    return known
