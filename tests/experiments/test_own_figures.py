import numpy as np

from seqray.experiments.own_figures import OWN_DRAWINGS, middle


def test_the_last_round_stands_for_those_that_are_missing():
    queries, gains = middle([[(10, 0.5), (40, 0.9)], [(12, 0.7)], [(9, 0.6)]])
    np.testing.assert_allclose(queries, [10, 12])
    np.testing.assert_allclose(gains, [0.6, 0.7])


def test_every_figure_says_what_it_shows():
    assert len({drawing.name for drawing in OWN_DRAWINGS}) == len(OWN_DRAWINGS)
    assert all(drawing.caption.endswith(".") for drawing in OWN_DRAWINGS)
