import click
import pytest

import seqray
from seqray import ArgumentError
from seqray.blackbox.registry import known_black_boxes
from seqray.cli.boxes import box_list, open_box, read_box_words, store_path

BOX = "python:cached_box:box"


@pytest.fixture
def mine(folder):
    (folder / "cached_box.py").write_text(
        "import seqray\nbox = seqray.black_box(len, 'ab', name='me')\n"
    )
    return folder


def test_every_kind_is_listed():
    assert len(box_list().splitlines()) == len(known_black_boxes())


@pytest.mark.parametrize("option", ["timeout", "=3", ""])
def test_an_option_is_a_name_and_a_value(folder, option):
    with pytest.raises(click.BadParameter, match="expected NAME=VALUE"):
        open_box("wa:machine.json", (option,))


def test_an_option_that_the_kind_does_not_take_is_refused(folder):
    with pytest.raises(ArgumentError, match="colour"):
        open_box("wa:machine.json", ("colour=red",))


def test_answers_of_boxes_that_seqray_computes_are_not_cached(folder):
    box = open_box("wa:machine.json")
    assert store_path("wa:machine.json", box, None) is None
    assert store_path("wa:machine.json", box, "here.sqlite").name == "here.sqlite"


def test_answers_are_cached_unless_that_is_refused(mine):
    box = open_box(BOX)
    assert store_path(BOX, box, "none") is None
    assert store_path(BOX, box, None) == mine / ".answers.sqlite"


def test_words_that_are_too_long_for_the_box_are_left_out(folder, capsys):
    box = seqray.black_box(len, "ab", max_length=2)
    seqray.write_words(box.alphabet.words(["a", "ab", "aba"]), "some.txt")
    assert len(read_box_words(folder / "some.txt", box, None)) == 2
    assert "1 of 3 words" in capsys.readouterr().err
    seqray.write_words(box.alphabet.words(["aaa", "aba"]), "long.txt")
    with pytest.raises(ArgumentError, match="all 2 words are longer than 2 symbols"):
        read_box_words(folder / "long.txt", box, None)
