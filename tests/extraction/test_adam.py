import numpy as np
import pytest

from seqray.extraction.adam import SQUARE_DECAY, WARM_UP_STEPS, Adam


def moved(gradients, n_steps=200, learning_rate=0.1):
    """Return how far each of some gradients moves a number."""
    adam, at = Adam(n_steps, learning_rate), np.zeros(1)
    places = [0.0]
    for gradient in gradients:
        adam.step([at], [np.array([gradient])])
        places.append(float(at[0]))
    return np.diff(places)


def by_formula(gradients, n_steps, learning_rate):
    """Return the same by the formula of Adam, with sums over all gradients so far."""
    moves = []
    for n in range(1, len(gradients) + 1):
        some, ages = np.array(gradients[:n]), np.arange(n)[::-1]
        mean = 0.1 * (some * 0.9**ages).sum() / (1 - 0.9**n)
        weights = SQUARE_DECAY**ages
        square = (weights * some**2).sum() / weights.sum()
        rate = learning_rate * min(1, n / WARM_UP_STEPS) * (1 + np.cos(np.pi * n / n_steps)) / 2
        moves.append(-rate * mean / (np.sqrt(square) + 1e-8))
    return moves


def test_steps_are_those_of_the_formula():
    gradients = np.random.default_rng(0).normal(size=60).tolist()
    expected = by_formula(gradients, 60, 0.3)
    np.testing.assert_allclose(moved(gradients, 60, 0.3), expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_steps_do_not_depend_on_the_size_of_gradients(size):
    np.testing.assert_allclose(moved([size] * 30), moved([1.0] * 30), rtol=1e-4)


def test_the_learning_rate_rises_first_and_falls_to_0_at_the_last_step():
    steps = -moved([1.0] * 200)
    peak = int(steps.argmax())
    assert WARM_UP_STEPS - 2 <= peak <= WARM_UP_STEPS
    assert (np.diff(steps[: peak + 1]) > 0).all()
    assert (np.diff(steps[peak:]) < 0).all()
    assert steps[-1] == pytest.approx(0, abs=1e-12)
    assert steps[peak] == pytest.approx(0.1, rel=0.05)


def test_a_gradient_of_0_moves_nothing():
    assert not moved([0.0] * 5).any()


def test_all_parameters_move_in_place_and_keep_their_types():
    rng = np.random.default_rng(0)
    numbers = [rng.normal(size=shape).astype(np.float32) for shape in ((2, 3), (4,))]
    same = list(numbers)
    adam = Adam(200, 0.1)
    for _ in range(200):
        adam.step(numbers, [2 * (each - 3) for each in numbers])
    assert adam.n_done == adam.n_steps == 200
    for mine, other in zip(numbers, same, strict=True):
        assert mine is other
        assert mine.dtype == np.float32
        np.testing.assert_allclose(mine, 3, atol=0.01)
