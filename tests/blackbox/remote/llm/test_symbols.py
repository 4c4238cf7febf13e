import pytest

from seqray import Alphabet
from seqray.blackbox.remote.llm.symbols import (
    ServerTokenizer,
    SymbolTexts,
    WholeTexts,
    read_alphabet,
)
from seqray.util.errors import ArgumentError

LETTERS = ServerTokenizer(lambda text, special: [9] * special + [ord(c) for c in text if c != "!"])


def test_an_alphabet_may_be_a_list_a_text_with_commas_or_a_file(tmp_path):
    expected = Alphabet(["New York", "x"])
    assert read_alphabet(["New York", "x"]) == expected
    assert read_alphabet("New York,x") == expected
    (tmp_path / "symbols.txt").write_text("New York\nx\n")
    assert read_alphabet(str(tmp_path / "symbols.txt")) == expected
    assert read_alphabet("xy") == Alphabet("xy")


def test_a_file_of_symbols_that_is_not_there_is_named():
    with pytest.raises(ArgumentError, match=r"'symbols.txt': there is no such file, .*commas"):
        read_alphabet("symbols.txt")


def tokens_of(texts, tokenizer=LETTERS, *, as_text=False):
    return texts.tokens(tokenizer, as_text=as_text, by_id=not as_text, renormalise=True)


def test_prompt_separator_symbols_and_end_become_tokens():
    tokens = tokens_of(SymbolTexts(Alphabet(["a", "bc"]), "p", " ", "E"))
    assert tokens.before == (9, ord("p"))
    assert tokens.tree.symbols == ((32, 97), (32, 98, 99))
    assert tokens.tree.ends == ((69,),)
    assert tokens.prompt((1, 2)) == (9, ord("p"), 1, 2)
    assert tokens.names[97] == (97,)


def test_the_end_may_be_the_id_of_a_token():
    assert tokens_of(SymbolTexts(Alphabet("ab"), "p", "", 5)).tree.ends == ((5,),)


def test_servers_of_texts_read_texts_and_name_tokens_by_them():
    tokens = tokens_of(
        SymbolTexts(Alphabet(["cat", "dog"]), "p:", " ", "\n"), WholeTexts(), as_text=True
    )
    assert tokens.prompt((0, 1)) == "p: cat dog"
    assert tokens.names == {0: (" cat",), 1: (" dog",), 2: ("\n",)}


@pytest.mark.parametrize(
    ("symbols", "prompt", "message"),
    [
        (["a", "a!"], "p", "alphabet: 'a' and 'a!' are the same tokens"),
        (["a", "!"], "p", "'!' is no token at all: choose another symbol"),
    ],
)
def test_symbols_have_to_be_tokens_and_different_ones(symbols, prompt, message):
    with pytest.raises(ArgumentError, match=message):
        tokens_of(SymbolTexts(Alphabet(symbols), prompt, "", "E"))


def test_what_stands_before_any_text_is_found_without_the_empty_text():
    def request(text, special):
        assert text
        return [9, 8][: 2 * special] + [ord(c) for c in text]

    assert ServerTokenizer(request).encode("", special=True) == [9, 8]
    assert ServerTokenizer(request).encode("", special=False) == []
    around = ServerTokenizer(lambda text, special: [9] * special + [5] * len(text) + [7] * special)
    assert around.encode("", special=True) == [9, 7]


def test_something_has_to_stand_before_a_word():
    plain = ServerTokenizer(lambda text, special: [ord(c) for c in text])
    with pytest.raises(ArgumentError, match="prompt: '' is no token, and a model predicts nothing"):
        tokens_of(SymbolTexts(Alphabet("ab"), "", "", "E"), plain)
