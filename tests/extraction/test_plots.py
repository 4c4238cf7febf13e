"""Plots of extractions."""

from dataclasses import replace

import pytest

from copied import copied
from seqray import MissingMetricError
from seqray.extraction.plots import plot_fidelity
from seqray.fidelity.table import Fidelity, FidelityTable

pytestmark = pytest.mark.usefixtures("pyplot")


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def test_ranks_and_copies_are_plotted_by_their_number_of_states():
    drawn = lines(copied().plot_fidelity())
    assert drawn["ranks"].get_xdata().tolist() == [1, 2]
    scores = [each.score for each in copied().fidelity.fidelities]
    assert drawn["ranks"].get_ydata().tolist() == scores
    assert list(drawn["copies"].get_xdata()) == [6, 7]


def test_the_chosen_rank_is_marked():
    mark = lines(copied().plot_fidelity())["chosen: 2"]
    assert list(mark.get_xdata()) == [2]


def test_a_metric_may_be_plotted_instead_of_the_score():
    ax = copied().plot_fidelity("kl_per_symbol")
    assert ax.get_ylabel() == "kl_per_symbol"
    assert list(lines(ax)["copies"].get_ydata()) == [0.02, 0.01]


def test_copies_without_the_metric_are_left_out():
    assert "copies" not in lines(copied().plot_fidelity("zeros"))


def test_an_unknown_metric_is_refused():
    with pytest.raises(MissingMetricError, match="no metric 'wrong'"):
        copied().plot_fidelity("wrong")


def test_intervals_and_wide_ranges_are_shown():
    ends = {"kl_per_symbol": (0.4, 0.6)}
    fidelities = [Fidelity({"kl_per_symbol": 10.0**-k}, 2, 9, ends) for k in range(3)]
    ax = plot_fidelity(FidelityTable((1, 2, 40), tuple(fidelities)), (), 2, metric="kl_per_symbol")
    bars = [line for line in ax.get_lines() if list(line.get_ydata()) == [0.4, 0.6]]
    assert len(bars) == 3
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_singular_values_are_plotted_from_the_largest():
    ax = copied().plot_singular_values()
    values = copied().singular_values
    assert ax.get_lines()[0].get_ydata().tolist() == values[values > 0].tolist()
    assert ax.get_yscale() == "log"


def test_few_ranks_have_whole_numbers_below_the_axis():
    ax = replace(copied(), copies=()).plot_fidelity()
    assert all(tick == int(tick) for tick in ax.get_xticks())
