import numpy as np
import pytest

from seqray import ArgumentError
from seqray.blackbox.native.cells import DenseLayer, RecurrentLayer, check_name

N_GATES = {"tanh": 1, "gru": 3, "lstm": 4}


def layer(cell="gru", n_inputs=3, n_hidden=2, value=1.0):
    n = N_GATES.get(cell, 1) * n_hidden
    weights = (np.full((n, n_inputs), value), np.ones((n, n_hidden)))
    return RecurrentLayer(cell, *weights, np.zeros(n), np.zeros(n))


@pytest.mark.parametrize("cell", N_GATES)
def test_a_layer_knows_its_shape(cell):
    made = layer(cell)
    assert (made.n_inputs, made.n_outputs) == (3, 2)
    assert repr(made) == f"RecurrentLayer({cell}, 3 -> 2)"


def test_arrays_are_float32_and_cannot_be_changed():
    weights = layer().weight_ih
    assert weights.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        weights[0, 0] = 2


def test_an_unknown_cell_is_refused_with_those_there_are():
    with pytest.raises(ArgumentError, match=r"tanh.*gru.*lstm"):
        layer("rnn")


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(ArgumentError, match="weight_hh of a gru layer: expected shape"):
        RecurrentLayer("gru", np.ones((4, 3)), np.ones((4, 2)), np.zeros(4), np.zeros(4))
    with pytest.raises(ArgumentError, match="bias"):
        DenseLayer(np.ones((2, 3)), np.ones(3))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_weights_that_cannot_be_computed_with_are_refused(value):
    with pytest.raises(ArgumentError, match="weight_ih"):
        layer(value=value)


def test_a_dense_layer_knows_its_shape():
    made = DenseLayer(np.ones((2, 3)), np.zeros(2))
    assert (made.n_inputs, made.n_outputs) == (3, 2)


def layer_of(cell="gru", **changes):
    arrays = {"weight_ih": np.zeros((6, 3)), "weight_hh": np.zeros((6, 2))}
    arrays |= {"bias_ih": np.zeros(6), "bias_hh": np.zeros(6)}
    return RecurrentLayer(cell, **(arrays | changes))


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
