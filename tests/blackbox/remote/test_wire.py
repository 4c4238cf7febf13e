"""The messages between seqray and a box in another process."""

import json

import pytest

from seqray.automata.words import Alphabet
from seqray.blackbox.queried import FailedError, QueriedBox, QueriedModel
from seqray.blackbox.remote.wire import (
    DescribedBackend,
    Description,
    UnreadableError,
    read_answers,
    read_json,
    shown,
    words_message,
)
from seqray.util.errors import BlackBoxError

DOCUMENT = {"seqray": 1, "alphabet": ["a", "b"], "answers": "value"}


def described(**changes):
    return Description.read({**DOCUMENT, **changes}, "the box")


def test_a_description_has_defaults_and_ignores_unknown_fields():
    description = described(colour="red")
    assert description == Description(Alphabet("ab"), "value")
    assert description.words_per_request(100) == 100
    assert described(batch_size=8).words_per_request(100) == 8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seqray": True}, 'no JSON object with "seqray": 1'),
        ({"seqray": 9}, "speaks version 9 of the protocol, .* install a newer seqray"),
        ({"alphabet": "ab"}, '"alphabet" is no list of symbols'),
        ({"alphabet": ["a", "a"]}, "describes itself with an alphabet: "),
        ({"answers": "all"}, '"answers" is neither "value" nor "next"'),
        ({"max_length": -1}, '"max_length" is -1, not a whole number from 0'),
        ({"leaks": "no"}, '"leaks" is "no", not true or false|"leaks" is \'no\''),
    ],
)
def test_a_description_that_cannot_be_used_is_refused(changes, message):
    with pytest.raises(BlackBoxError, match=f"the box describes itself .*{message}|{message}"):
        described(**changes)


def test_the_digest_changes_with_what_the_box_is_but_not_with_its_limits():
    digests = {described(**c).digest() for c in ({}, {"name": "x"}, {"fingerprint": "1"})}
    assert len(digests) == 3
    assert described(batch_size=3).digest() in digests


def test_a_description_says_which_kind_of_box_it_is():
    backend = DescribedBackend(description=described(deterministic=True, fingerprint="1"))
    assert isinstance(backend.description.box(backend), QueriedBox)
    assert isinstance(described(answers="next").box(backend), QueriedModel)
    assert backend.deterministic
    assert backend.proven


def test_a_backend_with_a_check_is_another_one_of_the_same_box():
    backend = DescribedBackend(description=described())
    check = pytest.fail
    assert backend.with_check(check).check is check
    assert backend.with_check(check).description is backend.description


def test_words_and_answers_are_json():
    assert json.loads(words_message(Alphabet("ab").words(["", "ab"])))["words"] == [[], ["a", "b"]]
    assert read_answers(b'{"answers": [1, 2.5]}', "the box") == [1, 2.5]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (b"{", UnreadableError, "is no JSON"),
        (b"[" * 100_000, UnreadableError, "is no JSON"),
        (b'{"error": "no"}', FailedError, "it answered the error 'no'"),
        (b"[1]", BlackBoxError, r'the box answered \[1\]: expected \{"answers"'),
    ],
)
def test_what_is_no_answer_is_refused(text, kind, message):
    with pytest.raises(kind, match=message):
        read_answers(text, "the box")


def test_a_text_is_shown_on_one_short_line_without_secrets():
    assert shown(b"a  b\nc", lambda text: text.replace("b", "***")) == "'a *** c'"
    assert len(shown("x" * 1000)) == 200
    assert read_json(b"[NaN]") != [0]
