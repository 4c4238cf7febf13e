"""Longest match: what cannot follow a word, as token sequences."""

from seqray.blackbox.longest_match import LongestMatch

SHORT_AND_LONG = [(1,), (2,), (1, 2), (0,)]


def test_nothing_is_excluded_where_no_entry_begins_with_another():
    rule = LongestMatch([(1, 2), (1, 3), (0,)], keeps_all=True)
    (only,) = rule.exclusions()
    assert only.sequences == frozenset()
    assert rule.longer(only) == {}
    assert rule.paths(only) == [(1, 2), (1, 3), (0,)]


def test_what_makes_a_longer_entry_is_excluded_after_a_shorter_one():
    rule = LongestMatch(SHORT_AND_LONG, keeps_all=False)
    nothing, after_1 = rule.exclusions()
    assert rule.sequences_after(0) == after_1.sequences == {(2,)}
    assert rule.longer(nothing) == {0: ((1, 2),)}
    assert after_1.impossible == {1}
    assert (2,) not in rule.paths(after_1)


def test_an_exclusion_goes_on_until_the_longer_entry_is_left():
    rule = LongestMatch([(1,), (2,), (1, 2, 3), (3,), (0,)], keeps_all=False)
    _, after_1, after_1_2 = rule.exclusions()
    assert after_1.sequences == {(2, 3)}
    assert after_1.following == {1: {(3,)}}
    assert after_1_2.impossible == {3}
    assert after_1_2.following == {3: frozenset()}


def test_the_shortest_of_excluded_sequences_stands_for_those_that_begin_with_it():
    rule = LongestMatch([(1,), (1, 2), (1, 2, 3), (0,)], keeps_all=True)
    assert rule.sequences_after(0) == {(2,)}


def test_a_sequence_that_no_entry_meets_is_kept_on_request():
    entries = [(1,), (1, 2), (0,)]
    assert len(LongestMatch(entries, keeps_all=False).exclusions()) == 1
    assert len(LongestMatch(entries, keeps_all=True).exclusions()) == 2


def test_there_are_no_more_exclusions_than_beginnings_of_entries():
    unary = [(1,) * n for n in (1, 2, 30)] + [(1,) * 30 + (2,), (0,)]
    assert len(LongestMatch(unary, keeps_all=True).exclusions()) <= 32
