"""Models of Hugging Face, and folders of them, that tests of several modules share."""

import shutil

import pytest

from same_gru.hf import CARD, bert, gpt2, saved, tokenizer


@pytest.fixture(scope="module")
def model():
    """A language model; not to be changed."""
    return gpt2()


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A folder with a model, its tokenizer and its card; not to be touched."""
    folder = saved(gpt2(), tmp_path_factory.mktemp("gpt2"), CARD)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    """A copy of it."""
    return shutil.copytree(original, tmp_path / "model")


@pytest.fixture
def classifier(tmp_path):
    folder = saved(bert(), tmp_path / "bert")
    tokenizer(around=("[CLS]", "</s>")).save_pretrained(folder)
    return folder
