"""Pictures of networks. matplotlib is imported when a picture is drawn, because its import takes a while.

Names come from files: they are never read as mathematics, and characters that cannot be printed are
left out.
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

from bayesnets.formats.conversion import as_network
from bayesnets.formats.network_files import replace_file
from bayesnets.network import Network
from bayesnets.node import Node
from bayesnets.pictures.layout import Layout, Point, layered
from coherence.errors import InputError, suggestion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")

_INK, _FAINT, _ARROW, _ACCENT, _ACCENT_FILL = (
    "#222222",
    "#5a5a5a",
    "#6b7f94",
    "#b34700",
    "#fff1e0",
)  # readable on white, and without colours
# Of arrows by parent, where a single colour would make a thicket of them; dark enough on white.
_THREADS = ("#4c78a8", "#7b5ea7", "#3f8f6b", "#8a6d3b", "#5f6f7f", "#a8557a", "#2f8f9d", "#6b7a1e")
_DENSE = 2.0  # arrows per variable
_NAME_SIZE, _STATE_SIZE, _LINE = 11.0, 8.5, 1.25  # points
_PADDING, _GAP, _LANE, _MARGIN = 8.0, 16.0, 10.0, 14.0  # points
_WIDTH_OF_TITLE = 340.0
_NAME_WRAP, _STATE_WRAP, _MOST_STATES = 18, 26, 6  # characters, characters, states
_PORT = 7.0  # room for the head of an arriving arrow, points
_HEAD = (2.8, 6.5)  # half the width and the length of an arrow's head
_DPI, _MOST_PIXELS = 150, 16_000  # per side; larger pictures get a coarser grid
_STYLE = {
    "font.family": "sans-serif",
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
    targets = (highlight,) if isinstance(highlight, str) else tuple(highlight or ())
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

    with rc_context(_STYLE), warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes in a PNG; in an SVG the reader's own font
        # shows it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure = _figure(model, frozenset(targets))
        if target_file is not None:
            buffer = io.BytesIO()
            kind = target_file.suffix.lower().removeprefix(".")
            metadata = {
                "svg": {"Date": None},
                "pdf": {"CreationDate": None},
                "png": {"Software": None},
            }[kind]
            figure.savefig(
                buffer,
                format=kind,
                metadata=metadata,
                dpi=min(_DPI, _MOST_PIXELS / max(figure.get_size_inches())),
            )
            replace_file(target_file, buffer.getvalue())
    return figure


@dataclass(frozen=True)
class _Box:
    name: tuple[str, ...]  # lines
    states: tuple[str, ...]
    width: float
    height: float


def _figure(network: Network, targets: frozenset[str]) -> "Figure":
    from matplotlib.figure import Figure

    boxes = {node.name: _box(node) for node in network.nodes}
    parents = {node.name: node.parents for node in network.nodes}
    layout = layered(
        parents, {name: box.width for name, box in boxes.items()}, gap=_GAP, waypoint=_LANE
    )
    segments = _segments(layout, parents)
    drawn_width = max(
        x + (boxes[point.name].width if layout.home[point.name] == point else _LANE) / 2
        for point, x in layout.x.items()
    )
    width = max(drawn_width, _WIDTH_OF_TITLE) + 2 * _MARGIN
    left = (width - drawn_width) / 2
    heads = _headlines(network, width - 2 * _MARGIN)
    title_height = sum(size * _LINE for _, size, _, _ in heads) + _MARGIN
    heights = [
        max(
            (boxes[point.name].height for point in row if layout.home[point.name] == point),
            default=0.0,
        )
        for row in layout.layers
    ]
    spaces = [_space_below(layer, segments) for layer in range(len(heights) - 1)]
    height = title_height + sum(heights) + sum(spaces) + 2 * _MARGIN

    figure = Figure(figsize=(width / 72, height / 72), facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    y = height - _MARGIN
    for text, size, colour, weight in heads:
        figure.text(
            _MARGIN / width,
            y / height,
            text,
            size=size,
            color=colour,
            weight=weight,
            va="top",
            parse_math=False,
        )
        y -= size * _LINE
    y -= _MARGIN
    tops = {}
    for layer, row_height in enumerate(heights):
        tops[layer] = y
        y -= row_height + (spaces[layer] if layer < len(spaces) else 0)
    middles = {layer: top - heights[layer] / 2 for layer, top in tops.items()}
    centres = {point: x + left for point, x in layout.x.items()}

    def edge(point: Point, side: int) -> float:
        """Return the upper (1) or lower (-1) end of a box, or of a lane, which passes the whole layer."""
        half = (
            boxes[point.name].height if layout.home[point.name] == point else heights[point.layer]
        )
        return middles[point.layer] + side * half / 2

    set_off = {
        pair
        for child in targets
        for parent in parents[child]
        for pair in _pairs(layout.route(parent, child))
    }
    lanes = {point for point in centres if layout.home[point.name] != point}
    dense = sum(map(len, parents.values())) > _DENSE * len(parents)
    thread = {
        name: _THREADS[number % len(_THREADS)] if dense else _ARROW
        for number, name in enumerate(layout.home)
    }
    for point in sorted(lanes, key=lambda lane: (lane.layer, lane.name)):
        marked = any(point in pair for pair in set_off)
        _line(
            ax,
            [(centres[point], edge(point, 1)), (centres[point], edge(point, -1))],
            thread[point.name],
            marked,
        )
    ports = _ports(layout, segments, boxes, centres)
    for upper, lower in segments:
        start, end = ports[upper, lower]
        has_head = lower not in lanes
        _arrow(
            ax,
            (start, edge(upper, -1)),
            (end, edge(lower, 1)),
            thread[upper.name],
            has_head=has_head,
            marked=(upper, lower) in set_off,
        )
    for name, point in layout.home.items():
        _draw_box(ax, boxes[name], centres[point], middles[point.layer], name in targets)
    return figure


def _headlines(network: Network, width: float) -> list[tuple[str, float, str, str]]:
    lines = [
        (line, 13.0, _INK, "bold")
        for line in textwrap.wrap(
            _printable(network.title or network.name), max(30, int(width / 7.5))
        )
    ]
    if network.illustrative:
        lines.append(
            (
                "illustrative tables: made up for teaching, no population behind them",
                10.0,
                _ACCENT,
                "normal",
            )
        )
    return lines


def _box(node: Node) -> _Box:
    shown = [
        textwrap.shorten(_printable(state), _STATE_WRAP, placeholder="…")
        or _printable(state)[:_STATE_WRAP]
        for state in node.states
    ]
    if len(shown) > _MOST_STATES:
        shown = [*shown[: _MOST_STATES - 1], f"and {len(shown) - _MOST_STATES + 1} more"]
    # A state stays on one line; a name breaks after an underscore as it does at a space.
    glued = textwrap.wrap(
        " · ".join(text.replace(" ", "\xa0") for text in shown), _STATE_WRAP, break_on_hyphens=False
    )
    state_lines = tuple(line.replace("\xa0", " ").strip(" ·") for line in glued)
    broken = textwrap.wrap(
        _printable(node.name).replace("_", "_ "), _NAME_WRAP, break_long_words=False
    )
    name_lines = tuple(
        piece.replace("_ ", "_") for line in broken for piece in textwrap.wrap(line, _STATE_WRAP)
    ) or ("?",)
    widest = max(
        [_text_width(line, _NAME_SIZE, "bold") for line in name_lines]
        + [_text_width(line, _STATE_SIZE, "normal") for line in state_lines]
    )
    height = (len(name_lines) * _NAME_SIZE + len(state_lines) * _STATE_SIZE) * _LINE
    return _Box(
        name_lines,
        state_lines,
        max(widest, _PORT * len(node.parents)) + 2 * _PADDING,
        height + 1.4 * _PADDING,
    )


def _text_width(text: str, size: float, weight: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(
        text_to_path.get_text_width_height_descent(
            text, FontProperties(size=size, weight=weight), ismath=False
        )[0]
    )


def _printable(text: str) -> str:
    return "".join(
        " " if character.isspace() else character
        for character in text
        if unicodedata.category(character) not in ("Cc", "Cf", "Cs")
    ).strip()


def _pairs(route: Sequence[Point]) -> list[tuple[Point, Point]]:
    return list(pairwise(route))


def _segments(layout: Layout, parents: Mapping[str, Sequence[str]]) -> list[tuple[Point, Point]]:
    """Return the pieces of all arrows; arrows of one parent share theirs."""
    return list(
        dict.fromkeys(
            pair
            for child, its_parents in parents.items()
            for parent in its_parents
            for pair in _pairs(layout.route(parent, child))
        )
    )


def _space_below(layer: int, segments: Sequence[tuple[Point, Point]]) -> float:
    # Dense layers need a steeper fan to be told apart.
    return 34.0 + min(110.0, 1.3 * sum(upper.layer == layer for upper, _ in segments))


def _ports(
    layout: Layout,
    segments: Sequence[tuple[Point, Point]],
    boxes: Mapping[str, _Box],
    centres: Mapping[Point, float],
) -> dict[tuple[Point, Point], tuple[float, float]]:
    """Return where every piece leaves and arrives, spread over the boxes in the order of the other ends."""
    ends: dict[tuple[Point, Point], list[float]] = {pair: [0.0, 0.0] for pair in segments}
    for side in (0, 1):
        at: dict[Point, list[tuple[Point, Point]]] = {}
        for pair in segments:
            at.setdefault(pair[side], []).append(pair)
        for point, pairs in at.items():
            pairs.sort(key=lambda pair: centres[pair[1 - side]])
            room = (
                boxes[point.name].width - 2 * _PADDING if layout.home[point.name] == point else 0.0
            )
            step = min(9.0, room / len(pairs))
            for number, pair in enumerate(pairs):
                ends[pair][side] = centres[point] + (number - (len(pairs) - 1) / 2) * step
    return {pair: (start, end) for pair, (start, end) in ends.items()}


def _line(
    ax: Any,
    points: Sequence[tuple[float, float]],
    thread: str,
    marked: bool,
    codes: Sequence[Any] | None = None,
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    colour, width, order = (_ACCENT, 1.4, 2.0) if marked else (thread, 0.9, 1.0)
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


def _arrow(
    ax: Any,
    start: tuple[float, float],
    end: tuple[float, float],
    thread: str,
    *,
    has_head: bool,
    marked: bool,
) -> None:
    from matplotlib.patches import Polygon
    from matplotlib.path import Path as Curve

    (x0, y0), (x1, y1) = start, end
    half, length = _HEAD
    y_line = y1 + length * 0.8 if has_head else y1
    bend = 0.55 * (y0 - y_line)
    points = [(x0, y0), (x0, y0 - bend), (x1, y_line + bend), (x1, y_line)]
    _line(ax, points, thread, marked, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    if has_head:
        triangle = [(x1, y1), (x1 - half, y1 + length), (x1 + half, y1 + length)]
        ax.add_patch(
            Polygon(
                triangle,
                closed=True,
                facecolor=_ACCENT if marked else thread,
                edgecolor="none",
                zorder=3.0 if marked else 2.5,
            )
        )


def _draw_box(ax: Any, box: _Box, x: float, y: float, marked: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (x - box.width / 2, y - box.height / 2)
    fill, edge, width = (_ACCENT_FILL, _ACCENT, 2.2) if marked else ("white", _FAINT, 1.0)
    ax.add_patch(
        FancyBboxPatch(
            corner,
            box.width,
            box.height,
            boxstyle="round,pad=0,rounding_size=4",
            facecolor=fill,
            edgecolor=edge,
            linewidth=width,
            zorder=4.0,
        )
    )
    line_y = y + box.height / 2 - 0.7 * _PADDING
    for lines, size, colour, weight in (
        (box.name, _NAME_SIZE, _INK, "bold"),
        (box.states, _STATE_SIZE, _FAINT, "normal"),
    ):
        for line in lines:
            line_y -= size * _LINE / 2
            ax.text(
                x,
                line_y,
                line,
                size=size,
                color=colour,
                weight=weight,
                ha="center",
                va="center_baseline",
                zorder=5.0,
                parse_math=False,
            )
            line_y -= size * _LINE / 2
