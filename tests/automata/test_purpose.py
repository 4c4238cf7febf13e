import pytest

from seqray.automata.purpose import Purpose, named_purpose
from seqray.util.errors import ArgumentError


def test_a_purpose_has_a_name():
    assert [named_purpose(name) for name in ("reading", "copying")] == [*Purpose]


def test_another_name_is_refused_with_those_there_are():
    with pytest.raises(ArgumentError, match="expected one of reading, copying, got 'drawing'"):
        named_purpose("drawing")
