import re

import numpy as np
import pytest

from clusters import Posted
from same_gru import native
from seqray import Alphabet, ArgumentError, WeightedAutomaton, open_black_box
from seqray.automata.generators import random_machine, triggered_machine
from seqray.blackbox.queries import walk_task
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.conditional.blocks import RARE_PROBABILITY
from seqray.extraction.conditional.decompose import decompose_conditional
from seqray.extraction.conditional.fill import fill_conditional
from seqray.extraction.conditional.suffixes import frequent_endings
from seqray.extraction.settings import CONDITIONAL
from seqray.fidelity.reference import Reference
from seqray.util.memory import limited_memory
from told import ODD, known_of, odd_box, rng


@pytest.mark.parametrize("kind", ["pfa", "dpfa", "hmm"])
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_every_entry_is_the_probability_that_the_machine_gives_it(kind, seed):
    machine = random_machine(kind, 5, 3, seed=rng(seed))
    blocks = fill_conditional(machine, known_of(machine), n_contexts=25, n_columns=200)
    rows = blocks.rows.words()
    shape = (len(rows), len(blocks.suffixes))
    words = rows.followed_by(blocks.suffixes)
    letters = machine.alphabet.words([(symbol,) for symbol in machine.alphabet])
    expected = np.empty((*shape, 4))
    expected[..., :3] = machine.prefix_weights(words.followed_by(letters)).reshape(*shape, 3)
    expected[..., 3] = machine.weights(words).reshape(shape)
    expected /= machine.prefix_weights(rows)[:, None, None]
    reach = machine.prefix_weights(words).reshape(shape) / machine.prefix_weights(rows)[:, None]
    rare = (reach <= RARE_PROBABILITY) & (blocks.suffixes.lengths > 0)
    expected[rare] = 0
    np.testing.assert_allclose(blocks.values, expected, rtol=1e-9, atol=1e-15)
    assert not blocks.values[rare].any()
    assert 0 < rare.sum() < rare.size


def test_contexts_count_as_often_as_they_were_met():
    alphabet = Alphabet("ab")
    box = WeightedAutomaton(alphabet, [1], [[[0.5]], [[0.25]]], [0.25])
    reference = Reference.query(box, ["ab", "abb", "", "ab", "ba"])
    blocks = fill_conditional(box, reference, n_contexts=4, n_columns=9)
    met = dict(zip(blocks.rows.words(blocks.contexts), blocks.visits, strict=True))
    assert met == {(): 5, ("a",): 3, ("a", "b"): 3, ("a", "b", "b"): 1}
    assert blocks.n_steps == 8 + 2 * len(blocks.rows)  # 9 rows, and a and b after each


def test_extra_words_are_contexts_and_suffixes_however_rare():
    box = triggered_machine("abacabac")
    reference = known_of(box, 50)
    extra = Reference.query(box, ["abacabac", "cabacabac", "bbabacabac"])
    blocks = fill_conditional(
        *(box, reference),
        n_contexts=40,
        n_columns=20,
        extra_words=extra,
        extra_suffixes=frequent_endings(extra.words, 9),
    )
    contexts = [*blocks.rows.words(blocks.contexts)]
    for word in extra.words:
        assert {word[:n] for n in range(len(word) + 1)} <= set(contexts)
    at = [*blocks.suffixes].index(tuple("bacabac"))
    row = blocks.contexts[contexts.index(("a",))]
    assert 0 < blocks.values[row, at, -1] < RARE_PROBABILITY
    assert blocks.values[row, at].sum() == pytest.approx(0.3**7, rel=1e-9)
    plain = fill_conditional(box, reference, n_contexts=40, n_columns=20)
    assert blocks.visits.sum() == pytest.approx(
        (1 + CONDITIONAL.counterexample_share) * plain.visits.sum()
    )
    assert decompose_conditional(plain).max_rank < box.n_states
    assert decompose_conditional(blocks).max_rank == box.n_states


def test_a_box_with_few_states_at_a_time_says_the_same():
    box = native()
    reference = known_of(box, max_length=12)
    whole = fill_conditional(box, reference, n_contexts=40, n_columns=40)

    class Narrow(type(box)):
        max_states, widest = 7, 0

        def step(self, states, parents, symbols):
            Narrow.widest = max(Narrow.widest, len(parents))
            return super().step(states, parents, symbols)

    object.__setattr__(box, "__class__", Narrow)
    part = fill_conditional(box, reference, n_contexts=40, n_columns=40)
    np.testing.assert_allclose(part.values, whole.values, rtol=1e-5)
    assert part.n_steps == whole.n_steps
    assert Narrow.widest <= 7


def test_memory_for_too_few_contexts_is_refused_with_what_would_do():
    machine = random_machine("pfa", 4, 3, seed=np.random.default_rng(0))
    known = known_of(machine, 100)
    message = r"memory: 3 kB hold fewer than 5 contexts of 50 .* at least, about ([\d.]+) kB, and "
    with limited_memory(3000), pytest.raises(ArgumentError, match=message) as refused:
        fill_conditional(machine, known, n_contexts=50)
    enough = float(re.search(message, str(refused.value))[1]) + 1
    with limited_memory(int(1000 * enough)):
        blocks = fill_conditional(machine, known, n_contexts=50)
    assert len(blocks.contexts) == 5
    with limited_memory(int(1000 * (enough - 2))), pytest.raises(ArgumentError, match="memory: "):
        fill_conditional(machine, known, n_contexts=50)


def test_progress_counts_every_row():
    calls = []
    box = native()
    blocks = fill_conditional(
        box, known_of(box), n_contexts=30, n_columns=20, progress=lambda *call: calls.append(call)
    )
    assert calls[-1] == (len(blocks.rows), len(blocks.rows))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("sizes", [(1, 1), (30, 20)])
def test_odd_boxes_have_blocks_and_automata(name, sizes):
    box = odd_box(name)
    reference = known_of(box, 40, max_length=12)
    blocks = fill_conditional(box, reference, n_contexts=sizes[0], n_columns=sizes[1])
    assert len(blocks.contexts) <= sizes[0]
    assert np.isfinite(blocks.values).all()
    np.testing.assert_allclose(blocks.values[:, 0].sum(axis=1), 1)
    automata = decompose_conditional(blocks, max_rank=3)
    for rank in range(1, automata.max_rank + 1):
        assert automata.automaton(rank).total == pytest.approx(1, abs=1e-4)


def test_workers_fill_the_same_blocks_to_the_bit(monkeypatch):
    monkeypatch.setattr(walk_task, "STEPS_PER_JOB", 500)
    monkeypatch.setattr("seqray.extraction.conditional.fill.MAX_ROWS_AT_ONCE", 16)
    box = open_black_box("demo")
    reference = Reference.draw(box, 200, seed=0, max_length=20)
    here = fill_conditional(box, reference, n_contexts=40)
    for n_workers in (1, 3):
        executor = Posted(n_workers)
        oracle = open_oracle(box, executor=executor)
        there = fill_conditional(oracle, reference, n_contexts=40)
        assert executor.n_jobs > 3
        assert (there.values == here.values).all()
        assert (there.probabilities == here.probabilities).all()
        assert there.n_steps == here.n_steps == oracle.meter.n_sent
