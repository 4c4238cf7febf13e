"""Which arrays of a file belong to which layer."""

import re

import pytest

from seqray.blackbox.frameworks.torch_stack import Dense, read_stack
from seqray.util.errors import ArgumentError
from torch_stacks import stack_of


def test_names_may_be_those_of_any_module():
    names = {
        "model.emb.weight": "embedding.weight",
        "model.rnn.weight_ih_l0": "recurrent.weight_ih_l0",
        "model.rnn.weight_hh_l0": "recurrent.weight_hh_l0",
        "model.rnn.bias_ih_l0": "recurrent.bias_ih_l0",
        "model.rnn.bias_hh_l0": "recurrent.bias_hh_l0",
        "fc.weight": "dense.0.weight",
        "fc.bias": "dense.0.bias",
    }
    shapes = stack_of().shapes()
    theirs = {name: shapes[own] for name, own in names.items()}
    assert read_stack(theirs, None) == (stack_of(), names)


def test_a_cell_is_a_layer():
    shapes = {name.replace("_l0", ""): shape for name, shape in stack_of().shapes().items()}
    assert read_stack(shapes, None)[0] == stack_of()


def stacked(stack, *owners):
    """Return the arrays of a network whose recurrent layers are modules with these names."""
    return {
        re.sub(
            r"recurrent\.(.*)_l(\d)", lambda m: f"{owners[int(m.group(2))]}.{m.group(1)}_l0", name
        ): shape
        for name, shape in stack.shapes().items()
    }


@pytest.mark.parametrize(
    ("sizes", "owners", "card_fields"),
    [
        ((5, 5), ("lstm1", "lstm2"), None),
        ((5, 5), ("lstm", "lstm2"), None),
        ((5, 5, 5), ("net.2", "net.4", "net.10"), None),
        ((3, 3), ("upper", "lower"), {"recurrent": ["upper", "lower"]}),
        ((5, 6), ("upper", "lower"), None),
        ((7, 5, 6), ("c", "a", "b"), None),
    ],
)
def test_modules_of_one_layer_are_a_stack_where_their_order_is_known(sizes, owners, card_fields):
    stack = stack_of("lstm", sizes=sizes)
    shapes = dict(reversed(stacked(stack, *owners).items()))
    result, names = read_stack(shapes, card_fields)
    assert result == stack
    assert [names[f"{o}.weight_hh_l0"] for o in owners] == [
        f"recurrent.weight_hh_l{i}" for i in range(len(owners))
    ]


@pytest.mark.parametrize(
    ("shapes", "card_fields", "message"),
    [
        (
            stacked(stack_of(sizes=(3, 3)), "encoder", "decoder"),
            None,
            r"encoder \(3 -> 3\), decoder \(3 -> 3\), and neither their names nor their shapes "
            r'.*"network": {"recurrent": \["encoder", "decoder"\]}; .* write .*torch_box',
        ),
        (stacked(stack_of(sizes=(5, 6)), "b2", "b1"), None, "in the order of their numbers"),
        (
            stacked(stack_of(sizes=(5, 6)), "a", "b"),
            {"recurrent": ["b", "a"]},
            "in the order of the card",
        ),
        (
            stacked(stack_of(sizes=(5, 6)), "a", "b"),
            {"recurrent": ["a"]},
            r"recurrent: expected the names a, b in their order, the card says \['a'\]",
        ),
    ],
)
def test_a_stack_in_no_known_order_is_refused(shapes, card_fields, message):
    with pytest.raises(ArgumentError, match=message):
        read_stack(shapes, card_fields)


def test_dense_layers_are_ordered_by_what_fits():
    shapes = stack_of(dense=()).shapes()
    shapes |= {"z.weight": (7, 5), "a.weight": (4, 2), "m.weight": (2, 7), "q.weight": (7, 7)}
    shapes |= {"m.bias": (2,), "a.bias": (4,)}
    card_fields = {
        "dense": [{"activation": name} for name in ("relu", "tanh", "sigmoid", "identity")]
    }
    result, names = read_stack(shapes, card_fields)
    assert [d.outputs for d in result.dense] == [7, 7, 2, 4]
    assert [d.activation for d in result.dense] == ["relu", "tanh", "sigmoid", "identity"]
    order = [names[f"{name}.weight"] for name in "zqma"]
    assert order == [f"dense.{i}.weight" for i in range(4)]


def test_numbered_dense_layers_are_in_the_order_of_their_numbers():
    shapes = stack_of(dense=()).shapes()
    shapes |= {f"head.{i}.weight": (5, 5) for i in (10, 2, 1)}
    _, names = read_stack(shapes, {"dense": [{"activation": "relu"}] * 3})
    assert [names[f"head.{i}.weight"] for i in (1, 2, 10)] == [
        f"dense.{i}.weight" for i in range(3)
    ]


def test_one_hot_input_and_a_dense_layer_without_bias_are_distinguished_from_an_embedding():
    stack = stack_of(embedding=None, n_ids=5, dense=(Dense(4, "identity", False),))
    assert read_stack(stack.shapes(), None)[0] == stack
    shapes = {**stack.shapes(), "dense.1.weight": (4, 4)}
    card_fields = {"embedding": None, "dense": [{}, {}]}
    assert read_stack(shapes, card_fields)[0].embedding is None
