import json
import shutil
import socket
import sys
from dataclasses import replace

import numpy as np
import pytest

from same_gru.hf import CARD, IDS, N_IDS, VALUE, bert, gpt2, import_transformers, saved, tokenizer
from seqray import open_black_box
from seqray.blackbox.card import card_path
from seqray.blackbox.frameworks.hf import open_hf
from seqray.blackbox.frameworks.hf_folder import token_card
from seqray.blackbox.frameworks.stepped import SteppedModel
from seqray.util.errors import ArgumentError, FileError, MissingExtraError, MissingFileError

torch = pytest.importorskip("torch")
transformers = import_transformers()

WORDS = ["", "a", "cab", "abcabcab"]


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


def edit(path, **changes):
    document = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({k: v for k, v in document.items() if v is not ...}))


# Cards and tokens -----------------------------------------------------------------------------


def test_a_folder_is_opened_by_name_and_nothing_is_fetched(original, monkeypatch, capfd):
    def refuse(*_):
        raise AssertionError("the network was asked")

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
    with pytest.raises(ArgumentError, match="start and end go with alphabet"):
        open_hf(folder, start=1)


def test_answers_are_kept_apart_by_what_changes_them(folder):
    options = ({}, {"renormalise": False}, {"dtype": "float64"}, {"alphabet": "ab"})
    found = [open_hf(folder, **each).fingerprint for each in options]
    assert len(set(found)) == len(options)
    assert open_hf(folder, memory=0).backend.fingerprint == found[0]


def test_symbols_are_found_as_text_and_in_the_vocabulary():
    card = token_card(tokenizer(), ["a", "#c", "ab"])
    assert card.ids == card.columns == (4, 6, 3)
    assert (card.start, card.end) == (1, 5)


@pytest.mark.parametrize(
    ("alphabet", "message"),
    [
        (["a", "bc"], r"symbol 'bc': expected one token, and the tokenizer makes 'b', 'c' of it"),
        (["a", "z"], r"symbol 'z': expected one token, and the tokenizer makes '<unk>' of it"),
        ([0, 1], "symbol '0': expected one token"),
    ],
)
def test_a_symbol_that_is_not_one_token_is_named(alphabet, message):
    with pytest.raises(ArgumentError, match=message):
        token_card(tokenizer(), alphabet)


def test_two_symbols_that_are_one_token_are_named():
    lower = tokenizer()
    from tokenizers import normalizers  # noqa: PLC0415

    lower.backend_tokenizer.normalizer = normalizers.Lowercase()
    with pytest.raises(ArgumentError, match="symbols 'a' and 'A' are the same token 'a'"):
        token_card(lower, "abA")


@pytest.mark.parametrize(
    ("special", "option"), [({"eos_token": "</s>"}, "start"), ({"bos_token": "<s>"}, "end")]
)
def test_a_tokenizer_without_marks_needs_them_said(special, option):
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


def test_a_tokenizer_that_does_not_show_what_stands_before_a_text_needs_it_said():
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


def test_a_card_s_start_is_not_asked_for_again_beside_an_alphabet(classifier):
    tokenizer(around=()).save_pretrained(classifier)
    replace(VALUE, start=8).save(card_path(classifier))
    with pytest.raises(ArgumentError, match=r"say start= or end=.* not read beside alphabet="):
        open_hf(classifier, alphabet="abc", label=1)
    box = open_hf(classifier, alphabet="abc", label=1, start=8)
    np.testing.assert_array_equal(box.weights(WORDS), open_hf(classifier).weights(WORDS))


@pytest.mark.parametrize("label", [None, "POSITIVE", 3, True])
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
        ({"batch": 0, "memory": 0}, "batch: expected a whole number from 1"),
    ],
)
def test_options_that_cannot_be_are_refused(original, option, message):
    with pytest.raises(ArgumentError, match=message):
        open_hf(original, **option)


# Folders that cannot be used ------------------------------------------------------------------


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"no: there is no such folder.*nothing is fetched"):
        open_hf(tmp_path / "no")
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="file: expected a folder"):
        open_hf(tmp_path / "file")


