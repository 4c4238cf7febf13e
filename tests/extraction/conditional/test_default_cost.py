from seqray.extraction.conditional.default_cost import default_cost, max_prefixes
from seqray.extraction.conditional.parts import PartSizes
from seqray.extraction.settings import STRUCTURED


def test_longer_words_cost_more_steps():
    short, long = (default_cost(length, with_copies=False) for length in (4.0, 31.0))
    assert short.n_words == long.n_words == 20_000
    assert long.n_steps - short.n_steps == 27 * 20_000
    assert f"contexts of 20,000 words take up to {short.n_steps:,} prefixes" == short.description


def test_copies_learn_from_more_words_up_to_a_limit():
    sizes = PartSizes(100, 10, 5)
    few, many = (max_prefixes(sizes, 3.0, with_copies=each) for each in (False, True))
    assert (few, many) == (350, 6050)
    most = default_cost(31.0, with_copies=True)
    assert most.n_steps == STRUCTURED.max_prefixes + 1500 * 250
    assert "copies included" in most.description
