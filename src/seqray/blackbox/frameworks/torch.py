"""PyTorch modules as black boxes: `torch_box` takes any ``nn.Module``.

A module is run in evaluation mode and without gradients; afterwards it is in the mode in which it
was.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.card import Card
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.frameworks.extras import load_extra
from seqray.blackbox.frameworks.padded import MAX_IDS_PER_BATCH, sequence_box
from seqray.blackbox.frameworks.stepped import SteppedBox, stepped_box
from seqray.blackbox.frameworks.trial import tried
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import ArgumentError

TorchBox: TypeAlias = QueriedBox | QueriedModel | QueriedClassifier | SteppedBox


def torch_box(
    module: Any,
    card: Card | Alphabet | Iterable[Symbol],
    *,
    forward: Callable[[Any, Any], Any] | None = None,
    step: Callable[[Any, Any], tuple[Any, Any]] | None = None,
    name: str | None = None,
    batch_size: int = MAX_IDS_PER_BATCH,
) -> TorchBox:
    """Make a black box of a PyTorch module.

    Parameters
    ----------
    module
        An ``nn.Module``, on the device and of the precision that you want. It is run in
        evaluation mode, without gradients.
    card
        How symbols become ids, and scores answers; or just an alphabet, for a module that answers
        one value per word.
    forward
        ``forward(ids, lengths)`` returns scores, a tensor ``(n, t, n_outputs)``,
        ``(n, n_outputs)`` or ``(n,)``, for integer tensors ``ids`` ``(n, t)`` and ``lengths``
        ``(n,)``. By default ``module(ids)``, and the first part of it where that is a tuple.
    step
        Instead: ``step(ids, state)`` returns scores ``(n, n_outputs)`` or ``(n,)`` and the state
        after one more id, for ``ids`` ``(n,)`` and a state that it returned before, None at the
        beginning. A state is a tensor, or a tuple, list or dictionary of them; the axis that
        runs over the batch is detected. Such a box reads no prefix twice.
    name
        What it is called, and the key of its cached answers: change it when the module changes.
    batch_size
        The most ids in one call of ``forward``.
    """
    torch = load_extra("torch", "torch")
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(f"module: expected an nn.Module, got {type(module).__name__}")
    if forward is not None and step is not None:
        raise ArgumentError("expected forward or step, got both")
    if not isinstance(card, Card):
        card = Card(Alphabet.of(card), "value")
    who = f"the torch module {name or type(module).__name__}"
    if step is not None:
        stepper = ModuleStepper(module, step, _batch_axes(module, step, card, who))
        return tried(stepped_box(stepper, card, who=who, fingerprint=name), card)
    whole = module_forward(module, forward or _call_with_ids(module))
    return tried(sequence_box(whole, card, who=who, fingerprint=name, batch_size=batch_size), card)


def _call_with_ids(module: Any) -> Callable[[Any, Any], Any]:
    """Return a function that calls a module with ids alone; it says what to do if that fails."""

    def forward(ids: Any, lengths: Any) -> Any:
        try:
            return module(ids)
        except TypeError as error:
            if _takes_ids_alone(module):
                raise
            raise TypeError(
                f"{error}: it was called with ids alone; say how to call it, such as "
                "torch_box(module, card, forward=lambda ids, lengths: module(ids, lengths))"
            ) from error

    return forward


def _takes_ids_alone(module: Any) -> bool:
    """Whether a module can be called with one argument, as far as its signature says."""
    try:
        signature = inspect.signature(module.forward)
    except ValueError:  # it has none
        return True
    try:
        signature.bind(None)
    except TypeError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class ModuleStepper:
    """Steps a module; see `torch_box`. ``axes`` has the batch axis of each tensor of a state."""

    module: Any
    step: Callable[[Any, Any], tuple[Any, Any]]
    axes: Any
    first: FloatArray | None = None
    threads: int | None = None

    def begin(self) -> tuple[FloatArray | None, None]:
        """Return the scores before anything is read, and no state."""
        return self.first, None

    def advance(self, state: Any, parents: IntArray, ids: IntArray) -> tuple[FloatArray, Any]:
        """Return scores and states after reading ``ids[i]`` in ``parents[i]``."""
        with inference(self.module, self.threads):
            if state is not None:
                rows = _tensor(self.module, parents)
                state = _map(lambda x, axis: x.index_select(axis, rows), state, self.axes)
            scores, state = _pair(self.step(_tensor(self.module, ids), state))
        return _one_each(scores_array(scores)), state


def module_forward(
    module: Any, forward: Callable[[Any, Any], Any], threads: int | None = None
) -> Callable[[IntArray, IntArray], FloatArray]:
    """Return a function from arrays of ids and lengths to an array of scores."""

    def scores_of(ids: IntArray, lengths: IntArray) -> FloatArray:
        with inference(module, threads):
            scores = forward(_tensor(module, ids), _tensor(module, lengths))
        return scores_array(scores[0] if isinstance(scores, (tuple, list)) else scores)

    return scores_of


@contextmanager
def inference(module: Any, threads: int | None = None) -> Iterator[None]:
    """Run a module without dropout and gradients inside the block, and restore its mode after."""
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
    """Return numbers as a tensor on the module's device."""
    place = next((x.device for xs in (module.parameters(), module.buffers()) for x in xs), None)
    return load_extra("torch", "torch").tensor(np.asarray(numbers, np.int64), device=place)


def scores_array(scores: Any) -> FloatArray:
    """Return a tensor of scores as a float64 array."""
    if not hasattr(scores, "detach"):
        raise TypeError(f"expected a tensor of scores, got {type(scores).__name__}")
    numbers = scores.detach().cpu()  # first: not every device has double precision
    array: FloatArray = numbers.double().numpy()
    return array


def _one_each(scores: FloatArray) -> FloatArray:
    return scores[:, 0] if scores.ndim == 3 and scores.shape[1] == 1 else scores


def _pair(answer: Any) -> tuple[Any, Any]:
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise TypeError(f"step: expected (scores, state), got {type(answer).__name__}")
    return answer


def _batch_axes(module: Any, step: Callable[[Any, Any], Any], card: Card, who: str) -> Any:
    """Return the batch axis of each tensor of a state: the one that is longer for more ids."""
    first = (*card.start_ids, *(card.ids or (0,)))[0]
    try:
        with inference(module):
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
    """Apply a function to each tensor of a state and to its counterpart in another tree."""
    if tree is None:
        return None
    if isinstance(tree, Mapping):
        return {key: _map(function, tree[key], other[key]) for key in tree}
    if isinstance(tree, (tuple, list)):
        mapped = [_map(function, a, b) for a, b in zip(tree, other, strict=True)]
        return type(tree)(*mapped) if hasattr(tree, "_fields") else type(tree)(mapped)
    return function(tree, other)


def usable_device(torch: Any, device: str) -> Any:
    """Return a device by its name; raise an error if PyTorch cannot use it."""
    try:
        torch.empty(0, device=device)
        return torch.device(device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ArgumentError(
            f"device: expected one that this PyTorch can use, such as cpu or cuda, got {device!r}: "
            f"{reason}"
        ) from error
