"""Scoring words with structured automata of 2,000 states, against dense ones and the network.

``python benchmarks/structured_score.py`` prints a short table for each automaton, and last one line
of JSON. The words are 20,000, drawn from the structured automaton itself. The same words are scored
by a dense automaton of 100 states, which is generated as in ``score.py``, and by the paper's GRU-50
in batches.

Three automata are copies, as ``extract`` makes them. Two have at most 144 multiplications per
symbol, so that a group has at most 12 states: one of a generated automaton, one of the network of
SPiCe 4. Most of their pairs of group and symbol are forgetful. The third is the default copy of
that network: its groups have up to 64 states, and it is some 12,000 states in all.

Two are generated, with words of mean length 10. All their transitions are remembering. One product
of a state and a matrix is as large as that of a dense automaton with as many states as a group has.
But there are 400 (or 1,089) matrices instead of 20 (or 33), and they do not stay in the processor's
cache: each is read from memory once per sweep, and is multiplied by few vectors. So they are also
measured with as many words as are scored at once: 65,536.

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
from typing import NamedTuple

import numpy as np
from common import best_of, best_of_each, one_thread, report
from score import MEAN_LENGTH, N_WORDS, SEED, TOP_RANK, generate, network

from seqray.automata.generators import random_structured
from seqray.automata.scoring import BATCH_WORDS
from seqray.automata.structured import StructuredAutomaton
from seqray.automata.structured_parts import part_levels
from seqray.automata.structured_scoring import PartScorer
from seqray.automata.structured_states import StructuredSteps
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


class Case(NamedTuple):
    """An automaton, and what its words are drawn with."""

    name: str
    automaton: StructuredAutomaton
    rng: np.random.Generator
    n_words: int = N_WORDS


def cases() -> Iterator[Case]:
    """Yield what is measured."""
    for k, size in SIZES:
        for n_words, text in ((N_WORDS, ""), (BATCH_WORDS, f", {BATCH_WORDS:,} words")):
            rng = np.random.default_rng(SEED)
            wa = random_structured(range(k), size, seed=rng, mean_length=MEAN_LENGTH)
            yield Case(f"{k}x{size}{text}", wa, rng, n_words)
    generated = random_structured(range(20), 25, seed=SEED)
    verbs = open_black_box(f"rnn:{SPICE_4}")
    for name, copy in (
        ("copy of 20x25", copy_of(generated, max_cost=MAX_COST)),
        ("copy of SPiCe 4", copy_of(verbs, max_cost=MAX_COST)),
        ("default copy of SPiCe 4", copy_of(verbs)),
    ):
        yield Case(name, copy, np.random.default_rng(SEED))


def copy_of(box: BlackBox, **options: int) -> StructuredAutomaton:
    """Extract a copy."""
    copy = extract(box, **options).best(purpose="copying")
    assert isinstance(copy, StructuredAutomaton)
    return copy


def measure(case: Case) -> dict[str, float]:
    """Return the seconds that each needs for the words, and the size of it all."""
    _, wa, rng, n_words = case
    dense = generate(TOP_RANK, rng, len(wa.alphabet))
    words = wa.sample(n_words, seed=rng).words
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
        "words": len(words),
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
    scorer = PartScorer(StructuredSteps(wa.blocks), wa.initial_vector, has_large_tables=True)
    read = batches if scorer.steps.is_stacked else sweeps
    matrices = read(scorer, words)
    sizes = np.array([matrix.size for matrix in scorer.steps.matrices])
    n_multiplications = int(sizes[np.concatenate(matrices)].sum())
    used = [np.unique(each) for each in matrices]
    return {
        "part_nodes": sum(map(len, matrices)),
        "runs": sum(map(len, used)),
        "matrix_bytes": 8 * sum(int(sizes[each].sum()) for each in used),
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
    _, trees = scorer.part_trees(parts, scorer.part_readers(parts), np.arange(len(parts.starts)))
    schedule = scorer.sweeps.schedule(trees)
    return np.split(trees.numbers[schedule.order], np.cumsum(schedule.sizes)[:-1])[1:]


def multiplications_per_second(n: int = 512) -> float:
    """Return how many a matrix product does that fits into the cache."""
    matrix = np.random.default_rng(SEED).random((n, n))
    return float(n**3 / best_of(8, lambda: matrix @ matrix))


def main() -> None:
    """Measure every automaton."""
    rows, figures = [], {}
    for case in cases():
        name, figure = case.name, measure(case)
        ours = figure["structured"]
        rows.append((f"{name}, {case.automaton.n_states} states", f"{ours * 1e3:8.1f} ms"))
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
    report(rows, {"sizes": figures, "seed": SEED})


if __name__ == "__main__":
    with one_thread():
        main()
