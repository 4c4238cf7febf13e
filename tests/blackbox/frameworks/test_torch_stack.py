import numpy as np
import pytest

from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.torch_stack import Dense, check_fit, read_stack
from seqray.util.errors import ArgumentError
from torch_stacks import stack_of


def card_fields_of(stack):
    """Return all that a card can say of a network."""
    dense = [{"outputs": d.outputs, "activation": d.activation} for d in stack.dense]
    names = ("cell", "embedding", "hidden", "layers", "bidirectional", "read")
    return {**{name: getattr(stack, name) for name in names}, "dense": dense}


TWO = (Dense(6, "relu", True), Dense(4, "identity", False))
STACKS = [
    stack_of(),
    stack_of("lstm", layers=3),
    stack_of("tanh", embedding=None),
    stack_of("relu", bias=False),
    stack_of("gru", dense=TWO),
    stack_of("lstm", bidirectional=True, layers=2, read="mean"),
    stack_of("gru", read="max", embedding=5, hidden=5),
]


@pytest.mark.parametrize("stack", STACKS, ids=str)
def test_a_network_is_known_by_its_own_names_and_its_card(stack):
    shapes = stack.shapes()
    result, names = read_stack(shapes, card_fields_of(stack))
    assert result == stack
    assert names == {name: name for name in shapes}


def test_a_network_with_one_dense_layer_needs_no_words():
    for stack in (stack_of(), stack_of("lstm", layers=2), stack_of(embedding=None)):
        assert read_stack(stack.shapes(), None)[0] == stack


def without(stack, *names):
    return {name: shape for name, shape in stack.shapes().items() if name not in names}


@pytest.mark.parametrize(
    ("shapes", "card_fields", "message"),
    [
        ({}, {}, "one nn.RNN, nn.GRU or nn.LSTM, .*, got none: .*torch_box"),
        ({"a.weight": (2, 3)}, {}, r"got a.weight \(2, 3\): for another module write"),
        (without(stack_of(), "recurrent.weight_hh_l0"), {}, "expected the arrays of one nn.RNN"),
        ({"a.weight_ih_l0": (3, 1), "b.weight_hh_l0": (3, 1)}, {}, "the arrays of one nn.RNN"),
        ({"weight_ih_l0": (3, 1), "weight_hh_l0": (3,)}, {}, r"expected a matrix, got shape \(3,"),
        ({"weight_ih_l0": (5, 1), "weight_hh_l0": (5, 2)}, {}, "1, 3 or 4 times n, n"),
        (
            {**stack_of().shapes(), "recurrent.weight_ih_l999999999": (15, 5)},
            {},
            "up to the last, l999999999, got those of 2",
        ),
        (stack_of("tanh").shapes(), {}, "whether it is of tanh or relu: say it in the card"),
        (stack_of().shapes(), {"cell": "lstm"}, "expected gru, as the arrays .* says 'lstm'"),
        (stack_of().shapes(), {"hidden": 6}, "the card says hidden 6, the arrays say 5"),
        (stack_of().shapes(), {"layers": 2}, "the card says layers 2, the arrays say 1"),
        (stack_of().shapes(), {"embedding": 8}, "the card says embedding 8, the arrays say 3"),
        (stack_of().shapes(), {"layer": 2}, "unknown field 'layer': expected layers$"),
        (stack_of().shapes(), {"xyzzy": 2}, "unknown field 'xyzzy': expected cell or embedding"),
        (stack_of().shapes(), {"read": "first"}, "read: expected one of last, final, mean, max"),
        (stack_of().shapes(), {"dense": 4}, "dense: expected a list of objects, got 4"),
        (stack_of().shapes(), {"dense": [4]}, r"dense: expected a list of objects, got \[4\]"),
        (stack_of().shapes(), {"dense": []}, r"layers of \[4\] outputs, the card says \[\]"),
        (stack_of().shapes(), {"dense": [{"outputs": 5}]}, r"layers of \[4\] outputs, the card"),
        (stack_of().shapes(), {"dense": [{"activation": "gelu"}]}, "activation"),
        (stack_of(dense=TWO).shapes(), {}, r'"dense": \[{"outputs": 6, "activation": "relu"}, {"'),
        (stack_of(bidirectional=True).shapes(), {}, 'a bidirectional network: .*"read": "final"'),
        (stack_of(dense=()).shapes(), {}, "expected a dense layer behind the recurrent ones"),
        (
            {**stack_of(dense=()).shapes(), "a.weight": (4, 9)},
            {},
            r"comes first\? Expected one that takes 5 inputs, got a.weight \(4, 9\)",
        ),
        (
            {**stack_of(dense=()).shapes(), "a.weight": (5, 5), "b.weight": (5, 5)},
            {},
            r"comes first\? .* a.weight \(5, 5\), b.weight \(5, 5\): name them dense.0, dense.1",
        ),
        (
            {**without(stack_of(), "embedding.weight"), "a.weight": (4, 3), "b.weight": (9, 3)},
            {},
            r"which is the embedding: a or b\? Save it as embedding.weight",
        ),
        (
            without(stack_of(layers=2), "recurrent.bias_hh_l1"),
            {},
            r"of a gru network of 2 layers of 5: missing: recurrent.bias_hh_l1 \(15,\)$",
        ),
        (
            {**stack_of().shapes(), "norm.weight": (5,), "norm.bias": (5,)},
            {},
            r"unexpected: norm.weight \(5,\), norm.bias \(5,\)$",
        ),
        (
            {**stack_of().shapes(), "recurrent.bias_ih_l0": (16,)},
            {},
            r"recurrent.bias_ih_l0: expected \(15,\), got \(16,\)$",
        ),
    ],
)
def test_arrays_that_make_up_no_network_are_refused(shapes, card_fields, message):
    with pytest.raises(ArgumentError, match=message):
        read_stack(shapes, card_fields)


