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
from bayesnets.pictures.arrows import curve, draw_line, ports_of, space_below
from bayesnets.pictures.boxes import box_of, draw_box, printable
from bayesnets.pictures.layout import Point, layered
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


def _figure(network: Network, targets: frozenset[str]) -> "Figure":
    from matplotlib.figure import Figure

    boxes = {node.name: box_of(node) for node in network.nodes}
    parents = {node.name: node.parents for node in network.nodes}
    widths = {name: box.width for name, box in boxes.items()}
    layout = layered(parents, widths, gap=style.GAP, waypoint=style.LANE)
    right = max(
        x + (style.LANE if layout.is_lane(point) else widths[point.name]) / 2
        for point, x in layout.x.items()
    )
    width = max(right, style.WIDTH_OF_TITLE) + 2 * style.MARGIN
    centres = {point: x + (width - right) / 2 for point, x in layout.x.items()}
    headlines = _headlines(network, width - 2 * style.MARGIN)
    heights = [
        max((boxes[each.name].height for each in row if not layout.is_lane(each)), default=0.0)
        for row in layout.layers
    ]
    spaces = [space_below(layer, layout) for layer in range(len(heights) - 1)]
    title = sum(headline.size * style.LINE for headline in headlines)
    height = title + sum(heights) + sum(spaces) + 3 * style.MARGIN

    figure = Figure(figsize=(width / 72, height / 72), facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    y = height - style.MARGIN
    for headline in headlines:
        figure.text(
            style.MARGIN / width,
            y / height,
            headline.text,
            size=headline.size,
            color=headline.colour,
            weight=headline.weight,
            va="top",
            parse_math=False,
        )
        y -= headline.size * style.LINE
    y -= style.MARGIN
    middles = []
    for row_height, space in zip(heights, [*spaces, 0.0], strict=True):
        middles.append(y - row_height / 2)
        y -= row_height + space

    def edge(point: Point, side: int) -> float:
        """Return the upper (1) or lower (-1) end of a box, or of a lane, which passes the layer."""
        lane = layout.is_lane(point)
        tall = heights[point.layer] if lane else boxes[point.name].height
        return middles[point.layer] + side * tall / 2

    routes = [layout.route(parent, child) for child in targets for parent in parents[child]]
    set_off = {piece for route in routes for piece in pairwise(route)}
    dense = sum(map(len, parents.values())) > style.DENSE * len(parents)
    thread = {
        name: style.THREADS[number % len(style.THREADS)] if dense else style.ARROW
        for number, name in enumerate(layout.home)
    }
    # In a fixed order, so that equal networks give equal bytes.
    for point in sorted(filter(layout.is_lane, centres)):
        ends = [(centres[point], edge(point, side)) for side in (1, -1)]
        draw_line(ax, ends, thread[point.name], any(point in piece for piece in set_off))
    for (upper, lower), (start, end) in ports_of(layout, boxes, centres).items():
        head = not layout.is_lane(lower)
        points = curve((start, edge(upper, -1)), (end, edge(lower, 1)), head=head)
        draw_line(ax, points, thread[upper.name], (upper, lower) in set_off, head)
    for name, point in layout.home.items():
        at = centres[point], middles[point.layer]
        draw_box(ax, boxes[name], *at, marked=name in targets)
    return figure


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
