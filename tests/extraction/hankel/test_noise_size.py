import numpy as np
import pytest

from seqray import HankelBlocks, fill, uniform_basis
from seqray.automata.generators import random_automaton
from seqray.blackbox.queries.noise import Noise
from seqray.extraction.hankel.noise_size import size_of_noise
from seqray.util.row_file import RowFile


def both(size=120):
    wa = random_automaton(4, 2, seed=np.random.default_rng(0))
    blocks = fill(wa, uniform_basis(wa.alphabet, size, size, seed=0))
    rows = RowFile(blocks.values.shape, rows_per_chunk=17)
    rows[:] = blocks.values
    return blocks, HankelBlocks(blocks.basis, rows)


@pytest.mark.parametrize("noise", [Noise(0.1, False), Noise(0.1, True)])
def test_noise_on_disk_is_as_large_as_noise_in_memory(noise):
    in_memory, on_disk = both()
    ones = np.ones(120)
    sizes = [size_of_noise(in_memory, noise, ones, ones, seed) for seed in range(12)]
    others = [size_of_noise(on_disk, noise, ones, ones, seed) for seed in range(12)]
    assert np.std(others) > 0
    error = (np.std(sizes) + np.std(others)) / np.sqrt(12)
    assert abs(np.mean(others) - np.mean(sizes)) < 4 * error + 0.02 * np.mean(sizes)


def test_a_word_in_several_cells_has_the_same_noise_in_each():
    # All words over one symbol: cell (i, j) holds the word of length i + j. The largest singular
    # value of such noise varies far more than that of independent noise, by 1.9 and by 0.36.
    wa = random_automaton(1, 1, seed=np.random.default_rng(0))
    blocks = fill(wa, uniform_basis(wa.alphabet, 60, 60, seed=0))
    rows = RowFile(blocks.values.shape, rows_per_chunk=7)
    rows[:] = blocks.values
    on_disk = HankelBlocks(blocks.basis, rows)
    ones, noise = np.ones(60), Noise(1.0, False)
    sizes = [size_of_noise(on_disk, noise, ones, ones, seed) for seed in range(40)]
    assert np.std(sizes) > 1
