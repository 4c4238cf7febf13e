import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters import Posted
from seqray import (
    Alphabet,
    Basis,
    WeightedAutomaton,
    black_box,
    fill,
    language_model,
    open_black_box,
    uniform_basis,
)
from seqray.automata import structured, tree
from seqray.automata.generators import random_automaton, random_machine, random_structured
from seqray.automata.stepper import Stepper, collect
from seqray.automata.tree import PrefixTree
from seqray.blackbox import protocol
from seqray.blackbox.queries.answer_cache import AnswerStore, opened_store
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import direct_oracle, open_oracle
from seqray.extraction.hankel import fill as filling
from seqray.extraction.hankel.plan import Plan
from seqray.util.errors import BlackBoxError, Stopped, SymbolError
from seqray.util.row_file import RowFile


class Reader:
    """A stepper that is no automaton, and counts its steps."""

    def __init__(self, automaton):
        self.automaton, self.n_steps = automaton, 0
        self.alphabet = automaton.alphabet

    def start(self):
        return self.automaton.start()

    def step(self, states, parents, symbols):
        self.n_steps += len(symbols)
        return self.automaton.step(states, parents, symbols)

    def state_weights(self, states):
        return self.automaton.state_weights(states)

    def weights(self, words):
        nodes = PrefixTree.of(self.alphabet.words(words))
        return collect(self, nodes, self.state_weights)[nodes.node_of_word]


class Asked:
    """Asks an automaton for a function's answers, and remembers what it was asked."""

    def __init__(self, answer):
        self.answer, self.words, self.batches = answer, Counter(), []

    def __call__(self, words):
        self.words.update(words)
        self.batches.append(len(words))
        return self.answer(words)


def machine(n_symbols=3):
    return random_machine("pfa", 5, n_symbols, seed=np.random.default_rng(1))


def as_reader(wa):
    return Reader(wa)


def as_function(wa):
    return black_box(Asked(wa.weights), wa.alphabet)


def as_model(wa):
    return language_model(Asked(wa.next_symbol), wa.alphabet)


def as_automaton(wa):
    return wa


BOXES = [as_automaton, as_reader, as_function, as_model]


def closed_basis(seed, n_symbols=3, sizes=(25, 20)):
    return uniform_basis(Alphabet(range(n_symbols)), *sizes, seed=np.random.default_rng(seed))


def open_basis(seed, n_symbols=3, n_prefixes=12):
    """A basis whose suffixes are not closed; some of their rests are suffixes, some are not."""
    rng = np.random.default_rng(seed)
    drawn = uniform_basis(Alphabet(range(n_symbols)), n_prefixes, 40, seed=rng)
    kept = np.sort(rng.permutation(np.arange(1, 40))[: rng.integers(1, 20)])
    return Basis(drawn.prefixes, drawn.suffixes[np.concatenate([[0], kept])])


def check_every_cell(wa, blocks):
    """Compare with the definition, word by word: H(u, v) = f(uv), Hσ(u, v) = f(uσv)."""
    basis = blocks.basis
    for symbol in (None, *basis.alphabet):
        middle = () if symbol is None else (symbol,)
        words = [u + middle + v for u in basis.prefixes for v in basis.suffixes]
        expected = wa.weights(words).reshape(len(basis.prefixes), -1)
        np.testing.assert_allclose(blocks.block(symbol), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kind", BOXES)
@pytest.mark.parametrize("draw", [closed_basis, open_basis])
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), n_symbols=st.integers(1, 3))
def test_every_cell_is_what_the_box_says(kind, draw, seed, n_symbols):
    wa = machine(n_symbols)
    basis = draw(seed, n_symbols) if n_symbols > 1 else closed_basis(seed, 1)
    blocks = fill(kind(wa), basis)
    check_every_cell(wa, blocks)
    assert blocks.n_questions == Plan.of(basis).n_queries


@pytest.mark.parametrize("kind", BOXES)
def test_a_basis_of_the_empty_word_is_filled(kind):
    wa = machine()
    empty = wa.alphabet.words([()])
    blocks = fill(kind(wa), Basis(empty, empty))
    check_every_cell(wa, blocks)
    assert blocks.n_questions == 4


