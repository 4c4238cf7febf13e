"""Records of extraction by Hankel blocks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HankelRound:
    """One basis whose blocks were filled.

    Parameters
    ----------
    questions
        How many queries were made up to then.
    prefixes, suffixes
        How many of each the basis has.
    score
        The best fidelity score of the automata of these blocks.
    """

    questions: int
    prefixes: int
    suffixes: int
    score: float
