"""The export to copy: examples/export.py. A copy of this file tests a copy of the export."""

import runpy

from pages import ROOT
from seqray.automata.automaton import WeightedAutomaton

write_edges = runpy.run_path(str(ROOT / "examples" / "export.py"))["write_edges"]  # else: import it


def test_every_edge_has_a_line_with_its_exact_weight(tmp_path):
    write_edges(WeightedAutomaton("a", [1], [[[0.1 + 0.2]]], [-2]), tmp_path / "wa.edges")
    lines = (tmp_path / "wa.edges").read_text("utf-8").splitlines()
    assert lines == ["start\t0\t\t1.0", "0\t0\ta\t0.30000000000000004", "0\tend\t\t-2.0"]
