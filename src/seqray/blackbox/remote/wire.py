"""The messages between seqray and a box in another process: JSON, over HTTP or a pipe.

The box describes itself once, then gets words and returns answers. docs/boxes/http.md and
docs/openapi.json specify the messages for those who write the other side.
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
"""Version of the protocol; a description holds it as ``seqray``."""

MAX_SHOWN_CHARACTERS = 200
"""How many characters of a box's text an error message shows."""

MAX_DESCRIPTION_BYTES = 2**26
"""How long a description may be."""

EXTRA_ANSWER_BYTES, MAX_NUMBER_BYTES = 2**16, 64
"""How long an answer may be: these bytes, and so many for each number."""

MAX_TEXT_BYTES = 2**16
"""How many bytes of a box's text are read for an error message."""

Hide: TypeAlias = Callable[[str], str]
"""Returns a text without the secrets in it."""

OPTIONAL_FIELDS = {
    "name": (str, "a string"),
    "fingerprint": (str, "a string"),
    "deterministic": (bool, "true or false"),
    "leaks": (bool, "true or false"),
    "batch_size": (int, "a whole number from 1"),
    "max_length": (int, "a whole number from 0"),
}
MIN_VALUES = {"batch_size": 1, "max_length": 0}


class UnreadableError(Exception):
    """A text that should have been JSON; the message shows it."""


@dataclass(frozen=True)
class Description:
    """A box's description of itself.

    Parameters
    ----------
    alphabet
        The symbols of its words.
    answers
        ``"value"``: one number per word; ``"next"``: a row of next-symbol probabilities per prefix.
    name, fingerprint
        Its name for people, and a text that changes when its answers do.
    deterministic
        Whether it always gives the same answer to the same word.
    leaks
        Whether its probabilities may sum to less than 1.
    batch_size, max_length
        The most words in one request, and the most symbols in a word; None: any number.

    Examples
    --------
    >>> document = {"seqray": 1, "alphabet": ["a", "b"], "answers": "value", "max_length": 2}
    >>> description = Description.read(document, "the box")
    >>> description.alphabet, description.answers
    (Alphabet(['a', 'b']), 'value')
    >>> description.check_lengths(description.alphabet.words(["ab", "aba"]), "the box")
    Traceback (most recent call last):
    seqray.BlackBoxError: the box reads words of at most 2 symbols, and 'aba' has 3: ...
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
        """Read a description from JSON; raise an error that says what is wrong with it.

        Unknown fields are ignored.
        """
        fault = _fault(document, hide)
        if fault:
            raise BlackBoxError(
                f"{who} describes itself by {shown(document, hide)}: {fault}; expected "
                '{"seqray": 1, "alphabet": [symbols], "answers": "value" or "next"}'
            )
        assert isinstance(document, Mapping)
        try:
            alphabet = Alphabet(document["alphabet"])
            alphabet.to_json()  # what JSON brought must go back as it came
        except SymbolError as error:
            text = hide(str(error))
            raise BlackBoxError(f"{who} describes itself with an alphabet: {text}") from error
        given = {name: document[name] for name in OPTIONAL_FIELDS if document.get(name) is not None}
        return cls(alphabet, document["answers"], **given)

    def digest(self) -> str:
        """Return a digest that changes when the box describes itself as another one."""
        about = [self.alphabet.to_json(), self.answers, self.name, self.fingerprint, self.leaks]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()

    def box(self, backend: Backend) -> QueriedBox | QueriedModel:
        """Return the black box that a backend and this description make."""
        if self.answers == "value":
            return QueriedBox(backend, self.alphabet)
        return QueriedModel(backend, self.alphabet, self.leaks)

    def words_per_request(self, batch_size: int) -> int:
        """Return how many words to send at once: no more than the box takes."""
        return min(batch_size, self.batch_size or batch_size)

    def answer_size(self, words: Words) -> int:
        """Return how many bytes the answer to words may have."""
        n_numbers = len(self.alphabet) + 1 if self.answers == "next" else 1
        return EXTRA_ANSWER_BYTES + len(words) * n_numbers * MAX_NUMBER_BYTES

    def check_lengths(self, words: Words, who: str) -> None:
        """Refuse words that the box cannot read, before any is sent."""
        check_lengths(words, self.max_length, who)


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribedBackend:
    """The part of a backend that comes from its box's description."""

    description: Description
    check: Check = always

    @property
    def deterministic(self) -> bool:
        """Whether the box says that its answers never change."""
        return self.description.deterministic

    @property
    def max_length(self) -> int | None:
        """The length of the longest word that the box says it can read."""
        return self.description.max_length

    @property
    def proven(self) -> bool:
        """Whether the box has a fingerprint of its own, which changes when its answers do."""
        return self.description.fingerprint is not None

    def with_check(self, check: Check) -> Self:
        """Return a backend of the same box that calls ``check`` while it waits."""
        return dataclasses.replace(self, check=check)


def _fault(document: object, hide: Hide) -> str:
    """Return what is wrong with a description; an empty text if nothing is."""
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
    for name, (kind, expected) in OPTIONAL_FIELDS.items():
        value = document.get(name)
        too_low = name in MIN_VALUES and isinstance(value, int) and value < MIN_VALUES[name]
        if value is not None and (type(value) is not kind or too_low):
            return f'"{name}" is {shown(value, hide)}, not {expected}'
    return ""


def words_message(words: Words) -> bytes:
    """Return words as JSON: each is a list of symbols of the description's alphabet.

    >>> words_message(Alphabet("ab").words(["", "ab"]))
    b'{"words":[[],["a","b"]]}'
    """
    return json.dumps({"words": list(words)}, separators=(",", ":")).encode()


def read_json(text: bytes, hide: Hide = str) -> Any:
    """Return what JSON holds. Numbers that are not part of JSON, such as NaN, are read too.

    They are refused later, in an error that names their word.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"{shown(text, hide)} is no JSON: {error}") from error


def read_answers(text: bytes, who: str, hide: Hide = str) -> list[Any]:
    """Return the answers in a message, not checked yet."""
    document = read_json(text, hide)
    if isinstance(document, Mapping) and isinstance(document.get("answers"), list):
        answers: list[Any] = document["answers"]
        return answers
    if isinstance(document, Mapping) and "error" in document:
        raise FailedError(f"it answered the error {shown(document['error'], hide)}")
    raise BlackBoxError(f'{who} answered {shown(document, hide)}: expected {{"answers": [...]}}')


def shown(thing: object, hide: Hide = str) -> str:
    """Return a box's text or JSON for an error message: one short line without secrets.

    >>> shown(b"<html>     busy"), shown({"a": [1, "b"]})
    ("'<html> busy'", '{"a": [1, "b"]}')
    """
    if isinstance(thing, bytes):
        thing = thing[:MAX_TEXT_BYTES].decode("utf-8", errors="replace")
    if isinstance(thing, str):
        text = repr(" ".join(hide(thing[:MAX_TEXT_BYTES]).split()))
    else:
        text = hide(json.dumps(thing)[:MAX_TEXT_BYTES])
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[: MAX_SHOWN_CHARACTERS - 1]}…"
