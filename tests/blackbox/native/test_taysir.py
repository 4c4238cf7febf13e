import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from pages import ROOT
from seqray import open_black_box
from seqray.automata.stepper import PredictingStepper
from seqray.blackbox.native.taysir import load_taysir
from seqray.util.errors import FileError, MissingFileError


@pytest.fixture(params=["2.1", "2.2", "2.4"])
def original(request, data) -> Path:
    folder = data / "taysir" / request.param
    if not folder.is_dir():
        pytest.skip(f"no TAYSIR model at {folder}: SEQRAY_DATA names the folder that has them")
    return folder


def words_of(folder: Path, chosen: np.ndarray) -> list[tuple[int, ...]]:
    lines = (folder / "valid.words").read_text().splitlines()[1:]
    return [tuple(int(s) for s in lines[i].split()[2:-1]) for i in chosen]


def test_probabilities_are_those_of_the_original(original):
    model = load_taysir(original)
    with np.load(original / "expected.npz") as expected:
        index, value = expected["index"], expected["value"]
    actual = model.weights(words_of(original, index))
    # The original multiplies in float32, so its smallest values are denormal or zero.
    ordinary = value > 1e-30
    assert ordinary.any()
    np.testing.assert_allclose(actual[ordinary], value[ordinary], rtol=1e-4)
    np.testing.assert_allclose(actual[~ordinary], value[~ordinary], rtol=1e-2, atol=1e-38)


def test_the_end_alone_is_no_letter(original):
    config = json.loads((original / "config.json").read_text())
    model = load_taysir(original)
    assert isinstance(model, PredictingStepper)
    assert set(range(config["alphabet"])) - set(model.alphabet) == {config["end"]}
    probabilities = model.next_symbol([(), (config["start"], 0)])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


def write(folder: Path, *, without: str | None = None, **changes: object) -> Path:
    """A GRU of two layers, small enough to make up."""
    config = {"cell": "GRU", "n_layers": 2, "alphabet": 3, "start": 0, "end": 1}
    config |= {"bidirectional": False, "dense": ["Linear", "Linear", "Sigmoid", "Softmax"]}
    rng = np.random.default_rng(0)
    arrays = {}
    for layer, n_inputs in enumerate((3, 4)):
        arrays[f"mach[{layer}].weight_ih_l0"] = rng.normal(size=(12, n_inputs))
        arrays[f"mach[{layer}].weight_hh_l0"] = rng.normal(size=(12, 4))
        arrays[f"mach[{layer}].bias_ih_l0"] = rng.normal(size=12)
        arrays[f"mach[{layer}].bias_hh_l0"] = rng.normal(size=12)
    for i, (n_outputs, n_inputs) in enumerate(((5, 4), (3, 5))):
        arrays[f"dense.{i}.weight"] = rng.normal(size=(n_outputs, n_inputs))
        arrays[f"dense.{i}.bias"] = rng.normal(size=n_outputs)
    arrays.pop(without, None)
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config | changes))
    np.savez(folder / "weights.npz", **arrays)
    return folder


def test_columns_follow_the_symbols_around_the_end(tmp_path):
    model = load_taysir(write(tmp_path))
    assert model.alphabet.symbols == (0, 2)
    assert (model.input_ids, model.output_columns, model.end_column) == ((0, 2), (0, 2), 1)
    np.testing.assert_allclose(model.next_symbol([(0, 2, 2)]).sum(), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cell": "ESN"}, "expected one of RNN, GRU, LSTMx, got 'ESN'"),
        ({"dense": ["Linear", "ReLU", "Softmax"]}, "expected Linear …, Sigmoid, Softmax"),
        ({"dense": []}, "not enough values"),
        ({"bidirectional": True}, "cannot be stepped"),
        ({"n_layers": 3}, r"it has no 'mach\[2\].weight_ih_l0'"),
        ({"n_layers": None}, "damaged"),
        ({"n_layers": 0}, "n_layers: expected 1 or more, got 0"),
        ({"without": "dense.1.bias"}, "it has no 'dense.1.bias'"),
        ({"alphabet": 9}, "9 symbols: expected at most the network's 3 input ids"),
        ({"alphabet": 2**31}, "2147483648 symbols: expected at most the network's 3 input ids"),
    ],
)
def test_a_model_that_cannot_be_read_is_refused(tmp_path, changes, message):
    with pytest.raises(FileError, match=message) as caught:
        load_taysir(write(tmp_path, **changes))
    assert str(tmp_path) in str(caught.value)


