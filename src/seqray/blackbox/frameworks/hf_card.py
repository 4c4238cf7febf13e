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
from seqray.util.checksums import opened_json
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
        given = {key: x for key, x in opened_json(text.encode()).items() if x is not None}
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
    separator: str = "",
) -> Card:
    """Make a card for symbols that are tokens.

    Parameters
    ----------
    tokenizer
        A tokenizer of transformers.
    alphabet
        The symbols of the words: a token as it stands in the vocabulary (``"Ġthe"``, ``"##ing"``),
        or text, which is tokenised alone, whatever stands beside it in a word. A classifier's
        symbols are one token each; a language model's may be several.
    answers
        ``"next"`` for a language model, ``"value"`` for a classifier.
    start, end
        The tokens that stand before a word, and that end it, or their ids; several as a list, but
        a language model has one end. A start may also be a text of several tokens. By default
        the tokenizer's own: for a language model the beginning and the end of a sequence, for a
        classifier what the tokenizer puts around a text.
    separator
        Text that is put before each symbol, also the first, when it is tokenised: ``" "`` for words
        of a text, to a tokenizer that keeps spaces. Symbols are then texts, not tokens of the
        vocabulary.
    """
    alphabet = Alphabet.of(alphabet)
    vocabulary = tokenizer.get_vocab()
    tokens = [_tokens(tokenizer, vocabulary, symbol, separator) for symbol in alphabet]
    _check_different(tokenizer, alphabet, tokens)
    longest = max(range(len(alphabet)), key=lambda code: len(tokens[code]))
    is_one_each = len(tokens[longest]) == 1
    if answers == "value" and not is_one_each:
        name = f"symbol {alphabet.symbols[longest]!r}"
        raise _not_one_token(tokenizer, name, tokens[longest])
    ids = [some[0] for some in tokens]
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
    names: dict[str, Any] = {"ids": ids, "columns": ids} if is_one_each else {"tokens": tokens}
    return Card(alphabet, "next", **names, start=marks["start"], end=marks["end"])


def _mark(tokenizer: Any, vocabulary: Mapping[str, int], token: Tokens, what: str) -> Any:
    """Return the id of a token, or the ids of several; a start may be a text of several."""
    if isinstance(token, int):
        return token
    if isinstance(token, str) and what == "start":
        return list(_tokens(tokenizer, vocabulary, token, "", what))
    if isinstance(token, str):
        return _token(tokenizer, vocabulary, token, what)
    marks = [_mark(tokenizer, vocabulary, one, what) for one in token]
    return [number for mark in marks for number in (mark if isinstance(mark, list) else [mark])]


def _check_different(tokenizer: Any, alphabet: Alphabet, tokens: Sequence[tuple[int, ...]]) -> None:
    """Refuse two symbols that have the same tokens."""
    first: dict[tuple[int, ...], Symbol] = {}
    for symbol, ids in zip(alphabet, tokens, strict=True):
        if ids in first:
            raise ArgumentError(
                f"symbols {first[ids]!r} and {symbol!r} are the same token"
                f"{'s' * (len(ids) > 1)} {_shown(tokenizer, ids)}: leave one of them out"
            )
        first[ids] = symbol


def _token(tokenizer: Any, vocabulary: Mapping[str, int], text: str, what: str) -> int:
    """Return the id of a text, which must be one token."""
    ids = _tokens(tokenizer, vocabulary, text, "", what)
    if len(ids) > 1:
        raise _not_one_token(tokenizer, f"{what} {text!r}", ids)
    return ids[0]


def _tokens(
    tokenizer: Any,
    vocabulary: Mapping[str, int],
    symbol: object,
    separator: str,
    what: str = "symbol",
) -> tuple[int, ...]:
    """Return the ids of a symbol: one that the vocabulary names, or those of its text."""
    text = separator + str(symbol)
    ids = tuple(map(int, tokenizer.encode(text, add_special_tokens=False)))
    is_known = bool(ids) and (tokenizer.unk_token_id not in ids or text == tokenizer.unk_token)
    if not separator and text in vocabulary and not (is_known and len(ids) == 1):
        return (vocabulary[text],)
    if not is_known:
        raise ArgumentError(
            f"{what} {text!r}: expected tokens that the tokenizer knows, and it makes "
            f"{_shown(tokenizer, ids)} of it: choose other symbols"
        )
    return ids


def _not_one_token(tokenizer: Any, what: str, ids: Sequence[int]) -> ArgumentError:
    return ArgumentError(
        f"{what}: expected one token, and the tokenizer makes {_shown(tokenizer, ids)} of it: "
        "choose one that is a token, with the space before it if it has one"
    )


def _shown(tokenizer: Any, ids: Sequence[int]) -> str:
    return ", ".join(map(repr, tokenizer.convert_ids_to_tokens(list(ids)))) or "nothing"


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
