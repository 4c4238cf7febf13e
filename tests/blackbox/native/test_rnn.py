import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save

from memory import peak_bytes
from seqray.automata.sampling import sample
from seqray.automata.stepper import PredictingStepper, Stepper
from seqray.automata.tree import PrefixTree, walk
from seqray.blackbox.native.cells import DenseLayer, RecurrentLayer
from seqray.blackbox.native.rnn import RecurrentLanguageModel, RecurrentNetwork
from seqray.blackbox.protocol import BlackBox
from seqray.util.errors import ArgumentError, FileError, MissingFileError, SymbolError

N_GATES = {"tanh": 1, "gru": 3, "lstm": 4}
WORDS = ["", "a", "b", "c", "ab", "ba", "abc", "cabbac", "aaaaaaaaaaaaaaaaaaaa"]


def layer(rng, cell, n_inputs, n_hidden, scale=1.0):
    n = N_GATES[cell] * n_hidden
    shapes = ((n, n_inputs), (n, n_hidden), (n,), (n,))
    return RecurrentLayer(cell, *(scale * rng.normal(size=shape) / 2 for shape in shapes))


def dense(rng, n_inputs, n_outputs, activation="identity"):
    weight = rng.normal(size=(n_outputs, n_inputs))
    return DenseLayer(weight, rng.normal(size=n_outputs), activation)


def network(
    cells=("gru",), *, seed=0, kind=RecurrentLanguageModel, embedded=True, scale=1.0, **options
):
    """A random network over abc with 6 input ids, and 4 outputs where it predicts."""
    rng = np.random.default_rng(seed)
    widths = [3 if embedded else 6, *(5 + i for i in range(len(cells)))]
    layers = [
        layer(rng, c, i, o, scale) for c, i, o in zip(cells, widths, widths[1:], strict=False)
    ]
    n_outputs = 4 if kind is RecurrentLanguageModel else 1
    head = [
        dense(rng, widths[-1], 4, "relu"),
        dense(rng, 4, 5, "tanh"),
        dense(rng, 5, 3, "sigmoid"),
        dense(rng, 3, n_outputs),
    ]
    embedding = rng.normal(size=(6, 3)) if embedded else None
    return kind("abc", layers, head, embedding, **options)


# The textbook, word by word, in float64 -------------------------------------------------------


def sigmoid(x):
    return 0.5 * (1 + np.tanh(x / 2))


def textbook_cell(part, x, h, c):
    gi = np.split(part.weight_ih.astype(float) @ x + part.bias_ih, N_GATES[part.cell])
    gh = np.split(part.weight_hh.astype(float) @ h + part.bias_hh, N_GATES[part.cell])
    if part.cell == "tanh":
        return np.tanh(gi[0] + gh[0]), c
    if part.cell == "gru":
        r, z = sigmoid(gi[0] + gh[0]), sigmoid(gi[1] + gh[1])
        n = np.tanh(gi[2] + r * gh[2])
        return (1 - z) * n + z * h, c
    i, f, g, o = (a + b for a, b in zip(gi, gh, strict=True))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def textbook_outputs(box, codes):
    """What the network says after each prefix of a word, the empty one first."""
    activations = {
        "identity": lambda x: x,
        "relu": lambda x: x * (x > 0),
        "tanh": np.tanh,
        "sigmoid": sigmoid,
    }
    shown = np.eye(box.n_ids) if box.embedding is None else box.embedding.astype(float)
    hidden = [(np.zeros(part.n_outputs), np.zeros(part.n_outputs)) for part in box.layers]
    start = [] if box.start_id is None else [box.start_id]
    outputs = []
    for at, each in enumerate([None] * (not start) + start + [box.input_ids[c] for c in codes]):
        x = None if each is None else shown[each]
        for i, part in enumerate(box.layers):
            if each is not None:
                hidden[i] = textbook_cell(part, x, *hidden[i])
            x = hidden[i][0]
        for part in box.dense:
            x = activations[part.activation](part.weight.astype(float) @ x + part.bias)
        outputs.append(x)
        assert len(outputs) == at + 1
    return outputs


