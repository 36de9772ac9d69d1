"""The arrows of a picture: where their pieces meet the boxes, and their lines."""

from collections.abc import Mapping, Sequence
from typing import Any

from bayesnets.pictures import style
from bayesnets.pictures.boxes import Box
from bayesnets.pictures.layout import Layout, Point

Segment = tuple[Point, Point]
"""A piece of an arrow, from a layer to the next one."""


def space_below(layer: int, layout: Layout) -> float:
    """Return the height that the arrows below a layer need."""
    # Dense layers need a steeper fan to be told apart.
    n = sum(upper.layer == layer for upper, _ in layout.pieces.edges)
    return float(34.0 + min(110.0, 1.3 * n))


def ports_of(
    layout: Layout, boxes: Mapping[str, Box], centres: Mapping[Point, float]
) -> dict[Segment, tuple[float, float]]:
    """Return where every piece leaves and arrives: spread over boxes, ordered by the other ends."""
    sides: list[dict[Segment, float]] = []
    for near, at in enumerate((layout.pieces.out_edges, layout.pieces.in_edges)):
        of_side = {}
        for point in layout.pieces:
            pieces = sorted(at(point), key=lambda piece: centres[piece[1 - near]])
            # All arrows of a lane run along its middle; those of a box spread over its width.
            room = 0.0 if layout.is_lane(point) else boxes[point.name].width - 2 * style.PADDING
            step = min(9.0, room / max(len(pieces), 1))
            for number, piece in enumerate(pieces):
                of_side[piece] = centres[point] + (number - (len(pieces) - 1) / 2) * step
        sides.append(of_side)
    return {piece: (start, sides[1][piece]) for piece, start in sides[0].items()}


def draw_line(
    ax: Any, points: Sequence[tuple[float, float]], thread: str, marked: bool, head: bool = False
) -> None:
    """Draw a line between two points, or along a curve with its two handles, from top to bottom."""
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path as Curve

    colour, width, order = (style.ACCENT, 1.4, 2.0) if marked else (thread, 0.9, 1.0)
    codes = [Curve.MOVETO, *[Curve.CURVE4] * 3] if len(points) == 4 else None
    line = {"facecolor": "none", "edgecolor": colour, "linewidth": width, "alpha": 0.9}
    ax.add_patch(PathPatch(Curve(points, codes), **line, zorder=order, capstyle="round"))
    if head:
        (x, y), (half, length) = points[-1], style.HEAD
        y -= length * 0.8  # the line ends inside the head, whose point would otherwise be blunt
        triangle = [(x, y), (x - half, y + length), (x + half, y + length)]
        fill = {"facecolor": colour, "edgecolor": "none", "zorder": 3.0 if marked else 2.5}
        ax.add_patch(Polygon(triangle, closed=True, **fill))


def curve(
    start: tuple[float, float], end: tuple[float, float], *, head: bool
) -> list[tuple[float, float]]:
    """Return the curve of a piece of an arrow, which leaves and arrives upright."""
    (x0, y0), (x1, y1) = start, end
    y1 += style.HEAD[1] * 0.8 * head
    bend = 0.55 * (y0 - y1)
    return [(x0, y0), (x0, y0 - bend), (x1, y1 + bend), (x1, y1)]
