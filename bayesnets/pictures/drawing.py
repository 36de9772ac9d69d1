"""Pictures of networks: causes above effects, every box with the variable's states.

matplotlib is imported when a picture is drawn, because its import takes a while. Names come from
files: they are never read as mathematics, and characters that cannot be printed are left out.
"""

import io
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesnets.conversion import as_network
from bayesnets.files import replace_file
from bayesnets.network import Network
from bayesnets.pictures import style
from bayesnets.pictures.arrows import (
    Segment,
    draw_arrow,
    draw_line,
    ports_of,
    segments_of,
    space_below,
)
from bayesnets.pictures.boxes import Box, box_of, draw_box, printable
from bayesnets.pictures.layout import Layout, Point, layered
from coherence.errors import InputError, suggestion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
_METADATA: Mapping[str, dict[str, None]] = {
    # Dates and versions would make equal pictures differ.
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
}


def draw(
    network: Any, path: str | Path | None = None, *, highlight: str | Sequence[str] | None = None
) -> "Figure":
    """Draw the graph: causes above effects, every box with the variable's states.

    Parameters
    ----------
    network : Network or pgmpy.models.DiscreteBayesianNetwork
        The model. Illustrative tables are called so in the picture.
    path : str or Path, optional
        File to write: .png, .svg or .pdf. The same network gives the same bytes.
    highlight : str or sequence of str, optional
        Variables to set off, such as the target, together with the arrows into them.

    Returns
    -------
    matplotlib.figure.Figure
        Registered nowhere; shown by a notebook when it is the last value of a cell.

    Raises
    ------
    InputError
        Unknown variables, another ending, or a folder that can't be written to.

    Examples
    --------
    >>> from bayesnets import load_network
    >>> figure = draw(load_network("asia"), highlight="lung")
    >>> [text.get_text() for text in figure.texts][0]
    'Shortness of breath at a chest clinic'
    """
    model = as_network(network)
    named = () if highlight is None else highlight
    targets = (named,) if isinstance(named, str) else tuple(named)
    for target in targets:
        if target not in model.names:
            raise InputError(
                f"highlight must be variables of network {model.name!r}; {target!r} is not. "
                f"{suggestion(target, model.names)}"
            )
    target_file = None if path is None else Path(path)
    if target_file is not None and target_file.suffix.lower() not in PICTURE_SUFFIXES:
        raise InputError(
            f"path must end in {', '.join(PICTURE_SUFFIXES)}; {str(path)!r} does not. "
            "Choose one of these."
        )

    from matplotlib import rc_context

    with rc_context(style.MATPLOTLIB), warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes in a PNG; in an SVG the reader's own font
        # shows it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure = _figure(model, frozenset(targets))
        if target_file is not None:
            buffer = io.BytesIO()
            kind = target_file.suffix.lower().removeprefix(".")
            figure.savefig(
                buffer,
                format=kind,
                metadata=_METADATA[kind],
                dpi=min(style.DPI, style.MOST_PIXELS / max(figure.get_size_inches())),
            )
            replace_file(target_file, buffer.getvalue())
    return figure


@dataclass(frozen=True)
class _Page:
    """Where everything goes, in points from the lower left."""

    layout: Layout
    boxes: Mapping[str, Box]
    heights: Sequence[float]  # of the layers
    middles: Sequence[float]  # of the layers
    centres: Mapping[Point, float]
    width: float
    height: float

    def is_lane(self, point: Point) -> bool:
        return self.layout.home[point.name] != point

    def edge(self, point: Point, side: int) -> float:
        """Return the upper (1) or lower (-1) end of a box, or of a lane, which passes the layer."""
        lane = self.is_lane(point)
        height = self.heights[point.layer] if lane else self.boxes[point.name].height
        return self.middles[point.layer] + side * height / 2


