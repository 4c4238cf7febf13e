"""The connection to a server of a language model, and how users say it is queried."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import urlsplit

from seqray.blackbox.queried import FailedError
from seqray.blackbox.remote.http_queries import HttpQueries
from seqray.blackbox.remote.http_request import HttpClient, opened_client
from seqray.blackbox.remote.http_server import Address, RefusedError, Server
from seqray.blackbox.remote.wire import MAX_DESCRIPTION_BYTES, UnreadableError, read_json


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


@dataclass(frozen=True, eq=False)
class Connection:
    """Sends requests to the paths of one server."""

    client: HttpClient
    queries: HttpQueries
    base: str
    """The address without the path."""
    suffix: str
    """The query of the address, which may hold keys."""

    @classmethod
    def of(cls, url: str, settings: ServerOptions) -> Connection:
        """Read a URL: with or without ``/v1`` at its end."""
        variable = settings.get("token_variable", "SEQRAY_TOKEN")
        if "token_variable" not in settings and not os.environ.get(variable):
            variable = "OPENAI_API_KEY"
        Address.of(url)  # refuses what is none, before it is split
        parts = urlsplit(url)
        base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1')}"
        suffix = f"?{parts.query}" if parts.query else ""
        queries = HttpQueries(settings["concurrency"], settings["retries"], settings["backoff"])
        server = Server(Address.of(base + suffix), variable)
        return cls(opened_client(server, settings["timeout"]), queries, base, suffix)

    @property
    def who(self) -> str:
        """The server's name in messages."""
        return self.client.server.who

    def at(self, path: str) -> HttpClient:
        """Return a client for one path, which shares the connections."""
        address = Address.of(self.base + path + self.suffix)
        return dataclasses.replace(
            self.client, server=dataclasses.replace(self.client.server, address=address)
        )

    def fetch(self, path: str, body: Mapping[str, Any] | None) -> Any:
        """Return the JSON at a path; None where the server has nothing there, or refuses."""
        message = b"" if body is None else json.dumps(body).encode()
        client = self.at(path)

        def read(content: bytes) -> Any:
            with suppress(UnreadableError):  # a page of HTML, say
                return read_json(content, client.server.hide)

        try:
            return self.queries.opening(client, message, MAX_DESCRIPTION_BYTES, read)
        except FailedError:
            return None
        except RefusedError as error:
            if error.status in (401, 403) or 300 <= error.status < 400:
                raise
            return None
