import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from page_commands import DOCS, run_page_commands
from pages import blocks, run_example
from same_gru import WORDS, assert_same_as_native, native
from same_gru.onnx import export, onnx_sequences, onnx_steps, sequence_graph, step_graph
from same_gru.torch import CARD, gru_module
from seqray import open_black_box
from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card, card_path
from seqray.blackbox.frameworks.onnx import onnx_box, open_onnx
from seqray.blackbox.frameworks.stepped import SteppedModel
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.errors import ArgumentError, BlackBoxError, FileError, MissingFileError


@pytest.fixture(scope="module")
def torch():
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def sequences(torch, tmp_path_factory):
    return sequence_graph(tmp_path_factory.mktemp("onnx") / "sequences.onnx")


def test_a_graph_of_whole_sequences_reads_them(torch, tmp_path):
    box = onnx_sequences(tmp_path)
    assert isinstance(box, QueriedModel)
    assert_same_as_native(box)


def test_a_graph_with_states_is_stepped(torch, tmp_path):
    box = onnx_steps(tmp_path)
    assert isinstance(box, SteppedModel)
    assert_same_as_native(box)


def test_the_registry_opens_them(sequences):
    for box in (
        open_black_box(f"onnx:{sequences}"),
        open_black_box(sequences),
        open_black_box(sequences, threads=2, batch_size=8),
    ):
        assert_same_as_native(box)


def test_a_session_of_your_own_will_do(sequences):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(sequences), providers=["CPUExecutionProvider"])
    box = onnx_box(session, CARD, name="mine")
    assert box.backend.fingerprint == "mine"
    assert_same_as_native(box)


def module_of(torch, function, *parts):
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = torch.nn.ModuleList(parts)

        def forward(self, *inputs):
            return function(*inputs)

    return Module()


def test_lengths_and_a_mask_are_given_where_the_graph_wants_them(torch, tmp_path):
    ids = torch.zeros(2, 3, dtype=torch.int64)
    free = {0: "batch", 1: "time"}
    card = Card(Alphabet("abc"), "value", ids=[1, 2, 3], start=4, pad=9)
    expected = [sum("abc".index(c) + 1 for c in word) + 4 for word in WORDS]
    masked = export(
        *(module_of(torch, lambda ids, mask: (ids * mask).sum(1).float()), (ids, ids)),
        *(tmp_path / "mask.onnx",),
        input_names=["ids", "attention_mask"],
        dynamic_axes={"ids": free, "attention_mask": free},
        card=card,
    )
    np.testing.assert_allclose(open_onnx(masked).weights(WORDS), expected)

    def last(ids, lengths):
        sums = ids.cumsum(1).float()
        return sums.gather(1, lengths[:, None] - 1)

    lengths = torch.ones(2, dtype=torch.int64)
    measured = export(
        *(module_of(torch, last), (ids, lengths), tmp_path / "lengths.onnx"),
        input_names=["ids", "lengths"],
        dynamic_axes={"ids": free, "lengths": {0: "batch"}},
        card=card,
    )
    box = open_onnx(measured)
    assert isinstance(box, QueriedBox)
    np.testing.assert_allclose(box.weights(WORDS), expected)


def test_a_graph_of_a_fixed_number_of_ids_is_filled_up(torch, tmp_path):
    free = {"ids": {0: "batch"}, "scores": {0: "batch"}}
    path = sequence_graph(tmp_path / "three.onnx", dynamic_axes=free)
    with pytest.raises(ArgumentError, match=r"reads sequences of 3 ids and no others: .* \(pad\)"):
        open_onnx(path)
    replace(CARD, pad=0).save(card_path(path))
    box = open_onnx(path)
    words = ["", "a", "bc"]
    np.testing.assert_allclose(box.weights(words), native().weights(words), rtol=1e-5)
    with pytest.raises(BlackBoxError, match="reads words of at most 2 symbols"):
        box.weights(["abc"])


