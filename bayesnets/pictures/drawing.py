"""Pictures of networks: causes above effects, every box with the variable's states.

matplotlib is imported when a picture is drawn, because its import takes a while. Names come from
files: they are never read as mathematics, and characters that cannot be printed are left out.
"""

import io
import textwrap
import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesnets.files import replace_file
from bayesnets.network import Network, Node, as_network
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

# Colours and sizes, in points; readable on white, and without colours.
_INK, _FAINT, _ARROW, _ACCENT, _ACCENT_FILL = "#222222", "#5a5a5a", "#6b7f94", "#b34700", "#fff1e0"
# Of arrows by parent, where a single colour would make a thicket of them; dark enough on white.
_THREADS = ("#4c78a8", "#7b5ea7", "#3f8f6b", "#8a6d3b", "#5f6f7f", "#a8557a", "#2f8f9d", "#6b7a1e")
_DENSE = 2.0  # arrows per variable from which on every parent's have a colour
_NAME_SIZE, _STATE_SIZE, _LINE = 11.0, 8.5, 1.25  # of text; a line's height by its size
_PADDING, _GAP, _LANE, _MARGIN = 8.0, 16.0, 10.0, 14.0
_WIDTH_OF_TITLE = 340.0
_NAME_WRAP, _STATE_WRAP, _MOST_STATES = 18, 26, 6  # characters, characters, states
_PORT = 7.0  # room for the head of an arriving arrow
_HEAD = (2.8, 6.5)  # half the width and the length of an arrow's head
_DPI, _MOST_PIXELS = 150, 16_000  # per side; larger pictures get a coarser grid
_MATPLOTLIB = {
    "font.family": "sans-serif",
    # Text stays text, and equal pictures get equal bytes.
    "svg.fonttype": "none",
    "svg.hashsalt": "bayesnets",
    "text.usetex": False,
    "pdf.fonttype": 42,
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

    with rc_context(_MATPLOTLIB), warnings.catch_warnings():
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
                dpi=min(_DPI, _MOST_PIXELS / max(figure.get_size_inches())),
            )
            replace_file(target_file, buffer.getvalue())
    return figure


