"""Addresses, tokens, TLS, and what the failures of a server mean."""

import gzip
import json
import shutil
import socket
import ssl
import subprocess
import time

import pytest

import seqray
from same_gru.server import LENGTHS, NotingHandler, handler, once, opening, quick, serving
from seqray import open_black_box
from seqray.blackbox.remote.http import http_box
from seqray.util.errors import ArgumentError, BlackBoxError

TOKEN = "s3cret-t0ken"
WORDS = ["a" * n for n in range(10)]


@pytest.fixture(autouse=True)
def _no_token(monkeypatch):
    monkeypatch.delenv("SEQRAY_TOKEN", raising=False)


# Opening ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (401, b"who?", "answered 401 Unauthorized, 'who\\?': no token was sent: put yours in .*"),
        (403, b"", "answered 403 Forbidden: no token was sent.*variable SEQRAY_TOKEN"),
        (404, b"", "answered 404 Not Found: is the path right"),
        (405, b"", "answered 405 .*: expected a server that takes GET and POST"),
        (418, b"", "answered 418 .*: expected 200"),
        (422, b"", "cannot be opened: it answered 422"),
        (500, b"", r"answered 500 Internal Server Error \(2 times\)"),
        (200, b"<html>hello</html>", "does not describe itself: '<html>hello</html>' is no JSON"),
        (200, b"[]", r'describes itself by \[\]: that is no JSON object with "seqray": 1'),
        (200, b'{"alphabet": ["a"], "answers": "value"}', 'no JSON object with "seqray": 1'),
        (200, b'{"seqray": 2}', "speaks version 2 of the protocol, .* install a newer seqray"),
        (200, b'{"seqray": 1, "answers": "value"}', '"alphabet" is no list'),
        (200, b'{"seqray": 1, "alphabet": ["a"]}', '"answers" is neither "value" nor "next"'),
        (200, b'{"seqray": 1, "alphabet": [], "answers": "next"}', "needs at least one symbol"),
        (200, b'{"seqray": 1, "alphabet": ["a", "a"], "answers": "next"}', "stands twice"),
        (200, b'{"seqray": 1, "alphabet": [["a"]], "answers": "next"}', "not hashable"),
        (200, b'{"seqray": 1, "alphabet": [NaN], "answers": "next"}', "cannot be written"),
        (
            200,
            b'{"seqray": 1, "alphabet": ["a"], "answers": "value", "batch_size": 0}',
            '"batch_size" is 0, not a whole number from 1',
        ),
        (
            200,
            b'{"seqray": 1, "alphabet": ["a"], "answers": "value", "deterministic": 1}',
            '"deterministic" is 1, not true or false',
        ),
    ],
)
def test_what_does_not_describe_itself_is_not_opened(status, content, message):
    with (
        serving(LENGTHS, opening(status, content)) as server,
        pytest.raises(BlackBoxError, match=message) as caught,
    ):
        quick(server.url, retries=1)
    assert server.url in str(caught.value)


def test_a_compressed_reply_is_not_decompressed():
    bomb = gzip.compress(bytes(2**24))
    headers = (("Content-Encoding", "gzip"), ("Content-Length", str(len(bomb))))
    with (
        serving(LENGTHS, opening(200, bomb, *headers)) as server,
        pytest.raises(BlackBoxError, match="is no JSON"),
    ):
        quick(server.url, retries=1)


def test_a_redirection_is_reported_and_not_followed():
    away = opening(301, b"", ("Content-Length", "0"), ("Location", "https://u:p@other/box?key=1"))
    with (
        serving(LENGTHS, away) as server,
        pytest.raises(BlackBoxError, match=r"301 .*: open https://other/box instead") as caught,
    ):
        quick(server.url)
    assert "key" not in str(caught.value)


def test_where_nobody_listens_nothing_is_opened_and_nobody_waits():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    begin = time.monotonic()
    with pytest.raises(BlackBoxError, match=r"cannot be reached: .*refused: is it running"):
        http_box(url)
    with pytest.raises(BlackBoxError, match=r"cannot be reached: .*is the address right"):
        http_box("http://no-such-host.invalid/")
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://", "expected http://HOST/PATH or https://HOST/PATH"),
        ("http:box", "expected http://HOST/PATH"),
        ("ftp://host/", "expected http://HOST/PATH"),
        ("http://host/#part", "expected http://HOST/PATH"),
        ("http://host:port/", "cannot be read"),
        ("http://ho st/", "expected http://HOST/PATH"),
        ("http://a..b/", "cannot be read"),
        ("http://[::1/", "cannot be read"),
        ("https://me:pass@host/", "the address of host holds a name or password"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        http_box(url)
    assert "pass@" not in str(caught.value)


def test_odd_characters_in_an_address_are_sent_as_they_should_be():
    paths = []

    class Noting(NotingHandler):
        def do_GET(self):  # noqa: N802
            paths.append(self.path)
            super().do_GET()

    with serving(LENGTHS, Noting) as server:
        quick(f"{server.url}bö x/%20?q=ä b&c=%3D")
    assert paths == ["/b%C3%B6%20x/%20?q=%C3%A4%20b&c=%3D"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"timeout": 0}, "timeout: expected seconds, more than 0, got 0"),
        ({"backoff": -1}, "backoff: expected seconds"),
        ({"batch_size": 0}, "batch_size: expected a whole number from 1"),
        ({"concurrency": 0}, "concurrency: expected a whole number from 1"),
        ({"retries": -1}, "retries: expected a whole number from 0"),
    ],
)
def test_options_that_cannot_be_used_are_refused(option, message):
    with pytest.raises(ArgumentError, match=message):
        http_box("http://127.0.0.1:1/", **option)


