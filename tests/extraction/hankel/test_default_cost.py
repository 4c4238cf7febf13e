from seqray import Alphabet
from seqray.extraction.hankel.default_cost import default_cost


def test_more_symbols_cost_more_words():
    few, many = (default_cost(Alphabet(range(n)), seed=0) for n in (2, 5))
    assert 0 < few.n_words < many.n_words
    assert few.n_steps >= few.n_words
    assert f"800 × 800 blocks, and finding them, take {few.n_words:,} words" == few.description
