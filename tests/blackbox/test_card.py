import json
import re
from dataclasses import fields, replace

import numpy as np
import pytest

from pages import ROOT, blocks, json_of
from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card, card_path, load_card, read_card
from seqray.blackbox.frameworks.padded import sequence_box
from seqray.blackbox.frameworks.stepped import stepped_box
from seqray.blackbox.frameworks.torch_stack import NETWORK_FIELDS
from seqray.util.errors import ArgumentError, FileError, MissingFileError

AB = Alphabet("ab")


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


LOGITS = np.array([[1.0, -2.0, 0.5, 3.0], [0.0, 0.0, 0.0, 0.0]])


# From words to ids ----------------------------------------------------------------------------


def test_a_symbol_is_read_as_its_place_in_the_alphabet_by_default():
    card = Card(AB, "value")
    assert card.of_words(AB.words(["ab", "ba"])).tolist() == [[0, 1], [1, 0]]
    assert card.of_words(AB.words(["", "", ""])).shape == (3, 0)


def test_ids_and_markers_are_those_of_the_card():
    card = Card(AB, "value", ids=[7, 5], start=1, stop=2)
    assert card.of_words(AB.words(["ab", "bb"])).tolist() == [[1, 7, 5, 2], [1, 5, 5, 2]]
    assert card.of_words(AB.words([""])).tolist() == [[1, 2]]
    assert replace(card, start=None).of_words(AB.words(["a"])).tolist() == [[7, 2]]


# From scores to answers -----------------------------------------------------------------------


def test_logits_go_through_a_softmax_over_all_outputs():
    card = Card(AB, "next", renormalise=False)
    np.testing.assert_allclose(np.exp(card.log_next(LOGITS)), softmax(LOGITS)[:, :3])
    assert card.leaks


def test_probabilities_are_divided_by_their_sum_over_symbols_and_end():
    card = Card(AB, "next")
    np.testing.assert_allclose(np.exp(card.log_next(LOGITS)), softmax(LOGITS[:, :3]))
    assert not card.leaks


@pytest.mark.parametrize("scores", ["logits", "log-probabilities", "probabilities"])
def test_the_three_kinds_of_scores_say_the_same(scores):
    probabilities = softmax(LOGITS)
    given = {
        "logits": LOGITS,
        "log-probabilities": np.log(probabilities),
        "probabilities": probabilities,
    }
    card = Card(AB, "next", scores, columns=[3, 0], end=2)
    expected = probabilities[:, [3, 0, 2]] / probabilities[:, [3, 0, 2]].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(card.log_next(given[scores])), expected)


def test_an_impossible_symbol_has_no_probability():
    card = Card(AB, "next", "probabilities")
    np.testing.assert_array_equal(card.log_next(np.array([[0.5, 0, 0.5]]))[0, 1], -np.inf)
    masked = Card(AB, "next").log_next(np.array([[0.0, -np.inf, 0.0]]))
    np.testing.assert_allclose(np.exp(masked), [[0.5, 0, 0.5]])


def test_where_nothing_is_possible_the_answer_is_nan_and_nothing_warns():
    card = Card(AB, "next", "probabilities")
    assert np.isnan(card.log_next(np.array([[0.0, 0, 0, 1]]))).all()


def test_large_logits_do_not_overflow():
    probabilities = np.exp(Card(AB, "next").log_next(np.array([[1e30, 0, -1e30]])))
    np.testing.assert_array_equal(probabilities, [[1, 0, 0]])


def test_values_are_taken_as_they_are():
    scores = np.array([[1.5, -2.0], [0.25, 4.0]])
    np.testing.assert_array_equal(Card(AB, "value").values(scores), [1.5, 0.25])
    np.testing.assert_array_equal(Card(AB, "value", column=1).values(scores), [-2, 4])
    np.testing.assert_array_equal(Card(AB, "value").values(np.array([3.0, 4.0])), [3, 4])
    probable = Card(AB, "value", "probabilities", column=1)
    np.testing.assert_array_equal(probable.values(scores), [-2, 4])


def test_the_value_of_logits_is_the_probability_of_a_class():
    card = Card(AB, "value", "logits", column=3)
    np.testing.assert_allclose(card.values(LOGITS), softmax(LOGITS)[:, 3])
    logs = np.log(softmax(LOGITS))
    card = Card(AB, "value", "log-probabilities", column=3)
    np.testing.assert_allclose(card.values(logs), softmax(LOGITS)[:, 3])


def test_a_single_logit_is_that_of_yes():
    actual = Card(AB, "value", "logits").values(np.array([[0.0], [2.0], [-800.0]]))
    np.testing.assert_allclose(actual, [0.5, 1 / (1 + np.exp(-2)), 0])


