import numpy as np
import pytest

import seqray
from llm_servers import (
    END,
    FORBIDDEN,
    PROMPT_TOKENS,
    SERVERS,
    LlamaCppServer,
    PlainServer,
    SglangServer,
    VllmServer,
    opened,
    serving_llm,
    tiny_model,
)
from same_gru.hf import import_transformers
from seqray.blackbox.frameworks.hf import open_hf
from seqray.blackbox.remote.llm.symbols import LocalTokenizer
from seqray.cli import main
from seqray.util.errors import ArgumentError, BlackBoxError

WORDS = ["", "a", "c", "ab", "cba", "abcabcaabbcc"]
METHOD = {"method": "paper", "basis": "uniform", "budget": 600}


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
        ({"alphabet": None}, "alphabet: say which symbols the words have, such as alphabet="),
        ({"prompt": 5}, "prompt: expected a text, got 5: put it in double quotes"),
        ({"batch_size": 0}, "batch_size: expected a whole number from 1, got 0"),
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


def test_a_server_that_does_not_tokenise_needs_a_tokenizer(folder, hf):
    class Hidden(VllmServer):
        def routes(self):
            return {
                path: answer for path, answer in super().routes().items() if "token" not in path
            }

    with serving_llm(Hidden()) as url:
        with pytest.raises(BlackBoxError, match=r"does not tokenise .*: give the folder of the"):
            opened("vllm", url)
        box = opened("vllm", url, tokenizer=folder, end=None)
        np.testing.assert_allclose(box.next_symbol(WORDS), hf.next_symbol(WORDS), atol=1e-12)


def test_a_response_in_another_dialect_is_refused_with_advice(folder):
    with (
        serving_llm(LlamaCppServer()) as url,
        pytest.raises(BlackBoxError, match=r"404 Not Found"),
    ):
        opened("sglang", url, dialect="sglang", tokenizer=folder)
    with (
        serving_llm(PlainServer()) as url,
        pytest.raises(BlackBoxError, match=r"expected the fields of vLLM .*with dialect=, one of"),
    ):
        opened("vllm", url, dialect="vllm", tokenizer=folder)


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


@pytest.mark.parametrize(
    ("vocabulary", "names"),
    [(["<s>", "▁cat"], (" cat", "cat", "▁cat", 1)), (["<s>", "▁cat", "cat"], (" cat", "▁cat", 1))],
)
def test_a_token_with_a_space_is_not_named_like_the_one_without(tmp_path, vocabulary, names):
    transformers = import_transformers()
    from tokenizers import Tokenizer, decoders, models  # noqa: PLC0415

    plain = Tokenizer(models.WordLevel({each: i for i, each in enumerate(vocabulary)}, "<s>"))
    plain.decoder = decoders.Metaspace()  # it drops the first space
    transformers.PreTrainedTokenizerFast(tokenizer_object=plain).save_pretrained(tmp_path)
    assert LocalTokenizer(tmp_path).names(1) == names
