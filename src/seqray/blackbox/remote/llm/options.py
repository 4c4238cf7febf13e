"""How a server of a language model is queried, as users say it."""

from __future__ import annotations

from typing import TypedDict


class ServerOptions(TypedDict, total=False):
    """How a server is queried: further options of `openai_box`."""

    dialect: str
    """How to query the server, where that is not found out right: ``vllm``, ``sglang``,
    ``llama.cpp``, ``ollama`` or ``openai``."""
    top_k: int
    """How many of the likeliest tokens to list, where the server cannot list given ones; by default
    20, for llama.cpp 1000, for servers of an unknown kind 5."""
    max_unknown: float
    """The largest share of a row that may be unknown, since the server does not list all symbols;
    by default 0.05."""
    renormalise: bool
    """Whether probabilities are divided by their sum over the symbols and the end, by default."""
    max_length: int
    """The most symbols in a word; by default what the model has room for."""
    batch_size: int
    """The most words in one request; by default 32."""
    concurrency: int
    """The most requests at the same time; by default 4."""
    timeout: float
    """The most seconds that an answer may take; by default 120."""
    retries: int
    """How often a request is sent again while the server fails or is busy; by default 6."""
    backoff: float
    """About how many seconds to wait before that, doubled each time; by default 0.5."""
    token_variable: str
    """The environment variable with the key; by default ``SEQRAY_TOKEN``, or ``OPENAI_API_KEY``
    where that one is not set."""


DEFAULT_OPTIONS: ServerOptions = {
    "max_unknown": 0.05,
    "renormalise": True,
    "batch_size": 32,
    "concurrency": 4,
    "timeout": 120.0,
    "retries": 6,
    "backoff": 0.5,
}
