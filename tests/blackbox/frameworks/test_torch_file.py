"""Recurrent networks in files of PyTorch arrays."""

import traceback
import warnings
from dataclasses import replace

import numpy as np
import pytest

from same_gru import WORDS, arrays, assert_same_as_native
from same_gru.torch import (
    BOTH_WAYS,
    CARD,
    bidirectional_arrays,
    gru_module,
    save_arrays,
    torch_stack,
)
from seqray import open_black_box
from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card, card_path
from seqray.blackbox.frameworks.stepped import SteppedBox, SteppedModel
from seqray.blackbox.frameworks.torch import torch_box
from seqray.blackbox.frameworks.torch_file import open_torch
from seqray.blackbox.queried import QueriedBox
from seqray.util.errors import (
    ArgumentError,
    BlackBoxError,
    FileError,
    MissingExtraError,
    MissingFileError,
)

torch = pytest.importorskip("torch")
nn = torch.nn

ABC = Alphabet("abc")


@pytest.mark.parametrize("name", ["gru.safetensors", "gru.pt", "gru.bin"])
def test_arrays_are_opened_and_stepped(tmp_path, name):
    box = open_torch(save_arrays(tmp_path / name))
    assert isinstance(box, SteppedModel)
    assert_same_as_native(box)


def test_the_registry_opens_them(tmp_path):
    path = save_arrays(tmp_path / "gru.pt")
    for box in (open_black_box(f"torch:{path}"), open_black_box(path)):
        assert_same_as_native(box)
    assert_same_as_native(open_black_box(f"torch:{path}", device="cpu"))


class Textbook(nn.Module):
    """What a stack should compute, written out."""

    def __init__(self, recurrent, head, read, n_ids=4):
        super().__init__()
        self.recurrent, self.head, self.read, self.n_ids = recurrent, head, read, n_ids

    def forward(self, ids):
        one_hot = nn.functional.one_hot(ids, self.n_ids).float()
        outputs, state = self.recurrent(one_hot.transpose(0, 1))
        if self.read == "final":
            h = state[0] if isinstance(state, tuple) else state
            seen = torch.cat([h[-2], h[-1]], dim=1) if self.recurrent.bidirectional else h[-1]
        else:
            seen = {"last": outputs[-1], "mean": outputs.mean(0), "max": outputs.amax(0)}[self.read]
        return self.head(seen)


