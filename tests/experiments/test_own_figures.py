"""Figures of seqray's own method."""

import numpy as np
import pytest

from panels import drawing, shown
from seqray.experiments import paper
from seqray.experiments.findings import Findings
from seqray.experiments.plots import NothingToDrawError, draw
from seqray.experiments.table import best, choose

matplotlib = pytest.importorskip("matplotlib")


@pytest.mark.parametrize(("row", "which"), [(0, "test"), (1, "rnn")])
def test_our_own_method_stands_beside_the_paper_in_the_papers_order(four_problems, row, which):
    panel = draw(drawing("own"), four_problems).axes[row]
    order = [label.get_text() for label in panel.get_xticklabels()]
    theirs = paper.published(which)
    assert order == sorted(["3", "9", "24", "37"], key=lambda problem: theirs[problem].ndcg5)
    values = {marker: list(shown(panel, marker).values()) for marker in "Dso"}
    assert values["D"] == [theirs[problem].ndcg5 for problem in order]
    here, own = best(four_problems.pautomac(which)), four_problems.own_choices(which)
    assert values["s"] == [here[problem].ndcg5 for problem in order]
    assert values["o"] == [own[problem].ndcg5 for problem in order]


def test_only_our_own_method_is_filled_so_that_grey_can_be_read(four_problems):
    panel = draw(drawing("own"), four_problems).axes[0]
    faces = {line.get_marker(): line.get_markerfacecolor() for line in panel.get_lines()}
    assert faces["D"] == faces["s"] == "white" != faces["o"]


def test_queries_have_one_line_per_problem_their_medians_and_the_papers_method(four_problems):
    panel = draw(drawing("questions"), four_problems).axes[0]
    assert panel.get_xscale() == "log"
    thin = [line for line in panel.get_lines() if line.get_marker() == "None"]
    assert len(thin) == 4  # the real data are not PAutomaC's
    rounds = four_problems.rounds["9"]
    drawn = [list(zip(*line.get_data(), strict=True)) for line in thin]
    assert [(one.questions, one.ndcg5) for one in rounds] in drawn
    heights = [
        [one.ndcg5 for one in four_problems.rounds[problem]] for problem in ("3", "9", "24", "37")
    ]
    assert list(shown(panel, "o").values()) == pytest.approx(np.median(heights, axis=0))
    rows = best(choose(four_problems.pautomac("rnn"), prefixes=800))
    points = shown(panel, "s")
    assert points[rows["24"].steps] == rows["24"].ndcg5


def test_the_papers_method_need_not_be_there_to_draw_questions(four_problems):
    bare = Findings([], about=four_problems.about, own=four_problems.own)
    assert not shown(draw(drawing("questions"), bare).axes[0], "s")
    with pytest.raises(NothingToDrawError, match="by both methods"):
        draw(drawing("own"), bare)
