"""Alphabets, and batches of words over them.

A word is what the user has: a string of characters, or a sequence of symbols. Inside, a symbol is
a small integer, its *code*, and a batch of words is one flat array of codes with offsets.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, TypeAlias, overload

import numpy as np

from seqray.automata.symbols import EMPTY_WORD, checked_symbols, first_name, unknown_symbol
from seqray.util.arrays import IntArray, read_only
from seqray.util.errors import ArgumentError, SymbolError

Symbol: TypeAlias = Hashable
Word: TypeAlias = Sequence[Symbol]


@dataclass(frozen=True, init=False)
class Alphabet:
    """A finite, ordered set of symbols.

    Parameters
    ----------
    symbols
        Any hashable symbols, all different, but not ``None``, ``""`` and ``"λ"``. The order
        counts: it is the order of the rows and columns in every result. So a set will not do.

    Examples
    --------
    >>> alphabet = Alphabet(["a", "b"])
    >>> len(alphabet), "b" in alphabet
    (2, True)
    >>> alphabet.encode("abba")
    array([0, 1, 1, 0], dtype=int32)
    >>> Alphabet(range(3)).encode([2, 0])
    array([2, 0], dtype=int32)
    >>> Alphabet(["do", "re"]).encode("do re re")
    array([0, 1, 1], dtype=int32)
    """

    symbols: tuple[Symbol, ...]

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        object.__setattr__(self, "symbols", checked_symbols(symbols))

    @classmethod
    def of(cls, symbols: Alphabet | Iterable[Symbol]) -> Alphabet:
        """Return an alphabet as it is, or make one of symbols.

        >>> Alphabet.of("ab") == Alphabet.of(Alphabet("ab"))
        True
        """
        return symbols if isinstance(symbols, Alphabet) else cls(symbols)

    @cached_property
    def codes(self) -> dict[Symbol, int]:
        """The code of each symbol."""
        return {symbol: code for code, symbol in enumerate(self.symbols)}

    @cached_property
    def has_characters(self) -> bool:
        """Whether every symbol is a single character, so that a plain string is a word."""
        return all(isinstance(symbol, str) and len(symbol) == 1 for symbol in self.symbols)

    @cached_property
    def separator(self) -> str:
        """What stands between the symbols of a word: a bar where symbols hold spaces.

        Where a symbol holds such a bar, or is one, there are more bars than in any symbol.

        >>> [Alphabet(symbols).separator for symbols in ("ab", ["do", "re"], ["New York", "x"])]
        ['', ' ', ' | ']
        >>> Alphabet(["pay | ship", "pay", "ship"]).show(["pay", "ship"])
        'pay || ship'
        """
        if self.has_characters:
            return ""
        parts = [str(symbol).split() for symbol in self.symbols]
        if max(map(len, parts)) < 2:
            return " "
        bars = [len(part) for part in chain.from_iterable(parts) if not part.strip("|")]
        return f" {'|' * (1 + max(bars, default=0))} "

    def __len__(self) -> int:
        return len(self.symbols)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self.codes

    def __repr__(self) -> str:
        shown = ", ".join(repr(symbol) for symbol in self.symbols[:8])
        more = f", … {len(self)} in all" if len(self) > 8 else ""
        return f"Alphabet([{shown}{more}])"

    def encode(self, word: Word) -> IntArray:
        """Return the codes of a word's symbols.

        A ``str`` is read character by character when all symbols are single characters, and is
        split at white space when they are longer strings; if those hold spaces, see `parse`.
        """
        return np.array([self._code(s, at) for at, s in enumerate(self._split(word))], np.int32)

    def decode(self, codes: Iterable[int]) -> tuple[Symbol, ...]:
        """Return the symbols behind codes.

        >>> Alphabet("ab").decode([0, 1])
        ('a', 'b')
        """
        codes = list(codes)
        for at, code in enumerate(codes):
            if not 0 <= code < len(self):  # -1 must not quietly mean the last symbol
                raise SymbolError(
                    f"letter {code} at position {at} is outside an alphabet of {len(self)} letters"
                )
        return tuple(self.symbols[code] for code in codes)

    def parse(self, text: str) -> tuple[Symbol, ...]:
        """Read a word from text: characters, or symbols as `str` shows them, split at white space.

        White space between characters does not count, unless it is a symbol. A symbol may hold
        spaces: the longest one that fits is taken. A bar between two symbols separates them.

        >>> Alphabet(range(12)).parse("10 2 11")
        (10, 2, 11)
        >>> Alphabet(["New York", "New", "x"]).parse("New York x New")
        ('New York', 'x', 'New')
        >>> Alphabet(["New York", "New", "York"]).parse("New | York")
        ('New', 'York')
        """
        if self.has_characters:
            spaces = not any(str(symbol).isspace() for symbol in self.symbols)
            return self.decode(self.encode("".join(text.split()) if spaces else text))
        by_text = {" ".join(str(symbol).split()): symbol for symbol in self.symbols}
        longest = max(len(name.split()) for name in by_text)
        tokens, at = text.split(), 0
        word: list[Symbol] = []
        while at < len(tokens):
            for n in range(min(longest, len(tokens) - at), 0, -1):
                if (name := " ".join(tokens[at : at + n])) in by_text:
                    break
            else:
                if tokens[at] != self.separator.strip():
                    raise self._unknown(first_name(tokens[at:], self.separator), len(word))
                at += 1
                continue
            word.append(by_text[name])
            at += n
        return tuple(word)

    def show(self, word: Iterable[Symbol]) -> str:
        """Write a word for people to read: ``λ`` when it is empty.

        >>> Alphabet("ab").show("ab"), Alphabet(range(12)).show([10, 2]), Alphabet("ab").show("")
        ('ab', '10 2', 'λ')
        """
        return self.separator.join(str(s) for s in word) or EMPTY_WORD

    def to_json(self) -> list[Any]:
        """Return the symbols as JSON can hold them; ``Alphabet(list)`` brings them back."""
        for symbol in self.symbols:
            known = symbol is None or isinstance(symbol, (str, int, float))
            # A lone surrogate is no Unicode text, and nan is not equal to itself.
            text = symbol.encode(errors="ignore").decode() if isinstance(symbol, str) else symbol
            if not known or text != symbol:
                raise SymbolError(
                    f"symbol {symbol!r} cannot be written to a file: only strings and numbers can"
                )
        return list(self.symbols)

    def words(self, words: Words | Iterable[Word]) -> Words:
        """Encode words. A `Words` over this very alphabet is returned as it is.

        What `seqray.sample` or `seqray.read_events` returned counts as its words.

        >>> Alphabet("ab").words(["", "ab", "b"])
        Words(3 words over 2 symbols: λ, ab, b)
        """
        if isinstance(held := getattr(words, "words", None), Words):
            words = held
        if isinstance(words, Words):
            if words.alphabet != self:
                raise SymbolError(
                    f"expected words over {self}, got words over {words.alphabet}: "
                    "encode them with the same alphabet"
                )
            return words
        if isinstance(words, str):
            raise ArgumentError(
                f"expected a list of words, got the single string {words!r}: write [{words!r}]"
            )
        split = [self._split(word) for word in words]
        offsets = np.zeros(len(split) + 1, np.int64)
        np.cumsum([len(word) for word in split], out=offsets[1:])
        try:
            codes = np.fromiter(
                map(self.codes.__getitem__, chain.from_iterable(split)), np.int32, offsets[-1]
            )
        except (KeyError, TypeError):
            for word in split:
                self.encode(word)  # raises where the unknown symbol stands
            raise
        return Words(self, codes, offsets)

    def extended(self, words: Iterable[Word]) -> Alphabet:
        """Return this alphabet with what else occurs in words behind its own symbols.

        >>> Alphabet("ab").extended(["abc", "d"])
        Alphabet(['a', 'b', 'c', 'd'])
        """
        occurring = dict.fromkeys(chain.from_iterable(self._split(word) for word in words))
        return Alphabet([*self.symbols, *(each for each in occurring if each not in self.codes)])

    def _split(self, word: Word) -> Sequence[Symbol]:
        if not isinstance(word, str) or self.has_characters:
            try:
                len(word)
            except TypeError:
                raise ArgumentError(
                    f"expected a word (a string or a sequence of symbols), got {word!r}"
                ) from None
            return word
        if all(isinstance(symbol, str) for symbol in self.symbols):
            return word.split() if self.separator == " " else self.parse(word)
        raise ArgumentError(
            f"expected a sequence of symbols of {self}, got the string {word!r}: "
            "pass a list, or alphabet.parse(text)"
        )

    def _code(self, symbol: Symbol, at: int) -> int:
        try:
            return self.codes[symbol]
        except (KeyError, TypeError):
            raise self._unknown(symbol, at) from None

    def _unknown(self, symbol: object, at: int) -> SymbolError:
        return unknown_symbol(symbol, at, self.symbols, str(self))


@dataclass(frozen=True, eq=False, repr=False)
class Words:
    """A batch of encoded words: one flat array of codes, and where each word begins in it.

    Parameters
    ----------
    alphabet
        What the codes stand for.
    codes
        All words one after the other, shape ``(n_letters,)``.
    offsets
        Word ``i`` is ``codes[offsets[i]:offsets[i + 1]]``, shape ``(n_words + 1,)``.

    Examples
    --------
    >>> words = Alphabet("ab").words(["ab", "", "bba", "ab"])
    >>> len(words), words.lengths
    (4, array([2, 0, 3, 2]))
    >>> words[2]
    ('b', 'b', 'a')
    >>> words[1:3]
    Words(2 words over 2 symbols: λ, bba)
    >>> distinct, which = words.unique()
    >>> len(distinct), which
    (3, array([0, 1, 2, 0]))
    """

    alphabet: Alphabet
    codes: IntArray
    offsets: IntArray

    def __post_init__(self) -> None:
        codes, offsets = np.asarray(self.codes), np.asarray(self.offsets)
        for name, array in (("codes", codes), ("offsets", offsets)):
            if array.ndim != 1 or array.dtype.kind not in "iu":
                raise ArgumentError(
                    f"{name}: expected a one-dimensional integer array, "
                    f"got {array.dtype} of shape {array.shape}"
                )
        offsets = offsets.astype(np.int64)  # unsigned differences never fall below 0
        ends_right = len(offsets) and offsets[0] == 0 and offsets[-1] == len(codes)
        if not ends_right or (np.diff(offsets) < 0).any():
            raise ArgumentError(
                f"offsets: expected to rise from 0 to {len(codes)}, the number of codes"
            )
        outside = (codes < 0) | (codes >= len(self.alphabet))
        if outside.any():
            at = int(outside.argmax())
            word = int(np.searchsorted(offsets, at, side="right")) - 1
            raise SymbolError(
                f"letter {codes[at]} at position {at - offsets[word]} of word {word} is outside "
                f"an alphabet of {len(self.alphabet)} letters"
            )
        object.__setattr__(self, "codes", read_only(codes.astype(np.int32)))
        object.__setattr__(self, "offsets", read_only(offsets))

    @classmethod
    def _trusted(cls, alphabet: Alphabet, codes: IntArray, offsets: IntArray) -> Words:
        """Wrap arrays that were made from checked ones."""
        words = cls.__new__(cls)
        object.__setattr__(words, "alphabet", alphabet)
        object.__setattr__(words, "codes", read_only(codes))
        object.__setattr__(words, "offsets", read_only(offsets))
        return words

    @classmethod
    def concatenate(cls, batches: Sequence[Words]) -> Words:
        """Put batches over one alphabet behind each other.

        >>> a = Alphabet("ab")
        >>> Words.concatenate([a.words(["a"]), a.words(["", "ba"])])
        Words(3 words over 2 symbols: a, λ, ba)
        """
        if not batches:
            raise ArgumentError("expected at least one batch of words, got none")
        alphabet = batches[0].alphabet
        for batch in batches[1:]:
            alphabet.words(batch)
        lengths = np.concatenate([batch.lengths for batch in batches])
        codes = np.concatenate([batch.codes for batch in batches])
        return cls._trusted(alphabet, codes, _offsets(lengths))

    @property
    def lengths(self) -> IntArray:
        """The length of each word."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[tuple[Symbol, ...]]:
        symbol_of = self.alphabet.symbols.__getitem__
        for start, stop in pairwise(self.offsets.tolist()):
            yield tuple(map(symbol_of, self.codes[start:stop].tolist()))

    @overload
    def __getitem__(self, index: int) -> tuple[Symbol, ...]: ...
    @overload
    def __getitem__(self, index: slice | IntArray | list[int]) -> Words: ...
    def __getitem__(self, index: Any) -> Any:
        """Return one word, or a batch of the chosen words."""
        if isinstance(index, (int, np.integer)):
            at = range(len(self))[index]
            return next(iter(self[at : at + 1]))
        if isinstance(index, slice) and index.step in (None, 1):
            start, stop, _ = index.indices(len(self))
            offsets = self.offsets[start : max(start, stop) + 1]
            codes = self.codes[offsets[0] : offsets[-1]]
            return self._trusted(self.alphabet, codes, offsets - offsets[0])
        chosen = np.arange(len(self))[index]
        lengths = self.lengths[chosen]
        offsets = _offsets(lengths)
        where = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return self._trusted(self.alphabet, self.codes[where], offsets)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Words)
            and self.alphabet == other.alphabet
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.codes, other.codes)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(self.alphabet.show(self[i]) for i in range(min(len(self), 4)))
        return f"Words({len(self)} words over {len(self.alphabet)} symbols: {shown}" + (
            ", …)" if len(self) > 4 else ")"
        )

    def extended(self, symbols: IntArray) -> Words:
        """Return the words with one more letter each, given as one code per word.

        >>> Alphabet("ab").words(["", "ab"]).extended(np.array([1, 0]))
        Words(2 words over 2 symbols: b, aba)
        """
        codes = np.insert(self.codes, self.offsets[1:], symbols.astype(np.int32))
        return Words(self.alphabet, codes, self.offsets + np.arange(len(self) + 1))

    def reversed(self) -> Words:
        """Return the words read backwards.

        >>> Alphabet("ab").words(["", "aab"]).reversed()
        Words(2 words over 2 symbols: λ, baa)
        """
        flipped = np.repeat(self.offsets[1:] + self.offsets[:-1] - 1, self.lengths)
        where = flipped - np.arange(len(self.codes))
        return self._trusted(self.alphabet, self.codes[where], self.offsets)

    def cut(self, max_length: int) -> Words:
        """Return the first ``max_length`` symbols of each word; shorter words stay as they are.

        >>> Alphabet("ab").words(["", "aab", "b"]).cut(2)
        Words(3 words over 2 symbols: λ, aa, b)
        """
        place = np.arange(len(self.codes)) - np.repeat(self.offsets[:-1], self.lengths)
        lengths = np.minimum(self.lengths, max_length)
        return self._trusted(self.alphabet, self.codes[place < max_length], _offsets(lengths))

    def followed_by(self, other: Words) -> Words:
        """Return every word followed by every word of ``other``, the other's varying fastest.

        >>> a = Alphabet("ab")
        >>> a.words(["a", "b"]).followed_by(a.words(["", "ba"]))
        Words(4 words over 2 symbols: a, aba, b, bba)
        """
        first = np.repeat(np.arange(len(self)), len(other))
        return self.joined(first, other, np.tile(np.arange(len(other)), len(self)))

    def joined(self, first: IntArray, other: Words, second: IntArray) -> Words:
        """Return word ``first[i]`` followed by word ``second[i]`` of ``other``, for every i.

        >>> a = Alphabet("ab")
        >>> a.words(["a", "b"]).joined(np.array([1]), a.words(["", "ba"]), np.array([1]))
        Words(1 words over 2 symbols: bba)
        """
        both = Words.concatenate([self, other])
        pairs = both[np.stack([first, second + len(self)], axis=1).ravel()]
        return self._trusted(self.alphabet, pairs.codes, pairs.offsets[::2])

    def unique(self) -> tuple[Words, IntArray]:
        """Return the distinct words as they first appear, and which of them each word is."""
        size = self.codes.itemsize
        raw = self.codes.tobytes()
        seen: dict[bytes, int] = {}
        ends = (self.offsets * size).tolist()
        which = np.fromiter(
            (seen.setdefault(raw[start:stop], len(seen)) for start, stop in pairwise(ends)),
            np.int64,
            len(self),
        )
        first = np.full(len(seen), len(self), np.int64)
        np.minimum.at(first, which, np.arange(len(self)))
        return self[first], which


def _offsets(lengths: IntArray) -> IntArray:
    """Where words of these lengths begin and end in a flat array."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
