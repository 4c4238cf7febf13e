"""What notebooks say about automata, extractions and what was learnt."""

from dataclasses import replace

import seqray
from classifier_boxes import remainder_automaton, three_classes
from copied import copied
from explore.subjects import large, machine
from seqray.notebook.summaries import automaton_section, extraction_section, learned_section


def rows(section):
    return dict(section.rows)


def test_a_large_automaton_is_summed_up_by_its_sizes():
    said = rows(automaton_section(large()))
    assert said["states"] == "100"
    assert said["symbols"].startswith("20: 0, 1, 2")
    assert said["symbols"].endswith(", 11, …")
    assert said["multiplications per symbol"] == "up to 10,000"
    assert said["size"] == "1.6 MB"


def test_classes_and_names_are_known():
    assert rows(automaton_section(remainder_automaton()))["classes"] == "zero, one, two"
    section = automaton_section(seqray.name_states(machine()))
    assert section.title == "NamedAutomaton"
    assert rows(section)["states"] == "4"


def test_an_extraction_says_what_was_queried_and_how_faithful_it_is():
    extraction = seqray.extract(three_classes())
    said = rows(extraction_section(extraction))
    assert said["states"] == "3, chosen among ranks 1 … 3"
    assert said["fidelity"].startswith("score 1, on ")
    assert said["queries"].startswith(f"{extraction.settings.questions:,} (whole words); ")
    assert "box" not in said
    assert "ended early" not in said


def test_an_extraction_says_what_a_run_folder_knows_and_no_secret():
    settings = replace(
        copied().settings, about={"box": "http://me:secret@host/"}, stopped="the time is over"
    )
    said = rows(extraction_section(replace(copied(), settings=settings)))
    assert said["box"].endswith("@host/")
    assert "secret" not in said["box"]
    assert said["ended early"] == "the time is over"
    assert said["largest copy"].startswith("7 states, score 0.99")
    assert "loses 0.01 bits per symbol of 2" in said["largest copy"]


def test_an_extraction_of_an_old_run_folder_may_not_know_its_queries():
    settings = replace(copied().settings, questions=None)
    assert "queries" not in rows(extraction_section(replace(copied(), settings=settings)))


def test_what_was_learnt_says_what_it_cost_and_why_it_ended():
    said = rows(learned_section(seqray.learn_dfa(three_classes(), seed=1)))
    assert said["automaton"].startswith("DeterministicAutomaton(3 states")
    assert "searches for counterexamples" in said["queries"]
    assert said["end"] == "the last search found no word that splits another state"
    assert said["largest distance"] == "0"
