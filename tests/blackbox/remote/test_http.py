import json
import os
import signal
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from pathlib import Path

import numpy as np
import pytest

import seqray
from same_gru import native
from same_gru.server import (
    EXAMPLE,
    LENGTHS,
    NotingHandler,
    chaos,
    handler,
    once,
    quick,
    serving,
)
from seqray import WeightedAutomaton, open_black_box
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.blackbox.remote.http import http_box
from seqray.util.errors import BlackBoxError

ROOT = Path(__file__).parents[3]
TOKEN = "s3cret-t0ken"
WORDS = ["a" * n for n in range(10)]


@pytest.fixture(autouse=True)
def _no_token(monkeypatch):
    monkeypatch.delenv("SEQRAY_TOKEN", raising=False)


# Messages ---------------------------------------------------------------------------------------


def test_a_server_that_predicts_is_a_model_and_says_what_the_network_says():
    with serving(native()) as server:
        box = open_black_box(server.url)
        assert isinstance(box, QueriedModel)
        words = ["", "a", "abc", "ccb", "abcabc"]
        np.testing.assert_allclose(box.weights(words), native().weights(words), rtol=1e-6)
        np.testing.assert_allclose(box.next_symbol(words), native().next_symbol(words), atol=1e-6)


@pytest.mark.parametrize("symbols", ["ab", [0, 1, 10], ["do", "re", 'é " \\'], [2.5, 1, "x"]])
def test_words_are_lists_of_the_symbols_of_the_alphabet(symbols):
    queried = []
    plain = seqray.black_box(lambda words: queried.extend(words) or [1.5] * len(words), symbols)
    with serving(plain) as server:
        box = http_box(server.url)
        assert isinstance(box, QueriedBox)
        assert box.alphabet == plain.alphabet
        word = tuple(box.alphabet.symbols)
        assert box.weights([(), word]).tolist() == [1.5, 1.5]
    assert [tuple(word) for word in queried] == [(), word]


def test_numbers_arrive_to_the_last_bit():
    numbers = np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-300, 300, 12)
    with serving(seqray.black_box(lambda words: [numbers[len(w)] for w in words], "ab")) as server:
        actual = http_box(server.url).weights(["a" * n for n in range(50)])
    assert actual.tobytes() == numbers.tobytes()


def test_the_server_says_how_many_words_and_how_long_they_may_be():
    sizes = []
    counted = seqray.black_box(lambda words: sizes.append(len(words)) or [0] * len(words), "ab")
    with serving(counted, batch_size=3, max_length=4) as server:
        box = http_box(server.url)
        box.weights(WORDS[:5] * 2)
        with pytest.raises(BlackBoxError, match=r"at most 4 symbols, and 'aaaaa' has 5: "):
            box.weights(["a", "aaaaa"])
        http_box(server.url, batch_size=2).weights(WORDS[:4])
    assert sorted(sizes) == [1, 2, 2, 3, 3, 3]


def test_what_a_box_is_known_by_changes_with_the_address_and_the_description():
    fingerprints = []
    for about in ({}, {"name": "x"}, {"fingerprint": "1"}, {"fingerprint": "2"}):
        with serving(LENGTHS, deterministic=True, **about) as server:
            place = server.url
            fingerprints.append([http_box(place).backend.fingerprint.replace(place, "")])
            fingerprints.append([http_box(f"{place}?n=5").backend.fingerprint.replace(place, "")])
            assert http_box(place).backend.fingerprint.startswith(place)
            assert http_box(place).backend.deterministic
            assert http_box(place).backend.fingerprint == http_box(place).backend.fingerprint
    assert len({text for (text,) in fingerprints}) == 8


def test_a_server_is_not_taken_for_deterministic_unless_it_says_so():
    with serving(LENGTHS) as server:
        assert not http_box(server.url).backend.deterministic


# How it is queried ------------------------------------------------------------------------------


def test_requests_run_at_once_and_connections_stay_open():
    now, most, places = [0], [0], set()

    def trouble(self):
        places.add(self.client_address)
        with self.server.lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with self.server.lock:
            now[0] -= 1
        return True

    with serving(LENGTHS, handler(trouble)) as server:
        box = http_box(server.url, batch_size=1, concurrency=3)
        for _ in range(2):
            assert box.weights(WORDS).tolist() == list(range(10))
        assert server.n_posts == 20
    assert most[0] == 3
    assert len(places) == 3


def test_a_connection_that_the_server_has_closed_meanwhile_is_no_failure():
    class Short(NotingHandler):
        timeout = 0.3

    with serving(LENGTHS, Short) as server:
        box = http_box(server.url, retries=0)
        assert box.weights(["aa"]).tolist() == [2]
        time.sleep(0.5)
        assert box.weights(["aa"]).tolist() == [2]
        assert server.n_posts == 2


