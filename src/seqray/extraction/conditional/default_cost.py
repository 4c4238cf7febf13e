"""What the conditional method costs with its default sizes."""

from seqray.extraction.cost import DefaultCost
from seqray.extraction.settings import CONDITIONAL


def default_cost(mean_length: float) -> DefaultCost:
    """Return the most that the default extraction costs, for words of a mean length in symbols.

    Examples
    --------
    >>> default_cost(9).n_steps
    575000
    """
    n_words = round(CONDITIONAL.words_per_context * CONDITIONAL.n_contexts)
    n_cells = CONDITIONAL.n_contexts * CONDITIONAL.n_columns
    n_steps = round(n_words * (1 + mean_length) + n_cells)
    what = f"contexts of {n_words:,} words take up to {n_steps:,} prefixes"
    return DefaultCost(n_words, n_steps, what)
