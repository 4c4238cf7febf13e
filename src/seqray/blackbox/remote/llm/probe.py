"""Which server answers at an address, which model it has, and what it says about that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from seqray.blackbox.remote.llm.dialects import (
    Completions,
    Dialect,
    LlamaCpp,
    Ollama,
    Sglang,
    VllmIds,
)
from seqray.blackbox.remote.wire import shown
from seqray.util.errors import ArgumentError, BlackBoxError

Fetch: TypeAlias = Callable[[str, Mapping[str, Any] | None], Any]
"""Sends a request to a path of a server, with a body or without; None: there is nothing there."""

DIALECTS: Mapping[str, type[Dialect]] = {
    "vllm": VllmIds,
    "sglang": Sglang,
    "llama.cpp": LlamaCpp,
    "ollama": Ollama,
    "openai": Completions,
}
"""The dialects by the names that users write."""

OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp"}
"""What a list of models says about who made the server, and its dialect."""

MARKS = {"/api/version": "ollama", "/get_model_info": "sglang", "/props": "llama.cpp"}
"""Paths that only one kind of server has, and its dialect."""

OLLAMA_CONTEXT_TOKENS = 2048
"""How many tokens Ollama reads by default; it drops the rest without a word."""


@dataclass(frozen=True)
class ServedModel:
    """A model behind a server.

    Parameters
    ----------
    dialect
        How the server is queried, by its name in `DIALECTS`.
    name
        The model's name there.
    limit
        The most tokens that it reads, the one that it says included; None: not known.
    end
        The text of the token that ends a text, where the server says so.
    n_tokens
        How many tokens it knows, where the server says so.
    about
        What else identifies the model.
    """

    dialect: str
    name: str
    limit: int | None = None
    end: str | None = None
    n_tokens: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


def find_model(fetch: Fetch, who: str, dialect: str | None, model: str | None) -> ServedModel:
    """Find out what answers at an address.

    Parameters
    ----------
    fetch
        Sends requests.
    who
        The server's name in messages.
    dialect
        How the server is queried, if the user says so.
    model
        The name of the model, if the user says so; otherwise the server may have only one.
    """
    if dialect is not None and dialect not in DIALECTS:
        raise ArgumentError(f"dialect: expected one of {', '.join(DIALECTS)}, got {dialect!r}")
    models = _models(fetch("/v1/models", None))
    dialect = dialect or _dialect(fetch, models)
    entry = _chosen(models, model, who)
    name = model if model is not None else str(entry["id"])
    if dialect == "ollama":
        return _ollama(fetch, name, who)
    if dialect == "llama.cpp":
        return _llama_cpp(fetch, name, entry)
    limit = _number(entry.get("max_model_len"))
    about = {key: entry[key] for key in ("root", "parent") if entry.get(key)}
    return ServedModel(dialect, name, limit, about=about)


def _models(document: Any) -> dict[str, Mapping[str, Any]]:
    """Return the entries of a list of models by their names."""
    entries = document.get("data") if isinstance(document, Mapping) else None
    if not isinstance(entries, list):
        return {}
    return {str(each["id"]): each for each in entries if isinstance(each, Mapping) and "id" in each}


def _dialect(fetch: Fetch, models: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the dialect of a server: its list of models says it, or a path that others lack."""
    for entry in models.values():
        if (owner := str(entry.get("owned_by"))) in OWNERS:
            return OWNERS[owner]
    for path, dialect in MARKS.items():
        if isinstance(fetch(path, None), Mapping):
            return dialect
    return "openai"


def _chosen(
    models: Mapping[str, Mapping[str, Any]], model: str | None, who: str
) -> Mapping[str, Any]:
    """Return what the server says about the chosen model."""
    if model is not None:
        return models.get(model, {})
    if len(models) == 1:
        return next(iter(models.values()))
    if models:
        names = ", ".join(shown(name).strip("'\"") for name in sorted(models)[:20])
        raise ArgumentError(f"{who} has {len(models)} models: say which, model=NAME: {names}")
    raise BlackBoxError(
        f"{who} lists no model at /v1/models: is this the address of a language-model server? "
        "Say which model it has if you know it, model=NAME; see docs/boxes/openai.md"
    )


def _llama_cpp(fetch: Fetch, name: str, entry: Mapping[str, Any]) -> ServedModel:
    """Read the properties of llama.cpp's server."""
    props = _mapping(fetch("/props", None))
    meta = _mapping(entry.get("meta"))
    settings = _mapping(props.get("default_generation_settings"))
    limit = _number(settings.get("n_ctx")) or _number(meta.get("n_ctx"))
    about = {key: meta[key] for key in ("n_params", "size", "n_vocab") if key in meta}
    about |= {key: props[key] for key in ("model_path",) if key in props}
    end = props.get("eos_token")
    end = end if isinstance(end, str) and end else None
    return ServedModel("llama.cpp", name, limit, end, _number(meta.get("n_vocab")), about)


def _ollama(fetch: Fetch, name: str, who: str) -> ServedModel:
    """Read what Ollama says about a model; its vocabulary shows what ends a text."""
    known = fetch("/api/show", {"model": name, "verbose": True})
    if not isinstance(known, Mapping):
        raise BlackBoxError(f"{who} has no model {name!r}: pull it first, ollama pull {name}")
    info = _mapping(known.get("model_info"))
    tokens, end = info.get("tokenizer.ggml.tokens"), info.get("tokenizer.ggml.eos_token_id")
    text = None
    if isinstance(tokens, list) and isinstance(end, int) and 0 <= end < len(tokens):
        text = str(tokens[end])
    lengths = [_number(x) for key, x in info.items() if str(key).endswith(".context_length")]
    limit = min([OLLAMA_CONTEXT_TOKENS, *(length for length in lengths if length)])
    about = {
        "details": known.get("details"),
        "parameters": info.get("general.parameter_count"),
    }
    return ServedModel("ollama", name, limit, text, about=about)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
