from itertools import product

import numpy as np
import pytest

from llm_servers import (
    END,
    SERVERS,
    Counts,
    LlamaCppServer,
    OllamaServer,
    PlainServer,
    SglangServer,
    VllmServer,
    opened,
    serving_llm,
    unreliable,
)
from seqray.automata.sampling import uniform_words
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.oracle import open_oracle
from seqray.blackbox.remote.llm.dialects import VllmIds
from seqray.util.errors import BlackBoxError

WORDS = ["", "a", "c", "ab", "cba", "abcabcaabbcc"]


# What a server has to read ------------------------------------------------------------------------


def test_at_most_a_third_of_the_tokens_is_read_again_and_no_prompt_is_sent_twice(kind):
    server = SERVERS[kind]()
    long = "abcdefgh" * 8  # vLLM caches blocks of 16 tokens, so that short prompts are never cached
    with serving_llm(server) as url:
        box = opened(kind, url, prompt=long, alphabet="abc", max_length=20)
        counts = server.counts = Counts(server.cache())  # without the query that opens the box
        oracle = open_oracle(box)
        words = uniform_words(box.alphabet, 30, seed=np.random.default_rng(0), max_length=20)
        oracle.weights(words)
        oracle.weights(words)
    first = [at for at, draw in enumerate(counts.draws) if not draw]
    assert len(first) == len({counts.prompts[at] for at in first})
    assert counts.n_again <= counts.n_sent / 3, (counts.n_again, counts.n_sent)


def test_no_prompt_is_sent_twice_where_symbols_begin_with_others(kind, folder):
    server = SERVERS[kind]()
    options = {"tokenizer": folder} if kind in ("ollama", "openai") else {}
    with serving_llm(server) as url:
        box = opened(kind, url, alphabet=["a", "ab", "c"], batch_size=4, concurrency=1, **options)
        counts = server.counts = Counts(server.cache())
        for n in range(4):  # level by level, as extraction reads them
            box.next_symbol(box.alphabet.words(product(["a", "ab", "c"], repeat=n)))
        first = [at for at, draw in enumerate(counts.draws) if not draw]
        assert len(first) == len({counts.prompts[at] for at in first})
        n_sent = len(counts.prompts)
        box.next_symbol([("a", "c"), ("c", "a")])
        assert len(counts.prompts) > n_sent  # what was used once is queried again


def test_prefixes_that_share_tokens_go_together():
    server = LlamaCppServer()
    with serving_llm(server) as url:
        box = opened("llama.cpp", url, concurrency=1, batch_size=2)
        box.next_symbol(["ba", "ab", "bb", "aa", "b", "a"])
    assert server.counts.prompts[1:] == sorted(server.counts.prompts[1:])


def test_at_most_128_tokens_are_named_in_a_request(monkeypatch, hf):
    monkeypatch.setattr(VllmIds, "max_wanted", 2)
    server = VllmServer()
    with serving_llm(server) as url:
        box = opened("vllm", url)
        np.testing.assert_allclose(box.next_symbol(WORDS), hf.next_symbol(WORDS), atol=1e-12)
    named = [body["logprob_token_ids"] for path, body in server.counts.requests if "compl" in path]
    assert {len(ids) for ids in named} == {2}


def test_cached_answers_are_used_unless_what_is_read_differs(tmp_path):
    server = SglangServer()
    words = ["".join(word) for n in range(4) for word in product("abc", repeat=n)]
    with serving_llm(server) as url, AnswerStore(tmp_path / "store") as store:
        for n_sent, prompt in ((len(words), "ab"), (8, "ab"), (len(words), "abc")):
            box = opened("sglang", url, prompt=prompt)
            counts = server.counts = Counts(server.cache())
            open_oracle(box, cache=store).next_symbol(box.alphabet.words(words))
            assert len(counts.prompts) == n_sent  # eight cached answers are checked


# Failures -----------------------------------------------------------------------------------------


def test_thirty_percent_failures_are_survived(kind, hf):
    server = SERVERS[kind](trouble=unreliable)
    words = ["".join(word) for n in range(4) for word in product("abc", repeat=n)]
    with serving_llm(server) as url:
        box = opened(kind, url, batch_size=1, retries=20)
        np.testing.assert_allclose(box.next_symbol(words), hf.next_symbol(words), atol=1e-12)
    assert server.n_failures > 0.2 * len(words)


def test_a_server_that_wants_nothing_but_rest_is_not_waited_for_long():
    async def rest(server, path, send):
        if not path.startswith("GET"):
            headers = [(b"retry-after", b"99999")]
            await send({"type": "http.response.start", "status": 429, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return True
        return False

    with (
        serving_llm(LlamaCppServer(trouble=rest)) as url,
        pytest.raises(BlackBoxError, match=r"wants to be left alone for 99999 s: try again later"),
    ):
        opened("llama.cpp", url)


# Symbols that are not listed ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["old vllm", "llama.cpp", "ollama", "openai"])
def test_a_symbol_that_is_not_listed_is_unknown_and_never_impossible(kind, hf):
    with serving_llm(SERVERS[kind]()) as url:
        box = opened(kind, url, top_k=5, max_unknown=1)
        rows, unknown = box.next_symbol(WORDS), box.backend.unknown
    assert (rows > 0).all()
    assert unknown.n_unknown
    errors = np.abs(rows - hf.next_symbol(WORDS)).sum(axis=1) / 2
    assert 0 < errors.max() <= unknown.largest <= 1
    assert "symbols that the server does not list" in str(unknown)


def test_too_much_unknown_is_refused_with_advice():
    with serving_llm(PlainServer()) as url, pytest.raises(BlackBoxError) as caught:
        opened("openai", url, top_k=2)
    message = str(caught.value)
    assert "lists 2 tokens (top_k), and after 'λ' up to" in message
    assert "expected 5% at most (max_unknown): raise top_k" in message


def test_more_tokens_than_a_server_lists_are_refused_with_its_words():
    with (
        serving_llm(OllamaServer()) as url,
        pytest.raises(BlackBoxError, match="top_logprobs must be between 0 and 20"),
    ):
        opened("ollama", url, top_k=21)


def test_a_server_without_log_probabilities_is_given_up():
    class Silent(PlainServer):
        def draw(self, logs, temperature, seed):
            return END

    with (
        serving_llm(Silent()) as url,
        pytest.raises(BlackBoxError, match="lists no log-probabilities, though it was queried 8"),
    ):
        opened("openai", url)
