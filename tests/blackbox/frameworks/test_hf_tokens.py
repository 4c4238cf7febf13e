"""Language models whose symbols are several tokens."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import seqray
from same_gru.hf import END, START, gpt2, import_transformers, saved, tokenizer
from seqray import Alphabet, Card, open_black_box
from seqray.automata.tree import PrefixTree, walk
from seqray.blackbox.card import card_path
from seqray.blackbox.frameworks.hf import hf_box
from seqray.util.errors import ArgumentError, BlackBoxError
from token_streams import StreamReader

torch = pytest.importorskip("torch")
transformers = import_transformers()

N_TOKENS = 40
FEW = ((4,), (4, 2), (2,), (7, 7, 2), (7,), (7, 7, 2, 4), (3,))
CARD = Card(Alphabet("abcdefg"), "next", tokens=FEW, start=START, end=END)
WORDS = ["", "a", "ba", "dab", "gfed", "abcdefg", "ffffff"]


def fifty_symbols():
    """Return 50 symbols of 1 to 4 tokens; many begin with others, some are others joined."""
    rng = np.random.default_rng(0)
    symbols = dict.fromkeys([(10,), (11,), (10, 11), (12, 10), (12,), (12, 10, 11, 12)])
    while len(symbols) < 50:
        longer = [*symbols][int(rng.integers(len(symbols)))]
        before = longer if rng.random() < 0.5 and len(longer) < 4 else ()
        n_more = int(rng.integers(1, 5 - len(before)))
        symbols[(*before, *rng.integers(8, N_TOKENS, n_more).tolist())] = None
    return tuple(symbols)


FIFTY = fifty_symbols()
MANY = Card(Alphabet(range(50)), "next", tokens=FIFTY, start=START, end=END)


@pytest.fixture(scope="module")
def large():
    """A language model of 40 tokens; not to be changed."""
    return gpt2(vocab_size=N_TOKENS)


def reader_of(model, symbols, words):
    """Return what reads streams with a model; what words need is computed in large batches."""
    known = {}

    def read(streams):
        for length in {len(stream) for stream in streams}:
            same = [stream for stream in streams if len(stream) == length]
            for begin in range(0, len(same), 4096):
                part = same[begin : begin + 4096]
                ids = torch.tensor([(START, *stream) for stream in part])
                with torch.inference_mode():
                    logits = model.eval()(ids).logits[:, -1].double()
                known.update(zip(part, logits.softmax(1).numpy(), strict=True))

    def next_tokens(stream):
        if stream not in known:
            read([stream])
        return known[stream]

    reader = StreamReader(symbols, [(END,)], next_tokens)
    contexts = {sum((symbols[code] for code in word), ()) for word in words}
    read([*{(*context, *node) for context in contexts for node in reader.unfinished}])
    return reader


def largest_difference(model, symbols, card, words):
    """Return the largest difference of a probability from reading streams, over rows of words."""
    reader = reader_of(model, symbols, words)
    parts = hf_box(model, replace(card, renormalise=False)).next_symbol(card.alphabet.words(words))
    rows = hf_box(model, card).next_symbol(card.alphabet.words(words))
    largest = 0
    for word, row, part in zip(words, rows, parts, strict=True):
        expected = reader.row(tuple(symbols[code] for code in word))
        if expected is not None:
            assert ((row == 0) == (np.array(expected) == 0)).all()
            of_all, of_symbols = np.abs(part - expected), np.abs(row - expected / np.sum(expected))
            largest = max(largest, of_all.max(), of_symbols.max())
    return largest


def test_fifty_symbols_have_1_to_4_tokens_and_begin_with_each_other():
    assert {len(symbol) for symbol in FIFTY} == {1, 2, 3, 4}
    beginnings = {symbol[:n] for symbol in FIFTY for n in range(1, len(symbol))}
    assert len(beginnings & set(FIFTY)) >= 10


def test_rows_of_fifty_symbols_are_those_of_all_streams_of_tokens(large):
    """All prefixes of length 1, and of length 2 and 3 all of six symbols that meet each other."""
    words = [(), *((code,) for code in range(50))]
    words += [word for n in (2, 3) for word in product(range(6), repeat=n)]
    assert largest_difference(large, FIFTY, MANY, words) < 1e-6


@pytest.mark.slow(reason="150,000 sequences of tokens are read one by one")
def test_rows_of_all_words_of_length_2_and_of_some_of_length_3_are_those_of_all_streams(large):
    words = [*product(range(50), repeat=2)]
    words += map(tuple, np.random.default_rng(1).integers(0, 50, (200, 3)).tolist())
    assert largest_difference(large, FIFTY, MANY, words) < 1e-6
