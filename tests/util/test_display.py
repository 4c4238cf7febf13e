"""How values show themselves in notebooks."""

import subprocess
import sys

import pytest

import seqray
from displays import elements, shown
from seqray import ArgumentError
from seqray.util.display import InlinePage, Picture

COIN = seqray.WeightedAutomaton("a", [1], [[[0.5]]], [0.5])
SVG = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'


def test_a_value_knows_nothing_of_notebooks_until_it_is_shown():
    script = (
        "import sys, seqray; coin = seqray.WeightedAutomaton('a', [1], [[[0.5]]], [0.5]);"
        "before = 'seqray.draw.svg' in sys.modules; coin.draw();"
        "sys.exit(before or 'seqray.draw.svg' not in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_seqray_itself_is_imported_without_numpy():
    script = "import sys, seqray; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_programs_that_know_only_html_show_the_same():
    formatters = pytest.importorskip("IPython.core.formatters", reason="needs IPython")
    assert formatters.HTMLFormatter()(COIN) == shown(COIN)["text/html"]


def test_a_picture_is_shown_as_it_is():
    data = shown(Picture(SVG))
    assert data["image/svg+xml"] == SVG
    assert SVG in data["text/html"]
    assert data["text/plain"] == "Picture(46 characters of SVG)"


def test_a_page_is_shown_in_a_frame_that_can_do_nothing_but_run():
    page = InlinePage('<p title="x">&amp;</p><script>run()</script>', 300)
    parsed = elements(shown(page)["text/html"])
    attributes = dict(parsed.attributes)
    assert parsed.names == ["iframe"]
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == page.html
    assert "height:300px" in attributes["style"]
    assert repr(page) == "InlinePage(0.0 MB)"


def test_a_page_can_be_written_to_a_file(tmp_path):
    InlinePage("<p>ä</p>", 300).save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == "<p>ä</p>"


@pytest.mark.parametrize("height", [0, 99])
def test_a_frame_that_nobody_can_see_is_refused(height):
    with pytest.raises(ArgumentError, match=f"at least 100 pixels, got {height}"):
        InlinePage("", height)


def test_an_automaton_can_be_explored():
    page = COIN.explore(name="a coin", height=400)
    assert page.html == seqray.to_html(COIN, name="a coin")
    assert page.height == 400
