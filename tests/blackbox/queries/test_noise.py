import numpy as np
import pytest

from seqray.blackbox.queries.noise import Noise, measure_noise


def test_no_difference_is_no_noise():
    assert measure_noise(np.ones(3), np.ones(3)) == Noise(0.0, relative=False)


@pytest.mark.parametrize("repeat", [1, 4])
@pytest.mark.parametrize("relative", [True, False])
def test_noise_is_measured_in_its_kind(relative, repeat):
    rng = np.random.default_rng(1)
    values = 10.0 ** rng.uniform(-4, 2, 2000)
    spread = 0.05 * values if relative else np.full(2000, 0.05)
    values = values if relative else values + 1
    draws = values + spread * rng.normal(size=(repeat + 1, 2000))
    noise = measure_noise(draws[:repeat].mean(axis=0), draws[repeat], repeat=repeat)
    assert noise.relative == relative
    assert noise.level == pytest.approx(0.05, rel=0.1)
    np.testing.assert_allclose(noise.of(values), spread, rtol=0.1)


def test_zeros_have_no_relative_noise():
    assert not measure_noise(np.array([0.0, 1]), np.array([0.0, 1.5])).relative
    assert str(Noise(0.25, relative=True)) == "0.25 of the answer"
    assert str(Noise(0.25, relative=False)) == "0.25"


def test_tiny_answers_have_noise_as_well():
    noise = measure_noise(np.full(4, 1e-200), np.full(4, 1.1e-200))
    assert noise.level > 0


def test_rounding_near_zero_is_no_noise():
    answers = np.array([1, 0.5, -0.3, 0.001])
    assert measure_noise(answers, answers + 1e-7 * np.eye(4)[3]).level == 0
