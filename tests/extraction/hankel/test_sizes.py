import math

import pytest

from functions import Count
from seqray import WeightedAutomaton, black_box, uniform_basis
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.oracle import open_oracle
from seqray.extraction.hankel.sizes import (
    affordable_size,
    growth_cost,
    size_of,
    sizes_to_come,
    wanted_size,
)
from seqray.extraction.job import Job
from seqray.extraction.request import Request


def job(budget=None, box=None, n_prefixes=None, basis=None):
    oracle = open_oracle(box or black_box(Count(), "ab"), Meter(Limits(budget)))
    return Job(oracle, Request(n_prefixes=n_prefixes, basis=basis), None)


def test_the_size_wanted_is_that_of_the_basis_or_of_the_request():
    basis = uniform_basis(job().oracle.alphabet, 7, 5, seed=0)
    assert wanted_size(job(basis=basis)) == size_of(basis) == (7, 5)
    assert wanted_size(job()) == (800, 800)
    assert wanted_size(job(n_prefixes=30)) == (30, 800)


@pytest.mark.parametrize("budget", [100, 10_000, 500_000])
def test_a_budget_allows_as_many_cells_as_it_has_queries(budget):
    assert math.prod(affordable_size(job(budget))) == pytest.approx(budget, rel=0.25)


def test_what_costs_nothing_has_the_size_wanted():
    machine = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    assert affordable_size(job(10, machine)) == affordable_size(job()) == (800, 800)


def test_sizes_grow_up_to_what_the_budget_allows():
    assert sizes_to_come(job())[-1] == (800, 800)
    *_, last = sizes_to_come(job(100_000))
    assert 1000 < math.prod(last) < 100_000
    assert sizes_to_come(job(100_000), last, cost_ratio=10.0) == []


def test_larger_bases_cost_more_to_find():
    costs = [growth_cost(job(), (n, n)) for n in (50, 100, 400)]
    assert costs == sorted(costs)
