"""One request to a server and its outcome: an answer, or a kind of failure."""

from __future__ import annotations

import http.client
import io
import logging
import os
import socket
import ssl
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from seqray.blackbox.remote.http_server import Reply, RetryError, Server
from seqray.util.errors import BlackBoxError
from seqray.util.forks import reset_in_forks

logger = logging.getLogger(__name__)

MAX_CONNECT_SECONDS = 10.0
"""How long a connection may take."""

MAX_WAIT_SECONDS = 600.0
"""How long the wait may be that a server wants."""

MAX_OPENING_WAIT_SECONDS = 60.0
"""The same while a box is opened, when no time limit applies yet."""

BYTES_PER_SEND = 2**14
"""Bytes of a request that are sent at once."""

MAX_HEAD_BYTES = 2**20
"""Bytes that may come with an answer beside its content: headers, trailers, sizes of chunks.
There may be seven more for each byte of content, as with chunks of one byte."""


@dataclass(eq=False)
class RequestGroup:
    """What the requests that answer one query share."""

    opening: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    n_answered: int = 0
    n_silent: int = 0
    """How many requests in a row got nothing back."""
    connections: set[http.client.HTTPConnection] = field(default_factory=set)
    """Those in use."""
    process: int = field(default_factory=os.getpid)
    """The process that they belong to."""

    def answered(self) -> None:
        """Record that the server answers."""
        self.n_answered += 1
        self.n_silent = 0

    def check_process(self, who: str) -> None:
        """Refuse to go on in a forked process, in which no thread sends requests."""
        if self.process != os.getpid():
            raise BlackBoxError(
                f"{who} was being queried when this process was forked, and only the process "
                "before the fork gets the answers: query again in this one"
            )

    def end(self) -> None:
        """Stop waiting, and wake every thread that still waits for an answer."""
        self.stop.set()
        if self.process != os.getpid():
            return  # a fork: the connections belong to the process before it
        for connection in list(self.connections):
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)


class Incoming(io.RawIOBase):
    """The bytes from a socket until a deadline, and up to a number of bytes."""

    def __init__(self, connection: socket.socket, deadline: float, limit: int) -> None:
        self._connection, self._deadline, self._n_left = connection, deadline, limit
        self._raw = connection.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Return True: it can always be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Wait for more bytes, until the deadline."""
        self._connection.settimeout(seconds_left(self._deadline))
        n = self._raw.readinto(buffer)
        self._n_left -= n or 0
        if self._n_left < 0:
            raise OverlongError
        return n

    def close(self) -> None:
        """Close the socket's file."""
        super().close()
        self._raw.close()

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return what `http.client` reads."""
        return io.BufferedReader(self)


class OverlongError(Exception):
    """A server sends more bytes than any answer has."""


def seconds_left(deadline: float) -> float:
    """Return the time until a deadline; `TimeoutError` if there is none left."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