def test_a_folder_without_a_configuration_is_refused(folder):
    (folder / "config.json").unlink()
    with pytest.raises(MissingFileError, match=r"config\.json: .*expected the folder of a model"):
        open_hf(folder)
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(MissingFileError, match="holds an adapter alone; merge it"):
        open_hf(folder)


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_damaged_configuration_is_refused(folder, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(FileError, match="not the configuration of a model, or damaged"):
        open_hf(folder)


def test_a_model_that_needs_code_is_refused(folder):
    edit(folder / "config.json", model_type="odd", auto_map={"AutoModelForCausalLM": "odd.Odd"})
    (folder / "odd.py").write_text("raise SystemExit('code was run')")
    with pytest.raises(FileError, match=r"needs code or files .*\(auto_map in.*hf_box\(model"):
        open_hf(folder)


def test_a_model_that_transformers_knows_needs_no_code(folder):
    edit(folder / "config.json", auto_map={"AutoModelForCausalLM": "odd.Odd"})
    assert isinstance(open_hf(folder), SteppedModel)


@pytest.mark.parametrize(
    "field",
    ["attn_implementation", "_attn_implementation", "_attn_implementation_internal"],
)
@pytest.mark.parametrize("value", ["org/repo", "flash_attention_2", 7])
def test_attention_is_computed_by_pytorch_whatever_the_configuration_asks_for(
    folder, monkeypatch, field, value
):
    expected = open_hf(folder).weights(WORDS)
    edit(folder / "config.json", **{field: value})
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    box = open_hf(folder)
    np.testing.assert_array_equal(box.weights(WORDS), expected)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("quantization_config", {"quant_method": "gptq"}),
        ("trust_remote_code", True),
        ("transformers_weights", "adapter_model.bin"),
    ],
)
def test_a_configuration_that_asks_for_code_or_other_files_is_refused(folder, field, value):
    edit(folder / "config.json", **{field: value})
    with pytest.raises(FileError, match=rf"needs code or files .*\({field} in config\.json\)"):
        open_hf(folder)


@pytest.mark.parametrize("n_layers", [100, 10_000, 10**12])
@pytest.mark.parametrize("part", [{}, {"text_config": {"num_hidden_layers": 10**5}}])
def test_more_layers_than_the_weights_have_are_refused_at_once(folder, monkeypatch, n_layers, part):
    def build(*_, **__):
        raise AssertionError("it was built")

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", build)
    edit(folder / "config.json", n_layer=2 if part else n_layers, **part)
    with pytest.raises(
        FileError, match=r"config\.json: n\w*_layers?: [\d,]+, and the weights have"
    ):
        open_hf(folder)


def test_layers_that_share_their_weights_may_be_many(tmp_path):
    sizes = {"hidden_size": 8, "embedding_size": 8, "intermediate_size": 8, "vocab_size": N_IDS}
    config = transformers.AlbertConfig(
        **sizes, num_attention_heads=2, num_hidden_layers=50, max_position_embeddings=20
    )
    model = transformers.AlbertForSequenceClassification(config)
    folder = saved(model, tmp_path / "albert", VALUE)
    assert np.isfinite(open_hf(folder).weights(["ab"])).all()
    edit(folder / "config.json", num_hidden_groups=10_000, num_hidden_layers=10_000)
    with pytest.raises(FileError, match="num_hidden_groups: 10,000, and the weights have"):
        open_hf(folder)


def test_an_adapter_beside_a_model_is_not_left_out_in_silence(folder):
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "org/repo"}')
    with pytest.raises(FileError, match="holds an adapter beside its model"):
        open_hf(folder)


