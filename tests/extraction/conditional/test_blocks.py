import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from same_gru import native
from seqray import Alphabet, WeightedAutomaton
from seqray.automata.generators import random_machine, triggered_machine
from seqray.extraction.conditional.blocks import (
    LONGEST,
    RARE,
    SHARE,
    decompose_conditional,
    fill_conditional,
    first_words,
    frequent_endings,
    frequent_parts,
)
from seqray.fidelity.reference import Reference
from told import ODD, known_of, odd_box, rng

WORDS = st.lists(st.text("abc", max_size=8), min_size=1, max_size=12)


def dense(seed, n_states, n_symbols):
    """A machine in which everything is possible everywhere."""
    rows = rng(seed).dirichlet(np.ones(n_symbols * n_states + 1), n_states)
    rows = 0.9 * rows + 0.1 / rows.shape[1]
    transitions = rows[:, :-1].reshape(n_states, n_symbols, n_states).transpose(1, 0, 2)
    initial = rng(seed).dirichlet(np.ones(n_states))
    return WeightedAutomaton(range(n_symbols), initial, transitions, rows[:, -1])


def every_word(alphabet, length):
    words = [()]
    for word in words:
        if len(word) < length:
            words.extend((*word, symbol) for symbol in alphabet)
    return alphabet.words(words)


# Filling ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pfa", "dpfa", "hmm"])
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_every_entry_is_the_chance_that_the_machine_gives_it(kind, seed):
    machine = random_machine(kind, 5, 3, seed=rng(seed))
    blocks = fill_conditional(machine, known_of(machine), n_contexts=25, n_columns=200)
    rows = blocks.rows.words()
    shape = (len(rows), len(blocks.futures))
    words = rows.followed_by(blocks.futures)
    letters = machine.alphabet.words([(symbol,) for symbol in machine.alphabet])
    expected = np.empty((*shape, 4))
    expected[..., :3] = machine.prefix_weights(words.followed_by(letters)).reshape(*shape, 3)
    expected[..., 3] = machine.weights(words).reshape(shape)
    expected /= machine.prefix_weights(rows)[:, None, None]
    reach = machine.prefix_weights(words).reshape(shape) / machine.prefix_weights(rows)[:, None]
    rare = (reach <= RARE) & (blocks.futures.lengths > 0)
    expected[rare] = 0
    np.testing.assert_allclose(blocks.values, expected, rtol=1e-9, atol=1e-15)
    assert not blocks.values[rare].any()
    assert 0 < rare.sum() < rare.size


def test_rows_are_the_contexts_and_those_of_their_children_that_are_not_rare():
    machine = random_machine("pfa", 5, 3, seed=rng(1))
    known = known_of(machine)
    blocks = fill_conditional(machine, known, n_contexts=20, n_columns=40)
    rows = [*blocks.rows.words()]
    contexts = [rows[node] for node in blocks.contexts]
    assert contexts[0] == ()
    assert len(contexts) == len(set(contexts)) == 20
    expected = set(contexts)
    for i, context in enumerate(contexts):
        for symbol in machine.alphabet:
            child = (*context, symbol)
            probability = machine.prefix_weight(child) / machine.prefix_weight(context)
            assert blocks.probabilities[i, symbol] == pytest.approx(probability)
            node = blocks.children[i, symbol]
            assert (node >= 0) == (probability > RARE)
            if node >= 0:
                assert rows[node] == child
                expected.add(child)
    assert set(rows) == expected


def test_contexts_count_as_often_as_they_were_met():
    alphabet = Alphabet("ab")
    box = WeightedAutomaton(alphabet, [1], [[[0.5]], [[0.25]]], [0.25])
    known = Reference.query(box, ["ab", "abb", "", "ab", "ba"])
    blocks = fill_conditional(box, known, n_contexts=4, n_columns=9)
    met = dict(zip(blocks.rows.words(blocks.contexts), blocks.visits, strict=True))
    assert met == {(): 5, ("a",): 3, ("a", "b"): 3, ("a", "b", "b"): 1}
    assert blocks.n_steps == 8 + 2 * len(blocks.rows)  # 9 rows, and a and b after each


