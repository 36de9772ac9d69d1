"""Models compared on the same cases: estimates with intervals, and possible ranks."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from coherence.inputs import require
from coherence.plots.results import require_columns, rows_of
from coherence.plots.row_axes import name_rows, note_missing
from coherence.plots.scales import Span, limits_with, null_line, span_of
from coherence.plots.style import (
    BLUE,
    FAINT,
    INK,
    canvas,
    figure_style,
    frame_axes,
    panels,
    set_title,
    svg_text,
)
from coherence.table.printable import clean, span

ESTIMATES_SHARE, RANKS_FROM = 0.62, 0.70  # parts of the width
NAME_LIMIT = 22
PANEL_WIDTH, MOST_ACROSS = 4.2, 3  # inches, and panels of a row
_NEEDED = ("effect", "model", "estimate", "low", "high", "rank_low", "rank_high", "letters")


def height_for(n_models: int) -> float:
    """Return the height of a panel in inches."""
    return 0.95 + 0.27 * n_models


def plot_ranks(
    estimates: pd.DataFrame,
    *,
    effect: str | None = None,
    signed: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one effect of all models, with the ranks that they may have.

    Parameters
    ----------
    estimates : DataFrame
        ``Comparison.estimates``, or some of its rows; models stand in the order of the table.
    effect : str, optional
        The effect to draw, needed where the table has several.
    signed : bool
        Whether the effect may be negative: 0 is then a line, and the scale has what lies below.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        Points are estimates, lines their 95% intervals. The ranks, from the value closest to 0, are
        in an inset; all ranks of an effect hold together in 95%, and models that share a letter
        cannot be told apart.

    Raises
    ------
    InputError
        The table has no such effect, several of which none was named, or several tasks.

    Examples
    --------
    >>> import coherence
    >>> import pandas as pd
    >>> agents = ("rational", "noisy")
    >>> runs = [coherence.simulate(name, n_contexts=60, n_reps=2, rng=1) for name in agents]
    >>> comparison = coherence.compare(pd.concat(runs), effects=["calibration:rmse"], rng=1)
    >>> ax = coherence.plots.plot_ranks(comparison.estimates)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['rational', 'noisy']
    """
    rows = _rows_of(estimates, effect)
    with canvas(ax, size=(5.4, height_for(len(rows)) + 0.2)) as axes:
        _draw_estimates(rows, signed, axes)
        _draw_ranks(rows, axes)
        set_title(axes, title, str(rows["effect"].iloc[0]))
        return axes


def _rows_of(estimates: pd.DataFrame, effect: str | None) -> pd.DataFrame:
    """Return the rows of one effect and task."""
    require_columns(estimates, _NEEDED, "estimates must be Comparison.estimates")
    rows = rows_of(estimates, "effect", effect, what="effect of estimates")
    n_tasks = rows["task"].nunique() if "task" in rows else 1
    require(
        n_tasks == 1,
        f"estimates must be of one task; received {n_tasks}. Draw one at a time: "
        "estimates[estimates['task'] == ...].",
    )
    return rows


def _draw_estimates(rows: pd.DataFrame, signed: bool, ax: Axes) -> None:
    frame_axes(ax)
    place = np.arange(len(rows))
    known = rows["rank_low"].notna().to_numpy()
    value, low, high = (
        rows[name].to_numpy(dtype=np.float64) for name in ("estimate", "low", "high")
    )
    ends = known & ~np.isnan(low)
    ax.hlines(place[ends], low[ends], high[ends], color=BLUE, linewidth=1.6)
    ax.plot(value[known], place[known], "o", color=BLUE, markersize=5)
    note_missing(ax, place[~known])
    _scale(ax, span_of(value[known], low[ends], high[ends]), signed)
    name_rows(ax, [clean(name, limit=NAME_LIMIT) for name in rows["model"]])
    ax.tick_params(axis="y", length=0)


def _scale(ax: Axes, span: Span, signed: bool) -> None:
    """Let estimates have the left part of the panel, which always holds 0."""
    first, last = limits_with(span)
    ax.set_xlim(first, first + (last - first) / ESTIMATES_SHARE)
    lowest = first if signed else 0.0
    ticks = [tick for tick in MaxNLocator(3).tick_values(first, last) if lowest <= tick <= last]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.spines["bottom"].set_bounds(first, last)
    if signed:
        null_line(ax, "x")


def _draw_ranks(rows: pd.DataFrame, ax: Axes) -> None:
    """Draw a bar from the lowest to the highest rank of each model, with its letters."""
    ranks = ax.inset_axes((RANKS_FROM, 0.0, 1 - RANKS_FROM, 1.0))
    ranks.set_ylim(ax.get_ylim())
    known = rows["rank_low"].notna().to_numpy()
    most = max(int(known.sum()), 2)
    ranks.set_xlim(0.5, most + 0.5)
    ranks.spines[:].set_visible(False)
    ranks.patch.set_visible(False)
    ranks.set_yticks([])
    middle = (most + 1) / 2
    # Between two there is no room for the word.
    words = ["1st", "", "2nd"] if most == 2 else ["1", "rank", str(most)]
    ranks.set_xticks([1, middle, most], words)
    ranks.tick_params(colors=INK, length=0)
    texts = []
    for at, row in enumerate(rows.to_dict("records")):
        texts.append(
            f"{span(row['rank_low'], row['rank_high'])}  {row['letters']}" if known[at] else ""
        )
        if known[at]:
            ranks.hlines(at, 0.7, most + 0.3, color=FAINT, linewidth=0.5)
            ends = row["rank_low"] - 0.3, row["rank_high"] + 0.3
            ranks.hlines(at, *ends, color=BLUE, linewidth=5)
    # Tick labels, which a layout leaves room for.
    right = ax.secondary_yaxis("right")
    right.set_yticks(np.arange(len(rows)), texts, fontsize=8.5, parse_math=False)
    right.tick_params(length=0, colors=INK)
    right.spines["right"].set_visible(False)


def render_panels(
    drawn: Sequence[tuple[str, pd.DataFrame]], *, signed: Collection[str] = ()
) -> str:
    """Draw effects in rows of panels, each with its title, and return SVG text."""
    size = (PANEL_WIDTH, height_for(max((len(rows) for _, rows in drawn), default=1)))
    with figure_style():
        figure, axes = panels(len(drawn), across=MOST_ACROSS, size=size, room=(0, 0.2))
        for ax, (title, rows) in zip(axes, drawn, strict=True):
            plot_ranks(rows, signed=rows["effect"].iloc[0] in signed, title=title, ax=ax)
        return svg_text(figure)
