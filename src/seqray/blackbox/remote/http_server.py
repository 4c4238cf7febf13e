"""Where a server is, which token it gets, and what its failures mean."""

from __future__ import annotations

import email.utils
import http.client
import ipaddress
import math
import os
import random
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from seqray.blackbox.queried import FailedError
from seqray.blackbox.remote.wire import UnreadableError, read_json, shown
from seqray.util.errors import ArgumentError, BlackBoxError
from seqray.util.redaction import environment_secrets, hidden, redacted, secrets_in

BUSY_STATUSES = (429, 503)
"""HTTP statuses of a server that is busy: the same request may work later."""

FAILURE_STATUSES = (408, 500, 502, 504)
"""HTTP statuses of a server that failed, perhaps because of one of the words."""

REFUSAL_STATUSES = (400, 413, 422)
"""HTTP statuses of a server that refuses a request: fewer words may work."""


@dataclass(frozen=True)
class Address:
    """The address of a server; `Address.of` reads a URL."""

    tls: bool
    host: str
    port: int | None
    target: str = field(repr=False)
    """The path and the query."""
    shown: str
    """The address without the query, which may hold keys."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """The keys in the URL."""

    @classmethod
    def of(cls, url: str) -> Address:
        """Read a URL, or raise an error that says what is wrong and shows no password."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
            host.encode("idna")
            url.encode()  # half a character, of bytes that are no UTF-8, cannot be sent
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
        """Whether nobody can listen to the connection: TLS, or this machine."""
        if self.tls or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class RetryError(Exception):
    """A request failed, and sending it again may help.

    Parameters
    ----------
    text
        What the server did.
    halve
        Whether a request with fewer words may help too.
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
        """Return how many seconds to wait: doubled with each attempt, with random jitter."""
        return max(self.wait, backoff * float(2**attempt)) * random.uniform(1, 1.5)


class RefusedError(BlackBoxError):
    """A server answered with a status that no other request will change."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class Reply(NamedTuple):
    """The response of a server."""

    status: int
    reason: str
    headers: http.client.HTTPMessage
    content: bytes


@dataclass(frozen=True)
class Server:
    """A server, its token, and the errors that its responses stand for."""

    address: Address
    token_variable: str

    @property
    def who(self) -> str:
        """The server's name in messages."""
        return f"the server {self.address.shown}"

    def token(self) -> str:
        """Return the token that the environment holds now; it is stored nowhere."""
        token = os.environ.get(self.token_variable, "").strip()
        if not all("!" <= character <= "~" for character in token):
            raise ArgumentError(
                f"the environment variable {self.token_variable}: expected a token of printable "
                "ASCII characters without spaces (it is not shown here)"
            )
        return token

    def hide(self, text: str) -> str:
        """Return a server's text without the token and the keys that were sent to it."""
        return hidden(text, [self.token(), *self.address.secrets, *environment_secrets()])

    def failure(self, reply: Reply, max_wait: float) -> Exception:
        """Return the error that a status other than 200 stands for.

        A `RetryError` where the same request may work later, a `FailedError` where fewer words
        may, a `BlackBoxError` where neither will. A server that wants a wait of more
        than ``max_wait`` seconds is not waited for.
        """
        text = f"answered {reply.status} {reply.reason}{self._explanation(reply)}"
        if reply.status in REFUSAL_STATUSES:
            return FailedError(f"it {text}")
        if reply.status in BUSY_STATUSES + FAILURE_STATUSES:
            wait = retry_after_seconds(reply.headers.get("Retry-After", "").strip())
            if wait <= max_wait:
                return RetryError(text, halve=reply.status in FAILURE_STATUSES, wait=wait)
            return BlackBoxError(
                f"{self.who} answered {reply.status} {reply.reason} and wants to be left alone for "
                f"{min(wait, 1e12):.0f} s: try again later"
            )
        return RefusedError(f"{self.who} {text}: {self._advice(reply)}", reply.status)

    def tls_failure(self, error: ssl.SSLError) -> BlackBoxError:
        """Return the error that a failed TLS handshake stands for."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return BlackBoxError(
                f"{self.who} has a certificate that cannot be trusted: {error.verify_message}; "
                "where you trust who signed it, name their certificate file in the environment "
                "variable SSL_CERT_FILE"
            )
        return BlackBoxError(
            f"{self.who} does not speak TLS as expected: {error.reason or error}; "
            "is it http:// rather than https://?"
        )

    def _explanation(self, reply: Reply) -> str:
        """Return what the server says about its failure."""
        with suppress(UnreadableError):
            document: Any = read_json(reply.content)
            if isinstance(document, dict):
                document = document.get("error", document.get("detail", document))
            return f", {shown(document, self.hide)}"
        return f", {shown(reply.content, self.hide)}" if reply.content else ""

    def _advice(self, reply: Reply) -> str:
        """Return what to do about a status that no other request will change."""
        if 300 <= reply.status < 400:
            return f"open {self._redirect(reply) or 'where it is'} instead"
        if reply.status in (401, 403):
            return self._token_advice()
        return {
            404: "is the path right?",
            405: "expected a server that takes GET and POST (docs/boxes/http.md)",
        }.get(reply.status, "expected 200")

    def _redirect(self, reply: Reply) -> str:
        """Return where a server redirects to, without the query, which may hold keys."""
        with suppress(ValueError):
            where = urlsplit(reply.headers.get("Location", ""))
            host = f"{where.scheme}://{where.hostname}" if where.hostname else ""
            return self.hide(host + where.path)
        return ""

    def _token_advice(self) -> str:
        name = self.token_variable
        if not self.token():
            return f"no token was sent: put yours in the environment variable {name}"
        if not self.address.is_private:
            return (
                f"the token in the environment variable {name} was not sent, since "
                "everybody in between could read it: use https://"
            )
        return f"the token in the environment variable {name} was sent and is not accepted"


def retry_after_seconds(text: str) -> float:
    """Return how many seconds a ``Retry-After`` header stands for; 0 where it cannot be read.

    >>> [retry_after_seconds(text) for text in ("120", "9999999999", "1.5", "soon")]
    [120.0, 9999999999.0, 1.5, 0.0]
    """
    try:
        wait = float(text)
    except ValueError:
        wait = 0.0
        with suppress(ValueError, OverflowError):
            wait = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
    return 0.0 if math.isnan(wait) else max(0.0, wait)
