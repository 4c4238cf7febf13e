"""Which tokens of a Hugging Face model are symbols: cards, alphabets and tokenizers."""

import json
import socket
from dataclasses import replace

import numpy as np
import pytest

from same_gru.hf import IDS, VALUE, edit, import_transformers, tokenizer
from seqray import open_black_box
from seqray.blackbox.card import card_path
from seqray.blackbox.frameworks.hf import open_hf
from seqray.blackbox.frameworks.hf_card import token_card
from seqray.blackbox.frameworks.stepped import SteppedModel
from seqray.util.errors import ArgumentError, FileError, MissingFileError

torch = pytest.importorskip("torch")
transformers = import_transformers()

WORDS = ["", "a", "cab", "abcabcab"]


def test_a_folder_is_opened_by_name_and_nothing_is_fetched(original, monkeypatch, capfd):
    def refuse(*_):
        raise AssertionError("the network was queried")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    by_card = open_black_box(f"hf:{original}")
    by_tokens = open_black_box(f"hf:{original}", alphabet="abc")
    assert isinstance(by_card, SteppedModel)
    np.testing.assert_array_equal(by_tokens.weights(WORDS), by_card.weights(WORDS))
    assert capfd.readouterr() == ("", "")


def test_what_a_card_leaves_out_stands_in_the_configuration(folder):
    expected = open_hf(folder).weights(WORDS)
    card = {"alphabet": "abc", "answers": "next", "ids": IDS}
    card_path(folder).write_text(json.dumps(card))
    np.testing.assert_array_equal(open_hf(folder).weights(WORDS), expected)
    edit(folder / "config.json", eos_token_id=[5, 3])
    np.testing.assert_array_equal(open_hf(folder).weights(WORDS), expected)
    edit(folder / "config.json", eos_token_id=50256)
    with pytest.raises(ArgumentError, match=r"end: say which token it is, since config\.json has"):
        open_hf(folder)


def test_options_stand_above_the_card(folder):
    assert "not renormalised" in repr(open_hf(folder, renormalise=False))
    other = open_hf(folder, alphabet="ba", start="[CLS]", end=1)
    assert other.alphabet.symbols == ("b", "a")
    assert other.card.start == 8
    several = open_hf(folder, alphabet="ba", start=["[CLS]", 1], end=5)
    assert several.card.start == (8, 1)
    with pytest.raises(ArgumentError, match="start, end and separator go with alphabet"):
        open_hf(folder, start=1)


def test_fingerprints_change_with_what_changes_answers(folder):
    options = ({}, {"renormalise": False}, {"dtype": "float64"}, {"alphabet": "ab"})
    fingerprints = [open_hf(folder, **each).fingerprint for each in options]
    assert len(set(fingerprints)) == len(options)
    assert open_hf(folder, memory=0).backend.fingerprint == fingerprints[0]


def test_symbols_are_looked_up_as_text_and_in_the_vocabulary():
    card = token_card(tokenizer(), ["a", "#c", "ab"])
    assert card.ids == card.columns == (4, 6, 3)
    assert (card.start, card.end) == (1, 5)


def test_a_symbol_may_be_several_tokens():
    card = token_card(tokenizer(), ["a", "bc", "ab"])
    assert card.tokens == ((4,), (2, 7), (3,))
    assert (card.ids, card.columns) == (None, None)


def test_a_separator_stands_before_each_symbol():
    card = token_card(tokenizer(), ["a", "ab"], separator="c")
    assert card.tokens == ((7, 4), (7, 4, 2))


@pytest.mark.parametrize(
    ("alphabet", "answers", "message"),
    [
        (
            ["a", "bc"],
            "value",
            "symbol 'bc': expected one token, and the tokenizer makes 'b'",
        ),
        (["a", "z"], "next", r"symbol 'z': expected tokens that the tokenizer knows, and it makes"),
        (["a", "bz"], "next", r"symbol 'bz': expected tokens .* it makes 'b', '<unk>' of it"),
        ([0, 1], "value", "symbol '0': expected tokens that the tokenizer knows"),
    ],
)
def test_a_symbol_that_cannot_be_read_is_named(alphabet, answers, message):
    with pytest.raises(ArgumentError, match=message):
        token_card(tokenizer(), alphabet, answers)


