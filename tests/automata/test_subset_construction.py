import pytest

from seqray import ArgumentError
from seqray.automata.subset_construction import MAX_STATES, explored


def test_each_key_is_numbered_once_in_the_order_of_discovery():
    keys, table = explored("", lambda word: [(word + "a")[-1:], (word + "b")[-1:]])
    assert keys == ["", "a", "b"]
    assert table.tolist() == [[1, 2], [1, 2], [1, 2]]


def test_a_table_without_end_is_refused():
    with pytest.raises(ArgumentError, match=f"more than {MAX_STATES:,} states"):
        explored(0, lambda n: [n + 1])
