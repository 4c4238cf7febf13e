"""What extraction by Hankel blocks costs with its default sizes."""

from seqray.extraction.cost import DefaultCost
from seqray.extraction.hankel.sizes import MAX_STEPS_PER_WORD, default_size, max_words


def default_cost(n_symbols: int) -> DefaultCost:
    """Return about what the default extraction costs at most: half fills blocks, half finds them.

    Examples
    --------
    >>> default_cost(2).n_words
    2560000
    """
    size = default_size(n_symbols)
    n_words = max_words(size, n_symbols, grows=True)
    what = f"rounds of up to {size[0]} × {size[1]} blocks take at most {n_words:,} words"
    return DefaultCost(n_words, MAX_STEPS_PER_WORD * n_words, what)
