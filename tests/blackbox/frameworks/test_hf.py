"""Models of Hugging Face transformers as black boxes."""

from dataclasses import replace

import numpy as np
import pytest

import seqray
from page_commands import DOCS, run_page_commands
from pages import blocks, run_example
from same_gru.hf import (
    ALPHABET,
    CARD,
    END,
    IDS,
    SMALL,
    START,
    VALUE,
    WORDS,
    bert,
    gpt2,
    ids_of,
    import_transformers,
    next_of,
    saved,
    tokenizer,
)
from seqray.automata.stepper import predicts
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.hf import hf_box, open_hf
from seqray.blackbox.frameworks.stepped import SteppedModel
from seqray.blackbox.queried import QueriedBox
from seqray.util.errors import ArgumentError, BlackBoxError

torch = pytest.importorskip("torch")
transformers = import_transformers()


# Language models ------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [0, 2**30])
def test_a_language_model_is_renormalised_over_its_symbols(model, memory):
    box = hf_box(model, CARD, memory=memory)
    expected = [next_of(model, word, "symbols") for word in WORDS]
    np.testing.assert_allclose(box.next_symbol(WORDS), expected, atol=1e-6)
    assert "not renormalised" not in repr(box)


@pytest.mark.parametrize("memory", [0, 2**30])
def test_or_is_left_as_it_is_among_all_tokens(model, memory):
    box = hf_box(model, replace(CARD, renormalise=False), memory=memory)
    expected = np.array([next_of(model, word, "tokens") for word in WORDS])
    assert expected.sum(axis=1).max() < 0.99
    np.testing.assert_allclose(box.next_symbol(WORDS), expected, atol=1e-6)
    assert predicts(box)
    assert repr(box).endswith("the GPT2LMHeadModel, 3 symbols, not renormalised)")


def test_half_precision_is_near(tmp_path, model):
    saved(model, tmp_path, CARD)
    full, half = (open_hf(tmp_path, dtype=dtype) for dtype in ("float64", "bfloat16"))
    assert isinstance(half, SteppedModel)
    difference = np.abs(half.next_symbol(WORDS) - full.next_symbol(WORDS)).max()
    assert 1e-6 < difference < 0.2


def test_the_model_is_left_as_it_was():
    model = gpt2(pad_token_id=IDS[0])
    model.train()
    model.lm_head.eval()
    hf_box(model, CARD).weights(WORDS)
    assert model.training
    assert not model.lm_head.training
    assert model.config.pad_token_id == IDS[0]
    assert model.config.use_cache


# Length ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [0, 2**30])
def test_a_word_that_is_too_long_is_refused_before_it_is_read(memory):
    model = gpt2(n_positions=6)
    box = hf_box(model, CARD, memory=memory)
    assert box.weights(["abcab"]).shape == (1,)
    with pytest.raises(
        BlackBoxError, match=r"GPT2LMHeadModel reads .*at most [56] .*\(max_length\)"
    ):
        box.weights(["abcabc"])
    short = hf_box(model, replace(CARD, limit=4), memory=memory)
    with pytest.raises(BlackBoxError, match=r"reads (words of )?at most [34]"):
        short.weights(["abca"])


def test_positions_that_are_counted_from_behind_padding_are_known():
    sizes = {k: v for k, v in SMALL.items() if k != "num_key_value_heads"}
    config = transformers.RobertaConfig(**{**sizes, "pad_token_id": 3})
    box = hf_box(transformers.RobertaForSequenceClassification(config), VALUE)
    assert np.isfinite(box.weights(["abc" * 11 + "ab"])).all()
    with pytest.raises(BlackBoxError, match="reads words of at most 35"):
        box.weights(["abc" * 12])


# Classifiers ----------------------------------------------------------------------------------


def logits_of(model, word, card=VALUE):
    with torch.inference_mode():
        return model.eval()(ids_of(word, card)).logits[0].double().numpy()


def test_a_classifier_answers_one_class_s_logit_or_probability(tmp_path):
    model = bert()
    saved(model, tmp_path, VALUE)
    logits = np.array([logits_of(model, word) for word in WORDS])
    box = open_hf(tmp_path)
    assert isinstance(box, QueriedBox)
    np.testing.assert_allclose(box.weights(WORDS), logits[:, 1], atol=1e-5)
    box = open_hf(tmp_path, label="LABEL_2", output="probability")
    probabilities = np.exp(logits[:, 2]) / np.exp(logits).sum(axis=1)
    np.testing.assert_allclose(box.weights(WORDS), probabilities, atol=1e-6)


def test_labels_that_exclude_nothing_have_probabilities_of_their_own():
    model = bert(problem_type="multi_label_classification")
    box = hf_box(model, replace(VALUE, scores="logits"))
    logits = np.array([logits_of(model, word)[1] for word in WORDS])
    np.testing.assert_allclose(box.weights(WORDS), 1 / (1 + np.exp(-logits)), atol=1e-6)


def test_a_regression_has_no_probability():
    model = bert(num_labels=1, problem_type="regression")
    card = replace(VALUE, column=0)
    expected = [logits_of(model, word)[0] for word in WORDS]
    np.testing.assert_allclose(hf_box(model, card).weights(WORDS), expected, atol=1e-5)
    with pytest.raises(ArgumentError, match="answers a number and no probability"):
        hf_box(model, replace(card, scores="logits"))


