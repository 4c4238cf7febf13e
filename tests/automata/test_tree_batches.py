import numpy as np
import pytest

from seqray.automata.tree_batches import Corpus
from seqray.automata.words import Alphabet

WORDS = Alphabet("abc").words(["abc", "", "ab", "abc", "ca", "b", "", "abca", "ccc"])


@pytest.mark.parametrize("chosen", [range(9), [0, 3], [1], [8, 1, 1, 0], [7, 4]])
def test_a_batch_holds_every_prefix_once_with_what_follows_it(chosen):
    chosen = np.array(chosen)
    batch = Corpus(WORDS).batch(chosen)
    follows: dict[tuple, list[int]] = {}
    for word in WORDS[chosen]:
        for at in range(len(word) + 1):
            row = follows.setdefault(word[:at], [0, 0, 0, 0])
            row["abc".index(word[at]) if at < len(word) else 3] += 1
    prefixes = [()]
    for parent, symbol in zip(batch.parents[1:], batch.symbols[1:], strict=True):
        prefixes.append((*prefixes[parent], "abc"[symbol]))
    assert dict(zip(prefixes, batch.counts.tolist(), strict=True)) == follows
    assert batch.symbols[0] == 3
    assert batch.parents[0] == len(prefixes)
    assert batch.n_letters == batch.counts.sum()
    assert batch.sizes == np.bincount([len(prefix) for prefix in prefixes]).tolist()


def test_no_letters_are_a_tree_of_one_node():
    batch = Corpus(Alphabet("a").words(["", ""])).batch(np.array([0, 1]))
    assert batch.sizes == [1]
    assert batch.counts.tolist() == [[0, 2]]


def test_a_large_alphabet_needs_only_what_is_not_zero():
    alphabet = Alphabet([str(i) for i in range(3000)])
    batch = Corpus(alphabet.words([["7", "2999"], ["7"], ["7"]])).batch(np.arange(3))
    assert batch.cells.tolist() == [7, 3001 + 2999, 3001 + 3000, 2 * 3001 + 3000]
    assert batch.cell_counts.tolist() == [3, 1, 2, 1]
    assert "counts" not in vars(batch)  # nobody wanted them
    assert np.flatnonzero(batch.counts).tolist() == batch.cells.tolist()