def test_words_that_are_looked_at_besides_are_contexts_and_futures_however_rare():
    box = triggered_machine("abacabac")
    known = known_of(box, 50)
    besides = Reference.query(box, ["abacabac", "cabacabac", "bbabacabac"])
    blocks = fill_conditional(
        *(box, known),
        n_contexts=40,
        n_columns=20,
        besides=besides,
        telling=frequent_endings(besides.words, 9),
    )
    contexts = [*blocks.rows.words(blocks.contexts)]
    for word in besides.words:
        assert {word[:n] for n in range(len(word) + 1)} <= set(contexts)
    at = [*blocks.futures].index(tuple("bacabac"))
    row = blocks.contexts[contexts.index(("a",))]
    assert 0 < blocks.values[row, at, -1] < RARE
    assert blocks.values[row, at].sum() == pytest.approx(0.3**7, rel=1e-9)
    plain = fill_conditional(box, known, n_contexts=40, n_columns=20)
    assert blocks.visits.sum() == pytest.approx((1 + SHARE) * plain.visits.sum())
    assert decompose_conditional(plain).max_rank < box.n_states
    assert decompose_conditional(blocks).max_rank == box.n_states


@given(WORDS, st.integers(1, 9))
def test_frequent_endings_are_the_most_frequent_ones(texts, n):
    words = Alphabet("abc").words(texts)
    found = [*frequent_endings(words, n)]
    assert (
        len(set(found)) == len(found) == min(n, len({w[k:] for w in words for k in range(len(w))}))
    )

    def met(ending):
        return sum(word[len(word) - len(ending) :] == ending for word in words)

    every = {word[k:] for word in words for k in range(len(word))}
    left = sorted((met(each) for each in every if each not in found), reverse=True)
    assert all(met(each) >= max(left, default=0) for each in found)


def test_a_box_with_few_states_at_a_time_says_the_same():
    box = native()
    known = known_of(box, max_length=12)
    whole = fill_conditional(box, known, n_contexts=40, n_columns=40)

    class Narrow(type(box)):
        max_states, widest = 7, 0

        def step(self, states, parents, symbols):
            Narrow.widest = max(Narrow.widest, len(parents))
            return super().step(states, parents, symbols)

    object.__setattr__(box, "__class__", Narrow)
    part = fill_conditional(box, known, n_contexts=40, n_columns=40)
    np.testing.assert_allclose(part.values, whole.values, rtol=1e-5)
    assert part.n_steps == whole.n_steps
    assert Narrow.widest <= 7


def test_progress_is_told_of_every_row():
    told = []
    box = native()
    blocks = fill_conditional(
        box, known_of(box), n_contexts=30, n_columns=20, progress=lambda *call: told.append(call)
    )
    assert told[-1] == (len(blocks.rows), len(blocks.rows))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


# Which words --------------------------------------------------------------------------------------


@given(WORDS, st.integers(1, 30))
def test_the_first_words_have_as_many_prefixes_as_wanted(texts, n):
    words = Alphabet("abc").words(texts)
    found = [*first_words(words, n)]
    prefixes = {word[:k] for word in found for k in range(len(word) + 1)}
    every = {word[:k] for word in words for k in range(len(word) + 1)}
    assert len(prefixes) == min(n, len(every))
    *whole, last = found
    assert whole == [*words[: len(whole)]]
    assert words[len(whole)][: len(last)] == last


@given(WORDS, st.integers(1, 40))
def test_frequent_parts_are_the_most_frequent_ones(texts, n):
    counts = {}
    for text in texts:
        for start in range(len(text)):
            for end in range(start + 1, min(len(text), start + LONGEST) + 1):
                counts[text[start:end]] = counts.get(text[start:end], 0) + 1
    found = ["".join(part) for part in frequent_parts(Alphabet("abc").words(texts), n)]
    assert found[0] == ""
    assert len(found) == len(set(found)) == min(n, 1 + len(counts))
    often = [counts[part] for part in found[1:]]
    assert often == sorted(often, reverse=True)
    left_out = [count for part, count in counts.items() if part not in found]
    assert min(often, default=0) >= max(left_out, default=0) or n == 1
    assert {part[:-1] for part in found[1:]} <= set(found)