@pytest.mark.parametrize("scores", [np.zeros((2, 2)), np.zeros((2, 3, 4)), np.zeros(2)])
def test_scores_without_the_outputs_of_the_card_are_refused(scores):
    with pytest.raises(ArgumentError, match=r"no output 2: alphabet and model disagree"):
        Card(AB, "next").log_next(scores)


# What cannot be a card ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"answers": "both"}, "answers: expected one of next, value, classes, got 'both'"),
        ({"scores": "odds"}, "scores: expected one of logits, "),
        ({"answers": "next", "scores": "values"}, 'has no "values"'),
        ({"answers": "next", "stop": 3}, "stop: a network that predicts the next symbol reads no"),
        ({"answers": "next", "empty": 0}, "empty: only a network that answers a value needs it"),
        ({"ids": [1]}, "ids: expected one for each of the 2 symbols, got 1"),
        ({"ids": [1, -2]}, "ids: expected a whole number from 0, got -2"),
        ({"ids": [1, 2.5]}, r"ids: expected a whole number from 0, got 2\.5"),
        ({"ids": "12"}, "ids: expected a list of 2 numbers, got '12'"),
        ({"ids": 5}, "ids: expected a list of 2 numbers, got 5"),
        ({"columns": ["a", "b"]}, "columns: expected a whole number from 0, got 'a'"),
        ({"start": True}, "start: expected a whole number from 0, got True"),
        ({"start": [1, "b"]}, "start: expected a whole number from 0, got 'b'"),
        ({"start": "12"}, "start: expected a whole number from 0, got '12'"),
        ({"start": [1, 2], "stop": 3, "limit": 2}, "limit: 2 ids have no room for the 3 of start"),
        ({"end": -1}, "end: expected a whole number from 0, got -1"),
        ({"column": None}, "column: expected a whole number from 0, got None"),
        ({"limit": 0}, "limit: expected a whole number from 1, got 0"),
        ({"renormalise": "yes"}, "renormalise: expected true or false, got 'yes'"),
        ({"empty": float("nan")}, "empty: expected a finite number, got nan"),
        ({"empty": "0"}, "empty: expected a number, got '0'"),
        ({"empty": True}, "empty: expected a number, got True"),
        ({"network": "gru"}, "network: expected an object, got 'gru'"),
        ({"answers": "next", "end": 1}, r"columns and end: expected all different, got \[0, 1, 1"),
    ],
)
def test_a_field_that_cannot_be_used_is_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        Card(**{"alphabet": AB, "answers": "value", **fields})


# Files ----------------------------------------------------------------------------------------


def test_a_card_comes_back_from_its_file(tmp_path):
    model = tmp_path / "net.v2.onnx"
    model.touch()
    cards = [
        Card(AB, "next", start=np.int64(2), columns=np.array([1, 0]), network={"cell": "gru"}),
        Card(Alphabet([1, "é", 2.5]), "value", "logits", stop=5, empty=0.5, pad=7, limit=9),
        Card(AB, "value", start=[4, 2], stop=(5, 6)),
    ]
    for card in cards:
        card.save(card_path(model))
        assert load_card(model) == card
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "net.v2.onnx",
        "net.v2.seqray.json",
    ]


def test_the_card_of_a_folder_lies_inside_it(tmp_path):
    assert card_path(tmp_path) == tmp_path / "seqray.json"
    assert card_path(tmp_path / "no_ending") == tmp_path / "no_ending.seqray.json"


def test_a_card_may_be_short():
    card = read_card('{"alphabet": "ab", "answers": "next", "start": 2}', "here")
    assert card == Card(AB, "next", "logits", ids=(0, 1), start=2, columns=(0, 1))
    assert card.outputs == (0, 1, 2)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", FileError, "net.seqray.json: not a card of seqray, or damaged"),
        ('{"alphabet": ', FileError, "not a card of seqray, or damaged"),
        ("[" * 100_000, FileError, "not a card of seqray, or damaged"),
        ('["a"]', FileError, "expected an object, got list"),
        ("{}", ArgumentError, "net.seqray.json: the field 'alphabet' is missing"),
        ('{"alphabet": "ab"}', ArgumentError, "the field 'answers' is missing"),
        ({"answer": "next"}, ArgumentError, "unknown field 'answer': expected answers$"),
        ({"xyzzy": 1}, ArgumentError, "unknown field 'xyzzy': expected alphabet or answers or"),
        ({"alphabet": 2}, ArgumentError, "alphabet: expected a list of symbols, got 2"),
        ({"alphabet": []}, ArgumentError, "an alphabet needs at least one symbol"),
        ({"alphabet": [["a"], "b"]}, ArgumentError, "not hashable"),
        ({"empty": float("inf")}, ArgumentError, "empty: expected a finite number"),
        (b"\xff", FileError, "expected UTF-8 text"),
    ],
    ids=lambda x: str(x)[:20],
)
def test_a_damaged_card_is_refused_and_named(tmp_path, text, kind, message):
    if isinstance(text, dict):
        text = json.dumps({"alphabet": ["a", "b"], "answers": "value", **text})
    model = tmp_path / "net.onnx"
    model.touch()
    card_path(model).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(kind, match=message):
        load_card(model)


