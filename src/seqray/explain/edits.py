"""Words that differ in one place: a symbol is another one, is left out, or is put in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqray.automata.words import Alphabet, Word, Words
from seqray.explain.probable import encoded
from seqray.explain.text import spelt
from seqray.util.formatting import abbreviated

MAX_EDITS = 20_000
"""The most words with one edit that are looked at."""


class Edit(NamedTuple):
    """One change of a word: at ``position``, the codes before and after, None for none."""

    position: int
    before: int | None
    after: int | None


def one_edit(
    word: Word, alphabet: Alphabet, *, max_length: int | None = None
) -> tuple[list[Edit], Words]:
    """Return all different words with one edit, none of them the word itself.

    None is longer than ``max_length``. Where there are more than 20,000, some of them, chosen at
    random but always the same.

    Examples
    --------
    >>> edits, words = one_edit("ab", Alphabet("ab"))
    >>> [show_edit("ab", edit, words.alphabet) for edit in edits]
    ['[a→b]b', 'a[b→a]', '[−a]b', 'a[−b]', '[+a]ab', '[+b]ab', 'a[+b]b', 'ab[+a]']
    """
    codes, k = tuple(alphabet.encode(word).tolist()), len(alphabet)
    edits = [Edit(i, c, other) for i, c in enumerate(codes) for other in range(k) if other != c]
    edits += [Edit(i, c, None) for i, c in enumerate(codes)]
    if max_length is None or len(codes) < max_length:
        edits += [Edit(i, None, other) for i in range(len(codes) + 1) for other in range(k)]
    if len(edits) > MAX_EDITS:
        chosen = np.random.default_rng(0).choice(len(edits), MAX_EDITS, replace=False)
        edits = [edits[i] for i in np.sort(chosen)]
    first: dict[tuple[int, ...], Edit] = {}
    for edit in edits:
        first.setdefault(edited(codes, edit), edit)
    return list(first.values()), encoded(alphabet, list(first))


def edited(codes: tuple[int, ...], edit: Edit) -> tuple[int, ...]:
    """Return the codes of a word after an edit.

    >>> edited((0, 1), Edit(1, None, 2))
    (0, 2, 1)
    """
    middle = () if edit.after is None else (edit.after,)
    rest = edit.position + (edit.before is not None)
    return (*codes[: edit.position], *middle, *codes[rest:])


def show_edit(word: Word, edit: Edit, alphabet: Alphabet, *, width: int | None = None) -> str:
    """Write the edited word, with the edit in brackets and as much around it as there is room.

    There is room for 30 characters by default, for 44 if symbols are names. Long names are
    abbreviated.

    >>> show_edit("abb", Edit(1, 1, None), Alphabet("ab"))
    'a[−b]b'
    >>> show_edit("ab" * 20, Edit(9, None, 0), Alphabet("ab"), width=13)
    '…aba[+a]bab…'
    """
    if width is None:
        width = 30 if alphabet.has_characters else 44
    symbols = [abbreviated(str(alphabet.symbols[c]), 8) for c in alphabet.encode(word)]
    before, after = (
        None if c is None else abbreviated(str(alphabet.symbols[c]), 16) for c in edit[1:]
    )
    change = f"[+{after}]" if before is None else f"[{before}→{after}]"
    if after is None:
        change = f"[−{before}]"
    rest = edit.position + (before is not None)
    left, right = symbols[: edit.position], symbols[rest:]
    text = change
    for around in range(1, max(len(left), len(right)) + 1):
        parts = [*left[-around:], change, *right[:around]]
        parts = ["…"] * (len(left) > around) + parts + ["…"] * (len(right) > around)
        if len(spelt(alphabet, parts)) > width:
            break
        text = spelt(alphabet, parts)
    return text
