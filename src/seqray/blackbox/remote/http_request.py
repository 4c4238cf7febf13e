"""One request to a server and what came of it: an answer, or which kind of failure."""

from __future__ import annotations

import email.utils
import http.client
import io
import ipaddress
import math
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

from seqray.blackbox.queried import FailedError
from seqray.blackbox.remote.wire import UnreadableError, read_json, shown
from seqray.util.errors import ArgumentError, BlackBoxError
from seqray.util.redaction import environment_secrets, hidden, redacted, secrets_in

CONNECTING = 10.0
"""The most seconds that a connection may take."""

LONGEST_WAIT = 600.0
"""The most seconds that a server may ask to wait."""

LONGEST_OPENING_WAIT = 60.0
"""The same while a box is opened, and no limit on time counts yet."""

BUSY = (429, 503)
"""Statuses that say: not now."""

STUMBLED = (408, 500, 502, 504)
"""Statuses of a server that failed, maybe on what it was asked, maybe by accident."""

REFUSED = (400, 413, 422)
"""Statuses of a server that does not like what it was asked."""

PIECE_SIZE = 2**14
"""Bytes of a request that are sent at once."""

HEAD_SIZE = 2**20
"""The most bytes that come with an answer and are none of it: headers, trailers, sizes of chunks;
beside these, up to seven for each byte of the answer, as chunks of one byte have."""


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
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """The keys in it."""

    @classmethod
    def of(cls, url: str) -> Address:
        """Read an address, or say what is wrong with it; what it shows holds no password."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
            host.encode("idna")
        except ValueError as error:
            reason = "" if "@" in url else f": {error}"  # which may show a part of a password
            raise ArgumentError(
                f"this address cannot be read{reason}: expected http://HOST/PATH"
            ) from error
        if parts.username is not None or parts.password is not None:
            raise ArgumentError(
                f"the address of {host} holds a name or password, which would be written to run "
                "folders: leave it out, and put a token in the environment variable SEQRAY_TOKEN"
            )
        is_host = host and host.isprintable() and " " not in host
        if parts.scheme not in ("http", "https") or not is_host or parts.fragment:
            raise ArgumentError(f"{redacted(url)}: expected http://HOST/PATH or https://HOST/PATH")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        target = quote(target, safe="/?%:@!$&'()*+,;=~")
        place = redacted(f"{parts.scheme}://{parts.netloc}{parts.path}")
        secrets = tuple(secrets_in(url))
        return cls(parts.scheme == "https", host, port, target, place, secrets)

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
    process: int = field(default_factory=os.getpid)
    """Which they belong to."""

    def answered(self) -> None:
        """Note that the server is there."""
        self.n_answered += 1
        self.n_silent = 0

    def check_process(self, who: str) -> None:
        """Refuse to go on in a forked process, where nobody is left who asks."""
        if self.process != os.getpid():
            raise BlackBoxError(
                f"{who} was being asked when this process was forked, and only the one before the "
                "fork gets the answers: ask again in this one"
            )

    def end(self) -> None:
        """Stop waiting, and wake whoever still waits for an answer."""
        self.stop.set()
        if self.process != os.getpid():
            return  # this is a fork: they are another's
        for connection in list(self.connections):
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)


class Incoming(io.RawIOBase):
    """What comes from a socket until a deadline, and up to a number of bytes."""

    def __init__(self, connection: socket.socket, deadline: float, limit: int) -> None:
        self._connection, self._deadline, self._n_left = connection, deadline, limit
        self._raw = connection.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Wait for more, as long as there is time."""
        self._connection.settimeout(seconds_left(self._deadline))
        n = self._raw.readinto(buffer)
        self._n_left -= n or 0
        if self._n_left < 0:
            raise OverlongError
        return n

    def close(self) -> None:
        """Let go of the socket."""
        super().close()
        self._raw.close()

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return what `http.client` reads."""
        return io.BufferedReader(self)


class OverlongError(Exception):
    """A server sends more than any answer has."""


def seconds_left(deadline: float) -> float:
    """Return the time until a deadline; `TimeoutError` if there is none left."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


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
        except OverlongError as error:
            raise BlackBoxError(
                f"{self.who} answered with more than {limit:,} bytes, which is far more than "
                "was asked for: does it answer in the right form?"
            ) from error
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
        if reply.status != 200:
            self._refuse(reply, turn)
        return reply.content

    def hide(self, text: str) -> str:
        """Return what a server said without the token and the keys that it was sent."""
        return hidden(text, [self.token(), *self.address.secrets, *environment_secrets()])

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

    def forget(self) -> None:
        """Drop connections that another process uses: after a fork, answers to both would mix."""
        self.idle.clear()

    def _exchange(self, body: bytes, limit: int, turn: Turn) -> Reply:
        """Send one request; a kept connection that the server has closed is no failure."""
        deadline = time.monotonic() + self.timeout
        while True:
            connection, kept = self._connection(deadline)
            turn.connections.add(connection)
            try:
                reply = self._send(connection, body, limit, deadline)
                self.idle.append(connection)
                return reply
            except BaseException as error:
                connection.close()
                if not (kept and isinstance(error, ConnectionError)) or turn.stop.is_set():
                    raise
            finally:
                turn.connections.discard(connection)

    def _connection(self, deadline: float) -> tuple[http.client.HTTPConnection, bool]:
        with suppress(IndexError):
            return self.idle.pop(), True
        host, port = self.address.host, self.address.port
        limit = min(CONNECTING, seconds_left(deadline))
        if not self.address.tls:
            return http.client.HTTPConnection(host, port, timeout=limit), False
        return http.client.HTTPSConnection(host, port, timeout=limit, context=self._tls), False

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def _send(
        self, connection: http.client.HTTPConnection, body: bytes, limit: int, deadline: float
    ) -> Reply:
        """Send a request and read all of what comes back, everything before the deadline."""
        headers = {"Accept": "application/json", "User-Agent": "seqray"}
        if body:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        if (token := self.token()) and self.address.is_private:
            headers["Authorization"] = f"Bearer {token}"
        if connection.sock is None:
            try:
                connection.connect()
            except TimeoutError as error:
                text = f"cannot be reached: no connection in {connection.timeout:.3g} s"
                raise RetryError(text) from error
        connection.sock.settimeout(seconds_left(deadline))
        connection.request("POST" if body else "GET", self.address.target, headers=headers)
        for begin in range(0, len(body), PIECE_SIZE):
            connection.sock.settimeout(seconds_left(deadline))
            connection.send(body[begin : begin + PIECE_SIZE])

        def response_class(
            sock: Any, debuglevel: int = 0, method: str | None = None, url: str | None = None
        ) -> http.client.HTTPResponse:
            incoming: Any = Incoming(sock, deadline, 8 * limit + HEAD_SIZE)
            return http.client.HTTPResponse(incoming, method=method)

        connection.response_class = response_class  # type: ignore[assignment]
        response = connection.getresponse()
        content = self._content(response, limit)
        reason = http.client.responses.get(response.status, "")
        return Reply(response.status, reason, response.headers, content)

    def _content(self, response: http.client.HTTPResponse, limit: int) -> bytes:
        """Read an answer to its end, but no more than allowed."""
        parts: list[bytes] = []
        size = 0
        while part := response.read1(2**16):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise OverlongError
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        response.close()
        return b"".join(parts)

    def _refuse(self, reply: Reply, turn: Turn) -> None:
        """Raise what a status other than 200 stands for."""
        status = reply.status
        longest = LONGEST_OPENING_WAIT if turn.opening else LONGEST_WAIT
        text = f"answered {status} {reply.reason}{self._said(reply)}"
        if status in BUSY:
            raise RetryError(text, wait=self._wait(reply, longest))
        if status in STUMBLED:
            raise RetryError(text, halve=True, wait=self._wait(reply, longest))
        if status in REFUSED:
            raise FailedError(f"it {text}")
        hint = {401: self._about_token(), 403: self._about_token(), 404: "is the path right?"}
        hint[405] = "expected a server that takes GET and POST (docs/boxes/http.md)"
        if 300 <= status < 400:
            hint[status] = f"open {self._elsewhere(reply) or 'where it is'} instead"
        raise BlackBoxError(f"{self.who} {text}: {hint.get(status, 'expected 200')}")

    def _elsewhere(self, reply: Reply) -> str:
        """Return where a server sends one, without the query, where people put keys."""
        with suppress(ValueError):
            where = urlsplit(reply.headers.get("Location", ""))
            host = f"{where.scheme}://{where.hostname}" if where.hostname else ""
            return self.hide(host + where.path)
        return ""

    def _said(self, reply: Reply) -> str:
        """Return what a server says of its failure."""
        with suppress(UnreadableError):
            document: Any = read_json(reply.content)
            if isinstance(document, dict):
                document = document.get("error", document.get("detail", document))
            return f", {shown(document, self.hide)}"
        return f", {shown(reply.content, self.hide)}" if reply.content else ""

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

    def _wait(self, reply: Reply, longest: float) -> float:
        """Return how many seconds a server asks to wait, if it is not too long."""
        wait = seconds_of(reply.headers.get("Retry-After", "").strip())
        if wait > longest:
            raise BlackBoxError(
                f"{self.who} answered {reply.status} {reply.reason} and asks to be left alone for "
                f"{min(wait, 1e12):.0f} s: try again later"
            )
        return wait


def seconds_of(text: str) -> float:
    """Return how many seconds a ``Retry-After`` stands for; 0 where it says nothing.

    >>> seconds_of("120"), seconds_of("9999999999"), seconds_of("1.5"), seconds_of("soon")
    (120.0, 9999999999.0, 1.5, 0.0)
    """
    try:
        wait = float(text)
    except ValueError:
        wait = 0.0
        with suppress(ValueError, OverflowError):
            wait = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
    return 0.0 if math.isnan(wait) else max(0.0, wait)