def test_a_missing_card_is_shown_by_an_example_that_is_one(tmp_path):
    model = tmp_path / "net.onnx"
    model.touch()
    with pytest.raises(MissingFileError, match=r"net\.seqray\.json is missing") as error:
        load_card(model)
    text = str(error.value)
    read_card(text[text.index("{") : text.index("}") + 1], "the message")


def test_a_missing_model_is_reported_before_its_missing_card(tmp_path):
    with pytest.raises(MissingFileError, match=r"net\.onnx: there is no such file or folder$"):
        load_card(tmp_path / "net.onnx")


# What the documentation shows -----------------------------------------------------------------


@pytest.mark.parametrize("document", json_of("cards.md"))
def test_every_card_on_the_page_is_one(document):
    written = json.loads(json.dumps(Card.from_json(document).to_json()))
    document = {name: value for name, value in document.items() if name != "task"}
    assert {**written, **document} == written


def test_every_field_has_its_line_on_the_page():
    text = (ROOT / "docs" / "cards.md").read_text("utf-8")
    for name in (*(field.name for field in fields(Card)), *NETWORK_FIELDS):
        assert re.search(rf"^\|.*`{name}`.* \|", text, re.MULTILINE) or f"`{name}` is for" in text


def test_the_python_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("cards.md", "python")
    exec(code, {})
    (tmp_path / "net.onnx").touch()
    assert load_card("net.onnx") == Card.from_json(json_of("cards.md")[0])


def test_the_longest_word_leaves_room_for_what_is_read_around_it():
    assert Card(Alphabet("ab"), "value").max_length is None
    assert Card(Alphabet("ab"), "value", limit=9).max_length == 9
    assert Card(Alphabet("ab"), "value", limit=9, start=2, stop=3).max_length == 7
    assert Card(Alphabet("ab"), "value", limit=9, start=[2, 4], stop=[3, 5]).max_length == 5


def test_several_ids_may_stand_before_and_after_every_word():
    card = read_card('{"alphabet": "ab", "answers": "value", "start": [5, 6], "stop": [7]}', "here")
    assert (card.start, card.start_ids, card.stop, card.stop_ids) == ((5, 6), (5, 6), 7, (7,))
    assert card.of_words(AB.words(["ab", "ba"])).tolist() == [[5, 6, 0, 1, 7], [5, 6, 1, 0, 7]]
    assert card.of_words(AB.words([""])).tolist() == [[5, 6, 7]]
    assert Card(AB, "value", start=[]).start is None


def test_two_things_are_never_read_off_one_output():
    card = Card(AB, "next", ids=[5, 6], start=3, end=1)  # fine for a language model of tokens
    with pytest.raises(ArgumentError, match=r"expected all different, got \[0, 1, 1\]"):
        sequence_box(max, card, who="the net")
    with pytest.raises(ArgumentError, match=r"expected all different, got \[0, 1, 1\]"):
        stepped_box(None, card, who="the net")


def test_a_card_takes_symbols_as_they_are():
    assert Card("abcd", "value").alphabet == Alphabet("abcd")
    assert Card(["do", "re"], "value").alphabet == Alphabet(["do", "re"])


def test_a_dictionary_is_no_alphabet_of_a_card():
    with pytest.raises(ArgumentError, match=r"got a dictionary: .*Card\.from_json"):
        Card({"alphabet": "ab", "answers": "value"}, "value")


# Classes --------------------------------------------------------------------------------------


def classes_card(n=3, **options):
    return Card(AB, "classes", classes=[f"c{i}" for i in range(n)], **options)


def test_a_task_says_what_the_answers_are():
    document = {"alphabet": ["a", "b"], "task": "classification", "classes": ["no", "yes"]}
    card = Card.from_json(document)
    assert (card.answers, card.scores, card.classes) == ("classes", "logits", ("no", "yes"))
    assert Card.from_json(card.to_json()) == card


def test_class_scores_are_a_softmax_over_the_classes():
    np.testing.assert_allclose(classes_card(4).class_scores(LOGITS), softmax(LOGITS))
    chosen = classes_card(2, columns=[3, 1]).class_scores(LOGITS)
    np.testing.assert_allclose(chosen, softmax(LOGITS[:, [3, 1]]))


@pytest.mark.parametrize("scores", ["logits", "log-probabilities", "probabilities"])
def test_the_three_kinds_of_class_scores_say_the_same(scores):
    probabilities = softmax(LOGITS)
    given = {
        "logits": LOGITS,
        "log-probabilities": np.log(probabilities),
        "probabilities": probabilities,
    }
    card = classes_card(4, scores=scores)
    np.testing.assert_allclose(card.class_scores(given[scores]), probabilities)