def test_a_missing_or_damaged_file_is_refused(tmp_path):
    with pytest.raises(MissingFileError, match=r"nowhere/config\.json: there is no such file$"):
        load_taysir(tmp_path / "nowhere")
    folder = write(tmp_path / "model")
    content = (folder / "weights.npz").read_bytes()
    for damaged in (b"", content[:-200], content[: len(content) // 2], b"no archive"):
        (folder / "weights.npz").write_bytes(damaged)
        with pytest.raises(FileError, match="damaged"):
            load_taysir(folder)
    (folder / "weights.npz").write_bytes(content)
    (folder / "config.json").write_text("{")
    with pytest.raises(FileError, match="damaged"):
        load_taysir(folder)


# The converter --------------------------------------------------------------------------------


def converter():
    pytest.importorskip("torch")
    path = ROOT / "examples" / "taysir_convert.py"
    spec = importlib.util.spec_from_file_location("taysir_convert", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def competitor(kind, n_symbols=5, *, cells=False, hidden=(), **options):
    """Return a network as the competition has them, one layer or cell a part of a list."""
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            make = getattr(nn, kind)
            self.mach = [make(n_symbols, 6, **options), make(6, 4, **options)]
            if not cells:
                self.mach = nn.ModuleList(self.mach)
            self.dense = nn.Sequential(
                nn.Linear(4, 7), *hidden, nn.Linear(7, n_symbols), nn.Sigmoid(), nn.Softmax(-1)
            )

        def predict(self, ids):
            """Return what follows, after each of the ids."""
            outputs = nn.functional.one_hot(torch.tensor(ids), n_symbols).float()
            for layer in self.mach:
                if not cells:
                    outputs, _ = layer(outputs)
                    continue
                state, rows = None, []
                for x in outputs:
                    state = layer(x, state)
                    rows.append(state[0] if isinstance(state, tuple) else state)
                outputs = torch.stack(rows)
            with torch.inference_mode():
                return self.dense(outputs).numpy()

    return Network()


@pytest.mark.parametrize(
    ("kind", "options"),
    [("RNN", {}), ("GRU", {"bias": False}), ("LSTM", {}), ("LSTMCell", {"cells": True})],
)
def test_a_converted_model_predicts_as_before(tmp_path, kind, options):
    model = competitor(kind, **options)
    converter().convert(model, tmp_path / "converted")
    box = open_black_box(f"taysir:{tmp_path / 'converted'}")
    assert box.alphabet.symbols == (0, 1, 2, 3)
    actual = box.next_symbol([(), (0,), (0, 2), (0, 2, 1)])
    np.testing.assert_allclose(actual, model.predict([3, 0, 2, 1]), rtol=1e-5)


def test_a_converted_model_of_several_layers_in_one_module_predicts_as_before(tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    gru, dense = torch.nn.GRU(4, 3, num_layers=2), torch.nn.Linear(3, 4)
    box = converter().convert(torch.nn.ModuleList([gru, dense]), tmp_path, start=0, end=1)
    assert box.alphabet.symbols == (0, 2, 3)
    with torch.inference_mode():
        hidden, _ = gru(torch.eye(4)[[0, 2]])
        expected = dense(hidden).sigmoid().softmax(-1).numpy()[:, [0, 2, 3, 1]]
    np.testing.assert_allclose(box.next_symbol([(), (2,)]), expected, rtol=1e-5)


def test_what_the_arrays_cannot_say_is_not_converted(tmp_path):
    nn = pytest.importorskip("torch").nn
    convert = converter().convert
    for model, message in (
        (competitor("RNN", nonlinearity="relu"), "expected an RNN with tanh, got relu"),
        (competitor("GRU", hidden=[nn.ReLU()]), "ReLU: expected no activation but"),
        (competitor("GRU", hidden=[nn.LayerNorm(7)]), "LayerNorm has weights that have no place"),
        (nn.GRU(3, 4, bidirectional=True), "expected one direction"),
        (nn.Linear(3, 4), "expected recurrent and dense layers"),
    ):
        with pytest.raises(SystemExit, match=message):
            convert(model, tmp_path)
    assert not list(tmp_path.iterdir())
