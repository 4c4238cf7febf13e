"""How figures are made and written."""

import subprocess
import sys

import pytest

from panels import drawing
from seqray.experiments.plots import draw, save_figure
from seqray.util.errors import MissingExtraError

matplotlib = pytest.importorskip("matplotlib")


@pytest.mark.parametrize("name", ["overview", "ranks", "own", "questions"])
def test_a_figure_is_written_as_svg_and_png(four_problems, tmp_path, name):
    save_figure(draw(drawing(name), four_problems), tmp_path, name)
    assert (tmp_path / f"{name}.svg").read_text("utf-8").startswith("<?xml")
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_user_s_matplotlib_style_does_not_reach_a_figure(four_problems, tmp_path):
    save_figure(draw(drawing("basis"), four_problems), tmp_path, "one")
    style = {"text.usetex": True, "savefig.bbox": "tight", "font.size": 30}
    with matplotlib.rc_context(style):
        save_figure(draw(drawing("basis"), four_problems), tmp_path, "two")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_the_same_figure_gives_the_same_bytes(four_problems, tmp_path):
    for name in ("one", "two"):
        save_figure(draw(drawing("basis"), four_problems), tmp_path, name)
    for ending in ("svg", "png"):
        one, two = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("one", "two"))
        assert one == two


def test_matplotlib_is_only_loaded_to_draw():
    script = (
        "import seqray.experiments.report, seqray.experiments.own_figures, sys;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_without_matplotlib_the_extra_is_named(four_problems, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[plots\]'"):
        draw(drawing("overview"), four_problems)
