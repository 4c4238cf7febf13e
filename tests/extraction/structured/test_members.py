import pickle

import numpy as np
import pytest

from seqray.automata.tree_batches import Corpus
from seqray.extraction import adam
from seqray.extraction.adam import Adam
from seqray.extraction.structured.batches import GroupedCorpus
from seqray.extraction.structured.gradient import FitNumbers, gradient, tables
from seqray.extraction.structured.members import FitArrays, begin, members_of_a_fit, shapes
from seqray.parallel.team import Team
from structured_fits import random_layout, random_numbers, random_words

N_STEPS = 3

BATCHES = np.arange(6), np.arange(6, 14), np.arange(14, 15)  # the last one is one word


class Case:
    """Words, a layout, and what follows each node of their tree."""

    def __init__(self):
        words = random_words(15, seed=1, max_length=5)
        self.layout = random_layout(1, words=words, n_classes=2, leaks=True, remembered=0.5)
        self.grouped = GroupedCorpus(self.layout, Corpus(words))
        self.columns = self.grouped.table.columns(self.layout)
        rng = np.random.default_rng(1)
        n_nodes = len(self.grouped.corpus.tree)
        self.rows = rng.dirichlet(np.ones(self.layout.n_outcomes), n_nodes).astype(np.float32)

    def members(self, n):
        """Return members that share the words of every batch."""
        adams = [Adam(N_STEPS, 0.2) for _ in range(n)]
        return members_of_a_fit(self.grouped, self.rows, BATCHES, adams)

    def moved(self, members, n_processes=1):
        """Return the numbers that members have moved in three steps."""
        with Team(members, shapes(members), n_processes) as team:
            begin(team, random_numbers(self.layout, 1))
            for at in range(N_STEPS):
                team.run("differentiate", at)
                team.run("move", at)
            return FitArrays.of(team.arrays)[:2]

    def moved_by_adam(self):
        """Return the same, moved by whole gradients."""
        logarithms, whole = random_numbers(self.layout, 1), Adam(N_STEPS, 0.2)
        for chosen in BATCHES:
            known, batch = tables(logarithms, self.columns), self.grouped.batch(chosen)
            whole.step(logarithms, gradient(self.layout, known, batch, self.rows)[1])
        return logarithms, tables(logarithms, self.columns).probabilities


@pytest.fixture(scope="module")
def case():
    return Case()


def assert_same(numbers, others, atol=0.0):
    for mine, other in zip(numbers, others, strict=True):
        np.testing.assert_allclose(mine, other, rtol=atol, atol=atol)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_members_move_numbers_as_adam_does_with_gradients_of_whole_batches(case, n, monkeypatch):
    monkeypatch.setattr(adam, "MAX_NUMBERS_AT_ONCE", 7)  # several pieces
    for numbers, others in zip(case.moved(case.members(n)), case.moved_by_adam(), strict=True):
        assert isinstance(numbers, FitNumbers)
        assert_same(numbers, others, 2e-4)


def test_members_do_the_same_in_several_processes(case):
    here, elsewhere = (case.moved(case.members(2), n) for n in (1, 2))
    for numbers, others in zip(here, elsewhere, strict=True):
        assert_same(numbers, others)


def test_members_travel_with_the_rows_of_their_own_nodes(case):
    member = case.members(2)[1]
    travelled = pickle.loads(pickle.dumps(member))
    assert len(travelled.rows) < len(case.rows)
    for part, there in zip(member.parts, travelled.parts, strict=True):
        np.testing.assert_array_equal(case.rows[part.nodes], travelled.rows[there.nodes])


def test_the_arrays_have_room_for_the_nodes_of_every_batch(case):
    members = case.members(2)
    most = max(len(runs.nodes) for runs in members[0].by_pair)
    assert shapes(members)[0] == (most, case.layout.max_size)
