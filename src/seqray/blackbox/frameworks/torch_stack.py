"""Which recurrent network a file of arrays holds: from names and shapes, and from the card.

Arrays do not show everything: which activation stands between two dense layers, or how the outputs
of a bidirectional network are read. The card's ``network`` holds that; its other fields are
compared with the arrays. Nothing here needs PyTorch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from seqray.automata.decisions import check_class_count
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.torch_arrays import (
    N_GATES,
    Shape,
    cell_of,
    dense_order,
    embedding_layer,
    hidden_sizes,
    other_layers,
    recurrent_names,
    shown_shapes,
)
from seqray.blackbox.native.cells import ACTIVATIONS, check_name
from seqray.util.errors import ArgumentError

READOUTS = ("last", "final", "mean", "max")
"""What the dense layers read: outputs at the last id, final states, a mean, or a maximum."""

NETWORK_FIELDS = (
    "cell",
    "embedding",
    "hidden",
    "layers",
    "bidirectional",
    "dense",
    "read",
    "recurrent",
)


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
            rows = N_GATES[self.cell] * hidden
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
    """Return the network that arrays make up, and the name of each array in that network.

    Parameters
    ----------
    shapes
        The shape of each array in the file, by its name there.
    network
        The card's field ``network``.

    Examples
    --------
    >>> shapes = {"rnn.weight_ih_l0": (6, 3), "rnn.weight_hh_l0": (6, 2), "out.weight": (4, 2)}
    >>> stack, names = read_stack(shapes, None)
    >>> stack.cell, stack.n_ids, stack.hidden, stack.dense
    ('gru', 3, 2, (Dense(outputs=4, activation='identity', bias=False),))
    >>> names["out.weight"]
    'dense.0.weight'
    """
    card_fields = dict(network or {})
    for name in card_fields:
        if name not in NETWORK_FIELDS:
            near = get_close_matches(name, NETWORK_FIELDS, n=1) or NETWORK_FIELDS
            raise ArgumentError(f"network: unknown field {name!r}: expected {' or '.join(near)}")
    names, owners = recurrent_names(shapes, card_fields)
    own = {names[name]: shapes[name] for name in names}
    cell = cell_of(own, card_fields)
    sizes = hidden_sizes(own)
    bidirectional = any(name.endswith("_reverse") for name in own)
    n_inputs = own["recurrent.weight_ih_l0"][-1]
    parts = other_layers({name: shape for name, shape in shapes.items() if name not in names})
    embedding = embedding_layer(parts, n_inputs, card_fields)
    dense = dense_order(
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
        _activated([parts[name] for name in dense], card_fields),
        _read(card_fields, bidirectional),
    )
    _compare(stack, card_fields)
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
    if card.answers == "classes" and card.columns is None:
        check_class_count(card.classes or (), stack.dense[-1].outputs)
    if max(card.outputs) >= stack.dense[-1].outputs:
        raise ArgumentError(
            f"columns and end: the card speaks of output {max(card.outputs)} and the network has "
            f"{stack.dense[-1].outputs}, from 0: alphabet and model disagree"
        )


def _activated(
    parts: Sequence[Mapping[str, Shape]], card_fields: Mapping[str, Any]
) -> tuple[Dense, ...]:
    """Return the dense layers with the activations that the card gives them."""
    sizes = [part["weight"][0] for part in parts]
    wanted = card_fields.get("dense")
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
    n_outputs = [one.get("outputs", n) for one, n in zip(wanted, sizes, strict=False)]
    if len(wanted) != len(sizes) or n_outputs != sizes:
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


def _read(card_fields: Mapping[str, Any], bidirectional: bool) -> str:
    read = card_fields.get("read", None if bidirectional else "last")
    if read is None:
        raise ArgumentError(
            "the arrays do not say what the dense layers see of a bidirectional network: say it "
            'in the card, "network": {"read": "final"} (the final states of both directions), '
            '"last" (the outputs at the last id), "mean" or "max" (over all outputs)'
        )
    if read not in READOUTS:
        raise ArgumentError(f"read: expected one of {', '.join(READOUTS)}, got {read!r}")
    return str(read)


def _compare(stack: Stack, card_fields: Mapping[str, Any]) -> None:
    for name in ("embedding", "hidden", "layers", "bidirectional"):
        if name in card_fields and card_fields[name] != getattr(stack, name):
            raise ArgumentError(
                f"network: the card says {name} {card_fields[name]!r}, the arrays say "
                f"{getattr(stack, name)!r}"
            )


def _check_arrays(stack: Stack, arrays: Mapping[str, Shape], owners: Sequence[str]) -> None:
    """Compare the arrays of the file, by their names in the network, with those it needs."""
    wanted = stack.shapes()
    missing = {name: shape for name, shape in wanted.items() if name not in arrays}
    more = {name: shape for name, shape in arrays.items() if name not in wanted}
    others = {k: v for k, v in arrays.items() if k in wanted and tuple(v) != wanted[k]}
    faults = []
    if missing:
        faults.append(f"missing: {shown_shapes(missing)}")
    if more:
        faults.append(f"unexpected: {shown_shapes(more)}")
    faults += [f"{k}: expected {wanted[k]}, got {tuple(v)}" for k, v in others.items()]
    if faults:
        theirs = " and then ".join(f"{owner}*" for owner in owners)
        called = f" (here recurrent.* is {theirs})" if owners != ["recurrent."] else ""
        raise ArgumentError(
            f"the arrays are not those of a {stack.cell} network of {stack.layers} layers of "
            f"{stack.hidden}{called}: {'; '.join(faults)}"
        )


def _join(owner: str, kind: str) -> str:
    return f"{owner}.{kind}" if owner else kind
