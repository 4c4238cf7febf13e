"""What is said between seqray and a box in another process: JSON, over HTTP or a pipe.

The box describes itself once, then gets words and gives answers. docs/boxes/http.md and
docs/openapi.json say it for those who write the other side.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from seqray.automata.words import Alphabet, Words
from seqray.blackbox.protocol import Backend, check_lengths
from seqray.blackbox.queried import FailedError, QueriedBox, QueriedModel
from seqray.blackbox.remote.waiting import Check, always
from seqray.util.errors import BlackBoxError, SymbolError

VERSION = 1
"""Of the protocol; a description carries it as ``seqray``."""

SHOWN = 200
"""The most characters of somebody else's text in an error message."""

DESCRIPTION_SIZE = 2**26
"""The most bytes of a description."""

ROOM, NUMBER_SIZE = 2**16, 64
"""The most bytes of an answer: some, and for each number more than any takes."""

READ = 2**16
"""The most bytes of such a text that are looked at."""

Hide: TypeAlias = Callable[[str], str]
"""Returns a text without the secrets in it."""

OPTIONAL = {
    "name": (str, "a string"),
    "fingerprint": (str, "a string"),
    "deterministic": (bool, "true or false"),
    "leaks": (bool, "true or false"),
    "batch_size": (int, "a whole number from 1"),
    "max_length": (int, "a whole number from 0"),
}
LEAST = {"batch_size": 1, "max_length": 0}


class UnreadableError(Exception):
    """A text that should have been JSON; the message shows it."""


