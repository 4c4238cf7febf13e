"""Scoring words with an automaton, against the network it replaces and a plain loop.

``python benchmarks/score.py`` prints a short table, and last one line of JSON. The words are
20,000 of mean length 10 over 11 symbols, drawn from a generated machine of 20 states whose words
share prefixes about as those of PAutomaC's problem 10 do (11 symbols too): their tree has two
nodes for three letters.

``sweep_cost`` is all ranks from 1 to 100 with all metrics, relative to rank 100 alone, neither
with confidence intervals; both build the tree of the words and query the box (here an automaton of
20 states, which is cheap to query). ``sweep_cost_strict`` leaves both out: it is what remains to be
done for 100 ranks, relative to one.

``peak_share`` is the share of the speed of one large float64 matrix product that scoring at rank
100 reaches: the multiplications of the products that are carried out, one for each distinct half of
a word, over the whole time of `weights`. ``peak_share_loop`` counts those of a plain loop instead,
one product for each letter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from common import best_of_each, one_thread, report

from seqray.automata.algebra import change_basis
from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.automaton_states import AutomatonStates
from seqray.automata.scoring import word_products
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.fidelity.compare import compare_ranks
from seqray.fidelity.reference import Reference
from seqray.util.arrays import IntArray

SEED, N_WORDS, MEAN_LENGTH, N_SYMBOLS, N_STATES, TOP_RANK = 0, 20_000, 10, 11, 20, 100


def generate(
    n_states: int, rng: np.random.Generator, n_symbols: int = N_SYMBOLS
) -> WeightedAutomaton:
    """Return a stochastic automaton; few symbols and few targets are likely in each state.

    Its coordinates are turned at random, so that it is dense, as an extracted automaton is.
    """
    stop = 1 / (MEAN_LENGTH + 1)
    symbols = rng.dirichlet(np.full(n_symbols, 0.1), size=n_states) * (1 - stop)
    targets = rng.dirichlet(np.full(n_states, 0.1), size=(n_states, n_symbols))
    transitions = (symbols[:, :, None] * targets).transpose(1, 0, 2)
    initial = rng.dirichlet(np.full(n_states, 0.1))
    final = np.full(n_states, stop)
    rotation, _ = np.linalg.qr(rng.standard_normal((n_states, n_states)))
    return change_basis(WeightedAutomaton(range(n_symbols), initial, transitions, final), rotation)


class Counted:
    """An automaton that counts the products of its steps."""

    def __init__(self, wa: WeightedAutomaton) -> None:
        self.wa, self.alphabet, self.start = wa, wa.alphabet, wa.start
        self.state_weights, self.n_products = wa.state_weights, 0

    def step(
        self, states: AutomatonStates, parents: IntArray, symbols: IntArray
    ) -> AutomatonStates:
        """Return the states after reading symbols."""
        self.n_products += len(parents)
        return self.wa.step(states, parents, symbols)


def peak_shares(wa: WeightedAutomaton, words: Words) -> dict[str, float]:
    """Return the shares of the speed of a large matrix product, and what they are made of."""
    forward, backward = Counted(wa), Counted(wa.mirror)
    word_products(forward, backward, words)
    n_products = forward.n_products + backward.n_products
    matrix = np.random.default_rng(SEED).random((512, 512))
    seconds, large = best_of_each(12, lambda: wa.weights(words), lambda: matrix @ matrix)
    share = wa.n_states**2 / seconds / (len(matrix) ** 3 / large)
    return {
        "peak_share": n_products * share,
        "peak_share_loop": len(words.codes) * share,
        "peak_products": n_products,
        "peak_seconds": seconds,
        "peak_gflops": 2e-9 * len(matrix) ** 3 / large,
    }


def loop(wa: WeightedAutomaton, words: Words) -> list[float]:
    """Score word by word, letter by letter."""
    codes, offsets = words.codes.tolist(), words.offsets.tolist()
    matrices = list(wa.transitions)
    weights = []
    for begin, end in pairwise(offsets):
        state = wa.initial
        for code in codes[begin:end]:
            state = state @ matrices[code]
        weights.append(float(state @ wa.final))
    return weights


def network(words: Words) -> Callable[[], object] | None:
    """Return the scoring of the words by the paper's GRU-50 (section 4), or None without torch."""
    try:
        import torch  # noqa: PLC0415
        from paper_network import Network, padded  # noqa: PLC0415
    except ImportError:
        print("torch is not installed, so it is not timed: pip install torch", file=sys.stderr)
        return None
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    gru = Network(len(words.alphabet)).eval()
    order = np.argsort(words.lengths, kind="stable")

    def score() -> list[Any]:  # 256 words at once is the fastest of 128, 256, … 2048 here
        with torch.inference_mode():
            batches = (order[at : at + 256] for at in range(0, len(order), 256))
            return [gru(*padded(words[chosen])) for chosen in batches]

    return score


