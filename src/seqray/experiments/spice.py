"""The score of the SPiCe competition: how well a model predicts next symbols."""

from __future__ import annotations

import numpy as np

from seqray.automata.stepper import PredictingStepper, read_each
from seqray.fidelity.next_symbol_metrics import ndcg
from seqray.formats.spice import PLACES, Targets
from seqray.util.errors import SymbolError


def spice_score(model: PredictingStepper, targets: Targets) -> float:
    """Return the competition's score: NDCG₅ of a model's five first choices after each prefix.

    Where the data are real, and only the symbol that did follow is known, a prefix counts
    ``1 / log₂(k + 1)`` if the symbol is the model's k-th choice, and 0 if it is not among five.

    Parameters
    ----------
    model
        What predicts: an automaton, or a network.
    targets
        What `seqray.formats.spice.read_prefixes_and_targets` reads, over the model's alphabet.

    Examples
    --------
    >>> import seqray
    >>> model = seqray.WeightedAutomaton("ab", [1], [[[0.5]], [[0.2]]], [0.3])
    >>> prefixes = model.alphabet.words(["", "a"])
    >>> spice_score(model, Targets(prefixes, np.array([[1.0, 0, 0], [0, 0, 1.0]]))).__round__(4)
    0.8155
    """
    if targets.prefixes.alphabet != model.alphabet:
        raise SymbolError(
            f"the model has the alphabet {model.alphabet}, the targets have "
            f"{targets.prefixes.alphabet}: read them with the model's alphabet"
        )
    probabilities = read_each(model, targets.prefixes, model.state_next_symbol)
    return ndcg(targets.probabilities, probabilities, np.ones(len(probabilities)), PLACES)
