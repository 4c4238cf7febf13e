"""Tiny transformers in the form of Hugging Face: of another kind than the GRU, but as small."""

import json
import os

import numpy as np
import pytest

from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card, card_path
from seqray.blackbox.frameworks.hf import open_hf

os.environ["HF_HUB_OFFLINE"] = "1"

ALPHABET = Alphabet("abc")
IDS, START, END, N_IDS = (4, 2, 7), 1, 5, 9
CARD = Card(ALPHABET, "next", ids=IDS, columns=IDS, start=START, end=END)
VALUE = Card(ALPHABET, "value", ids=IDS, start=START, column=1)
SIZE = {"n_layer": 2, "n_embd": 16, "n_head": 2, "n_positions": 40, "initializer_range": 0.3}
SMALL = {
    "vocab_size": N_IDS,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 40,
    "initializer_range": 0.3,
    "bos_token_id": START,
    "eos_token_id": END,
}
"""Settings of a configuration that is not GPT-2's."""

LETTERS = np.random.default_rng(0).choice(list("abc"), 30)
WORDS = ["", "a", "c", "ab", "bca", "cabcab", "cabbbc", "".join(LETTERS), "".join(LETTERS[::-1])]


def import_transformers():
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    return transformers


def gpt2(**changes):
    """Return a language model of two layers, with weights that matter."""
    transformers, torch = import_transformers(), pytest.importorskip("torch")
    torch.manual_seed(0)
    ids = {"bos_token_id": START, "eos_token_id": END, "vocab_size": N_IDS}
    config = transformers.GPT2Config(**{**SIZE, **ids, **changes})
    return transformers.GPT2LMHeadModel(config)


def bert(**changes):
    """Return a classifier that reads a word from both ends."""
    transformers, torch = import_transformers(), pytest.importorskip("torch")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    more = {"intermediate_size": 32, "max_position_embeddings": 40, "initializer_range": 0.3}
    config = transformers.BertConfig(
        **{**sizes, **more, "vocab_size": N_IDS, "num_labels": 3, **changes}
    )
    return transformers.BertForSequenceClassification(config)


def saved(model, folder, card=None):
    """Write a model and its card into a folder, and return that."""
    model.save_pretrained(folder)
    if card is not None:
        card.save(card_path(folder))
    return folder


def hf_cached(folder):
    return open_hf(saved(gpt2(), folder, CARD))


def hf_sequences(folder):
    return open_hf(saved(gpt2(), folder, CARD), memory=0)


def hf_tokens(folder):
    """Return a box with symbols of 1 to 3 tokens, some of which begin with others."""
    tokens = [(4,), (4, 2), (2,), (7, 4, 2)]
    card = Card(Alphabet("abcd"), "next", tokens=tokens, start=START, end=END)
    return open_hf(saved(gpt2(n_positions=80), folder, card))


def hf_classifier(folder):
    return open_hf(saved(bert(), folder, VALUE), output="probability")


def tokenizer(*, around=(), words=(), **special):
    """Return one to which letters, or words, are tokens, and which puts tokens around a text."""
    transformers = import_transformers()
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors  # noqa: PLC0415

    tokens = ["<unk>", "<s>", "b", "ab", "a", "</s>", "#c", "c", "[CLS]"]
    if words:
        tokens = ["<unk>", "<s>", "</s>", *words]
    plain = Tokenizer(models.WordLevel({t: i for i, t in enumerate(tokens)}, unk_token="<unk>"))
    letters = pre_tokenizers.Split(Regex("."), "isolated")
    plain.pre_tokenizer = pre_tokenizers.Whitespace() if words else letters
    if around:
        marks = [(token, tokens.index(token)) for token in around]
        single = " ".join([around[0], "$A", *around[1:]])
        plain.post_processor = processors.TemplateProcessing(single=single, special_tokens=marks)
    special = special or {"bos_token": "<s>", "eos_token": "</s>"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, unk_token="<unk>", **special
    )


def ids_of(word, card=CARD):
    """Return the ids of a word, as a batch of one."""
    torch = pytest.importorskip("torch")
    return torch.as_tensor(card.of_words(card.alphabet.words([word])))


def next_of(model, word, over):
    """Return a model's answer for one word, as its users compute it."""
    torch = pytest.importorskip("torch")
    with torch.inference_mode():
        logits = model.eval()(ids_of(word)).logits[0, -1].double()
    probabilities = logits.softmax(0)[[*IDS, END]].numpy()
    return probabilities / probabilities.sum() if over == "symbols" else probabilities


def edit(path, **changes):
    """Change entries of a JSON file; ``...`` removes one."""
    document = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({k: v for k, v in document.items() if v is not ...}))
