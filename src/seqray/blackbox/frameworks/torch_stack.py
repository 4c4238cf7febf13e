"""Which recurrent network a file of arrays holds: read off names and shapes, and off the card.

Arrays do not say everything: which activation stands between two dense layers, or how the outputs
of a bidirectional network are read. The card's ``network`` says it; what it says of the rest is
compared with the arrays. Nothing here needs PyTorch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise, permutations
from typing import Any, TypeAlias

from seqray.blackbox.card import Card
from seqray.blackbox.native.cells import ACTIVATIONS, check_name
from seqray.util.errors import ArgumentError

Shape: TypeAlias = tuple[int, ...]

CELLS = {"tanh": 1, "relu": 1, "gru": 3, "lstm": 4}
"""How many gates each cell has."""

READS = ("last", "final", "mean", "max")
"""What the dense layers see: outputs at the last id, final states, a mean, or a maximum."""

FIELDS = ("cell", "embedding", "hidden", "layers", "bidirectional", "dense", "read", "recurrent")

MAX_UNNUMBERED = 6
"""The most recurrent modules without numbers in their names that are put in order by shape."""

_RECURRENT = re.compile(r"(.*?)((?:weight|bias)_(?:ih|hh))(?:_l(\d+))?(_reverse)?")


@dataclass(frozen=True)
class Dense:
    """A dense layer: how many outputs it has, what follows it, and whether it has a bias."""

    outputs: int
    activation: str
    bias: bool


@dataclass(frozen=True)
class Stack:
    """An embedding or one-hot input, recurrent layers, dense layers.

    ``embedding`` is the width of the embedding, None for one-hot input; ``sizes`` are the hidden
    sizes of the recurrent layers.
    """

    cell: str
    n_ids: int
    embedding: int | None
    sizes: tuple[int, ...]
    bidirectional: bool
    bias: bool
    dense: Sequence[Dense]
    read: str

    @property
    def layers(self) -> int:
        """How many recurrent layers there are."""
        return len(self.sizes)

    @property
    def hidden(self) -> int | list[int]:
        """The hidden size of the recurrent layers, or of each where they differ."""
        return self.sizes[0] if len(set(self.sizes)) == 1 else list(self.sizes)

    @property
    def has_states(self) -> bool:
        """Whether the network can be read id by id."""
        return not self.bidirectional and self.read in ("last", "final")

    @property
    def width(self) -> int:
        """How many numbers go into the dense layers."""
        return self.sizes[-1] * (1 + self.bidirectional)

    def shapes(self) -> dict[str, Shape]:
        """Return the name and shape of every array that such a network has."""
        shapes: dict[str, Shape] = {}
        if self.embedding is not None:
            shapes["embedding.weight"] = (self.n_ids, self.embedding)
        below = self.embedding or self.n_ids
        for layer, hidden in enumerate(self.sizes):
            rows = CELLS[self.cell] * hidden
            for end in ("", "_reverse")[: 1 + self.bidirectional]:
                shapes[f"recurrent.weight_ih_l{layer}{end}"] = (rows, below)
                shapes[f"recurrent.weight_hh_l{layer}{end}"] = (rows, hidden)
                for side in ("ih", "hh")[: 2 * self.bias]:
                    shapes[f"recurrent.bias_{side}_l{layer}{end}"] = (rows,)
            below = hidden * (1 + self.bidirectional)
        for i, dense in enumerate(self.dense):
            shapes[f"dense.{i}.weight"] = (dense.outputs, below)
            if dense.bias:
                shapes[f"dense.{i}.bias"] = (dense.outputs,)
            below = dense.outputs
        return shapes


def read_stack(
    shapes: Mapping[str, Shape], network: Mapping[str, Any] | None
) -> tuple[Stack, dict[str, str]]:
    """Return the network that arrays make up, and the own name of each in that network.

    Parameters
    ----------
    shapes
        The shape of each array in the file, by its name there.
    network
        What the card says of it.

    Examples
    --------
    >>> shapes = {"rnn.weight_ih_l0": (6, 3), "rnn.weight_hh_l0": (6, 2), "out.weight": (4, 2)}
    >>> stack, names = read_stack(shapes, None)
    >>> stack.cell, stack.n_ids, stack.hidden, stack.dense
    ('gru', 3, 2, (Dense(outputs=4, activation='identity', bias=False),))
    >>> names["out.weight"]
    'dense.0.weight'
    """
    said = dict(network or {})
    for name in said:
        if name not in FIELDS:
            near = get_close_matches(name, FIELDS, n=1) or FIELDS
            raise ArgumentError(f"network: unknown field {name!r}: expected {' or '.join(near)}")
    names, owners = _recurrent_names(shapes, said)
    own = {names[name]: shapes[name] for name in names}
    cell = _cell(own, said)
    sizes = _sizes(own)
    bidirectional = any(name.endswith("_reverse") for name in own)
    n_inputs = own["recurrent.weight_ih_l0"][-1]
    parts = _parts({name: shape for name, shape in shapes.items() if name not in names})
    embedding = _embedding(parts, n_inputs, said)
    dense = _dense_order(
        {k: v for k, v in parts.items() if k != embedding}, sizes[-1], bidirectional
    )
    if embedding is not None:
        names[_join(embedding, "weight")] = "embedding.weight"
    for i, name in enumerate(dense):
        for kind in parts[name]:
            names[_join(name, kind)] = f"dense.{i}.{kind}"
    stack = Stack(
        cell,
        n_inputs if embedding is None else parts[embedding]["weight"][0],
        None if embedding is None else n_inputs,
        sizes,
        bidirectional,
        any("bias" in name for name in own),
        _activated([parts[name] for name in dense], said),
        _read(said, bidirectional),
    )
    _compare(stack, said)
    _check_arrays(stack, {names.get(name, name): shape for name, shape in shapes.items()}, owners)
    return stack, names


def check_fit(stack: Stack, card: Card) -> None:
    """Refuse a card whose ids or outputs the network does not have."""
    ids = {"ids": card.ids or (), "start": card.start_ids, "stop": card.stop_ids}
    for name, numbers in ids.items():
        number = max(numbers, default=0)
        if number >= stack.n_ids:
            raise ArgumentError(
                f"{name}: the card speaks of input id {number} and the network knows "
                f"{stack.n_ids}, from 0: alphabet and model disagree"
            )
    if max(card.outputs) >= stack.dense[-1].outputs:
        raise ArgumentError(
            f"columns and end: the card speaks of output {max(card.outputs)} and the network has "
            f"{stack.dense[-1].outputs}, from 0: alphabet and model disagree"
        )


def _recurrent_names(
    shapes: Mapping[str, Shape], said: Mapping[str, Any]
) -> tuple[dict[str, str], list[str]]:
    """Return the own names of the recurrent arrays, and what stood before them, in order."""
    found: dict[str, dict[str, tuple[str, int, str]]] = {}
    for name in shapes:
        match = _RECURRENT.fullmatch(name)
        if match:
            owner, kind, layer, reverse = match.groups()
            found.setdefault(owner, {})[name] = (kind, int(layer or 0), reverse or "")
    modules = {
        owner: {part: shapes[name] for name, part in parts.items()}
        for owner, parts in found.items()
    }
    for parts in modules.values() or [{}]:
        if not {("weight_ih", 0, ""), ("weight_hh", 0, "")} <= set(parts):
            raise ArgumentError(
                "expected the arrays of one nn.RNN, nn.GRU or nn.LSTM, or of a stack of them, such "
                "as recurrent.weight_ih_l0 and recurrent.weight_hh_l0, got "
                f"{_shown(shapes)}: for another module write "
                "seqray.blackbox.frameworks.torch.torch_box(module, card) in Python"
            )
        for kind in ("weight_ih", "weight_hh"):
            shape = parts[kind, 0, ""]
            if len(shape) != 2 or 0 in shape:
                raise ArgumentError(f"recurrent.{kind}_l0: expected a matrix, got shape {shape}")
    owners = _recurrent_order({owner: _widths(parts) for owner, parts in modules.items()}, said)
    names, below = dict[str, str](), 0
    for owner in owners:
        for name, (kind, layer, reverse) in found[owner].items():
            names[name] = f"recurrent.{kind}_l{below + layer}{reverse}"
        below += 1 + max(layer for _, layer, _ in found[owner].values())
    return names, owners


def _widths(parts: Mapping[tuple[str, int, str], Shape]) -> tuple[int, int]:
    """Return how many numbers a recurrent module takes at a time, and how many it answers."""
    hidden = {
        layer: shape[1]
        for (kind, layer, reverse), shape in parts.items()
        if kind == "weight_hh" and not reverse and len(shape) == 2
    }
    both = any(reverse for _, _, reverse in parts)
    return parts["weight_ih", 0, ""][1], hidden[max(hidden)] * (1 + both)


def _recurrent_order(widths: Mapping[str, tuple[int, int]], said: Mapping[str, Any]) -> list[str]:
    """Return recurrent modules in the order in which each reads what the one before answers.

    The card's ``recurrent`` says it, or numbers in their names, or their shapes.
    """
    called = {owner.removesuffix("."): owner for owner in widths}
    wanted = said.get("recurrent")
    if wanted is not None:
        if not isinstance(wanted, Sequence) or sorted(map(str, wanted)) != sorted(called):
            raise ArgumentError(
                f"recurrent: expected the names {', '.join(called)} in their order, the card says "
                f"{wanted!r}"
            )
        orders = [[called[name] for name in wanted]]
    elif len({re.sub(r"\d+", "", owner) for owner in widths}) == 1:
        orders = [sorted(widths, key=lambda owner: [int(n) for n in re.findall(r"\d+", owner)])]
    else:
        few = len(widths) <= MAX_UNNUMBERED
        orders = [list(order) for order in permutations(widths)] if few else []
    fitting = [
        order for order in orders if all(widths[a][1] == widths[b][0] for a, b in pairwise(order))
    ]
    if len(fitting) == 1:
        return fitting[0]
    shown = ", ".join(f"{name} ({widths[o][0]} -> {widths[o][1]})" for name, o in called.items())
    raise ArgumentError(
        f"the file holds {len(widths)} recurrent modules, {shown}, and "
        + (
            "not each of them takes what the one before it answers, in the order of "
            f"{'the card' if wanted is not None else 'their numbers'}"
            if len(orders) == 1
            else "neither their names nor their shapes say in which order they are read"
        )
        + f'. Say the order in the card, "network": {json.dumps({"recurrent": list(called)})}; if '
        "they do not stand one behind the other, write "
        "seqray.blackbox.frameworks.torch.torch_box(module, card) in Python"
    )


def _cell(own: Mapping[str, Shape], said: Mapping[str, Any]) -> str:
    rows, hidden = own["recurrent.weight_hh_l0"]
    fitting = [cell for cell, n_gates in CELLS.items() if rows == n_gates * hidden]
    if not fitting:
        raise ArgumentError(
            f"recurrent.weight_hh_l0: expected (1, 3 or 4 times n, n) of an RNN, a GRU or an LSTM, "
            f"got {(rows, hidden)}"
        )
    cell = said.get("cell", fitting[0] if len(fitting) == 1 else None)
    if cell is None:
        raise ArgumentError(
            "the arrays are those of an nn.RNN, and do not say whether it is of tanh or relu: say "
            'it in the card, "network": {"cell": "tanh"}'
        )
    if cell not in fitting:
        raise ArgumentError(
            f"cell: expected {' or '.join(fitting)}, as the arrays have it, the card says {cell!r}"
        )
    return str(cell)


def _sizes(own: Mapping[str, Shape]) -> tuple[int, ...]:
    """Return the hidden size of each recurrent layer."""
    sizes: list[int] = []
    for layer in range(_n_layers(own)):
        shape = own.get(f"recurrent.weight_hh_l{layer}", ())
        sizes.append(shape[1] if len(shape) == 2 else sizes[-1])  # what is wrong is named later
    return tuple(sizes)


def _n_layers(own: Iterable[str]) -> int:
    numbers = {int(name.partition("_l")[2].removesuffix("_reverse")) for name in own}
    if max(numbers) >= len(numbers):
        raise ArgumentError(
            f"expected the recurrent arrays of all layers up to the last, l{max(numbers)}, found "
            f"those of {len(numbers)}"
        )
    return len(numbers)


def _parts(shapes: Mapping[str, Shape]) -> dict[str, dict[str, Shape]]:
    """Return the arrays that are no recurrent ones by layer: its ``weight``, its ``bias``."""
    parts: dict[str, dict[str, Shape]] = {}
    for name, shape in shapes.items():
        owner, _, kind = name.rpartition(".")
        if (kind, len(shape)) in (("weight", 2), ("bias", 1)):
            parts.setdefault(owner, {})[kind] = shape
    return {owner: part for owner, part in parts.items() if "weight" in part}


def _embedding(
    parts: Mapping[str, Mapping[str, Shape]], n_inputs: int, said: Mapping[str, Any]
) -> str | None:
    """Return the layer that is the embedding, None where the input is one-hot."""
    fitting = [k for k, v in parts.items() if "bias" not in v and v["weight"][1] == n_inputs]
    if "embedding" in said and said["embedding"] is None:
        return None
    named = [name for name in fitting if "emb" in name.lower()]
    if len(named) == 1:
        return named[0]
    if len(fitting) > 1:
        raise ArgumentError(
            f"which is the embedding: {' or '.join(sorted(fitting))}? Save it as embedding.weight"
        )
    return fitting[0] if fitting and len(parts) > 1 else None


def _dense_order(
    parts: Mapping[str, Mapping[str, Shape]], hidden: int, bidirectional: bool
) -> list[str]:
    """Return the dense layers in the order in which each one's outputs fit the next one."""
    width, left, order = hidden * (1 + bidirectional), sorted(parts, key=_natural), list[str]()
    numbered = len({re.sub(r"\d+", "0", name) for name in left}) == 1
    while left:
        fitting = [name for name in left if parts[name]["weight"][1] == width]
        square = [name for name in fitting if parts[name]["weight"][0] == width]
        fitting = fitting[:1] if numbered else square or fitting
        if len(fitting) != 1:
            shown = ", ".join(f"{name}.weight {parts[name]['weight']}" for name in left)
            raise ArgumentError(
                f"which dense layer comes {'next' if order else 'first'}? Expected one that takes "
                f"{width} inputs, got {shown}: name them dense.0, dense.1, … in their order"
            )
        order += fitting
        left.remove(fitting[0])
        width = parts[fitting[0]]["weight"][0]
    if not order:
        raise ArgumentError("expected a dense layer behind the recurrent ones, found none")
    return order


