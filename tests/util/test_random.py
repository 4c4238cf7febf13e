import numpy as np
import pytest

from seqray import ArgumentError
from seqray.util.random import random_generator, seed_number


def test_a_number_gives_the_same_draws_each_time():
    first, second = (random_generator(3).random(5).tolist() for _ in range(2))
    assert first == second
    assert first != random_generator(4).random(5).tolist()


def test_a_generator_is_drawn_from_in_place():
    generator = np.random.default_rng(0)
    assert random_generator(generator) is generator


@pytest.mark.parametrize("read", [random_generator, seed_number])
@pytest.mark.parametrize("seed", [-1, 1.5, "0", None])
def test_what_is_no_seed_is_refused(read, seed):
    with pytest.raises(ArgumentError, match="seed: expected a whole number from 0"):
        read(seed)


def test_the_number_of_a_generator_is_drawn_from_it():
    first, second = np.random.default_rng(0), np.random.default_rng(0)
    assert seed_number(first) == seed_number(second) >= 0
    assert seed_number(5) == 5
