"""Automata as ONNX graphs, which onnxruntime runs anywhere.

A Scan reads the words of a batch position by position. The state of a word is its group, a vector
over the group's states, and a scale, a logarithm: so long words do not underflow. All numbers are
float64.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqray.automata.automaton import WeightedAutomaton
from seqray.automata.classifier import MAX_OUTPUT
from seqray.automata.decisions import Question
from seqray.formats.scorer_tables import FORGETFUL, ClassTables, ScorerTables, TransitionTables
from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError, MissingExtraError, install_hint
from seqray.util.files import writing

OPSET, IR_VERSION = 18, 9
"""What onnxruntime has read since 1.14."""

MAX_BYTES = 2**31 - 2**20
"""The most bytes of an ONNX file, less what its text takes."""

STATE = "group", "vector", "log_scale"
"""What is carried from one position to the next."""


def write_onnx(automaton: WeightedAutomaton, path: Path) -> None:
    """Write an automaton as an ONNX graph that scores words.

    Inputs are ``words`` (int64, codes of symbols, shape ``(batch, time)``) and ``lengths`` (int64,
    shape ``(batch,)``). What stands behind a word's length does not count, nor does the code
    ``n_symbols``, which reads nothing.

    Outputs are ``weights`` and ``log_weights``, shape ``(batch,)``; before them ``next_symbol``,
    shape ``(batch, n_symbols + 1)``, if the automaton predicts, or ``scores``, shape
    ``(batch, n_classes)``, and ``outputs`` if it classifies. The metadata hold a card, so that
    ``onnx:`` opens the file as a box.
    """
    onnx = _load_onnx()
    tables = ScorerTables.of(automaton)
    n_bytes = sum(each.nbytes for each in (tables.moves.values, tables.moves.emission))
    if n_bytes > MAX_BYTES:
        raise ArgumentError(
            f"{path}: the numbers of this automaton take {n_bytes:,} bytes: expected at most "
            f"{MAX_BYTES:,} in an ONNX file; write .npz instead"
        )
    model = _model(onnx, tables, can_be_language_model=automaton.is_nonnegative)
    with writing(path, with_checksum=True) as fresh:
        fresh.write_bytes(model.SerializeToString())


def _load_onnx() -> Any:
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise MissingExtraError(
            f"to write .onnx takes the package onnx, which cannot be imported ({error}): "
            f"{install_hint('onnx')}"
        ) from error


class GraphNodes:
    """The nodes and constants of a graph while it is made."""

    def __init__(self, onnx: Any, constants: GraphNodes | None = None) -> None:
        self.onnx, self.nodes = onnx, []  # type: tuple[Any, list[Any]]
        self.constants: dict[str, Any] = {} if constants is None else constants.constants
        self.prefix = "" if constants is None else "step_"

    def op(self, kind: str, *inputs: str, n_outputs: int = 1, **attributes: Any) -> Any:
        """Add a node and return the names of its outputs, the name alone if there is one."""
        names = [f"{self.prefix}{kind}_{len(self.nodes)}_{at}" for at in range(n_outputs)]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, names, **attributes))
        return names[0] if n_outputs == 1 else names

    def constant(self, values: ArrayLike, kind: type[Any] = np.float64) -> str:
        """Return the name of a constant, the same for equal ones."""
        array: NDArray[Any] = np.ascontiguousarray(values, kind).reshape(np.shape(values))
        key = f"{array.dtype}{array.shape}{hashlib.sha256(array.tobytes()).hexdigest()}"
        if key not in self.constants:
            name = f"constant_{len(self.constants)}"
            self.constants[key] = self.onnx.numpy_helper.from_array(array, name)
        return str(self.constants[key].name)

    def whole(self, values: ArrayLike) -> str:
        """Return the name of a constant of int64."""
        return self.constant(values, np.int64)

    def sum_over(self, name: str, axis: int) -> str:
        """Return the sums along an axis, which goes."""
        return str(self.op("ReduceSum", name, self.whole([axis]), keepdims=0))

    def unsqueezed(self, name: str, *axes: int) -> str:
        """Return an array with more axes of size 1."""
        return str(self.op("Unsqueeze", name, self.whole(list(axes))))


def _model(onnx: Any, tables: ScorerTables, *, can_be_language_model: bool) -> Any:
    helper, kinds = onnx.helper, onnx.TensorProto
    graph = GraphNodes(onnx)
    group, vector, log_scale = _scanned(graph, tables)
    answers = _answers(graph, tables, group, vector, log_scale)
    is_next = tables.readers is not None and can_be_language_model
    names = list(answers)
    if tables.readers is not None and not is_next:  # the box of the file answers with weights
        names = [*names[1:], names[0]]
    outputs = []
    for name in names:
        graph.nodes.append(helper.make_node("Identity", [answers[name][0]], [name]))
        outputs.append(helper.make_tensor_value_info(name, kinds.DOUBLE, answers[name][1]))
    inputs = [
        helper.make_tensor_value_info("words", kinds.INT64, ["batch", "time"]),
        helper.make_tensor_value_info("lengths", kinds.INT64, ["batch"]),
    ]
    made = helper.make_graph(graph.nodes, "seqray", inputs, outputs, list(graph.constants.values()))
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(made, opset_imports=opset, producer_name="seqray")
    model.ir_version = IR_VERSION
    helper.set_model_props(model, {"seqray": json.dumps(_card(tables, is_next))})
    return model


def _card(tables: ScorerTables, is_next: bool) -> dict[str, Any]:
    """Return the card of the box that the graph is."""
    n_symbols = len(tables.alphabet)
    card: dict[str, Any] = {
        "alphabet": tables.alphabet.to_json(),
        "start": n_symbols,
        "pad": n_symbols,
    }
    if tables.classes is not None:
        card |= {"answers": "classes", "classes": list(tables.classes.names)}
        card |= {"scores": "probabilities", "threshold": tables.classes.threshold}
        return {key: each for key, each in card.items() if each is not None}
    if is_next:
        return {**card, "answers": "next", "scores": "probabilities", "renormalise": False}
    return {**card, "answers": "value", "scores": "values"}


# Reading ------------------------------------------------------------------------------------------


def _scanned(graph: GraphNodes, tables: ScorerTables) -> Sequence[str]:
    """Return group, vector and scale after each word."""
    moves, onnx = tables.moves, graph.onnx
    first = np.zeros((1, moves.max_size))
    first[0, : len(moves.initial)] = moves.initial
    # One more position that reads nothing: a Scan needs one at least.
    n_symbols = moves.next_group.shape[1]
    words = graph.op("Pad", "words", graph.whole([0, 0, 0, 1]), graph.whole(n_symbols))
    shape = graph.op("Shape", words)
    batch, time = (graph.op("Gather", shape, graph.whole([axis])) for axis in (0, 1))
    wide = graph.op("Concat", batch, graph.whole([moves.max_size]), axis=0)
    begin = (
        graph.op("Expand", graph.whole([moves.start]), batch),
        graph.op("Expand", graph.constant(first), wide),
        graph.op("Expand", graph.constant([0.0]), batch),
    )
    stop = graph.op("Squeeze", time)
    places = graph.op("Range", graph.whole(0), stop, graph.whole(1))
    by_place = graph.op("Transpose", words, perm=[1, 0])
    return list(
        graph.op(
            "Scan",
            *begin,
            by_place,
            places,
            n_outputs=3,
            body=_step(onnx, graph, moves),
            num_scan_inputs=2,
        )
    )


def _step(onnx: Any, outer: GraphNodes, moves: TransitionTables) -> Any:
    """Return the graph that reads one position."""
    helper, kinds = onnx.helper, onnx.TensorProto
    graph = GraphNodes(onnx, outer)
    n_symbols = moves.next_group.shape[1]
    known = graph.op("Gather", graph.whole(np.arange(n_symbols + 1)), "symbol")  # or an error
    is_read = graph.op(
        "And",
        graph.op("Less", "place", "lengths"),
        graph.op("Less", known, graph.whole(n_symbols)),
    )
    code = graph.op("Where", is_read, known, graph.whole(0))
    pair = graph.op("Add", graph.op("Mul", "group", graph.whole(n_symbols)), code)
    target = graph.op("Gather", graph.whole(moves.next_group.ravel()), pair)
    moved = _moved(graph, moves, code, pair, target)
    largest = graph.op("ReduceMax", graph.op("Abs", moved), graph.whole([1]), keepdims=0)
    is_zero = graph.op("Equal", largest, graph.constant(0.0))
    size = graph.op("Where", is_zero, graph.constant(1.0), largest)
    moved = graph.op("Div", moved, graph.unsqueezed(size, 1))
    scale = graph.op("Add", "log_scale", graph.op("Log", size))
    reads = is_read, graph.unsqueezed(is_read, 1), is_read
    for name, after, where in zip(STATE, (target, moved, scale), reads, strict=True):
        graph.nodes.append(helper.make_node("Where", [where, after, name], [f"{name}_after"]))
    info = helper.make_tensor_value_info
    types = kinds.INT64, kinds.DOUBLE, kinds.DOUBLE
    shapes: list[list[str | int]] = [["batch"], ["batch", moves.max_size], ["batch"]]
    before = [info(*each) for each in zip(STATE, types, shapes, strict=True)]
    read = [info("symbol", kinds.INT64, ["batch"]), info("place", kinds.INT64, [])]
    results = [f"{name}_after" for name in STATE]
    after = [info(*each) for each in zip(results, types, shapes, strict=True)]
    return helper.make_graph(graph.nodes, "step", [*before, *read], after)


def _moved(graph: GraphNodes, moves: TransitionTables, code: str, pair: str, target: str) -> str:
    """Return the vectors after one symbol, of what remembers and of what forgets."""
    if not moves.has_forgetful:
        return _remembered(graph, moves, pair, target)
    forgot = _forgot(graph, moves, code, target)
    if not moves.has_remembering:
        return forgot
    is_forgetful = graph.constant((moves.begins == FORGETFUL).reshape(-1, 1), np.bool_)
    return str(
        graph.op(
            "Where",
            graph.op("Gather", is_forgetful, pair),
            forgot,
            _remembered(graph, moves, pair, target),
        )
    )


def _remembered(graph: GraphNodes, moves: TransitionTables, pair: str, target: str) -> str:
    size, begins = moves.max_size, np.maximum(moves.begins.ravel(), 0)
    row = graph.unsqueezed("vector", 1)
    if (moves.sizes == size).all():
        matrices = graph.constant(moves.values.reshape(-1, size, size))
        number = graph.op("Gather", graph.whole(begins // size**2), pair)
        block = graph.op("Gather", matrices, number)
        return str(graph.op("Squeeze", graph.op("MatMul", row, block), graph.whole([1])))
    # Rows of the matrix of this pair, as wide as the largest group: what stands beside them counts
    # no more than the rows behind, whose factors in the vector are 0.
    begin = graph.unsqueezed(graph.op("Gather", graph.whole(begins), pair), 1, 2)
    width = graph.op("Gather", graph.whole(moves.sizes), target)
    rows = graph.op("Mul", graph.unsqueezed(width, 1, 2), graph.whole(np.arange(size)[:, None]))
    places = graph.op("Add", graph.op("Add", begin, rows), graph.whole(np.arange(size)[None]))
    last = graph.whole(len(moves.values) - 1)
    block = graph.op("Gather", graph.constant(moves.values), graph.op("Min", places, last))
    product = graph.op("Squeeze", graph.op("MatMul", row, block), graph.whole([1]))
    return str(graph.op("Mul", product, _inside(graph, moves, target)))


def _inside(graph: GraphNodes, moves: TransitionTables, group: str) -> str:
    """Return 1 at the states of a group, 0 behind them."""
    inside = np.arange(moves.max_size) < moves.sizes[:, None]
    return str(graph.op("Gather", graph.constant(inside), group))


def _forgot(graph: GraphNodes, moves: TransitionTables, code: str, target: str) -> str:
    columns = _states(graph, moves, "group")
    n_symbols = moves.next_group.shape[1]
    at = graph.op(
        "Add", graph.op("Mul", columns, graph.whole(n_symbols)), graph.unsqueezed(code, 1)
    )
    emitted = graph.op("Gather", graph.constant(moves.emission.ravel()), at)
    weight = graph.unsqueezed(graph.sum_over(graph.op("Mul", "vector", emitted), 1), 1)
    entered = graph.op("Gather", graph.constant(moves.entry), _states(graph, moves, target))
    if (moves.sizes != moves.max_size).any():
        entered = graph.op("Mul", entered, _inside(graph, moves, target))
    return str(graph.op("Mul", weight, entered))


def _states(graph: GraphNodes, moves: TransitionTables, group: str) -> str:
    """Return the states of a group, and others behind them to fill it up."""
    states = moves.offsets[:, None] + np.arange(moves.max_size)
    return str(graph.op("Gather", graph.whole(np.minimum(states, moves.sizes.sum() - 1)), group))


# Answers ------------------------------------------------------------------------------------------


def _answers(
    graph: GraphNodes, tables: ScorerTables, group: str, vector: str, log_scale: str
) -> dict[str, tuple[str, list[str | int]]]:
    """Return the outputs by name, with their shapes; what a box answers is first."""
    states = _states(graph, tables.moves, group)
    answers: dict[str, tuple[str, list[str | int]]] = {}
    if tables.readers is not None:
        following = _next_symbol(graph, tables.readers, states, vector)
        answers["next_symbol"] = following, ["batch", len(tables.alphabet) + 1]
    if tables.classes is not None:
        shape: list[str | int] = ["batch", len(tables.classes.names)]
        read = _read(graph, tables.classes.outputs, states, vector)
        outputs = _unscaled(graph, read, graph.unsqueezed(log_scale, 1))[0]
        limits = graph.constant(-MAX_OUTPUT), graph.constant(MAX_OUTPUT)
        outputs = graph.op("Clip", outputs, *limits)
        answers["scores"] = _scores(graph, tables.classes, outputs), shape
        answers["outputs"] = outputs, shape
    read = graph.op(
        "Squeeze", _read(graph, tables.final[:, None], states, vector), graph.whole([1])
    )
    weights, logs = _unscaled(graph, read, log_scale)
    return {**answers, "weights": (weights, ["batch"]), "log_weights": (logs, ["batch"])}


def _read(graph: GraphNodes, readers: FloatArray, states: str, vector: str) -> str:
    """Return what some columns read of each vector, shape ``(batch, n_columns)``."""
    rows = graph.op("Gather", graph.constant(readers), states)
    product = graph.op("MatMul", graph.unsqueezed(vector, 1), rows)
    return str(graph.op("Squeeze", product, graph.whole([1])))


def _unscaled(graph: GraphNodes, read: str, log_scale: str) -> tuple[str, str]:
    """Return what was read with its scale, and the logarithm of its size."""
    log = graph.op("Add", graph.op("Log", graph.op("Abs", read)), log_scale)
    return graph.op("Mul", graph.op("Sign", read), graph.op("Exp", log)), log


def _next_symbol(graph: GraphNodes, readers: FloatArray, states: str, vector: str) -> str:
    n_columns = readers.shape[1] - 1
    read = _read(graph, readers, states, vector)
    sizes = graph.whole([n_columns, 1])
    each, total = graph.op("Split", read, sizes, n_outputs=2, axis=1)
    shares = graph.op("Div", each, total)
    size = graph.unsqueezed(graph.sum_over(graph.op("Abs", shares), 1), 1)
    is_finite = graph.op("Less", size, graph.constant(np.inf))  # what is no number is not less
    return str(graph.op("Where", is_finite, shares, graph.constant(1 / n_columns)))


def _scores(graph: GraphNodes, classes: ClassTables, outputs: str) -> str:
    """Return class probabilities; see `seqray.automata.decisions.scores_of`."""
    if classes.question is Question.LOGIT:
        return str(graph.op("Softmax", outputs, axis=1))
    positive = graph.op("Max", outputs, graph.constant(0.0))
    total = graph.unsqueezed(graph.sum_over(positive, 1), 1)
    best = graph.op("ArgMax", outputs, axis=1, keepdims=0)
    first = graph.op("Gather", graph.constant(np.eye(len(classes.names))), best)
    is_zero = graph.op("Equal", total, graph.constant(0.0))
    return str(graph.op("Where", is_zero, first, graph.op("Div", positive, total)))