def _figure(network: Network, targets: frozenset[str]) -> "Figure":
    from matplotlib.figure import Figure

    boxes = {node.name: _box_of(node) for node in network.nodes}
    parents = {node.name: node.parents for node in network.nodes}
    widths = {name: box.width for name, box in boxes.items()}
    layout = layered(parents, widths, gap=_GAP, waypoint=_LANE)
    right = max(
        x + (_LANE if layout.is_lane(point) else widths[point.name]) / 2
        for point, x in layout.x.items()
    )
    width = max(right, _WIDTH_OF_TITLE) + 2 * _MARGIN
    centres = {point: x + (width - right) / 2 for point, x in layout.x.items()}
    headlines = _headlines(network, width - 2 * _MARGIN)
    heights = [
        max((boxes[each.name].height for each in row if not layout.is_lane(each)), default=0.0)
        for row in layout.layers
    ]
    spaces = [_space_below(layer, layout) for layer in range(len(heights) - 1)]
    title = float(sum(headline["size"] for headline in headlines)) * _LINE
    height = title + sum(heights) + sum(spaces) + 3 * _MARGIN

    figure = Figure(figsize=(width / 72, height / 72), facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    y = height - _MARGIN
    for headline in headlines:
        figure.text(_MARGIN / width, y / height, va="top", parse_math=False, **headline)
        y -= headline["size"] * _LINE
    y -= _MARGIN
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
    dense = sum(map(len, parents.values())) > _DENSE * len(parents)
    thread = {
        name: _THREADS[number % len(_THREADS)] if dense else _ARROW
        for number, name in enumerate(layout.home)
    }
    # In a fixed order, so that equal networks give equal bytes.
    for point in sorted(filter(layout.is_lane, centres)):
        ends = [(centres[point], edge(point, side)) for side in (1, -1)]
        _draw_line(ax, ends, thread[point.name], any(point in piece for piece in set_off))
    for (upper, lower), (start, end) in _ports_of(layout, boxes, centres).items():
        head = not layout.is_lane(lower)
        points = _curve((start, edge(upper, -1)), (end, edge(lower, 1)), head=head)
        _draw_line(ax, points, thread[upper.name], (upper, lower) in set_off, head)
    for name, point in layout.home.items():
        at = centres[point], middles[point.layer]
        _draw_box(ax, boxes[name], *at, marked=name in targets)
    return figure


def _headlines(network: Network, width: float) -> list[dict[str, Any]]:
    """Return the lines above the graph, as matplotlib takes texts."""
    # About 7.5 points a letter.
    title = textwrap.wrap(_printable(network.title or network.name), max(30, int(width / 7.5)))
    lines = [{"s": line, "size": 13.0, "color": _INK, "weight": "bold"} for line in title]
    if network.illustrative:
        warning = "illustrative tables: made up for teaching, no population behind them"
        lines.append({"s": warning, "size": 10.0, "color": _ACCENT, "weight": "normal"})
    return lines


@dataclass(frozen=True)
class _Box:
    """The box of a variable."""

    # name, states: lines of text
    name: tuple[str, ...]
    states: tuple[str, ...]
    # width, height: in points
    width: float
    height: float


def _box_of(node: Node) -> _Box:
    """Return the box of a node; long texts are wrapped or shortened, and many states counted."""
    shown = [
        textwrap.shorten(_printable(state), _STATE_WRAP, placeholder="…")
        or _printable(state)[:_STATE_WRAP]
        for state in node.states
    ]
    if len(shown) > _MOST_STATES:
        shown = [*shown[: _MOST_STATES - 1], f"and {len(shown) - _MOST_STATES + 1} more"]
    # A state stays on one line; a name breaks after an underscore as it does at a space.
    glued = " · ".join(text.replace(" ", "\xa0") for text in shown)
    states = tuple(
        line.replace("\xa0", " ").strip(" ·")
        for line in textwrap.wrap(glued, _STATE_WRAP, break_on_hyphens=False)
    )
    breakable = _printable(node.name).replace("_", "_ ")
    lines = textwrap.wrap(breakable, _NAME_WRAP, break_long_words=False)
    pieces = [piece for line in lines for piece in textwrap.wrap(line, _STATE_WRAP)]
    # A name of nothing but unprintable characters still gets a box.
    name = tuple(piece.replace("_ ", "_") for piece in pieces) or ("?",)
    widest = max(
        [_text_width(line, _NAME_SIZE, "bold") for line in name]
        + [_text_width(line, _STATE_SIZE, "normal") for line in states]
    )
    width = max(widest, _PORT * len(node.parents)) + 2 * _PADDING
    height = (len(name) * _NAME_SIZE + len(states) * _STATE_SIZE) * _LINE
    return _Box(name, states, width, height + 1.4 * _PADDING)


def _text_width(text: str, size: float, weight: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(
        text_to_path.get_text_width_height_descent(
            text, FontProperties(size=size, weight=weight), ismath=False
        )[0]
    )


def _printable(text: str) -> str:
    """Return text without characters that no font shows, and with any white space as a blank."""
    return "".join(
        " " if character.isspace() else character
        for character in text
        if unicodedata.category(character) not in ("Cc", "Cf", "Cs")
    ).strip()


def _draw_box(ax: Any, box: _Box, x: float, y: float, *, marked: bool) -> None:
    """Draw a box around a centre; a marked one is set off."""
    from matplotlib.patches import FancyBboxPatch

    corner = (x - box.width / 2, y - box.height / 2)
    fill, edge, width = (_ACCENT_FILL, _ACCENT, 2.2) if marked else ("white", _FAINT, 1.0)
    drawn: dict[str, Any] = {
        "facecolor": fill,
        "edgecolor": edge,
        "linewidth": width,
        "zorder": 4.0,
    }
    rounded = "round,pad=0,rounding_size=4"
    ax.add_patch(FancyBboxPatch(corner, box.width, box.height, boxstyle=rounded, **drawn))
    # Lines of text from the top; each is centred in its own height.
    line_y = y + box.height / 2 - 0.7 * _PADDING
    for lines, size, colour, weight in (
        (box.name, _NAME_SIZE, _INK, "bold"),
        (box.states, _STATE_SIZE, _FAINT, "normal"),
    ):
        drawn = {"size": size, "color": colour, "weight": weight, "parse_math": False}
        for line in lines:
            line_y -= size * _LINE / 2
            middle = {"ha": "center", "va": "center_baseline", "zorder": 5.0}
            ax.text(x, line_y, line, **drawn, **middle)
            line_y -= size * _LINE / 2


_Segment = tuple[Point, Point]
"""A piece of an arrow, from a layer to the next one."""


def _space_below(layer: int, layout: Layout) -> float:
    """Return the height that the arrows below a layer need."""
    # Dense layers need a steeper fan to be told apart.
    n = sum(upper.layer == layer for upper, _ in layout.pieces.edges)
    return float(34.0 + min(110.0, 1.3 * n))


def _ports_of(
    layout: Layout, boxes: Mapping[str, _Box], centres: Mapping[Point, float]
) -> dict[_Segment, tuple[float, float]]:
    """Return where every piece leaves and arrives: spread over boxes, ordered by the other ends."""
    sides: list[dict[_Segment, float]] = []
    for near, at in enumerate((layout.pieces.out_edges, layout.pieces.in_edges)):
        of_side = {}
        for point in layout.pieces:
            pieces = sorted(at(point), key=lambda piece: centres[piece[1 - near]])
            # All arrows of a lane run along its middle; those of a box spread over its width.
            room = 0.0 if layout.is_lane(point) else boxes[point.name].width - 2 * _PADDING
            step = min(9.0, room / max(len(pieces), 1))
            for number, piece in enumerate(pieces):
                of_side[piece] = centres[point] + (number - (len(pieces) - 1) / 2) * step
        sides.append(of_side)
    return {piece: (start, sides[1][piece]) for piece, start in sides[0].items()}


def _draw_line(
    ax: Any, points: Sequence[tuple[float, float]], thread: str, marked: bool, head: bool = False
) -> None:
    """Draw a line between two points, or along a curve with its two handles, from top to bottom."""
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path as Curve

    colour, width, order = (_ACCENT, 1.4, 2.0) if marked else (thread, 0.9, 1.0)
    codes = [Curve.MOVETO, *[Curve.CURVE4] * 3] if len(points) == 4 else None
    line = {"facecolor": "none", "edgecolor": colour, "linewidth": width, "alpha": 0.9}
    ax.add_patch(PathPatch(Curve(points, codes), **line, zorder=order, capstyle="round"))
    if head:
        (x, y), (half, length) = points[-1], _HEAD
        y -= length * 0.8  # the line ends inside the head, whose point would otherwise be blunt
        triangle = [(x, y), (x - half, y + length), (x + half, y + length)]
        fill = {"facecolor": colour, "edgecolor": "none", "zorder": 3.0 if marked else 2.5}
        ax.add_patch(Polygon(triangle, closed=True, **fill))


def _curve(
    start: tuple[float, float], end: tuple[float, float], *, head: bool
) -> list[tuple[float, float]]:
    """Return the curve of a piece of an arrow, which leaves and arrives upright."""
    (x0, y0), (x1, y1) = start, end
    y1 += _HEAD[1] * 0.8 * head
    bend = 0.55 * (y0 - y1)
    return [(x0, y0), (x0, y0 - bend), (x1, y1 + bend), (x1, y1)]
