from itertools import product

import numpy as np
import pytest

import seqray
from llm_servers import (
    END,
    FORBIDDEN,
    OPTIONS,
    SERVERS,
    START,
    Counts,
    LlamaCppServer,
    OllamaServer,
    PlainServer,
    SglangServer,
    VllmServer,
    saved_folder,
    serving_llm,
    tiny_model,
    unreliable,
)
from seqray.automata.sampling import uniform_words
from seqray.blackbox.frameworks.hf import open_hf
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.oracle import open_oracle
from seqray.blackbox.remote.llm.box import openai_box
from seqray.blackbox.remote.llm.dialects import VllmIds
from seqray.cli import main
from seqray.util.errors import ArgumentError, BlackBoxError

PROMPT, PROMPT_TOKENS = "ab", [START, 3, 4]
WORDS = ["", "a", "c", "ab", "cba", "abcabcaabbcc"]
METHOD = {"method": "paper", "basis": "uniform", "budget": 600}
KEY = "s3cret-k3y-of-mine"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in ("SEQRAY_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved_folder(tmp_path_factory.mktemp("hf"))


@pytest.fixture(scope="module")
def hf(folder):
    """The same model through ``hf:``, queried about prefixes like a server."""
    return open_hf(folder, alphabet="abc", start=PROMPT_TOKENS, dtype="float64", memory=0)


@pytest.fixture(params=SERVERS)
def kind(request):
    return request.param


def opened(kind, url, **options):
    return openai_box(
        url, **{"alphabet": "abc", "prompt": PROMPT, "backoff": 0.001, **OPTIONS[kind], **options}
    )


# Answers ------------------------------------------------------------------------------------------


def test_a_server_answers_like_the_same_model_opened_by_hf(kind, hf):
    server = SERVERS[kind]()
    with serving_llm(server) as url:
        box = opened(kind, f"{url}/v1")
        np.testing.assert_allclose(box.next_symbol(WORDS), hf.next_symbol(WORDS), atol=1e-12)
    assert {"old vllm": "vLLM (likeliest tokens)", "openai": "OpenAI-compatible"}.get(
        kind, kind
    ).lower() in box.backend.who.lower()
    assert not any(FORBIDDEN & body.keys() for _, body in server.counts.requests)


def extracted(box):
    return seqray.extract(box, n_prefixes=12, n_suffixes=12, max_rank=3, max_length=6, **METHOD)


@pytest.fixture(scope="module")
def automaton_of_hf(hf):
    return extracted(hf).automaton(3)


def test_a_server_gives_the_automaton_of_the_same_model_opened_by_hf(kind, automaton_of_hf):
    with serving_llm(SERVERS[kind](jitter=1e-9)) as url:
        automaton = extracted(opened(kind, url)).automaton(3)
    expected = automaton_of_hf
    np.testing.assert_allclose(automaton.weights(WORDS), expected.weights(WORDS), atol=1e-5)
    np.testing.assert_allclose(automaton.next_symbol(WORDS), expected.next_symbol(WORDS), atol=1e-5)


def test_symbols_may_have_several_tokens_and_begin_with_others(kind, folder):
    symbols = {"a": [3], "ab": [3, 4], " cab": [11, 5, 3, 4], "ca": [5, 3]}
    tokens = list(symbols.values())
    card = seqray.Card(list(symbols), "next", tokens=tokens, start=PROMPT_TOKENS, end=END)
    hf = seqray.hf_box(tiny_model(), card, memory=0)
    words = [(), ("a",), ("ab", "a"), (" cab", "ca", "a")]
    options = {"tokenizer": folder} if kind in ("ollama", "openai") else {}
    with serving_llm(SERVERS[kind]()) as url:
        box = opened(kind, url, alphabet=list(symbols), **options)
        np.testing.assert_allclose(box.next_symbol(words), hf.next_symbol(words), atol=1e-12)


def test_probabilities_may_stay_those_among_all_tokens(kind, folder):
    options = {"alphabet": "abc", "start": PROMPT_TOKENS, "dtype": "float64"}
    hf = open_hf(folder, renormalise=False, **options)
    with serving_llm(SERVERS[kind]()) as url:
        box = opened(kind, url, renormalise=False)
        np.testing.assert_allclose(box.next_symbol(WORDS), hf.next_symbol(WORDS), atol=1e-12)
        assert box.leaks


def test_a_separator_stands_before_each_symbol():
    server = SglangServer()
    with serving_llm(server) as url:
        box = opened("sglang", url, separator=" ", alphabet="b,c")
        box.next_symbol([("b", "c")])
    assert server.counts.prompts[-2:] == [(1, 3, 4, 11, 4, 11, 5), (1, 3, 4, 11, 4, 11, 5, 11)]


# What a server has to read ------------------------------------------------------------------------


def test_at_most_a_third_of_the_tokens_is_read_again_and_no_prompt_is_sent_twice(kind):
    server = SERVERS[kind]()
    long = "abcdefgh" * 8  # vLLM caches blocks of 16 tokens, so that short prompts are never cached
    with serving_llm(server) as url:
        box = opened(kind, url, prompt=long, alphabet="abc", max_length=20)
        counts = server.counts = Counts(server.cache())  # without the query that opens the box
        oracle = open_oracle(box)
        words = uniform_words(box.alphabet, 60, seed=np.random.default_rng(0), max_length=20)
        oracle.weights(words)
        oracle.weights(words)
    first = [at for at, draw in enumerate(counts.draws) if not draw]
    assert len(first) == len({counts.prompts[at] for at in first})
    assert counts.n_again <= counts.n_sent / 3, (counts.n_again, counts.n_sent)


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


# Keys and caches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["SEQRAY_TOKEN", "OPENAI_API_KEY"])
def test_a_key_is_sent_and_shown_nowhere(variable, monkeypatch, caplog, tmp_path):
    caplog.set_level("DEBUG")
    server = VllmServer(key=KEY)
    with serving_llm(server) as url:
        with pytest.raises(BlackBoxError, match=r"401 .*no token was sent") as caught:
            opened("vllm", url)
        monkeypatch.setenv(variable, KEY)
        box = opened("vllm", url)
        seqray.extract(box, n_prefixes=5, n_suffixes=5, max_length=4, store=tmp_path / "store")
    assert server.keys_seen == {None, f"Bearer {KEY}"}
    for text in (str(caught.value), caplog.text, box.backend.fingerprint, repr(box)):
        assert KEY not in text
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.iterdir())


