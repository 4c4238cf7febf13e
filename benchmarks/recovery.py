"""Exact recovery: random automata with mixed signs come back from their own answers.

    python benchmarks/recovery.py [--automata 200] [--seed 0]

Each has 1 to 20 states and 1 to 10 symbols. The error is the largest difference over all words up
to length 4 and 2,000 random words up to length 12, relative to the largest weight among them.
"""

import argparse
import itertools
import logging

import numpy as np
from common import report

import seqray
from seqray.automata.generators import random_automaton
from seqray.automata.sampling import uniform_words

MAX_ERROR = 1e-8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--automata", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logging.disable()  # one symbol has only 13 words up to length 12, and says so
    errors: dict[str, list[float]] = {"none": [], "balanced": []}
    for rng in np.random.default_rng(options.seed).spawn(options.automata):
        n_states, n_symbols = int(rng.integers(1, 21)), int(rng.integers(1, 11))
        truth = random_automaton(n_states, n_symbols, seed=rng)
        words = evaluation_words(truth.alphabet, rng)
        weights = truth.weights(words)
        basis = seqray.uniform_basis(truth.alphabet, 200, 200, seed=rng, max_length=12)
        blocks = seqray.fill(truth, basis)
        for weighting, of_weighting in errors.items():
            copy = seqray.decompose(blocks, weighting=weighting).largest
            error = np.abs(copy.weights(words) - weights).max() / np.abs(weights).max()
            of_weighting.append(float(error))
    rows = [
        (weighting, f"largest error {max(of_weighting):.2e}, median {np.median(of_weighting):.2e}")
        for weighting, of_weighting in errors.items()
    ]
    report(
        rows,
        {
            "automata": options.automata,
            "seed": options.seed,
            "largest_error_raw": max(errors["none"]),
            "largest_error_weighted": max(errors["balanced"]),
            "within_bar": sum(e <= MAX_ERROR for e in errors["balanced"]),
        },
    )


def evaluation_words(alphabet: seqray.Alphabet, rng: np.random.Generator) -> seqray.Words:
    short = [w for n in range(5) for w in itertools.product(alphabet, repeat=n)]
    longer = uniform_words(alphabet, 2000, seed=rng, max_length=12)
    return seqray.Words.concatenate([alphabet.words(short), longer])


if __name__ == "__main__":
    main()