@pytest.mark.parametrize("kind", BOXES)
@pytest.mark.parametrize(
    ("prefixes", "suffixes"),
    [
        (["", "a", "ab"], ["", "ab"]),  # λ·ab is a prefix
        (["", "a"], ["", "b", "aab"]),  # λ·aab is row aa, column b
        (["", "a"], ["", "aa"]),  # λ·aa is row aa, column λ
        (["", "a", "aa"], ["", "aab", "ab"]),  # λ·aab = a·ab, asked once
        (["", "a"], ["", "bab", "abab"]),  # neither rest is there
    ],
)
def test_words_with_several_readings_are_asked_once(kind, prefixes, suffixes):
    wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.3]]], [0.2])
    box = kind(wa)
    blocks = fill(box, Basis(wa.alphabet.words(prefixes), wa.alphabet.words(suffixes)))
    check_every_cell(wa, blocks)
    if kind is as_function:
        assert set(box.backend.function.words.values()) == {1}
        assert box.backend.function.words.total() == blocks.n_questions


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), draw=st.sampled_from([closed_basis, open_basis]))
def test_no_word_is_asked_twice_and_none_for_nothing(seed, draw):
    wa, basis = machine(), draw(seed)
    box = as_function(wa)
    blocks = fill(box, basis)
    rows = [*basis.prefixes, *((*u, s) for u in basis.prefixes for s in basis.alphabet)]
    needed = {u + v for u in rows for v in basis.suffixes}
    assert set(box.backend.function.words) == needed
    assert box.backend.function.words.total() == len(needed) == blocks.n_questions
    assert blocks.n_steps == 0


def test_no_prefix_is_asked_twice_of_a_language_model():
    box = as_model(machine())
    blocks = fill(box, closed_basis(0, sizes=(60, 60)))
    assert set(box.backend.function.words.values()) == {1}
    assert box.backend.function.words.total() == blocks.n_steps + 1


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), draw=st.sampled_from([closed_basis, open_basis]))
def test_the_steps_are_counted(seed, draw):
    reader = Reader(machine())
    assert isinstance(reader, Stepper)
    assert fill(reader, draw(seed)).n_steps == reader.n_steps


def test_states_save_steps():
    wa, basis = machine(), closed_basis(0, sizes=(60, 60))
    letters = sum(len(u) + 1 + len(v) for u in basis.prefixes for v in basis.suffixes) * 3
    reader = Reader(wa)
    assert 3 * fill(reader, basis).n_steps < letters
    assert fill(wa, basis).n_steps < reader.n_steps


@pytest.mark.parametrize("kind", BOXES)
@pytest.mark.parametrize("draw", [closed_basis, open_basis])
def test_progress_rises_to_the_number_of_questions(kind, draw):
    calls = []
    basis = draw(3)
    blocks = fill(kind(machine()), basis, progress=lambda *call: calls.append(call))
    done = [n for n, _ in calls]
    assert done == sorted(done)
    assert {total for _, total in calls} == {Plan.of(basis).n_queries}
    assert done[-1] == blocks.n_questions == Plan.of(basis).n_queries


def set_words_per_query(monkeypatch, n_words):
    for module in (filling, protocol):
        monkeypatch.setattr(module, "WORDS_PER_QUERY", n_words)


@pytest.mark.parametrize("kind", BOXES)
@pytest.mark.parametrize("draw", [closed_basis, open_basis])
def test_the_size_of_batches_changes_nothing(kind, draw, monkeypatch):
    wa, basis = machine(), draw(5)
    expected = fill(kind(wa), basis)
    for lanes, questions, batch in [(1, 100, 5), (7, 1, 33), (10**6, 10**6, 10**6)]:
        monkeypatch.setattr(filling, "ROWS_PER_WALK", lanes)
        set_words_per_query(monkeypatch, questions)
        monkeypatch.setattr(tree.walk, "__kwdefaults__", {"width": 1, "batch": batch})
        blocks = fill(kind(wa), basis)
        np.testing.assert_allclose(blocks.values, expected.values, rtol=1e-13)
        assert blocks.n_questions == expected.n_questions
        assert blocks.n_steps == expected.n_steps


def test_a_function_is_asked_in_batches(monkeypatch):
    set_words_per_query(monkeypatch, 100)
    box, calls = as_function(machine()), [0]
    fill(box, closed_basis(0, sizes=(50, 40)), progress=lambda done, _: calls.append(done))
    assert max(box.backend.function.batches) <= 100
    assert np.diff(calls).max() <= 100


class WithWords(Reader):
    """A stepper whose states know the words that they have read; one word is special."""

    def __init__(self, automaton, word):
        super().__init__(automaton)
        self.word = word

    def start(self):
        return self.automaton.start(), self.alphabet.words([()])

    def step(self, states, parents, symbols):
        stepped = self.automaton.step(states[0], parents, symbols)
        return stepped, states[1][parents].extended(symbols)


