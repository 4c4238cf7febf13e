"""The syntax of regular expressions over symbols: text in, a tree out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, TypeAlias

from seqray.automata.words import Alphabet
from seqray.util.errors import ArgumentError

MAX_DEPTH = 100
"""The most brackets inside each other."""

MAX_TIMES = 2_000
"""The largest number in ``{m,n}``."""

TOKEN = re.compile(
    r"""(?P<operator>[()|*+?{}\[\].^])
    |"(?P<double>(?:[^"\\]|\\.)*)"
    |'(?P<single>(?:[^'\\]|\\.)*)'
    |(?P<bare>(?:[^\s()|*+?{}\[\].^"'\\]|\\.)+)""",
    re.VERBOSE | re.DOTALL,
)

TIMES = re.compile(r"\{\s*([0-9]{1,9})?\s*(,?)\s*([0-9]{1,9})?\s*\}")


class OneOf(NamedTuple):
    """One symbol out of several, by code."""

    codes: frozenset[int]


class Sequence(NamedTuple):
    """One part after the other; without parts the empty word."""

    parts: tuple[Node, ...]


class Choice(NamedTuple):
    """One of the parts."""

    parts: tuple[Node, ...]


class Repeat(NamedTuple):
    """A part, from ``least`` to ``most`` times; None: any number of times."""

    part: Node
    least: int
    most: int | None


Node: TypeAlias = OneOf | Sequence | Choice | Repeat
"""A regular expression."""


class Token(NamedTuple):
    """An operator, or text that names symbols."""

    at: int
    text: str
    is_operator: bool = False
    is_quoted: bool = False


def parse_regex(text: str, alphabet: Alphabet) -> Node:
    """Return the tree of a regular expression; see `seqray.regex_dfa` for the syntax.

    >>> parse_regex("a|b a", Alphabet("ab"))
    Choice(parts=(OneOf(codes=frozenset({0})), Sequence(parts=(OneOf(codes=frozenset({1})), ...
    """
    parser = _Parser(text, _Names.of(alphabet))
    tree = parser.choice()
    if parser.token is not None:
        parser.fail("it closes nothing", "remove it, or put a '(' before")
    return tree


@dataclass(frozen=True)
class _Names:
    """What the symbols of an alphabet are called."""

    alphabet: Alphabet
    codes: dict[str, int]

    @classmethod
    def of(cls, alphabet: Alphabet) -> _Names:
        codes = {str(symbol): code for code, symbol in enumerate(alphabet)}
        if len(codes) < len(alphabet):
            raise ArgumentError(
                "regular expression: two symbols of the alphabet look the same as text, such as "
                f"1 and '1' in {alphabet}: expected different ones, use a DFA instead"
            )
        return cls(alphabet, codes)

    def read(self, token: Token) -> list[int] | None:
        """Return the codes of the symbols that a token names; None: there is no such symbol."""
        if token.text in self.codes:
            return [self.codes[token.text]]
        if token.is_quoted or not self.alphabet.has_characters:
            return None
        codes = [self.codes.get(character) for character in token.text]
        return None if None in codes else [code for code in codes if code is not None]

    def hint(self, token: Token) -> str:
        """Say which symbols there are."""
        near = difflib.get_close_matches(token.text[:80], self.codes, n=1)
        return f"did you mean {near[0]!r}? " if near else f"expected one of {self.alphabet}: "


class _Parser:
    """Reads tokens from left to right, one method per level of the syntax."""

    def __init__(self, text: str, names: _Names) -> None:
        self.text, self.names, self.depth = text, names, 0
        self._tokens = list(self._split())
        self._place = 0

    def _split(self) -> Iterator[Token]:
        at = 0
        while at < len(self.text):
            if self.text[at].isspace():
                at += 1
                continue
            match = TOKEN.match(self.text, at)
            if match is None:
                what = "a backslash" if self.text[at] == "\\" else "a quotation mark"
                self._raise(at, f"{what} without its end", "add it, or a backslash before")
            if match["operator"]:
                yield Token(at, match[0], is_operator=True)
            else:
                quoted = match["double"] if match["double"] is not None else match["single"]
                text = match["bare"] if quoted is None else quoted
                plain = re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
                yield Token(at, plain, is_quoted=quoted is not None or "\\" in text)
            at = match.end()

    @property
    def token(self) -> Token | None:
        """The next token; None at the end."""
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def sees(self, operators: str) -> bool:
        """Whether the next token is one of some operators."""
        token = self.token
        return token is not None and token.is_operator and token.text in operators

    def take(self, operator: str) -> bool:
        """Go past an operator if it is the next token."""
        if self.sees(operator):
            self._place += 1
            return True
        return False

    def fail(self, problem: str, advice: str) -> NoReturn:
        """Raise an error about the next token."""
        token = self.token
        at = len(self.text) if token is None else token.at
        shown = "the end" if token is None else repr(token.text)
        self._raise(at, f"{shown}: {problem}", advice)

    def _raise(self, at: int, problem: str, advice: str) -> NoReturn:
        raise ArgumentError(
            f"regular expression {self.text!r}: at position {at + 1}, {problem}: {advice}"
        )

    def choice(self) -> Node:
        """Read parts with ``|`` between them."""
        parts = [self.sequence()]
        while self.take("|"):
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def sequence(self) -> Node:
        """Read parts one after the other, up to ``|``, ``)`` or the end."""
        parts: list[Node] = []
        while self.token is not None and not self.sees("|)"):
            atoms = self.atoms()
            parts += [*atoms[:-1], self.repeated(atoms[-1])]
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def repeated(self, part: Node) -> Node:
        """Read the ``* + ? {m,n}`` after a part."""
        limits = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        while self.token is not None and self.sees("*+?{"):
            if self.sees("{"):
                part = Repeat(part, *self.times())
            else:
                part = Repeat(part, *limits[self.token.text])
                self._place += 1
        return part

    def times(self) -> tuple[int, int | None]:
        """Read ``{m}``, ``{m,}``, ``{,n}`` or ``{m,n}``."""
        token = self.token
        assert token is not None
        match = TIMES.match(self.text, token.at)
        if match is None or (match[1] is None and match[3] is None):
            self.fail("no number of times", "write {2}, {2,}, {,5} or {2,5}")
        least = int(match[1] or 0)
        most = least if not match[2] else None if match[3] is None else int(match[3])
        if max(least, most or 0) > MAX_TIMES or (most is not None and most < least):
            self.fail(f"{match[0]}", f"expected rising numbers up to {MAX_TIMES:,}")
        while self.token is not None and self.token.at < match.end():
            self._place += 1
        return least, most

    def atoms(self) -> list[Node]:
        """Read one part, or the symbols that are written without spaces between them."""
        token = self.token
        assert token is not None
        if not token.is_operator:
            return [OneOf(frozenset([code])) for code in self.symbols()]
        if self.take("."):
            return [OneOf(frozenset(range(len(self.names.alphabet))))]
        if self.take("["):
            return [self.symbol_class()]
        if not self.take("("):
            advice = "put it in quotes if it is a symbol"
            self.fail("nothing that it could belong to stands before it", advice)
        return [self.group()]

    def group(self) -> Node:
        """Read what follows ``(``, up to ``)``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"more than {MAX_DEPTH} brackets inside each other", "use fewer")
        inside = self.choice()
        if not self.take(")"):
            self.fail("a '(' is not closed", "add a ')'")
        self.depth -= 1
        return inside

    def symbol_class(self) -> Node:
        """Read what follows ``[``, up to ``]``."""
        is_negated = self.take("^")
        codes: set[int] = set()
        while (token := self.token) is not None and not token.is_operator:
            codes |= set(self.symbols())
        if not self.take("]"):
            self.fail("a '[' is not closed", "write symbols only, as in [a b], and a ']'")
        if is_negated:
            codes = set(range(len(self.names.alphabet))) - codes
        return OneOf(frozenset(codes))

    def symbols(self) -> list[int]:
        """Read a token that names symbols."""
        token = self.token
        assert token is not None
        codes = self.names.read(token)
        if codes is None:
            advice = self.names.hint(token) + "separate symbols by spaces, quote others"
            self.fail("no symbol of the alphabet", advice)
        self._place += 1
        return codes
