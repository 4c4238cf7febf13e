import inspect

import pytest

import seqray
from seqray.util import errors
from seqray.util.errors import (
    ArgumentError,
    FileError,
    SeqrayError,
    Stopped,
    StopReason,
    install_hint,
)

ERRORS = [
    each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, BaseException)
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_has_one_root_and_is_shown_as_a_name_of_seqray(error):
    assert issubclass(error, SeqrayError)
    assert error.__module__ == "seqray"
    assert error.__doc__


@pytest.mark.parametrize("name", ["MissingRankError", "MissingMetricError"])
def test_a_missing_key_shows_its_message_without_quotes(name):
    error = getattr(errors, name)("no such key: try 3")
    assert isinstance(error, KeyError)
    assert str(error) == "no such key: try 3"


def test_a_wrong_argument_is_a_value_error_too():
    with pytest.raises(ValueError, match="alphabet"):
        seqray.Alphabet([])
    assert issubclass(ArgumentError, ValueError)


def test_a_hint_names_the_extra():
    assert "'.[torch]'" in install_hint("torch")


@pytest.mark.parametrize(
    "error", [FileError("a\nb\x1b[2J"), Stopped(StopReason.TIME, "a\nb\x1b[2J")]
)
def test_a_message_is_one_line_without_what_terminals_obey(error):
    assert str(error) == "a b\\x1b[2J"
    assert str(FileError("half a \udcff")) == "half a \\udcff"


def test_a_long_message_loses_its_middle():
    text = str(ArgumentError(f"name: got {'x' * 5000}: expected a shorter one"))
    assert len(text) == 1000
    assert text.startswith("name: got xxx")
    assert text.endswith("x: expected a shorter one")