@dataclass(frozen=True)
class Description:
    """What a box says of itself.

    Parameters
    ----------
    alphabet
        The symbols of its words.
    answers
        ``"value"``: a number a word; ``"next"``: what follows a prefix, a row each.
    name, fingerprint
        What people call it, and what changes when its answers do.
    deterministic
        Whether it always answers the same.
    leaks
        Whether its probabilities may sum to less than 1.
    batch_size, max_length
        The most words in one request, and the most symbols in a word; None: any number.

    Examples
    --------
    >>> said = {"seqray": 1, "alphabet": ["a", "b"], "answers": "value", "max_length": 2}
    >>> description = Description.read(said, "the box")
    >>> description.alphabet, description.answers
    (Alphabet(['a', 'b']), 'value')
    >>> description.check_lengths(description.alphabet.words(["ab", "aba"]), "the box")
    Traceback (most recent call last):
    seqray.BlackBoxError: the box reads words of at most 2 symbols, and 'aba' has 3: \
ask about shorter words (max_length)
    """

    alphabet: Alphabet
    answers: str
    name: str | None = None
    fingerprint: str | None = None
    deterministic: bool = False
    leaks: bool = False
    batch_size: int | None = None
    max_length: int | None = None

    @classmethod
    def read(cls, document: object, who: str, hide: Hide = str) -> Description:
        """Make a description of JSON, or say what is wrong with it; unknown fields are ignored."""
        wrong = _wrong(document, hide)
        if wrong:
            raise BlackBoxError(
                f"{who} describes itself by {shown(document, hide)}: {wrong}; expected "
                '{"seqray": 1, "alphabet": [symbols], "answers": "value" or "next"}'
            )
        assert isinstance(document, Mapping)
        try:
            alphabet = Alphabet(document["alphabet"])
            alphabet.to_json()  # what JSON brought must go back as it came
        except SymbolError as error:
            text = hide(str(error))
            raise BlackBoxError(f"{who} describes itself with an alphabet: {text}") from error
        given = {name: document[name] for name in OPTIONAL if document.get(name) is not None}
        return cls(alphabet, document["answers"], **given)

    def digest(self) -> str:
        """Return what changes when the box says that it has."""
        about = [self.alphabet.to_json(), self.answers, self.name, self.fingerprint, self.leaks]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()

    def box(self, backend: Backend) -> QueriedBox | QueriedModel:
        """Return a black box that asks as described."""
        if self.answers == "value":
            return QueriedBox(backend, self.alphabet)
        return QueriedModel(backend, self.alphabet, self.leaks)

    def batch(self, batch_size: int) -> int:
        """Return how many words to ask about at once."""
        return min(batch_size, self.batch_size or batch_size)

    def answer_size(self, words: Words) -> int:
        """Return the most bytes that an answer about words may have."""
        n_numbers = len(self.alphabet) + 1 if self.answers == "next" else 1
        return ROOM + len(words) * n_numbers * NUMBER_SIZE

    def check_lengths(self, words: Words, who: str) -> None:
        """Refuse words that the box cannot read, before anything is asked."""
        check_lengths(words, self.max_length, who)


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribedBackend:
    """What every backend has whose box describes itself."""

    description: Description
    check: Check = always

    @property
    def deterministic(self) -> bool:
        """Whether the box says so."""
        return self.description.deterministic

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that it says it can read."""
        return self.description.max_length

    @property
    def proven(self) -> bool:
        """Whether the box has a fingerprint of its own, which changes when its answers do."""
        return self.description.fingerprint is not None

    def heeding(self, check: Check) -> Self:
        """Return an backend of the same box that stops waiting when ``check`` says so."""
        return dataclasses.replace(self, check=check)


def _wrong(document: object, hide: Hide) -> str:
    """Say what is wrong with a description; nothing where nothing is."""
    if not isinstance(document, Mapping) or type(document.get("seqray")) is not int:
        return 'that is no JSON object with "seqray": 1'
    if document["seqray"] != VERSION:
        return (
            f"it speaks version {document['seqray']} of the protocol, this seqray version "
            f"{VERSION}: install a newer seqray"
        )
    if not isinstance(document.get("alphabet"), list):
        return '"alphabet" is no list of symbols'
    if document.get("answers") not in ("value", "next"):
        return '"answers" is neither "value" nor "next"'
    for name, (kind, expected) in OPTIONAL.items():
        value = document.get(name)
        too_low = name in LEAST and isinstance(value, int) and value < LEAST[name]
        if value is not None and (type(value) is not kind or too_low):
            return f'"{name}" is {shown(value, hide)}, not {expected}'
    return ""


def words_message(words: Words) -> bytes:
    """Return words as JSON: each a list of symbols, as they stand in the description's alphabet.

    >>> words_message(Alphabet("ab").words(["", "ab"]))
    b'{"words":[[],["a","b"]]}'
    """
    return json.dumps({"words": list(words)}, separators=(",", ":")).encode()


def read_json(text: bytes, hide: Hide = str) -> Any:
    """Return what JSON says. Numbers that JSON does not know, such as NaN, are read too.

    They are refused later, together with the word that they belong to.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"{shown(text, hide)} is no JSON: {error}") from error


def read_answers(text: bytes, who: str, hide: Hide = str) -> list[Any]:
    """Return the answers in a message, which are not checked yet."""
    document = read_json(text, hide)
    if isinstance(document, Mapping) and isinstance(document.get("answers"), list):
        answers: list[Any] = document["answers"]
        return answers
    if isinstance(document, Mapping) and "error" in document:
        raise FailedError(f"it said {shown(document['error'], hide)}")
    raise BlackBoxError(f'{who} answered {shown(document, hide)}: expected {{"answers": [...]}}')


def shown(thing: object, hide: Hide = str) -> str:
    """Return somebody else's text or JSON on one line, not too long and without secrets.

    >>> shown(b"<html>     busy"), shown({"a": [1, "b"]})
    ("'<html> busy'", '{"a": [1, "b"]}')
    """
    if isinstance(thing, bytes):
        thing = thing[:READ].decode("utf-8", errors="replace")
    if isinstance(thing, str):
        text = repr(" ".join(hide(thing[:READ]).split()))
    else:
        text = hide(json.dumps(thing)[:READ])
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
