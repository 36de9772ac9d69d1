"""What all figures share: colours, frame, scales, titles, and how they reach a file.

Settings hold for one call: nothing is registered with matplotlib and nothing stays changed, but for
a figure that a function makes because it was given no axes. Axes run as far as what they show:
small effects are no specks, and nothing is cut off. Probabilities that take up half of [0, 1] or
more keep the whole of it, as readers expect; an axis of effects always holds the effect that there
is none.
"""

import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from coherence.errors import InputError
from coherence.inputs import require
from coherence.printable import clean
from coherence.statistics.figure_tables import WHOLE_FROM

# Okabe and Ito's palette, told apart by readers with any common colour deficiency; the roles also
# differ in line style and marker.
BLUE, VERMILION, ORANGE = "#0072B2", "#D55E00", "#E69F00"
GREEN, SKY, PURPLE = "#009E73", "#56B4E9", "#CC79A7"
INK, FAINT = "#333333", "#8a8a8a"
SERIES_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
# In figures of a report a colour is a state or an action, and the same one in all of them; what was
# observed of both together is in ink, and what chance or a null allows is pale.
STATE_COLOURS = (VERMILION, BLUE)
ACTION_COLOURS = (ORANGE, GREEN, PURPLE, SKY, "#999933", "#882255")
OTHER_ACTIONS = "#bdbdbd"
PALE = "#b5b5b5"
DASHES = (0, (2, 2))
"""Line of what should be: the diagonal, a target, an equilibrium."""

Style = dict[str, Any]
"""Keywords of a matplotlib artist."""

# Said in full, so that a reader's own matplotlib settings do not change a figure.
STYLE = {
    "font.family": "sans-serif",
    "font.size": 10.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "coherence",
    "text.usetex": False,
    "path.simplify": True,
    "axes.unicode_minus": True,
}
ABOVE: Style = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.0}
"""Place of a legend above the axes."""
_TITLE_LETTERS = 62
_TICKS = ([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])


