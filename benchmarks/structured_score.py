"""Scoring words with structured automata of 2,000 states, against dense ones and the network.

``python benchmarks/structured_score.py`` prints a short table for each automaton, and last one line
of JSON. The words are 20,000, drawn from the structured automaton itself. The same words are scored
by a dense automaton of 100 states, which is generated as in ``score.py``, and by the paper's GRU-50
in batches.

Two automata are copies, as ``extract`` makes them with at most 144 multiplications per symbol: one
of a generated automaton, one of the network of SPiCe 4. Most of their pairs of group and symbol are
forgetful, and a group has at most 12 states.

Two are generated, with words of mean length 10. All their transitions are remembering. One product
of a state and a matrix is as large as that of a dense automaton with as many states as a group has.
But there are 400 (or 1,089) matrices instead of 20, and they do not stay in the processor's cache:
each is read from memory once per sweep.

What bounds the speed is printed, too: the time with one matrix for all pairs of a shape, which
stays in the cache and is multiplied by all rows of a level or sweep at once; the time to cut words
into parts and to grow the prefix trees of these; the time of the products at the speed of one large
matrix product; and the bytes of all matrices that are read, each once per level or sweep. The first
call also computes the tables that later calls look up; its time is printed alone.

All are timed in turn. The structured automaton is timed twice: right after the network, which has
filled the caches of the processor with its own numbers, and right after itself, as when it takes
the network's place.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from common import best_of, best_of_each, one_thread, report
from score import MEAN_LENGTH, N_WORDS, SEED, TOP_RANK, generate, network

from seqray.automata.generators import random_structured
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.structured_scoring import PartScorer, part_levels
from seqray.automata.structured_states import StructuredSteps
from seqray.automata.structured_sweeps import SweepSchedule
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.blackbox.protocol import BlackBox
from seqray.blackbox.registry import open_black_box
from seqray.extraction.extract import extract
from seqray.util.arrays import IntArray

SIZES = (20, 100), (33, 60)
"""Numbers of symbols, and of states after each."""

SPICE_4 = Path(__file__).parent / "blackboxes" / "spice4.safetensors"

MAX_COST = 144
"""The most multiplications per symbol of the copies."""

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


def automata() -> Iterator[tuple[str, StructuredAutomaton, np.random.Generator]]:
    """Yield automata by name, each with the random generator of its words."""
    for k, size in SIZES:
        rng = np.random.default_rng(SEED)
        wa = random_structured(range(k), size, seed=rng, mean_length=MEAN_LENGTH)
        yield f"{k}x{size}", wa, rng
    generated = random_structured(range(20), 25, seed=SEED)
    yield "copy of 20x25", copy_of(generated), np.random.default_rng(SEED)
    network_of_verbs = open_black_box(f"rnn:{SPICE_4}")
    yield "copy of SPiCe 4", copy_of(network_of_verbs), np.random.default_rng(SEED)


def copy_of(box: BlackBox) -> StructuredAutomaton:
    """Extract a copy with small groups."""
    copy = extract(box, max_cost=MAX_COST).best(purpose="copying")
    assert isinstance(copy, StructuredAutomaton)
    return copy


def measure(wa: StructuredAutomaton, rng: np.random.Generator) -> dict[str, float]:
    """Return the seconds that each needs for the words, and the size of it all."""
    dense = generate(TOP_RANK, rng, len(wa.alphabet))
    words = wa.sample(N_WORDS, seed=rng).words
    some = words[:N_CHECKED]
    assert np.allclose(wa.weights(some), loop(wa, some), rtol=1e-12, atol=0)
    score = network(words)
    cached = sharing(wa)
    fresh = StructuredAutomaton.from_arrays(wa.alphabet, wa.arrays)
    begin = time.process_time()
    fresh.weights(words)
    first = time.process_time() - begin
    after_others, structured, same, plain, *gru = best_of_each(
        8,
        lambda: wa.weights(words),
        lambda: wa.weights(words),
        lambda: cached.weights(words),
        lambda: dense.weights(words),
        *([score] if score else []),
    )
    return {
        "structured": structured,
        "after_others": after_others,
        "first": first,
        "cached": same,
        "dense": plain,
        **({"torch": gru[0]} if gru else {}),
        "states": wa.n_states,
        "groups": wa.grouping.n_groups,
        "letters": len(words.codes),
        "nodes": len(PrefixTree.of(words)),
        **bounds(wa, words),
    }


def sharing(wa: StructuredAutomaton) -> StructuredAutomaton:
    """Return an automaton of the same structure in which matrices of one shape are the same."""
    shapes, numbers = np.unique(wa.remembering.shapes, axis=0, return_inverse=True)
    values = np.repeat(0.9 / shapes[:, 1], shapes.prod(axis=1))
    shared = {"values": values, "pair_matrices": numbers.ravel()}
    return StructuredAutomaton.from_arrays(wa.alphabet, {**wa.arrays, **shared})


def bounds(wa: StructuredAutomaton, words: Words) -> dict[str, float]:
    """Return what no order of the products can spare: the trees, and the arithmetic."""
    scorer = PartScorer(StructuredSteps(wa.blocks), wa.initial_vector)
    read = batches if scorer.steps.is_stacked else sweeps
    matrices = read(scorer, words)
    sizes = np.array([matrix.size for matrix in scorer.steps.matrices])
    n_multiplications = int(sizes[np.concatenate(matrices)].sum())
    return {
        "part_nodes": sum(map(len, matrices)),
        "matrix_bytes": 8 * sum(int(sizes[np.unique(each)].sum()) for each in matrices),
        "trees": best_of(8, lambda: read(scorer, words)),
        "products": n_multiplications / multiplications_per_second(),
    }


def batches(scorer: PartScorer, words: Words) -> list[IntArray]:
    """Return the matrix of each product, level by level of the prefix trees of parts."""
    parts = scorer.cuts.parts(words)
    lengths = scorer.part_readers(parts).lengths
    levels = part_levels(scorer.cuts, parts, lengths, np.arange(len(lengths)), parts.nodes)
    return [level.numbers for level in levels]


def sweeps(scorer: PartScorer, words: Words) -> list[IntArray]:
    """Return the matrix of each product, sweep by sweep over all matrices."""
    parts = scorer.cuts.parts(words)
    readers = scorer.part_readers(parts)
    halves, roots = scorer.part_halves(parts, readers, np.arange(len(readers.lengths)))
    trees = scorer.half_reader.trees(parts.cells, halves, len(roots))
    schedule = SweepSchedule(trees, scorer.steps.max_age)
    numbers = trees.numbers[schedule.order] // 2
    return np.split(numbers, np.cumsum(schedule.sizes)[:-1])[1:]


def multiplications_per_second(n: int = 512) -> float:
    """Return how many a matrix product does that fits into the cache."""
    matrix = np.random.default_rng(SEED).random((n, n))
    return float(n**3 / best_of(8, lambda: matrix @ matrix))


def main() -> None:
    """Measure every automaton."""
    rows, figures = [], {}
    for name, wa, rng in automata():
        figure = measure(wa, rng)
        ours = figure["structured"]
        rows.append((f"{name}, {wa.n_states} states", f"{ours * 1e3:8.1f} ms"))
        for other, text in (("dense", f"dense, {TOP_RANK} states"), ("torch", "GRU-50 in torch")):
            if other in figure:
                theirs = figure[other]
                figure[f"speedup_{other}"] = theirs / ours
                figure[f"speedup_{other}_after_others"] = theirs / figure["after_others"]
                ratio = f"{theirs / ours:.2f} times the structured one"
                rows.append((f"{name}: {text}", f"{theirs * 1e3:8.1f} ms  {ratio}"))
        texts = {
            "after_others": "right after the network",
            "first": "the first call",
            "cached": "one matrix per shape",
        }
        for bound in ("after_others", "first", "cached", "trees", "products"):
            text = texts.get(bound, f"{bound} alone")
            rows.append((f"{name}: {text}", f"{figure[bound] * 1e3:8.1f} ms"))
        megabytes = f"{figure['matrix_bytes'] / 1e6:8.1f} MB"
        rows.append((f"{name}: matrices read", megabytes))
        figures[name] = figure
    report(rows, {"sizes": figures, "seed": SEED, "words": N_WORDS})


if __name__ == "__main__":
    with one_thread():
        main()
