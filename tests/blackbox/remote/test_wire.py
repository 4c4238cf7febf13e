import json

import pytest

from seqray import Alphabet, BlackBoxError
from seqray.blackbox.remote.wire import Description, read_answers, shown, words_message

SOUND = {"seqray": 1, "alphabet": ["a", "b"], "answers": "value"}


def test_a_description_is_read_and_unknown_fields_are_ignored():
    description = Description.read({**SOUND, "max_length": 5, "colour": "red"}, "the box")
    assert description.alphabet == Alphabet("ab")
    assert description.max_length == 5
    assert description.words_per_request(7) == 7


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"seqray": 2}, "version 2"),
        ({"seqray": "1"}, "no JSON object"),
        ({"alphabet": "ab"}, '"alphabet" is no list'),
        ({"alphabet": ["a", "a"]}, "alphabet"),
        ({"answers": "row"}, 'neither "value" nor "next"'),
        ({"batch_size": 0}, '"batch_size" is 0'),
        ({"deterministic": 1}, '"deterministic" is 1, not true or false'),
    ],
)
def test_a_description_that_cannot_be_used_is_refused_with_what_is_wrong(change, fault):
    with pytest.raises(BlackBoxError, match=fault):
        Description.read({**SOUND, **change}, "the box")


def test_another_description_has_another_digest():
    one = Description.read(SOUND, "the box")
    other = Description.read({**SOUND, "fingerprint": "2"}, "the box")
    assert one.digest() == Description.read(dict(SOUND), "the box").digest()
    assert one.digest() != other.digest()


def test_words_are_sent_as_lists_of_symbols():
    words = Alphabet([1, "b"]).words([[], [1, "b"]])
    assert json.loads(words_message(words)) == {"words": [[], [1, "b"]]}


def test_answers_are_read_and_anything_else_is_refused():
    assert read_answers(b'{"answers": [1, 2]}', "the box") == [1, 2]
    with pytest.raises(BlackBoxError, match="the box answered"):
        read_answers(b"[1, 2]", "the box")


def test_long_texts_are_cut_and_secrets_hidden():
    text = shown("secret " + "x" * 1000, lambda said: said.replace("secret", "***"))
    assert "secret" not in text
    assert len(text) < 300