def test_answers_come_as_they_are_ready():
    slow = handler(lambda self: time.sleep(0.3 * (self.server.n_posts == 1)) or True)
    with serving(LENGTHS, slow) as server:
        box = http_box(server.url, batch_size=2, concurrency=2)
        pieces = [which.tolist() for which, _ in box.answers(box.alphabet.words(WORDS))]
    assert sorted(i for piece in pieces for i in piece) == list(range(10))
    assert 0 in pieces[-1] or 2 in pieces[-1]


def test_no_more_is_queried_than_is_used():
    with serving(LENGTHS, NotingHandler) as server:
        box = http_box(server.url, batch_size=1, concurrency=2)
        answers = box.answers(box.alphabet.words(WORDS))
        for taken in range(1, 4):
            next(answers)
            time.sleep(0.1)
            assert server.n_posts <= taken + 1
        answers.close()


@pytest.mark.parametrize("options", [{"timeout": 60}, {"timeout": 0.05, "backoff": 60}])
def test_closing_stops_those_who_wait_for_answers_or_for_another_attempt(options):
    free = threading.Event()

    def trouble(self):
        if self.server.n_posts == 1:
            return True
        self.body()
        free.wait(10)
        return None

    with serving(LENGTHS, handler(trouble)) as server:
        box = http_box(server.url, batch_size=1, concurrency=3, **options)
        answers = box.answers(box.alphabet.words(WORDS))
        next(answers)
        begin = time.monotonic()
        time.sleep(0.2)
        answers.close()
        free.set()
    while any(thread.name == "seqray-http" for thread in threading.enumerate()):
        assert time.monotonic() < begin + 5
        time.sleep(0.01)


def test_an_interrupt_is_heeded_at_once():
    free = threading.Event()
    with serving(LENGTHS, handler(lambda self: free.wait(10) and None)) as server:
        box = http_box(server.url)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            box.weights(["a"])
        assert time.monotonic() - begin < 5
        free.set()


# Asked again ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_request_is_sent_again_after_a_passing_failure(status):
    with serving(LENGTHS, once(status, b"")) as server:
        assert quick(server.url).weights(WORDS).tolist() == list(range(10))
        assert server.n_posts == 2


def test_a_server_that_wants_a_wait_is_left_alone_that_long():
    busy = once(429, b"", ("Content-Length", "0"), ("Retry-After", "1"))
    with serving(LENGTHS, busy) as server:
        begin = time.monotonic()
        assert quick(server.url).weights(["a"]).tolist() == [1]
        assert time.monotonic() - begin > 0.95


@pytest.mark.parametrize("after", ["86400", "date", "8888888888", "86400.5", "9" * 400])
def test_a_server_that_wants_a_wait_too_long_is_not_waited_for(after):
    if after == "date":
        after = formatdate(time.time() + 86400, usegmt=True)
    busy = once(503, b"", ("Content-Length", "0"), ("Retry-After", after))
    with (
        serving(LENGTHS, busy) as server,
        pytest.raises(BlackBoxError, match=r"wants to be left alone for [18]\d{4,} s: try again"),
    ):
        quick(server.url).weights(["a"])


def test_many_who_are_turned_away_do_not_give_up_while_others_get_on():
    turned = [0]

    def trouble(self):  # of four requests, three are turned away
        with self.server.lock:
            turned[0] += 1
            if turned[0] % 4 == 0:
                return True
        self.body()
        self.say(429, b"")
        return None

    with serving(LENGTHS, handler(trouble)) as server:
        box = quick(server.url, batch_size=1, concurrency=4, retries=4)
        assert box.weights(WORDS * 3).tolist() == [*range(10)] * 3


def test_a_server_that_goes_away_is_waited_for_and_then_given_up():
    class Forgetful(NotingHandler):
        protocol_version = "HTTP/1.0"

    with serving(LENGTHS, Forgetful) as server:
        box = quick(server.url, retries=2)
        box.weights(["a"])
        url = server.url
    with pytest.raises(BlackBoxError, match=rf"{url} cannot be reached: .*refused.* \(3 times\)"):
        box.weights(WORDS)


def test_a_batch_that_takes_too_long_is_queried_in_halves():
    words = []

    def trouble(self):
        queried = json.loads(self.body())["words"]
        words.append(len(queried))
        time.sleep(0.6 if len(queried) > 2 else 0)
        self.answer(200, {"answers": [len(word) for word in queried]})

    with serving(LENGTHS, handler(trouble)) as server:
        box = quick(server.url, timeout=0.3)
        assert box.weights(WORDS[:5]).tolist() == list(range(5))
    assert words[:3] == [5, 5, 2]
    assert max(words[2:]) == 3


