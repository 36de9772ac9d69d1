"""What all figures share: colours, frame, scales, titles, and how they reach a file.

Settings hold for one call: nothing is registered with matplotlib and nothing stays changed, but for
a figure that a function makes because it was given no axes.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from coherence.inputs import require
from coherence.printable import clean

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


def action_colours(actions: Iterable[str]) -> dict[str, str]:
    """Return the colours of actions, the most frequent first, of which six have one."""
    named = list(dict.fromkeys(actions))
    # By name, so that equal actions of two evaluations look alike.
    coloured = sorted(named[: len(ACTION_COLOURS)])
    return dict.fromkeys(named, OTHER_ACTIONS) | dict(zip(coloured, ACTION_COLOURS, strict=False))


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
        style: Style = {"fontsize": 10.5, "color": INK, "loc": "left", "pad": lift}
        ax.set_title(text, parse_math=False, **style)


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


_DATED = {"svg": "Date", "pdf": "CreationDate", "png": "Software"}
"""What of a file would make two runs of the same data, or two versions of matplotlib, differ."""


def save_figure(figure: Figure, path: str | os.PathLike[str], *, salt: str = "coherence") -> None:
    """Write a figure, equal bytes for equal figures."""
    with figure_style({"svg.hashsalt": salt}):
        figure.savefig(path, dpi=150, metadata={_DATED[Path(path).suffix[1:]]: None})


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
