"""What an ONNX graph reads and answers."""

from types import SimpleNamespace

import numpy as np
import pytest

from seqray.blackbox.frameworks.onnx_graph import read_graph
from seqray.util.errors import ArgumentError


def node(name, kind, *shape):
    return SimpleNamespace(name=name, type=f"tensor({kind})", shape=list(shape))


IDS = node("ids", "int64", "batch", "time")
ONE = node("id", "int64", "batch")
SCORES = node("scores", "float", "batch", 4)
H_IN, H_OUT = node("h_in", "float", 1, "batch", 8), node("h_out", "float", 1, "batch", 8)
C_IN, C_OUT = node("c_in", "float", 1, "batch", 8), node("c_out", "float", 1, "batch", 8)


def graph_of(inputs, outputs=(SCORES,)):
    return read_graph(inputs, outputs, "the net")


def test_one_input_of_ids_is_a_graph_of_whole_sequences():
    graph = graph_of([IDS])
    assert (graph.ids.name, graph.scores, graph.states, graph.width) == ("ids", "scores", (), None)


def test_lengths_and_masks_are_known_by_their_shapes_and_names():
    graph = graph_of([node("n", "int32", "batch"), node("mask", "bool", "batch", "time"), IDS])
    assert (graph.ids.name, graph.lengths.name, graph.mask.name) == ("ids", "n", "mask")
    graph = graph_of([IDS, node("attention_mask", "int64", "batch", "time")])
    assert graph.mask.name == "attention_mask"


def test_a_fixed_number_of_ids_is_noted():
    assert graph_of([node("ids", "int64", "batch", 20)]).width == 20


def test_states_begin_as_zeros_of_their_own_type():
    graph = graph_of([ONE, node("s", "double", "batch", 3)], [SCORES, node("t", "double", 1, 3)])
    ((name, after, axis, zero),) = graph.states
    assert (name, after, axis, zero.shape, zero.dtype) == ("s", "t", 0, (1, 3), np.float64)


@pytest.mark.parametrize("ids", [ONE, node("id", "int32", None, 1), IDS])
def test_a_step_reads_one_id_in_either_form(ids):
    assert graph_of([H_IN, ids], [SCORES, H_OUT]).ids is ids


@pytest.mark.parametrize(
    ("states", "outputs"),
    [
        ([H_IN, C_IN], [SCORES, H_OUT, C_OUT]),
        ([H_IN, C_IN], [C_OUT, H_OUT, SCORES]),
        ([C_IN, H_IN], [H_OUT, SCORES, C_OUT]),
    ],
)
def test_states_are_paired_by_name_in_any_order(states, outputs):
    graph = graph_of([ONE, *states], outputs)
    assert {s.input: s.output for s in graph.states} == {"h_in": "h_out", "c_in": "c_out"}
    assert graph.scores == "scores"


@pytest.mark.parametrize(
    ("before", "after"),
    [("h0", "hn"), ("h_0", "h_n"), ("past.h", "present.h"), ("h", "new_h"), ("state", "state_out")],
)
def test_usual_names_of_a_state_are_known(before, after):
    inputs = [ONE, node(before, "float", 1, "b", 8), node("cell", "float", 1, "b", 8)]
    outputs = [node("next_cell", "float", 1, "b", 8), SCORES, node(after, "float", 1, "b", 8)]
    graph = graph_of(inputs, outputs)
    assert {s.input: s.output for s in graph.states} == {before: after, "cell": "next_cell"}


def test_states_without_names_in_common_are_paired_by_order():
    inputs = [ONE, node("x", "float", 1, "b", 8), node("y", "float", "b", 3)]
    outputs = [SCORES, node("p", "float", 1, "b", 8), node("q", "float", None, 3)]
    graph = graph_of(inputs, outputs)
    assert [(s.input, s.output) for s in graph.states] == [("x", "p"), ("y", "q")]


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([], [SCORES], "has the inputs none: expected ids"),
        ([node("x", "float", "b", "t", 4)], [SCORES], "Put one-hot vectors and embeddings into"),
        ([ONE], [SCORES], r"the inputs id tensor\(int64\) \['batch'\]: expected ids \(batch, time"),
        ([IDS, node("types", "int64", "b", "t")], [SCORES], "expected ids"),
        ([IDS, node("text", "string", "b")], [SCORES], "expected ids"),
        ([IDS, node("cube", "int64", "b", "t", 2)], [SCORES], "expected ids"),
        (
            [node("ids", "int64", 1, "time")],
            [SCORES],
            "batch axis of its input ids, .* dynamic_axes",
        ),
        ([node("ids", "int64", "batch", 1)], [SCORES], "the time axis of its input ids"),
        ([IDS, node("n", "int64", 2)], [SCORES], "the batch axis of its input n"),
        ([node("id", "int64", 1), H_IN], [SCORES, H_OUT], "the batch axis of its input id"),
        ([node("id", "int64", "b", 5), H_IN], [SCORES, H_OUT], "reads 5 ids at once"),
        ([ONE, node("h", "float", 1, 1, 8)], [SCORES, H_OUT], "the batch axis of its input h,"),
        ([ONE, node("h", "float", "b", "t", 8)], [SCORES, H_OUT], "a state that grows is not"),
        ([ONE, H_IN], [SCORES], "has 1 states and the outputs scores .*: expected scores and then"),
        ([ONE, H_IN], [SCORES, node("h_out", "float", "b", 8)], "name them alike, such as h_in"),
        ([ONE, H_IN], [SCORES, node("h_out", "float", 1, "b", 9)], "name them alike, such as h_in"),
    ],
)
def test_a_graph_that_cannot_be_queried_is_refused(inputs, outputs, message):
    with pytest.raises(ArgumentError, match=f"the net.*{message}"):
        graph_of(inputs, outputs)


def test_a_graph_without_outputs_is_refused():
    with pytest.raises(ArgumentError, match="has no outputs"):
        read_graph([], [], "the graph")