def frame_axes(ax: Axes) -> None:
    """Draw axes with two faint spines, and what belongs to them behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK, length=3)
    ax.set_axisbelow(True)


def probability_scales(ax: Axes, *, x: bool = True, y: bool = True) -> None:
    """Let the axes run from 0 to 1, with room for whole marks at their ends."""
    if x:
        ax.set_xlim(-0.03, 1.03)
        ax.set_xticks(*_TICKS)
    if y:
        ax.set_ylim(-0.04, 1.04)
        ax.set_yticks(*_TICKS)


def belief_axes(ax: Axes) -> None:
    """Give the axes the look of all figures, with beliefs from 0 to 1 along the bottom."""
    frame_axes(ax)
    probability_scales(ax, y=False)
    ax.grid(True, axis="y", color="#e6e6e6", linewidth=0.8)


@contextmanager
def figure_style(changes: Mapping[str, object] | None = None) -> Iterator[None]:
    """Hold the style of figures, with changes such as ``{"font.size": 9}``, for a block."""
    with rc_context(STYLE | dict(changes or {})), warnings.catch_warnings():
        # Text stays text in SVG, and whoever shows it has the letters; matplotlib's own font is
        # needed for its width alone.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


@contextmanager
def canvas(ax: Axes | None, *, size: tuple[float, float] = (5.0, 3.5)) -> Iterator[Axes]:
    """Yield the axes to draw on: those given, or those of a new figure in the style of all."""
    if ax is not None:
        require(isinstance(ax, Axes), f"ax must be matplotlib Axes; received {type(ax).__name__}.")
        yield ax
        return
    # Only here: pyplot keeps every figure, and reports draw thousands.
    from matplotlib import pyplot

    # Before the style: the first figure of a notebook turns its display on, which is a setting too
    # and would end with the block.
    figure = pyplot.figure(figsize=size, layout="constrained")
    with figure_style():
        yield figure.add_subplot()


def set_title(ax: Axes, title: str | None, default: str, *, lift: float = 6.0) -> None:
    """Write a title above the axes, flush left; text of the user is no mathematics."""
    text = fill(clean(default if title is None else title), _TITLE_LETTERS)
    if text:
        size = rcParams["font.size"]  # also of a talk
        style: Style = {"fontsize": 1.05 * size, "color": INK, "loc": "left"}
        ax.set_title(text, parse_math=False, pad=0.1 * size * lift, **style)


def subplot_in(ax: Axes) -> tuple[SubplotSpec, Figure]:
    """Take axes out of a figure, and return their place and the figure."""
    whole, figure = ax.get_subplotspec(), ax.get_figure(root=True)
    if whole is None or figure is None:
        raise InputError("ax must be a subplot of a figure; received free axes. Use add_subplot.")
    ax.remove()
    return whole, figure


def require_columns(table: object, needed: Sequence[str], rule: str) -> None:
    """Refuse what is no table with the columns that a figure draws."""
    columns = table.columns if isinstance(table, pd.DataFrame) else ()
    lacking = [name for name in needed if name not in columns]
    require(not lacking, f"{rule}, or some of its rows; lacking the columns {', '.join(lacking)}.")


def panels(
    count: int,
    *,
    across: int,
    size: tuple[float, float],
    room: tuple[float, float] = (0.0, 0.0),
    title: str = "",
) -> tuple[Figure, list[Axes]]:
    """Return a figure of panels of one size, in lines of at most `across`, with `room` besides."""
    columns = max(min(count, across), 1)
    lines = max(-(-count // columns), 1)
    # Rounded: older versions of matplotlib cut off what is a hair below a whole pixel.
    width, height = size[0] * columns + room[0], size[1] * lines + room[1]
    figure = Figure(figsize=(round(width, 6), round(height, 6)), layout="constrained")
    if title:
        style: Style = {"fontsize": 11, "color": INK, "x": 0.01, "ha": "left"}
        figure.suptitle(clean(title, limit=80), parse_math=False, **style)
    return figure, [figure.add_subplot(lines, columns, at + 1) for at in range(count)]


def share_legend(figure: Figure, *, columns: int) -> None:
    """Put one legend of the entries of all panels below them, in place of their own."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True)) | entries
        if legend := ax.get_legend():
            legend.remove()
    shown = figure.legend(
        entries.values(), entries, loc="outside lower center", ncols=columns, frameon=False
    )
    for text in shown.get_texts():
        text.set_parse_math(False)


# Axes as wide as what they show

Span = tuple[float, float]
"""Least and largest number that an axis must hold."""
_ROOM = 0.08  # of the width, on both sides: marks stay whole
_SPECK = 0.25  # of an axis, below which a panel gets one of its own
_LEAST_WIDTH = 1e-6
_LONE = 0.05  # on both sides of a single number


def span_of(*shown: ArrayLike) -> Span:
    """Return the least and the largest of numbers."""
    values = np.concatenate([np.asarray(each, dtype=np.float64).ravel() for each in shown])
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if values.size else (np.nan, np.nan)


def is_narrow(span: Span) -> bool:
    """Tell whether probabilities take up too little of [0, 1] to be shown on all of it."""
    return span[1] - span[0] < WHOLE_FROM


def fit_probabilities(ax: Axes, axis: str, span: Span) -> None:
    """Let an axis of probabilities run as far as what it shows."""
    if not is_narrow(span):
        probability_scales(ax, x=axis == "x", y=axis == "y")
        return
    first, last = _with_room(span)
    ticks = [t for t in _ticks(first, last) if 0 <= t <= 1]
    _set(ax, axis, (first, last), ticks)


def shared_spans(spans: Sequence[Span]) -> list[Span]:
    """Give several panels one scale, but for those that would be specks on it."""
    low, high = span_of(*spans)
    whole = 1.0 if not is_narrow((low, high)) else high - low
    return [span if span[1] - span[0] < _SPECK * whole else (low, high) for span in spans]


def fit_effects(ax: Axes, axis: str, span: Span) -> None:
    """Let an axis of effects run as far as what it shows and the effect that there is none."""
    first, last = _with_room(span_of([*span, 0.0]))
    ticks = _ticks(first, last)
    _set(ax, axis, (first, last), ticks)
    draw = ax.axvline if axis == "x" else ax.axhline
    draw(0.0, color=FAINT, linewidth=1.0, linestyle=DASHES, gid="null", zorder=1)


