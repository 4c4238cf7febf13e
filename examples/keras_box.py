"""Extract an automaton from a Keras model.

    pip install '.[keras]' torch
    KERAS_BACKEND=torch python examples/keras_box.py

A GRU learns the weather of a small machine from 3,000 of its weeks, and is saved as a .keras file.
seqray opens the file, steps the network through its own layers, and returns an automaton whose
forecasts can be read off and compared with the network's.
"""

import json
import os
import tempfile
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np

import seqray

DAYS = ["sun", "rain", "fog"]
MACHINE = seqray.WeightedAutomaton(  # two kinds of weather, fine and foul; 1 day in 4 is the last
    DAYS,
    [0.5, 0.5],
    np.array([[[4, 1], [1, 0]], [[0, 1], [0, 4]], [[0, 0], [1, 0]]]) / 8,
    [1 / 4, 1 / 4],
)
START, PADDING = 3, 4
CARD = {"alphabet": DAYS, "answers": "next", "start": START}


def trained(words: seqray.Words) -> keras.Model:
    """Return a network that has learnt to predict the next day, or the end."""
    width = int(words.lengths.max()) + 1
    ids, aims = np.full((2, len(words), width), PADDING)
    for i, word in enumerate(words):
        codes = words.alphabet.encode(word)
        ids[i, : len(codes) + 1] = [START, *codes]
        aims[i, : len(codes) + 1] = [*codes, len(DAYS)]
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(5, 4),
            keras.layers.GRU(12, return_sequences=True),
            keras.layers.Dense(4),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=PADDING)
    model.compile(keras.optimizers.Adam(0.02), loss)
    model.fit(ids, aims, batch_size=100, epochs=2, verbose=0)
    return model


def main() -> None:
    keras.utils.set_random_seed(0)
    weeks, _ = seqray.sample(MACHINE, 3000, seed=np.random.default_rng(0), max_length=60)
    with tempfile.TemporaryDirectory() as folder:
        trained(weeks).save(Path(folder, "weather.keras"))
        Path(folder, "weather.seqray.json").write_text(json.dumps(CARD))
        box = seqray.open_black_box(f"keras:{folder}/weather.keras")
        extraction = seqray.extract(box, n_prefixes=40, n_suffixes=40, max_rank=6, max_length=60)
        wa = extraction.best(tolerance=0.01)
        print(f"weather.keras became {wa}")
        print("tomorrow after      " + "".join(f"{day:>18}" for day in [*DAYS, "the end"]))
        for word in ("sun sun", "rain rain", "sun fog", "rain rain sun"):
            shown = [f"{a:9.3f} ({b:.3f})" for a, b in zip(*forecasts(box, wa, word), strict=True)]
            print(f"{word:<20}" + "".join(f"{text:>18}" for text in shown))
        print("of the network (of the automaton)")


def forecasts(box: object, wa: seqray.WeightedAutomaton, word: str) -> list[np.ndarray]:
    return [model.next_symbol([word])[0] for model in (box, wa)]


if __name__ == "__main__":
    main()