def test_a_start_may_be_a_text_and_an_end_may_not():
    assert token_card(tokenizer(), "ab", start="abc").start == (4, 2, 7)
    assert token_card(tokenizer(), "ab", start=["[CLS]", "bc"]).start == (8, 2, 7)
    with pytest.raises(ArgumentError, match=r"start '': expected tokens .* makes nothing of it"):
        token_card(tokenizer(), "ab", start="")
    with pytest.raises(ArgumentError, match=r"end 'bc': expected one token, .* makes 'b', 'c'"):
        token_card(tokenizer(), "ab", end="bc")


def test_two_symbols_that_are_one_token_are_named():
    lower = tokenizer()
    from tokenizers import normalizers  # noqa: PLC0415

    lower.backend_tokenizer.normalizer = normalizers.Lowercase()
    with pytest.raises(ArgumentError, match="symbols 'a' and 'A' are the same token 'a'"):
        token_card(lower, "abA")
    with pytest.raises(ArgumentError, match="'bC' and 'BC' are the same tokens 'b', 'c': leave"):
        token_card(lower, ["a", "bC", "BC"])


@pytest.mark.parametrize(
    ("special", "option"), [({"eos_token": "</s>"}, "start"), ({"bos_token": "<s>"}, "end")]
)
def test_a_tokenizer_without_marks_needs_start_and_end(special, option):
    plain = tokenizer(**special)
    with pytest.raises(ArgumentError, match=rf"{option}: the tokenizer has no token .*{option}='"):
        token_card(plain, "abc")
    assert getattr(token_card(plain, "abc", **{option: "[CLS]"}), option) == 8


@pytest.mark.parametrize(
    ("around", "special", "expected"),
    [
        ((), {"bos_token": "<s>"}, (None, None)),
        (("<s>",), {"bos_token": "<s>"}, (1, None)),
        (("[CLS]", "</s>"), {"bos_token": "<s>"}, (8, 5)),
        (("[CLS]", "</s>", "</s>"), {"bos_token": "<s>"}, (8, (5, 5))),
    ],
)
def test_a_classifier_s_words_stand_between_what_the_tokenizer_puts_around(
    around, special, expected
):
    card = token_card(tokenizer(around=around, **special), "abc", "value")
    assert (card.start, card.stop) == expected


def test_a_tokenizer_that_does_not_show_what_stands_before_a_text_needs_start_and_end():
    much = tokenizer(around=("[CLS]", "</s>", "</s>"))
    with pytest.raises(ArgumentError, match=r"puts \[CLS\] </s> </s> around a text, and with '#c'"):
        token_card(much, ["#c", "a"], "value")
    card = token_card(much, ["#c", "a"], "value", start="[CLS]", end=["</s>", 5])
    assert (card.start, card.stop) == (8, (5, 5))


def test_a_classifier_is_opened_with_its_tokenizer(classifier):
    box = open_hf(classifier, alphabet="abc", label="LABEL_1")
    expected = replace(VALUE, start=8, stop=5)
    expected.save(card_path(classifier))
    np.testing.assert_array_equal(box.weights(WORDS), open_hf(classifier).weights(WORDS))


def test_a_card_s_start_is_not_needed_beside_an_alphabet(classifier):
    tokenizer(around=()).save_pretrained(classifier)
    replace(VALUE, start=8).save(card_path(classifier))
    with pytest.raises(ArgumentError, match=r"say start= or end=.* not read beside alphabet="):
        open_hf(classifier, alphabet="abc", label=1)
    box = open_hf(classifier, alphabet="abc", label=1, start=8)
    np.testing.assert_array_equal(box.weights(WORDS), open_hf(classifier).weights(WORDS))


def test_a_classifier_without_a_label_has_the_classes_of_its_configuration(classifier):
    box = open_hf(classifier, alphabet="abc")
    assert box.classes == ("LABEL_0", "LABEL_1", "LABEL_2")
    of_class = open_hf(classifier, alphabet="abc", label="LABEL_1", output="probability")
    np.testing.assert_allclose(box.scores(WORDS)[:, 1], of_class.weights(WORDS))


