"""The picture of a comparison: estimates with intervals, and beside them the possible ranks."""

import io

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from coherence.analysis.comparison.effects import EFFECTS
from coherence.analysis.comparison.wording import rank_text
from coherence.report.figures import BLUE, DASHES, FAINT, INK, Style, figure_style, frame_axes
from coherence.report.wording import clean

MOST_ACROSS = 3
WIDTH = 4.2  # inches of a panel
ESTIMATES_SHARE, RANKS_FROM = 0.62, 0.70  # parts of the width
NAME_LIMIT = 22


def plot_ranks(rows: pd.DataFrame, ax: Axes, *, title: bool = True) -> Axes:
    """Draw one effect of all models, with the ranks beside it.

    Parameters
    ----------
    rows : DataFrame
        Rows of `Comparison.estimates` of one task and effect.
    ax : Axes
        Where to draw; models are rows, in the order of the table.
    title : bool
        Whether to name the effect above.

    Returns
    -------
    Axes
        The same; the ranks are in an inset of it.
    """
    frame_axes(ax)
    effect = EFFECTS[str(rows["effect"].iloc[0])]
    place = np.arange(len(rows))
    known = rows["rank_low"].notna().to_numpy()
    value, low, high = (
        rows[name].to_numpy(dtype=np.float64) for name in ("estimate", "low", "high")
    )
    ends = ~np.isnan(low)
    ax.hlines(place[ends], low[ends], high[ends], color=BLUE, linewidth=1.6)
    ax.plot(value[known], place[known], "o", color=BLUE, markersize=5)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    for at in place[~known]:
        where = ("axes fraction", "data")
        style: Style = {"color": FAINT, "va": "center", "fontsize": 8.5}
        ax.annotate("not estimated", (0.02, at), xycoords=where, **style)
    drawn = np.concatenate([value[known], low[ends], high[ends]])
    _scale(ax, float(drawn.min(initial=0.0)), float(drawn.max(initial=0.0)), effect.signed)
    names = [clean(name, limit=NAME_LIMIT) for name in rows["model"]]
    ax.set_yticks(place, names, parse_math=False)
    ax.tick_params(axis="y", length=0)
    if title:
        ax.set_title(effect.name, fontsize=9.5, color=INK, loc="left", parse_math=False)
    _draw_ranks(rows, ax)
    return ax


def _scale(ax: Axes, least: float, most: float, signed: bool) -> None:
    """Let estimates have the left part of the panel, which always holds 0."""
    room = 0.05 * (most - least) or 0.05
    first, last = least - room, most + room
    ax.set_xlim(first, first + (last - first) / ESTIMATES_SHARE)
    lowest = first if signed else 0.0
    ticks = [tick for tick in MaxNLocator(3).tick_values(first, last) if lowest <= tick <= last]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.spines["bottom"].set_bounds(first, last)
    if signed:
        ax.axvline(0, color=FAINT, linestyle=DASHES, linewidth=0.8)


def _draw_ranks(rows: pd.DataFrame, ax: Axes) -> None:
    """Draw a bar from the lowest to the highest rank of each model, with its letters."""
    beside = ax.inset_axes((RANKS_FROM, 0.0, 1 - RANKS_FROM, 1.0))
    beside.set_ylim(ax.get_ylim())
    known = rows["rank_low"].notna().to_numpy()
    most = max(int(known.sum()), 2)
    beside.set_xlim(0.5, most + 0.5)
    beside.spines[:].set_visible(False)
    beside.patch.set_visible(False)
    beside.set_yticks([])
    middle = (most + 1) / 2
    # Between two there is no room for the word.
    words = ["1st", "", "2nd"] if most == 2 else ["1", "rank", str(most)]
    beside.set_xticks([1, middle, most], words)
    beside.tick_params(colors=INK, length=0)
    texts = []
    for at, row in enumerate(rows.to_dict("records")):
        texts.append(f"{rank_text(row)}  {row['letters']}" if known[at] else "")
        if known[at]:
            beside.hlines(at, 0.7, most + 0.3, color=FAINT, linewidth=0.5)
            ends = row["rank_low"] - 0.3, row["rank_high"] + 0.3
            beside.hlines(at, *ends, color=BLUE, linewidth=5)
    # Tick labels, which a layout leaves room for.
    right = ax.secondary_yaxis("right")
    right.set_yticks(np.arange(len(rows)), texts, fontsize=8.5, parse_math=False)
    right.tick_params(length=0, colors=INK)
    right.spines["right"].set_visible(False)


def panel_height(n_models: int) -> float:
    """Return the height of a panel in inches."""
    return 0.95 + 0.27 * n_models


def render_comparison(estimates: pd.DataFrame) -> str:
    """Draw a panel for each task and effect.

    Parameters
    ----------
    estimates : DataFrame
        Of `Comparison`.

    Returns
    -------
    str
        SVG text, equal bytes for equal tables.
    """
    groups = list(estimates.groupby(["task", "effect"], sort=False))
    across = min(max(len(groups), 1), MOST_ACROSS)
    down = max(-(-len(groups) // across), 1)
    tallest = max((len(rows) for _, rows in groups), default=1)
    buffer = io.BytesIO()
    with figure_style():
        size = (WIDTH * across, panel_height(tallest) * down + 0.2)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        panels = figure.subplots(down, across, squeeze=False).ravel()
        several = estimates["task"].nunique() > 1
        for ax, ((task, _), rows) in zip(panels, groups, strict=False):
            plot_ranks(rows, ax)
            if several:
                named = f"{clean(task, limit=24)} · {ax.get_title(loc='left')}"
                ax.set_title(named, fontsize=9.5, color=INK, loc="left", parse_math=False)
        for ax in panels[len(groups) :]:
            ax.set_visible(False)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue().decode("utf-8")
