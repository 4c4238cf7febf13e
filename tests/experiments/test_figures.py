import subprocess
import sys

import numpy as np
import pytest

import made_results
from seqray.experiments import paper
from seqray.experiments.figures import DRAWINGS
from seqray.experiments.findings import Findings, read_findings
from seqray.experiments.own_figures import OWN_DRAWINGS
from seqray.experiments.plots import NothingToDrawError, draw, save_figure
from seqray.experiments.table import best, choose
from seqray.util.errors import MissingExtraError

matplotlib = pytest.importorskip("matplotlib")

ALL = (*OWN_DRAWINGS, *DRAWINGS)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    suites = {"pautomac": ("3", "9", "24", "37"), "spice": ("spice4",), "trucks": ("trucks",)}
    return read_findings(made_results.write(tmp_path_factory.mktemp("results"), suites))


def drawing(name):
    (one,) = [one for one in ALL if one.name == name]
    return one


def shown(ax, marker):
    """Return the points of a panel with a marker, by place."""
    lines = [line for line in ax.get_lines() if line.get_marker() == marker]
    return {float(x): float(y) for line in lines for x, y in zip(*line.get_data(), strict=True)}


@pytest.mark.parametrize("name", [one.name for one in ALL])
def test_every_figure_has_titles_and_a_legend(found, name):
    figure = draw(drawing(name), found)
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert all(titles[: 2 if name != "zeros" else 3])
    assert figure.legends


@pytest.mark.parametrize("name", ["overview", "ranks", "own", "questions"])
def test_a_figure_is_written_as_svg_and_png(found, tmp_path, name):
    save_figure(draw(drawing(name), found), tmp_path, name)
    assert (tmp_path / f"{name}.svg").read_text("utf-8").startswith("<?xml")
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_user_s_matplotlib_style_does_not_reach_a_figure(found, tmp_path):
    save_figure(draw(drawing("basis"), found), tmp_path, "one")
    style = {"text.usetex": True, "savefig.bbox": "tight", "font.size": 30}
    with matplotlib.rc_context(style):
        save_figure(draw(drawing("basis"), found), tmp_path, "two")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize("name", [one.name for one in ALL])
def test_without_results_a_figure_says_what_is_missing(name):
    with pytest.raises(NothingToDrawError, match="no results of"):
        draw(drawing(name), Findings([]))


def test_the_same_figure_gives_the_same_bytes(found, tmp_path):
    for name in ("one", "two"):
        save_figure(draw(drawing("basis"), found), tmp_path, name)
    for ending in ("svg", "png"):
        one, two = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("one", "two"))
        assert one == two


def test_the_overview_shows_the_best_of_each_problem_the_network_and_the_paper(found):
    panel = draw(drawing("overview"), found).axes[0]
    ours = best(found.pautomac("test"), "perplexity_ratio")
    assert shown(panel, "o") == {float(p): row.perplexity_ratio for p, row in ours.items()}
    assert shown(panel, "s")[3] == pytest.approx(found.boxes["3"].quality)
    assert shown(panel, "D")[9] == 0.36845


def test_metrics_at_one_criterion_use_one_place_for_all_panels(found):
    figure = draw(drawing("at-best-ndcg-test"), found)
    chosen = best(found.pautomac("test"), "ndcg5")["9"]
    (there,) = choose(
        found.rows, problem="9", set="rnn", selection="all",
        prefixes=chosen.prefixes, rank=chosen.rank,
    )  # fmt: skip
    assert shown(figure.axes[2], "o")[9] == there.perplexity_ratio


def test_deciles_count_every_problem_once(found):
    bars = draw(drawing("overview"), found).axes[1].patches
    heights = [bar.get_height() for bar in bars]
    assert sum(heights[:10]) == 4
    assert sum(heights[10:]) == 47


def test_rank_curves_begin_at_rank_5_and_come_down_to_the_network(found):
    panel = draw(drawing("ranks"), found).axes[0]
    curves = [line for line in panel.get_lines() if len(line.get_xdata()) > 2]
    assert len(curves) == len(made_results.SIZES)
    assert min(line.get_xdata().min() for line in curves) == 5
    assert min(line.get_ydata().min() for line in curves) >= found.boxes["trucks"].perplexity_rnn
    assert panel.get_ylabel() == "perplexity"


