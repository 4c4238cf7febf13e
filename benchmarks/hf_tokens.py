"""Symbols of several tokens on a tiny GPT-2: against streams of tokens, and time with the cache.

    pip install '.[hf]'
    python benchmarks/hf_tokens.py [--sample 300] [--words 127551]

There are 50 symbols of 1 to 4 tokens, some of which begin with others. Two things are compared
with plain readings that share no code with seqray's: the rows after all words up to length 2 and a
sample of length 3, with the probability of each symbol summed over the streams that are read as
it; and the probabilities of words up to length 3, all 127,551 of them by default, with those of
their tokens. It takes some minutes.
"""

import argparse
import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from common import one_thread, report

try:
    import torch
except ImportError:
    raise SystemExit("this benchmark needs transformers: pip install '.[hf]'") from None

import seqray

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from same_gru.hf import END, START, gpt2
from token_streams import N_TOKENS, StreamReader, fifty_symbols, largest_difference, model_reader

SYMBOLS = fifty_symbols()


@torch.inference_mode()
def stream_weights(model: torch.nn.Module, words: list[tuple[int, ...]]) -> np.ndarray:
    """Return the probability of each word's tokens and the end; 0 if they are read otherwise."""
    reader = StreamReader(SYMBOLS, [(END,)], None)
    streams = [(*sum((SYMBOLS[code] for code in word), ()), END) for word in words]
    weights = np.zeros(len(words))
    for length in sorted({len(stream) for stream in streams}):
        same = np.array([i for i, stream in enumerate(streams) if len(stream) == length])
        for part in np.array_split(same, -(-len(same) // 4096)):
            aims = torch.tensor([streams[i] for i in part])
            ids = torch.nn.functional.pad(aims[:, :-1], (1, 0), value=START)
            logs = model(ids).logits.double().log_softmax(2)
            weights[part] = logs.gather(2, aims[:, :, None]).sum((1, 2)).exp().numpy()
    for i, (word, stream) in enumerate(zip(words, streams, strict=True)):
        weights[i] *= bool(reader.is_read_as(stream, [SYMBOLS[code] for code in word]))
    return weights


def seconds_of(box: seqray.BlackBox, words: seqray.Words) -> tuple[float, np.ndarray]:
    begin = time.process_time()
    rows = box.next_symbol(words)
    return time.process_time() - begin, rows


def run(options: argparse.Namespace) -> None:
    model = gpt2(vocab_size=N_TOKENS).eval()
    alphabet = seqray.Alphabet(range(len(SYMBOLS)))
    card = seqray.Card(alphabet, "next", tokens=SYMBOLS, start=START, end=END)
    leaking = replace(card, renormalise=False)
    rng = np.random.default_rng(options.seed)
    every = [word for n in range(4) for word in product(range(len(SYMBOLS)), repeat=n)]
    short = [word for word in every if len(word) < 3]
    long = map(tuple, rng.integers(0, len(SYMBOLS), (options.sample, 3)).tolist())
    codes = [*short, *long]
    words = [tuple(SYMBOLS[code] for code in word) for word in codes]
    box = seqray.hf_box(model, card)
    encoded = alphabet.words(codes)
    seconds, rows = seconds_of(box, encoded)
    seconds_anew, _ = seconds_of(seqray.hf_box(model, card, memory=0), encoded)
    parts = seqray.hf_box(model, leaking).next_symbol(encoded)
    reader = model_reader(model, SYMBOLS, START, END, words)
    difference = float(largest_difference(reader, words, rows, parts))

    some = every if options.words >= len(every) else [*short, *every[-options.words :]]
    weights = seqray.hf_box(model, leaking).weights(alphabet.words(some))
    expected = stream_weights(model, some)
    impossible = expected == 0
    assert ((weights == 0) == impossible).all()
    relative = float(np.abs(weights[~impossible] / expected[~impossible] - 1).max())
    largest = float(np.abs(weights - expected).max())
    figures = {
        "rows": len(codes),
        "largest_difference_row": difference,
        "words": len(some),
        "impossible": int(impossible.sum()),
        "largest_difference_word": largest,
        "largest_relative_difference_word": relative,
        "nodes": len(box.tree.nodes(0)),
        "seconds": seconds,
        "seconds_anew": seconds_anew,
        "speedup": seconds_anew / seconds,
    }
    report(
        [
            ("symbols", repr(box.tree)),
            ("rows", f"{len(codes):,}: differ by {difference:.1e} at most"),
            ("words", f"{len(some):,}, {impossible.sum():,} of them impossible"),
            ("", f"differ by {largest:.1e} at most, {relative:.1e} of themselves"),
            ("time of the rows", f"{seconds:.1f} s, {seconds_anew:.1f} s without the cache"),
        ],
        figures,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=300, help="words of length 3 with rows")
    parser.add_argument("--words", type=int, default=127_551, help="words with probabilities")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with one_thread():
        run(options)


if __name__ == "__main__":
    main()
