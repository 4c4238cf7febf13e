import numpy as np
import pytest

from seqray import Alphabet
from seqray.blackbox.queries import answer_memory
from seqray.blackbox.queries.answer_memory import CountedWords, MemoryAnswers

WORDS = Alphabet("ab").words(["", "a", "b", "ab", "ba", "bb"])


@pytest.mark.parametrize("n_bytes", [0, 500, 2**20])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_answers_come_back_in_the_order_of_the_words(n_bytes, shape, monkeypatch):
    monkeypatch.setattr(answer_memory, "MAX_MEMORY_BYTES", n_bytes)
    answers, memory = np.random.default_rng(0).normal(size=(6, *shape)), MemoryAnswers()
    assert memory.path is None
    for which in ([4, 1], [0], [5, 3]):
        memory.add(WORDS[which], answers[which])
    known, cached = memory.find(WORDS)
    assert known.tolist() == [True, True, False, True, True, True]
    assert np.array_equal(cached, answers[known])
    known, cached = memory.find(WORDS[[2]])
    assert not known.any()
    assert len(cached) == 0


def test_words_that_were_counted_are_known_however_many_there_are():
    counted = CountedWords()
    keys = [b"%d" % i for i in range(25_000)]
    for begin in range(0, 20_000, 4_000):
        counted.add(keys[begin : begin + 4_000])
    assert np.flatnonzero(counted.are_new(keys)).tolist() == [*range(20_000, 25_000)]


def test_answers_beyond_the_limits_are_not_cached(monkeypatch):
    monkeypatch.setattr(answer_memory, "MAX_MEMORY_BYTES", -1)
    monkeypatch.setattr(answer_memory, "MAX_FILE_BYTES", 30)
    words, answers = Alphabet("ab").words(["", "a", "b"]), MemoryAnswers()
    for i in range(3):
        answers.add(words[i : i + 1], np.full((1, 3), float(i)))
    known, rows = answers.find(words)
    assert known.tolist() == [True, True, False]
    assert rows[:, 0].tolist() == [0, 1]
