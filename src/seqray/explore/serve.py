"""The same page from a server on this computer, which also sends typed words to the box.

Only two things can be reached: the page, and ``POST /query``. A query has to come from the page
itself: other sites that a browser shows may not send one, nor may a name that somebody pointed at
this computer (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import queue
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import Future
from typing import Any, TypeAlias

import numpy as np

from seqray.automata.words import Words
from seqray.blackbox.protocol import BlackBox, allowed_length
from seqray.explore.page import page_policy
from seqray.fidelity.reference import Reference
from seqray.util.errors import (
    ArgumentError,
    BlackBoxError,
    MissingExtraError,
    SeqrayError,
    install_hint,
)

MAX_WORD_LENGTH = 500
"""The most symbols of a word that is sent to the box."""

MAX_BODY_BYTES = 20_000
"""The most bytes of a query."""

ANSWER_SECONDS = 30.0
"""How many seconds the box may take for an answer."""

REQUEST_SECONDS = 10.0
"""How long a request may take to arrive; then its connection is closed."""

MAX_WAITING = 256
"""How many queries may wait for the box, which answers one at a time; more are refused."""

MAX_CONNECTIONS = 512
"""How many connections may be open at a time; more are refused."""

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Asgi: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


class Refused(Exception):  # noqa: N818 - the page shows it, no failure
    """A query that is refused: the status, and the message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class BoxThread:
    """Queries a box in a thread of its own, one word at a time.

    A box that hangs holds up that thread and nothing else: it does not keep the program alive.

    Parameters
    ----------
    box
        The box.
    patience
        How many seconds it may take for an answer.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> box_thread = BoxThread(WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25]))
    >>> asyncio.run(box_thread.query([0, 1]))["weight"]
    0.03125
    """

    def __init__(self, box: BlackBox, *, patience: float = ANSWER_SECONDS) -> None:
        self.box, self.patience = box, patience
        self._queries: queue.Queue[tuple[Words, Future[dict[str, Any]]]] = queue.Queue()
        self._waiting = 0
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            words, future = self._queries.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._answer(words))
            except Exception as error:
                future.set_exception(error)
            except BaseException as error:  # sys.exit() in a box must not end this thread
                future.set_exception(_exited(error))

    def _answer(self, words: Words) -> dict[str, Any]:
        begin = time.perf_counter()
        reference = Reference.query(self.box, words)
        following = reference.next_symbol
        probabilities = None if following is None else following.T.tolist()
        seconds = round(time.perf_counter() - begin, 4)
        return {"weight": float(reference.weights[0]), "next": probabilities, "seconds": seconds}

    async def query(self, codes: list[int]) -> dict[str, Any]:
        """Return the box's weight of a word and, if it predicts, what comes next at every step."""
        if self._waiting >= MAX_WAITING:
            raise Refused(503, "the box is still busy with earlier words")
        alphabet = self.box.alphabet
        words = Words(alphabet, np.array(codes, np.int32), np.array([0, len(codes)]))
        future: Future[dict[str, Any]] = Future()
        self._waiting += 1
        self._queries.put((words, future))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.patience)
        except TimeoutError:
            raise Refused(
                504, f"the box has not answered within {self.patience:g} seconds"
            ) from None
        except SeqrayError as error:
            raise Refused(502, str(error)) from error
        except Exception as error:
            raise Refused(502, f"the box failed: {type(error).__name__}: {error}") from error
        finally:
            self._waiting -= 1


def _exited(error: BaseException) -> BlackBoxError:
    """Return the error of a box that tried to end the program."""
    what = f"sys.exit({error.code!r})" if isinstance(error, SystemExit) else type(error).__name__
    return BlackBoxError(
        f"the box tried to end the program ({what}) when it was queried on this word: expected an "
        "answer or an error; raise an exception instead"
    )


