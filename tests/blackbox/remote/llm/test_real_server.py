"""llama.cpp's own server, through its own interface and through the one of OpenAI."""

from itertools import product

import numpy as np
import pytest

import seqray
from llm_servers import END, START
from seqray.blackbox.frameworks.hf import open_hf
from seqray.blackbox.remote.llm.box import openai_box
from tiny_gguf import llama_folder, llama_server, tiny_llama

WORDS = ["".join(word) for n in range(5) for word in product("abc", repeat=n)]
SETTINGS = {"method": "paper", "basis": "uniform", "n_prefixes": 12, "n_suffixes": 12}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return llama_folder(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def url(folder):
    with llama_server(folder) as address:
        yield address


DIALECTS = {"llama.cpp": {}, "openai": {"dialect": "openai", "end": END, "top_k": 12}}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_real_server_answers_like_the_same_model_opened_by_hf(dialect, url, folder):
    hf = open_hf(folder, alphabet="abc", memory=0)
    options = DIALECTS[dialect] | ({"tokenizer": folder} if dialect == "openai" else {})
    box = openai_box(url, alphabet="abc", **options)
    np.testing.assert_allclose(box.next_symbol(WORDS), hf.next_symbol(WORDS), atol=5e-6)
    settings = {**SETTINGS, "max_rank": 3, "max_length": 6, "budget": 600}
    theirs, ours = (seqray.extract(each, **settings).automaton(3) for each in (box, hf))
    np.testing.assert_allclose(theirs.weights(WORDS), ours.weights(WORDS), atol=1e-5)


def test_a_real_server_reads_symbols_of_several_tokens(url):
    symbols = {"a": [3], "ab": [3, 4], " cab": [11, 5, 3, 4], "ca": [5, 3]}
    card = seqray.Card(list(symbols), "next", tokens=list(symbols.values()), start=START, end=END)
    hf = seqray.hf_box(tiny_llama(), card)
    box = openai_box(url, alphabet=list(symbols))
    words = [(), ("a",), ("ab", "a"), (" cab", "ca", "a")]
    np.testing.assert_allclose(box.next_symbol(words), hf.next_symbol(words), atol=5e-6)
