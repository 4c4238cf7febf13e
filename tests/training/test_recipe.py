import math

import pytest
import torch

from seqray import Alphabet, ArgumentError
from seqray.training.checkpoint import Epoch
from seqray.training.recipe import Recipe
from trainings import SETTINGS


def rows(*validation):
    return [Epoch(4, i, 1.0, value, 0.1) for i, value in enumerate(validation, 1)]


@pytest.mark.parametrize(
    ("validation", "is_done"),
    [
        ((), False),
        ((5, 4, 3), False),
        ((5, 3, 4, 4), False),
        ((5, 3, 4, 4, 4), True),
        ((5, 3, 4, 4, 2.9), False),  # better in the last moment
        ((5, 3, 3, 3, 3), True),  # as good as before is no improvement
        ((9, 8, 7, 6, 5, 4, 3, 2), True),  # all epochs
    ],
)
def test_a_size_is_done_after_epochs_without_improvement_or_after_all(validation, is_done):
    assert Recipe(**SETTINGS).is_done(rows(*validation)) == is_done


def test_without_patience_only_the_last_epoch_ends_a_size():
    recipe = Recipe(**SETTINGS | {"patience": None})
    assert not recipe.is_done(rows(1, 2, 3, 4, 5, 6, 7))
    assert recipe.is_done(rows(1, 2, 3, 4, 5, 6, 7, 8))


def test_the_cosine_rises_then_falls_to_nothing():
    recipe = Recipe(**SETTINGS)
    rates = [recipe.rate(done) for done in (0.01, 0.05, 0.5, 0.99, 1.0)]
    assert rates[0] < rates[1] > rates[2] > rates[3] > rates[4]
    assert rates[1] == pytest.approx(0.01 * (1 + math.cos(0.05 * math.pi)) / 2)
    assert rates[4] == 0
    assert Recipe(**SETTINGS | {"schedule": "constant"}).rate(0.99) == 0.01


def test_a_network_depends_on_seed_and_size_alone():
    def weights(hidden, **changes):
        network = Recipe(**SETTINGS | changes).build(Alphabet("ab"), hidden)
        return torch.cat([each.detach().flatten() for each in network.parameters()])

    torch.manual_seed(1)
    first = weights(4)
    torch.manual_seed(2)
    assert torch.equal(weights(4, epochs=9, sizes=(4,)), first)
    assert not torch.equal(weights(4, seed=1), first)
    assert len(weights(6)) > len(first)


def test_misuse_is_refused():
    with pytest.raises(ArgumentError, match="patience: expected a whole number from 1, got 0"):
        Recipe(**SETTINGS | {"patience": 0})
