"""Which symbols an alphabet may have, and what is said of others."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Sequence, Set
from itertools import takewhile

from seqray.util.errors import SymbolError

EMPTY_WORD = "λ"
"""How the empty word is shown."""


def checked_symbols(symbols: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return symbols that can make an alphabet, or raise a `SymbolError` that says why not.

    >>> checked_symbols("ab")
    ('a', 'b')
    """
    if isinstance(symbols, Set):
        raise SymbolError(
            f"an alphabet has an order and a {type(symbols).__name__} has none: it would "
            "differ from run to run: write sorted(symbols), or a list"
        )
    try:
        symbols = tuple(symbols)
    except TypeError:
        raise SymbolError(
            f"expected the symbols of an alphabet, such as 'ab' or ['do', 're'], got {symbols!r}"
        ) from None
    if not symbols:
        raise SymbolError("an alphabet needs at least one symbol, got none")
    seen: dict[Hashable, int] = {}
    for code, symbol in enumerate(symbols):
        try:
            first = seen.setdefault(symbol, code)
        except TypeError:
            raise SymbolError(
                f"symbol {code + 1} of the alphabet, {symbol!r}, is not hashable: "
                "use strings, numbers or tuples"
            ) from None
        if symbol is None or (isinstance(symbol, str) and symbol in ("", EMPTY_WORD)):
            raise SymbolError(
                f"symbol {code + 1} of the alphabet is {symbol!r}, which looks like "
                f"no symbol at all ({EMPTY_WORD} is how the empty word is shown): give it another "
                "name"
            )
        if first != code:
            raise SymbolError(
                f"symbol {symbol!r} stands twice in the alphabet, at positions {first + 1} "
                f"and {code + 1}"
            )
    return symbols


def unknown_symbol(symbol: object, at: int, symbols: Sequence[Hashable], shown: str) -> SymbolError:
    """Return the error of a symbol outside an alphabet, with the nearest one that is inside.

    >>> raise unknown_symbol("opne", 0, ["open"], "Alphabet(['open'])")
    Traceback (most recent call last):
    ...
    seqray.SymbolError: symbol 'opne' at position 1 is outside an alphabet of 1: did you mean \
'open'? Alphabet(['open'])
    """
    known = {*map(str, symbols)}
    near = difflib.get_close_matches(str(symbol)[:80], map(str, symbols), n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    if isinstance(symbol, str) and 1 < len(symbol) <= 80 and known.issuperset(symbol):
        hint = f"did you mean the symbols {' '.join(symbol)!r}, with spaces between them? "
    return SymbolError(
        f"symbol {symbol!r} at position {at + 1} is outside an alphabet of {len(symbols)}: "
        f"{hint}{shown}"
    )


def first_name(tokens: Sequence[str], separator: str) -> str:
    """Return what was meant as one symbol: all up to the next bar, where bars are used.

    >>> first_name(["New", "York", "|", "x"], " | "), first_name(["a", "b"], " ")
    ('New York', 'a')
    """
    if separator == " ":
        return tokens[0]
    return " ".join(takewhile(lambda token: token != separator.strip(), tokens))
