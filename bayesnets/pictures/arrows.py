"""The arrows of a picture: pieces between layers, where they meet the boxes, and their lines."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from bayesnets.pictures import style
from bayesnets.pictures.boxes import Box
from bayesnets.pictures.layout import Layout, Point

Segment = tuple[Point, Point]
"""A piece of an arrow, from a layer to the next one."""


def segments_of(layout: Layout, parents: Mapping[str, Sequence[str]]) -> list[Segment]:
    """Return the pieces of all arrows; arrows of one parent share theirs."""
    return list(
        dict.fromkeys(
            pair
            for child, its_parents in parents.items()
            for parent in its_parents
            for pair in pairwise(layout.route(parent, child))
        )
    )


def space_below(layer: int, segments: Sequence[Segment]) -> float:
    """Return the height that the arrows below a layer need."""
    # Dense layers need a steeper fan to be told apart.
    return 34.0 + min(110.0, 1.3 * sum(upper.layer == layer for upper, _ in segments))


def ports_of(
    layout: Layout,
    segments: Sequence[Segment],
    boxes: Mapping[str, Box],
    centres: Mapping[Point, float],
) -> dict[Segment, tuple[float, float]]:
    """Return where every piece leaves and arrives: spread over boxes, ordered by the other ends."""
    ends: dict[Segment, list[float]] = {pair: [0.0, 0.0] for pair in segments}
    for side in (0, 1):
        at: dict[Point, list[Segment]] = {}
        for pair in segments:
            at.setdefault(pair[side], []).append(pair)
        for point, pairs in at.items():
            pairs.sort(key=lambda pair: centres[pair[1 - side]])
            # All arrows of a lane run along its middle; those of a box spread over its width.
            is_box = layout.home[point.name] == point
            room = boxes[point.name].width - 2 * style.PADDING if is_box else 0.0
            step = min(9.0, room / len(pairs))
            for number, pair in enumerate(pairs):
                ends[pair][side] = centres[point] + (number - (len(pairs) - 1) / 2) * step
    return {pair: (start, end) for pair, (start, end) in ends.items()}


def draw_line(
    ax: Any,
    points: Sequence[tuple[float, float]],
    thread: str,
    marked: bool,
    codes: Sequence[Any] | None = None,
) -> None:
    """Draw a line through points, straight unless matplotlib's path codes say otherwise."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    colour, width, order = (style.ACCENT, 1.4, 2.0) if marked else (thread, 0.9, 1.0)
    ax.add_patch(
        PathPatch(
            Curve(points, codes),
            facecolor="none",
            edgecolor=colour,
            linewidth=width,
            alpha=0.9,
            zorder=order,
            capstyle="round",
        )
    )


def draw_arrow(
    ax: Any,
    start: tuple[float, float],
    end: tuple[float, float],
    thread: str,
    *,
    has_head: bool,
    marked: bool,
) -> None:
    """Draw a piece of an arrow from its upper to its lower end, as a curve that leaves upright."""
    from matplotlib.patches import Polygon
    from matplotlib.path import Path as Curve

    (x0, y0), (x1, y1) = start, end
    half, length = style.HEAD
    # The line ends inside the head, whose point would otherwise be blunt.
    y_line = y1 + length * 0.8 if has_head else y1
    bend = 0.55 * (y0 - y_line)
    points = [(x0, y0), (x0, y0 - bend), (x1, y_line + bend), (x1, y_line)]
    draw_line(ax, points, thread, marked, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    if has_head:
        triangle = [(x1, y1), (x1 - half, y1 + length), (x1 + half, y1 + length)]
        ax.add_patch(
            Polygon(
                triangle,
                closed=True,
                facecolor=style.ACCENT if marked else thread,
                edgecolor="none",
                zorder=3.0 if marked else 2.5,
            )
        )
