"""PyTorch modules as black boxes.

`torch_box` takes any ``nn.Module``; `open_torch` opens the arrays of a recurrent network, whose
card lies beside it. A module is asked in evaluation mode and without gradients; afterwards it is
in the mode in which it was.
"""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from safetensors import SafetensorError

from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.card import Card, card_path, load_card
from seqray.blackbox.frameworks.extras import check_safe, load_extra
from seqray.blackbox.frameworks.padded import BATCH, sequence_box
from seqray.blackbox.frameworks.stepped import SteppedBox, stepped_box
from seqray.blackbox.frameworks.torch_stack import Stack, check_fit, read_stack
from seqray.blackbox.frameworks.trial import tried
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.arrays import FloatArray, IntArray, whole_number
from seqray.util.errors import ArgumentError, FileError, MissingFileError
from seqray.util.files import DAMAGE, fingerprint

TorchBox: TypeAlias = QueriedBox | QueriedModel | SteppedBox


def torch_box(
    module: Any,
    card: Card | Alphabet | Iterable[Symbol],
    *,
    forward: Callable[[Any, Any], Any] | None = None,
    step: Callable[[Any, Any], tuple[Any, Any]] | None = None,
    name: str | None = None,
    batch: int = BATCH,
) -> TorchBox:
    """Make a black box of a PyTorch module.

    Parameters
    ----------
    module
        An ``nn.Module``, on the device and of the precision that you want. It is asked in
        evaluation mode, without gradients.
    card
        How symbols become ids, and scores answers; or just an alphabet, for a module that answers
        one value a word.
    forward
        ``forward(ids, lengths)`` returns scores, a tensor ``(n, t, n_outputs)``,
        ``(n, n_outputs)`` or ``(n,)``, for integer tensors ``ids`` ``(n, t)`` and ``lengths``
        ``(n,)``. By default ``module(ids)``, and the first part of it where that is a tuple.
    step
        Instead: ``step(ids, state)`` returns scores ``(n, n_outputs)`` or ``(n,)`` and the state
        after one more id, for ``ids`` ``(n,)`` and a state that it returned before, None at the
        beginning. A state is a tensor, or a tuple, list or dictionary of them; which of its axes
        runs over the batch is found out. Such a box reads no prefix twice.
    name
        What its answers are kept under, where they are kept: change it when the module changes.
    batch
        The most ids in one call of ``forward``.
    """
    torch = load_extra("torch", "torch")
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(f"module: expected an nn.Module, got {type(module).__name__}")
    if forward is not None and step is not None:
        raise ArgumentError("expected forward or step, got both")
    if not isinstance(card, Card):
        card = Card(Alphabet.of(card), "value")
    who = f"the torch module {type(module).__name__}"
    if step is not None:
        steps = ModuleSteps(module, step, _batch_axes(module, step, card, who))
        return tried(stepped_box(steps, card, who=who, fingerprint=name), card)
    whole = _whole(module, forward or (lambda ids, lengths: module(ids)))
    return tried(sequence_box(whole, card, who=who, fingerprint=name, batch=batch), card)


