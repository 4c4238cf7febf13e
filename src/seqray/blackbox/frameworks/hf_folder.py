"""The folders of Hugging Face models: what is in them, and how they are loaded without code."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from safetensors import SafetensorError, safe_open

from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.card import Card, card_path, read_card
from seqray.blackbox.frameworks.extras import check_safe, load_extra
from seqray.util.errors import ArgumentError, FileError, MissingFileError
from seqray.util.files import read_text, reading

DTYPES = ("float32", "float64", "bfloat16", "float16")
TOKENIZERS = (
    *("tokenizer.json", "tokenizer_config.json", "vocab.json", "vocab.txt", "tokenizer.model"),
    *("spiece.model", "sentencepiece.bpe.model"),
)
"""Files of which a tokenizer has one at least: without any, transformers makes an empty one."""

ATTENTION = ("eager", "sdpa")
"""The ways to compute attention that are PyTorch's own; others are fetched from the Hub."""

NEEDS_CODE = ("auto_map", "quantization_config", "trust_remote_code", "transformers_weights")
"""Fields of a configuration that ask for code, for other packages, or for other files."""


LAYERS = re.compile(r"(n|num|num_hidden|(num_)?(encoder|decoder))_layers?")
"""Fields of a configuration that say how many layers there are."""

Tokens: TypeAlias = str | int | Sequence[str | int]
"""A token or its id, or several of them."""

# The model ----------------------------------------------------------------------------------------


