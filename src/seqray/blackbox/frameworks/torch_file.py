"""Files of PyTorch arrays as black boxes: an RNN, GRU or LSTM with dense layers behind it."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from seqray.blackbox.card import card_path, load_card
from seqray.blackbox.frameworks.extras import check_safe, load_extra
from seqray.blackbox.frameworks.padded import MAX_IDS_PER_BATCH, sequence_box
from seqray.blackbox.frameworks.stepped import stepped_box
from seqray.blackbox.frameworks.torch import (
    ModuleStepper,
    TorchBox,
    inference,
    module_forward,
    scores_array,
    usable_device,
)
from seqray.blackbox.frameworks.torch_stack import Stack, check_fit, read_stack
from seqray.blackbox.frameworks.trial import tried
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError, FileError
from seqray.util.files import DAMAGE, fingerprint, read_bytes, reading
from seqray.util.streams import check_zip

SAVE_HINT = (
    "Save the arrays alone, torch.save(module.state_dict(), 'model.pt') or "
    "safetensors.torch.save_file(module.state_dict(), 'model.safetensors'); or load the module in "
    "Python yourself and write seqray.torch_box(module, card)"
)
"""What to do with a file that holds more than arrays."""


def open_torch(
    path: str | os.PathLike[str],
    *,
    device: str = "cpu",
    threads: int = 1,
    batch_size: int = MAX_IDS_PER_BATCH,
) -> TorchBox:
    """Open the arrays of an ``nn.RNN``, ``nn.GRU`` or ``nn.LSTM`` with dense layers behind it.

    Parameters
    ----------
    path
        A ``.safetensors`` file, or a state dictionary that ``torch.save`` wrote; its card lies
        beside it (docs/cards.md).
    device
        Where it is run, in PyTorch's words.
    threads
        How many threads PyTorch may use during a query.
    batch_size
        The most ids in one call, for a network without states.
    """
    threads = whole_number("threads", threads, 1)
    what = "a file of torch.save, or a safetensors file"
    read_bytes(path, 1, what=what)  # its error says why there is no file to read
    torch = load_extra("torch", "torch")
    arrays = _read_arrays(torch, path, usable_device(torch, device))
    card = load_card(path)
    for name, array in arrays.items():
        if not array.is_floating_point():
            raise FileError(f"{path}: {name}: expected real numbers, got {array.dtype}")
    try:
        stack, names = read_stack({k: tuple(v.shape) for k, v in arrays.items()}, card.network)
        check_fit(stack, card)
    except ArgumentError as error:
        raise ArgumentError(f"{path}: {error}") from error
    module = _build(torch, stack)
    module.load_state_dict({_built(names[k]): array for k, array in arrays.items()}, assign=True)
    who, digest = (
        f"the torch network {path}",
        f"torch {Path(path).name} {fingerprint(path, card_path(path))}",
    )
    if stack.has_states:
        stepper = _stack_stepper(torch, module, stack, threads)
        return tried(stepped_box(stepper, card, who=who, fingerprint=digest), card)
    whole = module_forward(
        module, lambda ids, lengths: _readmodule_forward(torch, module, stack, ids), threads
    )
    alike = replace(card, pad=None)  # words of one length at a time: nothing need be masked
    return tried(
        sequence_box(whole, alike, who=who, fingerprint=digest, batch_size=batch_size), card
    )


def _read_arrays(torch: Any, path: str | os.PathLike[str], device: Any) -> dict[str, Any]:
    """Read a file that holds arrays and nothing else."""
    if os.fspath(path).endswith(".safetensors"):
        try:
            return dict(load_extra("safetensors.torch", "torch").load_file(path, str(device)))
        except (SafetensorError, *DAMAGE) as error:
            raise FileError(f"{path}: not a safetensors file, or damaged: {error}") from error
    arrays = _load_safely(torch, path, device)
    if not isinstance(arrays, Mapping) or not arrays:
        raise _no_arrays(path, type(arrays).__name__)
    others = [k for k, v in arrays.items() if not isinstance(v, torch.Tensor)]
    if others:
        raise _no_arrays(path, f"a dictionary with {', '.join(map(repr, others[:8]))}")
    return dict(arrays)


def _load_safely(torch: Any, path: str | os.PathLike[str], device: Any) -> Any:
    check_safe(torch, "a file of torch.save")
    with reading(path, "a file of torch.save"):
        check_zip(path)
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except (pickle.UnpicklingError, *DAMAGE) as error:
        text = str(error)
        if "GLOBAL" in text or "global" in text or "TorchScript" in text:
            raise FileError(
                f"{path}: holds a whole module, which needs code to be loaded, and seqray runs "
                f"none that comes from a file. {SAVE_HINT}"
            ) from None
        reason = text.partition("\n")[0][:200]
        if "weights" in reason.lower():  # PyTorch recommends to load it unsafely: seqray does not
            reason = f"it holds more than arrays. {SAVE_HINT}"
        raise FileError(f"{path}: not a file of torch.save, or damaged: {reason}") from None


def _no_arrays(path: str | os.PathLike[str], kind: str) -> FileError:
    return FileError(
        f"{path}: expected a state dictionary, names and tensors, got {kind}. {SAVE_HINT}"
    )


def _build(torch: Any, stack: Stack) -> Any:
    nn = torch.nn
    parts = nn.ModuleDict()
    if stack.embedding is not None:
        parts["embedding"] = nn.Embedding(stack.n_ids, stack.embedding)
    kind = {"gru": nn.GRU, "lstm": nn.LSTM}.get(stack.cell, nn.RNN)
    more = {"nonlinearity": stack.cell} if kind is nn.RNN else {}
    both = stack.bidirectional
    widths = [stack.embedding or stack.n_ids, *(size * (1 + both) for size in stack.sizes)]
    parts["recurrent"] = nn.ModuleList(
        kind(below, size, bias=stack.bias, batch_first=True, bidirectional=both, **more)
        for below, size in zip(widths, stack.sizes, strict=False)
    )
    widths = [stack.width, *(dense.outputs for dense in stack.dense)]
    parts["dense"] = nn.ModuleList(
        nn.Linear(before, dense.outputs, bias=dense.bias)
        for before, dense in zip(widths, stack.dense, strict=False)
    )
    return parts


def _built(name: str) -> str:
    """Return the name of an array in what `_build` makes, where each layer is a module."""
    return re.sub(r"^recurrent\.(\w+)_l(\d+)", r"recurrent.\2.\1_l0", name)


def _recur(layers: Any, shown: Any, states: Any) -> tuple[Any, list[Any]]:
    """Return the outputs of the last of recurrent layers, and the states of all."""
    after = []
    for layer, state in zip(layers, states or [None] * len(layers), strict=True):
        shown, own = layer(shown, state)
        after.append(own)
    return shown, after


def _stack_stepper(torch: Any, module: Any, stack: Stack, threads: int) -> ModuleStepper:
    recurrent = module["recurrent"]

    def step(ids: Any, state: Any) -> tuple[Any, Any]:
        outputs, state = _recur(recurrent, _shown(torch, module, stack, ids[:, None]), state)
        return _head(torch, module, stack, outputs[:, 0]), state

    with inference(module):
        weight = recurrent[-1].weight_hh_l0
        first = scores_array(_head(torch, module, stack, weight.new_zeros(1, stack.width)))
    axes = [(1, 1) if stack.cell == "lstm" else 1] * stack.layers
    return ModuleStepper(module, step, axes, first, threads)


def _readmodule_forward(torch: Any, module: Any, stack: Stack, ids: Any) -> Any:
    """Return the scores of sequences of one length."""
    outputs, states = _recur(module["recurrent"], _shown(torch, module, stack, ids), None)
    if stack.read == "final":
        final = states[-1][0] if stack.cell == "lstm" else states[-1]
        seen = torch.cat(list(final), dim=1)
    elif stack.read == "last":
        seen = outputs[:, -1]
    else:
        seen = outputs.mean(dim=1) if stack.read == "mean" else outputs.amax(dim=1)
    return _head(torch, module, stack, seen)


def _shown(torch: Any, module: Any, stack: Stack, ids: Any) -> Any:
    """Return the first layer's input for ids."""
    if stack.embedding is not None:
        return module["embedding"](ids)
    weight = module["recurrent"][0].weight_ih_l0
    return torch.nn.functional.one_hot(ids, stack.n_ids).to(weight.dtype)


def _head(torch: Any, module: Any, stack: Stack, seen: Any) -> Any:
    for layer, dense in zip(module["dense"], stack.dense, strict=True):
        seen = layer(seen)
        if dense.activation != "identity":
            seen = getattr(torch, dense.activation)(seen)
    return seen