def _figure(network: Network, targets: frozenset[str]) -> "Figure":
    from matplotlib.figure import Figure

    boxes = {node.name: box_of(node) for node in network.nodes}
    parents = {node.name: node.parents for node in network.nodes}
    widths = {name: box.width for name, box in boxes.items()}
    layout = layered(parents, widths, gap=style.GAP, waypoint=style.LANE)
    segments = segments_of(layout, parents)
    drawn_width = max(
        x + (widths[point.name] if layout.home[point.name] == point else style.LANE) / 2
        for point, x in layout.x.items()
    )
    width = max(drawn_width, style.WIDTH_OF_TITLE) + 2 * style.MARGIN
    headlines = _headlines(network, width - 2 * style.MARGIN)
    page = _page(layout, boxes, segments, headlines, drawn_width, width)

    figure = Figure(figsize=(page.width / 72, page.height / 72), facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, page.width), ylim=(0, page.height))
    ax.set_axis_off()
    y = page.height - style.MARGIN
    for headline in headlines:
        figure.text(
            style.MARGIN / page.width,
            y / page.height,
            headline.text,
            size=headline.size,
            color=headline.colour,
            weight=headline.weight,
            va="top",
            parse_math=False,
        )
        y -= headline.size * style.LINE
    _draw_arrows(ax, page, parents, segments, targets)
    for name, point in layout.home.items():
        x, y = page.centres[point], page.middles[point.layer]
        draw_box(ax, boxes[name], x, y, marked=name in targets)
    return figure


def _page(
    layout: Layout,
    boxes: Mapping[str, Box],
    segments: Sequence[Segment],
    headlines: Sequence["_Headline"],
    drawn_width: float,
    width: float,
) -> _Page:
    title_height = sum(headline.size * style.LINE for headline in headlines) + style.MARGIN
    heights = [
        max(
            (boxes[point.name].height for point in row if layout.home[point.name] == point),
            default=0.0,
        )
        for row in layout.layers
    ]
    spaces = [space_below(layer, segments) for layer in range(len(heights) - 1)]
    height = title_height + sum(heights) + sum(spaces) + 2 * style.MARGIN
    y = height - style.MARGIN
    for headline in headlines:
        y -= headline.size * style.LINE
    y -= style.MARGIN
    middles = []
    for row_height, space in zip(heights, [*spaces, 0.0], strict=True):
        middles.append(y - row_height / 2)
        y -= row_height + space
    left = (width - drawn_width) / 2
    centres = {point: x + left for point, x in layout.x.items()}
    return _Page(layout, boxes, heights, middles, centres, width, height)


def _draw_arrows(
    ax: Any,
    page: _Page,
    parents: Mapping[str, Sequence[str]],
    segments: Sequence[Segment],
    targets: frozenset[str],
) -> None:
    set_off = {
        segment
        for child in targets
        for parent in parents[child]
        for segment in pairwise(page.layout.route(parent, child))
    }
    dense = sum(map(len, parents.values())) > style.DENSE * len(parents)
    thread = {
        name: style.THREADS[number % len(style.THREADS)] if dense else style.ARROW
        for number, name in enumerate(page.layout.home)
    }
    lanes = filter(page.is_lane, page.centres)
    # In a fixed order, so that equal networks give equal bytes.
    for point in sorted(lanes, key=lambda lane: (lane.layer, lane.name)):
        x = page.centres[point]
        ends = [(x, page.edge(point, 1)), (x, page.edge(point, -1))]
        draw_line(ax, ends, thread[point.name], any(point in segment for segment in set_off))
    ports = ports_of(page.layout, segments, page.boxes, page.centres)
    for upper, lower in segments:
        start, end = ports[upper, lower]
        draw_arrow(
            ax,
            (start, page.edge(upper, -1)),
            (end, page.edge(lower, 1)),
            thread[upper.name],
            has_head=not page.is_lane(lower),
            marked=(upper, lower) in set_off,
        )


@dataclass(frozen=True)
class _Headline:
    text: str
    size: float
    colour: str
    weight: str


def _headlines(network: Network, width: float) -> list[_Headline]:
    # About 7.5 points a letter.
    title = textwrap.wrap(printable(network.title or network.name), max(30, int(width / 7.5)))
    lines = [_Headline(line, 13.0, style.INK, "bold") for line in title]
    if network.illustrative:
        warning = "illustrative tables: made up for teaching, no population behind them"
        lines.append(_Headline(warning, 10.0, style.ACCENT, "normal"))
    return lines
