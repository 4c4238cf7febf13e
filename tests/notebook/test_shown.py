"""What notebooks show of each kind of value, as IPython finds it."""

import numpy as np
import pytest

import seqray
from classifier_boxes import remainder_automaton, three_classes
from copied import copied
from displays import NASTY, shown, text_of
from explore.subjects import large, machine
from pages import blocks
from seqray.explain.class_facts import class_facts
from seqray.notebook import drawing

MAX_CHARACTERS = 250_000


@pytest.fixture(scope="module")
def nasty():
    n = len(NASTY)
    return seqray.WeightedAutomaton(NASTY, [1], np.full((n, 1, 1), 0.5 / n), [0.5])


def test_a_small_automaton_is_drawn():
    data = shown(machine())
    assert data["image/svg+xml"].startswith("<svg ")
    assert data["image/svg+xml"] in data["text/html"]
    assert data["text/plain"] == "WeightedAutomaton(4 states, 4 symbols)"


@pytest.mark.parametrize(
    "make",
    [
        remainder_automaton,
        lambda: seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0]),
        lambda: copied().copies[0].automaton,
        lambda: seqray.name_states(machine()),
    ],
    ids=["classifier", "deterministic", "structured", "named"],
)
def test_automata_of_every_kind_are_drawn(make):
    value = make()
    assert "image/svg+xml" in shown(value)
    assert "words begin here" in text_of(value)


@pytest.mark.parametrize("value", [large(), large(20, 300)], ids=["states", "symbols"])
def test_a_large_automaton_is_a_short_table(value):
    data = shown(value)
    assert "image/svg+xml" not in data
    assert len(data["text/html"]) < 3000
    assert f"{value.n_states}" in text_of(value)


def test_an_extraction_is_a_card_with_a_drawing_and_remarks():
    text = text_of(seqray.extract(three_classes()))
    assert "chosen among ranks 1 … 3" in text
    assert "The automaton computes the" in text
    assert "after a" in text


def test_a_card_says_where_the_drawing_is_that_it_does_not_show(monkeypatch):
    monkeypatch.setattr(drawing, "MAX_SHOWN_STATES", 1)
    text = text_of(copied())
    assert "draw() draws up to 500 states" in text
    assert "words begin here" not in text


def test_the_python_of_the_docs_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("notebooks.md", "python")
    exec(code, {})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["automaton.svg", "page.html"]


def test_what_was_learnt_is_a_card_with_a_drawing():
    learned = seqray.learn_dfa(three_classes(), seed=1)
    text = text_of(learned)
    assert "counterexamples" in text
    assert "after a" in text
    assert learned.draw().svg == learned.automaton.draw().svg


def test_what_was_determinised_says_what_it_loses():
    assert "3 deterministic states for 3" in text_of(seqray.determinise(remainder_automaton()))


def test_fidelity_is_a_table():
    fidelity = seqray.compare(machine(), machine(), ["", "ab"])
    assert "kl_per_symbol" in text_of(fidelity)
    assert "→ 2" in text_of(copied().fidelity)


def test_decisions_have_a_table_of_classes():
    text = text_of(seqray.compare(three_classes(), remainder_automaton(), ["", "a", "ab"]))
    assert "of the box in rows" in text


@pytest.mark.parametrize(
    "explain",
    [
        lambda: seqray.explain_word(machine(), "ab"),
        lambda: seqray.explain_decision(remainder_automaton(), "ab"),
        lambda: seqray.find_flips(remainder_automaton(), "ab"),
        lambda: seqray.facts(machine()),
        lambda: class_facts(remainder_automaton()),
        lambda: seqray.what_changes(copied(), ranks=[1, 2]),
    ],
    ids=["word", "decision", "flips", "facts", "class facts", "changes"],
)
def test_explanations_show_the_tables_that_they_print(explain):
    explanation = explain()
    text = text_of(explanation)
    title = repr(explanation).splitlines()[0]
    assert title in text
    assert len(shown(explanation)["text/html"]) < MAX_CHARACTERS


def test_names_of_symbols_are_text_everywhere(nasty):
    for value in (nasty, seqray.name_states(nasty), seqray.explain_word(nasty, NASTY)):
        assert "window.hit" in text_of(value)
    text_of(seqray.facts(nasty))
    text_of(seqray.extract(nasty, n_prefixes=20, n_suffixes=20, purpose="reading"))


def test_a_page_about_an_extraction_names_what_it_is_given():
    page = copied().explore(rank=1, name="a machine")
    assert "a machine</span>, seen as one state" in page.html
