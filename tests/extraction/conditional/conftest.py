import pytest

from conditional_boxes import machine
from seqray.extraction.conditional.fill import fill_conditional
from told import known_of


@pytest.fixture(scope="package")
def predicted():
    """What a machine predicts for words, and their conditional blocks."""
    box = machine()
    reference = known_of(box, 300)
    return reference, fill_conditional(box, reference, n_contexts=100, n_columns=40)