class NotANumber(WithWords):
    """A stepper that gives NaN to one word."""

    def state_weights(self, states):
        weights = self.automaton.state_weights(states[0])
        bad = [word == self.word for word in states[1]]
        return np.where(bad, np.nan, weights)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ((), "the box gave nan to a word that begins with 'λ': expected a finite number"),
        ((0,), "the box gave nan to a word that begins with '0'"),
        ((0, 2, 1), "the box gave nan to a word that begins with '0 2'"),
        ((2, 1, 0), "the NotANumber returned nan for the word '2 1 0': expected a finite"),
    ],
    ids=["root", "prefix", "leaf", "extra"],
)
def test_a_stepper_that_gives_no_number_is_reported_with_the_word(word, message):
    words = Alphabet(range(3)).words
    basis = Basis(words([(), (0,)]), words([(), (1,), (2, 1, 0)]))
    with pytest.raises(BlackBoxError, match=message):
        fill(NotANumber(machine(), word), basis)


def test_a_stepper_that_gives_no_number_late_in_a_row_is_reported_with_the_row():
    words = Alphabet(range(3)).words
    basis = Basis(words([()]), words([(), (1,), (2,), (1, 1), (1, 2), (2, 2)]))
    with pytest.raises(BlackBoxError, match="nan to a word that begins with '0'"):
        fill(NotANumber(machine(), (0, 2, 2)), basis)


def test_a_function_that_gives_no_number_is_reported_with_the_word():
    box = black_box(lambda words: [np.nan if w == "ab" else 1.0 for w in words], "ab")
    basis = Basis(box.alphabet.words(["", "a"]), box.alphabet.words([""]))
    with pytest.raises(BlackBoxError, match="returned nan for the word 'ab'"):
        fill(box, basis)


def test_an_automaton_that_overflows_is_reported_with_the_row():
    wa = WeightedAutomaton("ab", [1], [[[1e200]], [[0.25]]], [1])
    basis = Basis(wa.alphabet.words(["", "b"]), wa.alphabet.words(["", "a", "aa"]))
    with pytest.raises(BlackBoxError, match="the box gave inf to a word that begins with 'λ'"):
        fill(wa, basis)


@pytest.mark.parametrize("kind", BOXES)
def test_a_basis_over_another_alphabet_is_refused(kind):
    with pytest.raises(SymbolError, match="expected words over"):
        fill(kind(machine(3)), closed_basis(0, 2))


@pytest.mark.parametrize("kind", [as_automaton, as_reader])
def test_filling_needs_little_more_memory_than_the_blocks(kind):
    wa = random_automaton(10, 8, seed=np.random.default_rng(0))
    basis = closed_basis(0, 8, sizes=(300, 300))
    box = kind(wa)
    tracemalloc.start()
    try:
        fill(box, basis)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 3 * 9 * 300 * 300 * 8


def test_a_structured_automaton_is_read_forwards_only(monkeypatch):
    wa = random_structured("ab", 5, seed=0)
    basis = uniform_basis(wa.alphabet, 30, 20, seed=0)
    expected = fill(wa.to_dense(), basis)
    fresh = random_structured("ab", 5, seed=0)
    monkeypatch.setattr(structured, "MAX_DENSE_NUMBERS", 0)
    blocks = fill(fresh, basis)
    np.testing.assert_allclose(blocks.values, expected.values, rtol=1e-9, atol=1e-15)


def test_blocks_that_workers_read_are_cached_like_others(tmp_path):
    box = open_black_box("demo")
    plan = Plan.of(uniform_basis(box.alphabet, 60, 30, seed=0))
    values = []
    with opened_store(tmp_path / "answers.sqlite") as store:
        for executor in (Posted(), None, Posted()):
            oracle = open_oracle(box, cache=store, executor=executor)
            values.append(filling.fill_planned(oracle, plan, cache=oracle.blocks).values)
        assert executor.n_jobs == 0 or oracle.meter.n_sent < plan.n_steps
    assert all((each == values[0]).all() for each in values)
    assert oracle.meter.n_queries >= plan.n_steps


class Named(Reader):
    """A stepper whose answers may be cached."""

    fingerprint = "python:m:box"


class ChangedAfter(WithWords):
    """The same box as `Named`, but for the words that begin with one."""

    fingerprint = Named.fingerprint

    def state_weights(self, states):
        is_changed = [word[: len(self.word)] == self.word for word in states[1]]
        return self.automaton.state_weights(states[0]) + np.array(is_changed)


def fill_cached(box, store, basis, budget=None):
    """Return the blocks, and the meter that counted."""
    oracle = open_oracle(box, Meter(Limits(budget)), cache=store)
    blocks = filling.fill_planned(oracle, Plan.of(basis), None, oracle.blocks)
    return blocks, oracle.meter


