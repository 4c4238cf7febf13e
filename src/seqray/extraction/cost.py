"""What an extraction costs, before anything is queried."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DefaultCost:
    """About what an extraction with default sizes costs.

    Parameters
    ----------
    n_words
        Words to query.
    n_steps
        Symbols that a box with states reads for them.
    description
        What is queried, for people.
    """

    n_words: int
    n_steps: int
    description: str