def test_without_boxes_rank_curves_are_relative_to_the_network(found):
    panel = draw(drawing("ranks"), Findings(found.rows)).axes[0]
    assert panel.get_ylabel() == "perplexity, the RNN's is 1"


def test_a_size_looks_alike_in_every_panel(found):
    fewer = [row for row in found.rows if row.problem != "3" or row.prefixes == 300]
    panels = draw(drawing("ranks"), Findings(fewer, found.boxes)).axes
    looks = [{line.get_color() for line in panel.get_lines()} for panel in panels]
    assert looks[2] < looks[0]


def test_perplexities_far_above_are_cut_or_drawn_on_a_bent_scale(found):
    wild = [row._replace(perplexity_ratio=1e-9) for row in found.rows]
    assert draw(drawing("ranks"), Findings(wild, found.boxes)).axes[0].get_yscale() == "log"
    spikes = [r._replace(perplexity_ratio=1e-9) if r.rank == 10 else r for r in found.rows]
    panel = draw(drawing("ranks"), Findings(spikes, found.boxes)).axes[0]
    assert np.isfinite(panel.get_ylim()).all()


def test_matplotlib_is_only_loaded_to_draw():
    script = (
        "import seqray.experiments.report, seqray.experiments.own_figures, sys;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_without_matplotlib_the_extra_is_named(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[plots\]'"):
        draw(drawing("overview"), found)


def test_captions_and_names_are_unique():
    names = [one.name for one in ALL]
    assert len(set(names)) == len(names)
    assert len({one.caption for one in ALL}) == len(names)


# Our own method ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("row", "which"), [(0, "test"), (1, "rnn")])
def test_our_own_method_stands_beside_the_paper_in_the_order_of_its_values(found, row, which):
    panel = draw(drawing("own"), found).axes[row]
    order = [label.get_text() for label in panel.get_xticklabels()]
    theirs = paper.published(which)
    assert order == sorted(["3", "9", "24", "37"], key=lambda problem: theirs[problem].ndcg5)
    values = {marker: list(shown(panel, marker).values()) for marker in "Dso"}
    assert values["D"] == [theirs[problem].ndcg5 for problem in order]
    here, own = best(found.pautomac(which)), found.own_choices(which)
    assert values["s"] == [here[problem].ndcg5 for problem in order]
    assert values["o"] == [own[problem].ndcg5 for problem in order]


def test_only_our_own_method_is_filled_so_that_grey_can_be_read(found):
    panel = draw(drawing("own"), found).axes[0]
    faces = {line.get_marker(): line.get_markerfacecolor() for line in panel.get_lines()}
    assert faces["D"] == faces["s"] == "white" != faces["o"]


def test_questions_have_a_line_a_problem_their_medians_and_the_papers_method(found):
    panel = draw(drawing("questions"), found).axes[0]
    assert panel.get_xscale() == "log"
    thin = [line for line in panel.get_lines() if line.get_marker() == "None"]
    assert len(thin) == 4  # the real data are not PAutomaC's
    rounds = found.rounds["9"]
    drawn = [list(zip(*line.get_data(), strict=True)) for line in thin]
    assert [(one.questions, one.ndcg5) for one in rounds] in drawn
    heights = [[one.ndcg5 for one in found.rounds[problem]] for problem in ("3", "9", "24", "37")]
    assert list(shown(panel, "o").values()) == pytest.approx(np.median(heights, axis=0))
    rows = best(choose(found.pautomac("rnn"), prefixes=800))
    points = shown(panel, "s")
    assert points[rows["24"].steps] == rows["24"].ndcg5


def test_the_papers_method_need_not_be_there_to_draw_questions(found):
    bare = Findings([], about=found.about, own=found.own)
    assert not shown(draw(drawing("questions"), bare).axes[0], "s")
    with pytest.raises(NothingToDrawError, match="by both methods"):
        draw(drawing("own"), bare)
