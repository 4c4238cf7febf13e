"""ONNX models as black boxes, run by onnxruntime.

A graph that reads ids ``(batch, time)`` is asked about whole sequences. One that reads an id
``(batch,)`` or ``(batch, 1)`` and states, and returns scores and new states, is stepped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from seqray.blackbox.card import Card, card_path, load_card, read_card
from seqray.blackbox.frameworks.extras import load_extra
from seqray.blackbox.frameworks.padded import BATCH, Forward, filled_up, sequence_box
from seqray.blackbox.frameworks.stepped import SteppedBox, stepped_box
from seqray.blackbox.frameworks.trial import tried
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.arrays import FloatArray, IntArray, whole_number
from seqray.util.errors import ArgumentError, FileError
from seqray.util.files import fingerprint, read_bytes

OnnxBox: TypeAlias = QueriedBox | QueriedModel | SteppedBox

WHOLE = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
REAL = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
TYPES: dict[str, Any] = {**WHOLE, **REAL, "tensor(bool)": np.bool_}


def onnx_box(session: Any, card: Card, *, name: str | None = None, batch: int = BATCH) -> OnnxBox:
    """Make a black box of an onnxruntime session.

    Parameters
    ----------
    session
        An ``onnxruntime.InferenceSession``, with the providers that you want.
    card
        How symbols become ids, and scores answers.
    name
        What its answers are kept under, where they are kept.
    batch
        The most ids in one call, for a graph that reads whole sequences.
    """
    return _box(session, card, "the onnx session", name, batch)


def open_onnx(path: str | os.PathLike[str], *, threads: int = 1, batch: int = BATCH) -> OnnxBox:
    """Open an ONNX model.

    Parameters
    ----------
    path
        An ``.onnx`` file. Its card lies beside it (docs/cards.md), or stands in the model's
        metadata under ``seqray``, as JSON.
    threads
        How many threads onnxruntime may use.
    batch
        The most ids in one call, for a graph that reads whole sequences.
    """
    if not Path(path).is_file():
        read_bytes(path)  # says what is wrong
    session = _session(path, whole_number("threads", threads, 1))
    beside = card_path(path)
    text = session.get_modelmeta().custom_metadata_map.get("seqray")
    if text is None or beside.exists():
        card = load_card(path)
    else:
        card = read_card(text, f"{path}, its metadata")
    more = [file for file in Path(path).parent.glob("*") if file.name.startswith(Path(path).name)]
    digest = fingerprint(*sorted({*more, Path(path)}), *([beside] if beside.exists() else []))
    name = f"onnx {Path(path).name} {digest}"
    return _box(session, card, f"the onnx model {path}", name, batch)


def _session(path: str | os.PathLike[str], threads: int) -> Any:
    runtime = load_extra("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4  # what fails is raised; the rest is no concern of the user's
    try:
        return runtime.InferenceSession(
            os.fspath(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has a dozen of its own, without a common root
        raise FileError(
            f"{path}: not an ONNX model that onnxruntime {runtime.__version__} can run, or "
            f"damaged: {error}"
        ) from error


def _box(session: Any, card: Card, who: str, name: str | None, batch: int) -> OnnxBox:
    graph = read_graph(session.get_inputs(), session.get_outputs(), who)
    if graph.states:
        steps = GraphSteps(session, graph)
        return tried(stepped_box(steps, card, who=who, fingerprint=name), card)
    forward = _forward(session, graph)
    if graph.width is not None:
        forward, card = filled_up(forward, card, graph.width, who)
    return tried(sequence_box(forward, card, who=who, fingerprint=name, batch=batch), card)


# What a graph reads and answers -------------------------------------------------------------------


class State(NamedTuple):
    """An input that takes a state, the output that has the next one, and its zero."""

    input: str
    output: str
    axis: int
    zero: FloatArray


@dataclass(frozen=True)
class Graph:
    """Which inputs and outputs are what.

    ``width`` is how many ids the graph reads, None where it is free. An input with a mask or with
    lengths is None where there is none.
    """

    ids: Any
    scores: str
    lengths: Any = None
    mask: Any = None
    states: Sequence[State] = ()
    width: int | None = None


def read_graph(inputs: Sequence[Any], outputs: Sequence[Any], who: str) -> Graph:
    """Find out what a graph reads and answers, from its inputs' and outputs' names and shapes."""
    masks = [x for x in inputs if "mask" in x.name.lower() and len(x.shape) == 2]
    whole = [x for x in inputs if x.type in WHOLE and x not in masks]
    real = [x for x in inputs if x.type in REAL and x not in masks]
    rank_one = [x for x in whole if len(x.shape) == 1]
    rank_two = [x for x in whole if len(x.shape) == 2]
    known = len(masks) + len(whole) + len(real) == len(inputs)
    if real and known and not masks and len(whole) == 1 == len(rank_one + rank_two):
        return _step_graph(whole[0], real, outputs, who)
    if real or not known or len(rank_two) != 1 or len(rank_one) > 1 or len(masks) > 1:
        raise ArgumentError(
            f"{who} has the inputs {_shown(inputs)}: expected ids (batch, time), integers, and "
            "maybe lengths (batch,) or a mask (batch, time); or ids (batch,) or (batch, 1) and "
            "states, real numbers. One-hot vectors and embeddings belong into the graph"
        )
    ids = rank_two[0]
    for one in (ids, *rank_one, *masks):
        _check_free(one, 0, "batch", who)
    width = ids.shape[1] if isinstance(ids.shape[1], int) else None
    if width == 1:
        _refuse_fixed(ids, 1, "time", who)
    lengths, mask = (*rank_one, None)[0], (*masks, None)[0]
    return Graph(ids, outputs[0].name, lengths, mask, width=width)


def _step_graph(ids: Any, real: Sequence[Any], outputs: Sequence[Any], who: str) -> Graph:
    _check_free(ids, 0, "batch", who)
    if len(ids.shape) == 2 and ids.shape[1] not in (1, None) and isinstance(ids.shape[1], int):
        raise ArgumentError(
            f"{who} has states and reads {ids.shape[1]} ids at once: expected (batch,), (batch, 1) "
            "or a free time axis"
        )
    scores, following = _pairs([x.name for x in real], outputs, who)
    states = []
    for one, after in zip(real, following, strict=True):
        free = [axis for axis, size in enumerate(one.shape) if not isinstance(size, int)]
        if not free:
            _refuse_fixed(one, 0, "batch", who)
        if len(free) > 1:
            raise ArgumentError(
                f"{who}: its state {one.name} has shape {one.shape}: expected one free axis, that "
                "of the batch; a state that grows is not supported: export whole sequences"
            )
        zero = np.zeros([1 if axis in free else n for axis, n in enumerate(one.shape)])
        fits = len(after.shape) == len(one.shape) and all(
            a == b or not (isinstance(a, int) and isinstance(b, int))
            for a, b in zip(after.shape, one.shape, strict=True)
        )
        if not fits:
            raise ArgumentError(
                f"{who}: its state {one.name} has shape {one.shape} and is followed by the output "
                f"{after.name} of shape {after.shape}: name them alike, such as h_in and h_out, or "
                "put the scores first and the states behind them in the order of the inputs"
            )
        states.append(State(one.name, after.name, free[0], zero.astype(REAL[one.type])))
    return Graph(ids, scores, states=tuple(states))


def _pairs(states: Sequence[str], outputs: Sequence[Any], who: str) -> tuple[str, list[Any]]:
    """Return the output of the scores, and the one of each state: by name, or by order."""
    if len(outputs) != len(states) + 1:
        raise ArgumentError(
            f"{who} has {len(states)} states and the outputs {_shown(outputs)}: expected scores "
            "and then each state"
        )
    stems = [_stem(output.name) for output in outputs]
    wanted = [_stem(state) for state in states]
    if all(stems.count(stem) == 1 == wanted.count(stem) for stem in wanted):
        following = [outputs[stems.index(stem)] for stem in wanted]
        (scores,) = (x.name for x, stem in zip(outputs, stems, strict=True) if stem not in wanted)
        return scores, following
    return outputs[0].name, list(outputs[1:])


_AROUND = re.compile(
    r"(?:^|_)(?:in|out|input|output|new|next|old|prev|previous|past|present|initial|final|0|n)(?=_|$)"
)


def _stem(name: str) -> str:
    """Return what two names of one state have in common: h of h_in, h_out, h0, hn, new_h."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower())
    return re.sub(r"^([hc])[0n]$", r"\1", _AROUND.sub("", plain).strip("_"))