def test_an_export_that_fixed_the_batch_is_refused_with_what_to_do(torch, tmp_path):
    path = sequence_graph(tmp_path / "fixed.onnx", dynamic_axes={})
    with pytest.raises(ArgumentError, match=r"fixed\.onnx: the batch axis .* \[2, 3\], was fixed"):
        open_onnx(path)
    path = step_graph(tmp_path / "fixed.onnx", dynamic_axes={"ids": {0: "batch"}})
    with pytest.raises(ArgumentError, match=r"input h_in, of shape \[1, 2, 8\], was fixed"):
        open_onnx(path)


def test_an_lstm_is_stepped_with_both_its_states(torch, tmp_path):
    torch.manual_seed(0)
    lstm, embedding = torch.nn.LSTM(4, 5, num_layers=2), torch.nn.Embedding(4, 4)

    def step(ids, h, c):
        hidden, (h, c) = lstm(embedding(ids[:, 0])[None], (h, c))
        return c, hidden[0, :, 0], h

    second = {1: "batch"}
    zeros = torch.zeros(2, 2, 5)
    path = export(
        *(
            module_of(torch, step, lstm, embedding),
            (torch.zeros(2, 1, dtype=torch.int64), zeros, zeros),
        ),
        *(tmp_path / "lstm.onnx",),
        input_names=["ids", "h_0", "c_0"],
        output_names=["c_n", "value", "h_n"],
        dynamic_axes={"ids": {0: "batch"}, "h_0": second, "c_0": second, "h_n": second},
        card=Card(Alphabet("abc"), "value", start=3),
    )
    word = torch.tensor([3, 1, 2, 2, 0])
    expected = lstm(embedding(word)[:, None])[0][-1, 0, 0].item()
    np.testing.assert_allclose(open_onnx(path).weights(["bcca"]), [expected], rtol=1e-5)


@pytest.mark.parametrize("graph", [sequence_graph, step_graph])
def test_several_ids_stand_around_a_word(torch, tmp_path, graph):
    card = Card(Alphabet("abc"), "value", start=[3, 2], stop=[1, 3])
    box = open_onnx(graph(tmp_path / "model.onnx", card=card))
    expected = gru_module().eval()(torch.tensor([[3, 2, 1, 0, 1, 3]]))[0, -1, 0].item()
    np.testing.assert_allclose(box.weights(["ba"]), [expected], rtol=1e-5)


def test_the_card_may_stand_in_the_metadata_and_the_one_beside_the_model_counts_more(
    sequences, tmp_path
):
    onnx = pytest.importorskip("onnx")
    model = onnx.load(sequences)
    onnx.helper.set_model_props(model, {"seqray": json.dumps(CARD.to_json())})
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    inside = open_onnx(path)
    assert_same_as_native(inside)
    Card(Alphabet("xyz"), "next", start=3).save(card_path(path))
    beside = open_onnx(path)
    assert beside.alphabet.symbols == ("x", "y", "z")
    assert beside.backend.fingerprint != inside.backend.fingerprint
    card_path(path).unlink()
    onnx.helper.set_model_props(model, {"seqray": "{"})
    onnx.save(model, path)
    with pytest.raises(FileError, match=r"model\.onnx, its metadata: not a card of seqray"):
        open_onnx(path)


def test_weights_beside_the_model_are_read_and_count_in_its_fingerprint(sequences, tmp_path):
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    options = {"save_as_external_data": True, "location": "model.onnx.data", "size_threshold": 0}
    onnx.save(onnx.load(sequences), path, **options)
    CARD.save(card_path(path))
    box = open_onnx(path)
    assert_same_as_native(box)
    weights = tmp_path / "model.onnx.data"
    content = bytearray(weights.read_bytes())
    content[3] ^= 1
    weights.write_bytes(content)
    assert open_onnx(path).backend.fingerprint != box.backend.fingerprint
    weights.unlink()
    with pytest.raises(FileError, match=r"model\.onnx: not an ONNX model that onnxruntime"):
        open_onnx(path)


