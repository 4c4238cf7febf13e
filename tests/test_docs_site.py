"""What the documentation shows: every public name, every command, every picture."""

import re
from fnmatch import fnmatch
from pathlib import Path

import click
import pytest

import seqray
from docs.draw_pictures import PICTURES
from seqray.cli import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_every_public_name_is_in_the_reference_once():
    pytest.importorskip("mkdocs", reason="make docs installs it")
    from docs.hooks.reference import pages  # noqa: PLC0415

    documented = re.findall(r"^::: seqray\.(\w+)$", "\n".join(pages().values()), re.MULTILINE)
    assert sorted(documented) == seqray.__all__


def test_every_command_is_in_the_reference():
    pytest.importorskip("mkdocs", reason="make docs installs it")
    from docs.hooks.reference import pages  # noqa: PLC0415

    text = pages()["reference/commands.md"]
    for name in cli.list_commands(click.Context(cli)):
        assert f"### seqray {name}\n" in text
    assert "| `-h, --help` |" in text
    assert "| `--help` |" not in text


def test_help_texts_of_commands_are_prose_in_the_reference():
    pytest.importorskip("mkdocs", reason="make docs installs it")
    from docs.hooks.reference import paragraphs  # noqa: PLC0415

    shown = list(paragraphs("Do it.\n\n    More\n    of it.\n\n    \b\n    Example:\n      seqray"))
    assert shown == ["Do it.", "More\nof it.", "```text\nExample:\n  seqray\n```"]


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_names_of_seqray_in_a_page_are_public(page):
    names = re.findall(r"`seqray\.(\w+)", page.read_text("utf-8"))
    modules = {each.stem for each in (ROOT / "src" / "seqray").iterdir()}
    assert sorted(set(names) - set(seqray.__all__) - modules - {"json", "automaton"}) == []


def test_every_picture_has_a_command():
    text = (DOCS / "figures.md").read_text("utf-8")
    patterns = re.findall(r"`([\w-]+\*)`", text)
    pictures = [path.name for path in (DOCS / "images").iterdir()]
    assert [name for name in pictures if not any(fnmatch(name, p) for p in patterns)] == []
    assert [p for p in patterns if not any(fnmatch(name, p) for name in pictures)] == []


@pytest.mark.parametrize("name", [name for name in PICTURES if name != "method-automaton.svg"])
def test_pictures_of_the_method_are_what_the_command_draws(name):
    assert shape(PICTURES[name]()) == shape((DOCS / "images" / name).read_text("utf-8"))


def shape(svg: str) -> str:
    """Return a picture without places: other machines round bars otherwise."""
    return re.sub(r' (y|height|fill-opacity)="[\d.]+"', "", svg)
