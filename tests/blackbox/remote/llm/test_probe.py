import pytest

from seqray.blackbox.remote.llm.probe import find_model
from seqray.util.errors import ArgumentError, BlackBoxError


def asked(documents):
    """Return a server that has these documents at these paths."""
    return lambda path, body: documents.get(path)


def models(owner, *names, **about):
    return {"/v1/models": {"data": [{"id": n, "owned_by": owner, **about} for n in names]}}


@pytest.mark.parametrize(
    ("documents", "dialect"),
    [
        (models("vllm", "m"), "vllm"),
        (models("sglang", "m"), "sglang"),
        (models("llamacpp", "m"), "llama.cpp"),
        (models("library", "m") | {"/api/version": {"version": "0.13"}, "/api/show": {}}, "ollama"),
        (models("system", "m"), "openai"),
        (models(None, "m") | {"/get_model_info": {"model_path": "m"}}, "sglang"),
        (models(None, "m") | {"/props": {"eos_token": "</s>"}}, "llama.cpp"),
    ],
)
def test_a_server_is_known_by_its_list_of_models_or_by_a_path(documents, dialect):
    model = find_model(asked(documents), "the server", None, None)
    assert (model.dialect, model.name) == (dialect, "m")


def test_the_user_may_say_dialect_and_model():
    model = find_model(asked({}), "the server", "vllm", "m")
    assert (model.dialect, model.name, model.limit) == ("vllm", "m", None)
    with pytest.raises(ArgumentError, match=r"dialect: expected one of vllm, .*, got 'x'"):
        find_model(asked({}), "the server", "x", "m")


def test_a_server_with_several_models_needs_a_name():
    with pytest.raises(ArgumentError, match="has 2 models: say which, model=NAME: a, b"):
        find_model(asked(models("vllm", "b", "a")), "the server", None, None)
    assert find_model(asked(models("vllm", "b", "a")), "the server", None, "b").name == "b"


@pytest.mark.parametrize("listed", [None, [], {"data": []}, {"data": "x"}, {"data": [5]}])
def test_what_lists_no_model_is_no_such_server(listed):
    with pytest.raises(BlackBoxError, match="lists no model at /v1/models: is this the address"):
        find_model(asked({"/v1/models": listed}), "the server", None, None)


def test_what_a_server_says_about_its_model_is_used():
    assert find_model(asked(models("vllm", "m", max_model_len=99)), "", None, None).limit == 99
    props = {"default_generation_settings": {"n_ctx": 64}, "eos_token": "</s>"}
    documents = models("llamacpp", "m", meta={"n_vocab": 12}) | {"/props": props}
    model = find_model(asked(documents), "", None, None)
    assert (model.limit, model.end, model.n_tokens) == (64, "</s>", 12)
    info = {"tokenizer.ggml.tokens": ["a", "</s>"], "tokenizer.ggml.eos_token_id": 1}
    info |= {"llama.context_length": 4096}
    documents = models("library", "m") | {"/api/show": {"model_info": info}}
    model = find_model(asked(documents), "", "ollama", None)
    assert (model.limit, model.end) == (2048, "</s>")


def test_a_model_that_ollama_does_not_have_is_said():
    with pytest.raises(BlackBoxError, match="has no model 'm': pull it first, ollama pull m"):
        find_model(asked({}), "the server", "ollama", "m")


@pytest.mark.parametrize("odd", [[1], 5, "x", True])
def test_what_has_another_form_is_taken_as_not_said(odd):
    props = {"/props": {"default_generation_settings": odd, "eos_token": [odd]}}
    model = find_model(asked(models("llamacpp", "m", meta=odd) | props), "the server", None, None)
    assert (model.limit, model.end, model.n_tokens) == (None, None, None)
    shown = {"/api/version": {}, "/api/show": {"model_info": odd}}
    model = find_model(asked(models([odd], "m") | shown), "the server", None, None)
    assert (model.dialect, model.end) == ("ollama", None)
