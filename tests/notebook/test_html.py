"""HTML for notebooks."""

from displays import NASTY, elements
from seqray.explain.text import Section
from seqray.notebook.html import MAX_CELL_CHARACTERS, note, table, tables, title


def test_no_text_becomes_an_element():
    name = NASTY[0]
    html = tables([Section(name, (name, f" {name}"), ((name, name),), f"{name}\n{name}")])
    parsed = elements(html)
    assert set(parsed.names) == {"div", "table", "tr", "th", "td", "br"}
    assert parsed.texts == [name] * 7


def test_numbers_stand_on_the_right():
    html = table(Section("", ("word", " weight"), (("a", "0.5"),)))
    assert html.count("text-align:right") == html.count("text-align:left") == 2


def test_a_table_without_names_of_columns_has_no_head():
    assert "<th" not in table(Section("", ("", ""), (("a", "b"),)))


def test_what_is_empty_takes_no_room():
    assert title("") == note("") == ""


def test_long_tables_and_long_texts_are_cut():
    rows = tuple((f"{i}", "x" * 1000) for i in range(1000))
    html = table(Section("", ("", ""), rows))
    assert html.count("<tr") < 50
    assert "x" * MAX_CELL_CHARACTERS not in html


def test_colours_are_left_to_the_theme():
    html = table(Section("t", ("a",), (("b",),), "n"))
    assert "color:" not in html.replace("background-color", "")