def test_a_card_may_name_the_classes_of_a_classifier(classifier):
    names = ["x", "y", "z"]
    card = replace(VALUE, answers="classes", scores="logits", column=0, columns=None, classes=names)
    replace(card, start=8, stop=5).save(card_path(classifier))
    box = open_hf(classifier)
    assert box.classes == ("x", "y", "z")
    logit = open_hf(classifier, label=1)
    assert not hasattr(logit, "classes")
    expected = box.scores(WORDS)
    np.testing.assert_allclose(
        logit.weights(WORDS), open_hf(classifier, alphabet="abc", label=1).weights(WORDS)
    )
    assert expected.shape == (len(WORDS), 3)


@pytest.mark.parametrize("label", ["POSITIVE", 3, True])
def test_a_classifier_s_labels_are_listed(classifier, label):
    with pytest.raises(ArgumentError, match=r"label: expected one of 0 \(LABEL_0\), 1 \(LABEL_1\)"):
        open_hf(classifier, alphabet="abc", label=label)


def test_options_of_the_other_kind_are_refused(folder, classifier):
    with pytest.raises(ArgumentError, match="label: only for a classifier"):
        open_hf(folder, label=1)
    with pytest.raises(ArgumentError, match="renormalise: only for a language model"):
        open_hf(classifier, alphabet="abc", renormalise=True)
    with pytest.raises(ArgumentError, match="output: expected logit or probability, got 'log'"):
        open_hf(classifier, alphabet="abc", label=1, output="log")
    VALUE.save(card_path(folder))
    with pytest.raises(ArgumentError, match="its card answers 'value', and GPT2LMHeadModel"):
        open_hf(folder)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"dtype": "int8"}, "dtype: expected one of float32, .* got 'int8'"),
        ({"device": "abacus"}, "device: expected one that this PyTorch can use"),
        ({"threads": 0}, "threads: expected a whole number from 1"),
        ({"batch_size": 0, "memory": 0}, "batch_size: expected a whole number from 1"),
        ({"batch": 8}, "unknown option 'batch': expected one of separator, device, dtype"),
    ],
)
def test_options_that_cannot_be_are_refused(original, option, message):
    with pytest.raises(ArgumentError, match=message):
        open_hf(original, **option)


def test_neither_card_nor_alphabet_is_refused(folder):
    card_path(folder).unlink()
    with pytest.raises(MissingFileError, match=r"say which symbols the words have: alphabet= .*or"):
        open_hf(folder)


@pytest.mark.parametrize(
    ("card", "kind", "message"),
    [
        ("{", FileError, "not a card of seqray, or damaged"),
        ('{"alphabet": "abc"}', ArgumentError, "'answers' is missing"),
        ('{"alphabet": "abc", "answers": "next", "ids": [1]}', ArgumentError, "of the 3 symbols"),
        ('{"alphabet": "ab", "answers": "next", "ids": [1, 5]}', ArgumentError, "all different"),
    ],
)
def test_a_card_that_is_wrong_is_refused(folder, card, kind, message):
    card_path(folder).write_text(card)
    with pytest.raises(kind, match=message):
        open_hf(folder)


def test_a_missing_and_a_damaged_tokenizer_are_refused(folder):
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(FileError, match="its tokenizer cannot be loaded"):
        open_hf(folder, alphabet="abc")
    for path in folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(MissingFileError, match=r"has no tokenizer, .* card .*seqray\.json"):
        open_hf(folder, alphabet="abc")


def test_a_card_needs_no_columns_wherever_its_end_is(folder):
    """An end whose id is less than the size of the alphabet."""
    card = {"alphabet": "abc", "answers": "next", "ids": IDS, "start": 1, "end": 0}
    card_path(folder).write_text(json.dumps(card))
    box = open_hf(folder)
    card_path(folder).write_text(json.dumps({**card, "columns": IDS}))
    np.testing.assert_array_equal(box.weights(WORDS), open_hf(folder).weights(WORDS))
