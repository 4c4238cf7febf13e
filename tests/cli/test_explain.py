import json

import pytest

import seqray
from seqray import open_run


@pytest.fixture
def prefix():
    return ("explain",)


@pytest.fixture
def extracted(folder, machine):
    found = seqray.extract(machine, prefixes=40, suffixes=40, max_rank=4)
    seqray.save_run(found, "run")
    return folder


@pytest.fixture
def letters(folder):
    """An automaton over characters: how many a, less half of how many b."""
    wa = seqray.WeightedAutomaton("ab", [1, 0], [[[1, 1], [0, 1]], [[1, -0.5], [0, 1]]], [0, 1])
    wa.save("letters.json")
    return wa


def test_a_word_is_explained_with_the_box_beside_it(extracted, run):
    text = run("run", "0 2 1", "--against", "wa:machine.json")
    for title in (
        "The word 0 2 1",
        "Symbol by symbol",
        "What comes next",
        "One edit away",
        "How far to trust this",
    ):
        assert title in text
    assert "box" in text


def test_symbols_may_be_arguments_of_their_own(extracted, run):
    assert run("run", "0", "2", "1") == run("run", "0 2 1")


def test_json_has_all_numbers(extracted, run):
    found = json.loads(run("run", "0 2 1", "--rank", "2", "--json"))
    automaton = open_run("run").automaton(2)
    assert found["word"] == [0, 2, 1]
    assert found["weight"] == pytest.approx(automaton.weight([0, 2, 1]))
    assert len(found["states"]) == 2
    assert found["box_weight"] is None
    expected = seqray.explain_word(automaton, [0, 2, 1]).shapley.values
    assert found["shapley"] == pytest.approx(expected.tolist())


def test_words_of_characters_and_the_empty_word_are_read(letters, run):
    assert json.loads(run("letters.json", "aab", "--json"))["weight"] == 1.5
    assert json.loads(run("letters.json", "", "--json"))["word"] == []
    assert "The word λ" in run("letters.json", "λ")


def test_the_background_can_be_chosen(folder, machine, run):
    arguments = ("machine.json", "0 2 1", "--json")
    values = {
        options: json.loads(run(*arguments, *options))["expected"]
        for options in (
            (),
            ("--background", "markov"),
            ("--words", "words.txt"),
            ("--background", "markov", "--words", "words.txt"),
        )
    }
    assert len(set(values.values())) == 4
    words = seqray.read_words("words.txt", alphabet=machine.alphabet)
    behind = seqray.Background.bigrams(words)
    exact = seqray.shapley_values(machine, [0, 2, 1], background=behind)
    assert [*values.values()][-1] == pytest.approx(exact.expected)


def test_fewer_neighbours_can_be_asked_for(folder, run):
    assert "One edit away" not in run("machine.json", "0 2", "--neighbours", "0")


def test_without_a_word_the_whole_is_described(extracted, run):
    text = run("run")
    for title in ("The whole", "The most probable words", "The states", "The symbols"):
        assert title in text
    assert "From rank to rank" in text
    assert "From rank to rank" not in run("run", "--rank", "2")
    assert "From rank to rank" not in run("machine.json")


def test_the_whole_can_be_json_too(extracted, run, machine):
    found = json.loads(run("run", "--json"))
    assert found["total"] == pytest.approx(1, abs=0.01)
    assert found["changes"]["steps"][0]["before"] == 1
    alone = json.loads(run("wa:machine.json", "--json"))
    assert alone["changes"] is None
    assert alone["mean_length"] == pytest.approx(seqray.facts(machine).mean_length)


def test_a_run_of_one_rank_has_no_changes(folder, run):
    box = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    seqray.save_run(seqray.extract(box, prefixes=20, suffixes=20), "one")
    assert "From rank to rank" not in run("one")


def test_symbols_that_look_like_markup_are_shown_as_they_are(folder, run):
    wa = seqray.WeightedAutomaton(["[bold]", "[/]"], [1], [[[0.5]], [[0.25]]], [0.25])
    wa.save("odd.json")
    assert "[bold]" in run("odd.json", "[bold] [/]")


@pytest.mark.parametrize("option", [("--against", "wa:machine.json"), ("--words", "words.txt")])
def test_what_belongs_to_a_word_needs_one(folder, fails, option):
    assert f"{option[0]} needs a WORD" in fails(2, "machine.json", *option)


def test_mistakes_are_explained(folder, letters, fails):
    assert "symbol '7' at position 2" in fails(2, "machine.json", "0 7")
    assert "expected the same symbols" in fails(
        2, "machine.json", "0", "--against", "wa:letters.json"
    )
    assert "is no run folder" in fails(2, "machine.json", "0", "--rank", "2")


def test_the_box_that_a_run_remembers_is_queried_if_asked_for(folder, run_both):
    box = seqray.open_black_box("machine.json")
    seqray.save_run(seqray.extract(box, n_prefixes=20, max_rank=3), "run")
    named = run_both("run", "0 2 1", "--against", "wa:machine.json")
    for option in (("--against", "recorded"), ("--trust-run",)):
        printed = run_both("run", "0 2 1", *option)
        assert printed.out == named.out
        assert printed.err == "Box: wa:machine.json, as run remembers it.\n"
    assert run_both("run", "0 2 1").err == ""