def test_a_server_that_hangs_is_given_up_with_the_batch_named():
    hang = handler(lambda self: time.sleep(0.3) or self.cut())
    with serving(LENGTHS, hang) as server:
        box = quick(server.url, timeout=0.05, retries=2)
        with pytest.raises(
            BlackBoxError, match=r"gave no answer in 0.05 s .* words that begin with 'λ'.*timeout"
        ):
            box.weights(WORDS)


# A word that fails ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, r"failed on the word 'aaaaaa': it answered 500 .*, 'bad word' \(3 times\)"),
        (422, "failed on the word 'aaaaaa': it answered 422 .*, 'bad word'"),
        (400, "failed on the word 'aaaaaa'"),
        (413, "failed on the word 'aaaaaa'"),
        (0, r"failed on the word 'aaaaaa': it cut the connection .* \(3 times\)"),
        (200, "failed on the word 'aaaaaa': it answered the error 'bad word'"),
    ],
)
def test_a_word_that_fails_is_named_and_the_others_are_answered_first(status, message):
    def trouble(self):
        words = json.loads(self.body())["words"]
        if ["a"] * 6 not in words:
            self.answer(200, {"answers": [len(word) for word in words]})
        elif status:
            self.answer(status, {"error": "bad word"})
        else:
            self.cut()

    with serving(LENGTHS, handler(trouble)) as server:
        box = quick(server.url, batch_size=5, concurrency=2, retries=2)
        answered = []
        pieces = box.answers(box.alphabet.words(WORDS))
        with pytest.raises(BlackBoxError, match=message):
            answered.extend(i for which, _ in pieces for i in which.tolist())
    assert set(answered) >= {0, 1, 2, 3, 4, 5}


def test_nothing_new_is_queried_once_a_word_has_failed():
    def trouble(self):
        words = json.loads(self.body())["words"]
        if [] in words:
            self.answer(422, {"detail": [{"msg": "empty"}]})
        else:
            time.sleep(0.1)
            self.answer(200, {"answers": [len(word) for word in words]})

    with serving(LENGTHS, handler(trouble)) as server:
        box = quick(server.url, batch_size=1, concurrency=2)
        with pytest.raises(BlackBoxError, match=r"the word 'λ': it answered 422 .*\"empty\""):
            box.weights(WORDS)
        assert server.n_posts <= 3


# Chaos ------------------------------------------------------------------------------------------


def exact(words):
    """What no batch can change: each word alone, in plain Python."""
    return [0.5 ** len(word) * (1 + word.count("ab") - 0.3 * word.count("ba")) for word in words]


def exact_rows(prefixes):
    share = [(1 + prefix.count("a")) / (2 + len(prefix)) for prefix in prefixes]
    return [[0.5 * a, 0.5 * (1 - a), 0.5] for a in share]


@pytest.mark.parametrize(
    "box",
    [seqray.black_box(exact, "ab"), seqray.language_model(exact_rows, "ab")],
    ids=["value", "next"],
)
def test_extraction_through_a_chaotic_server_equals_the_calm_one(box):
    def extracted(url, **options):
        opened = http_box(url, batch_size=16, backoff=0.01, **options)
        extraction = seqray.extract(opened, prefixes=40, suffixes=40, max_rank=5)
        largest = extraction.automaton(extraction.max_rank)
        return extraction.singular_values, largest.initial, largest.transitions, largest.final

    with serving(box, deterministic=True) as server:
        calm = extracted(server.url)
    trouble, happened = chaos(seed=3, hang=0.3)
    with serving(box, trouble, deterministic=True) as server:
        troubled = extracted(server.url, timeout=0.2)
        n_posts = server.n_posts
    for one, other in zip(calm, troubled, strict=True):
        assert one.tobytes() == other.tobytes()
    wrong = [what for what in happened if what != "slow"]
    assert 0.2 < len(wrong) / n_posts < 0.4
    assert len(set(wrong)) == 7


# The example ------------------------------------------------------------------------------------


def test_the_example_extracts_through_a_server_of_its_own():
    script = EXAMPLE.with_name("http_box.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "http://127.0.0.1:" in done.stdout


def test_the_example_server_serves_any_box(tmp_path):
    WeightedAutomaton("a", [1], [[[0.5]]], [0.5]).save(tmp_path / "coin.json")
    command = [sys.executable, EXAMPLE, f"wa:{tmp_path / 'coin.json'}", "--port", "0"]
    environment = {**os.environ, "SEQRAY_TOKEN": TOKEN}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        url = server.stdout.readline().split()[-1]
        with pytest.raises(BlackBoxError, match="401"):
            http_box(url)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SEQRAY_TOKEN", TOKEN)
            assert http_box(url).weights(["", "a"]).tolist() == [0.5, 0.25]
        server.kill()
