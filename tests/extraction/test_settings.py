from dataclasses import FrozenInstanceError

import pytest

from seqray.extraction.settings import CONDITIONAL, ConditionalSettings


def test_the_settings_in_use_are_the_defaults_and_cannot_be_changed():
    assert ConditionalSettings() == CONDITIONAL
    with pytest.raises(FrozenInstanceError):
        CONDITIONAL.n_contexts = 1
    assert CONDITIONAL.part_shares[-1] == 1
