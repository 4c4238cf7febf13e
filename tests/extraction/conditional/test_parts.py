import pytest

from seqray.extraction.conditional.parts import CounterexampleSearch, PartSizes, SearchOutcome


def test_a_part_costs_its_share_and_keeps_more_of_the_contexts():
    whole = PartSizes(20_000, 1500, 250)
    assert whole.share(1) == whole
    for share in (1 / 4, 1 / 16, 1 / 64):
        part = whole.share(share)
        assert part.words == pytest.approx(share * 20_000, abs=1)
        assert part.contexts * part.columns == pytest.approx(share * 1500 * 250, rel=0.05)
        assert part.contexts > share * 1500
    assert whole.share(1e-6) == PartSizes(20, 1, 8)


def test_a_search_is_saved_with_the_text_of_its_outcome():
    search = CounterexampleSearch(9, 2, 0.5, "ab", 3, SearchOutcome.NO_NEARER)
    assert search.to_json() == {
        "questions": 9,
        "states": 2,
        "distance": 0.5,
        "after": "ab",
        "words": 3,
        "then": "no nearer",
    }
