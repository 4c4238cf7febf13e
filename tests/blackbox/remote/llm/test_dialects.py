import json
import math

import pytest

from seqray.blackbox.remote.llm.dialects import (
    Completions,
    LlamaCpp,
    Ollama,
    Sglang,
    UnexpectedError,
    VllmIds,
    VllmTop,
    field,
)

DIALECTS = (VllmIds, VllmTop, Sglang, LlamaCpp, Ollama, Completions)
LIST = [{"token": "a", "id": 3, "logprob": -0.5}, {"token": "b", "id": 4, "logprob": -2.0}]


def body_of(dialect, *, attempt=0):
    prompt = "text" if dialect is Ollama else (1, 2)
    return dialect("m", 7).body([prompt], [3, 4], attempt)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_token_is_generated_and_nothing_changes_its_probability(dialect):
    body = body_of(dialect)
    json.dumps(body)
    flat = body | body.get("sampling_params", {}) | body.get("options", {})
    numbers = [
        flat.get(name) for name in ("max_tokens", "max_new_tokens", "n_predict", "num_predict")
    ]
    assert [number for number in numbers if number is not None] == [1]
    assert not flat.keys() & {"logit_bias", "allowed_token_ids", "presence_penalty", "grammar"}


def test_the_documented_fields_are_sent():
    body = body_of(VllmIds)
    assert body["prompt"] == [[1, 2]]
    assert (body["temperature"], body["logprobs"]) == (0, 1)
    assert body["logprob_token_ids"] == [3, 4]
    assert body["return_tokens_as_token_ids"] is True
    assert "logprob_token_ids" not in body_of(VllmTop)
    assert body_of(VllmTop)["logprobs"] == 7
    body = body_of(Sglang)
    assert (body["return_logprob"], body["token_ids_logprob"]) == (True, [[3, 4]])
    assert body_of(LlamaCpp)["n_probs"] == 7
    body = body_of(Ollama)
    assert (body["raw"], body["logprobs"], body["top_logprobs"]) == (True, True, 7)


def test_another_token_is_drawn_where_the_end_was_drawn():
    assert body_of(Ollama)["options"]["temperature"] == 1
    again = body_of(Ollama, attempt=2)["options"]
    assert again["temperature"] > 100
    assert again["seed"] == 2
    assert body_of(Completions, attempt=2)["seed"] == 2


@pytest.mark.parametrize(
    ("dialect", "document", "name"),
    [
        (Ollama, {"response": "a", "logprobs": [LIST[0] | {"top_logprobs": LIST}]}, "b"),
        (LlamaCpp, {"completion_probabilities": [LIST[0] | {"top_logprobs": LIST}]}, 4),
        (
            Completions,
            {"choices": [{"logprobs": {"content": [LIST[0] | {"top_logprobs": LIST}]}}]},
            "b",
        ),
        (Completions, {"choices": [{"logprobs": {"top_logprobs": [{"a": -0.5, "b": -2}]}}]}, "b"),
    ],
)
def test_the_likeliest_tokens_are_read_with_what_bounds_the_others(dialect, document, name):
    (listed,) = dialect("m", 2).read(document, 1)
    assert listed.logs[name] == -2
    assert listed.bound == -2
    assert listed.rest == pytest.approx(1 - math.exp(-0.5) - math.exp(-2))


def test_choices_come_back_in_the_order_of_the_prompts():
    tops = [{"logprobs": {"top_logprobs": [{"a": -n}]}, "index": n} for n in (2, 0, 1)]
    listed = Completions("m", 1).read({"choices": tops}, 3)
    assert [each.logs["a"] for each in listed] == [0, -1, -2]


@pytest.mark.parametrize(
    ("dialect", "document"),
    [
        (Ollama, {"response": "", "done_reason": "stop"}),
        (LlamaCpp, [{"completion_probabilities": []}]),
        (Completions, {"choices": [{"logprobs": None}]}),
        (Completions, {"choices": [{"logprobs": {"top_logprobs": [{}]}}]}),
        (VllmIds, {"choices": [{"logprobs": None}]}),
        (Sglang, [{"meta_info": {"output_token_ids_logprobs": []}}]),
    ],
)
def test_a_response_without_a_list_is_none(dialect, document):
    assert dialect("m", 2).read(document, 1) == [None]


@pytest.mark.parametrize(
    ("dialect", "document", "message"),
    [
        (Ollama, {"error": "no"}, 'no "response"'),
        (Ollama, [1], "no JSON object"),
        (LlamaCpp, [{}, {}], "2 results for 1 prompts"),
        (LlamaCpp, {}, 'no "completion_probabilities"'),
        (Sglang, [], "0 results for 1 prompts"),
        (Completions, {"choices": []}, "0 choices for 1 prompts"),
        (Completions, {"choices": [{"index": math.inf}]}, "inf as a whole number"),
    ],
)
def test_a_response_of_another_form_is_refused(dialect, document, message):
    with pytest.raises(UnexpectedError, match=message):
        dialect("m", 2).read(document, 1)


@pytest.mark.parametrize("value", [None, True, "x", math.nan, math.inf, 0.5])
def test_what_is_no_log_probability_is_refused(value):
    document = {"choices": [{"logprobs": {"top_logprobs": [{"a": value}]}}]}
    with pytest.raises(UnexpectedError, match="as a log-probability"):
        Completions("m", 2).read(document, 1)


def test_a_drawn_token_behind_the_likeliest_ones_bounds_no_other():
    top = {"logprobs": {"top_logprobs": [{"z": -9.0, "a": -0.5, "b": -2.0}]}}
    (listed,) = Completions("m", 2).read({"choices": [top]}, 1)
    assert listed.bound == -2.0
    assert listed.logs["z"] == -9.0
    assert listed.rest == pytest.approx(1 - math.exp(-0.5) - math.exp(-2) - math.exp(-9))


def test_tokens_that_are_no_ids_are_refused():
    document = {"choices": [{"logprobs": {"top_logprobs": [{"a": -1.0}]}}]}
    with pytest.raises(UnexpectedError, match="tokens such as 'a', not \"token_id:5\""):
        VllmIds("m", 2).read(document, 1)


def test_numbers_that_stand_for_minus_infinity_become_that():
    (listed,) = VllmIds("m", 1).read(
        {
            "choices": [
                {"logprobs": {"top_logprobs": [{"token_id:5": -9999.0, "token_id:6": 1e-7}]}}
            ]
        },
        1,
    )
    assert listed.logs == {5: -math.inf, 6: 0.0}


def test_fields_are_looked_up_one_inside_the_other():
    assert field({"a": {"b": 1}}, "a", "b") == 1
