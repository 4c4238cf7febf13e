"""Which symbols make an alphabet."""

import pytest

from seqray import Alphabet
from seqray.util.errors import SymbolError


def test_alphabets_that_cannot_be_used_are_refused():
    with pytest.raises(SymbolError, match="at least one symbol"):
        Alphabet([])
    with pytest.raises(SymbolError, match=r"symbol 2 of the alphabet, \[2\], is not hashable"):
        Alphabet([1, [2]])
    with pytest.raises(SymbolError, match="stands twice in the alphabet, at positions 1 and 3"):
        Alphabet("aba")


@pytest.mark.parametrize("symbols", [{"a", "b"}, frozenset("ab"), {"a": 1, "b": 2}.keys()])
def test_symbols_without_an_order_are_no_alphabet(symbols):
    with pytest.raises(SymbolError, match=r"an alphabet has an order .* sorted\(symbols\)"):
        Alphabet(symbols)


@pytest.mark.parametrize("symbol", ["", None, "λ"])
def test_what_looks_like_no_symbol_is_no_symbol(symbol):
    with pytest.raises(SymbolError, match="looks like no symbol at all"):
        Alphabet(["a", symbol])


def test_what_cannot_be_iterated_is_no_alphabet():
    with pytest.raises(SymbolError, match=r"expected the symbols of an alphabet, .* got 3"):
        Alphabet(3)
