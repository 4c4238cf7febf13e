"""Shapes of a drawing."""

import numpy as np

from seqray.draw.scene import Box, Line, Polygon, Text, moved


def test_shapes_of_every_kind_can_be_moved() -> None:
    by = 3 + 4j
    line = Line(np.array([0, 1, 2, 3], complex), "red", 1.0)
    assert (moved(line, by).points == line.points + by).all()
    assert (moved(Polygon(np.array([1j]), "red"), by).points == [3 + 5j]).all()
    assert moved(Box(1j, (1, 1), 1, None), by).centre == 3 + 5j
    assert moved(Text(1j, "a"), by).at == 3 + 5j
