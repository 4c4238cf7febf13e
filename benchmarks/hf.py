"""Filling Hankel blocks from a small GPT-2: with keys and values that prefixes share, and without.

    pip install '.[hf]'
    python benchmarks/hf.py [--layers 4] [--width 128] [--size 100] [--longest 40] [--words 400]

The model is made from a configuration and a seed: speed does not depend on what it has learnt. The
basis is uniform, one thread. The peer `anew` is the same box without a cache: each prefix is read
once, from its beginning, in batches of prefixes of one length. `words` is what one would write
without seqray: each distinct word of the blocks once, in batches of one length, with the scores
at all its positions. Both are timed on a sample of their queries, in the batch size that is best
for them, and extrapolated by the number of tokens; values are compared on the same sample.
"""

import argparse
import time

import numpy as np
from common import best_of, one_thread, report

try:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError:
    raise SystemExit("this benchmark needs transformers: pip install '.[hf]'") from None

import seqray
from seqray.automata.tree import PrefixTree
from seqray.automata.words import Words
from seqray.extraction.hankel.fill import Plan

N_SYMBOLS = 6
START, END = N_SYMBOLS, N_SYMBOLS + 1
BATCHES = (2**11, 2**12, 2**13, 2**14, 2**16)


def made_model(options: argparse.Namespace) -> GPT2LMHeadModel:
    torch.manual_seed(options.seed)
    config = GPT2Config(
        n_layer=options.layers,
        n_embd=options.width,
        n_head=4,
        vocab_size=N_SYMBOLS + 2,
        n_positions=2 * options.longest + 2,
        bos_token_id=START,
        eos_token_id=END,
        initializer_range=0.1,  # so that what was read makes a difference
    )
    return GPT2LMHeadModel(config).eval()


def n_tokens(words: Words) -> int:
    """Return how many ids are read for words, each with the start before it."""
    return int(words.lengths.sum()) + len(words)


@torch.inference_mode()
def whole_words(model: GPT2LMHeadModel, words: Words, batch: int) -> np.ndarray:
    """Return the probability of each word, read once, with the scores at all its positions."""
    weights = np.empty(len(words))
    for length in np.unique(words.lengths):
        same = np.flatnonzero(words.lengths == length)
        for part in np.array_split(same, max(1, len(same) * (length + 1) // batch)):
            codes = words[part].codes.reshape(len(part), length).astype(np.int64)
            ids = np.pad(codes, ((0, 0), (1, 0)), constant_values=START)
            logits = model(torch.from_numpy(ids), use_cache=False).logits[
                :, :, [*range(START), END]
            ]
            logs = logits.double().log_softmax(2).numpy()
            aims = np.pad(codes, ((0, 0), (0, 1)), constant_values=N_SYMBOLS)
            weights[part] = np.exp(np.take_along_axis(logs, aims[:, :, None], 2).sum((1, 2)))
    return weights


def all_words(basis: seqray.Basis) -> tuple[Words, Words]:
    """Return the distinct words of the blocks, and the distinct prefixes that are read for them."""
    plan = Plan.of(basis)
    rows = plan.tree.words(plan.leaves)
    words = Words.concatenate([rows.followed_by(basis.suffixes), basis.prefixes])
    below = PrefixTree.of(basis.suffixes).words()
    return words, Words.concatenate([rows.followed_by(below), basis.prefixes])


def run(options: argparse.Namespace) -> None:
    model = made_model(options)
    alphabet = seqray.Alphabet(range(N_SYMBOLS))
    card = seqray.Card(alphabet, "next", start=START, end=END)
    rng = np.random.default_rng(options.seed)
    sizes = (options.size, options.size)
    basis = seqray.uniform_basis(alphabet, *sizes, seed=rng, max_length=options.longest)
    cached = seqray.hf_box(model, card)

    times = []
    for _ in range(2):
        begin = time.process_time()
        blocks = seqray.fill(cached, basis)
        times.append(time.process_time() - begin)
    ours = min(times)

    words, prefixes = all_words(basis)
    assert len(words) == blocks.n_questions
    queried = prefixes[np.sort(rng.choice(len(prefixes), 8 * options.words, replace=False))]
    scored = words[np.sort(rng.choice(len(words), 8 * options.words, replace=False))]

    def anew(batch: int) -> float:
        box = seqray.hf_box(model, card, memory=0, batch_size=batch)
        return best_of(2, lambda: box.next_symbol(queried)) / n_tokens(queried) * n_tokens(prefixes)

    def once(batch: int) -> float:
        seconds = best_of(2, lambda: whole_words(model, scored, batch))
        return seconds / n_tokens(scored) * n_tokens(words)

    seconds_anew, seconds_words = ({b: f(b) for b in BATCHES} for f in (anew, once))
    batch_anew = min(seconds_anew, key=seconds_anew.__getitem__)
    batch_words = min(seconds_words, key=seconds_words.__getitem__)

    some = scored[: options.words]
    reference = seqray.hf_box(model, card, memory=0).weights(some)
    difference = float(np.abs(cached.weights(some) / reference - 1).max())
    difference_words = float(
        np.abs(cached.weights(some) / whole_words(model, some, 2**13) - 1).max()
    )
    next_difference = float(
        np.abs(
            cached.next_symbol(queried) - seqray.hf_box(model, card, memory=0).next_symbol(queried)
        ).max()
    )
    figures = {
        "speedup": seconds_anew[batch_anew] / ours,
        "speedup_words": seconds_words[batch_words] / ours,
        "largest_difference_next": next_difference,
        "largest_relative_difference": max(difference, difference_words),
        "seconds": ours,
        "seconds_anew": seconds_anew[batch_anew],
        "seconds_words": seconds_words[batch_words],
        "batch_anew": batch_anew,
        "batch_words": batch_words,
        "max_states": cached.max_states,
        "steps": blocks.n_steps,
        "words": len(words),
        "mean_length": float(words.lengths.mean()),
        "us_per_step": ours / blocks.n_steps * 1e6,
        **{name: value for name, value in vars(options).items() if name != "words"},
    }
    report(
        [
            ("basis", f"{basis}; {len(words):,} words of {words.lengths.mean():.0f} symbols"),
            ("shared keys and values", f"{ours:8.1f} s, {blocks.n_steps:,} steps"),
            (
                "every prefix anew",
                f"{seconds_anew[batch_anew]:8.1f} s in batches of {batch_anew:,} ids, "
                f"extrapolated; {figures['speedup']:.1f} ×",
            ),
            (
                "every word once",
                f"{seconds_words[batch_words]:8.1f} s in batches of {batch_words:,} ids, "
                f"extrapolated; {figures['speedup_words']:.1f} ×",
            ),
            (
                "largest difference",
                f"{next_difference:.1e} of a probability, {difference:.1e} of a weight",
            ),
        ],
        figures,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--size", type=int, default=100, help="prefixes, and suffixes")
    parser.add_argument("--longest", type=int, default=40, help="symbols of the longest word drawn")
    parser.add_argument("--words", type=int, default=400, help="words that are compared")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with one_thread():
        run(options)


if __name__ == "__main__":
    main()