def application(
    page: str, box: BlackBox, *, host: str = "127.0.0.1", patience: float = ANSWER_SECONDS
) -> Asgi:
    """Return the server as an ASGI application.

    Parameters
    ----------
    page
        What `seqray.explore.to_html` made with ``is_live``.
    box
        Where typed words are sent.
    host
        The name or address that it is reached by, beside those of this computer.
    patience
        How many seconds the box may take for an answer.
    """
    starlette = load_web()
    box_thread = BoxThread(box, patience=patience)
    shown = page.encode()
    n_symbols, longest = len(box.alphabet), allowed_length(box, None, MAX_WORD_LENGTH)

    async def show(request: Any) -> Any:
        return starlette.responses.HTMLResponse(shown)

    async def query(request: Any) -> Any:
        try:
            _check_origin(request.headers)
            codes = _word(await _body(request), n_symbols, longest)
            return starlette.responses.JSONResponse(await box_thread.query(codes))
        except Refused as refused:
            headers = {"connection": "close"} if refused.status == 408 else None
            return starlette.responses.JSONResponse(
                {"error": str(refused)}, refused.status, headers
            )

    routes = [
        starlette.routing.Route("/", show, methods=["GET"]),
        starlette.routing.Route("/query", query, methods=["POST"]),
    ]
    app = starlette.applications.Starlette(routes=routes)
    app.router.redirect_slashes = False
    return _guarded(app, host)


def load_web() -> Any:
    """Import the packages that a server needs, or say how to get them."""
    try:
        import starlette.applications  # noqa: PLC0415 - only a server needs them
        import starlette.responses  # noqa: PLC0415
        import starlette.routing  # noqa: PLC0415
        import uvicorn  # noqa: F401, PLC0415
    except ImportError as error:
        raise MissingExtraError(
            f"a live page needs starlette and uvicorn: {install_hint('web')}"
        ) from error
    return starlette


# Which requests are allowed -----------------------------------------------------------------------


def _guarded(inner: Asgi, host: str) -> Asgi:
    """Refuse requests for other hosts, and give every answer its headers."""
    policy = f"{page_policy(is_live=True)}; frame-ancestors 'none'"
    extra = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }

    async def outer(scope: Message, receive: Receive, send: Send) -> None:
        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name.encode(), text.encode()) for name, text in extra.items()]
                message = {**message, "headers": [*message.get("headers", []), *headers]}
            await send(message)

        if scope["type"] == "http" and not _is_known(_header(scope, b"host"), host):
            await _refuse_host(send_more)
        else:
            await inner(scope, receive, send_more)

    return outer


def _header(scope: Message, name: bytes) -> str:
    values = [value for key, value in scope.get("headers", []) if key.lower() == name]
    return values[0].decode("latin-1") if len(values) == 1 else ""


