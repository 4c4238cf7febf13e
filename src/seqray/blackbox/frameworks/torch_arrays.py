"""Which arrays of a file belong to which layer: by their names and shapes, or by the card.

Nothing here needs PyTorch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, permutations
from typing import Any, TypeAlias

from seqray.util.errors import ArgumentError

Shape: TypeAlias = tuple[int, ...]

N_GATES = {"tanh": 1, "relu": 1, "gru": 3, "lstm": 4}
"""How many gates each cell has."""

MAX_UNNUMBERED_MODULES = 6
"""How many recurrent modules without numbers in their names are put in order by shape."""

RECURRENT_NAME = re.compile(r"(.*?)((?:weight|bias)_(?:ih|hh))(?:_l(\d+))?(_reverse)?")
"""The name of an array of a recurrent layer."""


def recurrent_names(
    shapes: Mapping[str, Shape], card_fields: Mapping[str, Any]
) -> tuple[dict[str, str], list[str]]:
    """Return the name of each recurrent array in seqray's network, and their owners in order."""
    by_owner: dict[str, dict[str, tuple[str, int, str]]] = {}
    for name in shapes:
        match = RECURRENT_NAME.fullmatch(name)
        if match:
            owner, kind, layer, reverse = match.groups()
            by_owner.setdefault(owner, {})[name] = (kind, int(layer or 0), reverse or "")
    modules = {
        owner: {part: shapes[name] for name, part in parts.items()}
        for owner, parts in by_owner.items()
    }
    for parts in modules.values() or [{}]:
        if not {("weight_ih", 0, ""), ("weight_hh", 0, "")} <= set(parts):
            raise ArgumentError(
                "expected the arrays of one nn.RNN, nn.GRU or nn.LSTM, or of a stack of them, such "
                "as recurrent.weight_ih_l0 and recurrent.weight_hh_l0, got "
                f"{shown_shapes(shapes)}: for another module write "
                "seqray.torch_box(module, card) in Python"
            )
        for kind in ("weight_ih", "weight_hh"):
            shape = parts[kind, 0, ""]
            if len(shape) != 2 or 0 in shape:
                raise ArgumentError(f"recurrent.{kind}_l0: expected a matrix, got shape {shape}")
    owners = _recurrent_order(
        {owner: _widths(parts) for owner, parts in modules.items()}, card_fields
    )
    names, below = dict[str, str](), 0
    for owner in owners:
        for name, (kind, layer, reverse) in by_owner[owner].items():
            names[name] = f"recurrent.{kind}_l{below + layer}{reverse}"
        below += 1 + max(layer for _, layer, _ in by_owner[owner].values())
    return names, owners


def _widths(parts: Mapping[tuple[str, int, str], Shape]) -> tuple[int, int]:
    """Return how many numbers a recurrent module reads at a time, and how many it returns."""
    hidden = {
        layer: shape[1]
        for (kind, layer, reverse), shape in parts.items()
        if kind == "weight_hh" and not reverse and len(shape) == 2
    }
    both = any(reverse for _, _, reverse in parts)
    return parts["weight_ih", 0, ""][1], hidden[max(hidden)] * (1 + both)


def _recurrent_order(
    widths: Mapping[str, tuple[int, int]], card_fields: Mapping[str, Any]
) -> list[str]:
    """Return recurrent modules in the order in which each reads the outputs of the one before.

    The order comes from the card's ``recurrent``, from numbers in their names, or from shapes.
    """
    owners = {owner.removesuffix("."): owner for owner in widths}
    wanted = card_fields.get("recurrent")
    if wanted is not None:
        if not isinstance(wanted, Sequence) or sorted(map(str, wanted)) != sorted(owners):
            raise ArgumentError(
                f"recurrent: expected the names {', '.join(owners)} in their order, the card says "
                f"{wanted!r}"
            )
        orders = [[owners[name] for name in wanted]]
    elif len({re.sub(r"\d+", "", owner) for owner in widths}) == 1:
        orders = [sorted(widths, key=lambda owner: [int(n) for n in re.findall(r"\d+", owner)])]
    else:
        few = len(widths) <= MAX_UNNUMBERED_MODULES
        orders = [list(order) for order in permutations(widths)] if few else []
    fitting = [
        order for order in orders if all(widths[a][1] == widths[b][0] for a, b in pairwise(order))
    ]
    if len(fitting) == 1:
        return fitting[0]
    shown = ", ".join(f"{name} ({widths[o][0]} -> {widths[o][1]})" for name, o in owners.items())
    raise ArgumentError(
        f"the file holds {len(widths)} recurrent modules, {shown}, and "
        + (
            "not each of them takes what the one before it answers, in the order of "
            f"{'the card' if wanted is not None else 'their numbers'}"
            if len(orders) == 1
            else "neither their names nor their shapes say in which order they are read"
        )
        + f'. Say the order in the card, "network": {json.dumps({"recurrent": list(owners)})}; '
        "if they do not stand one behind the other, write "
        "seqray.torch_box(module, card) in Python"
    )


