"""Extraction with defaults over hundreds of symbols: time, memory and fidelity.

``python benchmarks/large_alphabet.py --symbols 700`` extracts from a machine whose symbols are as
unequally frequent as words of a language (the r-th most frequent one has a weight of 1/r). Its next
symbol depends on the last one and on one of three hidden states. It prints the processor time, the
peak memory of the process, and bits per symbol and NDCG₅ on 1,000 words of the box that the
extraction did not see, and last one line of JSON.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from common import one_thread, report

from seqray.automata.grouping import Grouping
from seqray.automata.structured import StructuredAutomaton
from seqray.extraction.extract import extract
from seqray.fidelity.reference import Reference

N_STATES, N_FOLLOWERS, MEAN_LENGTH, N_WORDS = 3, 30, 20, 1000


def machine(n_symbols: int, rng: np.random.Generator) -> StructuredAutomaton:
    """Return an automaton with three states after every symbol; each has thirty followers."""
    zipf = 1 / np.arange(1, n_symbols + 1)
    zipf /= zipf.sum()
    grouping = Grouping.by_last_symbol([N_STATES] * n_symbols)
    n = grouping.n_states
    emission = np.tile(0.1 * zipf, (n, 1))
    for row in emission:
        followers = rng.choice(n_symbols, min(N_FOLLOWERS, n_symbols), replace=False, p=zipf)
        row[followers] += 0.9 * rng.dirichlet(np.full(len(followers), 0.3))
    emission *= (1 - 1 / MEAN_LENGTH) / emission.sum(axis=1, keepdims=True)
    emission = np.column_stack([emission, np.full(n, 1 / MEAN_LENGTH)])
    matrices = {}
    for group in range(1, n_symbols + 1):
        states = grouping.states(group)
        for symbol in np.flatnonzero(emission[states, :-1].max(axis=0) > 0.02).tolist():
            moves = rng.dirichlet(np.full(N_STATES, 0.3), N_STATES)
            matrices[group, symbol] = emission[states, symbol, None] * moves
    entry = rng.dirichlet(np.ones(N_STATES), n_symbols)
    return StructuredAutomaton(
        range(n_symbols), grouping, [1.0], emission, np.append(1.0, entry), matrices
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--symbols", type=int, default=700)
    n_symbols = parser.parse_args().symbols
    with one_thread():
        box = machine(n_symbols, np.random.default_rng(0))
        begin = time.process_time()
        extraction = extract(box)
        seconds = time.process_time() - begin
        gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        words = Reference.draw(box, N_WORDS, seed=12345, max_length=100)
        best, rank = (extraction.best(purpose=p) for p in ("copying", "reading"))
        fidelity, of_rank = words.compare(best), words.compare(rank)
    bits, gain = fidelity["kl_per_symbol"], fidelity["ndcg5"]
    report(
        [
            (f"{n_symbols} symbols", f"{seconds:.0f} s, {gigabytes:.2f} GB"),
            (repr(best), f"{bits:.4f} bits per symbol, NDCG₅ {gain:.4f}"),
            (repr(rank), f"{of_rank['kl_per_symbol']:.4f} bits per symbol"),
        ],
        {
            "symbols": n_symbols,
            "seconds": seconds,
            "gigabytes": gigabytes,
            "bits_per_symbol": bits,
            "ndcg5": gain,
            "rank_bits_per_symbol": of_rank["kl_per_symbol"],
            "queries": extraction.settings.questions,
        },
    )


if __name__ == "__main__":
    main()
