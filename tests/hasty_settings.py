"""Settings that fit next to nothing, where it is not the fitted automata that are tested."""

import math

from seqray.extraction.settings import ConditionalSettings, StructuredSettings

HASTY = ConditionalSettings(n_epochs=1, min_steps=2)

TINY_COPIES = StructuredSettings(
    (2, 4), (1, 2), max_contexts=(1,), n_epochs=1, min_steps=2, min_gain=-math.inf
)
"""Two tiny copies, in a tenth of the time."""
