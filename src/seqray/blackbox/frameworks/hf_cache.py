"""Causal language models that are stepped, so that a prefix that words share is read once.

Attention stores a key and a value of every token that it has read. Prefixes form a tree, and so do
the stored keys and values: a batch of states holds those of its own last tokens, and the batches
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

MAX_CACHE_BYTES = 2**30
"""How many bytes of keys and values a batch of states may need."""

MAX_COLLECTED_BYTES = 2**24
"""How many bytes a layer collects at once: few enough for the processor's cache."""

TOKENS_PER_PAGE = 8
"""How many tokens make a page."""

ASSUMED_BATCHES = 64
"""How many batches of states a walk is assumed to hold: one per symbol of a long word."""


class CachedForward(Protocol):
    """Runs a language model on ids, with or without a cache."""

    def __call__(self, ids: IntArray, cache: Any = None, /) -> FloatArray:
        """Return scores ``(n, n_outputs)`` after ids ``(n, t)``, which follow the cached ones."""


class CannotShareError(Exception):
    """A model gives other answers with a cache than without, or none at all."""


class CachePage(NamedTuple):
    """The keys and values of some tokens in a row, for each of many prefixes."""

    layers: Sequence[Any]
    """Keys and values side by side: a tensor ``(n_prefixes, n_tokens, size)`` for each layer."""
    n_tokens: int


class CachedStates(NamedTuple):
    """A batch of prefixes of one length."""

    ids: IntArray
    """The tokens read, ``(n, t)``."""
    pages: tuple[CachePage, ...] | None
    """Their keys and values, in order; None where these would need too much memory."""
    rows: IntArray
    """Which part of each page belongs to a prefix, ``(n_pages, n)``."""


