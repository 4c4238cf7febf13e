"""How layers are prepared for stepping."""

import numpy as np
import pytest

from seqray.blackbox.native.cells import GATES, DenseLayer, RecurrentLayer
from seqray.blackbox.native.kernels import CompiledNetwork, prepare

N_SYMBOLS, N_HIDDEN = 3, 5


def layer(cell, scale=0.5):
    rng = np.random.default_rng(3)
    n = len(GATES[cell]) * N_HIDDEN
    shapes = ((n, N_SYMBOLS), (n, N_HIDDEN), (n,), (n,))
    return RecurrentLayer(cell, *(scale * rng.normal(size=shape) for shape in shapes))


def outputs(cell, symbols=(0, 1, 2, 1)):
    """Return what a network answers after each of some symbols."""
    dense = DenseLayer(np.eye(N_HIDDEN), np.zeros(N_HIDDEN))
    network = CompiledNetwork([layer(cell)], [dense], np.arange(N_SYMBOLS), range(N_HIDDEN), None)
    hidden, _ = network.begin()
    rows = []
    for symbol in symbols:
        hidden, answer = network.advance(hidden, np.zeros(1, np.int64), np.array([symbol]))
        rows.append(answer[:, 0])
    return np.array(rows)


@pytest.mark.parametrize("cell", GATES)
def test_exponentials_are_taken_in_advance_unless_they_could_overflow(cell):
    symbols = np.arange(N_SYMBOLS)
    assert prepare(layer(cell), symbols).in_exp
    assert not prepare(layer(cell, scale=1e4), symbols).in_exp
    assert not prepare(layer(cell), None).in_exp


@pytest.mark.parametrize("cell", GATES)
def test_gates_that_multiply_agree_with_gates_that_add(cell, monkeypatch):
    multiplied = outputs(cell)
    monkeypatch.setattr("seqray.blackbox.native.kernels.MAX_SAFE_EXPONENT", 0.0)
    np.testing.assert_allclose(outputs(cell), multiplied, atol=1e-6)
    assert np.ptp(multiplied) > 0.1


def test_outputs_come_in_the_wanted_order():
    dense = DenseLayer([[0.0] * N_HIDDEN] * 2, [1.0, 2.0])
    network = CompiledNetwork([layer("gru")], [dense], np.arange(N_SYMBOLS), [1, 0], None)
    assert network.begin()[1][:, 0].tolist() == [2.0, 1.0]
