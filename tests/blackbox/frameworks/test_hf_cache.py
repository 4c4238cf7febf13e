"""Language models that are stepped with their cache of keys and values."""

import logging

import numpy as np
import pytest

import seqray
from same_gru.hf import (
    ALPHABET,
    CARD,
    N_IDS,
    SMALL,
    WORDS,
    import_transformers,
    next_of,
)
from seqray.automata.tree import PrefixTree, walk
from seqray.blackbox.frameworks.hf import hf_box
from seqray.blackbox.frameworks.stepped import SteppedModel
from seqray.blackbox.queried import QueriedModel

torch = pytest.importorskip("torch")
transformers = import_transformers()


def test_the_cache_is_shared_unless_there_is_no_memory_for_it(model):
    cached, anew = hf_box(model, CARD), hf_box(model, CARD, memory=0)
    assert isinstance(cached, SteppedModel)
    assert isinstance(anew, QueriedModel)
    np.testing.assert_allclose(cached.weights(WORDS), anew.weights(WORDS), rtol=1e-5)


def test_blocks_are_the_same_with_a_cache_and_without(model):
    basis = seqray.uniform_basis(ALPHABET, 12, 12, seed=np.random.default_rng(0), max_length=14)
    cached, anew = (seqray.fill(hf_box(model, CARD, memory=m), basis) for m in (2**30, 0))
    np.testing.assert_allclose(cached.values, anew.values, rtol=1e-5)


def test_no_token_is_read_twice(model, monkeypatch):
    box = hf_box(model, CARD)
    n_read = []
    monkeypatch.setattr(
        model.transformer.wte,
        "forward",
        lambda ids, f=model.transformer.wte.forward: n_read.append(ids.numel()) or f(ids),
    )
    box.weights(WORDS)
    assert sum(n_read) == len(PrefixTree.of(ALPHABET.words(WORDS)))


OTHERS = {
    "grouped heads": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL)),
    "a sliding window": lambda: transformers.MistralForCausalLM(
        transformers.MistralConfig(**SMALL, sliding_window=4)
    ),
    "its own attention": lambda: transformers.BloomForCausalLM(
        transformers.BloomConfig(
            vocab_size=N_IDS, hidden_size=16, n_layer=2, n_head=2, initializer_range=0.3
        )
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_models_of_other_kinds_share_their_cache(name):
    torch.manual_seed(0)
    model = OTHERS[name]()
    box = hf_box(model, CARD)
    assert isinstance(box, SteppedModel)
    expected = [next_of(model, word, "symbols") for word in WORDS]
    assert np.ptp(expected, axis=0).max() > 0.1
    np.testing.assert_allclose(box.next_symbol(WORDS), expected, atol=1e-5)


def two_ways():
    """Return a model that reads from both ends: later tokens change what earlier ones left."""
    config = transformers.BertConfig(
        **{k: v for k, v in SMALL.items() if k != "num_key_value_heads"}
    )
    return transformers.BertLMHeadModel(config)


def without_keys():
    return transformers.MambaForCausalLM(
        transformers.MambaConfig(
            vocab_size=N_IDS, hidden_size=16, num_hidden_layers=2, state_size=4
        )
    )


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (two_ways, "with its cache its answers differ"),
        (without_keys, "does not cache keys and values"),
    ],
)
def test_a_model_whose_cache_cannot_be_shared_reads_prefixes_anew_and_says_why(
    made, reason, caplog
):
    torch.manual_seed(0)
    model = made()
    with caplog.at_level(logging.WARNING, "seqray"):
        box = hf_box(model, CARD)
    assert "reads every prefix from the beginning: " in caplog.text
    assert reason in caplog.text
    assert isinstance(box, QueriedModel)
    expected = [next_of(model, word, "symbols") for word in WORDS]
    np.testing.assert_allclose(box.next_symbol(WORDS), expected, atol=1e-5)


def test_few_states_are_stepped_at_once_where_they_are_large(model):
    token = 2 * 2 * 16 * 4
    box = hf_box(model, CARD, memory=64 * 5 * token)
    assert box.max_states == 5
    tree = PrefixTree.of(ALPHABET.words(WORDS))
    widths = [len(s.log_weight) for _, s in walk(box, tree, box.start())]
    assert max(widths) == 5
    assert hf_box(model, CARD, memory=1).max_states == 1


@pytest.mark.parametrize("n_tokens", [1, 20, 100])
def test_what_does_not_fit_into_memory_is_read_anew(model, n_tokens):
    small = hf_box(model, CARD, memory=n_tokens * 2 * 2 * 16 * 4)
    assert isinstance(small, SteppedModel)
    np.testing.assert_allclose(small.weights(WORDS), hf_box(model, CARD).weights(WORDS), rtol=1e-5)
    symbols = np.arange(3).repeat(100)
    state = small.step(small.start(), np.zeros(300, np.int64), symbols)
    assert state.inner.pages is None


def test_a_large_step_is_made_in_parts(model, monkeypatch):
    box = hf_box(model, CARD)
    expected = box.weights(WORDS)
    monkeypatch.setattr("seqray.blackbox.frameworks.hf_cache.MAX_COLLECTED_BYTES", 4 * N_IDS * 2)
    np.testing.assert_allclose(box.weights(WORDS), expected, rtol=1e-5)
