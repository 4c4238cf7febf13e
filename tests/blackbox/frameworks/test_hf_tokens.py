"""Language models whose symbols are several tokens."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from same_gru.hf import END, START, gpt2, import_transformers, saved, tokenizer
from seqray import Alphabet, Card, open_black_box
from seqray.automata.tree import PrefixTree, walk
from seqray.blackbox.card import card_path
from seqray.blackbox.frameworks.hf import hf_box
from seqray.blackbox.frameworks.hf_tokens import TokenModel
from seqray.blackbox.queried import QueriedModel
from seqray.cli import main
from seqray.util.errors import ArgumentError, BlackBoxError
from token_streams import (
    N_TOKENS,
    StreamReader,
    fifty_symbols,
    largest_difference,
    model_reader,
    read_streams,
)

torch = pytest.importorskip("torch")
transformers = import_transformers()

FEW = ((4,), (4, 2), (2,), (7, 7, 2), (7,), (7, 7, 2, 4), (3,))
CARD = Card(Alphabet("abcdefg"), "next", tokens=FEW, start=START, end=END)
WORDS = ["", "a", "ba", "dab", "gfed", "abcdefg", "ffffff", "bebebe"]
FIFTY = fifty_symbols()
MANY = Card(Alphabet(range(50)), "next", tokens=FIFTY, start=START, end=END)


@pytest.fixture(scope="module")
def large():
    """A language model of 40 tokens; not to be changed."""
    return gpt2(vocab_size=N_TOKENS)


# Probabilities --------------------------------------------------------------------------------


def test_fifty_symbols_have_1_to_4_tokens_and_begin_with_each_other():
    assert {len(symbol) for symbol in FIFTY} == {1, 2, 3, 4}
    beginnings = {symbol[:n] for symbol in FIFTY for n in range(1, len(symbol))}
    assert len(beginnings & set(FIFTY)) >= 10


def test_rows_of_fifty_symbols_are_those_of_all_streams_of_tokens(large):
    """All words of length 1, some of length 2 and 3; `benchmarks/hf_tokens.py` has many more."""
    codes = [(), *((code,) for code in range(50)), *product(range(6), repeat=2)]
    codes += np.random.default_rng(0).integers(0, 6, (40, 3)).tolist()
    words = [tuple(FIFTY[code] for code in word) for word in codes]
    reader = model_reader(large, FIFTY, START, END, words)
    boxes = [hf_box(large, card) for card in (MANY, replace(MANY, renormalise=False))]
    assert largest_difference(reader, words, *(box.next_symbol(codes) for box in boxes)) < 1e-6


def test_a_word_has_the_probability_of_its_tokens_or_is_impossible(large):
    """All words up to length 3 of 12 of the 50 symbols."""
    card = Card(Alphabet(range(12)), "next", tokens=FIFTY[:12], start=START, end=END)
    words = [word for n in range(4) for word in product(range(12), repeat=n)]
    weights = hf_box(large, replace(card, renormalise=False)).weights(words)
    streams = [sum((FIFTY[code] for code in word), ()) for word in words]
    rows = read_streams(large, START, {s[:n] for s in streams for n in range(len(s) + 1)})
    reader = StreamReader(FIFTY[:12], [(END,)], rows.__getitem__)
    expected = [
        reader.probability((*stream, END))
        * bool(reader.is_read_as((*stream, END), [FIFTY[code] for code in word]))
        for word, stream in zip(words, streams, strict=True)
    ]
    assert 0 < np.count_nonzero(weights) < len(words)
    np.testing.assert_allclose(weights, expected, rtol=1e-4)


@pytest.mark.parametrize("renormalise", [True, False])
def test_whole_sequences_and_small_memories_give_the_same(model, renormalise):
    card = replace(CARD, renormalise=renormalise)
    box, anew = hf_box(model, card), hf_box(model, card, memory=0)
    assert isinstance(box, TokenModel)
    assert isinstance(anew, QueriedModel)
    expected = anew.next_symbol(WORDS)
    token = 2 * 2 * 16 * 4
    for each in (box, hf_box(model, card, memory=100 * token), hf_box(model, card, memory=1)):
        np.testing.assert_allclose(each.next_symbol(WORDS), expected, atol=1e-6)


def test_symbols_of_one_token_each_give_the_same_with_ids(model):
    of_ids = Card(Alphabet("abc"), "next", ids=(4, 2, 7), start=START, end=END)
    of_tokens = Card(Alphabet("abc"), "next", tokens=[4, 2, [7]], start=START, end=END)
    words = ["", "abc", "ccab"]
    actual = hf_box(model, of_tokens).next_symbol(words)
    np.testing.assert_allclose(actual, hf_box(model, of_ids).next_symbol(words), atol=1e-6)


# What is read ---------------------------------------------------------------------------------


def test_no_token_is_read_twice(model, monkeypatch):
    free = ((4,), (4, 2), (7, 7, 2), (7, 7, 8, 4))  # two words never have the same tokens
    card = Card(Alphabet("abcd"), "next", tokens=free, start=START, end=END)
    box = hf_box(model, card)
    n_read = []
    monkeypatch.setattr(
        model.transformer.wte,
        "forward",
        lambda ids, f=model.transformer.wte.forward: n_read.append(ids.numel()) or f(ids),
    )
    words = card.alphabet.words(["abcd", "abca", "dd", "aab"])
    box.weights(words)
    prefixes = PrefixTree.of(words).words()
    assert sum(n_read) == len({query.read for query in box.tree.queries(prefixes)})


def test_few_states_are_stepped_at_once_where_the_tree_is_large(model):
    box = hf_box(model, CARD, memory=64 * 20 * 2 * 2 * 16 * 4)
    assert len(box.tree.nodes(0)) == 5
    assert box.max_states == 4
    tree = PrefixTree.of(box.alphabet.words(WORDS))
    assert max(len(states.log_weight) for _, states in walk(box, tree, box.start())) == 4


def test_words_are_so_short_that_long_symbols_fit():
    model = gpt2(n_positions=13)
    box = hf_box(model, CARD)
    assert box.max_length == hf_box(model, CARD, memory=0).max_length == 2
    assert np.isfinite(box.next_symbol(["ff"])).all()
    assert np.isfinite(box.next_symbol(["aaaa"])).all()
    with pytest.raises(BlackBoxError, match=r"reads at most 13 tokens, .* \(max_length\)"):
        box.next_symbol(["fff"])
    with pytest.raises(BlackBoxError, match="reads words of at most 2 symbols"):
        hf_box(model, CARD, memory=0).next_symbol(["aaa"])
    with pytest.raises(ArgumentError, match="limit: 3 tokens have no room for the 1 before a word"):
        hf_box(gpt2(n_positions=3), CARD)


# What does not fit ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": (*FEW[:6], (3, 70))}, r"symbol 'g' has the id 70.*from 0 to"),
        (
            {"tokens": (*FEW[:6], (4, 2))},
            r"symbol 1 and symbol 6 have the same tokens \[4, 2\].*'g'",
        ),
        ({"end": 3}, r"symbol 6 and end 0 have the same tokens \[3\]"),
        ({"start": None}, "give the card a start"),
    ],
)
@pytest.mark.parametrize("memory", [0, 2**30])
def test_tokens_and_a_model_that_disagree_are_refused(model, changes, message, memory):
    with pytest.raises(ArgumentError, match=message):
        hf_box(model, replace(CARD, **changes), memory=memory)


@pytest.mark.parametrize("memory", [0, 2**30])
def test_a_model_that_answers_nan_is_named(memory):
    model = gpt2()
    model.transformer.ln_f.bias.data[:] = np.nan
    with pytest.raises(BlackBoxError, match=r"the GPT2LMHeadModel answered .*nan"):
        hf_box(model, CARD, memory=memory)


# Folders and commands -------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A folder with a model of 16 positions and a tokenizer to which each letter is a token."""
    saved(gpt2(n_positions=16), tmp_path / "model")
    tokenizer().save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_texts_are_tokenised_by_the_tokenizer_of_the_folder(folder):
    box = open_black_box(f"hf:{folder}", alphabet=["a", "bc", "cab"])
    assert repr(box).endswith("3 symbols, 1 to 3 tokens each)")
    tokens = [[4], [2, 7], [7, 4, 2]]
    card = {"alphabet": ["a", "bc", "cab"], "answers": "next", "tokens": tokens}
    card_path(folder).write_text(json.dumps(card))
    by_card = open_black_box(f"hf:{folder}")
    words = [(), ("bc", "a"), ("cab", "bc", "a")]
    np.testing.assert_array_equal(box.weights(words), by_card.weights(words))
    separated = open_black_box(f"hf:{folder}", alphabet=["a", "ab"], separator="c")
    assert separated.tree.symbols == ((7, 4), (7, 4, 2))


def test_commands_take_texts_of_several_tokens(folder, tmp_path, capsys, hasty):
    box = [f"hf:{folder}", "-O", 'alphabet=["a", "c", "ac", "cab"]']
    main(["check", *box])
    assert "✗" not in capsys.readouterr().out
    run, short = str(tmp_path / "run"), ["--max-length", "4"]
    sizes = ["--prefixes", "10", "--suffixes", "10", "--max-rank", "3", "--for", "reading"]
    main(["extract", *box, *sizes, *short, "-o", run])
    main(["evaluate", run, "--against", *box, *short])
    assert "kl_per_symbol" in capsys.readouterr().out
