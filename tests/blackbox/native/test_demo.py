"""The network that ships with seqray."""

import numpy as np

from seqray import open_black_box
from seqray.blackbox.native.demo import open_demo


def test_it_predicts_over_four_symbols():
    box = open_demo()
    assert list(box.alphabet) == ["a", "b", "c", "d"]
    np.testing.assert_allclose(box.next_symbol(["", "abc"]).sum(axis=1), 1, atol=1e-6)


def test_the_registry_opens_it():
    assert open_black_box("demo").fingerprint == open_demo().fingerprint
