"""Requests to the paths of one server, while a box is opened and later."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from seqray.blackbox.queried import FailedError
from seqray.blackbox.remote.http_queries import HttpQueries
from seqray.blackbox.remote.http_request import HttpClient, opened_client
from seqray.blackbox.remote.http_server import Address, RefusedError, Server
from seqray.blackbox.remote.llm.options import ServerOptions
from seqray.blackbox.remote.wire import MAX_DESCRIPTION_BYTES, UnreadableError, read_json


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
        server = Server(Address.of(url), variable)
        parts = urlsplit(url)
        path = parts.path.rstrip("/").removesuffix("/v1")
        queries = HttpQueries(settings["concurrency"], settings["retries"], settings["backoff"])
        suffix = f"?{parts.query}" if parts.query else ""
        client = opened_client(server, settings["timeout"])
        return cls(client, queries, f"{parts.scheme}://{parts.netloc}{path}", suffix)

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

    def ask(self, path: str, body: Mapping[str, Any] | None) -> Any:
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