def test_cached_blocks_are_read_checked_by_a_sample_and_counted_as_if_filled_anew():
    wa, basis = machine(), closed_basis(0, sizes=(60, 60))
    with AnswerStore() as store:
        first, again = Named(wa), Named(wa)
        expected, filled = fill_cached(first, store, basis)
        check_every_cell(wa, expected)
        blocks, read = fill_cached(again, store, basis)
        assert blocks.values.tobytes() == expected.values.tobytes()
        assert (blocks.n_questions, blocks.n_steps) == (expected.n_questions, expected.n_steps)
        n_prefixes = len(PrefixTree.of(basis.prefixes))
        assert n_prefixes < again.n_steps < n_prefixes + first.n_steps / filling.CHECK_SHARE
        assert filled.n_sent == filled.n_answers == first.n_steps
        assert read.n_answers == filled.n_answers
        assert read.n_sent < filled.n_sent / 4
        with pytest.raises(Stopped):
            fill_cached(Named(wa), store, basis, budget=filled.n_answers - 1)


def test_a_block_of_a_box_that_has_changed_is_not_used():
    basis = closed_basis(0, sizes=(60, 60))
    other = random_machine("pfa", 5, 3, seed=np.random.default_rng(2))
    with AnswerStore() as store:
        fill_cached(Named(machine()), store, basis)
        with pytest.raises(BlackBoxError, match="has changed"):
            fill_cached(Named(other), store, basis)


@pytest.mark.parametrize("which", [0, -1])
def test_the_first_and_the_last_row_of_a_block_are_checked(which):
    basis = closed_basis(0, sizes=(60, 60))
    plan = Plan.of(basis)
    word = plan.tree.words(plan.leaves[[which]])[0]
    with AnswerStore() as store:
        fill_cached(Named(machine()), store, basis)
        with pytest.raises(BlackBoxError, match="has changed"):
            fill_cached(ChangedAfter(machine(), word), store, basis)


def test_blocks_of_another_basis_are_not_taken_for_those_of_this_one():
    wa = machine()
    with AnswerStore() as store:
        for seed in range(3):
            for basis in (closed_basis(seed), open_basis(seed, n_prefixes=30)):
                check_every_cell(wa, fill_cached(Named(wa), store, basis)[0])


def test_a_row_more_and_a_suffix_less_is_another_block():
    wa = machine(20)
    words = wa.alphabet.words
    ones = [(1, symbol) for symbol in range(20)]
    one_column = Basis(words([(), (0,), (1,)]), words([()]))  # rows 0σ and 1σ
    many_columns = Basis(words([(), (0,)]), words([*ones, ()]))  # rows 0σ, suffixes 1σ
    with AnswerStore() as store:
        for basis in (one_column, many_columns):
            check_every_cell(wa, fill_cached(Named(wa), store, basis)[0])


def test_a_block_too_small_to_be_checked_is_filled_anew():
    wa, basis = machine(), closed_basis(0, sizes=(4, 4))
    with AnswerStore() as store:
        boxes = [Named(wa), Named(wa)]
        for box in boxes:
            fill_cached(box, store, basis)
        assert boxes[0].n_steps == boxes[1].n_steps


@pytest.mark.parametrize("kind", BOXES)
@pytest.mark.parametrize("draw", [closed_basis, open_basis])
def test_blocks_on_disk_are_those_in_memory_and_progress_counts_each_answer_once(kind, draw):
    wa, basis, calls = machine(), draw(7), []
    plan = Plan.of(basis)
    blocks = filling.fill_planned(
        direct_oracle(kind(wa)),
        plan,
        lambda *call: calls.append(call),
        allocate=lambda shape: RowFile(shape, rows_per_chunk=7),
    )
    expected = fill(kind(wa), basis)
    np.testing.assert_allclose(blocks.values[:], expected.values, rtol=1e-13)
    done = [n for n, _ in calls]
    assert done == sorted(done)
    assert done[-1] == blocks.n_questions == plan.n_queries
    assert {total for _, total in calls} == {plan.n_queries}


def test_an_automaton_reads_each_row_and_each_reversed_suffix_once():
    basis = closed_basis(0, sizes=(60, 60))
    suffixes = PrefixTree.of(basis.suffixes.reversed())
    n_steps = len(Plan.of(basis).tree) - 1 + len(suffixes) - 1
    assert fill(machine(), basis).n_steps == n_steps


def test_words_that_fit_into_one_query_are_one_query():
    sizes = []

    class Box:
        alphabet = Alphabet("ab")

        def weights(self, words):
            sizes.append(len(words))
            return [1.0 / (1 + len(word)) for word in words]

    basis = uniform_basis(Box.alphabet, 15, 12, seed=0)
    blocks = fill(Box(), basis)
    assert sizes == [Plan.of(basis).n_queries]
    expected = 1 / (1 + np.array([len(p) + len(s) for p in basis.prefixes for s in basis.suffixes]))
    np.testing.assert_allclose(blocks.block().ravel(), expected)
