"""Models in folders of Hugging Face transformers: loaded without running code from a file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from seqray.blackbox.frameworks.extras import check_safe, load_extra
from seqray.util.errors import ArgumentError, FileError, MissingFileError
from seqray.util.files import read_text, reading

DTYPES = ("float32", "float64", "bfloat16", "float16")
ATTENTION_METHODS = ("eager", "sdpa")
"""The attention methods that are PyTorch's own; others are downloaded from the Hub."""

CODE_FIELDS = ("auto_map", "quantization_config", "trust_remote_code", "transformers_weights")
"""Fields of a configuration that need code, other packages, or other files."""


LAYER_COUNT_FIELDS = re.compile(r"(n|num|num_hidden|(num_)?(encoder|decoder))_layers?")
"""Fields of a configuration that say how many layers there are."""


def read_config(folder: Path) -> dict[str, Any]:
    """Return the contents of ``config.json``; refuse a model that needs code of its own."""
    if not os.path.isdir(folder):
        if os.path.exists(folder):
            raise FileError(f"{folder}: expected a folder, as save_pretrained writes it")
        raise MissingFileError(
            f"{folder}: there is no such folder: expected one that save_pretrained wrote "
            "(nothing is downloaded from the Hub)"
        )
    path = folder / "config.json"
    if not os.path.exists(path):
        adapter = (folder / "adapter_config.json").exists()
        raise MissingFileError(
            f"{path}: there is no such file: "
            + (
                "the folder holds an adapter alone; merge it into its model "
                "(model.merge_and_unload()) and save that"
                if adapter
                else "expected the folder of a model, as save_pretrained writes it"
            )
        )
    with reading(path, "the configuration of a model"):
        config = json.loads(read_text(path))
        if not isinstance(config, dict):
            raise ValueError(f"expected an object, got {type(config).__name__}")
    transformers = load_extra("transformers", "hf")
    check_safe(transformers, "the folder of a model")
    _check_config(config, path, transformers)
    if (folder / "adapter_config.json").exists():
        raise FileError(
            f"{folder}: holds an adapter beside its model, and adapters are not loaded: merge it "
            "(model.merge_and_unload()) and save that, or load it in Python yourself and write "
            "seqray.hf_box(model, card)"
        )
    return config


def _check_config(config: Mapping[str, Any], path: Path, transformers: Any) -> None:
    """Refuse a damaged configuration, or one that needs code or other files."""
    kind, names = config.get("model_type"), config.get("architectures")
    if kind is not None and not isinstance(kind, str):
        raise FileError(f"{path}: model_type: expected the name of a model, got {kind!r}")
    if names is not None and not (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    ):
        raise FileError(f"{path}: architectures: expected a list of names, got {names!r}")
    for name in CODE_FIELDS:
        if config.get(name) and (name != "auto_map" or kind not in transformers.CONFIG_MAPPING):
            raise FileError(
                f"{path.parent}: needs code or files that do not come with transformers ({name} in "
                "config.json), and seqray runs none that a file names. If you trust it, load "
                "the model in Python yourself and write seqray.hf_box(model, card)"
            )


def answers_of(config: Mapping[str, Any], folder: Path) -> str:
    """Return what a model answers, ``"next"`` or ``"value"``, by the name of its class."""
    auto = load_extra("transformers.models.auto.modeling_auto", "hf")
    kinds = {
        "next": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        "value": auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
    }
    names, kind = config.get("architectures") or [], config.get("model_type")
    for answers, classes in kinds.items():
        if set(names) & set(classes.values()):
            if kind not in classes:
                raise FileError(
                    f"{folder / 'config.json'}: model_type: expected the kind of model that "
                    f"{names[0]} is, got {kind!r}: is the file damaged?"
                )
            return answers
    raise ArgumentError(
        f"{folder}: holds {' and '.join(names) or 'a model of no known class'}: expected "
        "a causal language model (…ForCausalLM, …LMHeadModel), which predicts the next symbol, or "
        "a classifier of sequences (…ForSequenceClassification)"
    )


