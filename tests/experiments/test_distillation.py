import numpy as np

from seqray.experiments.distillation import best_of_each, peak_bytes


def test_the_fastest_run_of_each_counts_and_the_first_does_not():
    calls = []
    times = best_of_each(
        [lambda: calls.append("a"), lambda: (calls.append("b"), sum(range(10**5)))]
    )
    assert times[0] < times[1]
    assert calls[:4] == ["a", "b", "a", "b"]  # they take turns
    assert calls.count("a") == calls.count("b") > 1


def test_memory_is_what_is_allocated_at_once():
    def twice():
        for _ in range(2):
            np.zeros(100_000)

    assert 800_000 <= peak_bytes(twice) < 900_000