def test_a_missing_model_and_a_missing_card_are_named(sequences, tmp_path):
    with pytest.raises(MissingFileError, match=r"no\.onnx: there is no such file"):
        open_onnx(tmp_path / "no.onnx")
    with pytest.raises(FileError, match="a folder: expected an ONNX model"):
        open_onnx(tmp_path)
    path = tmp_path / "model.onnx"
    path.write_bytes(sequences.read_bytes())
    with pytest.raises(MissingFileError, match=r"its card .*model\.seqray\.json is missing"):
        open_onnx(path)


@pytest.mark.parametrize("content", [b"", b"hello\n", None], ids=str)
def test_a_damaged_model_is_refused(sequences, tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(sequences.read_bytes()[:-500] if content is None else content)
    CARD.save(card_path(path))
    with pytest.raises(FileError, match=r"model\.onnx: not an ONNX model .*, or damaged"):
        open_onnx(path)


@pytest.mark.parametrize("name", [b"batch", b"threshold"])
def test_a_model_whose_names_or_metadata_are_no_text_is_damaged(sequences, tmp_path, name):
    onnx = pytest.importorskip("onnx")
    model, path = onnx.load(sequences), tmp_path / "model.onnx"
    onnx.helper.set_model_props(model, {"seqray": json.dumps(CARD.to_json())})
    content = model.SerializeToString()
    assert name in content
    path.write_bytes(content.replace(name, b"\x82" + name[1:]))
    with pytest.raises(FileError, match=r"model\.onnx is damaged: .* not UTF-8 .* export it again"):
        open_onnx(path)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"start": 7}, BlackBoxError, "failed on the word 'λ': .*ids and start fit the model"),
        ({"end": 9}, ArgumentError, "4 outputs and its card speaks of output 9"),
        ({"start": None}, ArgumentError, "card a start"),
    ],
)
def test_an_alphabet_and_a_model_that_disagree_are_refused_on_opening(
    torch, tmp_path, changes, kind, message
):
    path = sequence_graph(tmp_path / "model.onnx", card=replace(CARD, **changes))
    with pytest.raises(kind, match=message):
        open_onnx(path)
    path = step_graph(tmp_path / "model.onnx", card=replace(CARD, **changes))
    with pytest.raises(kind, match=message.replace("the word 'λ'", "the start")):
        open_onnx(path)


def test_a_model_that_answers_nan_is_named(torch, tmp_path):
    module = gru_module()
    torch.nn.init.constant_(module.output.bias, torch.nan)
    path = export(
        *(module, torch.zeros(2, 3, dtype=torch.int64), tmp_path / "nan.onnx"),
        input_names=["ids"],
        dynamic_axes={"ids": {0: "batch", 1: "time"}},
    )
    with pytest.raises(BlackBoxError, match=r"the onnx model .*nan\.onnx answered .*nan.*'λ'"):
        open_onnx(path)


@pytest.mark.parametrize("threads", [0, -1, "many"])
def test_a_number_of_threads_that_is_none_is_refused(sequences, threads):
    with pytest.raises(ArgumentError, match="threads: expected a whole number from 1"):
        open_onnx(sequences, threads=threads)


# What the documentation shows -----------------------------------------------------------------


def test_the_page_runs(torch, tmp_path, monkeypatch, hasty):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / ".answers.sqlite"))
    opening, exporting, labelling = blocks("boxes/onnx.md", "python")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(exporting, {})
    exec(labelling, {})
    shown = {}
    exec(opening, shown)
    assert isinstance(shown["box"], SteppedModel)
    run_page_commands(DOCS / "boxes/onnx.md")


def test_the_example_finds_the_same_with_both(torch, hasty):
    whole, step = run_example("onnx_box.py").splitlines()
    assert whole.split(",")[0].split(":")[1] == step.split(",")[0].split(":")[1]
