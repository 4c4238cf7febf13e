"""What extraction from a classifier costs with its default sizes."""

from seqray.extraction.classes.growth import block_words, round_sizes
from seqray.extraction.cost import DefaultCost
from seqray.extraction.job import N_HELD_OUT

STEPS_PER_WORD = 4
"""About how many symbols are read for one word, where prefixes are shared."""


def default_cost(n_symbols: int) -> DefaultCost:
    """Return about what the default extraction costs at most, with the words to compare on.

    Examples
    --------
    >>> default_cost(4).n_words
    74400
    """
    sizes = round_sizes(n_symbols)
    n_blocks = sum(block_words(size, n_symbols) for size in sizes)
    n_words = n_blocks + (1 + len(sizes)) * N_HELD_OUT
    rows, columns = sizes[-1]
    what = f"rounds of up to {rows} × {columns} blocks take at most {n_words:,} words"
    return DefaultCost(n_words, STEPS_PER_WORD * n_words, what)
