"""How long a server is waited for, how much of it is read, and who may use a connection."""

import threading
import time

import pytest

import seqray
from forks import forked
from same_gru.server import LENGTHS, NotingHandler, handler, quick, serving
from seqray.blackbox.remote.http import http_box
from seqray.util.errors import BlackBoxError, Stopped

WORDS = ["a" * n for n in range(10)]
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def sending(begin, more, pause):
    """Return a handler that begins an answer, and never gets to its end."""

    def trouble(self):
        self.body()
        self.wfile.write(begin)
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            try:
                self.wfile.write(more)
            except OSError:
                break
            time.sleep(pause)
        self.close_connection = True

    return handler(trouble)


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"HTTP/1.1 200 ", b"O"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (CHUNKED, b"0"),
        (CHUNKED + b"0\r\n", b"X: y\r\n"),
    ],
    ids=["status", "content", "header", "continue", "chunk size", "trailer"],
)
def test_nothing_that_drips_is_waited_for_longer_than_allowed(begin, more):
    with serving(LENGTHS, sending(begin, more, 0.02)) as server:
        box = quick(server.url, timeout=0.2, retries=0)
        since = time.monotonic()
        with pytest.raises(BlackBoxError, match=r"gave no answer in 0.2 s"):
            box.weights(["a"])
        assert time.monotonic() - since < 1


@pytest.mark.parametrize("more", [b"X: y\r\n", b"1\r\nx\r\n"], ids=["trailers", "chunks"])
def test_an_answer_has_an_end_however_fast_it_comes(more):
    begin = CHUNKED + (b"0\r\n" if more[:1] == b"X" else b"")
    with (
        serving(LENGTHS, sending(begin, more * 10_000, 0)) as server,
        pytest.raises(BlackBoxError, match=r"answered with more than 65,600 bytes"),
    ):
        quick(server.url, retries=0).weights(["a"])


# Limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", ["wants a wait", "says nothing"])
@pytest.mark.parametrize("limit", ["seconds", "stop"])
def test_a_server_is_not_waited_for_beyond_the_limits(monkeypatch, trouble, limit):
    monkeypatch.setattr("seqray.blackbox.remote.waiting.FINISHING_SECONDS", 0.05)
    free, stop = threading.Event(), threading.Event()

    def wait(self):
        self.body()
        if trouble == "says nothing":
            free.wait(10)
        self.say(503, b"", ("Content-Length", "0"), ("Retry-After", "590"))

    with serving(LENGTHS, handler(wait)) as server:
        box = http_box(server.url)
        threading.Timer(0.2, stop.set).start()
        limits = {"seconds": 0.2} if limit == "seconds" else {"stop": stop}
        begin = time.monotonic()
        with pytest.raises(Stopped, match=r"the time of 0.2 s is over|interrupted"):
            seqray.extract(box, **limits)
        assert time.monotonic() - begin < 2
        free.set()


def test_an_answer_may_still_arrive_shortly_after_the_time_is_over():
    late = handler(lambda self: time.sleep(0.4) or True)
    with serving(LENGTHS, late) as server:
        box = seqray.blackbox.queries.oracle.heeding(
            http_box(server.url), seqray.blackbox.queries.oracle.Meter(seconds=0.1)
        )
        assert box.weights(["aa"]).tolist() == [2]


def test_a_box_that_is_opened_is_not_waited_for_over_a_minute():
    class Busy(NotingHandler):
        def do_GET(self):  # noqa: N802
            self.say(503, b"", ("Content-Length", "0"), ("Retry-After", "61"))

    with (
        serving(LENGTHS, Busy) as server,
        pytest.raises(BlackBoxError, match="wants to be left alone for 61 s: try again later"),
    ):
        http_box(server.url)


# Forks ------------------------------------------------------------------------------------------


def test_a_forked_process_uses_connections_of_its_own():
    places = []
    noting = handler(lambda self: places.append(self.client_address) or True)
    with serving(LENGTHS, noting) as server:
        box = http_box(server.url)
        box.weights(["a"])
        assert forked(lambda: box.weights(["aa"]).tolist() == [2])
        assert box.weights(["aaa"]).tolist() == [3]
    assert places[0] == places[2] != places[1]


def test_a_question_that_a_fork_has_cut_off_is_not_waited_for():
    with serving(LENGTHS) as server:
        box = http_box(server.url, batch_size=1, concurrency=1)
        answers = box.answers(box.alphabet.words(WORDS))
        next(answers)

        def goes_on():
            with pytest.raises(BlackBoxError, match="when this process was forked"):
                next(answers)
            return True

        assert forked(goes_on)
        assert len(list(answers)) == 9
