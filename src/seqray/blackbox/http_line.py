"""One request to a server and what came of it: an answer, or which kind of failure."""

from __future__ import annotations

import email.utils
import http.client
import ipaddress
import os
import random
import socket
import ssl
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from seqray.blackbox.asked import FailedError
from seqray.blackbox.wire import UnreadableError, read_json, shown
from seqray.errors import ArgumentError, BlackBoxError

CONNECTING = 10.0
"""The most seconds that a connection may take."""

LONGEST_WAIT = 600.0
"""The most seconds that a server may ask to wait."""

BUSY = (429, 503)
"""Statuses that say: not now."""

STUMBLED = (408, 500, 502, 504)
"""Statuses of a server that failed, maybe on what it was asked, maybe by chance."""

REFUSED = (400, 413, 422)
"""Statuses of a server that does not like what it was asked."""

NUMBERS = frozenset('0123456789+-.eE,[]{}":answer')
"""What answers are made of: a token of these alone is not looked for in them."""


class RetryError(Exception):
    """Asking again may help.

    Parameters
    ----------
    text
        What the server did.
    halve
        Whether asking about fewer words may help too.
    silent
        Whether nothing at all came back in time.
    wait
        How many seconds the server wants to be left alone.
    """

    def __init__(
        self, text: str, *, halve: bool = False, silent: bool = False, wait: float = 0.0
    ) -> None:
        super().__init__(text)
        self.halve, self.silent, self.wait = halve, silent, wait

    def delay(self, backoff: float, attempt: int) -> float:
        """Return how long to wait: doubled each time, and never quite the same for two."""
        return max(self.wait, backoff * float(2**attempt)) * random.uniform(1, 1.5)


