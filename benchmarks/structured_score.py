"""Scoring words with structured automata of 2,000 states, against dense ones and the network.

``python benchmarks/structured_score.py`` prints a short table for each size, and last one line of
JSON. The words are 20,000 of mean length 10, drawn from the structured automaton itself: their
tree has about three nodes for four letters. The same words are scored by a dense automaton of 100
states, which is generated as in ``score.py``, and by the paper's GRU-50 in batches.

All transitions of the structured automaton are remembering. One product of a state and a matrix is
as large as that of a dense automaton with as many states as a group has. But there are 400 (or
1,089) matrices instead of 20, and they do not stay in the processor's cache.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from common import best_of_each, one_thread, report
from score import MEAN_LENGTH, N_WORDS, SEED, TOP_RANK, generate, network

from seqray.automata.generators import random_structured
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words

SIZES = (20, 100), (33, 60)
"""Numbers of symbols, and of states after each."""

N_CHECKED = 500
"""How many words are also scored letter by letter, to see that all weights are right."""


def loop(wa: StructuredAutomaton, words: Words) -> list[float]:
    """Score word by word, letter by letter."""
    weights = []
    for begin, end in pairwise(words.offsets.tolist()):
        state, group = wa.initial_vector, wa.start_group
        for code in words.codes[begin:end].tolist():
            state, group = state @ wa.blocks.block(group, code), int(wa.next_group[group, code])
        weights.append(float(state @ wa.final[wa.grouping.states(group)]))
    return weights


def measure(n_symbols: int, states_per_symbol: int) -> dict[str, float]:
    """Return the seconds that each needs for the words, and the size of it all."""
    rng = np.random.default_rng(SEED)
    wa = random_structured(range(n_symbols), states_per_symbol, seed=rng, mean_length=MEAN_LENGTH)
    dense = generate(TOP_RANK, rng, n_symbols)
    words = wa.sample(N_WORDS, seed=rng).words
    some = words[:N_CHECKED]
    assert np.allclose(wa.weights(some), loop(wa, some), rtol=1e-12, atol=0)
    score = network(words)
    structured, plain, *gru = best_of_each(
        8, lambda: wa.weights(words), lambda: dense.weights(words), *([score] if score else [])
    )
    return {
        "structured": structured,
        "dense": plain,
        **({"torch": gru[0]} if gru else {}),
        "states": wa.n_states,
        "letters": len(words.codes),
        "nodes": len(PrefixTree.of(words)),
    }


def main() -> None:
    """Measure every size."""
    rows, figures = [], {}
    for n_symbols, states_per_symbol in SIZES:
        figure = measure(n_symbols, states_per_symbol)
        name = f"{n_symbols} symbols × {states_per_symbol} states"
        ours = figure["structured"]
        rows.append((f"{name}: structured", f"{ours * 1e3:8.1f} ms"))
        for other, text in (("dense", f"dense, {TOP_RANK} states"), ("torch", "GRU-50 in torch")):
            if other in figure:
                theirs = figure[other]
                figure[f"speedup_{other}"] = theirs / ours
                ratio = f"{theirs / ours:.2f} times the structured one"
                rows.append((f"{name}: {text}", f"{theirs * 1e3:8.1f} ms  {ratio}"))
        figures[f"{n_symbols}x{states_per_symbol}"] = figure
    report(rows, {"sizes": figures, "seed": SEED, "words": N_WORDS})


if __name__ == "__main__":
    with one_thread():
        main()
