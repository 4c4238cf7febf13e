"""seqray: an X-ray of black boxes on sequences."""

from seqray.automaton import WeightedAutomaton
from seqray.words import Alphabet, Words

__version__ = "0.1.0"

__all__ = ["Alphabet", "WeightedAutomaton", "Words"]