def textbook_log_next(box, codes):
    logs = np.array(textbook_outputs(box, codes))
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return logs[:, [*box.output_columns, box.end_column]]


def assert_is_textbook(box, words):
    codes = [box.alphabet.encode(word) for word in words]
    if not isinstance(box, RecurrentLanguageModel):
        expected = [textbook_outputs(box, each)[-1][0] for each in codes]
        np.testing.assert_allclose(box.weights(words), expected, rtol=1e-5, atol=1e-5)
        return
    logs = [textbook_log_next(box, each) for each in codes]
    totals = [
        table[np.arange(len(each)), each].sum() + table[-1, -1]
        for table, each in zip(logs, codes, strict=True)
    ]
    np.testing.assert_allclose(box.log_weights(words), totals, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(box.weights(words), np.exp(totals), rtol=1e-4)
    expected = np.exp([table[-1] for table in logs])
    np.testing.assert_allclose(box.next_symbol(words), expected, atol=1e-5)


STACKS = [stack for n in (1, 2) for stack in product(N_GATES, repeat=n)]
STACKS += [("gru", "lstm", "tanh"), ("lstm", "lstm", "lstm"), ("gru", "gru", "gru")]


@pytest.mark.parametrize("kind", [RecurrentNetwork, RecurrentLanguageModel])
@pytest.mark.parametrize("embedded", [True, False])
@pytest.mark.parametrize("cells", STACKS, ids="-".join)
def test_every_network_computes_the_textbook_formula(cells, embedded, kind):
    for start_id in (None, 4):
        box = network(cells, kind=kind, embedded=embedded, start_id=start_id)
        assert_is_textbook(box, WORDS)


@pytest.mark.parametrize("cell", N_GATES)
def test_large_weights_saturate_without_warning(cell):
    box = network((cell, cell), scale=1e4)
    assert np.isfinite(box.log_weights(WORDS)).all()
    assert_is_textbook(network((cell, cell), scale=20), WORDS[:6])


def test_a_network_may_number_its_inputs_and_outputs_as_it_likes():
    rng = np.random.default_rng(1)
    box = RecurrentLanguageModel(
        "abc",
        [layer(rng, "gru", 6, 5)],
        [dense(rng, 5, 7)],
        input_ids=[5, 0, 2],
        start_id=1,
        output_columns=[6, 1, 3],
        end_column=0,
    )
    assert_is_textbook(box, WORDS)
    assert (box.next_symbol(WORDS).sum(axis=1) < 1).all()  # three outputs are no symbol's


# A box like any other -------------------------------------------------------------------------


def test_abilities_are_those_of_the_output():
    model, function = network(), network(kind=RecurrentNetwork)
    assert isinstance(model, BlackBox)
    assert isinstance(model, PredictingStepper)
    assert isinstance(function, BlackBox)
    assert isinstance(function, Stepper)
    assert not isinstance(function, PredictingStepper)
    assert not hasattr(function, "next_symbol")


words_of_abc = st.lists(st.text("abc", max_size=8), min_size=1, max_size=30)


@settings(max_examples=25, deadline=None)
@given(words=words_of_abc, order=st.randoms())
@pytest.mark.parametrize("kind", [RecurrentNetwork, RecurrentLanguageModel])
def test_neither_batch_nor_order_matters(kind, words, order):
    box = network(("lstm", "gru"), kind=kind, start_id=3)
    together = box.weights(words)
    single = [box.weights([word])[0] for word in words]
    np.testing.assert_allclose(together, single, rtol=1e-5, atol=1e-7)
    mixed = list(range(len(words)))
    order.shuffle(mixed)
    again = box.weights([words[i] for i in mixed])
    np.testing.assert_allclose(again, together[mixed], rtol=1e-5, atol=1e-7)


def test_neither_blocks_nor_walks_matter(monkeypatch):
    box = network(("gru", "lstm"))
    words = box.alphabet.words("".join(word) for word in product("abc", repeat=5))
    expected = box.log_weights(words)
    monkeypatch.setattr("seqray.blackbox.native.kernels.CHILDREN_PER_BLOCK", 7)
    np.testing.assert_allclose(box.log_weights(words), expected, atol=1e-5)
    tree = PrefixTree.of(words)
    actual = np.empty(len(tree))
    for nodes, states in walk(box, tree, box.start(), batch=10):
        actual[nodes] = np.log(box.state_weights(states))
    np.testing.assert_allclose(actual[tree.node_of_word], expected, atol=1e-5)


def test_parents_may_come_in_any_order_and_more_than_once():
    box = network(("lstm", "gru"))
    first = box.step(box.start(), np.zeros(3, int), np.arange(3))
    parents, symbols = np.array([2, 0, 2, 0, 2]), np.array([1, 1, 0, 2, 1])
    actual = box.state_weights(box.step(first, parents, symbols))
    expected = box.weights(["cb", "ab", "ca", "ac", "cb"])
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_stepping_leaves_the_states_it_started_from_alone():
    box = network(("lstm", "gru"))
    states = box.step(box.start(), np.zeros(3, int), np.arange(3))
    before = [array.copy() for array in (*states.hidden, states.log_weight, states.log_next)]
    box.step(states, np.arange(3), np.arange(3))
    for old, now in zip(before, (*states.hidden, *states[1:]), strict=True):
        np.testing.assert_array_equal(old, now)


def test_predictions_are_probabilities_of_double_precision():
    box = network(("gru",))
    probabilities = box.next_symbol(WORDS)
    assert probabilities.dtype == box.weights(WORDS).dtype == np.float64
    assert (probabilities > 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(box.weights([""]), probabilities[:1, -1], rtol=1e-6)
    # The probability to go on from a prefix is shared out among its continuations.
    starts = [box.next_symbol([""])[0, 0], *box.next_symbol(["a"])[0]]
    longer = box.weights(["a", "ab"]) / [starts[0] * starts[-1], starts[0] * starts[2]]
    np.testing.assert_allclose(longer, [1, box.next_symbol(["ab"])[0, -1]], rtol=1e-5)


def test_log_weights_of_long_words_do_not_underflow():
    box = network(("gru",))
    word = "abc" * 1000
    assert box.weights([word])[0] == 0
    assert -1e4 < box.log_weights([word])[0] < -1e3


def test_words_can_be_drawn_from_it():
    box = network(("gru",))
    words, _ = sample(box, 4000, seed=np.random.default_rng(0))
    share = np.mean(words.lengths == 0)
    assert abs(share - box.weights([""])[0]) < 0.03


def test_unknown_symbols_are_refused():
    with pytest.raises(SymbolError, match="'d' at position 2"):
        network().weights(["ad"])


def test_values_cannot_be_changed():
    box = network()
    with pytest.raises(AttributeError):
        box.start_id = 1
    with pytest.raises(ValueError, match="read-only"):
        box.embedding[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        box.layers[0].weight_hh[0, 0] = 1


# What is refused --------------------------------------------------------------------------------


def build(**changes):
    parts = {"alphabet": "abc", "layers": [RNN], "dense": [DENSE]} | changes
    return RecurrentLanguageModel(**parts)


RNN = RecurrentLayer("tanh", np.zeros((2, 3)), np.zeros((2, 2)), [0, 0], [0, 0])
DENSE = DenseLayer(np.zeros((4, 2)), np.zeros(4))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: build(layers=[]), "at least one recurrent and one dense layer, got 0 and 1"),
        (lambda: build(dense=[]), "got 1 and 0"),
        (lambda: build(layers=[RNN, RNN]), r"RecurrentLayer\(tanh, 3 -> 2\): expected 2 inputs"),
        (lambda: build(dense=[DENSE, DENSE]), r"DenseLayer\(2 -> 4, identity\): expected 4"),
        (lambda: build(embedding=np.zeros((5, 2))), r"embedding: expected shape \(any, 3\)"),
        (lambda: build(embedding=np.zeros((2, 3))), "input_ids: 2 is outside .* 2 input ids"),
        (lambda: build(input_ids=[0, 1]), r"input_ids: expected one for each of .*, got 2"),
        (lambda: build(input_ids=[0, 1, -1]), "input_ids: -1 is outside .* 3 input ids"),
        (lambda: build(start_id=3), "start_id: 3 is outside the network's 3 input ids"),
        (lambda: build(output_columns=[0, 1, 4]), "output_columns: 4 is outside .* 4 outputs"),
        (lambda: build(end_column=-1), "end_column: -1 is outside the network's 4 outputs"),
        (lambda: build(end_column=2), r"expected all different, got \[0, 1, 2, 2\]"),
        (lambda: RecurrentNetwork("abc", [RNN], [DENSE]), "expected 1 output, the value"),
    ],
)
def test_parts_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


