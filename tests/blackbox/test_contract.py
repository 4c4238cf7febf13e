"""What every black box promises, checked for every kind there is."""

from itertools import product

import numpy as np
import pytest

import seqray
from automata import FIGURE_1 as MACHINE
from keras_files import h5_sequences, h5_steps
from llm_servers import llm_server
from same_gru.hf import hf_cached, hf_classifier, hf_sequences, hf_tokens
from same_gru.keras import keras_sequences, keras_steps
from same_gru.onnx import onnx_sequences, onnx_steps
from same_gru.queried import cmd_next, http_next, http_values, python_object
from same_gru.torch import (
    padded_torch_module,
    torch_both_ways,
    torch_module,
    torch_stack,
    torch_steps,
)
from seqray import Alphabet, Words, open_black_box
from seqray.automata.stepper import Stepper, predicts
from seqray.automata.tree import PrefixTree, walk
from seqray.blackbox.native.cells import DenseLayer, RecurrentLayer
from seqray.blackbox.native.rnn import RecurrentLanguageModel, RecurrentNetwork
from seqray.blackbox.protocol import BlackBox
from seqray.util.errors import SymbolError

N_GATES = {"tanh": 1, "gru": 3, "lstm": 4}


# The boxes ------------------------------------------------------------------------------------


def share_of_a(words):
    return np.stack([(word.count("a") - 1) / (len(word) + 1) for word in words])


def share_of_classes(words):
    return [[0.5, 0.25 + (w.count("a") % 3) / 12, 0.25 - (w.count("a") % 3) / 12] for w in words]


def after_its_last_letter(prefixes):
    probabilities = {"": [0.5, 0.25, 0.25], "a": [0.125, 0.5, 0.375], "b": [0.75, 0.0, 0.25]}
    return np.stack([probabilities[prefix[-1:]] for prefix in prefixes])


def network(kind, *cells):
    rng = np.random.default_rng(0)
    widths = [2, *(5 + i for i in range(len(cells)))]
    layers = []
    for cell, n_inputs, n_hidden in zip(cells, widths, widths[1:], strict=False):
        n = N_GATES[cell] * n_hidden
        shapes = ((n, n_inputs), (n, n_hidden), (n,), (n,))
        layers.append(RecurrentLayer(cell, *(rng.normal(size=shape) / 2 for shape in shapes)))
    n_outputs = 3 if kind is RecurrentLanguageModel else 1
    head = DenseLayer(rng.normal(size=(n_outputs, widths[-1])), rng.normal(size=n_outputs))
    return kind("ab", layers, [head])


def reopened(kind, box, path):
    box.save(path)
    return open_black_box(f"{kind}:{path}")


def from_run(folder):
    seqray.save_run(seqray.extract(MACHINE, prefixes=30, suffixes=30), folder, rank=2)
    return open_black_box(f"wa:{folder}")


BOXES = {
    "function": lambda _: seqray.black_box(share_of_a, "ab"),
    "predicting function": lambda _: seqray.language_model(after_its_last_letter, "ab"),
    "classifying function": lambda _: seqray.classifier(share_of_classes, "ab", ["x", "y", "z"]),
    "automaton": lambda _: MACHINE,
    "automaton in json": lambda folder: reopened("wa", MACHINE, folder / "machine.json"),
    "automaton of a run": lambda folder: from_run(folder / "run"),
    "value network": lambda _: network(RecurrentNetwork, "gru", "tanh"),
    "tanh": lambda _: network(RecurrentLanguageModel, "tanh"),
    "gru": lambda _: network(RecurrentLanguageModel, "gru"),
    "lstm": lambda _: network(RecurrentLanguageModel, "lstm"),
    "value network in a file": lambda folder: reopened(
        "rnn", network(RecurrentNetwork, "lstm"), folder / "value.safetensors"
    ),
    "network in a file": lambda folder: reopened(
        "rnn", network(RecurrentLanguageModel, "lstm", "gru"), folder / "model.safetensors"
    ),
    "guided network": lambda _: seqray.guided(network(RecurrentLanguageModel, "gru"), "(a b?)*"),
    "guided function": lambda _: seqray.guided(
        seqray.language_model(after_its_last_letter, "ab"), "(a|b a)*"
    ),
    "demo": lambda _: open_black_box("demo"),
    "torch module": lambda _: torch_module(),
    "torch module, padded": lambda _: padded_torch_module(),
    "torch module with states": lambda _: torch_steps(),
    "torch arrays": torch_stack,
    "torch arrays, bidirectional": torch_both_ways,
    "onnx": onnx_sequences,
    "onnx with states": onnx_steps,
    "keras": keras_sequences,
    "keras with states": keras_steps,
    "keras in a .h5 file": h5_sequences,
    "keras in a .h5 file, with states": h5_steps,
    "language model with a cache": hf_cached,
    "language model without": hf_sequences,
    "language model with symbols of several tokens": hf_tokens,
    "classifier of sequences": hf_classifier,
    "server with next symbols": http_next,
    "server with values": http_values,
    "language-model server": llm_server,
    "child process": cmd_next,
    "python object": python_object,
}
"""Functions that take an empty folder, in which they may write files, and return a box."""


