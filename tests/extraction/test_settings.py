from dataclasses import FrozenInstanceError

import pytest

from seqray.extraction.settings import CONDITIONAL, HANKEL, ConditionalSettings, HankelSettings


def test_the_settings_in_use_are_the_defaults_and_cannot_be_changed():
    assert ConditionalSettings() == CONDITIONAL
    assert CONDITIONAL.part_shares[-1] == 1
    assert HankelSettings() == HANKEL
    for settings, name in ((CONDITIONAL, "n_contexts"), (HANKEL, "batch_size")):
        with pytest.raises(FrozenInstanceError):
            setattr(settings, name, 1)
