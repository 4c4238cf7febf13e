import http.client

import pytest

from seqray import ArgumentError, BlackBoxError
from seqray.blackbox.queried import FailedError
from seqray.blackbox.remote.http_server import (
    Address,
    Reply,
    RetryError,
    Server,
    retry_after_seconds,
)

SERVER = Server(Address.of("http://localhost:8000/box?key=hunter2hunter2"), "TEST_TOKEN")


def reply(status, content=b"", **headers):
    message = http.client.HTTPMessage()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return Reply(status, "Reason", message, content)


def test_an_address_shows_no_keys():
    assert "hunter2" not in repr(SERVER)
    assert "hunter2" not in SERVER.who
    assert "hunter2" not in SERVER.hide("the key is hunter2hunter2")


@pytest.mark.parametrize("url", ["http://user:secret@host/", "http://user@host/"])
def test_an_address_with_a_password_is_refused_without_showing_it(url):
    with pytest.raises(ArgumentError, match="holds a name or password") as error:
        Address.of(url)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("https://example.org", True),
        ("http://localhost:1", True),
        ("http://127.0.0.1", True),
        ("http://example.org", False),
    ],
)
def test_only_tls_and_this_machine_are_private(url, private):
    assert Address.of(url).is_private is private


def test_a_busy_server_is_tried_again_after_the_time_it_names():
    failure = SERVER.failure(reply(503, Retry_After="7"), max_wait=10)
    assert isinstance(failure, RetryError)
    assert failure.wait == 7
    assert failure.delay(0.5, 0) >= 7
    assert isinstance(SERVER.failure(reply(503, Retry_After="70"), max_wait=10), BlackBoxError)


def test_a_refused_request_is_tried_with_fewer_words():
    failure = SERVER.failure(reply(422, b'{"error": "too many"}'), max_wait=10)
    assert isinstance(failure, FailedError)
    assert "too many" in str(failure)


def test_without_a_token_it_is_said_where_to_put_it(monkeypatch):
    monkeypatch.delenv("TEST_TOKEN", raising=False)
    assert "TEST_TOKEN" in str(SERVER.failure(reply(401), max_wait=10))
    monkeypatch.setenv("TEST_TOKEN", "two words")
    with pytest.raises(ArgumentError, match="TEST_TOKEN"):
        SERVER.token()


def test_a_time_to_wait_is_a_number_or_a_date():
    assert retry_after_seconds("120") == 120
    assert retry_after_seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert retry_after_seconds("soon") == 0


def test_an_address_with_bytes_that_are_no_text_is_refused():
    with pytest.raises(ArgumentError, match="this address cannot be read"):
        Address.of("http://host/\udcff")