# Tokens -----------------------------------------------------------------------------------------


def test_a_token_is_sent_and_shown_nowhere(monkeypatch, caplog):
    caplog.set_level("DEBUG")
    monkeypatch.setenv("SEQRAY_TOKEN", f" {TOKEN}\n")
    with serving(LENGTHS, once(500, TOKEN.encode()), token=TOKEN, name="x") as server:
        box = quick(server.url)
        assert box.weights(["aa"]).tolist() == [2]
        shown = [
            repr(box),
            repr(box.backend),
            box.backend.fingerprint,
            box.backend.who,
            caplog.text,
        ]
        monkeypatch.setenv("MINE", TOKEN)
        assert quick(server.url, token_variable="MINE").weights(["a"]).tolist() == [1]
    assert "trying again" in caplog.text
    assert not any(TOKEN in text for text in shown)


def test_a_token_that_is_refused_is_reported_and_not_repeated(monkeypatch):
    monkeypatch.setenv("SEQRAY_TOKEN", TOKEN)
    echo = opening(401, f"unknown token {TOKEN}".encode())
    with (
        serving(LENGTHS, echo) as server,
        pytest.raises(
            BlackBoxError, match=r"'unknown token \*\*\*': .* SEQRAY_TOKEN was sent and is not"
        ) as caught,
    ):
        quick(server.url)
    assert TOKEN not in str(caught.value)
    with (
        serving(LENGTHS, opening(200, f"hello {TOKEN}".encode())) as server,
        pytest.raises(BlackBoxError, match=r"'hello \*\*\*' is no JSON"),
    ):
        quick(server.url)
    with (
        serving(LENGTHS, token="another") as server,
        pytest.raises(BlackBoxError, match=r"401 .*SEQRAY_TOKEN was sent and is not accepted"),
    ):
        quick(server.url)


@pytest.mark.parametrize("token", [f"{TOKEN}\nX: y", f"{TOKEN} two", f"{TOKEN}é"])
def test_a_token_that_cannot_be_sent_is_refused_unseen(monkeypatch, token):
    monkeypatch.setenv("SEQRAY_TOKEN", token)
    with pytest.raises(ArgumentError, match="SEQRAY_TOKEN: expected a token of") as caught:
        http_box("http://127.0.0.1:1/")
    assert TOKEN not in str(caught.value)


def test_a_token_goes_to_no_other_machine_without_tls(monkeypatch, caplog):
    monkeypatch.setenv("SEQRAY_TOKEN", TOKEN)
    find = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *a, **k: find("127.0.0.1", *a, **k))
    sent = []

    class Noting(NotingHandler):
        def do_GET(self):  # noqa: N802
            sent.append(self.headers.get("Authorization"))
            super().do_GET()

    with serving(LENGTHS, Noting) as server:
        quick(f"http://box.example:{server.server_port}/")
        quick(f"http://localhost:{server.server_port}/")
        assert "the token in SEQRAY_TOKEN is not sent" in caplog.text
        server.token = TOKEN
        with pytest.raises(BlackBoxError, match=r"SEQRAY_TOKEN was not sent, since .*use https://"):
            quick(f"http://box.example:{server.server_port}/")
    assert sent == [None, f"Bearer {TOKEN}", None]


@pytest.mark.parametrize(
    "answer",
    [
        (401, b'{"error": "bad \\u00733cr3t\\/v4lue"}'),
        (401, b'{"who": ["s3cr3t/v4lue"]}'),
        (403, b"bad s3cr3t%2Fv4lue"),
        (302, b"", ("Content-Length", "0"), ("Location", "https://other/s3cr3t%2fv4lue/x")),
        (307, b"", ("Content-Length", "0"), ("Location", "/s3cr3t/v4lue?key=1")),
        (200, b"no box for s3cr3t/v4lue"),
        (200, b'{"seqray": 1, "alphabet": "s3cr3t/v4lue"}'),
        (200, b" " * 190 + b"x" * 190 + b"s3cr3t/v4lue"),
    ],
)
@pytest.mark.parametrize("place", ["token", "address"])
def test_a_secret_that_a_server_repeats_is_not_shown(monkeypatch, caplog, answer, place):
    secret = "s3cr3t/v4lue"
    if place == "token":
        monkeypatch.setenv("SEQRAY_TOKEN", secret)
    query = "?api_key=s3cr3t%2Fv4lue" if place == "address" else ""
    with (
        serving(LENGTHS, opening(*answer)) as server,
        pytest.raises(BlackBoxError) as caught,
    ):
        quick(server.url + query, retries=0)
    assert "s3cr" not in str(caught.value) + caplog.text
    assert "v4lue" not in str(caught.value)