@pytest.mark.parametrize("scores", ["logits", "log-probabilities", "probabilities"])
def test_a_single_output_is_that_of_the_second_of_two_classes(scores):
    output = {"logits": np.log(4.0), "log-probabilities": np.log(0.8), "probabilities": 0.8}
    rows = classes_card(2, scores=scores).class_scores(np.array([[output[scores]]]))
    np.testing.assert_allclose(rows, [[0.2, 0.8]])


def test_classes_without_names_are_numbered():
    assert Card(AB, "classes").with_classes(1).classes == ("0", "1")
    assert classes_card(3).with_classes(9).classes == ("c0", "c1", "c2")


@pytest.mark.parametrize("n", [2, 3, 5])
def test_classes_that_are_not_as_many_as_the_outputs_are_refused(n):
    with pytest.raises(ArgumentError, match=rf"classes: the card names {n} .* has 4 outputs") as e:
        classes_card(n).class_scores(LOGITS)
    assert '"classes": [...]' in str(e.value)
    assert '"columns": [...]' in str(e.value)


def test_columns_choose_some_of_the_outputs_for_classes():
    chosen = classes_card(2, columns=[0, 1]).class_scores(LOGITS)
    np.testing.assert_allclose(chosen, softmax(LOGITS[:, :2]))
    again = Card.from_json(classes_card(2, columns=[0, 1]).to_json())
    np.testing.assert_allclose(again.class_scores(LOGITS), chosen)
    with pytest.raises(ArgumentError, match="which has no output 7"):
        classes_card(2, columns=[0, 7]).class_scores(LOGITS)


def test_a_saved_card_of_classes_does_not_choose_outputs_that_nobody_chose():
    with pytest.raises(ArgumentError, match="classes: the card names 2"):
        Card.from_json(classes_card(2).to_json()).class_scores(LOGITS)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"answers": "value", "classes": ["no", "yes"]}, 'say "task": "classification"'),
        ({"answers": "next", "threshold": 0.5}, "threshold: only a classifier has it"),
        ({"task": "classification", "answers": "next"}, "leave out answers"),
        ({"task": "regression"}, "task: expected one of classification"),
        ({"task": "classification", "scores": "values"}, "a network that classifies has no"),
        ({"task": "classification", "classes": ["x"]}, "at least two names"),
        ({"task": "classification", "classes": ["x", "y"], "threshold": 2}, "between 0 and 1"),
        (
            {"task": "classification", "classes": ["x", "y"], "columns": [1]},
            "one for each of the 2 classes",
        ),
    ],
)
def test_a_classifier_s_field_that_cannot_be_used_is_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        Card.from_json({"alphabet": ["a", "b"], **fields})


def test_whole_sequences_are_classified():
    def forward(ids, lengths):
        return np.stack([np.full(len(ids), 0.0), ids.sum(axis=1) * 1.0, lengths * 0.0], axis=1)

    box = sequence_box(forward, Card(AB, "classes", empty=[0.5, 0.25, 0.25]), who="the network")
    assert box.classes == ("0", "1", "2")
    assert box.scores([""]).tolist() == [[0.5, 0.25, 0.25]]
    np.testing.assert_allclose(box.scores(["abb"]), softmax(np.array([[0.0, 2, 0]])))


def test_the_empty_word_of_two_classes_needs_one_number():
    forward = lambda ids, lengths: ids.sum(axis=1) * 1.0  # noqa: E731
    box = sequence_box(forward, Card(AB, "classes", empty=0.25), who="the network")
    assert box.scores([""]).tolist() == [[0.75, 0.25]]
    assert box.weights(["b"]).tolist() == [pytest.approx(1 / (1 + np.exp(-1)))]


class CountingStepper:
    """Counts b; the scores are of two classes, or of as many as it is told."""

    def begin(self):
        return None, np.zeros(1)

    def advance(self, state, parents, ids):
        counts = state[parents] + ids
        return np.stack([np.zeros(len(ids)), counts, -counts], axis=1), counts


def test_a_network_with_states_is_classified():
    card = Card(AB, "classes", empty=[1, 0, 0])
    box = stepped_box(CountingStepper(), card, who="the network", fingerprint="it 1")
    assert box.classes == ("0", "1", "2")
    assert box.threshold is None
    np.testing.assert_allclose(box.scores(["bb"]), softmax(np.array([[0.0, 2, -2]])))
    assert box.weights(["bb"])[0] == box.scores(["bb"])[0, -1]
    named = stepped_box(CountingStepper(), classes_card(3, empty=[1, 0, 0]), who="the network")
    assert named.classes == ("c0", "c1", "c2")
