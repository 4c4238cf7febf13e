import dataclasses

import numpy as np
import pytest

from functions import Count
from same_gru import native
from seqray import Alphabet, black_box
from seqray.blackbox.queries.answer_cache import AnswerStore
from seqray.blackbox.queries.limits import Limits, Meter
from seqray.blackbox.queries.noise import NO_NOISE
from seqray.blackbox.queries.noise_probe import probe_noise
from seqray.blackbox.queries.oracle import open_oracle

WORDS = Alphabet("ab").words(["a" * n for n in range(20)])


def noisy(level, seed=0):
    rng = np.random.default_rng(seed)
    return Count(lambda word: 1 + len(word) + level * rng.normal())


def probe(oracle, words=WORDS):
    return probe_noise(oracle, words, oracle.weights(words))


def test_the_noise_of_a_box_is_measured_and_a_warning_says_so(caplog):
    noise = probe(open_oracle(black_box(noisy(1e-3), "ab")))
    assert noise.level == pytest.approx(1e-3, rel=0.6)
    assert "answers differently each time" in caplog.text


def test_a_box_that_answers_the_same_has_no_noise():
    assert probe(open_oracle(black_box(Count(), "ab"))) == NO_NOISE
    network = open_oracle(native())
    assert probe(network, network.alphabet.words(["ab", "c", "abc"])) == NO_NOISE


def test_a_box_that_is_known_to_answer_the_same_is_not_probed():
    box = black_box(count := Count(), "ab")
    box = dataclasses.replace(box, backend=dataclasses.replace(box.backend, deterministic=True))
    assert probe(open_oracle(box)) == NO_NOISE
    assert len(count.queried) == len(WORDS)


@pytest.mark.parametrize("budget", [40, 4000])
def test_a_probe_takes_a_small_share_of_the_budget(budget):
    oracle = open_oracle(black_box(Count(), "ab"), Meter(Limits(budget)))
    probe(oracle)
    assert 0 < oracle.meter.n_extra <= min(16, budget / 16)


def test_the_noise_is_cached(tmp_path):
    levels = []
    for seed in range(2):
        with AnswerStore(tmp_path / "answers.sqlite") as store:
            oracle = open_oracle(black_box(noisy(1e-3, seed), "ab", name="f"), cache=store)
            levels.append(probe(oracle).level)
    assert levels[0] == levels[1] > 0