def test_a_key_in_an_address_is_shown_nowhere_and_names_no_other_box():
    with serving(LENGTHS, deterministic=True) as server:
        one, other = (http_box(f"{server.url}?key={key}&n=5").backend for key in ("abcd", "efgh"))
        assert one.fingerprint == other.fingerprint
        assert one.fingerprint != http_box(f"{server.url}?key=abcd&n=6").backend.fingerprint
        assert "abcd" not in one.fingerprint + one.who + repr(one)
    with pytest.raises(ArgumentError) as caught:
        http_box("http:box?key=abcd")
    assert "abcd" not in str(caught.value)


def test_answers_to_another_key_are_used_only_if_some_are_the_same(tmp_path):
    store, sizes = tmp_path / "answers.sqlite", {"prefixes": 10, "suffixes": 10}

    def trouble(self):
        words = json.loads(self.body())["words"]
        factor = 2 if "key=other" in self.path else 1
        self.answer(200, {"answers": [factor * len(word) for word in words]})

    with serving(LENGTHS, handler(trouble), deterministic=True) as server:
        seqray.extract(http_box(f"{server.url}?key=first"), **sizes, store=store)
        seqray.extract(http_box(f"{server.url}?key=second"), **sizes, store=store)
        with pytest.raises(BlackBoxError, match="has changed"):
            seqray.extract(http_box(f"{server.url}?key=other"), **sizes, store=store)


# TLS --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    command += " -addext subjectAltName=DNS:localhost -keyout key.pem -out certificate.pem"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder


def test_a_certificate_is_checked_and_may_be_ones_own(certificate, monkeypatch):
    with serving(LENGTHS, token=TOKEN) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None
        url = f"https://localhost:{server.server_port}/"
        with pytest.raises(
            BlackBoxError, match=r"certificate that cannot be trusted: self.signed.*SSL_CERT_FILE"
        ):
            open_black_box(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "certificate.pem"))
        monkeypatch.setenv("SEQRAY_TOKEN", TOKEN)
        assert quick(url).weights(WORDS).tolist() == list(range(10))
        with pytest.raises(BlackBoxError, match=r"cannot be trusted: .*not valid for '127.0.0.1'"):
            quick(url.replace("localhost", "127.0.0.1"))


def test_a_server_without_tls_is_distinguished_from_one_with_it():
    with serving(LENGTHS) as server:
        server.handle_error = lambda *_: None
        with pytest.raises(BlackBoxError, match=r"does not speak TLS .*is it http:// rather than"):
            quick(server.url.replace("http:", "https:"))


# Answers that cannot be used --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"answers": [1]}', r"2 words and returned shape \(1,\)"),
        (b'{"answers": [1, 2, 3]}', r"returned shape \(3,\)"),
        (b'{"answers": [1, NaN]}', "returned nan for the word 'bb': expected a finite number"),
        (b'{"answers": [1, 1e999]}', "returned inf for the word 'bb'"),
        (b'{"answers": ["1", "2"]}', "returned strings"),
        (b'{"answers": [1, null]}', "returned objects"),
        (b'{"answers": [[1, 2], [3]]}', "returned something that is no array"),
        (b'{"answers": 5}', r'answered \{"answers": 5\}: expected \{"answers": \[\.\.\.\]\}'),
        (b"[1, 2]", r"answered \[1, 2\]: expected"),
        (b'{"answers": [1,', r"answered what cannot be read: .*is no JSON.* \(2 times\)"),
        (b"<html>\n  <b>busy</b>", "'<html> <b>busy</b>' is no JSON"),
        (b"\xff\xfe\x00", "is no JSON"),
        (b"[" * 60_000, "is no JSON"),
        (b'{"answers": [' + b"1" * 5000 + b", 2]}", "is no JSON|finite"),
        (b" " * 100_000, "more than 65,664 bytes"),
    ],
)
def test_answers_that_cannot_be_used_are_refused(content, message):
    with serving(LENGTHS, handler(lambda self: self.body() and self.say(200, content))) as server:
        box = quick(server.url, retries=1)
        with pytest.raises(BlackBoxError, match=message) as caught:
            box.weights(["a", "bb"])
    assert server.url in str(caught.value)


def test_what_is_no_distribution_is_refused():
    flat = seqray.black_box(lambda words: [0.5] * len(words), "ab")
    row = handler(lambda self: self.body() and self.answer(200, {"answers": [[0.5, 0.5, 0.5]]}))
    with (
        serving(flat, row, answers="next") as server,
        pytest.raises(BlackBoxError, match="for the prefix 'λ': expected probabilities"),
    ):
        quick(server.url).weights(["a"])
    less = handler(lambda self: self.body() and self.answer(200, {"answers": [[0.2, 0.2, 0.2]]}))
    with serving(flat, less, answers="next", leaks=True) as server:
        assert quick(server.url).next_symbol([""]).tolist() == [[0.2, 0.2, 0.2]]
