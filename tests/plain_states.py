"""States of one size and segments between them, for tests of where they are drawn."""

import numpy as np

from seqray.draw.geometry import Rims


def boxes(n: int) -> Rims:
    """Return the rims of states that are all of one size."""
    return Rims(np.full(n, 40.0), np.full(n, 20.0), np.full(n, 8.0))


def first(n: int) -> np.ndarray:
    """Return how much each state is a start: only the first is one."""
    return np.eye(n)[0]


def crosses(points: np.ndarray, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two segments cross, by solving for where."""
    if set(one) & set(other):
        return False
    (a, b), (c, d) = points[list(one)], points[list(other)]
    matrix = np.array([[(b - a).real, (c - d).real], [(b - a).imag, (c - d).imag]])
    along = np.linalg.solve(matrix, [(c - a).real, (c - a).imag])
    return bool(((along > 0) & (along < 1)).all())
