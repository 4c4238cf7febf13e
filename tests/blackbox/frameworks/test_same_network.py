"""One network through every adapter that can hold it: extraction finds the same automaton."""

import numpy as np
import pytest

import seqray
from same_gru import native
from same_gru.keras import keras_sequences, keras_steps
from same_gru.onnx import onnx_sequences, onnx_steps
from same_gru.queried import cmd_next, http_next, http_values, python_object
from same_gru.torch import padded_torch_module, torch_module, torch_stack, torch_steps

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
