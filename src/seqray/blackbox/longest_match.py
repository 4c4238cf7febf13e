"""Longest match: which symbol a stream of tokens is read as, where symbols begin with others.

`seqray.blackbox.token_tree` documents the rule. This module works out what follows from it, with
token sequences alone and without probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

TokenIds: TypeAlias = tuple[int, ...]
"""The ids of tokens that follow each other."""


class Exclusion(NamedTuple):
    """What cannot follow a word, because the stream would then have been read in other symbols.

    Entries are the symbols in the order of the alphabet, and then the ends.
    """

    sequences: frozenset[TokenIds]
    """Token sequences that do not follow; none begins with another."""
    impossible: frozenset[int]
    """Entries that begin with one of them."""
    following: dict[int, frozenset[TokenIds]]
    """The excluded sequences after an entry, where they differ from those after it elsewhere."""


class LongestMatch:
    """Finds the exclusions of a set of entries.

    Parameters
    ----------
    entries
        The token sequences of symbols and ends, all different and none empty.
    keeps_all
        Whether to keep sequences with which no entry begins, nor they with an entry. They only
        scale a row, so that a row that is divided by its sum does not need them.
    """

    def __init__(self, entries: Sequence[TokenIds], *, keeps_all: bool) -> None:
        self.entries, self.keeps_all = entries, keeps_all
        self._place = {tokens: place for place, tokens in enumerate(entries)}
        self._beginning: dict[TokenIds, list[int]] = {}  # the entries that begin with a sequence
        self._rest: dict[int, set[TokenIds]] = {}  # what makes a longer entry of an entry
        for place, tokens in enumerate(entries):
            for cut in range(1, len(tokens) + 1):
                self._beginning.setdefault(tokens[:cut], []).append(place)
                shorter = self._place.get(tokens[:cut], place)
                if shorter != place:
                    self._rest.setdefault(shorter, set()).add(tokens[cut:])
        self._plain = {place: self._kept(rest) for place, rest in self._rest.items()}

    def sequences_after(self, place: int) -> frozenset[TokenIds]:
        """Return the excluded sequences after an entry that none of the earlier ones concerns."""
        return self._plain.get(place, frozenset())

    def exclusions(self) -> list[Exclusion]:
        """Return all exclusions that words lead to; first that of the empty word: nothing."""
        waiting: list[frozenset[TokenIds]] = [frozenset()]
        waiting += sorted(set(self._plain.values()) - {frozenset()}, key=sorted)
        known, exclusions = set(waiting), []
        for sequences in waiting:  # it grows meanwhile
            exclusion = self._exclusion(sequences)
            exclusions.append(exclusion)
            fresh = set(exclusion.following.values()) - known
            known |= fresh
            waiting += sorted(fresh, key=sorted)
        return exclusions

    def longer(self, exclusion: Exclusion) -> dict[int, tuple[TokenIds, ...]]:
        """Return for possible entries the longer sequences that are not read as the entry."""
        rest = {i: tails for i, tails in self._rest.items() if i not in exclusion.impossible}
        rest |= self._touched(exclusion.sequences, exclusion.impossible)
        return {
            i: tuple(sorted(self.entries[i] + tail for tail in _shortest(rest[i])))
            for i in sorted(rest)
        }

    def paths(self, exclusion: Exclusion) -> list[TokenIds]:
        """Return all token sequences whose probabilities a row needs."""
        possible = set(range(len(self.entries))) - exclusion.impossible
        paths = [self.entries[i] for i in sorted(possible)]
        paths += [path for some in self.longer(exclusion).values() for path in some]
        paths += sorted(exclusion.sequences) if self.keeps_all else []
        return list(dict.fromkeys(paths))

    def _exclusion(self, sequences: frozenset[TokenIds]) -> Exclusion:
        impossible = frozenset(i for each in sequences for i in self._beginning.get(each, ()))
        touched = self._touched(sequences, impossible)
        following = {i: self._kept(tails) for i, tails in touched.items()}
        # After what never comes, reading begins anew.
        following |= {i: frozenset() for i in impossible}
        return Exclusion(sequences, impossible, following)

    def _touched(
        self, sequences: frozenset[TokenIds], impossible: frozenset[int]
    ) -> dict[int, set[TokenIds]]:
        """Return what makes longer sequences of the entries that excluded sequences begin with."""
        touched: dict[int, set[TokenIds]] = {}
        for each in sequences:
            for cut in range(1, len(each)):
                place = self._place.get(each[:cut])
                if place is not None and place not in impossible:
                    touched.setdefault(place, set(self._rest.get(place, ()))).add(each[cut:])
        return touched

    def _kept(self, tails: Iterable[TokenIds]) -> frozenset[TokenIds]:
        """Return the shortest sequences, those that make no difference left out."""
        return frozenset(each for each in _shortest(tails) if self.keeps_all or self._matters(each))

    def _matters(self, sequence: TokenIds) -> bool:
        """Whether an entry begins with a sequence, or the sequence with an entry."""
        cuts = range(1, len(sequence))
        return sequence in self._beginning or any(sequence[:cut] in self._place for cut in cuts)


def _shortest(sequences: Iterable[TokenIds]) -> set[TokenIds]:
    """Return the sequences that begin with no other one.

    >>> sorted(_shortest([(1, 2), (1,), (2, 1)]))
    [(1,), (2, 1)]
    """
    known = set(sequences)
    return {each for each in known if not any(each[:cut] in known for cut in range(1, len(each)))}
