"""What the conditional method costs with its default sizes."""

from seqray.extraction.conditional.blocks import N_COLUMNS, N_CONTEXTS
from seqray.extraction.conditional.method import WORDS_A_CONTEXT
from seqray.extraction.cost import DefaultCost


def default_cost(mean_length: float) -> DefaultCost:
    """Return the most that the default extraction costs, for words of a mean length in symbols.

    Examples
    --------
    >>> default_cost(9).n_steps
    575000
    """
    n_words = round(WORDS_A_CONTEXT * N_CONTEXTS)
    n_steps = round(n_words * (1 + mean_length) + N_CONTEXTS * N_COLUMNS)
    what = f"contexts of {n_words:,} words take up to {n_steps:,} prefixes"
    return DefaultCost(n_words, n_steps, what)
