import pytest

from seqray.util.redaction import (
    environment_secrets,
    hidden,
    redacted,
    redacted_arguments,
    secrets_in,
)

KEY = "s3cr3t/v4lue"


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (f"https://host/box?key={KEY}&n=5", "https://host/box?key=***&n=5"),
        (f"http://host/?n=5&ACCESS_TOKEN={KEY}", "http://host/?n=5&ACCESS_TOKEN=***"),
        ("http://host/?auth%5Ftoken=s3cr3t%2Fv4lue", "http://host/?auth%5Ftoken=***"),
        (f"https://me:{KEY[:6]}@host/", "https://***@host/"),
        (f"cmd:run --api-key {KEY} --model m", "cmd:run --api-key *** --model m"),
        (f"cmd:run '--api-key={KEY} x' m", "cmd:run '--api-key=***' m"),
        (f"cmd:env OPENAI_API_KEY={KEY} run m", "cmd:env 'OPENAI_API_KEY=***' run m"),
        (f"cmd:sh -c 'X_TOKEN={KEY} run --model m'", "cmd:sh -c 'X_TOKEN=*** run --model m'"),
        (f"cmd:run 'http://host/?key={KEY}&n=5'", "cmd:run 'http://host/?key=***&n=5'"),
        (f'cmd:run \'{{"api_key":"{KEY}","n":5}}\'', 'cmd:run \'{"api_key":***,"n":5}\''),
        (f"cmd:curl -H 'Authorization: Bearer {KEY}'", "cmd:curl -H 'Authorization: Bearer ***'"),
        (f"cmd:run 'open --password {KEY}", "cmd:run 'open --password ***"),
        ("cmd:run sk-abcdefghijklmnop1234", "cmd:run ***"),
    ],
)
def test_secrets_are_left_out_by_their_names(spec, shown):
    assert redacted(spec) == shown
    assert redacted(shown) == shown
    assert secrets_in(spec)
    assert not secrets_in(shown)


@pytest.mark.parametrize(
    "spec",
    [
        "demo",
        "python:token:box",
        "wa:key/machine.json",
        "http://host/keyboard?sort-key=up&n=5",
        "cmd:run --tokenizer t.json --pad-token '<pad>' --max-tokens 5",
        "cmd:run --auth --model  m",
    ],
)
def test_what_is_no_secret_stays_as_it_is(spec):
    assert redacted(spec) == spec
    assert secrets_in(spec) == []


def test_an_argument_with_a_secret_name_before_it_is_hidden_whole():
    arguments = ["run", "--api-key", 'it\'s a "key"', "-token", "-x", "m"]
    assert redacted_arguments(arguments) == ["run", "--api-key", "***", "-token", "***", "m"]


@pytest.mark.parametrize(
    "text",
    [
        "s3cr3t/v4lue",
        "s3cr3t%2fv4lue",
        "s3cr3t%2Fv4lue",
        r"s3cr3t\/v4lue",
        r"\u00733cr3t/v4lue",
        r"s3cr3t\u002Fv4lue",
        "s3cr3t&#x2F;v4lue",
        "s3cr3t&#47;v4lue",
    ],
)
def test_a_value_is_hidden_however_it_is_written(text):
    assert hidden(f"key <{text}> is unknown", [KEY, "", "x"]) == "key <***> is unknown"


def test_short_values_are_not_looked_for():
    assert hidden("404 not found", ["4"]) == "404 not found"


def test_secrets_of_the_environment_are_known(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", f" {KEY} ")
    monkeypatch.setenv("SOME_OTHER", "nothing special")
    assert KEY in environment_secrets()
    assert "nothing special" not in environment_secrets()


def test_the_working_folder_is_no_secret(monkeypatch):
    monkeypatch.setenv("PWD", "/home/somebody/models")
    monkeypatch.setenv("MY_PASSWORD", "k93-models-xyz")
    assert "/home/somebody/models" not in environment_secrets()
    assert "k93-models-xyz" in environment_secrets()


@pytest.mark.parametrize("piece", ["a", "a1", "_", "a-", "1"])
def test_a_long_text_takes_no_long_time(piece):
    long = piece * (300_000 // len(piece))  # minutes, if each character were a beginning
    assert redacted(long) == long
    assert redacted(f"{long} key=abc {long}") == f"{long} key=*** {long}"
