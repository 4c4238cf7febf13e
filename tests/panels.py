"""Figures by name, and what their panels show."""

from seqray.experiments.figures import DRAWINGS
from seqray.experiments.own_figures import OWN_DRAWINGS

ALL = (*OWN_DRAWINGS, *DRAWINGS)


def drawing(name):
    (one,) = [one for one in ALL if one.name == name]
    return one


def shown(ax, marker):
    """Return the points of a panel with a marker, by place."""
    lines = [line for line in ax.get_lines() if line.get_marker() == marker]
    return {float(x): float(y) for line in lines for x, y in zip(*line.get_data(), strict=True)}
