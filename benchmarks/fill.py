"""Filling Hankel blocks from a GRU: shared prefixes against batches of words, and single words.

    pip install '.[torch]'
    python benchmarks/fill.py [--hidden 50] [--prefixes 800] [--suffixes 800] [--symbols 11]

The network is the paper's with 50 or `--hidden` units (random weights: speed does not depend on
them), the basis uniform, one thread. The peers are the same network in PyTorch: all distinct words
in padded batches sorted by length, and word by word; and the same two methods with seqray's own
NumPy network
(`…_numpy`), without any sharing. All are timed on a sample and extrapolated. The shares are of the
machine's float32 GEMM peak, measured in the same run: `gemm_share` counts the products that were
carried out, and `gemm_share_nominal` those that a plain step takes for the same states.
"""

import argparse
import time

import numpy as np
from common import best_of, one_thread, report
from paper_network import HIDDEN, Network, padded, to_seqray, torch

import seqray
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Alphabet, Words
from seqray.blackbox.native.rnn import RecurrentLanguageModel
from seqray.extraction.hankel.plan import Plan


def batch_time(network: Network, words: Words, batch: int, n_batches: int) -> float:
    """Return the seconds that all words would take in sorted, padded batches."""
    begins = np.linspace(0, len(words) - batch, n_batches).astype(int)
    tensors = [padded(words[b : b + batch]) for b in begins]
    with torch.inference_mode():
        seconds = best_of(2, lambda: [network(*pair) for pair in tensors])
    return seconds / (n_batches * batch) * len(words)


def unshared_time(box: RecurrentLanguageModel, words: Words, batch: int, n_batches: int) -> float:
    """Return the seconds of seqray's network on sorted batches that share no prefix."""
    begins = np.linspace(0, len(words) - batch, n_batches).astype(int)
    batches = [words[b : b + batch] for b in begins]

    def read(chosen: Words) -> None:
        lanes = np.arange(batch)
        states = box.start()
        parents = np.zeros(batch, np.int64)
        for depth in range(int(chosen.lengths.max())):  # words in a batch are of one length, or two
            at = np.minimum(chosen.offsets[:-1] + depth, len(chosen.codes) - 1)
            states = box.step(states, parents, chosen.codes[at])
            parents = lanes
        box.state_weights(states)

    seconds = best_of(2, lambda: [read(chosen) for chosen in batches])
    return seconds / (n_batches * batch) * len(words)


def products(n_symbols: int, hidden: int) -> tuple[int, int]:
    """Return the multiplications of a step that depend on the parent alone, and the others."""
    head = hidden * (hidden // 2) + (hidden // 2) * 3 * n_symbols + 3 * n_symbols * (n_symbols + 1)
    return 2 * hidden * 3 * hidden, hidden * 3 * hidden + head


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=HIDDEN, help="units of each layer")
    parser.add_argument("--prefixes", type=int, default=800)
    parser.add_argument("--suffixes", type=int, default=800)
    parser.add_argument("--symbols", type=int, default=11)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    rng = np.random.default_rng(options.seed)
    alphabet = Alphabet(range(options.symbols))
    network = Network(options.symbols, options.hidden).eval()
    box = to_seqray(network, alphabet)
    basis = seqray.uniform_basis(alphabet, options.prefixes, options.suffixes, seed=rng)
    with one_thread():
        run(network, box, basis, options, rng)


def run(
    network: Network,
    box: RecurrentLanguageModel,
    basis: seqray.Basis,
    options: argparse.Namespace,
    rng: np.random.Generator,
) -> None:
    square = rng.standard_normal((2048, 2048)).astype(np.float32)
    peak = 2 * 2048**3 / best_of(5, lambda: square @ square)

    times = []
    for _ in range(2):
        begin = time.process_time()
        blocks = seqray.fill(box, basis)
        times.append(time.process_time() - begin)
    ours = min(times)

    # The distinct words, sorted by length: every leaf row with every suffix, and the prefixes.
    plan = Plan.of(basis)
    rows = plan.tree.words(plan.leaves)
    words = Words.concatenate([rows.followed_by(basis.suffixes), basis.prefixes])
    words = words[np.argsort(words.lengths, kind="stable")]
    assert len(words) == blocks.n_questions

    by_batch = {batch: batch_time(network, words, batch, 16) for batch in (512, 1024, 2048, 4096)}
    batch = min(by_batch, key=by_batch.__getitem__)
    batched = batch_time(network, words, batch, 64)

    unshared = min(unshared_time(box, words, b, 16) for b in (1024, 2048, 4096))

    some = words[rng.integers(0, len(words), 300)]
    pairs = [padded(some[i : i + 1]) for i in range(len(some))]
    with torch.inference_mode():
        single = best_of(2, lambda: [network(*pair) for pair in pairs]) / len(some) * len(words)
        answers = torch.cat([network(*pair) for pair in pairs]).numpy()
    alone = [some[i : i + 1] for i in range(len(some))]
    alone_time = best_of(1, lambda: [box.weights(word) for word in alone]) / len(some) * len(words)
    np.testing.assert_allclose(box.weights(some), answers, rtol=1e-4)

    of_parent, of_child = products(options.symbols, options.hidden)
    suffixes = PrefixTree.of(basis.suffixes)
    inner = int((np.diff(suffixes.first_child) > 0).sum())
    n_parents = len(plan.leaves) * inner + len(basis.prefixes)
    done = 2 * (blocks.n_steps * of_child + n_parents * of_parent)
    nominal = 2 * blocks.n_steps * (of_child + of_parent + 3 * options.symbols * 3 * options.hidden)
    figures = {
        "speedup_batched": batched / ours,
        "speedup_batched_numpy": unshared / ours,
        "speedup_single": single / ours,
        "speedup_single_numpy": alone_time / ours,
        "gemm_share": done / ours / peak,
        "gemm_share_nominal": nominal / ours / peak,
        "seconds": ours,
        "steps": blocks.n_steps,
        "words": len(words),
        "ns_per_step": ours / blocks.n_steps * 1e9,
        "batch": batch,
        "mean_length": float(words.lengths.mean()),
        "peak_gflops": peak / 1e9,
        **vars(options),
    }
    report(
        [
            ("basis", f"{basis}; {len(words):,} distinct words"),
            ("shared prefixes", f"{ours:8.1f} s, {blocks.n_steps:,} steps"),
            ("share of the GEMM peak", f"{done / ours / peak:8.1%} of {peak / 1e9:.0f} GFLOP/s"),
            (f"batches of {batch}", f"{batched:8.1f} s, extrapolated; {batched / ours:.1f} ×"),
            ("the same in NumPy", f"{unshared:8.1f} s, extrapolated; {unshared / ours:.1f} ×"),
            ("word by word", f"{single:8.0f} s, extrapolated; {single / ours:.0f} ×"),
            ("the same in NumPy", f"{alone_time:8.0f} s, extrapolated; {alone_time / ours:.0f} ×"),
        ],
        figures,
    )


if __name__ == "__main__":
    main()