def main() -> None:
    rng = np.random.default_rng(SEED)
    box, wide = generate(N_STATES, rng), generate(TOP_RANK, rng)
    words = box.sample(N_WORDS, seed=rng).words
    assert np.allclose(box.weights(words), loop(box, words), rtol=1e-9)
    score = network(words)
    fast, plain, *other = best_of_each(
        12, lambda: box.weights(words), lambda: loop(box, words), *([score] if score else [])
    )
    gru = other[0] if other else None
    peak = peak_shares(wide, words)
    reference = Reference.query(box, words)
    ranks = range(1, TOP_RANK + 1)
    # One rank is timed as long as all ranks are, so that a slow moment weighs the same on both.
    again = range(TOP_RANK // 4)
    alone, querying, sweep, whole = best_of_each(
        3,
        lambda: [reference.compare(wide) for _ in again],
        lambda: [Reference.query(box, words).compare(wide) for _ in again],
        lambda: compare_ranks(reference, wide, ranks),
        lambda: compare_ranks(Reference.query(box, words), wide, ranks),
    )
    alone, querying = alone / len(again), querying / len(again)
    figures = {
        "speedup_torch": gru and gru / fast,
        "speedup_loop": plain / fast,
        "sweep_cost": whole / querying,
        "sweep_cost_strict": sweep / alone,
        **peak,
        "seconds": {
            "weights": fast,
            "loop": plain,
            "torch": gru,
            "rank 100": alone,
            "rank 100 and asking": querying,
            "ranks 1 to 100": sweep,
            "ranks 1 to 100 and asking": whole,
        },
        "seed": SEED,
        "sizes": {
            "words": len(words),
            "letters": len(words.codes),
            "symbols": N_SYMBOLS,
            "nodes": len(PrefixTree.of(words)),
            "states": N_STATES,
        },
    }
    rows = [
        (f"weights of {len(words)} words, rank {N_STATES}", f"{fast * 1e3:8.1f} ms"),
        ("the same in a loop", f"{plain * 1e3:8.1f} ms  {plain / fast:.0f} times slower"),
        ("GRU-50 in torch", f"{gru * 1e3:8.1f} ms  {gru / fast:.0f} times slower" if gru else "–"),
        (f"weights at rank {TOP_RANK}", f"{peak['peak_seconds'] * 1e3:8.1f} ms"),
        ("its share of the peak", f"{peak['peak_share']:8.0%}"),
        ("counting a loop's products", f"{peak['peak_share_loop']:8.0%}"),
        (f"compare at rank {TOP_RANK}", f"{alone * 1e3:8.1f} ms"),
        ("the same with queries", f"{querying * 1e3:8.1f} ms"),
        (f"ranks 1 to {TOP_RANK}", f"{sweep * 1e3:8.1f} ms  {sweep / alone:.1f} times rank 100"),
        ("the same with queries", f"{whole * 1e3:8.1f} ms  {whole / querying:.1f} times rank 100"),
    ]  # fmt: skip
    report(rows, figures)


if __name__ == "__main__":
    with one_thread():
        main()
