import logging

import numpy as np
import pytest

from seqray.automata.generators import random_machine
from seqray.experiments.cells import Clock, collected_notes, n_bytes


def test_the_size_of_a_model_is_that_of_its_arrays():
    machine = random_machine("pfa", 3, 2, seed=0)
    arrays = (machine.initial, machine.transitions, machine.final)
    assert n_bytes(arrays) == (8 * 24, 24)
    assert n_bytes(machine)[1] >= 24
    assert n_bytes("no array") == (0, 0)
    assert n_bytes(np.zeros(3, np.float32)) == (12, 3)


def test_a_clock_adds_up_what_each_phase_took():
    clock = Clock()
    for _ in range(2):
        with clock.phase("fill"):
            sum(range(200_000))
    with pytest.raises(KeyError), clock.phase("svd"):
        raise KeyError
    assert set(clock.seconds) == {"fill", "svd"}
    assert clock.seconds["fill"] > 0


def test_warnings_of_the_library_are_collected_only_within_the_block():
    logger = logging.getLogger("seqray.test")
    with collected_notes() as notes:
        logger.warning("odd: %d", 3)
        logger.info("even")
    logger.warning("later")
    assert notes == ["odd: 3"]
