"""The cards of Hugging Face models: which tokens are the symbols of the words."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.card import Card, card_path, read_card
from seqray.blackbox.frameworks.extras import load_extra
from seqray.blackbox.frameworks.hf_folder import offline, quietly
from seqray.util.errors import ArgumentError, FileError, MissingFileError
from seqray.util.files import read_text, reading

TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "vocab.json", "vocab.txt", "tokenizer.model"),
    *("spiece.model", "sentencepiece.bpe.model"),
)
"""A tokenizer has at least one of these files; without any, transformers makes an empty one."""

Tokens: TypeAlias = str | int | Sequence[str | int]
"""A token or its id, or several of them."""


def folder_card(folder: Path, config: Mapping[str, Any]) -> Card:
    """Read the card in a folder; a language model's output columns are its tokens."""
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
    """Return the id of a token that a configuration names; raise an error if it names none."""
    value = config.get(name)
    number = value[0] if isinstance(value, list) and value else value
    size = config.get("vocab_size")
    n_ids = size if isinstance(size, int) else 2**62
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < n_ids:
        raise ArgumentError(f"{hint}, since config.json has {name} {value}")
    return number


def load_tokenizer(folder: Path) -> Any:
    """Load the tokenizer in a folder."""
    if not any((folder / name).exists() for name in TOKENIZER_FILES):
        raise MissingFileError(
            f"{folder}: has no tokenizer, which alphabet= needs: save it there "
            f"(tokenizer.save_pretrained), or write a card {card_path(folder)} with the ids of "
            "the symbols; see docs/boxes/hf.md"
        )
    transformers = load_extra("transformers", "hf")
    try:
        with quietly(transformers), offline():
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
    """Make a card for symbols that are tokens.

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
    """Return the id of a symbol, which must be one token."""
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
    """Return the tokens that a tokenizer puts before and after every text.

    Where there are more than two, the place of a symbol shows which come before it.
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
