"""Graphs are among the formats that automata are written in."""

from automata import FIGURE_1
from seqray.draw.dot import to_dot
from seqray.draw.exports import EXPORTS
from seqray.formats import exports


def test_all_formats_are_offered_and_graphs_have_every_transition(tmp_path):
    assert set(EXPORTS) == {*exports.EXPORTS, ".dot"}
    EXPORTS[".dot"].write(FIGURE_1, tmp_path / "wa.dot")
    assert (tmp_path / "wa.dot").read_text("utf-8") == to_dot(FIGURE_1, threshold=0)
