import pytest

from same_gru.server import LENGTHS, once, opening, serving
from seqray.blackbox.remote.http_queries import HttpQueries, check_seconds
from seqray.blackbox.remote.http_request import RequestGroup, opened_client
from seqray.blackbox.remote.http_server import Address, Server
from seqray.util.errors import ArgumentError, BlackBoxError

QUICK = HttpQueries(concurrency=2, retries=2, backoff=0.001)


def client_of(url):
    return opened_client(Server(Address.of(url), "SEQRAY_TOKEN"), 5.0)


def test_what_is_no_time_or_number_is_refused():
    check_seconds("timeout", 0.5)
    with pytest.raises(ArgumentError, match="timeout: expected seconds, more than 0, got 0"):
        check_seconds("timeout", 0)
    with pytest.raises(ArgumentError, match="concurrency: expected a whole number from 1, got 0"):
        HttpQueries(concurrency=0, retries=1, backoff=1)
    with pytest.raises(ArgumentError, match="backoff: expected seconds"):
        HttpQueries(concurrency=1, retries=1, backoff=0)


def test_a_request_is_sent_again_until_it_is_answered():
    words = LENGTHS.alphabet.words(["a"])
    with serving(LENGTHS, once(503, b"")) as server:
        client = client_of(server.url)
        content = QUICK.send(client, b'{"words": [["a"]]}', 99, bytes, words, RequestGroup())
        assert content == b'{"answers": [1.0]}'
        assert server.n_posts == 2


def test_a_server_that_never_describes_itself_is_given_up():
    with (
        serving(LENGTHS, opening(503, b"")) as server,
        pytest.raises(BlackBoxError, match=r"answered 503 .*\(3 times\)"),
    ):
        QUICK.opening(client_of(server.url), b"", 99, bytes)
