from hypothesis import given
from hypothesis import strategies as st

from seqray import Alphabet
from seqray.extraction.conditional.suffixes import (
    MAX_SUFFIX_LENGTH,
    first_words,
    frequent_endings,
    frequent_parts,
)

WORDS = st.lists(st.text("abc", max_size=8), min_size=1, max_size=12)


@given(WORDS, st.integers(1, 9))
def test_frequent_endings_are_the_most_frequent_ones(texts, n):
    words = Alphabet("abc").words(texts)
    endings = [*frequent_endings(words, n)]
    assert (
        len(set(endings))
        == len(endings)
        == min(n, len({w[k:] for w in words for k in range(len(w))}))
    )

    def met(ending):
        return sum(word[len(word) - len(ending) :] == ending for word in words)

    every = {word[k:] for word in words for k in range(len(word))}
    left = sorted((met(each) for each in every if each not in endings), reverse=True)
    assert all(met(each) >= max(left, default=0) for each in endings)


@given(WORDS, st.integers(1, 30))
def test_the_first_words_have_as_many_prefixes_as_wanted(texts, n):
    words = Alphabet("abc").words(texts)
    first = [*first_words(words, n)]
    prefixes = {word[:k] for word in first for k in range(len(word) + 1)}
    every = {word[:k] for word in words for k in range(len(word) + 1)}
    assert len(prefixes) == min(n, len(every))
    *whole, last = first
    assert whole == [*words[: len(whole)]]
    assert words[len(whole)][: len(last)] == last


@given(WORDS, st.integers(1, 40))
def test_frequent_parts_are_the_most_frequent_ones(texts, n):
    counts = {}
    for text in texts:
        for start in range(len(text)):
            for end in range(start + 1, min(len(text), start + MAX_SUFFIX_LENGTH) + 1):
                counts[text[start:end]] = counts.get(text[start:end], 0) + 1
    parts = ["".join(part) for part in frequent_parts(Alphabet("abc").words(texts), n)]
    assert parts[0] == ""
    assert len(parts) == len(set(parts)) == min(n, 1 + len(counts))
    often = [counts[part] for part in parts[1:]]
    assert often == sorted(often, reverse=True)
    left_out = [count for part, count in counts.items() if part not in parts]
    assert min(often, default=0) >= max(left_out, default=0) or n == 1
    assert {part[:-1] for part in parts[1:]} <= set(parts)


def test_parts_are_not_longer_than_the_longest():
    parts = frequent_parts(Alphabet("a").words(["a" * 50]), 100)
    assert sorted(map(len, parts)) == [*range(MAX_SUFFIX_LENGTH + 1)]
