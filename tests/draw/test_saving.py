"""Drawings as files: every format from the same geometry, the same bytes each time."""

import importlib.util
import logging
import re
import struct
from pathlib import Path

import pytest

from automata import FIGURE_1
from seqray.automata.automaton import WeightedAutomaton
from seqray.draw import canvas
from seqray.draw.dot import to_dot
from seqray.draw.saving import save_drawing
from seqray.draw.styles import picture
from seqray.draw.svg import to_svg
from seqray.util.errors import ArgumentError, MissingExtraError

NAMES = ["start", "after b"]
plots = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib"
)


def test_svg_and_dot_files_hold_what_the_functions_return(tmp_path: Path) -> None:
    for ending, draw in ((".svg", to_svg), (".dot", to_dot)):
        file = tmp_path / f"wa{ending}"
        save_drawing(FIGURE_1, file, threshold=0.2, names=NAMES, mass=[0.5, 0.5])
        expected = draw(FIGURE_1, threshold=0.2, names=NAMES, mass=[0.5, 0.5])
        assert file.read_text("utf-8") == expected


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"a drawing ends in \.svg \.dot \.png \.pdf, not"):
        save_drawing(FIGURE_1, tmp_path / "wa.jpg")
    assert not list(tmp_path.iterdir())


@plots
@pytest.mark.parametrize("names", [None, NAMES])
def test_png_has_two_dots_a_pixel(tmp_path: Path, names: list[str] | None) -> None:
    save_drawing(FIGURE_1, tmp_path / "wa.png", names=names)
    content = (tmp_path / "wa.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    view = picture(FIGURE_1, names=names).view
    assert (width, height) == pytest.approx((2 * view[2], 2 * view[3]), abs=2)


@plots
@pytest.mark.parametrize("ending", [".png", ".pdf"])
def test_the_same_drawing_is_the_same_file(tmp_path: Path, ending: str) -> None:
    signed = WeightedAutomaton("ab", [1, 0], FIGURE_1.transitions - 0.3, FIGURE_1.final)
    contents = []
    for name in ("one", "two"):
        save_drawing(signed, tmp_path / f"{name}{ending}", names=NAMES, mass=[0.5, 0.5])
        contents.append((tmp_path / f"{name}{ending}").read_bytes())
    assert contents[0] == contents[1]


ODD_STYLE = {
    "text.usetex": True,
    "savefig.bbox": "tight",
    "savefig.transparent": True,
    "path.sketch": (3, 100, 2),
    "font.size": 30,
}


@plots
def test_the_user_s_matplotlib_style_does_not_reach_a_drawing(tmp_path: Path) -> None:
    matplotlib = importlib.import_module("matplotlib")
    save_drawing(FIGURE_1, tmp_path / "one.png", names=NAMES)
    with matplotlib.rc_context(ODD_STYLE):
        save_drawing(FIGURE_1, tmp_path / "two.png", names=NAMES)
        assert matplotlib.rcParams["text.usetex"]
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


@plots
def test_pdf_embeds_its_fonts_and_has_no_date(tmp_path: Path) -> None:
    save_drawing(FIGURE_1, tmp_path / "wa.pdf", names=NAMES)
    content = (tmp_path / "wa.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert b"/FontFile2" in content
    assert not re.search(rb"CreationDate|ModDate", content)


@plots
def test_dollars_are_no_formulas_and_missing_signs_are_a_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wa = WeightedAutomaton(["$x^2$", "漢"], [1, 0], FIGURE_1.transitions, FIGURE_1.final)
    with caplog.at_level(logging.WARNING, "seqray"):
        save_drawing(wa, tmp_path / "wa.png", names=["שלום", "after"])
    assert "characters; an .svg file shows them" in caplog.text


@plots
def test_a_huge_drawing_has_fewer_dots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas, "MAX_SIDE_DOTS", 300.0)
    save_drawing(FIGURE_1, tmp_path / "wa.png")
    content = (tmp_path / "wa.png").read_bytes()
    assert max(struct.unpack(">II", content[16:24])) <= 301


def test_without_matplotlib_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> object:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(canvas.importlib, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[plots\]'"):
        save_drawing(FIGURE_1, tmp_path / "wa.png")
    assert not list(tmp_path.iterdir())
