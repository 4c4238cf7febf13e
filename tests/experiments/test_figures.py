import numpy as np
import pytest

import made_results
from panels import ALL, drawing, shown
from seqray.experiments.findings import Findings
from seqray.experiments.plots import NothingToDrawError, draw
from seqray.experiments.table import best, choose

matplotlib = pytest.importorskip("matplotlib")


@pytest.mark.parametrize("name", [one.name for one in ALL])
def test_every_figure_has_titles_and_a_legend(four_problems, name):
    figure = draw(drawing(name), four_problems)
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert all(titles[: 2 if name != "zeros" else 3])
    assert figure.legends


@pytest.mark.parametrize("name", [one.name for one in ALL])
def test_without_results_a_figure_says_what_is_missing(name):
    with pytest.raises(NothingToDrawError, match="no results of"):
        draw(drawing(name), Findings([]))


def test_the_overview_shows_the_best_of_each_problem_the_network_and_the_paper(four_problems):
    panel = draw(drawing("overview"), four_problems).axes[0]
    ours = best(four_problems.pautomac("test"), "perplexity_ratio")
    assert shown(panel, "o") == {float(p): row.perplexity_ratio for p, row in ours.items()}
    assert shown(panel, "s")[3] == pytest.approx(four_problems.boxes["3"].quality)
    assert shown(panel, "D")[9] == 0.36845


def test_metrics_at_one_criterion_use_one_place_for_all_panels(four_problems):
    figure = draw(drawing("at-best-ndcg-test"), four_problems)
    chosen = best(four_problems.pautomac("test"), "ndcg5")["9"]
    (there,) = choose(
        four_problems.rows, problem="9", set="rnn", selection="all",
        prefixes=chosen.prefixes, rank=chosen.rank,
    )  # fmt: skip
    assert shown(figure.axes[2], "o")[9] == there.perplexity_ratio


def test_deciles_count_every_problem_once(four_problems):
    bars = draw(drawing("overview"), four_problems).axes[1].patches
    heights = [bar.get_height() for bar in bars]
    assert sum(heights[:10]) == 4
    assert sum(heights[10:]) == 47


def test_rank_curves_begin_at_rank_5_and_come_down_to_the_network(four_problems):
    panel = draw(drawing("ranks"), four_problems).axes[0]
    curves = [line for line in panel.get_lines() if len(line.get_xdata()) > 2]
    assert len(curves) == len(made_results.SIZES)
    assert min(line.get_xdata().min() for line in curves) == 5
    assert (
        min(line.get_ydata().min() for line in curves)
        >= four_problems.boxes["trucks"].perplexity_rnn
    )
    assert panel.get_ylabel() == "perplexity"


def test_without_boxes_rank_curves_are_relative_to_the_network(four_problems):
    panel = draw(drawing("ranks"), Findings(four_problems.rows)).axes[0]
    assert panel.get_ylabel() == "perplexity, the RNN's is 1"


def test_a_size_looks_alike_in_every_panel(four_problems):
    fewer = [row for row in four_problems.rows if row.problem != "3" or row.prefixes == 300]
    panels = draw(drawing("ranks"), Findings(fewer, four_problems.boxes)).axes
    looks = [{line.get_color() for line in panel.get_lines()} for panel in panels]
    assert looks[2] < looks[0]


def test_perplexities_far_above_are_cut_or_drawn_on_a_bent_scale(four_problems):
    wild = [row._replace(perplexity_ratio=1e-9) for row in four_problems.rows]
    assert draw(drawing("ranks"), Findings(wild, four_problems.boxes)).axes[0].get_yscale() == "log"
    spikes = [r._replace(perplexity_ratio=1e-9) if r.rank == 10 else r for r in four_problems.rows]
    panel = draw(drawing("ranks"), Findings(spikes, four_problems.boxes)).axes[0]
    assert np.isfinite(panel.get_ylim()).all()


def test_captions_and_names_are_unique():
    names = [one.name for one in ALL]
    assert len(set(names)) == len(names)
    assert len({one.caption for one in ALL}) == len(names)