def test_parts_are_not_longer_than_the_longest():
    parts = frequent_parts(Alphabet("a").words(["a" * 50]), 100)
    assert sorted(map(len, parts)) == [*range(LONGEST + 1)]


# Automata of every rank ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_states", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_a_dense_machine_comes_back_exactly(n_states, seed):
    machine = dense(seed, n_states, 2)
    known = known_of(machine, 200)
    blocks = fill_conditional(machine, known, n_contexts=150, n_columns=21)
    assert (blocks.values > 0).all()  # nothing is rare
    found = decompose_conditional(blocks)
    automaton = found.automaton(n_states)
    words = every_word(machine.alphabet, 6)
    np.testing.assert_allclose(automaton.weights(words), machine.weights(words), atol=1e-8)
    np.testing.assert_allclose(automaton.next_symbol(words), machine.next_symbol(words), atol=1e-6)
    assert found.singular_values[n_states:].sum() < 1e-9
    assert (np.diff(found.singular_values) <= 0).all()


def test_every_rank_is_a_leading_block_with_an_end_of_its_own():
    machine = random_machine("pfa", 6, 3, seed=rng(3))
    blocks = fill_conditional(machine, known_of(machine, 200), n_contexts=100, n_columns=60)
    found = decompose_conditional(blocks, max_rank=5)
    assert found.max_rank == len(found.singular_values) == len(found.through) == 5
    for rank in range(1, 6):
        automaton = found.automaton(rank)
        through = found.through[:rank]
        np.testing.assert_array_equal(
            automaton.transitions, found.largest.transitions[:, :rank, :rank]
        )
        initial = found.largest.initial[:rank]
        np.testing.assert_allclose(automaton.initial, initial / (initial @ through))
        np.testing.assert_allclose(
            automaton.final, through - automaton.transitions.sum(axis=0) @ through, atol=1e-14
        )
        np.testing.assert_allclose(automaton.prefix_final, through, atol=1e-6)
        assert automaton.total == pytest.approx(1)
        assert automaton.is_distribution


def test_states_are_uncorrelated_over_the_contexts():
    machine = random_machine("pfa", 6, 3, seed=rng(3))
    blocks = fill_conditional(machine, known_of(machine, 200), n_contexts=100, n_columns=60)
    found = decompose_conditional(blocks, max_rank=4)
    share = blocks.visits / blocks.visits.sum()
    _, sizes, right = np.linalg.svd(
        np.sqrt(share)[:, None] * blocks.features[blocks.contexts], full_matrices=False
    )
    states = blocks.features[blocks.contexts] @ (right[:4].T / sizes[:4])
    np.testing.assert_allclose(states.T @ (share[:, None] * states), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(found.singular_values, sizes[:4])


# Odd boxes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("sizes", [(1, 1), (30, 20)])
def test_odd_boxes_have_blocks_and_automata(name, sizes):
    box = odd_box(name)
    known = known_of(box, 40, max_length=12)
    blocks = fill_conditional(box, known, n_contexts=sizes[0], n_columns=sizes[1])
    assert len(blocks.contexts) <= sizes[0]
    assert np.isfinite(blocks.values).all()
    np.testing.assert_allclose(blocks.values[:, 0].sum(axis=1), 1)
    found = decompose_conditional(blocks, max_rank=3)
    for rank in range(1, found.max_rank + 1):
        assert found.automaton(rank).total == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("name", ODD)
def test_odd_boxes_are_copied(name):
    box = odd_box(name)
    known = known_of(box, 40, max_length=12)
    found = decompose_conditional(fill_conditional(box, known, n_contexts=60, n_columns=30))
    fidelity = known.compare(found.automaton(found.max_rank))
    assert fidelity["ndcg5"] == pytest.approx(1, abs=1e-9)
    assert fidelity["kl_per_symbol"] < 1e-5