@pytest.fixture(scope="module", params=[*BOXES, "taysir"])
def box(request, tmp_path_factory):
    if request.param in BOXES:
        return BOXES[request.param](tmp_path_factory.mktemp("box"))
    folder = request.getfixturevalue("data") / "taysir" / "2.4"  # a model of the public data
    if not folder.is_dir():
        pytest.skip(f"no TAYSIR model at {folder}: SEQRAY_DATA names the folder that has them")
    return open_black_box(f"taysir:{folder}")


@pytest.fixture(scope="module")
def stepper(box):
    if not isinstance(box, Stepper):
        pytest.skip("a box without states")
    return box


@pytest.fixture(scope="module")
def model(box):
    if not predicts(box):
        pytest.skip("a box that predicts nothing")
    return box


@pytest.fixture(scope="module")
def words(box) -> Words:
    """The empty word, all short ones over some letters, long ones, and some again."""
    letters = box.alphabet.symbols[:3]
    short = [word for n in range(4) for word in product(letters, repeat=n)]
    rng = np.random.default_rng(1)
    long = [[letters[i] for i in rng.integers(len(letters), size=n)] for n in (5, 8, 14)]
    return box.alphabet.words([*long, *short, *long[:1], (), *short[-3:]])


@pytest.fixture(scope="module")
def weights(box, words):
    return box.weights(words)


def assert_same(actual, expected):
    """Probabilities agree digit by digit; numbers of either sign may have come close to 0."""
    least = 1e-7 if (expected < 0).any() else 1e-15
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=least * np.abs(expected).max())


# Whole words ----------------------------------------------------------------------------------


def test_it_is_a_black_box_over_an_alphabet(box):
    assert isinstance(box, BlackBox)
    assert isinstance(box.alphabet, Alphabet)


def test_weights_are_finite_numbers_of_double_precision_one_a_word(weights, words):
    assert weights.dtype == np.float64
    assert weights.shape == (len(words),)
    assert np.isfinite(weights).all()
    assert len(set(weights)) > 1


def test_a_word_weighs_the_same_alone(box, words, weights):
    some = range(0, len(words), 2)
    alone = np.concatenate([box.weights(words[i : i + 1]) for i in some])
    assert_same(alone, weights[some])


def test_answers_come_in_the_order_of_the_words(box, words, weights):
    order = np.random.default_rng(2).permutation(len(words))
    assert_same(box.weights(words[order]), weights[order])


def test_a_word_may_be_repeated(box, words, weights):
    unique, place = words.unique()
    assert len(unique) < len(words)
    assert_same(weights, box.weights(unique)[place])
    again = box.weights(words[[5] * 40])
    assert_same(again, np.repeat(box.weights(words[[5]]), 40))


def test_the_empty_word_has_a_weight(box):
    actual = box.weights(box.alphabet.words([()]))
    assert actual.shape == (1,)
    assert np.isfinite(actual).all()


def test_an_empty_batch_has_no_weights(box):
    for nothing in ([], box.alphabet.words([])):
        actual = box.weights(nothing)
        assert actual.shape == (0,)
        assert actual.dtype == np.float64


