"""Make the network that `seqray demo` takes apart: a small GRU, trained on a generated machine.

    pip install '.[torch]'
    python examples/train_demo_box.py box.safetensors

The machine, its words and the training are all seeded. The network never sees the machine, only
20,000 words drawn from it; `seqray demo` then never sees the machine or the words, only the
network's answers. The machine is saved beside the network, for comparison.

The network that ships with seqray came from an earlier training loop, on the same words: this
script makes one that is as good, but not the same.
"""

import argparse
from pathlib import Path

import numpy as np

import seqray
from seqray.automata.generators import random_machine

SEED = 9
N_STATES, ALPHABET = 5, seqray.Alphabet("abcd")
N_TRAIN, N_VALID = 20_000, 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="a .safetensors file")
    output = parser.parse_args().output
    rng = np.random.default_rng(SEED)
    numbered = random_machine("dpfa", N_STATES, len(ALPHABET), seed=rng)
    machine = seqray.WeightedAutomaton(
        ALPHABET, numbered.initial, numbered.transitions, numbered.final
    )
    words = machine.sample(N_TRAIN + N_VALID, seed=rng).words
    training = seqray.train(
        words[:N_TRAIN],
        validation=words[N_TRAIN:],
        sizes=[32],
        epochs=20,
        patience=None,
        seed=SEED,
        on_epoch=lambda row: print(
            f"epoch {row.epoch:2}: validation cross-entropy {row.validation:.5f}", flush=True
        ),
    )
    training.model.save(output)
    machine.save(output.with_name("machine.json"))
    print(f"{output}: {output.stat().st_size:,} bytes; {training.model}")
    print(seqray.compare(machine, training.model, words[N_TRAIN:]))


if __name__ == "__main__":
    main()