def _with_room(span: Span) -> Span:
    low, high = span
    room = _ROOM * (high - low) if high - low > _LEAST_WIDTH else _LONE
    return low - room, high + room


def _ticks(first: float, last: float) -> list[float]:
    ticks = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(first, last)
    return [float(tick) for tick in ticks if first <= tick <= last]


def _set(ax: Axes, axis: str, limits: Span, ticks: list[float]) -> None:
    labels = _written(ticks)
    ax.set(**{f"{axis}lim": limits, f"{axis}ticks": ticks, f"{axis}ticklabels": labels})


def _written(ticks: Sequence[float]) -> list[str]:
    """Write .25 for 0.25, with no more decimals than tell numbers apart and no exponent."""
    step = min(np.diff(ticks), default=1.0)
    decimals = max(0, 2 - math.floor(math.log10(step)))
    texts = [f"{tick:.{decimals}f}" for tick in ticks]
    bare = [text.rstrip("0").rstrip(".") if "." in text else text for text in texts]
    texts = ["0" if text in ("-0", "") else text.replace("-", "−") for text in bare]
    return [re.sub("^(−?)0[.]", r"\1.", text) for text in texts]


def points_with_intervals(
    ax: Axes,
    table: pd.DataFrame,
    *,
    place: str,
    value: str,
    low: str = "low",
    high: str = "high",
    sideways: bool = False,
    points: Style | None = None,
    lines: Style | None = None,
) -> PathCollection:
    """Draw a point per row of a table, and a line from `low` to `high` where both are known.

    `place`, `value`, `low` and `high` are its columns: where a point stands, what it shows, and the
    ends of its interval. `sideways`, values run along the x axis. `points` and `lines` are keywords
    of `Axes.scatter` and `Axes.vlines`.
    """
    at, shown = (table[name].to_numpy(dtype=float) for name in (place, value))
    known = table.dropna(subset=[low, high])
    draw = ax.hlines if sideways else ax.vlines
    line: Style = {"color": INK, "linewidth": 1.0, "zorder": 2}
    draw(known[place], known[low], known[high], **line | (lines or {}))
    point: Style = {"s": 34, "color": BLUE, "linewidth": 1.4, "zorder": 3}
    return ax.scatter(*((shown, at) if sideways else (at, shown)), **point | (points or {}))


# Files

_DATED = {"svg": "Date", "pdf": "CreationDate", "png": "Software"}
"""What of a file would make two runs of the same data, or two versions of matplotlib, differ."""


def save_figure(figure: Figure, path: str | os.PathLike[str], *, salt: str = "coherence") -> None:
    """Write a figure, equal bytes for equal figures."""
    with figure_style({"svg.hashsalt": salt}):
        figure.savefig(path, dpi=300, metadata={_DATED[Path(path).suffix[1:]]: None})


def save_plot(
    draw: Callable[..., Axes],
    path: str | os.PathLike[str],
    *,
    size: tuple[float, float],
    salt: str = "coherence",
) -> None:
    """Write a figure of one plot to a file."""
    with figure_style():
        figure = Figure(figsize=size, layout="constrained")
        draw(ax=figure.add_subplot())
        save_figure(figure, path, salt=salt)


def svg_of(draw: Callable[..., Axes], *, size: tuple[float, float]) -> bytes:
    """Draw a figure of one plot as SVG, to stand in a page."""
    buffer = io.BytesIO()
    with figure_style():
        figure = Figure(figsize=size, layout="constrained")
        canvas = FigureCanvasSVG(figure)
        draw(ax=figure.add_subplot())
        # What `savefig(transparent=True)` does, which would draw everything twice.
        for patch in (figure.patch, *(ax.patch for ax in figure.axes)):
            patch.set(facecolor="none", edgecolor="none")
        canvas.print_svg(buffer, metadata={"Date": None})
    return buffer.getvalue()
