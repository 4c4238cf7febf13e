"""Draw the pictures of docs/pictures.md: ``python docs/draw_pictures.py docs/images``.

All numbers in them are computed here, from the function of the page and from the demo's network.
"""

import sys
from pathlib import Path

import numpy as np

import seqray

WORDS = ["", "a", "b", "aa", "ab", "ba"]
CELL_WIDTH, CELL_HEIGHT = 46, 30
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#555"


def answer(word: str) -> float:
    """Return the number that the box of the page gives to a word."""
    return word.count("a") - 0.5 * word.count("b")


def block(symbol: str = "") -> np.ndarray:
    """Return the Hankel block of the page, or that of a symbol."""
    return np.array([[answer(u + symbol + v) for v in WORDS] for u in WORDS])


def shown(word: str) -> str:
    """Return a word as people write it."""
    return word or "λ"


class Picture:
    """An SVG that grows to the right."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.width, self.height = 12.0, 0.0

    def text(self, x: float, y: float, text: str, *, size: int = 14, **style: str) -> None:
        """Write a line of text; its middle is at x."""
        anchor = style.get("anchor", "middle")
        colour, weight = style.get("colour", "#222"), style.get("weight", "normal")
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}" font-weight="{weight}">{text}</text>'
        )

    def matrix(
        self,
        values: np.ndarray,
        *,
        title: str,
        rows: list[str] | None = None,
        columns: list[str] | None = None,
        marked: tuple[int, ...] = (),
    ) -> None:
        """Draw a table of numbers: blue above 0, orange below."""
        left, top = self.width + (44 if rows else 0), 60
        scale = np.abs(values).max() or 1
        self.text(left + CELL_WIDTH * values.shape[1] / 2, 20, title, size=15, weight="bold")
        for j, name in enumerate(columns or []):
            self.text(left + CELL_WIDTH * (j + 0.5), top - 8, name, colour=GREY)
        for i, row in enumerate(values):
            y = top + CELL_HEIGHT * i
            if rows:
                self.text(left - 10, y + 20, rows[i], anchor="end", colour=GREY)
            for j, value in enumerate(row):
                self._cell(left + CELL_WIDTH * j, y, value, scale, i in marked)
        self.width = left + CELL_WIDTH * values.shape[1] + 12
        self.height = max(self.height, top + CELL_HEIGHT * len(values) + 12)

    def _cell(self, x: float, y: float, value: float, scale: float, marked: bool) -> None:
        share = abs(value) / scale
        colour = BLUE if value > 0 else ORANGE
        border = 'stroke="#222" stroke-width="2"' if marked else 'stroke="#ccc"'
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}" '
            f'fill="{colour}" fill-opacity="{0.65 * share:.2f}" {border}/>'
        )
        text = f"{value:.2f}".rstrip("0").rstrip(".").replace("-", "−")
        self.text(x + CELL_WIDTH / 2, y + 20, "0" if text in ("−0", "") else text, size=13)

    def sign(self, text: str) -> None:
        """Write a sign between two matrices."""
        self.text(self.width + 12, 60 + CELL_HEIGHT * 3, text, size=24)
        self.width += 30

    def svg(self) -> str:
        """Return the picture."""
        size = f'width="{self.width:g}" height="{self.height:g}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
                f'viewBox="0 0 {self.width:g} {self.height:g}" '
                'font-family="DejaVu Sans, Verdana, sans-serif">',
                f'<rect {size} fill="#fff"/>',
                *self.parts,
                "</svg>",
                "",
            ]
        )


def table() -> str:
    """Draw the block of answers."""
    picture = Picture()
    names = [shown(word) for word in WORDS]
    picture.matrix(block(), title="H: prefixes × suffixes", rows=names, columns=names)
    return picture.svg()


def rows() -> str:
    """Draw a row as the sum of two others."""
    picture = Picture()
    names, values = [shown(word) for word in WORDS], block()
    for name, sign in (("aa", "= −1 ×"), ("", "+ 2 ×"), ("a", "")):
        at = WORDS.index(name)
        picture.matrix(values[at : at + 1], title=f"row {shown(name)}", columns=names)
        if sign:
            picture.text(picture.width + 26, 81, sign, size=18)
            picture.width += 56
    return picture.svg()


def factors() -> str:
    """Draw the SVD of the block, whose other singular values are 0."""
    left, values, right = np.linalg.svd(block())
    picture = Picture()
    names = [shown(word) for word in WORDS]
    picture.matrix(block(), title="H", rows=names, columns=names)
    picture.sign("=")
    picture.matrix(left[:, :2], title="U", rows=names)
    picture.sign("·")
    picture.matrix(np.diag(values[:2]), title="D")
    picture.sign("·")
    picture.matrix(right[:2], title="Vᵀ", columns=names)
    return picture.svg()


def shifted() -> str:
    """Draw the block of the symbol a beside that of the answers."""
    picture = Picture()
    names = [shown(word) for word in WORDS]
    marked = (WORDS.index("a"),)
    picture.matrix(block(), title="H", rows=names, columns=names, marked=marked)
    picture.width += 24
    after = [f"{word}a" for word in WORDS]
    picture.matrix(block("a"), title="Ha: after one more a", rows=after, columns=names, marked=(0,))
    return picture.svg()


def falling() -> str:
    """Draw the singular values of the demo's network."""
    box = seqray.open_black_box("demo")
    basis = seqray.uniform_basis(box.alphabet, 100, 100, seed=0)
    values = np.linalg.svd(seqray.fill(box, basis).block(), compute_uv=False)[:24]
    picture, top, bottom = Picture(), 40, 240
    logs = np.log10(values / values[0])
    lowest = np.floor(logs.min())
    picture.text(12, 20, "Singular values of a trained GRU, the first 24 of 100", anchor="start")
    for power in range(0, int(lowest) - 1, -1):
        y = top + (bottom - top) * power / lowest
        picture.parts.append(f'<path d="M60 {y:g}H700" stroke="#ddd"/>')
        picture.text(52, y + 5, f"1e{power}" if power else "1", size=12, anchor="end", colour=GREY)
    for i, log in enumerate(logs):
        x, height = 70 + 26 * i, (bottom - top) * (1 - log / lowest)
        picture.parts.append(
            f'<rect x="{x}" y="{bottom - height:.1f}" width="18" '
            f'height="{height:.1f}" fill="{BLUE}"/>'
        )
        picture.text(x + 9, bottom + 18, str(i + 1), size=12, colour=GREY)
    picture.width, picture.height = 712, bottom + 30
    return picture.svg()


def automaton() -> str:
    """Draw the automaton that seqray extracts from the function of the page."""
    box = seqray.black_box(lambda words: [answer(word) for word in words], "ab")
    return seqray.to_svg(seqray.name_states(seqray.extract(box).best()))


PICTURES = {
    "method-table.svg": table,
    "method-rows.svg": rows,
    "method-factors.svg": factors,
    "method-shifted.svg": shifted,
    "method-automaton.svg": automaton,
    "method-falling.svg": falling,
}


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (Path(sys.argv[1]) / name).write_text(draw(), "utf-8")