def test_plain_words_are_as_good_as_encoded_ones(box, words, weights):
    plain = list(words)
    np.testing.assert_array_equal(box.weights(plain), weights)
    np.testing.assert_array_equal(box.weights(iter(plain)), weights)
    if box.alphabet.has_characters:
        strings = ["".join(word) for word in plain]
        np.testing.assert_array_equal(box.weights(strings), weights)


def test_the_same_question_has_the_same_answer(box, words, weights):
    np.testing.assert_array_equal(box.weights(words), weights)


def test_a_symbol_outside_the_alphabet_is_refused(box):
    with pytest.raises(SymbolError):
        box.weights([("no such symbol",)])


# Symbol by symbol -----------------------------------------------------------------------------


def states_of(stepper, word):
    states = stepper.start()
    for code in stepper.alphabet.encode(word):
        states = stepper.step(states, np.zeros(1, np.int64), np.array([code]))
    return states


def test_stepping_letter_by_letter_leads_to_the_same_weights(stepper, words, weights):
    some = range(0, len(words), 2)
    actual = [stepper.state_weights(states_of(stepper, words[i])) for i in some]
    assert {weight.shape for weight in actual} == {(1,)}
    assert_same(np.concatenate(actual), weights[some])


def test_children_of_one_parent_are_those_of_separate_parents(stepper):
    n = min(len(stepper.alphabet), 3)
    parent = stepper.step(stepper.start(), np.zeros(1, np.int64), np.array([1]))
    shared = stepper.step(parent, np.zeros(n, np.int64), np.arange(n))
    parents = stepper.step(stepper.start(), np.zeros(n, np.int64), np.ones(n, np.int64))
    separate = stepper.step(parents, np.arange(n), np.arange(n))
    expected = stepper.weights(
        [(stepper.alphabet.symbols[1], symbol) for symbol in stepper.alphabet.symbols[:n]]
    )
    assert_same(stepper.state_weights(shared), expected)
    assert_same(stepper.state_weights(separate), expected)


def test_parents_may_come_in_any_order_and_are_left_alone(stepper):
    symbols = stepper.alphabet.symbols
    first = stepper.step(stepper.start(), np.zeros(2, np.int64), np.arange(2))
    before = stepper.state_weights(first).copy()
    actual = stepper.step(first, np.array([1, 0, 1, 0, 1]), np.array([0, 1, 1, 0, 0]))
    expected = [(symbols[p], symbols[s]) for p, s in ((1, 0), (0, 1), (1, 1), (0, 0), (1, 0))]
    assert_same(stepper.state_weights(actual), stepper.weights(expected))
    np.testing.assert_array_equal(stepper.state_weights(first), before)


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_a_walk_does_not_depend_on_its_batches(stepper, words, weights, batch):
    tree = PrefixTree.of(words)
    actual = np.full(len(tree), np.nan)
    for nodes, states in walk(stepper, tree, stepper.start(), batch=batch):
        actual[nodes] = stepper.state_weights(states)
    assert_same(actual[tree.node_of_word], weights)


# What comes next ------------------------------------------------------------------------------


def test_predictions_are_distributions(model, words):
    probabilities = model.next_symbol(words)
    assert probabilities.shape == (len(words), len(model.alphabet) + 1)
    assert probabilities.dtype == np.float64
    assert (probabilities >= -1e-12).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(model.next_symbol(words), probabilities)
    assert model.next_symbol([]).shape == (0, len(model.alphabet) + 1)


def test_predictions_of_states_are_those_of_words(model, words):
    for word, expected in zip(words[:10], model.next_symbol(words[:10]), strict=True):
        actual = model.state_next_symbol(states_of(model, word))
        np.testing.assert_allclose(actual, expected[None], atol=1e-5)


def test_a_weight_is_the_product_of_its_predictions(model, words, weights):
    tree = PrefixTree.of(words)
    probabilities = model.next_symbol(tree.words())
    products = np.ones(len(tree))
    for node in range(1, len(tree)):
        above = tree.parent[node]
        products[node] = products[above] * probabilities[above, tree.symbol[node]]
    products *= probabilities[:, -1]
    np.testing.assert_allclose(weights, products[tree.node_of_word], rtol=1e-4, atol=1e-15)
