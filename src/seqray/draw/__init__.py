"""Pictures of automata: SVG and Graphviz text that need no other program, PNG and PDF."""

from seqray.draw.dot import to_dot
from seqray.draw.graph import clear_threshold, hidden_share
from seqray.draw.saving import save_drawing
from seqray.draw.svg import to_svg

__all__ = ["clear_threshold", "hidden_share", "save_drawing", "to_dot", "to_svg"]
