"""The box's answers that a page carries: weights, next symbols, and the worst disagreements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.stepper import PredictingStepper, read_each
from seqray.automata.words import Words
from seqray.blackbox.arguments import as_box
from seqray.blackbox.protocol import BlackBox
from seqray.fidelity.disagreements import Disagreement, disagreements
from seqray.fidelity.reference import Reference, drawn_words
from seqray.fidelity.table import Fidelity
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError
from seqray.util.formatting import counted

N_SHOWN_WORDS = 1500
"""How many different words a page carries with the box's weight."""

MAX_SYMBOLS = 40_000
"""How many symbols these words may have in all."""

N_PREFIXES = 150
"""After how many prefixes a page carries the box's next symbols."""

MAX_PROBABILITIES = 12_000
"""How many numbers that may take."""

N_WORST = 6
"""How many disagreements are shown of each search method."""


@dataclass(frozen=True, eq=False)
class RecordedAnswers:
    """Answers of a box on words, and the fidelity of the automata on them.

    Parameters
    ----------
    words, weights
        Different words and the box's weights of them, shape ``(n_words,)``.
    prefixes, next_symbol
        Frequent prefixes, the most frequent first, and the box's next symbols after each, the end
        last, shape ``(n_prefixes, n_symbols + 1)``; None where it does not predict.
    worst, worst_next
        Words on which box and automaton disagree, and the box's next symbols after each.
    fidelity
        By rank.
    source
        Where the words are from, for people.
    """

    words: Words
    weights: FloatArray
    prefixes: Words | None
    next_symbol: FloatArray | None
    worst: Sequence[Disagreement]
    worst_next: FloatArray | None
    fidelity: Mapping[int, Fidelity]
    source: str

    def fewer(self, share: float) -> RecordedAnswers:
        """Return a share of the words and prefixes only, for pages with little room."""
        n_words = max(1, int(share * len(self.words)))
        n_prefixes = 0 if self.prefixes is None else max(10, int(share * len(self.prefixes)))
        return replace(
            self,
            words=self.words[:n_words],
            weights=self.weights[:n_words],
            prefixes=None if self.prefixes is None else self.prefixes[:n_prefixes],
            next_symbol=None if self.next_symbol is None else self.next_symbol[:n_prefixes],
        )

    def to_json(self) -> dict[str, Any]:
        """Return it for the page; words are lists of codes."""
        alphabet = self.words.alphabet
        return {
            "source": self.source,
            "words": _codes(self.words),
            "weights": self.weights.tolist(),
            "prefixes": None if self.prefixes is None else _codes(self.prefixes),
            "next": _table(self.next_symbol),
            "worst": [
                {
                    "word": alphabet.encode(each.word).tolist(),
                    "source": each.source,
                    "box": each.box,
                }
                for each in self.worst
            ],
            "worst_next": _table(self.worst_next),
        }


def record_answers(
    box: BlackBox,
    automata: Callable[[int], WeightedAutomaton],
    ranks: Sequence[int],
    chosen: int,
    *,
    sure: Collection[int] = (),
    words: Words | None = None,
    max_length: int | None = None,
    seed: int = 0,
) -> RecordedAnswers:
    """Query a box for the answers that a page shows.

    Parameters
    ----------
    box
        The box that the automata were extracted from.
    automata
        Returns the automaton of a rank.
    ranks
        The ranks to compare.
    chosen
        The rank at which disagreements are searched for.
    sure
        The ranks, beside the chosen one, whose metrics get confidence intervals.
    words
        What to compare on; by default words are drawn from the box where it predicts next
        symbols, and else at random.
    max_length
        The longest word to draw; by default what `drawn_words` says.
    seed
        Random seed, a number or a generator.

    Examples
    --------
    >>> box = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> recorded = record_answers(box, lambda rank: box, [1], 1)
    >>> recorded.source, len(recorded.prefixes), recorded.fidelity[1]["disagreement"]
    ('2,000 words drawn from the box', 150, 0.0)
    """
    box, automaton = as_box(box), automata(chosen)
    if box.alphabet != automaton.alphabet:
        raise ArgumentError(
            f"the automaton reads {automaton.alphabet}, the box {box.alphabet}: "
            "expected the same symbols in the same order"
        )
    source = f"{counted(0 if words is None else len(words), 'given word')}"
    if words is None:
        rng = np.random.default_rng(seed + 1)  # not those of an extraction with the same seed
        words, source = drawn_words(box, seed=rng, max_length=max_length)
    reference = Reference.query(box, words)
    fidelity = {
        rank: reference.compare(automata(rank), intervals=rank == chosen or rank in sure)
        for rank in ranks
    }
    shown, weights = _shown_words(reference, seed)
    prefixes, probabilities = _frequent_prefixes(reference)
    worst = disagreements(box, automaton, n_words=N_WORST, max_length=max_length, seed=seed)
    worst_next = None
    if probabilities is not None and isinstance(box, PredictingStepper):
        odd = box.alphabet.words([each.word for each in worst])
        worst_next = read_each(box, odd, box.state_next_symbol)
    return RecordedAnswers(
        shown, weights, prefixes, probabilities, worst, worst_next, fidelity, source
    )


def _shown_words(reference: Reference, seed: int) -> tuple[Words, FloatArray]:
    """Choose different words, at random so that rare ones are among them."""
    first = np.unique(reference.tree.node_of_word, return_index=True)[1]
    order = np.random.default_rng(seed).permutation(np.sort(first))[:N_SHOWN_WORDS]
    letters = reference.words.lengths[order].cumsum()
    chosen = np.sort(order[: max(1, int((letters <= MAX_SYMBOLS).sum()))])
    return reference.words[chosen], reference.weights[chosen]


def _frequent_prefixes(reference: Reference) -> tuple[Words | None, FloatArray | None]:
    """Return the most frequent prefixes, short ones first among equals, and what comes next."""
    if reference.next_symbol is None:
        return None, None
    tree = reference.tree
    counts = tree.counts().sum(axis=1)
    n = min(N_PREFIXES, max(10, MAX_PROBABILITIES // len(reference.next_symbol)))
    chosen: IntArray = np.lexsort((np.arange(len(tree)), -counts))[:n]
    return tree.words(chosen), reference.next_symbol[:, chosen].T


def _codes(words: Words) -> list[list[int]]:
    ends = words.offsets.tolist()
    return [words.codes[a:b].tolist() for a, b in pairwise(ends)]


def _table(rows: FloatArray | None) -> list[list[float]] | None:
    """Return probabilities with as many digits as a page shows."""
    if rows is None:
        return None
    return [[float(f"{x:.5g}") for x in row] for row in rows.tolist()]
