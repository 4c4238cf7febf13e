"""One page to look at an automaton with, and its live server."""

from seqray.explore.page import to_html

__all__ = ["to_html"]
