"""Shapes of a drawing."""

import numpy as np
import pytest

from seqray.draw.scene import (
    Box,
    Group,
    LegendEntry,
    Line,
    Polygon,
    Text,
    moved,
    page,
    sample_line,
    sign_colour,
    stroke,
    text_block,
)


def test_shapes_of_every_kind_can_be_moved() -> None:
    by = 3 + 4j
    line = Line(np.array([0, 1, 2, 3], complex), "red", 1.0)
    assert (moved(line, by).points == line.points + by).all()
    assert (moved(Polygon(np.array([1j]), "red"), by).points == [3 + 5j]).all()
    assert moved(Box(1j, (1, 1), 1, None), by).centre == 3 + 5j
    assert moved(Text(1j, "a"), by).at == 3 + 5j


CORNERS = np.array([0, 100 + 80j])


def test_a_page_holds_its_drawing_its_legend_and_its_caption():
    drawn = Group("state", [Text(50 + 40j, "0")])
    legend = [LegendEntry([sample_line(1.0, 2.0)], 32, f"entry {i}") for i in range(20)]
    scene = page("A title", "How to read it.", "A caption", [drawn], CORNERS, legend)
    left, top, width, height = scene.view
    assert scene.title == "A title"
    assert scene.description == "A caption. How to read it."
    assert [group.kind for group in scene.groups] == ["state", "legend", "caption"]
    texts = [each for group in scene.groups for each in group.shapes if isinstance(each, Text)]
    assert {each.text for each in texts} >= {"0", "entry 19", "A caption"}
    for each in texts:
        assert left <= each.at.real <= left + width
        assert top <= each.at.imag <= top + height


def test_a_long_caption_is_set_in_lines_of_about_one_length():
    scene = page("t", "r", "word " * 60, [], CORNERS, [])
    lines = [text.text for text in scene.groups[-1].shapes]
    assert len(lines) > 1
    assert max(map(len, lines)) - min(map(len, lines)) < 30


@pytest.mark.parametrize("shape", [Text(1 + 1j, "a"), sample_line(1, 2)])
def test_a_shape_can_be_moved(shape):
    after = moved(shape, 2 + 3j)
    before = shape.at if isinstance(shape, Text) else shape.points
    assert np.allclose((after.at if isinstance(shape, Text) else after.points) - before, 2 + 3j)


def test_negative_weights_have_dashes_and_a_colour_of_their_own():
    points = np.zeros(4, complex)
    assert stroke(points, -1, 2).dash is not None
    assert stroke(points, 1, 2).dash is None
    assert sign_colour(-1) != sign_colour(1) == sign_colour(0)


def test_lines_of_text_stand_around_their_centre():
    one, two = text_block(5 + 5j, [("a", "#000", True), ("b", "#000", False)])
    assert one.at.real == two.at.real == 5
    assert one.at.imag < two.at.imag
    assert one.bold
    assert not two.bold