@pytest.mark.parametrize("file", ["pytorch_model.bin", "../model.safetensors"])
def test_an_index_that_names_other_files_is_refused(folder, file):
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    index = {"metadata": {}, "weight_map": {"transformer.wte.weight": file}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(FileError, match=r"names the file .* expected \.safetensors files in the"):
        open_hf(folder)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("model_type", ["gpt2"], "model_type: expected the name of a model"),
        ("model_type", ..., "model_type: expected the kind of model"),
        ("model_type", "lightglue", "model_type: expected the kind of model"),
        ("architectures", [{}], "architectures: expected a list of names"),
        ("architectures", "GPT2LMHeadModel", "architectures: expected a list of names"),
        ("n_head", "x", "cannot load it as ModelForCausalLM"),
    ],
)
def test_an_odd_field_of_a_configuration_is_named(folder, field, value, message):
    edit(folder / "config.json", **{field: value})
    with pytest.raises(FileError, match=message):
        open_hf(folder)


@pytest.mark.parametrize("size", ["x", None, []])
def test_an_odd_size_of_a_vocabulary_is_an_error_of_the_file(folder, size):
    card_path(folder).write_text(json.dumps({"alphabet": "abc", "answers": "next", "ids": IDS}))
    edit(folder / "config.json", vocab_size=size)
    with pytest.raises(FileError, match="cannot load it as ModelForCausalLM"):
        open_hf(folder)


@pytest.mark.parametrize("names", [{"a": "x"}, ["x", "y"], 3])
def test_odd_names_of_classes_are_an_error_of_the_file(classifier, names):
    edit(classifier / "config.json", id2label=names)
    with pytest.raises(FileError, match=r"bert: its tokenizer cannot be loaded"):
        open_hf(classifier, alphabet="abc", label=1)


def test_an_old_version_of_transformers_opens_no_folder(folder, monkeypatch):
    monkeypatch.setattr(sys.modules["transformers"], "__version__", "5.2.0")
    with pytest.raises(MissingExtraError, match=r"5\.2\.0 lets .* run code .*transformers>=5\.3"):
        open_hf(folder)


def test_a_model_of_an_unknown_kind_is_refused(folder):
    edit(folder / "config.json", model_type="odd")
    with pytest.raises(FileError, match=r"model_type: expected the kind .* that GPT2LMHeadModel"):
        open_hf(folder)


@pytest.mark.parametrize("names", [["BertForMaskedLM"], ["T5ForConditionalGeneration"], ..., []])
def test_a_model_that_is_neither_kind_is_refused(folder, names):
    edit(folder / "config.json", architectures=names)
    with pytest.raises(ArgumentError, match="expected a causal language model"):
        open_hf(folder)


def test_weights_in_a_pickle_are_refused_with_the_way_out(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(FileError, match=r"a pickle \(pytorch_model\.bin\).*save_pretrained"):
        open_hf(folder)
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(MissingFileError, match=r"has no weights: expected model\.safetensors"):
        open_hf(folder)


@pytest.mark.parametrize("share", [0, 0.001, 0.5, 0.999])
def test_weights_that_are_cut_short_are_refused(folder, share):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileError, match="its weights are damaged or cut short"):
        open_hf(folder)


def test_weights_that_are_missing_are_not_made_up(folder):
    gpt2().transformer.save_pretrained(folder)
    edit(folder / "config.json", architectures=["GPT2ForSequenceClassification"])
    VALUE.save(card_path(folder))
    with pytest.raises(FileError, match=r"weights are missing \(score\.weight\)"):
        open_hf(folder)


def test_weights_of_other_shapes_are_refused(folder):
    edit(folder / "config.json", n_embd=32)
    with pytest.raises(FileError, match=r"weights have other shapes than config\.json says \("):
        open_hf(folder)


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


def test_without_transformers_the_extra_is_named(original, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[hf\]' in seqray's folder"):
        open_hf(original)


def test_a_card_needs_no_columns_wherever_its_end_is(folder):
    """An end whose id is less than the size of the alphabet."""
    card = {"alphabet": "abc", "answers": "next", "ids": IDS, "start": 1, "end": 0}
    card_path(folder).write_text(json.dumps(card))
    box = open_hf(folder)
    card_path(folder).write_text(json.dumps({**card, "columns": IDS}))
    np.testing.assert_array_equal(box.weights(WORDS), open_hf(folder).weights(WORDS))
