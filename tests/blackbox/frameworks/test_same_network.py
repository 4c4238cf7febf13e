"""One network through every adapter that can hold it: extraction finds the same automaton."""

import numpy as np
import pytest

import seqray
from same_gru import native
from same_gru.keras import gru_model, keras_sequences, keras_steps, save_model
from same_gru.onnx import onnx_sequences, onnx_steps, sequence_graph, step_graph
from same_gru.queried import cmd_next, http_next, http_values, python_object
from same_gru.torch import (
    CARD,
    gru_module,
    padded_torch_module,
    save_arrays,
    torch_module,
    torch_stack,
    torch_steps,
)
from seqray.blackbox.frameworks.keras import open_keras
from seqray.blackbox.frameworks.onnx import open_onnx
from seqray.blackbox.frameworks.torch_file import open_torch

BOXES = {
    "torch module": lambda _: torch_module(),
    "torch module, padded": lambda _: padded_torch_module(),
    "torch module with states": lambda _: torch_steps(),
    "torch arrays": torch_stack,
    "onnx": onnx_sequences,
    "onnx with states": onnx_steps,
    "keras": keras_sequences,
    "keras with states": keras_steps,
    "server with next symbols": http_next,
    "server with values": http_values,
    "child process": cmd_next,
    "python object": python_object,
    "function": lambda _: seqray.black_box(native().weights, "abc"),
}
RANK = 5


def extracted(box):
    basis = seqray.uniform_basis(box.alphabet, 40, 30, seed=np.random.default_rng(0))
    return seqray.extract(box, basis=basis, max_rank=RANK, max_length=8)


@pytest.fixture(scope="module")
def expected():
    return extracted(native())


@pytest.mark.parametrize("name", BOXES)
def test_every_adapter_leads_to_the_same_automaton(name, expected, tmp_path):
    extraction = extracted(BOXES[name](tmp_path))
    assert extraction.max_rank == RANK
    words = seqray.uniform_basis(expected.basis.alphabet, 200, 1, seed=np.random.default_rng(1))
    weights = expected.automaton(RANK).weights(words.prefixes)
    difference = np.abs(extraction.automaton(RANK).weights(words.prefixes) - weights)
    assert difference.max() < 1e-5 * np.abs(weights).max()
    np.testing.assert_allclose(extraction.singular_values, expected.singular_values, rtol=1e-5)


# The same network as a classifier: its four outputs are scores of classes -------------------------

CLASSES = ("w", "x", "y", "z")
CLASS_CARD = seqray.Card(CARD.alphabet, "classes", start=CARD.start, classes=CLASSES)


def keras_classifier(folder):
    return open_keras(save_model(gru_model(), folder / "gru.keras", CLASS_CARD))


CLASSIFIERS = {
    "torch module": lambda _: seqray.torch_box(gru_module(), CLASS_CARD),
    "torch module with states": lambda _: seqray.torch_box(
        module := gru_module(), CLASS_CARD, step=module.step
    ),
    "torch arrays": lambda folder: open_torch(
        save_arrays(folder / "gru.safetensors", card=CLASS_CARD)
    ),
    "onnx": lambda folder: open_onnx(sequence_graph(folder / "gru.onnx", card=CLASS_CARD)),
    "onnx with states": lambda folder: open_onnx(step_graph(folder / "gru.onnx", card=CLASS_CARD)),
    "keras with states": keras_classifier,
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_framework_classifies_alike(name, tmp_path):
    box = CLASSIFIERS[name](tmp_path)
    assert isinstance(box, seqray.Classifier)
    assert box.classes == CLASSES
    words = ["", "a", "abc", "ccba", "abab" * 4]
    symbols = native().next_symbol(words)
    np.testing.assert_allclose(box.scores(words), symbols, atol=1e-5)
    np.testing.assert_allclose(box.weights(words), symbols[:, -1], atol=1e-5)
