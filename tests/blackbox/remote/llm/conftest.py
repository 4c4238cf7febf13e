import pytest

from llm_servers import PROMPT_TOKENS, SERVERS, saved_folder
from seqray.blackbox.frameworks.hf import open_hf


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in ("SEQRAY_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return saved_folder(tmp_path_factory.mktemp("hf"))


@pytest.fixture(scope="session")
def hf(folder):
    """The same model through ``hf:``, queried about prefixes like a server."""
    return open_hf(folder, alphabet="abc", start=PROMPT_TOKENS, dtype="float64", memory=0)


@pytest.fixture(params=SERVERS)
def kind(request):
    return request.param
