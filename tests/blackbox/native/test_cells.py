"""Layers of recurrent networks, and arrays that make up none."""

import numpy as np
import pytest

from seqray.blackbox.native.cells import DenseLayer, RecurrentLayer, check_name
from seqray.util.errors import ArgumentError


def layer_of(cell="gru", **changes):
    arrays = {"weight_ih": np.zeros((6, 3)), "weight_hh": np.zeros((6, 2))}
    arrays |= {"bias_ih": np.zeros(6), "bias_hh": np.zeros(6)}
    return RecurrentLayer(cell, **(arrays | changes))


def test_layers_know_their_sizes_and_keep_read_only_float32():
    layer, dense = layer_of(), DenseLayer(np.ones((3, 2)), np.zeros(3), "relu")
    assert (layer.n_inputs, layer.n_outputs) == (3, 2)
    assert (dense.n_inputs, dense.n_outputs) == (2, 3)
    assert layer.weight_ih.dtype == dense.bias.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        dense.weight[0, 0] = 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layer_of(cell="elman"), "cell: expected one of tanh, gru, lstm, got 'elman'"),
        (
            lambda: layer_of(weight_hh=np.zeros((7, 2))),
            r"\(3 \* n_hidden, n_hidden\), got \(7, 2\)",
        ),
        (lambda: layer_of(weight_hh=1.0), r"got \(\)"),
        (lambda: layer_of(weight_hh=np.zeros((6, 3))), r"weight_hh: expected shape \(6, 2\)"),
        (lambda: layer_of(weight_ih=np.zeros((5, 3))), r"weight_ih: expected shape \(6, any\)"),
        (lambda: layer_of(bias_ih=np.zeros(5)), r"bias_ih: expected shape \(6\), got \(5,\)"),
        (lambda: layer_of(bias_hh=[0, 0, 0, 0, 0, np.nan]), "bias_hh: expected finite numbers"),
        (lambda: layer_of(bias_hh=[0, 0, 0, 0, 0, 1e30]), "expected numbers up to 1e\\+09"),
        (lambda: DenseLayer([[1]], [0], "gelu"), "activation: .* got 'gelu'"),
        (lambda: DenseLayer([[1]], [0, 0]), r"bias: expected shape \(1\), got \(2,\)"),
    ],
)
def test_arrays_that_make_up_no_layer_are_refused(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_name_is_one_of_the_known_ones():
    check_name("cell", "gru", ["gru", "lstm"])
    with pytest.raises(ArgumentError, match="cell: expected one of gru, lstm, got 'gur'"):
        check_name("cell", "gur", ["gru", "lstm"])
