from types import SimpleNamespace

import pytest

from seqray.experiments.plots import (
    Drawing,
    NothingToDrawError,
    draw,
    legend,
    line,
    mark,
    needed,
    panels,
    save_figure,
    values_of,
)

pytest.importorskip("matplotlib")


def make(_):
    figure, axes = panels(1, 2, width=4, height=2)
    axes[0][1].plot([0, 1], [0, 1])
    legend(figure, mark("o", "black", "points"), line("black", "a line", "--"))
    return figure


def test_a_figure_is_written_in_two_formats_with_the_same_bytes_each_time(tmp_path):
    written = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        save_figure(draw(Drawing("name", "part", "caption", make), None), folder, "name")
        written.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert set(written[0]) == {"name.svg", "name.png"}
    assert written[0] == written[1]
    assert b"<svg" in written[0]["name.svg"]


def test_what_is_missing_is_said():
    assert needed({"3": "row"}, "anything") == {"3": "row"}
    with pytest.raises(NothingToDrawError, match="no results of PAutomaC in the table"):
        needed({}, "PAutomaC")


def test_a_column_of_rows_is_an_array_of_numbers():
    assert values_of([SimpleNamespace(a=1), SimpleNamespace(a=2.5)], "a").tolist() == [1, 2.5]
