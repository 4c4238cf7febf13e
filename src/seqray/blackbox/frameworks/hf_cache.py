"""Causal language models that are stepped, so that what prefixes share is read once.

Attention remembers a key and a value of every token that it has read. Prefixes form a tree, and so
does that memory: a batch of states holds what belongs to its own last tokens, and the batches
before it the rest. Each token of each prefix is thus computed once. In a step every layer collects
its keys and values along the path to each prefix, and reads one more token. Tokens that are far
from the end of a path are copied together into pages, so that there is less to collect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from seqray.blackbox.frameworks.extras import load_extra
from seqray.util.arrays import FloatArray, IntArray
from seqray.util.errors import BlackBoxError

MEMORY = 2**30
"""The most bytes of keys and values that a batch of states may need."""

ROOM = 2**24
"""The most bytes that a layer collects at once: few enough to stay near the processor."""

PAGE = 8
"""How many tokens make a page."""

LEVELS = 64
"""How often a state is thought to be held: once for each symbol of a long word, and in pages."""


class Ask(Protocol):
    """Asks a language model what follows."""

    def __call__(self, ids: IntArray, cache: Any = None, /) -> FloatArray:
        """Return scores ``(n, n_outputs)`` after ids ``(n, t)``, which follow what is cached."""


class CannotShareError(Exception):
    """A model gives other answers with a cache than without, or none at all."""


class Page(NamedTuple):
    """What is remembered of some tokens in a row, for each of many prefixes."""

    layers: Sequence[Any]
    """Keys and values side by side: a tensor ``(n_prefixes, n_tokens, size)`` for each layer."""
    n_tokens: int


class CachedStates(NamedTuple):
    """A batch of prefixes of one length."""

    ids: IntArray
    """What has been read, ``(n, t)``."""
    pages: tuple[Page, ...] | None
    """What is remembered of it, in order; None where that would be too much."""
    rows: IntArray
    """Which part of each page belongs to a prefix, ``(n_pages, n)``."""


@dataclass(frozen=True, eq=False)
class CachedSteps:
    """Steps a causal language model; see `seqray.blackbox.frameworks.stepped.Steps`."""

    ask: Ask
    device: Any
    n_layers: int
    n_outputs: int
    token_bytes: int
    limit: int | None
    memory: int
    who: str

    def __repr__(self) -> str:
        return f"CachedSteps({self.n_layers} layers, {self.token_bytes:,} bytes a token)"

    @property
    def max_states(self) -> int:
        """How many states may be stepped at once, for a walk to keep within the memory."""
        return max(1, self.memory // (LEVELS * self.token_bytes))

    def begin(self) -> tuple[None, CachedStates]:
        """Return no scores, and the state before anything is read."""
        return None, CachedStates(np.empty((1, 0), np.int64), (), np.empty((0, 1), np.int64))

    def advance(
        self, state: CachedStates, parents: IntArray, ids: IntArray
    ) -> tuple[FloatArray, CachedStates]:
        """Return scores and states after reading ``ids[i]`` in ``parents[i]``."""
        read = np.column_stack([state.ids[parents], ids])
        n, length = read.shape
        if self.limit is not None and length > self.limit:
            raise BlackBoxError(
                f"{self.who} reads at most {self.limit} tokens, the start included, and a word "
                f"has {length}: ask about shorter words (max_length)"
            )
        pages, rows = self._paged(state)
        if pages is None or n * self.token_bytes + _size(pages) > self.memory:
            return self._read_anew(read), CachedStates(read, None, rows[:0])
        rows = rows[:, parents]
        parts = [self._read_on(pages, rows[:, c], ids[c]) for c in self._chunks(n, length)]
        own = Page(_joined([layers for _, layers in parts]), 1)
        rows = np.concatenate([rows, np.arange(n)[None]])
        states = CachedStates(read, (*pages, own), rows)
        return np.concatenate([scores for scores, _ in parts]), states

    def _paged(self, state: CachedStates) -> tuple[tuple[Page, ...] | None, IntArray]:
        """Return what is remembered, with the last tokens in a page if they are enough for one."""
        pages, rows = state.pages, state.rows
        if pages is None or [page.n_tokens for page in pages[-PAGE:]] != [1] * PAGE:
            return pages, rows
        places = _tensors(rows[-PAGE:], self.device)
        layers = [
            _collected([page.layers[i] for page in pages[-PAGE:]], places, PAGE)
            for i in range(self.n_layers)
        ]
        rows = np.concatenate([rows[:-PAGE], np.arange(len(state.ids))[None]])
        return (*pages[:-PAGE], Page(layers, PAGE)), rows

    def _read_on(
        self, pages: Sequence[Page], rows: IntArray, ids: IntArray
    ) -> tuple[FloatArray, list[Any]]:
        """Read one token after what is remembered."""
        transformers = load_extra("transformers", "hf")
        places = _tensors(rows, self.device)
        length = sum(page.n_tokens for page in pages)
        layers = [
            _layer_class()([page.layers[i] for page in pages], places, length)
            for i in range(self.n_layers)
        ]
        scores = self.ask(ids[:, None], transformers.Cache(layers=layers))
        if any(layer.own is None for layer in layers):
            raise CannotShareError("it does not keep keys and values of its tokens")
        return scores, [layer.own for layer in layers]

    def _read_anew(self, ids: IntArray) -> FloatArray:
        """Read everything from the beginning, and remember nothing."""
        return np.concatenate([self.ask(ids[chunk]) for chunk in self._chunks(*ids.shape)])

    def _chunks(self, n: int, length: int) -> list[slice]:
        """Cut a batch into equal parts that are small enough."""
        bytes_each = max(length * self.token_bytes // self.n_layers, 4 * self.n_outputs)
        n_parts = -(-n // max(1, ROOM // bytes_each))
        ends = np.linspace(0, n, max(1, n_parts) + 1).astype(int).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]


def cached_steps(
    model: Any, ask: Ask, ids: Sequence[int], *, limit: int | None, memory: int, who: str
) -> CachedSteps:
    """Make steps of a model, after a trial on a few of its ids; or a `CannotShareError`."""
    try:
        config = model.config.get_text_config(decoder=True)
        if config.num_hidden_layers < 1:
            raise CannotShareError(f"its configuration has {config.num_hidden_layers} layers")
        shape = (model.device, config.num_hidden_layers, config.vocab_size)
        probe = CachedSteps(ask, *shape, 1, None, MEMORY, who)
        state = probe.advance(probe.begin()[1], np.zeros(1, np.int64), np.array(ids[:1]))[1]
        token_bytes = _size(state.pages or ())
        steps = CachedSteps(ask, *shape, token_bytes, limit, memory, who)
        _try(steps, ids, 4 if limit is None else min(4, limit), model.dtype.itemsize)
    except CannotShareError:
        raise
    except Exception as error:  # whatever a model does with a cache that it does not know
        reason = str(error).strip().partition("\n")[0]
        raise CannotShareError(f"{type(error).__name__}: {reason}") from error
    return steps


def _try(steps: CachedSteps, ids: Sequence[int], depth: int, itemsize: int) -> None:
    """Compare a few prefixes, read on from shared ones, with the same read from the beginning."""
    scores: FloatArray | None
    scores, state = steps.begin()
    ways = [([0], [0]), ([0, 0], [1, -1]), ([1, 0, 1], [1, 1, -1]), ([2, 0], [-1, 1])]
    for parents, places in ways[:depth]:
        scores, state = steps.advance(state, np.array(parents), np.array(ids)[places])
    expected = steps.ask(state.ids)
    apart = np.abs(np.asarray(scores) - expected).max()
    allowed = (1e-4 if itemsize >= 4 else 0.05) * np.abs(expected).max() + 1e-6
    if not apart <= allowed:
        raise CannotShareError(f"with its cache it answers {apart:.1g} off")


def _size(pages: Sequence[Page]) -> int:
    """Return how many bytes pages take."""
    return sum(tensor.nbytes for page in pages for tensor in page.layers)


def _tensors(rows: IntArray, device: Any) -> list[Any]:
    torch = load_extra("torch", "hf")
    return [torch.as_tensor(row, device=device) for row in rows]


def _joined(parts: Sequence[list[Any]]) -> list[Any]:
    if len(parts) == 1:
        return parts[0]
    torch = load_extra("torch", "hf")
    return [torch.cat(tensors) for tensors in zip(*parts, strict=True)]


def _collected(before: Sequence[Any], rows: Sequence[Any], length: int) -> Any:
    """Put what ``length`` tokens have left together, ``(n, length, size)``; the rest is unset."""
    torch = load_extra("torch", "hf")
    found = before[0].new_empty(len(rows[0]), length, before[0].shape[2])
    at = 0
    for tensor, row in zip(before, rows, strict=True):
        n_tokens = tensor.shape[1]
        torch.index_select(tensor, 0, row, out=found[:, at : at + n_tokens])
        at += n_tokens
    return found


@cache
def _layer_class() -> Any:
    """Return the class of a layer of the cache, once transformers is loaded."""
    dynamic = load_extra("transformers.cache_utils", "hf").DynamicLayer
    torch = load_extra("torch", "hf")

    class PrefixLayer(dynamic):  # type: ignore[misc, valid-type]
        """A layer that collects keys and values from where the prefixes before have them."""

        def __init__(self, before: Sequence[Any], rows: Sequence[Any], length: int) -> None:
            super().__init__()
            self.before, self.rows, self.length = before, rows, length
            self.is_initialized, self.own = True, None

        def update(self, key: Any, value: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
            """Return the keys and values of all tokens, and keep those of the new one."""
            n, n_heads = key.shape[:2]
            self.own = torch.cat([x.reshape(n, 1, -1) for x in (key, value)], 2)
            if not self.length:
                return key, value
            found = _collected(self.before, self.rows, self.length + 1)
            found[:, self.length :] = self.own
            size = n_heads * key.shape[3]
            keys, values = (
                x.unflatten(2, (n_heads, -1)).transpose(1, 2)
                for x in (found[:, :, :size], found[:, :, size:])
            )
            return keys, values

        def get_seq_length(self) -> int:
            return self.length

        def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
            return self.length + query_length, 0

    return PrefixLayer
