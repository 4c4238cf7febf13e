"""Sweeps that are small enough for tests."""

from pathlib import Path

from seqray.experiments.cells import Settings
from seqray.experiments.problems import sources
from seqray.experiments.sweep import Sweep
from seqray.experiments.table import read_results

SMALL = Settings(max_rank=8, n_test=60, n_rnn=50, n_held_out=40)
FEW_PREFIXES = 40


def small_sweep(folder, *, problems=(1, 2), sizes=(20, 30), settings=SMALL, methods=("paper",)):
    listed = sources("generated", problems=problems)
    return Sweep("tiny", Path(folder), listed, sizes, settings, methods)


def timeless(path):
    """Return the rows of a table without the times."""
    return [row._replace(seconds=0) for row in read_results(path)]
