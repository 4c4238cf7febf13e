"""Peak memory of a fill, relative to the Hankel blocks' own bytes.

    python benchmarks/memory.py [--size 1400] [--symbols 20] [--seed 0]

The box is a GRU-50 with random weights; the blocks are H and one Hσ a symbol, in float64. The peak
is the process's largest resident memory, with everything that was there before the fill taken off.
"""

import argparse
import resource
import time

import numpy as np
from common import one_thread, report

import seqray
from seqray.automata.words import Alphabet
from seqray.blackbox.native.cells import DenseLayer, RecurrentLayer
from seqray.blackbox.native.rnn import RecurrentLanguageModel

HIDDEN = 50


def network(alphabet: Alphabet, rng: np.random.Generator) -> RecurrentLanguageModel:
    def weights(*shape: int) -> np.ndarray:
        return rng.normal(size=shape) / np.sqrt(shape[-1])

    n_inputs, k = 3 * len(alphabet), len(alphabet)
    layers = [
        RecurrentLayer(
            "gru",
            weights(3 * HIDDEN, n),
            weights(3 * HIDDEN, HIDDEN),
            weights(3 * HIDDEN),
            weights(3 * HIDDEN),
        )
        for n in (n_inputs, HIDDEN)
    ]
    dense = [
        DenseLayer(weights(HIDDEN // 2, HIDDEN), weights(HIDDEN // 2), "relu"),
        DenseLayer(weights(n_inputs, HIDDEN // 2), weights(n_inputs), "relu"),
        DenseLayer(weights(k + 1, n_inputs), weights(k + 1)),
    ]
    return RecurrentLanguageModel(alphabet, layers, dense, weights(k + 1, n_inputs), start_id=k)


def peak() -> int:
    """Return the largest resident memory so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1400, help="prefixes, and suffixes")
    parser.add_argument("--symbols", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    box = network(Alphabet(range(options.symbols)), rng)
    basis = seqray.uniform_basis(box.alphabet, options.size, options.size, seed=rng)
    box.weights(basis.prefixes)  # what the network itself needs is there now
    before, begin = peak(), time.perf_counter()
    blocks = seqray.fill(box, basis)
    seconds, used = time.perf_counter() - begin, peak() - before
    own = (options.symbols + 1) * options.size**2 * 8
    report(
        [
            ("blocks", f"{own / 1e6:.0f} MB; kept in {blocks.values.nbytes / 1e6:.0f} MB"),
            ("peak of the fill", f"{used / 1e6:.0f} MB, {used / own:.2f} of the blocks"),
        ],
        {"memory_ratio": used / own, "seconds": seconds, "steps": blocks.n_steps, **vars(options)},
    )


if __name__ == "__main__":
    with one_thread():
        main()
