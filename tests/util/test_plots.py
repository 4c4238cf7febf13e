"""The axes that plots are drawn on."""

import sys

import pytest

from seqray import MissingExtraError
from seqray.util.plots import MAX_TICKS, axes, name_positions, styled

matplotlib = pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("pyplot")


def test_new_axes_belong_to_a_figure_that_a_notebook_shows(pyplot):
    with axes(None, width=5, height=2) as fresh:
        assert matplotlib.rcParams["axes.spines.top"] is False
    assert pyplot.gcf() is fresh.figure
    assert fresh.figure.get_size_inches().tolist() == [5, 2]
    assert matplotlib.rcParams["axes.spines.top"] is True


def test_given_axes_are_used(pyplot):
    _, own = pyplot.subplots()
    with axes(own) as given:
        assert given is own


@pytest.mark.parametrize("is_interactive", [False, True])
def test_a_plot_leaves_matplotlib_as_interactive_as_its_backend_is(is_interactive):
    matplotlib.interactive(is_interactive)
    with axes(None):
        pass
    assert matplotlib.is_interactive() is is_interactive
    matplotlib.interactive(False)


def test_of_many_names_some_are_shown():
    with axes(None) as fresh:
        name_positions(fresh, ["start", *("a" * 200)], 0)
    assert len(fresh.get_xticks()) <= MAX_TICKS


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[plots\]'"):
        styled()