@pytest.mark.parametrize("read", ["last", "final", "mean", "max"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", ["tanh", "relu", "gru", "lstm"])
def test_every_kind_of_network_computes_what_pytorch_does(tmp_path, cell, bidirectional, read):
    torch.manual_seed(0)
    kind = {"gru": nn.GRU, "lstm": nn.LSTM}.get(cell, nn.RNN)
    more = {"nonlinearity": cell} if kind is nn.RNN else {}
    recurrent = kind(4, 5, num_layers=2, bidirectional=bidirectional, **more)
    head = nn.Sequential(nn.Linear(10 if bidirectional else 5, 3), nn.ReLU(), nn.Linear(3, 1))
    textbook = Textbook(recurrent, head, read)
    dense = [{"outputs": 3, "activation": "relu"}, {"outputs": 1}]
    network = {"cell": cell, "read": read, "dense": dense, "bidirectional": bidirectional}
    card = Card(ABC, "value", start=3, network=network)
    box = open_torch(save_arrays(tmp_path / "net.pt", textbook.state_dict(), card))
    assert isinstance(box, QueriedBox if bidirectional or read in ("mean", "max") else SteppedBox)
    expected = torch_box(textbook, card).weights(WORDS)
    np.testing.assert_allclose(box.weights(WORDS), expected, rtol=1e-5, atol=1e-7)


def test_without_a_start_the_empty_word_is_read_off_the_zero_state(tmp_path):
    path = save_arrays(tmp_path / "gru.pt", card=replace(CARD, start=None))
    logits = arrays()["output.bias"].astype(float)
    expected = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(open_torch(path).next_symbol([""]), [expected], rtol=1e-6)


@pytest.mark.parametrize(("start", "stop"), [(None, 3), ([3, 2], None), ([3, 2], [1, 3])])
def test_what_stands_around_a_word_is_read_stepped_and_whole(tmp_path, start, stop):
    card = Card(ABC, "value", start=start, stop=stop)
    module = gru_module().eval()
    ids = [*card.start_ids, 1, 0, *card.stop_ids]
    expected = module(torch.tensor([ids]))[0, -1, 0].item()
    stepped = [
        open_torch(save_arrays(tmp_path / "gru.pt", card=card)),
        torch_box(module, card, step=module.step),
    ]
    assert all(isinstance(box, SteppedBox) for box in stepped)
    for box in (*stepped, torch_box(module, card)):
        np.testing.assert_allclose(box.weights(["ba"]), [expected], rtol=1e-5)


@pytest.mark.parametrize("both", [False, True])
def test_a_stack_of_modules_of_one_layer_is_read_as_it_is(tmp_path, both):
    torch.manual_seed(0)
    module = torch.nn.ModuleDict(
        {
            "embedding": torch.nn.Embedding(4, 3),
            "lstm1": torch.nn.LSTM(3, 5, batch_first=True, bidirectional=both),
            "lstm2": torch.nn.LSTM(5 * (1 + both), 6, batch_first=True, bidirectional=both),
            "output": torch.nn.Linear(6 * (1 + both), 1),
        }
    )
    card = Card(ABC, "value", start=3, network={"read": "last"})
    box = open_torch(save_arrays(tmp_path / "two.safetensors", module.state_dict(), card))
    assert isinstance(box, QueriedBox if both else SteppedBox)
    hidden = module["embedding"](torch.tensor([[3, 1, 0]]))
    for name in ("lstm1", "lstm2"):
        hidden, _ = module[name](hidden)
    expected = module["output"](hidden[:, -1]).item()
    np.testing.assert_allclose(box.weights(["ba"]), [expected], rtol=1e-5)


def test_filling_up_words_is_nothing_to_a_bidirectional_network(tmp_path):
    path = tmp_path / "both.safetensors"
    plain = open_torch(save_arrays(path, bidirectional_arrays(), BOTH_WAYS)).weights(WORDS)
    save_arrays(path, bidirectional_arrays(), replace(BOTH_WAYS, pad=0))
    np.testing.assert_allclose(open_torch(path).weights(WORDS), plain, rtol=1e-6)


def test_precision_is_that_of_the_file(tmp_path):
    double = {name: array.astype(np.float64) for name, array in arrays().items()}
    exact = open_torch(save_arrays(tmp_path / "double.pt", double))
    half = {name: array.astype(np.float16) for name, array in arrays().items()}
    rough = open_torch(save_arrays(tmp_path / "half.safetensors", half))
    assert exact.stepper.module["recurrent"][0].weight_hh_l0.dtype == torch.float64
    assert rough.stepper.module["recurrent"][0].weight_hh_l0.dtype == torch.float16
    assert_same_as_native(exact)


def test_the_fingerprint_is_that_of_arrays_and_card(tmp_path):
    box = torch_stack(tmp_path)
    assert box.fingerprint == torch_stack(tmp_path).fingerprint
    path = tmp_path / "gru.safetensors"
    replace(CARD, renormalise=False).save(card_path(path))
    assert open_torch(path).fingerprint != box.fingerprint
    other = {**arrays(), "output.bias": np.zeros(4, np.float32)}
    assert open_torch(save_arrays(path, other)).fingerprint != box.fingerprint


# Files that cannot be used --------------------------------------------------------------------


def test_a_missing_file_and_a_missing_card_are_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"no\.pt: there is no such file"):
        open_torch(tmp_path / "no.pt")
    path = save_arrays(tmp_path / "gru.pt")
    card_path(path).unlink()
    with pytest.raises(MissingFileError, match=r"its card .*gru\.seqray\.json is missing"):
        open_torch(path)


@pytest.mark.parametrize("ending", ["safetensors", "pt"])
@pytest.mark.parametrize("content", [b"", b"hello\n", b"PK\3\4", None], ids=str)
def test_a_damaged_file_is_refused(tmp_path, ending, content):
    path = save_arrays(tmp_path / f"gru.{ending}")
    if content is None:
        content = path.read_bytes()[:-300]
    path.write_bytes(content)
    with pytest.raises(FileError, match=rf"gru\.{ending}: not a .*, or damaged: "):
        open_torch(path)


def test_a_folder_is_no_file_of_arrays(tmp_path):
    folder = tmp_path / "gru.pt"
    folder.mkdir()
    CARD.save(folder / "seqray.json")
    with pytest.raises(FileError, match=r"a folder: expected a file of torch\.save"):
        open_torch(folder)


@pytest.mark.parametrize("wrong", ["module", "damaged", "number"])
def test_no_message_recommends_to_load_a_file_unsafely(tmp_path, wrong):
    path = save_arrays(tmp_path / "gru.pt")
    if wrong == "module":
        torch.save(nn.GRU(2, 3), path)
    elif wrong == "number":
        path.write_bytes(b"\x80\x02c__builtin__\nprint\n.")
    else:
        path.write_bytes(b"\x80\x02hello")
    with pytest.raises(FileError) as caught:
        open_torch(path)
    lines = "".join(traceback.format_exception(caught.value)).splitlines()
    shown = "\n".join(line for line in lines if not line.startswith("  File "))
    for unsafe in ("weights_only", "safe_globals", "trust"):
        assert unsafe not in shown.replace("weights_only=True)", "")


def test_an_old_version_of_torch_opens_no_pickle(tmp_path, monkeypatch):
    path, arrays = save_arrays(tmp_path / "gru.pt"), save_arrays(tmp_path / "gru.safetensors")
    monkeypatch.setattr(torch, "__version__", "2.9.1+cpu")
    with pytest.raises(MissingExtraError, match=r"2\.9\.1\+cpu lets a file .* 'torch>=2\.10'"):
        open_torch(path)
    assert open_torch(arrays).weights([""]).shape == (1,)


def test_a_file_of_another_kind_under_a_known_name_is_refused(tmp_path):
    path = save_arrays(tmp_path / "gru.safetensors")
    torch.save(gru_module().state_dict(), path)
    with pytest.raises(FileError, match="not a safetensors file, or damaged"):
        open_torch(path)


class Bomb:
    """Would run code if it were ever unpickled."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('code ran')",))


def test_a_file_that_needs_code_is_refused_with_the_safe_method(tmp_path):
    path = save_arrays(tmp_path / "gru.pt")
    traced = torch.jit.trace
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is old may still lie on somebody's disk
        script = traced(gru_module().eval(), torch.zeros(1, 2, dtype=torch.int64))
        for save in (
            lambda: torch.save(nn.GRU(2, 2), path),
            lambda: torch.save({"weights": Bomb()}, path),
            lambda: script.save(path),
        ):
            save()
            with pytest.raises(FileError, match=r"needs code .*torch\.save\(module\.state_dict\("):
                open_torch(path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ([1, 2], "list"),
        ({}, "dict"),
        ({"epoch": 3, "model": {}}, "a dictionary with 'epoch', 'model'"),
    ],
)
def test_what_is_no_state_dictionary_is_refused(tmp_path, content, kind):
    path = save_arrays(tmp_path / "gru.pt")
    torch.save(content, path)
    with pytest.raises(FileError, match=f"expected a state dictionary, .* got {kind}. Save the"):
        open_torch(path)


def test_arrays_of_another_network_are_named_with_the_file(tmp_path):
    with pytest.raises(ArgumentError, match=r"net\.pt: expected the arrays of one nn\.RNN"):
        open_torch(save_arrays(tmp_path / "net.pt", {"conv.weight": np.zeros((2, 3, 4))}))
    with pytest.raises(ArgumentError, match=r"net\.pt: start: the card speaks of input id 9"):
        open_torch(save_arrays(tmp_path / "net.pt", card=replace(CARD, start=9)))


def test_arrays_that_are_not_numbers_are_refused(tmp_path):
    broken = {**arrays(), "output.bias": np.full(4, np.nan, np.float32)}
    with pytest.raises(BlackBoxError, match=r"the torch network .*net\.pt answered .*nan.*empty"):
        open_torch(save_arrays(tmp_path / "net.pt", broken))


def test_integer_arrays_are_refused(tmp_path):
    whole = {name: np.zeros(array.shape, np.int64) for name, array in arrays().items()}
    with pytest.raises(FileError, match=r"net\.pt: embedding.weight: expected real numbers, got"):
        open_torch(save_arrays(tmp_path / "net.pt", whole))


def test_threads_are_as_wanted_while_a_network_is_queried_and_as_before_afterwards(tmp_path):
    before, seen = torch.get_num_threads(), []
    box = open_torch(save_arrays(tmp_path / "gru.pt"), threads=before + 1)
    box.stepper.module["embedding"].register_forward_hook(
        lambda *_: seen.append(torch.get_num_threads())
    )
    box.weights(["a"])
    assert set(seen) == {before + 1}
    assert torch.get_num_threads() == before
    with pytest.raises(ArgumentError, match="threads: expected a whole number from 1, got 0"):
        open_torch(tmp_path / "gru.pt", threads=0)


@pytest.mark.parametrize("device", ["gpu", "cuda:99", 3.5])
def test_a_device_that_is_not_there_is_refused(tmp_path, device):
    with pytest.raises(ArgumentError, match="device: expected one that this PyTorch can use, such"):
        open_torch(save_arrays(tmp_path / "gru.pt"), device=device)


def test_what_a_file_holds_is_reported_before_a_card_is_needed(tmp_path):
    path = tmp_path / "whole.pt"
    torch.save(nn.GRU(2, 3), path)
    with pytest.raises(FileError, match="holds a whole module"):
        open_torch(path)
