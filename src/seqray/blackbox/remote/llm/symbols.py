"""From the texts of symbols to tokens, and from tokens to what a server reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from seqray.automata.words import Alphabet, Symbol
from seqray.blackbox.frameworks.hf_card import load_tokenizer
from seqray.blackbox.remote.llm.dialects import Prompt
from seqray.blackbox.token_tree import TokenTree, token_tree
from seqray.util.errors import ArgumentError
from seqray.util.files import read_text

SPACE_MARKS = str.maketrans({"Ġ": " ", "▁": " ", "Ċ": "\n"})
"""How vocabularies write white space."""


def read_alphabet(given: Alphabet | Iterable[Symbol] | str) -> Alphabet:
    """Return an alphabet as a command line can say it.

    A string is the path of a file with one symbol per line, a list with commas, or characters.

    Examples
    --------
    >>> read_alphabet(["cat", "dog"]), read_alphabet("cat,dog"), read_alphabet("ab")
    (Alphabet(['cat', 'dog']), Alphabet(['cat', 'dog']), Alphabet(['a', 'b']))
    """
    if not isinstance(given, str):
        return Alphabet.of(given)
    if os.path.isfile(given):
        return Alphabet([line for line in read_text(Path(given)).splitlines() if line])
    if "," in given:
        return Alphabet(given.split(","))
    if len(set(given)) < len(given):
        raise ArgumentError(
            f"alphabet {given!r}: there is no such file, and some of its characters stand twice: "
            "expected symbols with commas between them (yes,no), the path of a file with one "
            "symbol per line, or distinct characters"
        )
    return Alphabet(given)


ANY_TEXT = "a"
"""A text that every tokenizer has a token for."""


class TextTokens(Protocol):
    """Turns texts into tokens."""

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the ids of a text's tokens, with the ones that stand before any text or not."""

    def names(self, token: int) -> tuple[int | str, ...]:
        """Return how servers may name a token, the text that it stands for first."""


@dataclass(frozen=True, eq=False)
class ServerTokenizer:
    """The tokenizer of a server, which answers by ids alone."""

    request: Callable[[str, bool], list[int]]

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Query the server for the tokens of a text.

        Some servers refuse the empty text: what stands before any text shows at another one.
        """
        if text:
            return self.request(text, special)
        if not special:
            return []
        whole, plain = self.request(ANY_TEXT, True), self.request(ANY_TEXT, False)
        n_before = len(whole) - len(plain)
        return whole[:n_before] if whole[n_before:] == plain else self.request("", True)

    def names(self, token: int) -> tuple[int | str, ...]:
        """Return the id: such servers name tokens by their ids."""
        return (token,)


@dataclass(frozen=True, eq=False)
class LocalTokenizer:
    """The tokenizer in a folder; it is loaded with transformers and runs no code of the folder."""

    folder: Path

    @cached_property
    def loaded(self) -> Any:
        """The tokenizer of transformers."""
        return load_tokenizer(self.folder)

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the tokens of a text."""
        return list(self.loaded.encode(text, add_special_tokens=special))

    def names(self, token: int) -> tuple[int | str, ...]:
        """Return the text of a token, how it stands in the vocabulary, and its id.

        Without the space at its beginning it may be another token, whose name is left out then.
        """
        piece = str(self.loaded.convert_ids_to_tokens(token))
        marked = piece.translate(SPACE_MARKS)
        text = str(self.loaded.decode([token]))
        first = marked if marked.strip() == text else text  # some drop a space at the beginning
        if first != text and self.loaded.get_vocab().get(text, token) != token:
            text = first
        return tuple(dict.fromkeys((first, text, piece, token)))

    @property
    def end(self) -> str | None:
        """The token that ends a text."""
        token: str | None = self.loaded.eos_token
        return token


class WholeTexts:
    """No tokenizer: every text counts as one token."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return a number for a text."""
        if text not in self._texts:
            self._texts.append(text)
        return [self._texts.index(text)]

    def names(self, token: int) -> tuple[int | str, ...]:
        """Return the text."""
        return (self._texts[token],)


@dataclass(frozen=True, eq=False)
class SymbolTokens:
    """The tokens of an alphabet, of its end, and of what stands before every word.

    Parameters
    ----------
    tree
        The tokens of the symbols and the end.
    before
        The tokens before a word, or the text where the server reads texts.
    names
        How the server may name each token: its texts, its id, or both.
    """

    tree: TokenTree
    before: Prompt
    names: Mapping[int, tuple[int | str, ...]]

    def prompt(self, read: tuple[int, ...]) -> Prompt:
        """Return what the server reads before it predicts: what stands before, and tokens."""
        if isinstance(self.before, str):
            return self.before + "".join(str(self.names[token][0]) for token in read)
        return self.before + read


@dataclass(frozen=True)
class SymbolTexts:
    """What the user says about the texts that a model reads.

    Parameters
    ----------
    alphabet
        The symbols; each stands for its text.
    prompt
        The text before every word.
    separator
        The text before each symbol.
    end
        The text of the token that ends a word, or its id.
    """

    alphabet: Alphabet
    prompt: str
    separator: str
    end: str | int

    def tokens(
        self, tokenizer: TextTokens, *, as_text: bool, by_id: bool, renormalise: bool
    ) -> SymbolTokens:
        """Return the tokens of all of it.

        Parameters
        ----------
        tokenizer
            What turns texts into tokens.
        as_text, by_id
            Whether the server reads texts, and whether it names tokens by their ids.
        renormalise
            As for `token_tree`.
        """
        symbols = [self._encoded(tokenizer, f"{self.separator}{each}") for each in self.alphabet]
        self._check_distinct(symbols)
        end = [self.end] if isinstance(self.end, int) else self._encoded(tokenizer, self.end)
        tree = token_tree(symbols, [end], renormalise=renormalise)
        before = () if as_text else tuple(tokenizer.encode(self.prompt, special=True))
        if not before and not (as_text and self.prompt):
            raise ArgumentError(
                f"prompt: {self.prompt!r} is no token, and a model predicts nothing after nothing: "
                "say what stands before every word, such as prompt='<s>', the token with which "
                "texts begin"
            )
        used = {token for tokens in (*symbols, end) for token in tokens}
        names = {token: (token,) if by_id else tokenizer.names(token) for token in sorted(used)}
        return SymbolTokens(tree, self.prompt if as_text else before, names)

    def _check_distinct(self, symbols: list[list[int]]) -> None:
        for at, tokens in enumerate(symbols):
            if (first := symbols.index(tokens)) < at:
                one, other = self.alphabet.symbols[first], self.alphabet.symbols[at]
                raise ArgumentError(
                    f"alphabet: {one!r} and {other!r} are the same tokens {tokens}: leave one out"
                )

    @staticmethod
    def _encoded(tokenizer: TextTokens, text: str) -> list[int]:
        tokens = tokenizer.encode(text, special=False)
        if not tokens:
            raise ArgumentError(f"alphabet: {text!r} is no token at all: choose another symbol")
        return tokens