def test_a_key_goes_to_no_other_host(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    other = VllmServer()

    with serving_llm(other) as elsewhere:

        async def redirect(server, path, send):
            where = f"{elsewhere}{path.split()[1]}".encode()
            headers = [(b"location", where)]
            await send({"type": "http.response.start", "status": 307, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return True

        with (
            serving_llm(VllmServer(trouble=redirect)) as url,
            pytest.raises(BlackBoxError, match=r"answered 307 .*: open http://127.0.0.1"),
        ):
            opened("vllm", url)
    assert not other.keys_seen


def test_cached_answers_are_used_unless_what_is_read_differs(tmp_path):
    server = SglangServer()
    words = ["".join(word) for n in range(4) for word in product("abc", repeat=n)]
    with serving_llm(server) as url, AnswerStore(tmp_path / "store") as store:
        for n_sent, prompt in ((len(words), "ab"), (8, "ab"), (len(words), "abc")):
            box = opened("sglang", url, prompt=prompt)
            counts = server.counts = Counts(server.cache())
            open_oracle(box, cache=store).next_symbol(box.alphabet.words(words))
            assert len(counts.prompts) == n_sent  # eight cached answers are checked


# Opening ------------------------------------------------------------------------------------------


def test_a_box_reads_words_as_long_as_the_model_has_room_for():
    with serving_llm(SglangServer(max_len=20)) as url:
        box = opened("sglang", url)
        assert box.max_length == 20 - 1 - len(PROMPT_TOKENS)
        assert np.isfinite(box.next_symbol(["a" * 16])).all()
        with pytest.raises(BlackBoxError, match="reads words of at most 16 symbols"):
            box.next_symbol(["a" * 17])
        assert opened("sglang", url, max_length=5).max_length == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"end": None}, r"end: .* does not say which token ends a text: say it, such as end="),
        ({"model": "other"}, "404 Not Found, .*no model other"),
        ({"alphabet": ["a", "a "], "separator": ""}, None),
        ({"alphabet": ["é", "ß"]}, "'é' and 'ß' are the same tokens \\[0\\]: leave one out"),
        ({"prompt": "", "end": 2}, None),
        ({"dialect": "gpt"}, "dialect: expected one of vllm, sglang, llama.cpp, ollama, openai"),
        ({"timeout": 0}, "timeout: expected seconds, more than 0, got 0"),
        ({"max_unknown": 2}, "max_unknown: expected a share from 0 to 1, got 2"),
        ({"top_k": 0}, "top_k: expected a whole number from 1, got 0"),
        ({"colour": 1}, "unknown option 'colour': expected one of dialect, top_k"),
    ],
)
def test_options_are_checked(options, message):
    with serving_llm(VllmServer()) as url:
        if message is None:
            opened("vllm", url, **options)
        else:
            with pytest.raises((ArgumentError, BlackBoxError), match=message):
                opened("vllm", url, **options)


def test_servers_of_texts_need_a_prompt_and_the_text_of_the_end():
    with serving_llm(PlainServer()) as url:
        with pytest.raises(ArgumentError, match="prompt: '' is no token"):
            opened("openai", url, prompt="")
        with pytest.raises(
            ArgumentError, match=r"end: .* knows tokens by their texts, got the id 2"
        ):
            opened("openai", url, end=2)


def test_the_commands_take_such_a_box(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "symbols.txt").write_text("a\nb\n")
    options = ["-O", "prompt=ab", "-O", "alphabet=symbols.txt", "-O", "max_length=6"]
    size = ["--prefixes", "5", "--suffixes", "5", "--method", "paper", "-o", "run"]
    with serving_llm(LlamaCppServer()) as url:
        main(["check", f"openai:{url}", *options])
        printed = capsys.readouterr().out
        main(["extract", f"openai:{url}", *options, *size, "--store", "none"])
    assert "2 symbols" in printed
    assert "unknown" in printed
    assert seqray.open_run("run").best().alphabet.symbols == ("a", "b")