def load_model(folder: Path, answers: str, device: Any, dtype: str) -> Any:
    """Load a model that predicts, or one that classifies."""
    torch, transformers = (load_extra(name, "hf") for name in ("torch", "transformers"))
    if dtype not in DTYPES:
        raise ArgumentError(f"dtype: expected one of {', '.join(DTYPES)}, got {dtype!r}")
    _check_weights(folder)
    kind = "AutoModelForCausalLM" if answers == "next" else "AutoModelForSequenceClassification"
    here = {"local_files_only": True, "trust_remote_code": False}
    try:
        _check_layers(folder)
        with quietly(transformers), offline():
            config = transformers.AutoConfig.from_pretrained(os.fspath(folder), **here)
            _pin_attention(config)
            model, info = getattr(transformers, kind).from_pretrained(
                os.fspath(folder),
                config=config,
                **here,
                use_safetensors=True,
                dtype=getattr(torch, dtype),
                ignore_mismatched_sizes=True,  # these are named below
                output_loading_info=True,
            )
    except FileError:
        raise
    except SafetensorError as error:
        raise FileError(f"{folder}: its weights are damaged or cut short: {error}") from error
    except Exception as error:  # transformers raises whatever the damage leads to
        reason = " ".join(str(error).split())[:300]
        raise FileError(
            f"{folder}: transformers {transformers.__version__} cannot load it as "
            f"{kind.removeprefix('Auto')}: {type(error).__name__}: {reason}"
        ) from error
    _check_loaded(folder, info)
    return model.to(device)


def _pin_attention(config: Any) -> None:
    """Compute attention with PyTorch alone, whatever a configuration says."""
    if config._attn_implementation not in ATTENTION_METHODS:
        config._attn_implementation = None  # transformers chooses one of them
    for name in config.sub_configs:
        part = getattr(config, name, None)
        if part is not None:
            _pin_attention(part)


def _check_weights(folder: Path) -> None:
    for index in folder.glob("*.safetensors.index.json"):
        with reading(index, "the index of a model's weights"):
            files = json.loads(read_text(index))["weight_map"].values()
            odd = [f for f in files if Path(f).name != f or not f.endswith(".safetensors")]
        if odd:
            raise FileError(
                f"{index}: names the file {odd[0]!r}: expected .safetensors files in the folder "
                "itself, and seqray loads no others"
            )
    if any(folder.glob("*.safetensors")):
        return
    pickled = sorted(p.name for pattern in ("*.bin", "*.pt", "*.pth") for p in folder.glob(pattern))
    if pickled:
        raise FileError(
            f"{folder}: its weights are a pickle ({pickled[0]}), which can run code when it is "
            "loaded, and seqray loads none. Where you trust it, convert it once: "
            "AutoModelForCausalLM.from_pretrained(folder).save_pretrained(new_folder) writes "
            "safetensors"
        )
    raise MissingFileError(f"{folder}: has no weights: expected model.safetensors")


def _check_layers(folder: Path) -> None:
    """Refuse more layers than there are tensors: transformers would build them all first."""
    n_tensors = 0
    for path in folder.glob("*.safetensors"):
        with safe_open(os.fspath(path), framework="numpy") as file:
            n_tensors += len(file.keys())
    left = [json.loads(read_text(folder / "config.json"))]
    while left:
        config = left.pop()
        left += [part for part in config.values() if isinstance(part, dict)]
        shared = config.get("model_type") == "albert"  # its layers share the tensors of a group
        pattern = re.compile("num_hidden_groups") if shared else LAYER_COUNT_FIELDS
        for name, number in config.items():
            if pattern.fullmatch(name) and isinstance(number, (int, float)) and number > n_tensors:
                raise FileError(
                    f"{folder / 'config.json'}: {name}: {number:,}, and the weights have "
                    f"{n_tensors:,} tensors, fewer than one for each layer: is the file damaged, "
                    "or an unfinished copy?"
                )


def _check_loaded(folder: Path, info: Mapping[str, Any]) -> None:
    """Refuse a model with weights that transformers has initialised at random."""
    wrong = [name for name, *_ in info["mismatched_keys"]]
    for names, what in (
        (wrong, "have other shapes than config.json says"),
        (info["missing_keys"], "are missing"),
    ):
        if names:
            raise FileError(
                f"{folder}: weights {what} ({', '.join(sorted(names)[:4])}), and would be drawn at "
                "random: is it the model of another class, or an unfinished copy?"
            )


@contextmanager
def offline() -> Iterator[None]:
    """Keep transformers from connecting to the Hub inside the block."""
    constants = load_extra("huggingface_hub.constants", "hf")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def quietly(transformers: Any) -> Iterator[None]:
    """Keep transformers from printing inside the block."""
    log = transformers.utils.logging
    level, shown = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity(log.CRITICAL)
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if shown:
            log.enable_progress_bar()
