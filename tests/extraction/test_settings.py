from dataclasses import FrozenInstanceError

import pytest

from seqray.extraction.settings import (
    CONDITIONAL,
    HANKEL,
    ConditionalSettings,
    HankelSettings,
    StructuredSettings,
)


def test_the_settings_in_use_are_the_defaults_and_cannot_be_changed():
    assert ConditionalSettings() == CONDITIONAL
    assert CONDITIONAL.part_shares[-1] == 1
    assert HankelSettings() == HANKEL
    for settings, name in ((CONDITIONAL, "n_contexts"), (HANKEL, "batch_size")):
        with pytest.raises(FrozenInstanceError):
            setattr(settings, name, 1)


@pytest.mark.parametrize(
    ("max_cost", "sizes"),
    [
        (None, (12, 32, 64)),
        (2304, (12, 32, 48)),
        (2303, (12, 32, 47)),
        (144, (12,)),
        (143, (11,)),
        (1, (1,)),
        (4096, (12, 32, 64)),
    ],
)
def test_the_sizes_of_copies_keep_to_a_cost_and_use_it(max_cost, sizes):
    settings = StructuredSettings(max_states=(12, 32, 64), word_factors=(1, 4, 10))
    within = settings.within_cost(max_cost)
    assert within.max_states == sizes
    assert within.word_factors == (1, 4, 10, 10)[: len(sizes)]
