"""A scene as a self-contained SVG picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from numpy.typing import ArrayLike

from seqray.draw.geometry import FONT
from seqray.draw.scene import INK, PAPER, Box, Group, Line, Polygon, Scene, Shape, Text
from seqray.draw.styles import picture
from seqray.formats.automaton_file import AutomatonLike


def to_svg(
    automaton: AutomatonLike,
    *,
    threshold: float | None = None,
    names: Sequence[str] | None = None,
    mass: ArrayLike | None = None,
) -> str:
    """Return an automaton as an SVG picture.

    The picture has a view box and no fixed size, no script, no style sheet and no link. The same
    automaton gives the same text. Pointing at a state or an edge shows all there is to say of it;
    labels that find no place without covering others are left out, and the caption counts them.

    Parameters
    ----------
    automaton
        What to draw: an automaton, or what one is in: an extraction, a named automaton, which is
        drawn with its names, or the path of a run folder.
    threshold
        Transitions with ``|weight| < threshold`` are hidden; the caption says how much that is.
        By default 0.05; with names, see `clear_threshold`.
    names
        What to call each state. With names the readable style is used, without them the paper's.
    mass
        The share of all steps that is spent in each state, shape ``(n_states,)``; nan where it is
        not known.

    Returns
    -------
    str
        In the paper's style states carry ``input > output``, in the readable one their name and
        the probability that a word ends there. An edge carries all its symbols, is as wide as its
        heaviest weight, and is dashed and vermilion where that weight is negative.

    Examples
    --------
    >>> from seqray import WeightedAutomaton
    >>> wa = WeightedAutomaton("ab", [1], [[[0.5]], [[0.25]]], [0.25])
    >>> svg = to_svg(wa)
    >>> svg.startswith("<svg "), svg.count('class="state"'), "a: 0.5" in svg
    (True, 1, True)
    >>> "ends 25 %" in to_svg(wa, names=["start"])
    True
    """
    return scene_svg(picture(automaton, threshold=threshold, names=names, mass=mass))


def scene_svg(scene: Scene) -> str:
    """Return a scene as SVG."""
    left, top, width, height = scene.view
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" role="img" '
            f'font-family="sans-serif" font-size="{FONT:g}" fill="{INK}">',
            f"<title>{escape(scene.title)}</title>",
            f"<desc>{escape(scene.description)}</desc>",
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{PAPER}"/>',
            *map(_group, scene.groups),
            "</svg>\n",
        ]
    )


def _group(group: Group) -> str:
    data = "".join(f' data-{name}="{value}"' for name, value in group.data.items())
    title = f"<title>{escape(group.tooltip)}</title>" if group.tooltip else ""
    return f'<g class="{group.kind}"{data}>{title}{"".join(map(_shape, group.shapes))}</g>'


def _shape(shape: Shape) -> str:
    if isinstance(shape, Line):
        path = "M{}C{} {} {}".format(*map(_xy, shape.points))
        dash = ' stroke-dasharray="{:.1f} {:.1f}"'.format(*shape.dash) if shape.dash else ""
        return (
            f'<path d="{path}" fill="none" stroke="{shape.colour}" '
            f'stroke-width="{shape.width:.2f}"{dash}/>'
        )
    if isinstance(shape, Polygon):
        return f'<path d="M{"L".join(map(_xy, shape.points))}Z" fill="{shape.fill}"/>'
    return _box(shape) if isinstance(shape, Box) else _text(shape)


def _box(box: Box) -> str:
    x, y, (width, height) = box.centre.real, box.centre.imag, box.half
    paint = f'fill="{box.fill or "none"}"'
    if box.stroke:
        paint += f' stroke="{box.stroke}" stroke-width="{box.width:g}"'
    for what, opacity in zip(("fill", "stroke"), box.opacity, strict=True):
        paint += f' {what}-opacity="{opacity:g}"' if opacity < 1 else ""
    if width == height == box.corner:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width:.1f}" {paint}/>'
    return (
        f'<rect x="{x - width:.1f}" y="{y - height:.1f}" width="{2 * width:.1f}" '
        f'height="{2 * height:.1f}" rx="{box.corner:g}" {paint}/>'
    )


def _text(text: Text) -> str:
    style = ' text-anchor="middle"' if text.centred else ""
    style += f' font-size="{text.size:g}"' if text.size != FONT else ""
    style += ' font-weight="bold"' if text.bold else ""
    style += f' fill="{text.colour}"' if text.colour != INK else ""
    return f'<text x="{text.at.real:.1f}" y="{text.at.imag:.1f}"{style}>{escape(text.text)}</text>'


def _xy(point: complex) -> str:
    return f"{point.real:.1f} {point.imag:.1f}"
