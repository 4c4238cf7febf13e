from seqray.extraction.hankel.default_cost import default_cost
from seqray.extraction.job import MAX_QUERIES


def test_more_symbols_cost_more_words_up_to_a_limit():
    few, many = default_cost(2), default_cost(5)
    assert 0 < few.n_words < many.n_words
    assert few.n_steps >= few.n_words
    assert few.description == "rounds of up to 800 × 800 blocks take at most 2,560,000 words"
    assert default_cost(10_000).n_words <= MAX_QUERIES
