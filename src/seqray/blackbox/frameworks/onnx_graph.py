"""Which inputs and outputs of an ONNX graph are ids, lengths, masks, states and scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from seqray.util.arrays import FloatArray
from seqray.util.errors import ArgumentError

INTEGER_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
REAL_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
}
ARRAY_TYPES: dict[str, Any] = {**INTEGER_TYPES, **REAL_TYPES, "tensor(bool)": np.bool_}
"""The NumPy type of each ONNX type."""


class StateInput(NamedTuple):
    """An input for a state, the output of the next state, its batch axis, and the first state."""

    input: str
    output: str
    axis: int
    zero: FloatArray


@dataclass(frozen=True)
class OnnxGraph:
    """The inputs and outputs of a graph.

    ``width`` is how many ids the graph reads, None if any number. ``lengths`` and ``mask`` are
    None where the graph has no such input.
    """

    ids: Any
    scores: str
    lengths: Any = None
    mask: Any = None
    states: Sequence[StateInput] = ()
    width: int | None = None


@dataclass(frozen=True)
class SortedInputs:
    """The inputs of a graph by what they can be, read off their names, types and shapes."""

    masks: Sequence[Any]
    vectors: Sequence[Any]
    """Integers ``(batch,)``."""
    matrices: Sequence[Any]
    """Integers ``(batch, time)``."""
    real: Sequence[Any]
    has_others: bool

    @classmethod
    def of(cls, inputs: Sequence[Any]) -> SortedInputs:
        """Sort inputs."""
        masks = [x for x in inputs if "mask" in x.name.lower() and len(x.shape) == 2]
        rest = [x for x in inputs if x not in masks]
        integers = [x for x in rest if x.type in INTEGER_TYPES]
        vectors, matrices = ([x for x in integers if len(x.shape) == n] for n in (1, 2))
        real = [x for x in rest if x.type in REAL_TYPES]
        n_sorted = len(masks) + len(vectors) + len(matrices) + len(real)
        return cls(masks, vectors, matrices, real, n_sorted < len(inputs))

    @property
    def are_of_steps(self) -> bool:
        """Whether they are one id and states."""
        n_integers = len(self.vectors) + len(self.matrices)
        return bool(self.real) and n_integers == 1 and not self.masks and not self.has_others

    @property
    def are_of_sequences(self) -> bool:
        """Whether they are whole sequences of ids, with lengths or a mask or neither."""
        return (
            len(self.matrices) == 1
            and len(self.vectors) <= 1
            and len(self.masks) <= 1
            and not self.real
            and not self.has_others
        )


def read_graph(inputs: Sequence[Any], outputs: Sequence[Any], who: str) -> OnnxGraph:
    """Return which inputs and outputs are what, read off their names, types and shapes."""
    if not outputs:
        raise ArgumentError(f"{who} has no outputs: expected scores; export the model again")
    by_kind = SortedInputs.of(inputs)
    if by_kind.are_of_steps:
        (ids,) = (*by_kind.vectors, *by_kind.matrices)
        return _step_graph(ids, by_kind.real, outputs, who)
    if by_kind.are_of_sequences:
        return _sequence_graph(by_kind, outputs[0].name, who)
    raise ArgumentError(
        f"{who} has the inputs {_shown(inputs)}: expected ids (batch, time), integers, and "
        "maybe lengths (batch,) or a mask (batch, time); or ids (batch,) or (batch, 1) and "
        "states, real numbers. Put one-hot vectors and embeddings into the graph"
    )


def _sequence_graph(inputs: SortedInputs, scores: str, who: str) -> OnnxGraph:
    (ids,) = inputs.matrices
    for one in (ids, *inputs.vectors, *inputs.masks):
        _check_free(one, 0, "batch", who)
    width = ids.shape[1] if isinstance(ids.shape[1], int) else None
    if width == 1:
        _refuse_fixed(ids, 1, "time", who)
    lengths, mask = (*inputs.vectors, None)[0], (*inputs.masks, None)[0]
    return OnnxGraph(ids, scores, lengths, mask, width=width)


def _step_graph(ids: Any, real: Sequence[Any], outputs: Sequence[Any], who: str) -> OnnxGraph:
    _check_free(ids, 0, "batch", who)
    if len(ids.shape) == 2 and ids.shape[1] not in (1, None) and isinstance(ids.shape[1], int):
        raise ArgumentError(
            f"{who} has states and reads {ids.shape[1]} ids at once: expected (batch,), (batch, 1) "
            "or a free time axis"
        )
    scores, following = _pairs([x.name for x in real], outputs, who)
    states = tuple(_state(one, after, who) for one, after in zip(real, following, strict=True))
    return OnnxGraph(ids, scores, states=states)


def _state(one: Any, after: Any, who: str) -> StateInput:
    """Return a state, from its input and the output of the next one."""
    free = [axis for axis, size in enumerate(one.shape) if not isinstance(size, int)]
    if not free:
        _refuse_fixed(one, 0, "batch", who)
    if len(free) > 1:
        raise ArgumentError(
            f"{who}: its state {one.name} has shape {one.shape}: expected one free axis, that "
            "of the batch; a state that grows is not supported: export whole sequences"
        )
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
    zero = np.zeros([1 if axis in free else n for axis, n in enumerate(one.shape)])
    return StateInput(one.name, after.name, free[0], zero.astype(REAL_TYPES[one.type]))


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


STATE_AFFIXES = re.compile(
    r"(?:^|_)(?:in|out|input|output|new|next|old|prev|previous|past|present|initial|final|0|n)(?=_|$)"
)


def _stem(name: str) -> str:
    """Return what two names of one state have in common: h of h_in, h_out, h0, hn, new_h."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower())
    return re.sub(r"^([hc])[0n]$", r"\1", STATE_AFFIXES.sub("", plain).strip("_"))


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
