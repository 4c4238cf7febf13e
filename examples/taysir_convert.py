"""Convert a language model of the TAYSIR competition to plain arrays, which `taysir:` opens.

    pip install '.[torch]' mlflow
    python examples/taysir_convert.py 2.1.taysir.model converted/2.1
    seqray extract taysir:converted/2.1 -o run

The competition ships its models as pickles, and LOADING A PICKLE RUNS WHATEVER CODE IS IN IT.
seqray never does that. This script does, with MLflow, if you run it on a file: do so only with
files that you trust, best on a machine with nothing on it. A model that you have loaded already is
converted in Python:

    from taysir_convert import convert
    convert(model, "converted/2.1")

What is written are `config.json` and `weights.npz` (docs/files.md), which hold no code. A network
has to be what those of the competition's second track are: one-hot input, layers of an RNN with
tanh, a GRU or an LSTM in one direction, dense layers with nothing between them, a sigmoid, a
softmax. Layers are read in the order in which the module has them. What its `forward` does besides
cannot be seen from here: compare a few words with the model's own answers afterwards.
"""

import argparse
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from seqray.blackbox.native.rnn import RecurrentLanguageModel
from seqray.blackbox.native.taysir import CELL_LAYOUTS, load_taysir

KINDS = {1: "RNN", 3: "GRU", 4: "LSTMx"}
"""What the competition calls a cell, by its number of gates."""

ARRAYS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def convert(
    model: nn.Module, folder: str | Path, *, start: int | None = None, end: int | None = None
) -> RecurrentLanguageModel:
    """Write the arrays of a model to a folder, and return what `taysir:` reads there.

    Parameters
    ----------
    model
        A module with recurrent and dense layers, as the competition has them.
    folder
        Where ``config.json`` and ``weights.npz`` are written.
    start, end
        The symbols around every word: by default the last but one and the last, as in the
        competition.
    """
    recurrent, dense = list[dict[str, Any]](), list[nn.Linear]()
    for name, part in parts_of(model):
        if isinstance(part, nn.Linear):
            dense.append(part)
        elif any(key.startswith("weight_ih") for key, _ in part.named_parameters(recurse=False)):
            recurrent += layers_of(name, part)
        else:
            raise SystemExit(f"{name}: {type(part).__name__} has weights that have no place here")
    if not recurrent or not dense:
        raise SystemExit("expected recurrent and dense layers: is it a transformer?")
    rows, hidden = recurrent[0]["weight_hh"].shape
    cell = KINDS[rows // hidden]
    arrays = {
        CELL_LAYOUTS[cell][1].format(layer=i, array=name): layer[name]
        for i, layer in enumerate(recurrent)
        for name in ARRAYS
    }
    for i, layer in enumerate(dense):
        arrays[f"dense.{i}.weight"] = plain(layer.weight)
        arrays[f"dense.{i}.bias"] = (
            np.zeros(layer.out_features) if layer.bias is None else plain(layer.bias)
        )
    n_symbols = dense[-1].out_features
    config = {
        "cell": cell,
        "n_layers": len(recurrent),
        "alphabet": n_symbols,
        "start": n_symbols - 2 if start is None else start,
        "end": n_symbols - 1 if end is None else end,
        "dense": ["Linear"] * len(dense) + ["Sigmoid", "Softmax"],
        "bidirectional": False,
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "weights.npz", **arrays)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    return load_taysir(folder)


def parts_of(module: nn.Module, name: str = "model") -> Iterator[tuple[str, nn.Module]]:
    """Yield the parts of a module that have weights of their own, in its order."""
    kind = type(module)
    if kind.__module__ == nn.ReLU.__module__ and kind not in (nn.Sigmoid, nn.Softmax):
        raise SystemExit(f"{name}: {kind.__name__}: expected no activation but Sigmoid and Softmax")
    if any(True for _ in module.parameters(recurse=False)):
        yield name, module
    children = dict(module.named_children())
    for key, value in vars(module).items():  # also those in a list, which PyTorch does not know of
        if isinstance(value, (list, tuple)) and any(isinstance(x, nn.Module) for x in value):
            children |= {f"{key}[{i}]": x for i, x in enumerate(value)}
    for key, child in children.items():
        yield from parts_of(child, f"{name}.{key}")


def layers_of(name: str, part: Any) -> list[dict[str, Any]]:
    """Return the arrays of each layer of a recurrent module or cell."""
    arrays = {key: plain(array) for key, array in part.named_parameters(recurse=False)}
    if getattr(part, "nonlinearity", "tanh") != "tanh":
        raise SystemExit(f"{name}: expected an RNN with tanh, got {part.nonlinearity}")
    if getattr(part, "bidirectional", False) or getattr(part, "proj_size", 0):
        raise SystemExit(f"{name}: expected one direction and no projection")
    ends = [f"_l{i}" for i in range(part.num_layers)] if hasattr(part, "num_layers") else [""]
    layers = []
    for end in ends:
        zeros = np.zeros(len(arrays[f"weight_ih{end}"]))
        layers.append({array: arrays.get(f"{array}{end}", zeros) for array in ARRAYS})
    return layers


def plain(tensor: Any) -> Any:
    return tensor.detach().cpu().float().numpy()


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Convert a language model of the TAYSIR competition to plain arrays. This "
        "LOADS A PICKLE, which runs the code in it: only for files that you trust."
    )
    parser.add_argument("model", help="the folder that MLflow wrote, such as 2.1.taysir.model")
    parser.add_argument("folder", help="where config.json and weights.npz are written")
    parser.add_argument("--start", type=int, help="the symbol before every word")
    parser.add_argument("--end", type=int, help="the symbol after every word")
    options = parser.parse_args()
    try:
        mlflow = importlib.import_module("mlflow.pytorch")
    except ImportError:
        raise SystemExit("loading a competition's model needs mlflow: pip install mlflow") from None
    model = mlflow.load_model(options.model, map_location="cpu")
    print(convert(model, options.folder, start=options.start, end=options.end))
    print(f"written: now write taysir:{options.folder}")


if __name__ == "__main__":
    main()
