"""Live HTTP servers: `examples/http_server.py` as it is, or in trouble on purpose."""

import importlib.util
import random
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import seqray
from seqray.blackbox.remote.http import http_box

LENGTHS = seqray.black_box(lambda words: [len(word) for word in words], "ab")
EXAMPLE = Path(__file__).parents[2] / "examples" / "http_server.py"


def example():
    """Return the example's module."""
    if "http_server" not in sys.modules:
        spec = importlib.util.spec_from_file_location("http_server", EXAMPLE)
        sys.modules["http_server"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["http_server"])
    return sys.modules["http_server"]


@contextmanager
def serving(box, handler=None, **about):
    """Serve a box on a thread; the server knows how often it was queried."""
    with example().Server(box, **about) as server:
        if handler is not None:
            server.RequestHandlerClass = handler
        server.lock, server.n_posts, server.batches = threading.Lock(), 0, []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def served(box, **about):
    """Serve a box until the process ends, and return where."""
    server = example().Server(box, **about)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.url


class NotingHandler(example().Handler):
    """Counts requests, and lets a test put trouble before an answer."""

    def do_POST(self):  # noqa: N802
        """Record the request, then answer or make trouble."""
        with self.server.lock:
            self.server.n_posts += 1
        self.trouble()

    def trouble(self):
        """Answer; a test says otherwise."""
        super().do_POST()

    def body(self):
        """Read what was sent."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def say(self, status, content, *headers):
        """Answer with any bytes, and a length unless there is another header."""
        self.send_response(status)
        for name, value in headers or [("Content-Length", str(len(content)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def cut(self):
        """Close the connection, whatever was sent."""
        self.close_connection = True
        self.connection.close()


def handler(trouble):
    """Return a handler whose POST does this, and answers where it returns something."""

    class Troubled(NotingHandler):
        def trouble(self):
            if trouble(self) is not None:
                super().trouble()

    return Troubled


def opening(status, content, *headers):
    """Return a handler whose GET answers this."""

    class Opening(NotingHandler):
        def do_GET(self):  # noqa: N802
            self.say(status, content, *headers)

    return Opening


def once(*answer):
    """Return a handler that gives this answer first, and the right one later."""

    def trouble(self):
        if self.server.n_posts > 1:
            return True
        self.body()
        self.say(*answer)
        return None

    return handler(trouble)


def quick(url, **options):
    """Open a server, without much patience."""
    return http_box(url, **{"backoff": 0.001, "timeout": 5} | options)


def chaos(seed, hang):
    """Return a handler with which 30 % goes wrong, in every form, and a list of what did."""
    rng, lock, happened = random.Random(seed), threading.Lock(), []

    class Chaos(NotingHandler):
        def trouble(self):
            with lock:
                at = rng.random()
            for below, name in PLAN:
                if at < below:
                    happened.append(name)
                    getattr(self, name)()
                    return
            super().trouble()

        def error(self):
            self.body()
            self.say(500, b"out of luck")

        def overrun(self):
            self.body()
            self.say(429, b"", ("Content-Length", "0"), ("Retry-After", "0"))

        def away(self):
            self.body()
            self.say(503, b"")

        def cut_before(self):
            self.body()
            self.cut()

        def cut_within(self):
            self.body()
            self.say(200, b'{"answers": [0.25, ', ("Content-Length", "1000"))
            self.cut()

        def cut_unseen(self):
            self.body()
            self.say(200, b'{"answers": [0.25, ', ("Connection", "close"))
            self.cut()

        def hang(self):
            self.body()
            time.sleep(hang)
            self.cut()

        def slow(self):
            time.sleep(hang / 10)
            super().trouble()

    return Chaos, happened


PLAN = (
    (0.07, "error"),
    (0.12, "overrun"),
    (0.16, "away"),
    (0.20, "cut_before"),
    (0.25, "cut_within"),
    (0.27, "cut_unseen"),
    (0.30, "hang"),
    (0.40, "slow"),
)
"""How often what goes wrong: 30 % in all, and some answers are slow."""