def open_torch(
    path: str | os.PathLike[str], *, device: str = "cpu", threads: int = 1, batch: int = BATCH
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
        How many threads PyTorch may use while the network is asked.
    batch
        The most ids in one call, for a network without states.
    """
    threads = whole_number("threads", threads, 1)
    if not Path(path).exists():
        raise MissingFileError(f"{path}: there is no such file")
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
        steps = _stack_steps(torch, module, stack, threads)
        return tried(stepped_box(steps, card, who=who, fingerprint=digest), card)
    whole = _whole(module, lambda ids, lengths: _read_whole(torch, module, stack, ids), threads)
    alike = replace(card, pad=None)  # words of one length at a time: nothing need be masked
    return tried(sequence_box(whole, alike, who=who, fingerprint=digest, batch=batch), card)


# Any module ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ModuleSteps:
    """Steps a module; see `torch_box`. ``axes`` has the batch axis of each tensor of a state."""

    module: Any
    step: Callable[[Any, Any], tuple[Any, Any]]
    axes: Any
    first: FloatArray | None = None
    threads: int | None = None

    def begin(self) -> tuple[FloatArray | None, None]:
        """Return what is answered before anything is read, and no state."""
        return self.first, None

    def advance(self, state: Any, parents: IntArray, ids: IntArray) -> tuple[FloatArray, Any]:
        """Return scores and states after reading ``ids[i]`` in ``parents[i]``."""
        with answering(self.module, self.threads):
            if state is not None:
                rows = _tensor(self.module, parents)
                state = _map(lambda x, axis: x.index_select(axis, rows), state, self.axes)
            scores, state = _pair(self.step(_tensor(self.module, ids), state))
        return _one_each(_plain(scores)), state


def _whole(
    module: Any, forward: Callable[[Any, Any], Any], threads: int | None = None
) -> Callable[[IntArray, IntArray], FloatArray]:
    def ask(ids: IntArray, lengths: IntArray) -> FloatArray:
        with answering(module, threads):
            scores = forward(_tensor(module, ids), _tensor(module, lengths))
        return _plain(scores[0] if isinstance(scores, (tuple, list)) else scores)

    return ask


@contextmanager
def answering(module: Any, threads: int | None = None) -> Iterator[None]:
    """Ask a module without dropout and gradients, and leave everything as it was."""
    torch = load_extra("torch", "torch")
    training = [part for part in module.modules() if part.training]
    n_threads = torch.get_num_threads()
    if training:
        module.eval()
    if threads is not None and threads != n_threads:
        torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            yield
    finally:
        if threads is not None and threads != n_threads:
            torch.set_num_threads(n_threads)
        for part in training:
            part.training = True


def _tensor(module: Any, numbers: IntArray) -> Any:
    """Return numbers where the module is."""
    place = next((x.device for xs in (module.parameters(), module.buffers()) for x in xs), None)
    return load_extra("torch", "torch").tensor(np.asarray(numbers, np.int64), device=place)


def _plain(scores: Any) -> FloatArray:
    if not hasattr(scores, "detach"):
        raise TypeError(f"expected a tensor of scores, got {type(scores).__name__}")
    numbers = scores.detach().cpu()  # first: not every device knows double precision
    array: FloatArray = numbers.double().numpy()
    return array


def _one_each(scores: FloatArray) -> FloatArray:
    return scores[:, 0] if scores.ndim == 3 and scores.shape[1] == 1 else scores


def _pair(answer: Any) -> tuple[Any, Any]:
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise TypeError(f"step: expected (scores, state), got {type(answer).__name__}")
    return answer


def _batch_axes(module: Any, step: Callable[[Any, Any], Any], card: Card, who: str) -> Any:
    """Find the batch axis of each tensor of a state: the one that is longer for more ids."""
    first = (*card.start_ids, *(card.ids or (0,)))[0]
    try:
        with answering(module):
            two, three = (_pair(step(_tensor(module, np.full(n, first)), None))[1] for n in (2, 3))
        return _map(_batch_axis, two, three)
    except ArgumentError as error:
        raise ArgumentError(f"{who}: {error}") from error
    except Exception as error:
        raise ArgumentError(
            f"{who}: its first step, on two and on three ids {first}, failed: "
            f"{type(error).__name__}: {error}"
        ) from error


def _batch_axis(two: Any, three: Any) -> int:
    if not hasattr(two, "index_select"):
        raise ArgumentError(
            f"state: expected tensors, or tuples, lists or dictionaries of them, got {two!r}"
        )
    sizes = list(zip(two.shape, three.shape, strict=True))
    if sizes.count((2, 3)) != 1:
        raise ArgumentError(
            f"state: expected tensors with one axis that runs over the batch, got shape "
            f"{tuple(two.shape)} for two ids and {tuple(three.shape)} for three"
        )
    return sizes.index((2, 3))


def _map(function: Callable[..., Any], tree: Any, other: Any) -> Any:
    """Apply a function to the tensors of a state and what stands in their places in another."""
    if tree is None:
        return None
    if isinstance(tree, Mapping):
        return {key: _map(function, tree[key], other[key]) for key in tree}
    if isinstance(tree, (tuple, list)):
        mapped = [_map(function, a, b) for a, b in zip(tree, other, strict=True)]
        return type(tree)(*mapped) if hasattr(tree, "_fields") else type(tree)(mapped)
    return function(tree, other)


# Recurrent networks from files --------------------------------------------------------------------


def usable_device(torch: Any, device: str) -> Any:
    """Return a device by its name, or say that there is none."""
    try:
        torch.empty(0, device=device)
        return torch.device(device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ArgumentError(
            f"device: expected one that this PyTorch can use, such as cpu or cuda, got {device!r}: "
            f"{reason}"
        ) from error


def _read_arrays(torch: Any, path: str | os.PathLike[str], device: Any) -> dict[str, Any]:
    """Read a file of nothing but arrays."""
    if os.fspath(path).endswith(".safetensors"):
        try:
            return dict(load_extra("safetensors.torch", "torch").load_file(path, str(device)))
        except (SafetensorError, *DAMAGE) as error:
            raise FileError(f"{path}: not a safetensors file, or damaged: {error}") from error
    found = _load_safely(torch, path, device)
    if not isinstance(found, Mapping) or not found:
        raise _no_arrays(path, type(found).__name__)
    others = [k for k, v in found.items() if not isinstance(v, torch.Tensor)]
    if others:
        raise _no_arrays(path, f"a dictionary with {', '.join(map(repr, others[:8]))}")
    return dict(found)


def _load_safely(torch: Any, path: str | os.PathLike[str], device: Any) -> Any:
    check_safe(torch, "a file of torch.save")
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except (pickle.UnpicklingError, AttributeError, IndexError, *DAMAGE) as error:
        text = str(error)
        if "GLOBAL" in text or "global" in text or "TorchScript" in text:
            raise FileError(
                f"{path}: holds a whole module, which needs code to be loaded, and seqray runs "
                f"none that comes from a file. {SAVE}"
            ) from None
        reason = text.partition("\n")[0][:200]
        if "weights" in reason.lower():  # PyTorch recommends to load it unsafely: seqray does not
            reason = f"it holds more than arrays. {SAVE}"
        raise FileError(f"{path}: not a file of torch.save, or damaged: {reason}") from None


SAVE = (
    "Save the arrays alone, torch.save(module.state_dict(), 'model.pt') or "
    "safetensors.torch.save_file(module.state_dict(), 'model.safetensors'); or load the module in "
    "Python yourself and write seqray.blackbox.frameworks.torch.torch_box(module, card)"
)


def _no_arrays(path: str | os.PathLike[str], found: str) -> FileError:
    return FileError(f"{path}: expected a state dictionary, names and tensors, got {found}. {SAVE}")


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


def _stack_steps(torch: Any, module: Any, stack: Stack, threads: int) -> ModuleSteps:
    recurrent = module["recurrent"]

    def step(ids: Any, state: Any) -> tuple[Any, Any]:
        outputs, state = _recur(recurrent, _shown(torch, module, stack, ids[:, None]), state)
        return _head(torch, module, stack, outputs[:, 0]), state

    with answering(module):
        weight = recurrent[-1].weight_hh_l0
        first = _plain(_head(torch, module, stack, weight.new_zeros(1, stack.width)))
    axes = [(1, 1) if stack.cell == "lstm" else 1] * stack.layers
    return ModuleSteps(module, step, axes, first, threads)


def _read_whole(torch: Any, module: Any, stack: Stack, ids: Any) -> Any:
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
    """Return what the first layer sees of ids."""
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
