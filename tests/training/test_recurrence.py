import pytest
import torch

from seqray.training.recurrence import GruOnTree, LstmOnTree, TanhOnTree

N_GATES = {TanhOnTree: 1, GruOnTree: 3, LstmOnTree: 4}
# A root with two children, one of which has two children of its own.
PARENTS, SIZES = [-1, 0, 0, 1, 1], [1, 2, 2]


def arguments(layer, n_hidden=3):
    torch.manual_seed(0)
    n_rows, n_nodes = N_GATES[layer] * n_hidden, len(PARENTS)
    shapes = ((n_nodes, n_rows), (n_rows, n_hidden), (n_rows,))
    arrays = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    return *arrays, torch.tensor(PARENTS) % (n_nodes + 1), SIZES


@pytest.mark.parametrize("layer", N_GATES)
def test_gradients_are_those_of_small_changes(layer):
    assert torch.autograd.gradcheck(layer.apply, arguments(layer))


@pytest.mark.parametrize("layer", N_GATES)
def test_siblings_with_the_same_input_have_the_same_state(layer):
    inputs, *rest = arguments(layer)
    with torch.no_grad():
        inputs[4] = inputs[3]
    states = layer.apply(inputs, *rest)
    torch.testing.assert_close(states[3], states[4])
    assert not torch.allclose(states[1], states[2])


def test_the_plain_layer_is_what_it_says():
    inputs, weight, bias, *rest = arguments(TanhOnTree)
    states = TanhOnTree.apply(inputs, weight, bias, *rest)
    wanted = torch.tanh(inputs[3] + weight @ states[1] + bias)
    torch.testing.assert_close(states[3], wanted)
