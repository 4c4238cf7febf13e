"""Learners of AALpy with a box as the system under learning."""

import numpy as np
import pytest

from seqray import Alphabet, LearningEnd
from seqray.learning.aalpy_learner import AalpyRun, PrefixOutputs
from seqray.learning.known_rows import KnownRows

pytest.importorskip("aalpy")


def run_of(period, n_outputs=2, **options):
    names = ("no", "yes") if n_outputs == 2 else tuple(f"c{i}" for i in range(n_outputs))
    counted = []

    def query(words):
        counted.append(len(words))
        return np.eye(n_outputs)[np.minimum(words.lengths % period, n_outputs - 1)]

    known = KnownRows(Alphabet("ab"), query, None, max_length=options.pop("max_length", None))

    def search(automaton):
        for n in range(2 * period):
            word = (0,) * n
            if known.query([word])[0].argmax() != automaton.outputs[automaton.states(["a" * n])[0]]:
                return word
        return None

    return AalpyRun(known, names, search, options.pop("max_states", 100), **options), counted


def test_outputs_are_queried_when_they_are_read():
    queried = []
    outputs = PrefixOutputs((0, 1, 1), lambda word: queried.append(word) or len(word))
    assert len(outputs) == 3
    assert outputs[-1] == 3
    assert queried == [(0, 1, 1)]
    assert outputs[1:] == [2, 3]
    assert list(PrefixOutputs((), len)) == [0]


@pytest.mark.parametrize("algorithm", ["run_KV", "run_Lstar"])
@pytest.mark.parametrize("n_outputs", [2, 3])
def test_both_algorithms_learn_dfa_and_moore_machines(algorithm, n_outputs):
    run, counted = run_of(4, n_outputs)
    run.learn(algorithm)
    assert run.hypothesis.minimised().n_states == 4
    assert run.hypothesis.weights(["", "ab", "abab"]).tolist() == [0, n_outputs - 1, 0]
    assert sum(counted) < 100


def test_learning_ends_at_the_most_states():
    run, _ = run_of(20, max_states=5)
    run.learn("run_KV")
    assert run.end is LearningEnd.MAX_STATES
    assert run.hypothesis.n_states <= 5


@pytest.mark.parametrize("algorithm", ["run_KV", "run_Lstar"])
def test_a_word_that_is_too_long_ends_learning_with_the_last_hypothesis(algorithm):
    run, _ = run_of(4, max_length=7)
    run.learn(algorithm)
    assert run.end is LearningEnd.COMPLETE
    short, _ = run_of(20, max_length=12)
    short.learn(algorithm)
    assert short.end is LearningEnd.MAX_LENGTH
    assert short.hypothesis is not None


def test_another_oracle_searches_when_nothing_was_found():
    from aalpy.oracles import RandomWalkEqOracle  # noqa: PLC0415 - an optional package

    run, _ = run_of(3, equivalence=lambda symbols, system: RandomWalkEqOracle(symbols, system, 500))
    run.search = lambda automaton: None
    run.learn("run_KV")
    assert run.hypothesis.minimised().n_states == 3