def _check_free(one: Any, axis: int, what: str, who: str) -> None:
    if isinstance(one.shape[axis], int):
        _refuse_fixed(one, axis, what, who)


def _refuse_fixed(one: Any, axis: int, what: str, who: str) -> NoReturn:
    raise ArgumentError(
        f"{who}: the {what} axis of its input {one.name}, of shape {one.shape}, was fixed when it "
        "was exported: expected a free one. Export it again with dynamic axes: "
        f"torch.onnx.export(…, input_names=[{one.name!r}], "
        f"dynamic_axes={{{one.name!r}: {{{axis}: {what!r}}}, …}})"
    )


def _shown(nodes: Sequence[Any]) -> str:
    return ", ".join(f"{x.name} {x.type} {x.shape}" for x in nodes) or "none"


# Asking -------------------------------------------------------------------------------------------


def _forward(session: Any, graph: Graph) -> Forward:
    def ask(ids: IntArray, lengths: IntArray) -> Any:
        feeds = {graph.ids.name: ids.astype(TYPES[graph.ids.type])}
        if graph.lengths is not None:
            feeds[graph.lengths.name] = lengths.astype(TYPES[graph.lengths.type])
        if graph.mask is not None:
            inside = np.arange(ids.shape[1]) < lengths[:, None]
            feeds[graph.mask.name] = inside.astype(TYPES[graph.mask.type])
        return session.run([graph.scores], feeds)[0]

    return ask


@dataclass(frozen=True, eq=False)
class GraphSteps:
    """Steps a graph with states."""

    session: Any
    graph: Graph

    def begin(self) -> tuple[None, list[FloatArray]]:
        """Return no scores, and states of zeros."""
        return None, [state.zero for state in self.graph.states]

    def advance(
        self, state: list[FloatArray], parents: IntArray, ids: IntArray
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Return scores and states after reading ``ids[i]`` in ``parents[i]``."""
        graph = self.graph
        shape = (len(ids), 1)[: len(graph.ids.shape)]
        feeds = {graph.ids.name: ids.astype(TYPES[graph.ids.type]).reshape(shape)}
        for one, array in zip(graph.states, state, strict=True):
            feeds[one.input] = array.take(parents, axis=one.axis)
        wanted = [graph.scores, *(one.output for one in graph.states)]
        scores, *after = self.session.run(wanted, feeds)
        return scores[:, 0] if scores.ndim == 3 and scores.shape[1] == 1 else scores, after
