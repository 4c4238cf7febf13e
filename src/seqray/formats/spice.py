"""Prefixes and targets of the SPiCe competition.

A file ``N.spice.prefix.*`` holds prefixes in the layout of words. The matching
``N.spice.target.*`` says what follows each of them, one row per prefix: the best possible
discounted gain, then symbols and their probabilities in turn, the most probable first; -1 is the
end of the word. Real data have one symbol per row, the one that did follow.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from seqray.automata.words import Alphabet, Symbol, Words
from seqray.formats.words_file import PathLike, read_words, text_lines
from seqray.util.arrays import FloatArray
from seqray.util.errors import FileError
from seqray.util.files import MAX_NUMBERS, too_many_numbers

END = -1
"""How targets write the end of a word."""
PLACES = 5
"""How many predictions for a prefix count in the competition."""
TOLERANCE = 1e-6

_log = logging.getLogger(__name__)


class Targets(NamedTuple):
    """Prefixes, and what follows them.

    Examples
    --------
    >>> words = Alphabet("ab").words(["", "a"])
    >>> Targets(words, np.eye(2, 3)).prefixes
    Words(2 words over 2 symbols: λ, a)
    """

    prefixes: Words
    probabilities: FloatArray
    """The weight of each next symbol, then of the end, shape ``(n_prefixes, n_symbols + 1)``."""


def read_prefixes_and_targets(
    prefixes: PathLike, targets: PathLike, *, alphabet: Alphabet | Iterable[Symbol] | None = None
) -> Targets:
    r"""Read a pair of files ``N.spice.prefix.*`` and ``N.spice.target.*``.

    Parameters
    ----------
    prefixes, targets
        The files. One row too many at the end of the targets is left out, with a logged warning:
        ``4.spice.target.public`` was published so.
    alphabet
        The integers of the training words; without it, those that the prefixes' header promises.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     prefixes, targets = Path(folder, "9.spice.prefix"), Path(folder, "9.spice.target")
    ...     _ = prefixes.write_text("2 2\n1 1\n0\n")
    ...     _ = targets.write_text("1.0 -1 1.0\n0.815465 0 0.5 -1 0.5\n")
    ...     read_prefixes_and_targets(prefixes, targets)
    Targets(prefixes=Words(2 words over 2 symbols: 1, λ),
            probabilities=array([[0. , 0. , 1. ], [0.5, 0. , 0.5]]))
    """
    words = read_words(prefixes, alphabet=alphabet, layout="pautomac")
    rows = read_targets(targets)
    if len(rows) == len(words) + 1:
        _log.warning("%s: one row too many: the last of %d is left out", targets, len(rows))
        rows.pop()
    if len(rows) != len(words):
        raise FileError(
            f"{targets}: expected a row for each of the {len(words)} prefixes of {prefixes}, "
            f"got {len(rows)}"
        )
    shape = (len(words), len(words.alphabet) + 1)
    if math.prod(shape) > MAX_NUMBERS:
        raise too_many_numbers(f"{prefixes}: {shape[0]:,} × {shape[1]:,}", math.prod(shape))
    probabilities = np.zeros(shape)
    for at, row in enumerate(rows):
        for symbol, probability in row:
            code = words.alphabet.codes.get(symbol) if symbol != END else len(words.alphabet)
            if code is None:
                raise FileError(
                    f"{targets}:{at + 1}: symbol {symbol} is outside the alphabet "
                    f"{words.alphabet} and is not {END}, the end"
                )
            probabilities[at, code] = probability
    return Targets(words, probabilities)


def read_targets(path: PathLike) -> list[list[tuple[int, float]]]:
    r"""Read a file ``N.spice.target.*`` as it is: symbols with their probabilities, row by row.

    The best possible gain at the head of each row is compared with that of the row itself, so
    that damage does not pass.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "9.spice.target.public")
    ...     _ = path.write_text("1.0 -1 1.0\n0.815465 0 0.5 1 0.5\n")
    ...     read_targets(path)
    [[(-1, 1.0)], [(0, 0.5), (1, 0.5)]]
    """
    lines = text_lines(path)
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    return [_row(line.split(), f"{path}:{at}") for at, line in enumerate(lines, 1)]


def _row(fields: list[str], where: str) -> list[tuple[int, float]]:
    try:
        ideal, symbols = float(fields[0]), list(map(int, fields[1::2]))
        probabilities = list(map(float, fields[2::2]))
        row = list(zip(symbols, probabilities, strict=True))
    except (ValueError, IndexError):
        row = []
    if not row or len(set(symbols)) < len(symbols) or not all(0 <= p <= 1 for p in probabilities):
        raise FileError(
            f"{where}: expected a gain, then symbols and their probabilities in turn, "
            f"got {' '.join(fields)[:80]!r}"
        )
    best = sorted(probabilities, reverse=True)[:PLACES]
    gain = sum(probability / math.log2(place) for place, probability in enumerate(best, 2))
    if not abs(gain - ideal) < TOLERANCE:
        raise FileError(
            f"{where}: damaged: the row promises a best gain of {ideal:.6g}, "
            f"its probabilities give {gain:.6g}"
        )
    return row