def test_what_recurrent_arrays_are_called_is_named_with_what_is_missing():
    shapes = {f"net.{name}": shape for name, shape in stack_of(layers=2).shapes().items()}
    del shapes["net.recurrent.weight_hh_l1"]
    with pytest.raises(ArgumentError, match=r"\(here recurrent\.\* is net\.recurrent\.\*\): miss"):
        read_stack(shapes, None)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"start": 4}, "start: the card speaks of input id 4 and the network knows 4, from 0"),
        ({"ids": [0, 1, 7]}, "ids: the card speaks of input id 7 .* alphabet and model disagree"),
        ({"answers": "value", "stop": 9}, "stop: the card speaks of input id 9"),
        (
            {"answers": "classes", "classes": ["x", "y", "z"]},
            r"classes: the card names 3 \(x, y, z\) and the network has 4 outputs",
        ),
        ({"end": 4}, "columns and end: the card speaks of output 4 and the network has 4"),
    ],
)
def test_a_card_and_a_network_that_disagree_are_refused(fields, message):
    card = Card(**{"alphabet": Alphabet("abc"), "answers": "next", **fields})
    with pytest.raises(ArgumentError, match=message):
        check_fit(stack_of(), card)


def test_a_card_and_a_network_that_agree_are_not():
    stack = stack_of()
    card = Card(Alphabet("abc"), "next", ids=[3, 2, 1], start=0, columns=[0, 2, 1])
    # The largest id and output are the last that the network has.
    assert (max(card.ids), max(card.outputs)) == (stack.n_ids - 1, stack.dense[-1].outputs - 1)
    assert check_fit(stack, card) is None


def test_only_a_network_that_reads_forward_has_states():
    assert stack_of().has_states
    assert stack_of(read="final").has_states
    assert not stack_of(read="mean").has_states
    assert not stack_of(bidirectional=True).has_states


def test_the_shapes_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    for cell, kind in (("gru", torch.nn.GRU), ("lstm", torch.nn.LSTM), ("tanh", torch.nn.RNN)):
        module = kind(3, 5, num_layers=2, bidirectional=True)
        actual = {f"recurrent.{k}": tuple(v.shape) for k, v in module.state_dict().items()}
        stack = stack_of(cell, layers=2, bidirectional=True)
        assert actual == {k: v for k, v in stack.shapes().items() if k.startswith("recurrent")}
        assert np.prod(stack.shapes()["dense.0.weight"]) == 4 * 10
