"""What the conditional method costs, before most of it is queried."""

from seqray.extraction.conditional.parts import PartSizes
from seqray.extraction.cost import DefaultCost
from seqray.extraction.settings import CONDITIONAL, STRUCTURED


def default_cost(word_length: float, *, with_copies: bool) -> DefaultCost:
    """Return about what the default extraction costs at most.

    ``word_length`` is the mean number of prefixes of a word. ``with_copies`` says that copies
    learn from more words, as they do where queries are cheap.

    Examples
    --------
    >>> default_cost(10, with_copies=False).n_steps
    575000
    """
    n_words = round(CONDITIONAL.words_per_context * CONDITIONAL.n_contexts)
    sizes = PartSizes(n_words, CONDITIONAL.n_contexts, CONDITIONAL.n_columns)
    n_steps = max_prefixes(sizes, word_length, with_copies=with_copies)
    what = f"contexts of {n_words:,} words take up to {n_steps:,} prefixes"
    if with_copies:
        what += ", copies included"
    return DefaultCost(n_words, n_steps, what)


def max_prefixes(sizes: PartSizes, word_length: float, *, with_copies: bool) -> int:
    """Return about how many prefixes are queried at most for words and blocks of these sizes."""
    n_prefixes = sizes.words * word_length
    if with_copies:
        more = STRUCTURED.word_factors[-1] * n_prefixes
        n_prefixes = max(n_prefixes, min(more, STRUCTURED.max_prefixes))
    return round(n_prefixes) + sizes.contexts * sizes.columns
