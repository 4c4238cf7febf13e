import logging

import numpy as np
import pytest

from seqray import WeightedAutomaton, black_box, extract
from seqray.automata.generators import random_machine
from seqray.extraction.conditional.decompose import decompose_conditional
from seqray.extraction.conditional.fill import fill_conditional
from seqray.util import memory
from seqray.util.errors import ArgumentError, SeqrayError
from told import known_of


def many(n_symbols):
    """A box that predicts over many symbols."""
    return WeightedAutomaton(
        range(n_symbols), [1], np.full((n_symbols, 1, 1), 0.8 / n_symbols), [0.2]
    )


def test_the_limit_is_at_most_four_gigabytes():
    assert 0 < memory.memory_limit() <= 4e9


@pytest.mark.parametrize(
    ("given", "n_bytes"),
    [
        ("2GB", 2 * 10**9),
        ("2 gb", 2 * 10**9),
        ("1.5G", 1_500_000_000),
        ("512MiB", 2**29),
        ("1TB", 10**12),
        ("10k", 10_000),
        ("77", 77),
        (12345, 12345),
    ],
)
def test_sizes_are_read_with_their_units(given, n_bytes):
    assert memory.byte_count("memory", given) == n_bytes


@pytest.mark.parametrize(
    "given", ["", "GB", "2XB", "-1GB", "0", "1e9", "2GB4", "٣GB", 0, -5, 1.5, True, None]
)
def test_what_is_no_size_is_refused(given):
    message = "memory: expected a number of bytes or a text such as 500MB, 2GB or 1.5GiB, got"
    with pytest.raises(ArgumentError, match=message):
        memory.byte_count("memory", given)


def test_a_given_limit_holds_within_its_block_alone():
    before = memory.memory_limit()
    with memory.limited_memory(10**12):
        assert memory.memory_limit() == 10**12
        with memory.limited_memory(None):
            assert memory.memory_limit() <= 4e9
    assert memory.memory_limit() == pytest.approx(before, rel=0.2)


def test_the_conditional_method_keeps_to_the_given_memory(caplog):
    extract(many(40), n_prefixes=60, max_rank=2, max_length=10, memory="2MB", purpose="reading")
    assert "words of 800 to learn from fit into memory" in caplog.text


@pytest.mark.parametrize("n_symbols", [48, 60, 62, 300])
def test_a_large_alphabet_keeps_to_the_columns_that_were_asked_for(n_symbols):
    box = many(n_symbols)
    blocks = fill_conditional(box, known_of(box), n_contexts=5)
    assert blocks.features.shape[1] <= 250


def test_a_machine_is_found_though_symbols_share_columns():
    box = random_machine("pfa", 3, 100, seed=np.random.default_rng(0))
    blocks = fill_conditional(box, known_of(box), n_contexts=40)
    contexts = blocks.rows.words(blocks.contexts)
    assert blocks.features.shape[1] < 4 * 101
    np.testing.assert_allclose(blocks.probabilities, box.next_symbol(contexts))
    np.testing.assert_allclose(blocks.values[:, 0].sum(axis=1), 1)
    found = decompose_conditional(blocks, max_rank=3).automaton(3)
    np.testing.assert_allclose(found.next_symbol(contexts), box.next_symbol(contexts), atol=0.01)


def test_blocks_over_hundreds_of_symbols_fit_into_memory(monkeypatch):
    box = many(300)
    monkeypatch.setattr(memory, "MAX_TABLE_BYTES", 250_000_000)
    blocks = fill_conditional(box, known_of(box), n_contexts=60)
    assert len(blocks.contexts) == 60


def test_blocks_that_do_not_fit_into_memory_are_made_smaller(monkeypatch, caplog):
    box = many(40)
    known = known_of(box, 200)
    assert len(fill_conditional(box, known, n_contexts=60).contexts) == 60
    monkeypatch.setattr(memory, "MAX_TABLE_BYTES", 4_000_000)
    blocks = fill_conditional(box, known, n_contexts=60)
    assert 1 <= len(blocks.contexts) < 60
    assert 3 * blocks.values.nbytes <= 2_000_000
    assert "fit into 0.002 GB of memory with 40 symbols" in caplog.text


def test_fewer_words_are_learnt_from_where_memory_is_short(monkeypatch, caplog):
    monkeypatch.setattr(memory, "MAX_TABLE_BYTES", 1_000_000)
    found = extract(many(40), prefixes=30, max_rank=2, max_length=10)
    assert "to learn from fit into memory" in caplog.text
    assert found.best().weight([0]) == pytest.approx(0.2 * 0.8 / 40, rel=0.05)


def refused(words):
    raise AssertionError("the box was asked")


def test_too_many_queries_are_refused_before_the_first_one():
    box = black_box(refused, range(10_000))
    with pytest.raises(ArgumentError, match=r"10,000 symbols: .* GB, .*--prefixes"):
        extract(box, prefixes=800, suffixes=800)
    with pytest.raises(ArgumentError, match=r"about 200,000,000 words .* \(--budget, budget\)"):
        extract(box, prefixes=100, suffixes=100)


def test_a_budget_says_how_many_queries_there_may_be(caplog):
    caplog.set_level(logging.INFO, "seqray")
    box = black_box(lambda words: [1.0] * len(words), range(10_000))
    found = extract(box, budget=30_000)
    assert found.settings["questions"] <= 30_000
    assert "at most about 30,000 words are queried (10,000 symbols)" in caplog.text


def test_blocks_of_an_automaton_that_do_not_fit_into_memory_are_refused():
    with pytest.raises(ArgumentError, match="5,000 symbols: blocks of about"):
        extract(many(5000), method="weighted")


def test_running_out_of_memory_is_an_error_that_says_what_to_do(monkeypatch):
    def fails(job):
        raise MemoryError

    monkeypatch.setattr("seqray.extraction.extract.hankel_method", fails)
    with pytest.raises(SeqrayError, match=r"not enough memory for 2 symbols .* max_rank=…"):
        extract(black_box(refused, "ab"))