def _activated(parts: Sequence[Mapping[str, Shape]], said: Mapping[str, Any]) -> tuple[Dense, ...]:
    """Return the dense layers with the activations that the card gives them."""
    sizes = [part["weight"][0] for part in parts]
    wanted = said.get("dense")
    if wanted is None:
        if len(parts) > 1:
            last = len(parts) - 1
            example = [
                {"outputs": n, "activation": "relu" if i < last else "identity"}
                for i, n in enumerate(sizes)
            ]
            raise ArgumentError(
                f"the arrays do not say what stands between the {len(parts)} dense layers: say it "
                f'in the card, such as "network": {json.dumps({"dense": example})}'
            )
        wanted = [{}]
    if not isinstance(wanted, Sequence) or not all(isinstance(one, Mapping) for one in wanted):
        raise ArgumentError(f"dense: expected a list of objects, got {wanted!r}")
    found = [one.get("outputs", n) for one, n in zip(wanted, sizes, strict=False)]
    if len(wanted) != len(sizes) or found != sizes:
        raise ArgumentError(
            f"dense: the arrays are of layers of {sizes} outputs, the card says {list(wanted)}"
        )
    activations = [one.get("activation", "identity") for one in wanted]
    for activation in activations:
        check_name("activation", activation, ACTIVATIONS)
    return tuple(
        Dense(size, activation, "bias" in part)
        for size, activation, part in zip(sizes, activations, parts, strict=True)
    )