@dataclass(frozen=True, eq=False)
class HttpClient:
    """Sends requests to a server, and keeps connections open for the next request."""

    server: Server
    timeout: float
    idle: deque[http.client.HTTPConnection] = field(default_factory=deque, repr=False)

    def request(self, body: bytes, limit: int, group: RequestGroup) -> bytes:
        """Send a request and return the answer of at most ``limit`` bytes.

        A request without a body is for the description. Raises a `RetryError` where the same
        request may work later, a `FailedError` where one with fewer words may, and a
        `BlackBoxError` where neither will.
        """
        who = self.server.who
        try:
            reply = self._exchange(body, limit, group)
        except OverlongError as error:
            raise BlackBoxError(
                f"{who} answered with more than {limit:,} bytes, which is far more than the query "
                "needs: does it answer in the right form?"
            ) from error
        except TimeoutError as error:
            group.n_silent += 1
            text = f"gave no answer in {self.timeout:g} s"
            raise RetryError(text, halve=True, silent=True) from error
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
            raise RetryError("cut the connection", halve=True) from error
        except ssl.SSLError as error:
            raise self.server.tls_failure(error) from error
        except (ConnectionRefusedError, socket.gaierror) as error:
            text = f"cannot be reached: {error.strerror or error}"
            if group.opening:  # most likely a wrong address
                hint = "is it running, and is the address right?"
                raise BlackBoxError(f"{who} {text}: {hint}") from error
            raise RetryError(text) from error
        except (ConnectionError, http.client.HTTPException) as error:
            raise RetryError(f"cut the connection ({type(error).__name__})", halve=True) from error
        except OSError as error:
            raise RetryError(f"cannot be reached: {error.strerror or error}") from error
        if reply.status != 200:
            max_wait = MAX_OPENING_WAIT_SECONDS if group.opening else MAX_WAIT_SECONDS
            raise self.server.failure(reply, max_wait)
        return reply.content

    def close(self) -> None:
        """Close the connections that are not in use."""
        _close_all(self.idle)

    def reset_after_fork(self) -> None:
        """Drop the connections of the process before a fork: answers to both would mix."""
        self.idle.clear()

    def _exchange(self, body: bytes, limit: int, group: RequestGroup) -> Reply:
        """Send one request; an idle connection that the server has closed is no failure."""
        deadline = time.monotonic() + self.timeout
        while True:
            connection, reused = self._connection(deadline)
            group.connections.add(connection)
            try:
                reply = self._send(connection, body, limit, deadline)
                self.idle.append(connection)
                return reply
            except BaseException as error:
                connection.close()
                if not (reused and isinstance(error, ConnectionError)) or group.stop.is_set():
                    raise
            finally:
                group.connections.discard(connection)

    def _connection(self, deadline: float) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection, and whether it was used before."""
        with suppress(IndexError):
            return self.idle.pop(), True
        address = self.server.address
        host, port = address.host, address.port
        limit = min(MAX_CONNECT_SECONDS, seconds_left(deadline))
        if not address.tls:
            return http.client.HTTPConnection(host, port, timeout=limit), False
        return http.client.HTTPSConnection(host, port, timeout=limit, context=self._tls), False

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def _send(
        self, connection: http.client.HTTPConnection, body: bytes, limit: int, deadline: float
    ) -> Reply:
        """Send a request and read the whole response, all before the deadline."""
        if connection.sock is None:
            try:
                connection.connect()
            except TimeoutError as error:
                text = f"cannot be reached: no connection in {connection.timeout:.3g} s"
                raise RetryError(text) from error
        connection.sock.settimeout(seconds_left(deadline))
        target, headers = self.server.address.target, self._headers(body)
        connection.request("POST" if body else "GET", target, headers=headers)
        for begin in range(0, len(body), BYTES_PER_SEND):
            connection.sock.settimeout(seconds_left(deadline))
            connection.send(body[begin : begin + BYTES_PER_SEND])

        def response_class(
            sock: Any, debuglevel: int = 0, method: str | None = None, url: str | None = None
        ) -> http.client.HTTPResponse:
            incoming: Any = Incoming(sock, deadline, 8 * limit + MAX_HEAD_BYTES)
            return http.client.HTTPResponse(incoming, method=method)

        connection.response_class = response_class  # type: ignore[assignment]
        with connection.getresponse() as response:
            content = _content(response, limit)
            reason = http.client.responses.get(response.status, "")
            return Reply(response.status, reason, response.headers, content)

    def _headers(self, body: bytes) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "seqray"}
        if body:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        if (token := self.server.token()) and self.server.address.is_private:
            headers["Authorization"] = f"Bearer {token}"
        return headers


def opened_client(server: Server, timeout: float) -> HttpClient:
    """Return a client whose connections are closed with it, and are not shared with forks."""
    client = HttpClient(server, timeout)
    reset_in_forks(client)
    weakref.finalize(client, _close_all, client.idle)
    if server.token() and not server.address.is_private:
        logger.warning(
            "%s: the token in %s is not sent, since everybody in between could read it: use "
            "https://",
            server.address.shown,
            server.token_variable,
        )
    return client


def _close_all(connections: deque[http.client.HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _content(response: http.client.HTTPResponse, limit: int) -> bytes:
    """Read a response to its end, but no more than ``limit`` bytes."""
    parts: list[bytes] = []
    size = 0
    while part := response.read1(2**16):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise OverlongError
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)
