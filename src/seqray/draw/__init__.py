"""Pictures of automata: Graphviz text, and SVG that needs no other program."""

from seqray.draw.dot import hidden_share, to_dot
from seqray.draw.svg import to_svg

__all__ = ["hidden_share", "to_dot", "to_svg"]
