"""What a difference says: sentences, tables, JSON."""

import json
import math
from dataclasses import replace

import pytest

import seqray
from compared_pairs import chain, changed, rarely
from explore.subjects import machine
from seqray.explain.difference.distance import DistanceFigure
from seqray.explain.difference.record import shown_figure


@pytest.fixture(scope="module")
def difference():
    return seqray.diff(machine(), changed(machine()))


def test_a_difference_is_said_in_one_sentence(difference):
    figure = difference.figure
    one, other = ("A", "B") if figure == difference.distance.figures[0] else ("B", "A")
    assert difference.headline == f"They differ by {figure.value:.3g} bits per symbol"
    assert difference.explanation.startswith(f"on 2,000 words drawn from {one}, with ")
    assert f"{other} needs that much more than {one} (95 % interval " in difference.summary
    assert repr(difference) == f"Difference(A → B: {difference.summary})"
    assert str(difference).startswith(difference.summary)
    assert not difference.is_same


def test_two_that_are_the_same_are_said_to_be():
    same = seqray.diff(machine(), machine())
    assert same.is_same
    assert same.summary == "No difference: both give the same answer to every word."
    assert "No arrow differs by 0.01 or more." in str(same)
    box = seqray.language_model(lambda words: [[0.5, 0.25, 0.25]] * len(words), "ab")
    same = seqray.diff(box, box, with_states=False, words=["ab"])
    assert same.explanation == "both give the same answer to every word that was looked at."


def test_a_difference_on_rare_words_alone_is_one():
    rare = seqray.diff(rarely(0.5), rarely(0.1), with_states=False)
    assert rare.figure.value == 0
    assert not rare.is_same
    assert rare.headline == "They differ on rare words only"
    assert rare.explanation == "on 2,000 words drawn from A they do not differ."


def test_classes_and_weights_have_sentences_of_their_own():
    even = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    trapped = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 2], [2, 2]], [1, 0, 1])
    decided = seqray.diff(even, trapped, words=["ab", "a", "b", ""])
    assert decided.headline == "They decide differently on 25 % of the words"
    assert decided.explanation.startswith("counted on 4 given words (95 % interval ")
    assert "separating_word" in str(decided)
    one = seqray.WeightedAutomaton("a", [1], [[[2]]], [1])
    weighed = seqray.diff(one, seqray.scale(one, 1.5), words=["a", "aa"])
    assert weighed.headline == "Their weights differ by 50 %"
    assert weighed.explanation.startswith("on 2 given words, relative to the weights of A")


def test_json_has_everything_and_no_word_is_cut(difference):
    document = json.loads(json.dumps(difference.to_json()))
    assert document["distance"]["value"] == difference.figure.value
    assert document["distance"]["a_to_b"]["metrics"]["kl_per_symbol"] > 0
    assert document["distance"]["exact"]["is_equivalent"] is False
    assert [tuple(each["word"]) for each in document["words"]] == [
        each.word for each in difference.different
    ]
    assert len(document["arrows"]) == len(difference.changes()) == 2
    assert {each["part"] for each in document["arrows"]} == {"step", "words end"}
    assert [each["a"] for each in document["states"]["matches"]] == [*difference.states.a.names]
    assert document["a"] == {"name": "A", "n_queries": 0, "n_states": 4, "is_extracted": False}


def test_tables_name_the_arrows_that_differ(difference):
    arrows = difference.sections()[-1]
    assert arrows.title == "Arrows that differ"
    assert {row[0] for row in arrows.rows} == {"changed"}
    assert sorted(row[-1] for row in arrows.rows) == ["+0.2", "-0.2"]
    assert any(row[1].endswith("→ end") for row in arrows.rows)


def test_many_changes_are_counted_and_not_all_shown():
    many = seqray.diff(machine(6), machine(4))
    arrows = many.sections()[-1]
    assert len(arrows.rows) == 20
    assert f"{len(many.changes())} arrows differ" in arrows.note
    assert "The first 20 are shown" in arrows.note
    assert any("only in A" in row for row in many.sections()[-2].rows)


def test_extraction_that_loses_more_than_the_boxes_differ_is_noise(difference):
    assert not difference.is_below_noise
    for loss, is_noise in ((1e-9, False), (1.0, True)):
        states = replace(difference.states, loss_a=loss, loss_b=1e-9)
        noisy = replace(difference, states=states)
        assert noisy.is_below_noise == is_noise
        titles = [section.title for section in noisy.sections()[2:]]
        assert titles == (["States and arrows"] if is_noise else ["States", "Arrows that differ"])
        assert noisy.to_json()["is_below_noise"] == is_noise
    noisy = replace(difference, states=replace(difference.states, loss_a=1.0, loss_b=0.25))
    note = noisy.sections()[-1].note
    assert "miss their boxes by 1 and 0.25 (bits per symbol); the boxes differ by 0." in note
    assert all(option in note for option in ("--no-states", "--max-length N", "seqray extract"))


def scored(share):
    """Return a classifier that decides by the last symbol, with some probability."""
    rows = {"": [share, 1 - share], "a": [share, 1 - share], "b": [1 - share, share]}
    return seqray.classifier(lambda ws: [rows["".join(w[-1:])] for w in ws], "ab", ["x", "y"])


def test_classifiers_that_decide_alike_have_the_same_classes_and_no_arrows_of_extraction():
    alike = seqray.diff(scored(0.9), scored(0.8), words=["ab", "a", "b", ""], with_states=False)
    assert alike.is_same
    assert alike.summary == (
        "They decide alike: both give the same class to every word that was looked at; their class "
        "probabilities differ by 0.1 on average."
    )
    same = seqray.diff(scored(0.9), scored(0.9), words=["ab"], with_states=False)
    assert same.summary == (
        "No difference: both give the same class to every word that was looked at."
    )
    even = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    odd = seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [0, 1])
    states = replace(seqray.diff(even, odd, words=["ab"]).states, loss_a=0.0, loss_b=0.1)
    text = str(replace(alike, states=states))
    assert "Not shown: arrows may differ by extraction alone." in text
    assert "on the words that were looked at the boxes differ by 0." in text
    assert "arrows differ by" not in text


def test_without_states_there_are_no_arrows():
    plain = seqray.diff(chain(), chain((0.4, 0.5)), with_states=False)
    assert plain.states is None
    assert plain.changes() == ()
    assert len(plain.sections()) == 2
    assert not plain.is_below_noise


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (DistanceFigure("", 0.5, None), "0.5"),
        (DistanceFigure("", 1e-15, (0.0, 0.002)), "0 (0 … 0.002)"),
        (DistanceFigure("", 0.99999, (0.9999, 1.0)), "0.99999 (0.9999 … 1)"),
        (DistanceFigure("", 2.0, (math.nan, math.nan)), "2"),
    ],
)
def test_a_figure_is_shown_with_its_interval(figure, text):
    assert shown_figure(figure) == text
