"""Language models of the TAYSIR 2023 competition, stored as plain arrays.

A folder holds ``config.json`` and ``weights.npz``. The network reads one-hot symbols and ends in a
sigmoid, then a softmax. Its words stand between two symbols of their own, a start and an end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seqray.automata.words import Alphabet
from seqray.blackbox.native.cells import RECURRENT_ARRAYS, DenseLayer, RecurrentLayer, check_name
from seqray.blackbox.native.rnn import RecurrentLanguageModel
from seqray.util.files import read_bytes, read_text, reading
from seqray.util.npz import NpzArrays

CELL_LAYOUTS = {
    "RNN": ("tanh", "mach[{layer}].{array}_l0"),
    "GRU": ("gru", "mach[{layer}].{array}_l0"),
    "LSTMx": ("lstm", "mach[{layer}].forward_layers[0].{array}"),
}
"""The cell of each kind of machine, and the name of a layer's array."""


def load_taysir(folder: str | os.PathLike[str]) -> RecurrentLanguageModel:
    """Read a language model of the competition.

    Parameters
    ----------
    folder
        The folder of ``config.json`` and ``weights.npz``.

    Returns
    -------
    model
        Its alphabet is every symbol but the end, so the start is an ordinary letter too and the
        predictions sum to one. It reads the start by itself: its words are the symbols between
        the start and the end.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> config = {"cell": "RNN", "n_layers": 1, "alphabet": 3, "start": 1, "end": 2,
    ...           "dense": ["Linear", "Sigmoid", "Softmax"], "bidirectional": False}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "config.json").write_text(json.dumps(config))
    ...     np.savez(Path(folder, "weights.npz"), **{
    ...         "mach[0].weight_ih_l0": np.zeros((4, 3)), "mach[0].weight_hh_l0": np.zeros((4, 4)),
    ...         "mach[0].bias_ih_l0": np.zeros(4), "mach[0].bias_hh_l0": np.zeros(4),
    ...         "dense.0.weight": np.zeros((3, 4)), "dense.0.bias": np.zeros(3)})
    ...     load_taysir(folder).next_symbol([[0, 1]]).round(4)
    array([[0.3333, 0.3333, 0.3333]])
    """
    folder = Path(folder)
    text = read_text(folder / "config.json")
    content = read_bytes(folder / "weights.npz")
    with reading(folder, "a language model of TAYSIR"):
        return _build(json.loads(text), NpzArrays(content))


def _build(config: Mapping[str, Any], arrays: NpzArrays) -> RecurrentLanguageModel:
    check_name("cell", config["cell"], CELL_LAYOUTS)
    *linear, sigmoid, softmax = config["dense"]
    if set(linear) != {"Linear"} or (sigmoid, softmax) != ("Sigmoid", "Softmax"):
        raise ValueError(f"dense: expected Linear …, Sigmoid, Softmax, got {config['dense']}")
    if config["bidirectional"]:
        raise ValueError("bidirectional: a network that reads backwards cannot be stepped")
    cell, name = CELL_LAYOUTS[config["cell"]]
    layers = [
        RecurrentLayer(cell, *(arrays[name.format(layer=i, array=a)] for a in RECURRENT_ARRAYS))
        for i in range(config["n_layers"])
    ]
    dense = [
        DenseLayer(arrays[f"dense.{i}.weight"], arrays[f"dense.{i}.bias"], activation)
        for i, activation in enumerate(["identity"] * (len(linear) - 1) + ["sigmoid"])
    ]
    if not layers:
        raise ValueError(f"n_layers: expected 1 or more, got {config['n_layers']}")
    if config["alphabet"] > layers[0].n_inputs:
        raise ValueError(
            f"alphabet: {config['alphabet']!r} symbols: expected at most the network's "
            f"{layers[0].n_inputs} input ids"
        )
    symbols = [symbol for symbol in range(config["alphabet"]) if symbol != config["end"]]
    return RecurrentLanguageModel(
        Alphabet(symbols),
        layers,
        dense,
        input_ids=symbols,
        start_id=config["start"],
        output_columns=symbols,
        end_column=config["end"],
    )
