"""Folders of Hugging Face models that cannot be used."""

import json
import sys

import numpy as np
import pytest

from same_gru.hf import (
    IDS,
    N_IDS,
    VALUE,
    edit,
    gpt2,
    import_transformers,
    saved,
)
from seqray.blackbox.card import card_path
from seqray.blackbox.frameworks.hf import open_hf
from seqray.blackbox.frameworks.stepped import SteppedModel
from seqray.util.errors import ArgumentError, FileError, MissingExtraError, MissingFileError

torch = pytest.importorskip("torch")
transformers = import_transformers()

WORDS = ["", "a", "cab", "abcabcab"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(
        MissingFileError, match=r"no: there is no such folder.*nothing is downloaded"
    ):
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
def test_attention_is_computed_by_pytorch_whatever_the_configuration_says(
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
def test_a_configuration_that_needs_code_or_other_files_is_refused(folder, field, value):
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


def test_weights_in_a_pickle_are_refused_with_what_to_do(folder):
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


def test_without_transformers_the_extra_is_named(original, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[hf\]' in seqray's folder"):
        open_hf(original)
