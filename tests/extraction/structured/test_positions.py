from itertools import combinations, pairwise

import numpy as np
import pytest

from seqray.extraction.structured import positions as module
from seqray.extraction.structured.positions import (
    MAX_POSITION_CLASSES,
    MAX_POSITIONS,
    classes_of,
    position_classes,
)


def random_table(seed, n_positions=6, n_contexts=2, n_outcomes=3):
    """Draw prefixes at each position in each context, and what follows them."""
    rng = np.random.default_rng(seed)
    where, contexts = (each.ravel() for each in np.indices((n_positions, n_contexts)))
    rows = rng.dirichlet(np.full(n_outcomes, 0.5), len(where))
    rows[where < n_positions // 2] = rows[0]
    return where, contexts, rows, rng.uniform(0.5, 2, len(where))


def bits(where, contexts, rows, visits, cuts):
    """Return the entropy of outcomes given class and context, in bits per visit."""
    total = 0.0
    for begin, end in pairwise([0, *cuts, where.max() + 1]):
        for context in set(contexts.tolist()):
            some = (where >= begin) & (where < end) & (contexts == context)
            flow = visits[some] @ rows[some]
            with np.errstate(divide="ignore", invalid="ignore"):
                total -= np.nansum(flow * np.log2(flow / flow.sum()))
    return total / visits.sum()


def best_cuts(table, min_bits):
    """Try all cuts: one more as long as that says enough."""
    last = int(table[0].max())
    best = ()
    for n_cuts in range(1, last + 1):
        every = combinations(range(1, last + 1), n_cuts)
        another = min(every, key=lambda cuts: bits(*table, cuts))
        if bits(*table, best) - bits(*table, another) < min_bits:
            break
        best = another
    return list(best)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("min_bits", [1e-6, 0.01, 0.05, 0.2])
def test_classes_are_the_best_of_all_segmentations(seed, min_bits):
    table = random_table(seed)
    assert position_classes(*table, min_bits).tolist() == best_cuts(table, min_bits)


def test_a_position_that_nobody_visits_changes_nothing():
    where, contexts, rows, visits = random_table(1)
    visits[where == 2] = 0
    table = where, contexts, rows, visits
    assert position_classes(*table, 0.02).tolist() == best_cuts(table, 0.02)


@pytest.mark.parametrize("length", [1, 4, 20])
def test_words_of_one_length_give_one_cut_where_they_end(length):
    where = np.arange(length + 1)
    rows = np.tile([0.6, 0.4, 0], (length + 1, 1))
    rows[-1] = 0, 0, 1
    cuts = position_classes(where, np.minimum(where, 1), rows, np.ones(length + 1), 1e-3)
    assert cuts.tolist() == ([] if length == 1 else [length])


def test_a_position_that_says_nothing_gives_no_class():
    where, contexts, rows, visits = random_table(0)
    for each in set(contexts.tolist()):
        rows[contexts == each] = rows[contexts == each][0]
    assert position_classes(where, contexts, rows, visits, 1e-6).tolist() == []


def test_what_the_context_says_is_not_said_by_the_position():
    rows = np.array([[0.9, 0.1], [0.1, 0.9]])
    table = np.array([0, 1]), rows, np.ones(2)
    assert position_classes(np.array([0, 1]), *table, 0.1).tolist() == []
    same_context = np.zeros(2, int), *table[1:]
    assert position_classes(np.array([0, 1]), *same_context, 0.1).tolist() == [1]


def test_there_are_only_so_many_classes_however_much_they_say():
    where = np.arange(40)
    rows = np.eye(40)
    cuts = position_classes(where, np.zeros(40, int), rows, np.ones(40), 1e-6)
    assert len(cuts) == MAX_POSITION_CLASSES - 1


def test_late_positions_count_as_the_last_one():
    where = np.arange(MAX_POSITIONS + 30)
    rows = np.tile([1.0, 0], (len(where), 1))
    rows[MAX_POSITIONS + 10 :] = 0, 1
    cuts = position_classes(where, np.zeros(len(where), int), rows, np.ones(len(where)), 1e-3)
    assert cuts.tolist() == [MAX_POSITIONS]


def test_a_table_that_is_too_large_sums_the_rarest_contexts_and_outcomes(monkeypatch):
    where, contexts, rows, visits = random_table(3, n_contexts=5, n_outcomes=6)
    most = 3
    by_context = np.argsort(-np.bincount(contexts, visits), kind="stable")
    by_outcome = np.argsort(-(visits @ rows), kind="stable")
    context = np.minimum(np.argsort(by_context), most - 1)[contexts]
    ordered = rows[:, by_outcome]
    merged = np.column_stack([ordered[:, : most - 1], ordered[:, most - 1 :].sum(axis=1)])
    expected = best_cuts((where, context, merged, visits), 0.03)
    assert expected != best_cuts((where, contexts, rows, visits), 0.03)
    monkeypatch.setattr(module, "MAX_NUMBERS", 6 * most**2)
    assert position_classes(where, contexts, rows, visits, 0.03).tolist() == expected


def test_classes_begin_where_they_are_said_to():
    begins = np.array([1, 4])
    assert classes_of(np.arange(6), begins).tolist() == [0, 1, 1, 1, 2, 2]
    assert classes_of(np.arange(3), np.empty(0, int)).tolist() == [0, 0, 0]
