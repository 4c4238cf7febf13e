"""The boxes of the comparison, and the words that are drawn from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from job import Drawn

from seqray.automata.generators import random_machine
from seqray.automata.stepper import PredictingStepper
from seqray.automata.tree import PrefixTree
from seqray.blackbox.registry import open_black_box
from seqray.fidelity.reference import Reference

BENCHMARKS = Path(__file__).resolve().parents[1]
PDFA = "pdfa"
BOXES = {
    "4": "PAutomaC 4",
    "19": "PAutomaC 19",
    "40": "PAutomaC 40",
    "spice4": "SPiCe 4",
    "trucks": "trucks",
    "hdfs": "HDFS",
    PDFA: "random PDFA",
}
"""Names of networks in benchmarks/blackboxes, and a random PDFA of 60 states."""

N_TEST_WORDS, MAX_LENGTH, TEST_SEED, DRAWING_SEED = 2000, 100, 12345, 777
VALIDATION_SHARE = 0.1
"""So many of the drawn words are left out of fits, to choose settings and smoothing by."""


MAX_WORDS_PER_QUERY = 3
"""No more words than this times the budget are drawn."""


class Predictions:
    """A box with states that predicts: an automaton itself would have no budget."""

    def __init__(self, box: Any) -> None:
        self.alphabet, self.weights = box.alphabet, box.weights
        self.start, self.step = box.start, box.step
        self.state_weights, self.state_next_symbol = box.state_weights, box.state_next_symbol


def opened(name: str) -> PredictingStepper:
    """Return the box of a name."""
    if name == PDFA:
        return Predictions(random_machine("dpfa", n_states=60, n_symbols=8, seed=0))
    return open_black_box(f"rnn:{BENCHMARKS / 'blackboxes' / name}.safetensors")


def test_words(box: PredictingStepper) -> Reference:
    """Return new words of a box, which no fit sees."""
    return Reference.draw(box, N_TEST_WORDS, seed=TEST_SEED, max_length=MAX_LENGTH)


test_words.__test__ = False  # type: ignore[attr-defined]


def drawn_words(box: PredictingStepper, budget: int) -> tuple[Drawn, Reference]:
    """Draw as many words as a budget of queries allows; return them, and those for validation.

    A word takes one query for each of its prefixes that no earlier word has. A word that was drawn
    before takes none, so that a box with few words may not use up a budget.
    """
    n_words = MAX_WORDS_PER_QUERY * budget
    every = Reference.draw(box, n_words, seed=DRAWING_SEED, max_length=MAX_LENGTH)
    low, high = 1, len(every.words)
    while low < high:
        middle = (low + high + 1) // 2
        if len(PrefixTree.of(every.words[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    words = every.words[:low]
    tree = PrefixTree.of(words)
    assert every.next_symbol is not None
    rows = np.ascontiguousarray(every.next_symbol.T[every.tree.find(tree)])
    n_training = max(1, round(low * (1 - VALIDATION_SHARE)))
    drawn = Drawn(
        len(box.alphabet),
        np.asarray(words.codes),
        np.asarray(words.offsets),
        n_training,
        rows,
        np.asarray(tree.node_of_word),
        np.asarray(tree.parent),
        np.asarray(tree.symbol),
    )
    validation = PrefixTree.of(words[n_training:])
    at = tree.find(validation)
    return drawn, Reference(validation, np.ones(low - n_training), None, rows[at].T)
