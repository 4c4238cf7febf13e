"""The live server: what it answers, and what it does not let in."""

import asyncio
import builtins
import contextlib
import http.client
import json
import socket
import threading
import time

import pytest

import seqray
from explore.subjects import machine, real_box
from seqray.explore import serve
from seqray.explore.page import to_html
from seqray.util.errors import ArgumentError, MissingExtraError

starlette = pytest.importorskip("starlette.testclient")
uvicorn = pytest.importorskip("uvicorn")

HERE = "http://127.0.0.1:8765"


def client_of(box, **settings):
    app = serve.application("<!DOCTYPE html>the page", box, **settings)
    return starlette.TestClient(app, base_url=HERE)


@pytest.fixture
def client():
    return client_of(machine())


def ask(client, word, **headers):
    return client.post("/query", json={"word": word}, headers=headers)


# What it answers ----------------------------------------------------------------------------------


def test_the_page_is_served_with_a_strict_policy(client):
    got = client.get("/")
    assert got.status_code == 200
    assert got.text == "<!DOCTYPE html>the page"
    assert got.headers["content-type"] == "text/html; charset=utf-8"
    policy = got.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["cache-control"] == "no-store"


def test_a_word_is_asked_of_the_box(client):
    said = ask(client, [0, 1, 3]).json()
    assert said["weight"] == pytest.approx(machine().weight("abd"), rel=1e-12)
    assert said["next"] == pytest.approx(machine().next_symbol(["", "a", "ab", "abd"]), rel=1e-9)
    assert said["seconds"] >= 0
    assert ask(client, []).json()["weight"] == pytest.approx(machine().weight(""))


def test_a_box_of_numbers_says_nothing_about_next_symbols():
    said = ask(client_of(real_box()), [0, 0, 1]).json()
    assert said["weight"] == 1.5
    assert said["next"] is None


# What it refuses ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/favicon.ico", "/query/", "/../etc/passwd", "/static/page.css"])
def test_nothing_else_is_there(client, path):
    got = client.get(path)
    assert got.status_code == 404
    assert got.headers["x-content-type-options"] == "nosniff"


def test_only_the_right_methods_are_allowed(client):
    assert client.get("/query").status_code == 405
    assert client.post("/").status_code == 405
    assert client.put("/query", json={"word": []}).status_code == 405


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "localhost.evil.example"])
def test_another_host_is_refused(client, host):
    for got in (client.get("/", headers={"host": host}), ask(client, [0], host=host)):
        assert got.status_code == 421
        assert "own address" in got.json()["error"]


@pytest.mark.parametrize("host", ["localhost:8765", "LOCALHOST", "[::1]:8765", "192.168.1.7:80"])
def test_addresses_and_localhost_are_no_strangers(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200
    assert ask(client, [0], host=host, origin=f"http://{host}").status_code == 200


def test_a_name_that_was_chosen_is_known():
    client = client_of(machine(), host="lab.example")
    assert client.get("/", headers={"host": "lab.example:80"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8765"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_other_sites_may_not_send_queries(client, headers):
    got = ask(client, [0], **headers)
    assert got.status_code == 403
    assert got.json() == {"error": "only the page itself may send queries"}


def test_only_json_is_read(client):
    got = client.post("/query", content=b'{"word": []}', headers={"content-type": "text/plain"})
    assert got.status_code == 415


@pytest.mark.parametrize(
    "body",
    [b"", b"no json", b"[]", b"{}", b'{"word": "ab"}', b'{"word": [0.5]}', b'{"word": [true]}',
     b'{"word": [[0]]}', b'{"word": null}', b"[" * 9999, b"\xff"],
)  # fmt: skip
def test_what_is_no_word_is_refused(client, body):
    got = client.post("/query", content=body, headers={"content-type": "application/json"})
    assert got.status_code == 400
    assert "numbers of symbols" in got.json()["error"]


def test_symbols_that_do_not_exist_are_refused(client):
    for codes in ([4], [-1], [10**30]):
        got = ask(client, codes)
        assert got.status_code == 400
        assert "from 0 to 3" in got.json()["error"]


def test_long_words_and_large_queries_are_refused(client):
    assert ask(client, [0] * 500).status_code == 200
    got = ask(client, [0] * 501)
    assert got.status_code == 400
    assert "is too long" in got.json()["error"]
    got = ask(client, [0] * 50_000)
    assert got.status_code == 413


def test_words_beyond_the_box_s_own_limit_are_refused():
    short = client_of(seqray.black_box(lambda words: [1.0] * len(words), "ab", max_length=3))
    assert ask(short, [0, 1, 0]).status_code == 200
    got = ask(short, [0, 1, 0, 1])
    assert got.status_code == 400
    assert "a word of 4 symbols is too long: 3 at most" in got.json()["error"]


# Boxes that fail ----------------------------------------------------------------------------------


def odd_box(function):
    return seqray.black_box(function, "ab")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda words: 1 / 0, "division by zero"),
        (lambda words: [float("nan")] * len(words), "nan"),
        (lambda words: [1.0] * (len(words) + 1), "shape"),
    ],
)
def test_a_box_that_fails_is_told_of(function, message):
    got = ask(client_of(odd_box(function)), [0])
    assert got.status_code == 502
    assert message in got.json()["error"]


def test_a_box_that_breaks_its_own_rules_is_told_of():
    class Broken:
        alphabet = machine().alphabet

        def weights(self, words):
            raise KeyboardInterrupt if len(words) > 9 else RuntimeError("out of order")

    got = ask(client_of(Broken()), [0])
    assert got.status_code == 502
    assert "out of order" in got.json()["error"]


