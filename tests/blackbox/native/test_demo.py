import numpy as np

import seqray
from seqray.blackbox.native.demo import open_demo


def test_the_demo_box_predicts():
    box = open_demo()
    rows = box.next_symbol(["", "ab"])
    assert rows.shape == (2, len(box.alphabet) + 1)
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-6)


def test_it_is_the_box_of_that_name():
    words = ["", "a", "dcba"]
    assert (seqray.open_black_box("demo:").weights(words) == open_demo().weights(words)).all()