def _read(said: Mapping[str, Any], bidirectional: bool) -> str:
    read = said.get("read", None if bidirectional else "last")
    if read is None:
        raise ArgumentError(
            "the arrays do not say what the dense layers see of a bidirectional network: say it "
            'in the card, "network": {"read": "final"} (the final states of both directions), '
            '"last" (the outputs at the last id), "mean" or "max" (over all outputs)'
        )
    if read not in READS:
        raise ArgumentError(f"read: expected one of {', '.join(READS)}, got {read!r}")
    return str(read)


def _compare(stack: Stack, said: Mapping[str, Any]) -> None:
    for name in ("embedding", "hidden", "layers", "bidirectional"):
        if name in said and said[name] != getattr(stack, name):
            raise ArgumentError(
                f"network: the card says {name} {said[name]!r}, the arrays say "
                f"{getattr(stack, name)!r}"
            )


def _check_arrays(stack: Stack, found: Mapping[str, Shape], owners: Sequence[str]) -> None:
    """Compare the arrays of the file, under their own names, with those of the network."""
    wanted = stack.shapes()
    missing = {name: shape for name, shape in wanted.items() if name not in found}
    more = {name: shape for name, shape in found.items() if name not in wanted}
    others = {k: v for k, v in found.items() if k in wanted and tuple(v) != wanted[k]}
    faults = []
    if missing:
        faults.append(f"missing: {_shown(missing)}")
    if more:
        faults.append(f"unexpected: {_shown(more)}")
    faults += [f"{k}: expected {wanted[k]}, got {tuple(v)}" for k, v in others.items()]
    if faults:
        theirs = " and then ".join(f"{owner}*" for owner in owners)
        called = f" (here recurrent.* is {theirs})" if owners != ["recurrent."] else ""
        raise ArgumentError(
            f"the arrays are not those of a {stack.cell} network of {stack.layers} layers of "
            f"{stack.hidden}{called}: {'; '.join(faults)}"
        )


def _shown(shapes: Mapping[str, Shape]) -> str:
    shown = [f"{name} {tuple(shape)}" for name, shape in list(shapes.items())[:12]]
    return ", ".join(shown) + (", …" if len(shapes) > 12 else "") or "none"


def _join(owner: str, kind: str) -> str:
    return f"{owner}.{kind}" if owner else kind


def _natural(name: str) -> list[tuple[int, str]]:
    """Order names as people do: layer 2 before layer 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
