"""Files of words: reading and writing them, in four layouts.

============  =====================================================================================
pautomac      a header ``number_of_words alphabet_size``, then one word per line: its length and its
              symbols, all integers. The layout of PAutomaC and SPiCe
text          one word per line, symbols separated by white space
characters    one word per line, every character a symbol
jsonl         a JSON list of symbols a line, or a JSON string, whose characters are the symbols
============  =====================================================================================
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np

from seqray.automata.words import Alphabet, Symbol, Words
from seqray.formats.events.event_log import is_event_file, plain_name, read_events
from seqray.formats.rare_symbols import rare_symbol
from seqray.util.arrays import IntArray
from seqray.util.checksums import check_beside
from seqray.util.errors import ArgumentError, FileError, SymbolError
from seqray.util.files import writing
from seqray.util.streams import read_stream

MAX_SYMBOLS = 65536
"""A header that promises more symbols is taken for a damaged one."""

PathLike: TypeAlias = str | os.PathLike[str]
Reader: TypeAlias = Callable[[list[str], PathLike, Alphabet | None], Words]


def read_words(
    path: PathLike, *, alphabet: Alphabet | Iterable[Symbol] | None = None, layout: str = "auto"
) -> Words:
    r"""Read a file of words.

    Parameters
    ----------
    path
        The file, in UTF-8, compressed by gzip or not. Lines may end in CR LF. Event logs (``.xes``,
        ``.csv``, ``.parquet``, JSON objects in ``.jsonl``) and sequences (``.fasta``, ``.fastq``)
        are read as by `read_events`.
    alphabet
        The symbols, in their order. Where it is not given it is read from the file: the integers
        0 … k-1 of a pautomac header that says k, or 1 … k where the file uses k and not 0; in the
        other layouts all symbols that occur, sorted. Give it to read several files alike: a test
        file rarely holds every symbol. A last symbol ``"(rare)"`` stands for all unknown ones.
    layout
        ``"pautomac"``, ``"text"``, ``"characters"``, ``"jsonl"``, or ``"auto"``, which goes by
        the name of the file (``.jsonl``; ``pautomac`` or ``spice`` in it) and then by its content:
        pautomac if the header and first lines are, text if there is a space, else characters.

    Returns
    -------
    words
        In text and characters an empty line is the empty word.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "words.txt")
    ...     _ = path.write_text("3 2\n2 0 1\n0\n1 1\n")
    ...     read_words(path)
    Words(3 words over 2 symbols: 0 1, λ, 1)
    """
    alphabet = None if alphabet is None else Alphabet.of(alphabet)
    _check_layout(layout)
    if layout == "auto" and is_event_file(path):
        return read_events(path, alphabet=alphabet).words
    lines = text_lines(path)
    if layout == "auto":
        layout = _guess(lines, path, alphabet)
    return READERS[layout](lines, path, alphabet)


def write_words(words: Words, path: PathLike, *, layout: str = "auto") -> None:
    r"""Write a file of words, which `read_words` reads back with the same alphabet.

    Parameters
    ----------
    words
        What to write.
    path
        Where to. An existing file is replaced.
    layout
        As in `read_words`; ``"auto"`` is jsonl for a name that ends so, pautomac for a name with
        ``pautomac`` or ``spice`` in it and for the symbols 0 … k-1 or 1 … k, characters where all
        symbols are, and text otherwise.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "words.txt")
    ...     write_words(Alphabet(range(2)).words([[0, 1], []]), path)
    ...     path.read_text()
    '2 2\n2 0 1\n0\n'
    """
    _check_layout(layout)
    symbols = words.alphabet.symbols
    countable = symbols in (tuple(range(len(symbols))), tuple(range(1, len(symbols) + 1)))
    if layout == "auto" and Path(path).suffix == ".jsonl":
        layout = "jsonl"
    elif layout == "auto" and _names_pautomac(path):
        layout = "pautomac"
    elif layout == "auto":
        characters = words.alphabet.has_characters and not _hard_to_write(symbols, "characters")
        layout = "pautomac" if countable else "characters" if characters else "text"
    if layout == "pautomac" and not countable:
        raise SymbolError(
            f"{path}: the pautomac layout has the symbols 0 … k-1 or 1 … k, got {words.alphabet}: "
            "choose another layout, such as jsonl"
        )
    if layout in ("text", "characters") and (hard := _hard_to_write(symbols, layout)):
        raise SymbolError(
            f"{path}: symbol {hard[0]!r} cannot be written in the {layout} layout: "
            "choose another, such as jsonl"
        )
    if layout != "pautomac" and not len(words):
        raise ArgumentError(f"{path}: no words to write, and the {layout} layout cannot say so")
    try:
        content = _formatted(words, layout).encode()
    except UnicodeEncodeError as error:
        raise SymbolError(f"{path}: a symbol cannot be written in UTF-8: {error}") from error
    with writing(path, with_checksum=True) as fresh:
        fresh.write_bytes(content)


def text_lines(path: PathLike) -> list[str]:
    """Return the lines of a text file, without what ends them; an empty file is an error."""
    check_beside(path)
    try:
        text = read_stream(path, "a file of words").decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path}: expected UTF-8 text, byte {error.start} is not: save it in UTF-8"
        ) from error
    if not text:
        raise FileError(f"{path}: the file is empty")
    # Not `splitlines`: it also cuts at characters that may well be symbols, such as U+2028.
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


# Writing ------------------------------------------------------------------------------------------


def _hard_to_write(symbols: Sequence[Symbol], layout: str) -> list[Symbol]:
    """Symbols that would not come back from this layout."""
    texts = [str(symbol) for symbol in symbols]
    if layout == "characters":
        fits = [len(text) == 1 and text not in "\n\r\ufeff" for text in texts]
    else:
        fits = [text.split() == [text] and text[0] != "\ufeff" for text in texts]
    n_alike = Counter(texts)
    return [
        symbol
        for symbol, text, fit in zip(symbols, texts, fits, strict=True)
        if not fit or n_alike[text] > 1
    ]


def _formatted(words: Words, layout: str) -> str:
    codes, ends = words.codes.tolist(), words.offsets.tolist()
    rows = [codes[start:stop] for start, stop in pairwise(ends)]
    if layout == "jsonl":
        values = words.alphabet.to_json()
        lists = ([values[code] for code in row] for row in rows)
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lists)
    names = [str(symbol) for symbol in words.alphabet]
    if layout == "pautomac":
        lines = (" ".join([str(len(row)), *(names[code] for code in row)]) for row in rows)
        return "\n".join([f"{len(rows)} {len(names)}", *lines]) + "\n"
    between = " " if layout == "text" else ""
    return "".join(between.join(names[code] for code in row) + "\n" for row in rows)


# Reading text, characters and JSON ----------------------------------------------------------------


def _check_layout(layout: str) -> None:
    if layout != "auto" and layout not in READERS:
        raise ArgumentError(f"layout {layout!r} is not one of auto, {', '.join(READERS)}")


def _names_pautomac(path: PathLike) -> bool:
    return any(part in Path(path).name for part in ("pautomac", "spice"))


def _guess(lines: list[str], path: PathLike, alphabet: Alphabet | None) -> str:
    if plain_name(path).endswith(".jsonl"):
        return "jsonl"
    # A damaged file of a known name must not pass for text.
    if _names_pautomac(path) or _is_pautomac(lines, alphabet):
        return "pautomac"
    has_spaces = any(" " in line or "\t" in line for line in lines)
    if alphabet is None:
        return "text" if has_spaces else "characters"
    names = [str(symbol) for symbol in alphabet]
    single = all(len(name) == 1 for name in names)
    return "characters" if single and (not has_spaces or any(map(str.isspace, names))) else "text"


def _is_pautomac(lines: list[str], alphabet: Alphabet | None) -> bool:
    """Whether the header is two integers and most of the first lines begin with their length."""
    if alphabet is not None and not any(isinstance(symbol, int) for symbol in alphabet):
        return False
    header, *rows = [line.split() for line in lines[:21]]
    if len(header) != 2 or not all(map(str.isdecimal, header)):
        return False
    right = [bool(row) and row[0] == str(len(row) - 1) for row in rows]
    return 2 * sum(right) >= len(rows) if rows else header[0] == "0"


def _read_text(lines: list[str], path: PathLike, alphabet: Alphabet | None) -> Words:
    return _encoded([line.split() for line in lines], path, alphabet)


def _read_characters(lines: list[str], path: PathLike, alphabet: Alphabet | None) -> Words:
    return _encoded([list(line) for line in lines], path, alphabet)


def _encoded(rows: list[list[str]], path: PathLike, alphabet: Alphabet | None) -> Words:
    """Encode rows of symbols as they are written in a file."""
    if alphabet is None:
        return _located(rows, path, _sorted_alphabet(rows, path))
    by_text = {str(symbol): symbol for symbol in alphabet}
    return _located([[by_text.get(s, s) for s in row] for row in rows], path, alphabet)


def _read_json(lines: list[str], path: PathLike, alphabet: Alphabet | None) -> Words:
    rows: list[list[Symbol]] = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path}:{number}: not a line of JSON: {error}") from error
        if not isinstance(row, (list, str)):
            raise FileError(f"{path}:{number}: expected a list of symbols or a string, got {row!r}")
        rows.append(list(row))
        if odd := [symbol for symbol in rows[-1] if isinstance(symbol, (list, dict))]:
            raise FileError(f"{path}:{number}: {odd[0]!r} is no symbol: use a string or a number")
    return _located(rows, path, alphabet or _sorted_alphabet(rows, path))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no symbol")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text[:80])


def _sorted_alphabet(rows: Sequence[Sequence[Symbol]], path: PathLike) -> Alphabet:
    def order(
        symbol: Any,
    ) -> tuple[str, Any]:  # numbers first; kinds that do not compare separately
        return "" if isinstance(symbol, (int, float)) else type(symbol).__name__, symbol

    symbols = sorted(set(chain.from_iterable(rows)), key=order)
    if not symbols:
        raise FileError(f"{path}: there is no symbol in the file: give the alphabet")
    return Alphabet(symbols)


def _located(rows: Sequence[Sequence[Symbol]], path: PathLike, alphabet: Alphabet) -> Words:
    """Encode rows; an unknown symbol is rare, or reported with its line."""
    if (rare := rare_symbol(alphabet)) is not None:
        rows = [[symbol if symbol in alphabet else rare for symbol in row] for row in rows]
    try:
        return alphabet.words(rows)
    except SymbolError:
        for number, row in enumerate(rows, 1):
            try:
                alphabet.encode(row)
            except SymbolError as error:
                raise SymbolError(f"{path}:{number}: {error}") from None
        raise  # pragma: no cover


# Reading PAutomaC ---------------------------------------------------------------------------------


def _read_pautomac(lines: list[str], path: PathLike, alphabet: Alphabet | None) -> Words:
    while len(lines) > 1 and not lines[-1].strip():
        lines = lines[:-1]
    n_words, n_symbols = _header(lines[0], path)
    rows = [line.split() for line in lines[1:]]
    if len(rows) != n_words:
        at = min(len(rows), n_words + 1) + 1  # the last line, or the first that is too many
        raise FileError(f"{path}:{at}: header promises {n_words} words, got {len(rows)}")
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    if not counts.all():
        raise FileError(f"{path}:{int(counts.argmin()) + 2}: expected a length and symbols, got ''")
    try:
        numbers = np.fromiter(map(int, chain.from_iterable(rows)), np.int64, int(counts.sum()))
    except (ValueError, OverflowError):
        raise _no_integer(rows, path) from None
    starts = np.cumsum(counts) - counts
    wrong = numbers[starts] != counts - 1
    if wrong.any():
        at = int(wrong.argmax())
        raise FileError(
            f"{path}:{at + 2}: the line promises {numbers[starts[at]]} symbols, "
            f"got {counts[at] - 1}"
        )
    letters = np.delete(numbers, starts)
    offsets = np.concatenate([[0], np.cumsum(counts - 1)])
    codes, alphabet = _codes(letters, offsets, n_symbols, path, alphabet)
    return Words(alphabet, codes, offsets)


def _header(line: str, path: PathLike) -> tuple[int, int]:
    numbers = line.split()
    if len(numbers) != 2 or not all(n.isdecimal() and len(n) < 18 for n in numbers):
        raise FileError(
            f"{path}:1: expected a header 'number_of_words alphabet_size', got {line[:80]!r}"
        )
    n_words, n_symbols = map(int, numbers)
    if not 1 <= n_symbols <= MAX_SYMBOLS:
        raise FileError(
            f"{path}:1: header promises an alphabet of {n_symbols} symbols: "
            f"expected 1 to {MAX_SYMBOLS}"
        )
    return n_words, n_symbols


def _no_integer(rows: list[list[str]], path: PathLike) -> FileError:
    """Find what made the fast conversion fail."""
    for line, row in enumerate(rows, 2):
        for text in row:
            try:
                np.int64(int(text))
            except (ValueError, OverflowError):
                return FileError(f"{path}:{line}: expected an integer, got {text[:80]!r}")
    raise AssertionError("every number is an integer")  # pragma: no cover


def _codes(
    letters: IntArray,
    offsets: IntArray,
    n_symbols: int,
    path: PathLike,
    alphabet: Alphabet | None,
) -> tuple[IntArray, Alphabet]:
    """Return the codes of integers, and the alphabet: the one given, or what the header says."""
    if alphabet is not None:
        error: type[Exception] = SymbolError
        known = f"the given alphabet: {alphabet}"
        values, which = np.unique(letters, return_inverse=True)
        rare = alphabet.codes.get(rare_symbol(alphabet), -1)
        by_value = [alphabet.codes.get(value, rare) for value in values.tolist()]
        codes = np.array(by_value, np.int32)[which]
    else:
        error = FileError
        # Some files count their symbols from 1.
        first = int(len(letters) > 0 and letters.min() >= 1 and letters.max() == n_symbols)
        known = f"the {n_symbols} letters that the header promises"
        alphabet = Alphabet(range(first, first + n_symbols))
        codes = np.where((letters >= first) & (letters < first + n_symbols), letters - first, -1)
    if (codes < 0).any():
        at = int((codes < 0).argmax())
        word = int(np.searchsorted(offsets, at, side="right")) - 1
        raise error(
            f"{path}:{word + 2}: letter {letters[at]} at position {at - offsets[word]} "
            f"is outside {known}"
        )
    return codes, alphabet


READERS: dict[str, Reader] = {
    "pautomac": _read_pautomac,
    "text": _read_text,
    "characters": _read_characters,
    "jsonl": _read_json,
}
