"""ONNX models as black boxes, run by onnxruntime.

A graph that reads ids ``(batch, time)`` gets whole sequences. One that reads an id ``(batch,)`` or
``(batch, 1)`` and states, and returns scores and new states, is stepped.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from seqray.blackbox.card import Card, card_path, load_card, read_card
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.frameworks.extras import load_extra
from seqray.blackbox.frameworks.onnx_graph import ARRAY_TYPES, OnnxGraph, read_graph
from seqray.blackbox.frameworks.padded import MAX_IDS_PER_BATCH, Forward, filled_up, sequence_box
from seqray.blackbox.frameworks.stepped import SteppedBox, stepped_box
from seqray.blackbox.frameworks.trial import tried
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.arrays import FloatArray, IntArray, whole_number
from seqray.util.checksums import check_beside
from seqray.util.errors import FileError
from seqray.util.files import fingerprint, read_bytes

OnnxBox: TypeAlias = QueriedBox | QueriedModel | QueriedClassifier | SteppedBox


def onnx_box(
    session: Any, card: Card, *, name: str | None = None, batch_size: int = MAX_IDS_PER_BATCH
) -> OnnxBox:
    """Make a black box of an onnxruntime session.

    Parameters
    ----------
    session
        An ``onnxruntime.InferenceSession``, with the providers that you want.
    card
        How symbols become ids, and scores answers.
    name
        The key of its cached answers.
    batch_size
        The most ids in one call, for a graph that reads whole sequences.
    """
    return _box(session, card, "the onnx session", name, batch_size)


def open_onnx(
    path: str | os.PathLike[str], *, threads: int = 1, batch_size: int = MAX_IDS_PER_BATCH
) -> OnnxBox:
    """Open an ONNX model.

    Parameters
    ----------
    path
        An ``.onnx`` file. Its card lies beside it (docs/cards.md), or stands in the model's
        metadata under ``seqray``, as JSON.
    threads
        How many threads onnxruntime may use.
    batch_size
        The most ids in one call, for a graph that reads whole sequences.
    """
    if not os.path.isfile(path):
        read_bytes(path, what="an ONNX model")  # its error says what is wrong
    check_beside(path)
    session = _session(path, whole_number("threads", threads, 1))
    beside = card_path(path)
    with _damage_named(f"the onnx model {path}"):
        text = session.get_modelmeta().custom_metadata_map.get("seqray")
    if text is None or beside.exists():
        card = load_card(path)
    else:
        card = read_card(text, f"{path}, its metadata")
    parts = [file for file in Path(path).parent.glob("*") if file.name.startswith(Path(path).name)]
    digest = fingerprint(*sorted({*parts, Path(path)}), *([beside] if beside.exists() else []))
    name = f"onnx {Path(path).name} {digest}"
    return _box(session, card, f"the onnx model {path}", name, batch_size)


def _session(path: str | os.PathLike[str], threads: int) -> Any:
    runtime = load_extra("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4  # failures are raised; users need no other messages
    try:
        return runtime.InferenceSession(
            os.fspath(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has a dozen classes of errors without a common base
        raise FileError(
            f"{path}: not an ONNX model that onnxruntime {runtime.__version__} can run, or "
            f"damaged: {error}"
        ) from error


@contextlib.contextmanager
def _damage_named(who: str) -> Iterator[None]:
    """Raise an error that names the model where onnxruntime cannot decode a text of it."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise FileError(
            f"{who} is damaged: a name or its metadata is not UTF-8 ({error}); export it again"
        ) from error


def _box(session: Any, card: Card, who: str, name: str | None, batch_size: int) -> OnnxBox:
    with _damage_named(who):
        graph = read_graph(session.get_inputs(), session.get_outputs(), who)
    if graph.states:
        stepper = GraphStepper(session, graph)
        return tried(stepped_box(stepper, card, who=who, fingerprint=name), card)
    forward = _forward(session, graph)
    if graph.width is not None:
        forward, card = filled_up(forward, card, graph.width, who)
    return tried(
        sequence_box(forward, card, who=who, fingerprint=name, batch_size=batch_size), card
    )


# Queries ------------------------------------------------------------------------------------------


def _forward(session: Any, graph: OnnxGraph) -> Forward:
    def run(ids: IntArray, lengths: IntArray) -> Any:
        feeds = {graph.ids.name: ids.astype(ARRAY_TYPES[graph.ids.type])}
        if graph.lengths is not None:
            feeds[graph.lengths.name] = lengths.astype(ARRAY_TYPES[graph.lengths.type])
        if graph.mask is not None:
            inside = np.arange(ids.shape[1]) < lengths[:, None]
            feeds[graph.mask.name] = inside.astype(ARRAY_TYPES[graph.mask.type])
        return session.run([graph.scores], feeds)[0]

    return run


@dataclass(frozen=True, eq=False)
class GraphStepper:
    """Steps a graph with states."""

    session: Any
    graph: OnnxGraph

    def begin(self) -> tuple[None, list[FloatArray]]:
        """Return no scores, and states of zeros."""
        return None, [state.zero for state in self.graph.states]

    def advance(
        self, state: list[FloatArray], parents: IntArray, ids: IntArray
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Return scores and states after reading ``ids[i]`` in ``parents[i]``."""
        graph = self.graph
        shape = (len(ids), 1)[: len(graph.ids.shape)]
        feeds = {graph.ids.name: ids.astype(ARRAY_TYPES[graph.ids.type]).reshape(shape)}
        for one, array in zip(graph.states, state, strict=True):
            feeds[one.input] = array.take(parents, axis=one.axis)
        wanted = [graph.scores, *(one.output for one in graph.states)]
        scores, *after = self.session.run(wanted, feeds)
        return scores[:, 0] if scores.ndim == 3 and scores.shape[1] == 1 else scores, after
