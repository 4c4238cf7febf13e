"""Two automata in one layout, with colours for what differs."""

import numpy as np
import pytest

from compared_pairs import chain
from seqray.draw.compared import (
    CHANGED,
    CHANGED_RIM,
    ONLY_HERE,
    OWN_STATES,
    SAME,
    DrawnChanges,
    DrawnSide,
    compared_scenes,
)
from seqray.draw.scene import Box, Line, Polygon, Text

NAMES = ["start", "after b"]
EVERYWHERE = np.ones(2, bool)


def sides(present=EVERYWHERE):
    return (
        DrawnSide(chain(), NAMES, None, np.asarray(present)),
        DrawnSide(chain(to_second=0.4), NAMES, None, EVERYWHERE),
    )


def changes(edges=(), begins=(), ends=()):
    marked = [np.isin(np.arange(2), places) for places in (begins, ends)]
    return DrawnChanges(frozenset(edges), *marked)


def groups(scene, kind):
    return [group for group in scene.groups if group.kind == kind]


def colours(group):
    """The colours of the lines and arrow heads of a group, without the paper around lines."""
    return {
        shape.colour if isinstance(shape, Line) else shape.fill
        for shape in group.shapes
        if isinstance(shape, Line | Polygon)
    } - {"#FFFFFF"}


def texts(scene):
    return [
        shape.text for group in scene.groups for shape in group.shapes if isinstance(shape, Text)
    ]


@pytest.fixture(scope="module")
def scenes():
    return compared_scenes(chain(to_second=0.4), sides(), 0.01, changes([(0, 1)], [0], [1]))


def test_states_of_both_stand_at_the_same_places(scenes):
    one, other = ([group.shapes[0].centre for group in groups(scene, "state")] for scene in scenes)
    assert one == other
    assert len(one) == 2
    assert scenes[0].view == scenes[1].view


def test_what_differs_has_a_colour_and_all_else_is_grey(scenes):
    for scene in scenes:
        edges = {(g.data["from"], g.data["to"]): colours(g) for g in groups(scene, "edge")}
        assert edges.pop((0, 1)) == {CHANGED}
        assert set(map(frozenset, edges.values())) == {frozenset({SAME})}
        (entry,) = groups(scene, "entry")
        assert colours(entry) == {CHANGED}
        plain, marked = (group.shapes[0] for group in groups(scene, "state"))
        assert plain.stroke != CHANGED
        assert (marked.stroke, marked.width) == (CHANGED, CHANGED_RIM)


def test_each_side_has_its_own_weights(scenes):
    assert "b: 0.3" in texts(scenes[0])
    assert "b: 0.4" in texts(scenes[1])
    assert "3 of them different" not in " ".join(texts(scenes[0]))
    assert "2 states, 4 edges, 1 of them different" in texts(scenes[0])


def test_what_only_one_side_has_has_the_colour_of_that_side():
    one, other = compared_scenes(chain(), sides([True, False]), 0.01, changes([(0, 1), (1, 1)]))
    assert len(groups(one, "state")) == 1
    own = groups(other, "state")[1].shapes[0]
    assert isinstance(own, Box)
    assert (own.fill, own.stroke) == (OWN_STATES[1], ONLY_HERE[1])
    loop = next(g for g in groups(other, "edge") if (g.data["from"], g.data["to"]) == (1, 1))
    assert colours(loop) == {ONLY_HERE[1]}
    assert "in B, not in A" in texts(other)
    assert "in B, not in A" not in texts(one)


def test_a_legend_explains_the_colours_that_occur_and_no_other():
    same = compared_scenes(chain(), sides(), 0.01, changes())
    for scene in same:
        assert "the same in both" in texts(scene)
        assert "differs" not in texts(scene)