async def _refuse_host(send: Send) -> None:
    text = json.dumps({"error": "this server only answers under its own address"}).encode()
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 421, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def _is_known(header: str, host: str) -> bool:
    """Whether a Host header names this server.

    Addresses always may: only names can be pointed elsewhere.

    >>> [_is_known(name, "box.lan") for name in ("localhost:8000", "[::1]:80", "box.lan", "a.com")]
    [True, True, True, False]
    """
    name = header[1:].partition("]")[0] if header[:1] == "[" else header.partition(":")[0]
    return name.lower() in ("localhost", host.lower()) or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _check_origin(headers: Mapping[str, str]) -> None:
    """Refuse what another site makes a browser send."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
    if site != "same-origin" or (origin is not None and origin != f"http://{headers['host']}"):
        raise Refused(403, "only the page itself may send queries")
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused(415, "expected application/json")


async def _body(request: Any) -> bytes:
    try:
        return await asyncio.wait_for(_all_of(request), REQUEST_SECONDS)
    except TimeoutError:
        raise Refused(
            408, f"the query was not complete after {REQUEST_SECONDS:g} seconds: send it again"
        ) from None


async def _all_of(request: Any) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise Refused(413, f"the query is longer than {MAX_BODY_BYTES:,} bytes")
    return body


def _word(body: bytes, n_symbols: int, longest: int) -> list[int]:
    """Read ``{"word": [codes]}``."""
    try:
        codes = json.loads(body)["word"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Refused(400, 'expected {"word": [numbers of symbols]}') from None
    if not isinstance(codes, list) or not all(type(code) is int for code in codes):
        raise Refused(400, 'expected {"word": [numbers of symbols]}')
    if len(codes) > longest:
        raise Refused(400, f"a word of {len(codes)} symbols is too long: {longest} at most")
    if not all(0 <= code < n_symbols for code in codes):
        raise Refused(400, f"expected numbers of symbols from 0 to {n_symbols - 1}")
    return codes


# Running ------------------------------------------------------------------------------------------


def open_port(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why there is none; port 0 takes a free one.

    >>> listening = open_port("127.0.0.1", 0)
    >>> listening.getsockname()[0]
    '127.0.0.1'
    >>> listening.close()
    """
    listening = None
    try:
        kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(kind, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(MAX_CONNECTIONS)
    except (OSError, UnicodeError) as error:
        if listening is not None:
            listening.close()
        why = getattr(error, "strerror", None) or error
        raise ArgumentError(
            f"cannot listen at {host}, port {port}: {why}: choose another --port, or 0 for a free "
            "one"
        ) from error
    return listening


def is_loopback(host: str) -> bool:
    """Whether only this computer can reach a host.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


class ImpatientProtocol(asyncio.Protocol):
    """Closes a connection on which a request does not arrive in time; uvicorn waits for ever.

    Parameters
    ----------
    inner
        A protocol of uvicorn, which does all else; its ``cycle`` is the request being answered.
    is_ending
        Whether the server ends: uvicorn does not close a connection that comes meanwhile.
    """

    def __init__(self, inner: Any, is_ending: Callable[[], bool]) -> None:
        self.inner, self.is_ending = inner, is_ending
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request, unless the server ends."""
        self.transport = transport
        self.inner.connection_made(transport)
        if self.is_ending():
            transport.close()
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        """Hand on what has come, and see whether that is all of a request's head."""
        self.inner.data_received(data)
        self._watch()

    def _watch(self) -> None:
        cycle = self.inner.cycle
        if cycle is not None and not cycle.response_complete:
            self._rest()
        elif self.timer is None:
            self.timer = asyncio.get_running_loop().call_later(REQUEST_SECONDS, self._give_up)

    def _rest(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _give_up(self) -> None:
        self.timer = None
        cycle = self.inner.cycle
        if cycle is None or cycle.response_complete:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._rest()
        self.inner.connection_lost(exc)

    def eof_received(self) -> None:
        """Hand on that nothing more comes."""
        self.inner.eof_received()

    def pause_writing(self) -> None:
        """Hand on that the other side reads slowly."""
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        """Hand on that it has caught up."""
        self.inner.resume_writing()


def server_of(app: Asgi) -> Any:
    """Return the server of uvicorn that answers for an application."""
    import uvicorn  # noqa: PLC0415 - only a server needs it
    from uvicorn.protocols.http.auto import AutoHTTPProtocol  # noqa: PLC0415

    def protocol(**settings: Any) -> ImpatientProtocol:
        return ImpatientProtocol(AutoHTTPProtocol(**settings), lambda: server.should_exit)

    kind: Any = protocol
    config = uvicorn.Config(
        app,
        http=kind,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
        limit_concurrency=MAX_CONNECTIONS,
    )
    server = uvicorn.Server(config)
    return server


def run(app: Asgi, listening: socket.socket) -> None:
    """Serve until Ctrl-C."""
    try:
        server_of(app).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # uvicorn has ended in good order, and hands the signal on
    finally:
        listening.close()
