"""Language models behind a server as black boxes; docs/boxes/openai.md is the user's page.

A word is read as the tokens of a prompt and of its symbols. The server says how likely each next
token is, and a tree of tokens makes probabilities of symbols and of the end of it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Unpack

from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.queried import QueriedModel
from seqray.blackbox.remote.http_queries import check_seconds
from seqray.blackbox.remote.llm.backend import LlmBackend
from seqray.blackbox.remote.llm.connection import DEFAULT_OPTIONS, Connection, ServerOptions
from seqray.blackbox.remote.llm.dialects import Dialect
from seqray.blackbox.remote.llm.probe import DIALECTS, ServedModel, find_model
from seqray.blackbox.remote.llm.symbols import (
    LocalTokenizer,
    ServerTokenizer,
    SymbolTexts,
    SymbolTokens,
    TextTokens,
    WholeTexts,
    read_alphabet,
)
from seqray.blackbox.remote.llm.unknown import UnknownShare
from seqray.blackbox.remote.wire import shown
from seqray.util.arrays import whole_number
from seqray.util.errors import ArgumentError, BlackBoxError

logger = logging.getLogger(__name__)

TOP_K = {"vllm": 20, "ollama": 20, "llama.cpp": 1000, "openai": 5}
"""How many of the likeliest tokens are listed by default: what each server allows as it comes."""


def openai_box(
    url: str,
    *,
    alphabet: Alphabet | Iterable[Symbol] | str | None = None,
    prompt: str = "",
    separator: str = "",
    end: str | int | None = None,
    model: str | None = None,
    tokenizer: str | os.PathLike[str] | None = None,
    **options: Unpack[ServerOptions],
) -> QueriedModel:
    """Open a language model behind a server: vLLM, SGLang, llama.cpp, Ollama, OpenAI-compatible.

    Parameters
    ----------
    url
        Where it is, ``http://localhost:8000`` or ``https://…/v1``.
    alphabet
        The symbols of the words, each a text of one token or of several. On a command line: a list
        in JSON or with commas, or the path of a file with one symbol per line.
    prompt
        The text before every word. What the tokenizer puts before any text comes first.
    separator
        The text before each symbol, such as a space.
    end
        The text of the token that ends a word, or its id. By default what ends a text, where the
        server or the tokenizer says so.
    model
        The name of the model, where the server has several.
    tokenizer
        The folder of the model's tokenizer, for servers that do not tokenise themselves.
    options
        See `ServerOptions`.

    Returns
    -------
    QueriedModel
        Its ``backend.unknown`` says how much the server left unknown so far.
    """
    if alphabet is None:
        raise ArgumentError(
            "alphabet: say which symbols the words have, such as alphabet=['yes', 'no']; on a "
            "command line -O alphabet=yes,no"
        )
    for name, text in (("prompt", prompt), ("separator", separator), ("model", model or "")):
        if not isinstance(text, str):
            raise ArgumentError(f"{name}: expected a text, got {text!r}: put it in double quotes")
    settings = _settings(options)
    connection = Connection.of(url, settings)
    try:
        served = find_model(connection.fetch, connection.who, settings.get("dialect"), model)
        local = None if tokenizer is None else LocalTokenizer(Path(tokenizer))
        end = _end(end, local, served, connection.who)
        texts = SymbolTexts(read_alphabet(alphabet), prompt, separator, end)
        backend = _backend(connection, served, texts, local, settings)
    except BaseException:
        connection.client.close()
        raise
    logger.info("%s", backend.who)
    return QueriedModel(backend, texts.alphabet, leaks=not settings["renormalise"])


def _settings(options: ServerOptions) -> ServerOptions:
    """Return all options, those that are left out by default."""
    for name in options.keys() - ServerOptions.__annotations__.keys():
        known = ", ".join(ServerOptions.__annotations__)
        raise ArgumentError(f"unknown option {name!r}: expected one of {known}")
    settings: ServerOptions = {**DEFAULT_OPTIONS, **options}
    if not 0 <= settings["max_unknown"] <= 1:
        raise ArgumentError(
            f"max_unknown: expected a share from 0 to 1, got {settings['max_unknown']!r}"
        )
    check_seconds("timeout", settings["timeout"])
    whole_number("batch_size", settings["batch_size"], 1)
    return settings


def _end(
    end: str | int | None, local: LocalTokenizer | None, served: ServedModel, who: str
) -> str | int:
    """Return what ends a word, as the user, the tokenizer or the server says."""
    if end is None:
        end = local.end if local is not None and local.end is not None else served.end
    if end is None or isinstance(end, bool):
        raise ArgumentError(
            f"end: {who} does not say which token ends a text: say it, such as end='</s>', or its "
            "id, or give the folder of the model's tokenizer (tokenizer)"
        )
    return end


def _backend(
    connection: Connection,
    served: ServedModel,
    texts: SymbolTexts,
    local: LocalTokenizer | None,
    settings: ServerOptions,
) -> LlmBackend:
    """Return what queries a server, after a first query that shows what it lists."""
    kind = DIALECTS[served.dialect]
    top_k = settings.get("top_k", TOP_K.get(served.dialect))
    if top_k is not None:
        top_k = min(whole_number("top_k", top_k, 1), served.n_tokens or top_k)
    dialect = kind(served.name, top_k)
    server = connection.client.server
    name = shown(served.name, server.hide).strip("'\"")  # a server may call it by the key it got
    who = f"the {dialect.name} server {server.address.shown} ({name})"
    as_text = not dialect.takes_ids or (local is None and dialect.tokenize_path is None)
    encoder = _tokenizer(connection, dialect, local)
    if isinstance(encoder, WholeTexts) and isinstance(texts.end, int):
        raise ArgumentError(
            f"end: {who} knows tokens by their texts, got the id {texts.end}: say the text of the "
            "token, or give the folder of the model's tokenizer (tokenizer)"
        )
    tokens = texts.tokens(
        encoder, as_text=as_text, by_id=dialect.lists_ids, renormalise=settings["renormalise"]
    )
    backend = LlmBackend(
        connection,
        served,
        dialect,
        tokens,
        who,
        _max_length(settings.get("max_length"), served, tokens),
        settings,
        UnknownShare(),
    )
    return backend.tried(texts.alphabet)


def _tokenizer(
    connection: Connection, dialect: Dialect, local: LocalTokenizer | None
) -> TextTokens:
    """Return what turns texts into tokens: a local tokenizer, the server, or nothing."""
    if local is not None:
        return local
    path = dialect.tokenize_path
    if path is None:
        return WholeTexts()

    def request(text: str, special: bool) -> list[int]:
        document = connection.fetch(path, dialect.tokenize_body(text, special))
        tokens = document.get("tokens") if isinstance(document, Mapping) else None
        if not isinstance(tokens, list) or not all(isinstance(each, int) for each in tokens):
            raise BlackBoxError(
                f"{connection.who} does not tokenise {text!r} at {path}: give the folder of the "
                "model's tokenizer (tokenizer)"
            )
        return tokens

    return ServerTokenizer(request)


def _max_length(given: int | None, served: ServedModel, tokens: SymbolTokens) -> int | None:
    """Return the most symbols that a word may have."""
    if given is not None:
        return whole_number("max_length", given, 0)
    if served.limit is None:
        return None
    n_before = len(tokens.before)  # a text has no more tokens than bytes
    if isinstance(tokens.before, str):
        n_before = len(tokens.before.encode()) + 1
    return tokens.tree.max_length(served.limit - 1, n_before)
