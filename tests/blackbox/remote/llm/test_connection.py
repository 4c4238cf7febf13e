import pytest

import seqray
from llm_servers import VllmServer, opened, serving_llm
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.oracle import open_oracle
from seqray.util.errors import ArgumentError, BlackBoxError

KEY = "s3cret-k3y-of-mine"


@pytest.mark.parametrize("variable", ["SEQRAY_TOKEN", "OPENAI_API_KEY"])
def test_a_key_is_sent_and_shown_nowhere(variable, monkeypatch, caplog, tmp_path):
    caplog.set_level("DEBUG")
    server = VllmServer(key=KEY)
    with serving_llm(server) as url:
        with pytest.raises(BlackBoxError, match=r"401 .*no token was sent") as caught:
            opened("vllm", url)
        monkeypatch.setenv(variable, KEY)
        box = opened("vllm", url)
        open_oracle(box, cache=AnswerStore(tmp_path / "store")).weights(["ab"])
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


def test_a_path_may_end_with_v1_and_a_query_may_hold_a_key():
    server = VllmServer()
    with serving_llm(server) as url:
        box = opened("vllm", f"{url}/v1/?api_key={KEY}")
        same = opened("vllm", f"{url}?api_key=an0ther-k3y")
    assert {path.split()[1] for path in server.counts.paths} == {
        "/v1/models",
        "/tokenize",
        "/v1/completions",
    }
    assert box.backend.hides_secrets
    assert KEY not in box.backend.fingerprint
    assert same.backend.fingerprint == box.backend.fingerprint


@pytest.mark.parametrize("where", ["localhost:8000", "ftp://host", "http://"])
def test_an_address_that_is_none_is_refused(where):
    with pytest.raises(ArgumentError, match="expected http://HOST/PATH"):
        seqray.open_black_box(f"openai:{where}", alphabet="ab")


def test_nobody_there_is_said():
    with pytest.raises(BlackBoxError, match=r"cannot be reached: .*is it running"):
        opened("vllm", "http://127.0.0.1:9")


def test_a_model_that_is_called_like_the_key_is_not_shown_by_it(monkeypatch):
    monkeypatch.setenv("SEQRAY_TOKEN", "key-of-mine-12345")
    with serving_llm(VllmServer(models=["m key-of-mine-12345 \x1b[31m"])) as url:
        box = opened("vllm", url)
    assert "key-of-mine" not in repr(box)
    assert "(m *** \\x1b[31m)" in box.backend.who
