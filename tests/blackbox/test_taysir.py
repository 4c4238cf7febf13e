import json
from pathlib import Path

import numpy as np
import pytest

from seqray.blackbox.taysir import load_taysir
from seqray.errors import FileError, MissingFileError
from seqray.stepper import PredictingStepper


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
    found = model.weights(words_of(original, index))
    # The original multiplies in float32, so its smallest values are denormal or zero.
    ordinary = value > 1e-30
    assert ordinary.any()
    np.testing.assert_allclose(found[ordinary], value[ordinary], rtol=1e-4)
    np.testing.assert_allclose(found[~ordinary], value[~ordinary], rtol=1e-2, atol=1e-38)


def test_the_end_alone_is_no_letter(original):
    config = json.loads((original / "config.json").read_text())
    model = load_taysir(original)
    assert isinstance(model, PredictingStepper)
    assert set(range(config["alphabet"])) - set(model.alphabet) == {config["end"]}
    chances = model.next_symbol([(), (config["start"], 0)])
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-6)


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
