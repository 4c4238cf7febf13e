import sys

import numpy as np
import pytest

from seqray import MissingExtraError
from seqray.automata.generators import random_machine
from seqray.draw.canvas import write_image
from seqray.draw.styles import picture

SCENE = picture(random_machine("pfa", 3, 2, seed=0), names=["one", "two", "three"])


def test_a_picture_has_the_shape_of_its_scene(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    write_image(SCENE, tmp_path / "a.png")
    height, width, _ = image.imread(tmp_path / "a.png").shape
    assert width / height == pytest.approx(SCENE.view[2] / SCENE.view[3], rel=0.01)


@pytest.mark.parametrize("ending", [".png", ".pdf"])
def test_the_same_scene_is_the_same_file(tmp_path, ending):
    pytest.importorskip("matplotlib")
    files = [tmp_path / f"{name}{ending}" for name in "ab"]
    for file in files:
        write_image(SCENE, file)
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert len(first) > 1000


def test_something_is_drawn(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    write_image(SCENE, tmp_path / "a.png")
    pixels = image.imread(tmp_path / "a.png")
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 10


def test_without_matplotlib_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(MissingExtraError, match=r"needs matplotlib: pip install '\.\[plots\]'"):
        write_image(SCENE, tmp_path / "a.png")
