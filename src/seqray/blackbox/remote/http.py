"""Black boxes behind HTTP: words go out as JSON, answers come back.

Several requests run at once, each on a connection that stays open. A request that fails
is sent again after a while, or in halves. docs/boxes/http.md says what a server has to do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from seqray.automata.words import Words
from seqray.blackbox.queried import FailedError, QueriedBox, QueriedModel
from seqray.blackbox.remote.http_queries import HttpQueries, check_seconds
from seqray.blackbox.remote.http_request import HttpClient, RequestGroup, opened_client
from seqray.blackbox.remote.http_server import Address, Server
from seqray.blackbox.remote.wire import (
    MAX_DESCRIPTION_BYTES,
    DescribedBackend,
    Description,
    UnreadableError,
    read_answers,
    read_json,
    words_message,
)
from seqray.util.arrays import IntArray, whole_number
from seqray.util.errors import BlackBoxError
from seqray.util.redaction import redacted


def http_box(
    url: str,
    *,
    batch_size: int = 256,
    concurrency: int = 4,
    timeout: float = 60.0,
    retries: int = 6,
    backoff: float = 0.5,
    token_variable: str = "SEQRAY_TOKEN",
) -> QueriedBox | QueriedModel:
    """Open a black box behind HTTP.

    Parameters
    ----------
    url
        Where it is, ``https://…`` or ``http://…``. docs/boxes/http.md says what is expected there.
    batch_size
        The most words in one request. Where the server takes fewer, it says so itself.
    concurrency
        The most requests at the same time.
    timeout
        The most seconds that an answer may take, from the first byte sent to the last received.
    retries
        How often a request is sent again while the server fails, is busy or cannot be reached.
    backoff
        About how many seconds to wait before that, doubled each time. A server may want more.
    token_variable
        The environment variable with the token that is sent as ``Authorization: Bearer …``. It is
        not sent to another machine without TLS, and never written anywhere.

    Returns
    -------
    box
        A `seqray.blackbox.queried.QueriedBox`, or a `QueriedModel` where the server predicts.
    """
    check_seconds("timeout", timeout)
    batch_size = whole_number("batch_size", batch_size, 1)
    queries = HttpQueries(concurrency, retries, backoff)
    client = opened_client(Server(Address.of(url), token_variable), timeout)
    try:
        description = _describe(client, queries)
    except BaseException:
        client.close()
        raise
    words_per_request = description.words_per_request(batch_size)
    return description.box(HttpBackend(client, words_per_request, queries, description=description))


def _describe(client: HttpClient, queries: HttpQueries) -> Description:
    """Request a server's description of itself."""
    who, hide = client.server.who, client.server.hide

    def read(content: bytes) -> Description:
        return Description.read(read_json(content, hide), who, hide)

    try:
        return queries.opening(client, b"", MAX_DESCRIPTION_BYTES, read)
    except FailedError as failure:
        raise BlackBoxError(f"{who} cannot be opened: {failure}") from failure
    except UnreadableError as error:
        raise BlackBoxError(
            f"{who} does not describe itself: {error}; is this the address of a box? "
            "docs/boxes/http.md says what it answers"
        ) from error


@dataclass(frozen=True, eq=False)
class HttpBackend(DescribedBackend):
    """Queries a server; see `http_box`."""

    client: HttpClient
    batch_size: int
    queries: HttpQueries

    @property
    def who(self) -> str:
        """The server, by its address."""
        return self.client.server.who

    @property
    def fingerprint(self) -> str:
        """The address, and a digest of it without its keys and of how the server describes itself.

        With another key it is the same box; cached answers are then checked, see `hides_secrets`.
        """
        address = self.client.server.address
        about = f"{redacted(address.target)} {self.description.digest()}"
        return f"{address.shown} {hashlib.sha256(about.encode()).hexdigest()}"

    @property
    def hides_secrets(self) -> bool:
        """Whether the fingerprint leaves something out that may matter."""
        return bool(self.client.server.address.secrets)

    def query(self, words: Words) -> Iterator[tuple[IntArray, Any]]:
        """Yield answers as they come."""
        self.description.check_lengths(words, self.who)
        begins = range(0, len(words), self.batch_size)
        batches = [np.arange(b, min(b + self.batch_size, len(words))) for b in begins]
        return self.queries.answers(words, batches, self._answers, self.who, self.check)

    def _answers(self, words: Words, group: RequestGroup) -> list[Any]:
        """Send one request."""

        def read(content: bytes) -> list[Any]:
            return read_answers(content, self.who, self.client.server.hide)

        message, limit = words_message(words), self.description.answer_size(words)
        return self.queries.send(self.client, message, limit, read, words, group)