def read_config(folder: Path) -> dict[str, Any]:
    """Return what ``config.json`` says, if the model can be loaded without code of its own."""
    if not folder.is_dir():
        if folder.exists():
            raise FileError(f"{folder}: expected a folder, as save_pretrained writes it")
        raise MissingFileError(
            f"{folder}: there is no such folder: expected one that save_pretrained wrote "
            "(nothing is fetched from the Hub)"
        )
    path = folder / "config.json"
    if not path.exists():
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
    """Refuse a configuration that cannot be one, or that asks for code or for other files."""
    kind, names = config.get("model_type"), config.get("architectures")
    if kind is not None and not isinstance(kind, str):
        raise FileError(f"{path}: model_type: expected the name of a model, got {kind!r}")
    if names is not None and not (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    ):
        raise FileError(f"{path}: architectures: expected a list of names, got {names!r}")
    for name in NEEDS_CODE:
        if config.get(name) and (name != "auto_map" or kind not in transformers.CONFIG_MAPPING):
            raise FileError(
                f"{path.parent}: needs code or files that do not come with transformers ({name} in "
                "config.json), and seqray runs none that a file asks for. If you trust it, load "
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
        "a causal language model (…ForCausalLM, …LMHeadModel), which says what comes next, or a "
        "classifier of sequences (…ForSequenceClassification)"
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
        with _quietly(transformers), _offline():
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
    """Compute attention with PyTorch alone, whatever a configuration asks for."""
    if config._attn_implementation not in ATTENTION:
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
        named = re.compile("num_hidden_groups") if shared else LAYERS
        for name, number in config.items():
            if named.fullmatch(name) and isinstance(number, (int, float)) and number > n_tensors:
                raise FileError(
                    f"{folder / 'config.json'}: {name}: {number:,}, and the weights have "
                    f"{n_tensors:,} tensors, fewer than one for each layer: is the file damaged, "
                    "or an unfinished copy?"
                )


def _check_loaded(folder: Path, info: Mapping[str, Any]) -> None:
    """Refuse a model of which transformers has made a part up."""
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
def _offline() -> Iterator[None]:
    """Keep whatever transformers loads from asking the Hub meanwhile."""
    constants = load_extra("huggingface_hub.constants", "hf")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _quietly(transformers: Any) -> Iterator[None]:
    """Keep transformers from printing, and let it print again afterwards."""
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


# The card -----------------------------------------------------------------------------------------


def folder_card(folder: Path, config: Mapping[str, Any]) -> Card:
    """Read the card in a folder; a language model's tokens stand where they are read, too."""
    path = card_path(folder)
    if not path.exists():
        raise MissingFileError(
            f"{folder}: say which symbols the words have: alphabet= if the folder has a tokenizer, "
            f'or a card {path}, such as {{"alphabet": ["a", "b"], "answers": "next", '
            '"ids": [5, 6], "start": 1, "end": 2}; see docs/boxes/hf.md'
        )
    text = read_text(path)
    with reading(path, "a card of seqray"):
        given = {key: x for key, x in json.loads(text).items() if x is not None}
    if given.get("answers") == "next":
        if "ids" in given:
            given.setdefault("columns", given["ids"])
        for name, token in (("start", "bos_token_id"), ("end", "eos_token_id")):
            if name not in given:
                given[name] = special_id(config, token, f"{path}: {name}: say which token it is")
    return read_card(json.dumps(given), path)


def special_id(config: Mapping[str, Any], name: str, hint: str) -> int:
    """Return the id of a token that a configuration names, or say that it names none."""
    found = config.get(name)
    number = found[0] if isinstance(found, list) and found else found
    size = config.get("vocab_size")
    most = size if isinstance(size, int) else 2**62
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < most:
        raise ArgumentError(f"{hint}, since config.json has {name} {found}")
    return number


def load_tokenizer(folder: Path) -> Any:
    """Load the tokenizer in a folder."""
    if not any((folder / name).exists() for name in TOKENIZERS):
        raise MissingFileError(
            f"{folder}: has no tokenizer, which alphabet= needs: save it there "
            f"(tokenizer.save_pretrained), or write a card {card_path(folder)} with the ids of "
            "the symbols; see docs/boxes/hf.md"
        )
    transformers = load_extra("transformers", "hf")
    try:
        with _quietly(transformers), _offline():
            return transformers.AutoTokenizer.from_pretrained(
                os.fspath(folder), local_files_only=True, trust_remote_code=False
            )
    except Exception as error:  # as above
        reason = " ".join(str(error).split())[:300]
        raise FileError(
            f"{folder}: its tokenizer cannot be loaded: {type(error).__name__}: {reason}"
        ) from error


def token_card(
    tokenizer: Any,
    alphabet: Alphabet | Iterable[Symbol],
    answers: str = "next",
    *,
    start: Tokens | None = None,
    end: Tokens | None = None,
) -> Card:
    """Make a card of symbols that are tokens.

    Parameters
    ----------
    tokenizer
        A tokenizer of transformers.
    alphabet
        The symbols of the words. Each has to be one token: as text, or as it stands in the
        vocabulary (``"Ġthe"``, ``"##ing"``).
    answers
        ``"next"`` for a language model, ``"value"`` for a classifier.
    start, end
        The tokens that stand before a word, and that end it, or their ids; several as a list, but
        a language model has one end. By default the tokenizer's own: for a language model the
        beginning and the end of a sequence, for a classifier what the tokenizer puts around a
        text.
    """
    alphabet = Alphabet.of(alphabet)
    vocabulary = tokenizer.get_vocab()
    ids = [_token(tokenizer, vocabulary, symbol, "symbol") for symbol in alphabet]
    for at, number in enumerate(ids):
        first = ids.index(number)
        if first < at:
            raise ArgumentError(
                f"symbols {alphabet.symbols[first]!r} and {alphabet.symbols[at]!r} are the same "
                f"token {tokenizer.convert_ids_to_tokens(number)!r}"
            )
    marks: dict[str, Any] = {
        name: _mark(tokenizer, vocabulary, token, name)
        for name, token in (("start", start), ("end", end))
        if token is not None
    }
    if answers == "value":
        if len(marks) < 2:
            before, after = _around(tokenizer, alphabet.symbols[0], ids[0])
            marks = {"start": before, "end": after} | marks
        return Card(alphabet, "value", ids=ids, start=marks["start"], stop=marks["end"])
    defaults = (
        ("start", "beginning", tokenizer.bos_token_id),
        ("end", "end", tokenizer.eos_token_id),
    )
    for name, where, number in defaults:
        if marks.setdefault(name, number) is None:
            raise ArgumentError(
                f"{name}: the tokenizer has no token for the {where} of a sequence: say which to "
                f"take, {name}='<token>'"
            )
    return Card(alphabet, "next", ids=ids, columns=ids, start=marks["start"], end=marks["end"])


def _mark(tokenizer: Any, vocabulary: Mapping[str, int], token: Tokens, what: str) -> Any:
    """Return the id of a token, or the ids of several."""
    if isinstance(token, int):
        return token
    if isinstance(token, str):
        return _token(tokenizer, vocabulary, token, what)
    return [_mark(tokenizer, vocabulary, one, what) for one in token]


def _token(tokenizer: Any, vocabulary: Mapping[str, int], symbol: object, what: str) -> int:
    """Return the id of the one token that a symbol is."""
    text = str(symbol)
    ids = tokenizer.encode(text, add_special_tokens=False)
    if len(ids) == 1 and (ids[0] != tokenizer.unk_token_id or text == tokenizer.unk_token):
        return int(ids[0])
    if text in vocabulary:
        return vocabulary[text]
    tokens = ", ".join(map(repr, tokenizer.convert_ids_to_tokens(ids))) or "nothing"
    raise ArgumentError(
        f"{what} {text!r}: expected one token, and the tokenizer makes {tokens} of it: choose "
        "symbols that are tokens, with the space before them if they have one"
    )


def _around(
    tokenizer: Any, symbol: object, number: int
) -> tuple[int | Sequence[int] | None, int | Sequence[int] | None]:
    """Return the tokens that a tokenizer puts before, and after, every text.

    Where they are many, a symbol and its id show which stand before it.
    """
    ids = list(tokenizer("").input_ids)
    if len(ids) > 2:
        shown = list(tokenizer(str(symbol)).input_ids)
        at = shown.index(number) if number in shown else 0
        if shown.count(number) == 1 and shown[:at] + shown[at + 1 :] == ids:
            return ids[:at], ids[at:]
        tokens = " ".join(map(str, tokenizer.convert_ids_to_tokens(ids)))
        raise ArgumentError(
            f"the tokenizer puts {tokens} around a text, and with {symbol!r} as the text it does "
            "not show which of them stand before it: say start= and end=, or write a card"
        )
    if len(ids) == 1:
        starts = (tokenizer.bos_token_id, tokenizer.cls_token_id)
        return (ids[0], None) if ids[0] in starts else (None, ids[0])
    return (ids[0], ids[1]) if ids else (None, None)
