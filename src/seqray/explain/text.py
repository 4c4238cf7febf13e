"""Explanations as plain tables: what a value prints, and what the command line draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from seqray.automata.words import Alphabet, Symbol
from seqray.util.arrays import FloatArray
from seqray.util.formatting import abbreviated

END = "end"
"""What the end of a word is called among next symbols."""

MAX_ROWS = 40
"""Longer tables lose rows in their middle."""


@dataclass(frozen=True)
class Section:
    """A table of an explanation.

    Parameters
    ----------
    title
        What it is about.
    columns
        The name of each column; numbers stand in those whose name begins with a space.
    rows
        The cells, as text.
    note
        What to know to read it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def shortened(self) -> Section:
        """Return the table without the rows in its middle, if it is long."""
        if len(self.rows) <= MAX_ROWS:
            return self
        half = MAX_ROWS // 2
        left_out = len(self.rows) - 2 * half
        gap = ("…", f"{left_out} more", *[""] * (len(self.columns) - 2))[: len(self.columns)]
        rows = (*self.rows[:half], gap, *self.rows[-half:])
        return Section(self.title, self.columns, rows, self.note)

    def __str__(self) -> str:
        table = self.shortened()
        cells = [[name.strip() for name in table.columns], *table.rows] if table.rows else []
        widths = [max((len(row[i]) for row in cells), default=0) for i in range(len(table.columns))]
        lines = [
            "  ".join(
                cell.rjust(width) if name.startswith(" ") else cell.ljust(width)
                for cell, width, name in zip(row, widths, table.columns, strict=True)
            ).rstrip()
            for row in cells
        ]
        return "\n".join([table.title, *lines, *([table.note] if table.note else [])])


def as_text(sections: Iterable[Section]) -> str:
    """Return tables one below the other.

    >>> print(as_text([Section("Words", ("word", " weight"), (("a", "0.5"), ("ab", "0.125")))]))
    Words
    word  weight
    a        0.5
    ab     0.125
    """
    return "\n\n".join(str(section) for section in sections)


def likeliest(alphabet: Alphabet, probabilities: FloatArray, n: int = 3) -> str:
    """Write the first few next symbols with their probabilities, shape ``(n_symbols + 1,)``.

    >>> likeliest(Alphabet("ab"), np.array([0.2, 0.5, 0.3]), 2)
    'b 0.50  end 0.30'
    """
    return "  ".join(
        f"{name} {probability:.2f}"
        for name, probability in first_choices(alphabet, probabilities, n)
    )


def first_choices(alphabet: Alphabet, probabilities: FloatArray, n: int) -> list[tuple[str, float]]:
    """Return the likeliest next symbols, or the end, by name.

    >>> first_choices(Alphabet("ab"), np.array([0.2, 0.5, 0.3]), 1)
    [('b', 0.5)]
    """
    order = np.argsort(-probabilities, kind="stable")[:n]
    return [(next_name(alphabet, int(i)), float(probabilities[i])) for i in order]


def next_name(alphabet: Alphabet, at: int) -> str:
    """Return what stands at a place of next symbols, the end last.

    >>> next_name(Alphabet("ab"), 2)
    'end'
    """
    return abbreviated(str(alphabet.symbols[at]), 16) if at < len(alphabet) else END


def spelt(alphabet: Alphabet, parts: Sequence[Symbol | str]) -> str:
    """Join symbols, and what stands for some, as words are shown.

    >>> spelt(Alphabet("ab"), ["a", "[b→a]"]), spelt(Alphabet(range(12)), [10, "[+2]"])
    ('a[b→a]', '10 [+2]')
    """
    return alphabet.separator.join(str(part) for part in parts)
