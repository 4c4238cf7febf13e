"""What is written in benchmarks/peers itself: n-grams, weighted L*, rows, and the page."""

import itertools
import sys

import numpy as np
import pytest

from seqray.automata.deterministic import deterministic_pfa
from source_rules import ROOT

sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))

from counted_box import CountedBox
from fits.kneser_ney import BEGIN, kneser_ney
from fits.weighted_lstar import learn
from job import Clock
from report import counts, pairs_of, write
from rows import COLUMNS, SavedRows, read_rows

A, B, END = 0, 1, 2


# --- Kneser-Ney -----------------------------------------------------------------------------------


def test_bigrams_are_those_that_were_computed_by_hand():
    # After BEGIN: a twice, b once; after a: b twice; after b: the end three times. D = 1 / (1 + 4).
    # Before a stands one symbol, before b two, before the end one: 1, 2, 1. D = 2 / (2 + 2).
    contexts, table, rows = kneser_ney([(A, B), (A, B), (B,)], 2, 2)
    place = {context: at for at, context in enumerate(contexts)}
    np.testing.assert_allclose(rows[place[()]], [0.25, 0.5, 0.25])
    np.testing.assert_allclose(rows[place[BEGIN,]], [0.6 + 1 / 30, 0.8 / 3 + 1 / 15, 1 / 30])
    np.testing.assert_allclose(rows[place[A,]], [0.025, 0.95, 0.025])
    assert place[BEGIN,] == 0
    assert table[0].tolist() == [place[A,], place[B,]]


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_probabilities_after_every_context_sum_to_one(order):
    rng = np.random.default_rng(order)
    words = [tuple(rng.integers(0, 3, rng.integers(0, 9)).tolist()) for _ in range(60)]
    _, table, rows = kneser_ney(words, 3, order)
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert rows.min() > 0
    assert table.shape == (len(rows), 3)


def test_a_context_that_was_not_seen_is_cut_to_its_longest_known_ending():
    contexts, table, _ = kneser_ney([(A, B, A), (B, B)], 2, 3)
    names = list(contexts)
    after = 0
    for code in (B, A):  # b a never follows the beginning of a word, but b does, and a alone
        after = table[after, code]
    assert names[after] == (B, A)
    after = table[after, A]  # a a was never seen
    assert names[after] == (A,)


# --- Weighted L* ----------------------------------------------------------------------------------

ROWS = [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]
NEXT = [[1, 0], [2, 1], [2, 0]]
"""The first two states predict the same next symbol, and differ by what follows an a."""


def box():
    return deterministic_pfa("ab", NEXT, ROWS)


def test_weighted_lstar_recovers_a_small_pdfa_exactly():
    counted = CountedBox(box(), 5_000, Clock(10))
    table, is_complete = learn(counted, 2, 0.01)
    next_state, rows = table.hypothesis()
    assert is_complete
    assert len(rows) == 3
    for word in itertools.chain.from_iterable(
        itertools.product((A, B), repeat=n) for n in range(7)
    ):
        state = 0
        for code in word:
            state = next_state[state, code]
        np.testing.assert_allclose(rows[state], counted.row(word))


def test_weighted_lstar_ends_at_a_budget_with_a_table_that_predicts():
    counted = CountedBox(box(), 4, Clock(10))
    table, is_complete = learn(counted, 2, 0.01)
    next_state, rows = table.hypothesis()
    assert not is_complete
    assert counted.n_queries == 4
    assert next_state.max() < len(rows)
    np.testing.assert_allclose(rows.sum(axis=1), 1)


def test_every_prefix_on_the_way_is_one_query_and_is_read_once():
    counted = CountedBox(box(), 100, Clock(10))
    np.testing.assert_allclose(counted.row((A, A)), ROWS[2])
    counted.row((A,))
    counted.row((A, A, B))
    assert counted.n_queries == 4


# --- Rows and the page ----------------------------------------------------------------------------


def row(peer, setting, bits, **others):
    values = {
        "box": "4",
        "peer": peer,
        "setting": setting,
        "budget": 20000,
        "queries": 20000,
        "bits_per_symbol": bits,
        "ndcg5": 0.9,
        "seconds": 1.5,
        "limit": 20,
        "is_limited": 0,
        "megabytes": 60,
        "states": 10,
        "numbers": 820,
    }
    return {name: str((values | others).get(name, "")) for name in COLUMNS}


MADE_UP = [
    row("seqray", "extract", 0.02),
    row("seqray", "extract", 0.5, budget=900, queries=880),
    row("hmmlearn", "10 states", 0.3, words=1000, queries=15000),
    row("hmmlearn", "40 states", 0.2, words=1000, queries=15000),
    row("GRU", "32 units", 0.01),
    row("weighted L*", "tolerance 0.1", 0.4, queries=900),
    row("AALpy Alergia", "eps 0.05", "", ndcg5="", seconds="", remark="no result within the limit"),
]


def test_a_peer_is_shown_with_its_best_setting_beside_equal_queries():
    pairs = {pair.peer["peer"]: pair for pair in pairs_of(MADE_UP, "4")}
    assert pairs["hmmlearn"].peer["setting"] == "40 states"
    assert pairs["hmmlearn"].own["bits_per_symbol"] == "0.02"
    assert pairs["weighted L*"].own["bits_per_symbol"] == "0.5"


def test_the_verdict_names_the_peer_where_it_is_nearer():
    verdicts = {pair.peer["peer"]: pair.verdict for pair in pairs_of(MADE_UP, "4")}
    assert verdicts["hmmlearn"] == "seqray"
    assert verdicts["GRU"].startswith("**GRU**: ")
    assert verdicts["weighted L*"].startswith(r"**weighted L\*")
    assert verdicts["AALpy Alergia"] == "seqray: the peer has no model"
    assert counts(pairs_of(MADE_UP, "4")).endswith("and the peer is nearer in 2.")


def test_the_page_has_a_line_per_peer_and_a_figure(tmp_path):
    pytest.importorskip("matplotlib")
    write(MADE_UP, tmp_path)
    page = (tmp_path / "peers.md").read_text("utf-8")
    assert page.count("| PAutomaC 4 |") == 5  # four peers, and seqray
    assert "no result within the limit" in page
    assert (tmp_path / "images" / "peers.svg").exists()


def test_a_row_that_is_there_is_not_made_again(tmp_path):
    path = tmp_path / "rows.csv"
    key = {"box": "4", "peer": "GRU", "setting": "32 units", "budget": 20000}
    SavedRows(path).made(key, lambda: {"seconds": 1})
    again = SavedRows(path).made(key, lambda: pytest.fail("made again"))
    assert again["seconds"] == "1"
    assert read_rows(path) == [again]