@pytest.mark.parametrize("pad", [None, IDS[0]])
def test_a_symbol_is_not_taken_for_padding(pad):
    torch.manual_seed(0)
    config = gpt2(pad_token_id=pad, num_labels=2).config
    model = transformers.GPT2ForSequenceClassification(config)
    box = hf_box(model, VALUE)
    actual = box.weights(["ba", "bca", "ccc"])
    config.pad_token_id = None
    expected = [logits_of(model, word)[1] for word in ("ba", "bca", "ccc")]
    np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_the_empty_word_needs_a_mark_or_a_value():
    model = bert()
    card = replace(VALUE, start=None)
    with pytest.raises(BlackBoxError, match="cannot read the empty word, and its card has neither"):
        hf_box(model, card)
    assert hf_box(model, replace(card, empty=0.25)).weights([""])[0] == 0.25
    stop = hf_box(model, replace(card, stop=START)).weights(["", "ab"])
    expected = [logits_of(model, word, replace(card, stop=START))[1] for word in ("", "ab")]
    np.testing.assert_allclose(stop, expected, atol=1e-5)


@pytest.mark.parametrize("memory", [0, 2**30])
def test_several_tokens_are_read_before_the_first_symbol(model, memory):
    card = replace(CARD, start=[END, START])
    box = hf_box(model, card, memory=memory)
    assert box.max_length == 38
    with torch.inference_mode():
        logits = model.eval()(torch.tensor([[END, START, IDS[1]]])).logits[0, -1].double()
    expected = logits[[*IDS, END]].softmax(0).numpy()
    np.testing.assert_allclose(box.next_symbol(["b"])[0], expected, atol=1e-5)


# What does not fit ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "message"),
    [
        (replace(CARD, ids=(4, 2, 70), columns=(4, 2, 70)), r"symbol 'c' has the id 70.*from 0 to"),
        (replace(CARD, start=9), "start has the id 9"),
        (replace(CARD, end=9), "end has the id 9"),
        (replace(CARD, columns=(1, 2, 3)), "outputs are its tokens: leave columns out"),
        (replace(CARD, start=None), "give the card a start"),
        (VALUE, "GPT2LMHeadModel predicts the next token"),
    ],
)
def test_an_alphabet_and_a_model_that_disagree_are_refused(model, card, message):
    with pytest.raises(ArgumentError, match=message):
        hf_box(model, card)


def test_columns_are_ids(model):
    plain = Card(ALPHABET, "next", ids=IDS, start=START, end=END)
    actual = hf_box(model, plain).next_symbol(WORDS)
    np.testing.assert_array_equal(actual, hf_box(model, CARD).next_symbol(WORDS))


@pytest.mark.parametrize("end", [0, 1])
def test_a_card_needs_no_columns_wherever_its_end_is(model, end):
    plain = Card(ALPHABET, "next", ids=IDS, start=8, end=end)
    explicit = Card(ALPHABET, "next", ids=IDS, columns=IDS, start=8, end=end)
    actual = hf_box(model, plain).next_symbol(WORDS)
    np.testing.assert_array_equal(actual, hf_box(model, explicit).next_symbol(WORDS))


def test_the_end_is_the_configuration_s_where_the_card_says_none(model):
    plain = Card(ALPHABET, "next", ids=IDS, start=START)
    actual = hf_box(model, plain).next_symbol(WORDS)
    np.testing.assert_array_equal(actual, hf_box(model, CARD).next_symbol(WORDS))
    with pytest.raises(ArgumentError, match="end: say in the card which token it is"):
        hf_box(gpt2(eos_token_id=None), plain)


def test_what_is_no_model_is_refused(model):
    with pytest.raises(ArgumentError, match="expected one of transformers, got Linear"):
        hf_box(torch.nn.Linear(1, 1), CARD)
    with pytest.raises(ArgumentError, match="expected a Card, got str"):
        hf_box(model, "abc")
    with pytest.raises(ArgumentError, match="memory: expected a whole number from 0"):
        hf_box(model, CARD, memory=-1)
    with pytest.raises(ArgumentError, match="is no causal language model"):
        hf_box(bert(), CARD)
    with pytest.raises(ArgumentError, match="has 3 classes, and its card has column 3"):
        hf_box(bert(), replace(VALUE, column=3))


def test_a_model_that_answers_nan_is_named():
    model = gpt2()
    model.transformer.ln_f.bias.data[:] = np.nan
    with pytest.raises(BlackBoxError, match=r"the GPT2LMHeadModel answered .*nan"):
        hf_box(model, CARD)


# The page and the example ---------------------------------------------------------------------


def test_the_page_s_code_runs(tmp_path, monkeypatch, hasty):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / ".answers.sqlite"))
    words = ("the", "cat", "dog", "sleeps", "good", "bad", "not")
    classes = {"id2label": {0: "NEGATIVE", 1: "POSITIVE"}, "num_labels": 2, "vocab_size": 12}
    for folder, model in (("model", gpt2(vocab_size=12)), ("reviews", bert(**classes))):
        saved(model, tmp_path / folder)
        tokenizer(words=words, around=("<s>", "</s>")).save_pretrained(folder)
    run_page_commands(DOCS / "boxes/hf.md", [("--max-length 20 -o run", "--max-length 9 -o run")])
    monkeypatch.setattr(seqray, "extract", lambda box, **_: box.weights([("the", "cat")]))
    names = {}
    for code in blocks("boxes/hf.md", "python"):
        exec(code, names)
        assert isinstance(names["box"].weights(names["box"].alphabet.words([()])), np.ndarray)


def test_the_example_runs(hasty):
    printed = run_example("hf_box.py")
    assert "the model became WeightedAutomaton(" in printed
    assert "the dog sees the cat" in printed