@dataclass(frozen=True, eq=False)
class CachedStepper:
    """Steps a causal language model; see `seqray.blackbox.frameworks.stepped.IdStepper`."""

    forward: CachedForward
    device: Any
    n_layers: int
    n_outputs: int
    token_bytes: int
    limit: int | None
    memory: int
    who: str

    def __repr__(self) -> str:
        return f"CachedStepper({self.n_layers} layers, {self.token_bytes:,} bytes per token)"

    @property
    def max_states(self) -> int:
        """How many states may be stepped at once, so that a walk stays within the memory."""
        return max(1, self.memory // (ASSUMED_BATCHES * self.token_bytes))

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
                f"has {length}: query shorter words (max_length)"
            )
        pages, rows = self._paged(state)
        if pages is None or n * self.token_bytes + _size(pages) > self.memory:
            return self._read_anew(read), CachedStates(read, None, rows[:0])
        rows = rows[:, parents]
        parts = [self._read_on(pages, rows[:, c], ids[c]) for c in self._chunks(n, length)]
        own = CachePage(_joined([layers for _, layers in parts]), 1)
        rows = np.concatenate([rows, np.arange(n)[None]])
        states = CachedStates(read, (*pages, own), rows)
        return np.concatenate([scores for scores, _ in parts]), states

    def joined(self, parts: Sequence[tuple[CachedStates, IntArray]]) -> CachedStates:
        """Return some states of several batches, all with the same number of tokens, as one batch.

        Each part is a batch and the places of states in it. Such batches have the same pages, since
        tokens are read one at a time.
        """
        ids = np.concatenate([states.ids[places] for states, places in parts])
        pages = [states.pages for states, _ in parts if states.pages is not None]
        if len(pages) < len(parts):
            return CachedStates(ids, None, np.empty((0, len(ids)), np.int64))
        joined, rows = [], []
        for at, same in enumerate(zip(*pages, strict=True)):
            used = [states.rows[at, places] for states, places in parts]
            page, places = _joined_page(list(zip(same, used, strict=True)))
            joined.append(page)
            rows.append(places)
        return CachedStates(ids, tuple(joined), np.stack(rows))

    def _paged(self, state: CachedStates) -> tuple[tuple[CachePage, ...] | None, IntArray]:
        """Return the pages, with the last tokens joined into one if they are enough for it."""
        pages, rows = state.pages, state.rows
        if (
            pages is None
            or [page.n_tokens for page in pages[-TOKENS_PER_PAGE:]] != [1] * TOKENS_PER_PAGE
        ):
            return pages, rows
        places = _tensors(rows[-TOKENS_PER_PAGE:], self.device)
        layers = [
            _collected(
                [page.layers[i] for page in pages[-TOKENS_PER_PAGE:]], places, TOKENS_PER_PAGE
            )
            for i in range(self.n_layers)
        ]
        rows = np.concatenate([rows[:-TOKENS_PER_PAGE], np.arange(len(state.ids))[None]])
        return (*pages[:-TOKENS_PER_PAGE], CachePage(layers, TOKENS_PER_PAGE)), rows

    def _read_on(
        self, pages: Sequence[CachePage], rows: IntArray, ids: IntArray
    ) -> tuple[FloatArray, list[Any]]:
        """Read one token after those in the pages."""
        transformers = load_extra("transformers", "hf")
        places = _tensors(rows, self.device)
        length = sum(page.n_tokens for page in pages)
        layers = [
            _layer_class()([page.layers[i] for page in pages], places, length)
            for i in range(self.n_layers)
        ]
        scores = self.forward(ids[:, None], transformers.Cache(layers=layers))
        if any(layer.own is None for layer in layers):
            raise CannotShareError("it does not cache keys and values of its tokens")
        return scores, [layer.own for layer in layers]

    def _read_anew(self, ids: IntArray) -> FloatArray:
        """Read all ids from the beginning, and cache nothing."""
        return np.concatenate([self.forward(ids[chunk]) for chunk in self._chunks(*ids.shape)])

    def _chunks(self, n: int, length: int) -> list[slice]:
        """Cut a batch into equal parts that are small enough."""
        bytes_each = max(length * self.token_bytes // self.n_layers, 4 * self.n_outputs)
        n_parts = -(-n // max(1, MAX_COLLECTED_BYTES // bytes_each))
        ends = np.linspace(0, n, max(1, n_parts) + 1).astype(int).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]


def cached_stepper(
    model: Any,
    forward: CachedForward,
    ids: Sequence[int],
    *,
    limit: int | None,
    memory: int,
    who: str,
) -> CachedStepper:
    """Make a stepper of a model, after a trial on a few ids; or raise a `CannotShareError`."""
    try:
        config = model.config.get_text_config(decoder=True)
        if config.num_hidden_layers < 1:
            raise CannotShareError(f"its configuration has {config.num_hidden_layers} layers")
        shape = (model.device, config.num_hidden_layers, config.vocab_size)
        probe = CachedStepper(forward, *shape, 1, None, MAX_CACHE_BYTES, who)
        state = probe.advance(probe.begin()[1], np.zeros(1, np.int64), np.array(ids[:1]))[1]
        token_bytes = _size(state.pages or ())
        stepper = CachedStepper(forward, *shape, token_bytes, limit, memory, who)
        _try(stepper, ids, 4 if limit is None else min(4, limit), model.dtype.itemsize)
    except CannotShareError:
        raise
    except Exception as error:  # a model may raise anything when it gets an unknown cache
        reason = str(error).strip().partition("\n")[0]
        raise CannotShareError(f"{type(error).__name__}: {reason}") from error
    return stepper


def _try(stepper: CachedStepper, ids: Sequence[int], depth: int, itemsize: int) -> None:
    """Compare a few prefixes, read on from shared ones, with the same read from the beginning."""
    scores: FloatArray | None
    scores, state = stepper.begin()
    plan = [([0], [0]), ([0, 0], [1, -1]), ([1, 0, 1], [1, 1, -1]), ([2, 0], [-1, 1])]
    for parents, places in plan[:depth]:
        scores, state = stepper.advance(state, np.array(parents), np.array(ids)[places])
    expected = stepper.forward(state.ids)
    difference = np.abs(np.asarray(scores) - expected).max()
    allowed = (1e-4 if itemsize >= 4 else 0.05) * np.abs(expected).max() + 1e-6
    if not difference <= allowed:
        raise CannotShareError(f"with its cache its answers differ by {difference:.1g}")


def _size(pages: Sequence[CachePage]) -> int:
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


def _joined_page(parts: Sequence[tuple[CachePage, IntArray]]) -> tuple[CachePage, IntArray]:
    """Return one page with the rows of several that are in use, and the rows in it."""
    first = parts[0][0]
    if all(page is first for page, _ in parts):
        return first, np.concatenate([rows for _, rows in parts])
    torch = load_extra("torch", "hf")
    layers, joined, n_rows = [], [], 0
    for page, rows in parts:
        used, places = np.unique(rows, return_inverse=True)
        index = torch.as_tensor(used, device=page.layers[0].device)
        layers.append([tensor.index_select(0, index) for tensor in page.layers])
        joined.append(n_rows + places)
        n_rows += len(used)
    return CachePage(_joined(layers), first.n_tokens), np.concatenate(joined)


def _collected(before: Sequence[Any], rows: Sequence[Any], length: int) -> Any:
    """Join the keys and values of ``length`` tokens, ``(n, length, size)``; the rest is unset."""
    torch = load_extra("torch", "hf")
    collected = before[0].new_empty(len(rows[0]), length, before[0].shape[2])
    at = 0
    for tensor, row in zip(before, rows, strict=True):
        n_tokens = tensor.shape[1]
        torch.index_select(tensor, 0, row, out=collected[:, at : at + n_tokens])
        at += n_tokens
    return collected


@cache
def _layer_class() -> Any:
    """Return the class of a layer of the cache, once transformers is loaded."""
    dynamic = load_extra("transformers.cache_utils", "hf").DynamicLayer
    torch = load_extra("torch", "hf")

    class PrefixLayer(dynamic):  # type: ignore[misc, valid-type]
        """A layer that collects keys and values from the pages of shorter prefixes."""

        def __init__(self, before: Sequence[Any], rows: Sequence[Any], length: int) -> None:
            super().__init__()
            self.before, self.rows, self.length = before, rows, length
            self.is_initialized, self.own = True, None

        def update(self, key: Any, value: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
            """Return the keys and values of all tokens, and store those of the new one."""
            n, n_heads = key.shape[:2]
            self.own = torch.cat([x.reshape(n, 1, -1) for x in (key, value)], 2)
            if not self.length:
                return key, value
            joined = _collected(self.before, self.rows, self.length + 1)
            joined[:, self.length :] = self.own
            size = n_heads * key.shape[3]
            keys, values = (
                x.unflatten(2, (n_heads, -1)).transpose(1, 2)
                for x in (joined[:, :, :size], joined[:, :, size:])
            )
            return keys, values

        def get_seq_length(self) -> int:
            return self.length

        def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
            return self.length + query_length, 0

    return PrefixLayer
