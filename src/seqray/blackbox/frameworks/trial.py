"""A trial when a box is opened: a card that does not fit its model is reported at once."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from seqray.blackbox.card import Card
from seqray.blackbox.classifier_box import QueriedClassifier
from seqray.blackbox.frameworks.stepped import SteppedBox
from seqray.blackbox.queried import QueriedBox, QueriedModel
from seqray.util.errors import BlackBoxError

Box = TypeVar("Box", bound=QueriedBox | QueriedModel | QueriedClassifier | SteppedBox)


def tried(box: Box, card: Card) -> Box:
    """Query the empty word and the symbols of least and largest id; return the box."""
    smallest, largest = ([least(ids) for ids in card.id_lists] for least in (min, max))
    symbols = {int(np.argmin(smallest)), int(np.argmax(largest))}
    words = [(), *((card.alphabet.symbols[code],) for code in sorted(symbols))]
    try:
        box.weights(words)
    except BlackBoxError as error:
        raise BlackBoxError(
            f"{error} (in a trial on opening: do the card's alphabet, ids and start fit the model?)"
        ) from error
    return box