def cell_of(own: Mapping[str, Shape], card_fields: Mapping[str, Any]) -> str:
    """Return the kind of cell that the recurrent arrays are of."""
    rows, hidden = own["recurrent.weight_hh_l0"]
    fitting = [cell for cell, n_gates in N_GATES.items() if rows == n_gates * hidden]
    if not fitting:
        raise ArgumentError(
            f"recurrent.weight_hh_l0: expected (1, 3 or 4 times n, n) of an RNN, a GRU or an LSTM, "
            f"got {(rows, hidden)}"
        )
    cell = card_fields.get("cell", fitting[0] if len(fitting) == 1 else None)
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


def hidden_sizes(own: Mapping[str, Shape]) -> tuple[int, ...]:
    """Return the hidden size of each recurrent layer."""
    sizes: list[int] = []
    for layer in range(_n_layers(own)):
        shape = own.get(f"recurrent.weight_hh_l{layer}", ())
        sizes.append(shape[1] if len(shape) == 2 else sizes[-1])  # a wrong shape is named later
    return tuple(sizes)


def _n_layers(own: Iterable[str]) -> int:
    numbers = {int(name.partition("_l")[2].removesuffix("_reverse")) for name in own}
    if max(numbers) >= len(numbers):
        raise ArgumentError(
            f"expected the recurrent arrays of all layers up to the last, l{max(numbers)}, got "
            f"those of {len(numbers)}"
        )
    return len(numbers)


def other_layers(shapes: Mapping[str, Shape]) -> dict[str, dict[str, Shape]]:
    """Return the arrays of all other layers: of each its ``weight`` and its ``bias``."""
    parts: dict[str, dict[str, Shape]] = {}
    for name, shape in shapes.items():
        owner, _, kind = name.rpartition(".")
        if (kind, len(shape)) in (("weight", 2), ("bias", 1)):
            parts.setdefault(owner, {})[kind] = shape
    return {owner: part for owner, part in parts.items() if "weight" in part}


def embedding_layer(
    parts: Mapping[str, Mapping[str, Shape]], n_inputs: int, card_fields: Mapping[str, Any]
) -> str | None:
    """Return the layer that is the embedding, None where the input is one-hot."""
    fitting = [k for k, v in parts.items() if "bias" not in v and v["weight"][1] == n_inputs]
    if "embedding" in card_fields and card_fields["embedding"] is None:
        return None
    named = [name for name in fitting if "emb" in name.lower()]
    if len(named) == 1:
        return named[0]
    if len(fitting) > 1:
        raise ArgumentError(
            f"which is the embedding: {' or '.join(sorted(fitting))}? Save it as embedding.weight"
        )
    return fitting[0] if fitting and len(parts) > 1 else None


def dense_order(
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
        raise ArgumentError("expected a dense layer behind the recurrent ones, got none")
    return order


def shown_shapes(shapes: Mapping[str, Shape]) -> str:
    """Return names and shapes for an error message."""
    shown = [f"{name} {tuple(shape)}" for name, shape in list(shapes.items())[:12]]
    return ", ".join(shown) + (", …" if len(shapes) > 12 else "") or "none"


def _natural(name: str) -> list[tuple[int, str]]:
    """Order names as people do: layer 2 before layer 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
