from dataclasses import FrozenInstanceError

import pytest

from seqray.extraction.hankel.settings import HANKEL, HankelSettings


def test_the_settings_in_use_are_the_defaults_and_cannot_be_changed():
    assert HankelSettings() == HANKEL
    with pytest.raises(FrozenInstanceError):
        HANKEL.batch_size = 1