@dataclass(frozen=True)
class Address:
    """Where a server is."""

    tls: bool
    host: str
    port: int | None
    target: str = field(repr=False)
    """What is asked for there: the path and the query."""
    shown: str
    """The address without the query, where people put keys."""

    @classmethod
    def of(cls, url: str) -> Address:
        """Read an address, or say what is wrong with it; what it shows holds no password."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
            host.encode("idna")
        except ValueError as error:
            raise ArgumentError(f"this address cannot be read: {error}") from error
        if parts.username is not None or parts.password is not None:
            raise ArgumentError(
                f"the address of {host} holds a name or password, which would be written to run "
                "folders: leave it out, and put a token in the environment variable SEQRAY_TOKEN"
            )
        is_host = host and host.isprintable() and " " not in host
        if parts.scheme not in ("http", "https") or not is_host or parts.fragment:
            raise ArgumentError(f"{url}: expected http://HOST/PATH or https://HOST/PATH")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        target = quote(target, safe="/?%:@!$&'()*+,;=~")
        place = f"{parts.scheme}://{parts.netloc}{parts.path}"
        return cls(parts.scheme == "https", host, port, target, place)

    @property
    def is_private(self) -> bool:
        """Whether nobody can listen on the way there."""
        if self.tls or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


@dataclass(eq=False)
class Turn:
    """What the requests of one question share."""

    opening: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    n_answered: int = 0
    n_silent: int = 0
    """How many requests in a row got nothing back."""
    connections: set[http.client.HTTPConnection] = field(default_factory=set)
    """Those in use."""

    def answered(self) -> None:
        """Note that the server is there."""
        self.n_answered += 1
        self.n_silent = 0

    def end(self) -> None:
        """Stop waiting, and wake whoever still waits for an answer."""
        self.stop.set()
        for connection in list(self.connections):
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    reason: str
    headers: http.client.HTTPMessage
    content: bytes


@dataclass(frozen=True, eq=False)
class Line:
    """The way to a server, with connections that are kept for the next request."""

    address: Address
    timeout: float
    token_variable: str
    idle: deque[http.client.HTTPConnection] = field(default_factory=deque, repr=False)

    @property
    def who(self) -> str:
        """Who answers."""
        return f"the server {self.address.shown}"

    def ask(self, body: bytes, limit: int, turn: Turn) -> bytes:
        """Send a request and return the answer of at most ``limit`` bytes.

        Without a body the description is asked for. `RetryError` is raised where asking again may
        help, `FailedError` where asking about fewer words may, `BlackBoxError` where nothing will.
        """
        try:
            reply = self._exchange(body, limit, turn)
        except TimeoutError as error:
            turn.n_silent += 1
            text = f"gave no answer in {self.timeout:g} s"
            raise RetryError(text, halve=True, silent=True) from error
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
            raise RetryError("cut the connection", halve=True) from error
        except ssl.SSLError as error:
            raise BlackBoxError(self._about_tls(error)) from error
        except (ConnectionRefusedError, socket.gaierror) as error:
            text = f"cannot be reached: {error.strerror or error}"
            if turn.opening:  # most likely a wrong address
                hint = "is it running, and is the address right?"
                raise BlackBoxError(f"{self.who} {text}: {hint}") from error
            raise RetryError(text) from error
        except (ConnectionError, http.client.HTTPException) as error:
            raise RetryError(f"cut the connection ({type(error).__name__})", halve=True) from error
        except OSError as error:
            raise RetryError(f"cannot be reached: {error.strerror or error}") from error
        content, token = reply.content, self.token()
        if token and (reply.status != 200 or not NUMBERS.issuperset(token)):
            content = content.replace(token.encode(), b"***")
        if reply.status != 200:
            self._refuse(reply._replace(content=content))
        return content

    def token(self) -> str:
        """Return the token as the environment has it now; it is kept nowhere."""
        token = os.environ.get(self.token_variable, "").strip()
        if not all("!" <= character <= "~" for character in token):
            raise ArgumentError(
                f"the environment variable {self.token_variable}: expected a token of printable "
                "ASCII characters without spaces (it is not shown here)"
            )
        return token

    def close(self) -> None:
        """Close the connections that are kept."""
        while self.idle:
            self.idle.pop().close()

    def _exchange(self, body: bytes, limit: int, turn: Turn) -> Reply:
        """Send one request; a kept connection that the server has closed is no failure."""
        while True:
            connection, kept = self._connection()
            turn.connections.add(connection)
            try:
                reply = self._send(connection, body, limit)
                self.idle.append(connection)
                return reply
            except BaseException as error:
                connection.close()
                if not (kept and isinstance(error, ConnectionError)) or turn.stop.is_set():
                    raise
            finally:
                turn.connections.discard(connection)

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        with suppress(IndexError):
            return self.idle.pop(), True
        host, port, limit = self.address.host, self.address.port, min(CONNECTING, self.timeout)
        if not self.address.tls:
            return http.client.HTTPConnection(host, port, timeout=limit), False
        return http.client.HTTPSConnection(host, port, timeout=limit, context=self._tls), False

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def _send(self, connection: http.client.HTTPConnection, body: bytes, limit: int) -> Reply:
        headers = {"Accept": "application/json", "User-Agent": "seqray"}
        if body:
            headers["Content-Type"] = "application/json"
        if (token := self.token()) and self.address.is_private:
            headers["Authorization"] = f"Bearer {token}"
        if connection.sock is None:
            try:
                connection.connect()
            except TimeoutError as error:
                text = f"cannot be reached: no connection in {connection.timeout:g} s"
                raise RetryError(text) from error
        connection.sock.settimeout(self.timeout)
        deadline = time.monotonic() + self.timeout
        connection.request("POST" if body else "GET", self.address.target, body or None, headers)
        response = connection.getresponse()
        content = self._content(response, limit, deadline)
        reason = http.client.responses.get(response.status, "")
        return Reply(response.status, reason, response.headers, content)

    def _content(self, response: http.client.HTTPResponse, limit: int, deadline: float) -> bytes:
        """Read an answer to its end, however slowly it comes, but no longer than allowed."""
        parts: list[bytes] = []
        size = 0
        while part := response.read1(2**16):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise BlackBoxError(
                    f"{self.who} answered with more than {limit:,} bytes, which is far more than "
                    "was asked for: does it answer in the right form?"
                )
            if time.monotonic() > deadline:
                raise TimeoutError
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        response.close()
        return b"".join(parts)

    def _refuse(self, reply: Reply) -> None:
        """Raise what a status other than 200 stands for."""
        status = reply.status
        text = f"answered {status} {reply.reason}{self._said(reply)}"
        if status in BUSY:
            raise RetryError(text, wait=self._wait(reply))
        if status in STUMBLED:
            raise RetryError(text, halve=True, wait=self._wait(reply))
        if status in REFUSED:
            raise FailedError(f"it {text}")
        hint = {401: self._about_token(), 403: self._about_token(), 404: "is the path right?"}
        hint[405] = "expected a server that takes GET and POST (docs/boxes/http.md)"
        if 300 <= status < 400:
            where = urlsplit(reply.headers.get("Location", ""))
            there = f"{where.scheme}://{where.hostname}{where.path}" if where.hostname else ""
            hint[status] = f"open {there or where.path or 'where it is'} instead"
        raise BlackBoxError(f"{self.who} {text}: {hint.get(status, 'expected 200')}")

    def _said(self, reply: Reply) -> str:
        """Return what a server says of its failure."""
        with suppress(UnreadableError):
            document: Any = read_json(reply.content)
            if isinstance(document, dict):
                document = document.get("error", document.get("detail", document))
            return f", {shown(document)}"
        return f", {shown(reply.content)}" if reply.content else ""

    def _about_token(self) -> str:
        name = self.token_variable
        if not self.token():
            return f"no token was sent: put yours in the environment variable {name}"
        if not self.address.is_private:
            return (
                f"the token in the environment variable {name} was not sent, since everybody on "
                "the way could read it: use https://"
            )
        return f"the token in the environment variable {name} was sent and is not accepted"

    def _about_tls(self, error: ssl.SSLError) -> str:
        if isinstance(error, ssl.SSLCertVerificationError):
            return (
                f"{self.who} has a certificate that cannot be trusted: {error.verify_message}; "
                "where you trust who signed it, name their certificate file in the environment "
                "variable SSL_CERT_FILE"
            )
        return (
            f"{self.who} does not speak TLS as expected: {error.reason or error}; "
            "is it http:// rather than https://?"
        )

    def _wait(self, reply: Reply) -> float:
        """Return how many seconds a server asks to wait."""
        text = reply.headers.get("Retry-After", "").strip()
        wait = 0.0
        if text.isdecimal() and len(text) < 10:
            wait = float(text)
        elif text:
            with suppress(ValueError, OverflowError):
                wait = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        if wait > LONGEST_WAIT:
            raise BlackBoxError(
                f"{self.who} answered {reply.status} {reply.reason} and asks to be left alone for "
                f"{wait:.0f} s: try again later"
            )
        return max(0.0, wait)
