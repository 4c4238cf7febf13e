import numpy as np
import pytest

from functions import Count, halves
from seqray import Alphabet, Basis, black_box, language_model, uniform_basis
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.hankel.plan import Plan

AB = Alphabet("ab")


def test_a_plan_costs_words_or_steps():
    plan = Plan.of(uniform_basis(AB, 10, 8, seed=0))
    assert plan.cost(open_oracle(black_box(Count(), AB))) == plan.n_queries
    assert plan.cost(open_oracle(language_model(Count(halves), AB))) == plan.n_steps


@pytest.mark.parametrize("seed", range(3))
def test_a_plan_counts_the_distinct_words_of_the_blocks(seed):
    basis = uniform_basis(AB, 12, 9, seed=seed)
    rows = {*basis.prefixes, *((*u, symbol) for u in basis.prefixes for symbol in AB)}
    assert Plan.of(basis).n_queries == len({(*u, *v) for u in rows for v in basis.suffixes})


def test_the_empty_suffix_has_a_column():
    plan = Plan.of(Basis(AB.words(["", "a"]), AB.words(["b", "", "ab"]), "mine"))
    assert plan.empty == 1
    assert plan.rest.tolist() == [1, -1, 0]
    assert np.array_equal(plan.lonely, [])