# Files ------------------------------------------------------------------------------------------

OPTIONS = [
    {"cells": ("gru", "gru"), "start_id": np.int64(5), "end_column": np.int64(3)},
    {"cells": ("lstm",), "embedded": False, "output_columns": [2, 0, 1], "end_column": 3},
    {"cells": ("tanh", "lstm", "gru"), "kind": RecurrentNetwork, "input_ids": [3, 2, 0]},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_saved_network_comes_back_to_the_last_bit(tmp_path, options):
    box = network(**options)
    box.save(tmp_path / "box.safetensors")
    back = RecurrentNetwork.load(tmp_path / "box.safetensors")
    assert type(back) is type(box)
    assert repr(back) == repr(box)
    assert back.fingerprint == box.fingerprint
    np.testing.assert_array_equal(back.weights(WORDS), box.weights(WORDS))
    assert [p.name for p in tmp_path.iterdir()] == ["box.safetensors"]
    back.save(tmp_path / "again.safetensors")
    first, again = (tmp_path / f"{name}.safetensors" for name in ("box", "again"))
    assert first.read_bytes() == again.read_bytes()


def contents(path):
    """Return the header and the tensors of a file."""
    with safe_open(path, framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        return json.loads(file.metadata()["seqray"]), tensors


def test_half_precision_halves_the_file_and_is_read_back_as_written(tmp_path):
    box = network(("gru", "gru"))
    for name in ("whole", "half"):
        box.save(tmp_path / name, half=name == "half")
    saved = (tmp_path / "whole").stat().st_size - (tmp_path / "half").stat().st_size
    tensors, halves = contents(tmp_path / "whole")[1], contents(tmp_path / "half")[1]
    assert saved == pytest.approx(2 * sum(t.size for t in tensors.values()), abs=16)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(halves[name], tensor.astype(np.float16))
    back = RecurrentNetwork.load(tmp_path / "half")
    np.testing.assert_allclose(back.weights(WORDS), box.weights(WORDS), rtol=0.02)
    back.save(tmp_path / "again", half=True)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "half").read_bytes()


def test_weights_too_large_for_half_precision_are_refused(tmp_path):
    layer = RecurrentLayer("tanh", [[1e6, -1]], [[0]], [0], [0])
    box = RecurrentNetwork("ab", [layer], [DenseLayer([[1]], [0])])
    with pytest.raises(ArgumentError, match="above 65504: save whole"):
        box.save(tmp_path / "box", half=True)


def test_tensors_have_the_names_and_layouts_of_pytorch(tmp_path):
    network(("gru",)).save(tmp_path / "box.safetensors")
    config, tensors = contents(tmp_path / "box.safetensors")
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    assert (config["format"], config["version"]) == ("seqray.rnn", 1)
    assert shapes["embedding.weight"] == (6, 3)
    assert shapes["recurrent.0.weight_ih"] == (15, 3)
    assert shapes["recurrent.0.weight_hh"] == (15, 5)
    assert shapes["dense.0.weight"] == (4, 5)


def rewritten(path, change):
    """Save a network, let ``change`` edit its header and tensors, and write it back."""
    network(("gru", "lstm")).save(path)
    config, tensors = contents(path)
    del config["checksum"]
    change(config, tensors)
    path.write_bytes(
        save({n: np.array(t) for n, t in tensors.items()}, {"seqray": json.dumps(config)})
    )
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c, t: c.update(format="seqray.automaton"),
            "expected a file in format 'seqray.rnn'",
        ),
        (lambda c, t: c.update(version=2), "newer seqray .* install a newer seqray"),
        (lambda c, t: c.update(version="1"), "'1' is not a version number"),
        (lambda c, t: c.update(output="argmax"), "expected one of value, softmax"),
        (lambda c, t: c.pop("alphabet"), "it has no 'alphabet'"),
        (lambda c, t: c.update(alphabet=["a", "a", "b"]), "stands twice"),
        (lambda c, t: c.update(alphabet=3), "damaged"),
        (lambda c, t: c.update(recurrent=None), "damaged"),
        (lambda c, t: t.pop("dense.1.bias"), "it has no 'dense.1.bias'"),
        (lambda c, t: c.update(n_ids=7), r"embedding.weight has shape \(6, 3\), .* \(7, 3\)"),
        (lambda c, t: c["recurrent"][1].update(n_outputs=9), r"recurrent.1.weight_ih has shape"),
        (lambda c, t: c["recurrent"][0].update(cell="elman"), "got 'elman'"),
        (lambda c, t: c["dense"][0].update(n_outputs=9), "dense.0.weight has shape"),
        (lambda c, t: c["dense"][0].update(activation="gelu"), "got 'gelu'"),
        (lambda c, t: c.update(start_id=99), "start_id: 99 is outside"),
        (lambda c, t: t.update({"dense.0.bias": np.full(4, np.nan)}), "expected finite numbers"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(tmp_path, change, message):
    path = rewritten(tmp_path / "box.safetensors", change)
    with pytest.raises(FileError, match=message) as caught:
        RecurrentNetwork.load(path)
    assert str(caught.value).startswith(str(path))


def test_a_missing_cut_or_foreign_file_is_refused(tmp_path):
    path = tmp_path / "box.safetensors"
    with pytest.raises(MissingFileError, match=r"box\.safetensors: there is no such file$"):
        RecurrentNetwork.load(path)
    with pytest.raises(FileError, match="a folder: expected a file"):
        RecurrentNetwork.load(tmp_path)
    network().save(path)
    content = path.read_bytes()
    for damaged in (b"", content[:4], content[:100], content[:-1], b"{}" * 40):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match="damaged"):
            RecurrentNetwork.load(path)
    path.write_bytes(save({"a": np.zeros(1)}))
    with pytest.raises(FileError, match="not in seqray's own form; for weights of PyTorch"):
        RecurrentNetwork.load(path)
    path.write_bytes(save({"a": np.zeros(1)}, {"seqray": "{"}))
    with pytest.raises(FileError, match="damaged"):
        RecurrentNetwork.load(path)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(FileError, match="nowhere"):
        network().save(tmp_path / "nowhere" / "box.safetensors")


def test_one_hot_input_takes_no_more_memory_than_its_weights(tmp_path):
    ids = 3000
    first = RecurrentLayer("tanh", np.ones((1, ids)), np.ones((1, 1)), [0], [0])
    box = RecurrentNetwork(range(ids), [first], [DenseLayer([[1]], [0])])
    box.save(tmp_path / "wide.safetensors")

    def use():
        RecurrentNetwork.load(tmp_path / "wide.safetensors").weights([[0, ids - 1]])

    assert peak_bytes(use) < 2**23  # ids² numbers would be 72 MB


def test_tensors_that_nobody_needs_are_not_read(tmp_path):
    path = tmp_path / "net.safetensors"
    network().save(path)
    with safe_open(path, "numpy") as file:
        tensors, metadata = {n: file.get_tensor(n) for n in file.keys()}, file.metadata()  # noqa: SIM118
    config = json.loads(metadata["seqray"])
    del config["checksum"]  # with one, all that is in the file is read
    about = {"seqray": json.dumps(config)}
    path.write_bytes(save({**tensors, "bomb": np.zeros(2**20, np.float32)}, about))
    assert peak_bytes(lambda: RecurrentNetwork.load(path)) < 2**21