@pytest.mark.parametrize(
    ("error", "said"), [(SystemExit(0), r"sys.exit(0)"), (KeyboardInterrupt(), "KeyboardInterrupt")]
)
def test_a_box_that_ends_the_program_fails_on_that_word_alone(error, said):
    class Leaving:
        alphabet = machine().alphabet

        def weights(self, words):
            if words.lengths[0] == 1:
                raise error
            return [2.0] * len(words)

    client = client_of(Leaving(), patience=2)
    got = ask(client, [0])
    assert got.status_code == 502
    assert f"tried to end the program ({said})" in got.json()["error"]
    assert ask(client, [0, 0]).json()["weight"] == 2.0


def test_a_box_that_hangs_is_not_waited_for():
    release = threading.Event()
    client = client_of(odd_box(lambda words: [float(release.wait(30))] * len(words)), patience=0.05)
    got = ask(client, [0])
    assert got.status_code == 504
    assert "not answered within 0.05 seconds" in got.json()["error"]
    assert ask(client, [1]).status_code == 504  # it is still busy with the first
    release.set()
    for _ in range(100):
        got = ask(client, [1, 1])
        if got.status_code == 200:
            break
    assert got.json()["weight"] == 1.0


def test_no_more_than_a_few_questions_wait(monkeypatch):
    monkeypatch.setattr(serve, "MAX_WAITING", 0)
    got = ask(client_of(machine()), [0])
    assert got.status_code == 503
    assert "busy" in got.json()["error"]


# Running ------------------------------------------------------------------------------------------


def test_without_the_extra_one_is_told_what_to_install(monkeypatch):
    real_import = builtins.__import__

    def without(name, *args, **more):
        if name.startswith("uvicorn"):
            raise ImportError(name)
        return real_import(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[web\]'"):
        serve.load_web()


def test_a_port_that_is_taken_is_told_of():
    with contextlib.closing(serve.open_port("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ArgumentError, match=f"port {port}: .*choose another --port"):
            serve.open_port("127.0.0.1", port)
    with pytest.raises(ArgumentError, match=r"cannot listen at no-such-host\.invalid"):
        serve.open_port("no-such-host.invalid", 0)


@contextlib.contextmanager
def served(app):
    """Serve as `serve.run` does, in a thread."""
    listening = serve.open_port("127.0.0.1", 0)
    server = serve.server_of(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"POST /query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b'Content-Length: 99\r\n\r\n{"word',
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_request_that_does_not_arrive_is_closed(monkeypatch, sent):
    monkeypatch.setattr(serve, "REQUEST_SECONDS", 0.2)
    with served(serve.application("the page", machine())) as address:
        host, _, port = address.removeprefix("http://").strip("/").partition(":")
        with socket.create_connection((host, int(port)), timeout=3) as connection:
            for at in range(0, len(sent), 40):  # little by little
                connection.sendall(sent[at : at + 40])
            said = connection.makefile("rb").read()  # to the end, which has to come
    assert (b"408" in said) == (b"word" in sent)


def test_a_connection_may_be_used_for_several_requests(monkeypatch):
    monkeypatch.setattr(serve, "REQUEST_SECONDS", 0.2)
    slow = odd_box(lambda words: [float(time.sleep(0.3) or 1)] * len(words))
    with served(serve.application("the page", slow)) as address:
        connection = http.client.HTTPConnection(address.removeprefix("http://").strip("/"))
        for _ in range(2):
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/query", b'{"word": []}', headers)
            assert json.loads(connection.getresponse().read())["weight"] == 1.0
        connection.close()


def test_a_connection_that_comes_while_the_server_ends_is_closed(monkeypatch):
    end, received = uvicorn.Server.shutdown, []

    async def shutdown(self, sockets=None):
        reader, writer = await asyncio.open_connection(*sockets[0].getsockname())
        received.append(await asyncio.wait_for(reader.read(), 5))
        writer.close()
        await writer.wait_closed()
        await end(self, sockets)

    monkeypatch.setattr(uvicorn.Server, "shutdown", shutdown)
    with served(serve.application("the page", machine())):
        pass
    assert received == [b""]


def test_a_live_page_sends_typed_words_to_the_box(browser):
    box = machine()
    page = to_html(box, is_live=True)
    with served(serve.application(page, box)) as address:
        context = browser.new_context()
        tab, complaints = context.new_page(), []
        tab.on("console", lambda said: complaints.append(said.text))
        tab.goto(address)
        tab.wait_for_selector("body[data-settled]")
        tab.fill("#word-field", "abba")
        tab.wait_for_selector(".answer:nth-child(2) .answer-value[data-value]")
        value = tab.get_attribute(".answer:nth-child(2) .answer-value", "data-value")
        assert float(value) == pytest.approx(box.weight("abba"), rel=1e-12)
        assert "the same" in tab.inner_text("#verdict")
        assert "Automaton · box" in tab.inner_text("#step-detail")
        assert complaints == []
    tab.fill("#word-field", "abb")  # the server is gone
    tab.wait_for_selector("text=the server does not answer")
    context.close()


def test_the_server_ends_in_good_order_when_it_is_interrupted(monkeypatch):
    seen = []

    class Server:
        def __init__(self, config):
            seen.append(config.lifespan)

        def run(self, sockets):
            seen.extend(sockets)
            raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn, "Server", Server)
    listening = serve.open_port("127.0.0.1", 0)
    serve.run(serve.application("", machine()), listening)
    assert seen == ["off", listening]
    assert listening.fileno() == -1
    with socket.socket() as other:
        assert other.fileno() > 0
