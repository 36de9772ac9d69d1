"""The picture of a power simulation: power against contexts, a line for each signal."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.plots.results import require_columns, rows_of
from coherence.plots.style import (
    DASHES,
    FAINT,
    INK,
    SERIES_COLOURS,
    Style,
    canvas,
    figure_style,
    frame_axes,
    panels,
    probability_scales,
    set_title,
    share_legend,
    svg_text,
)
from coherence.table.printable import clean, repeated

MARKS = ("o", "s", "^", "D", "v", "P")
WANTED = 0.8
PANEL = (3.4, 2.9)  # inches
MOST_ACROSS = 3
ERROR = 0.025  # of a margin that is claimed: that of each of two one-sided tests
_NEEDED = ("check", "signal", "n_reps", "n_contexts", "quantity", "power", "low", "high")


def plot_power(
    table: pd.DataFrame,
    *,
    check: str | None = None,
    alpha: float = 0.05,
    target: float | None = None,
    legend: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the power of one result against the number of contexts.

    Parameters
    ----------
    table : DataFrame
        ``PowerResult.table``, or some of its rows.
    check : str, optional
        The result to draw, needed where the table has several.
    alpha : float
        Level, drawn as a dashed line.
    target : float, optional
        Power wanted, .8 if there is none.
    legend : bool
        Whether to name the lines.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw, contexts on a logarithmic axis; a new figure without it.

    Returns
    -------
    Axes
        A line for each signal with exact 95% intervals; of an estimate, half the width of its
        interval.

    Raises
    ------
    InputError
        The table has no such result, or several of which none was named.

    Examples
    --------
    >>> import coherence
    >>> found = coherence.power(
    ...     "shaded", n_contexts=[20, 40], n_reps=1, n_simulations=10, rng=1, state="exact",
    ...     check="sufficiency",
    ... )
    >>> coherence.plots.plot_power(found.table).get_title(loc="left")
    'sufficiency: power by number of contexts'
    """
    require_columns(table, _NEEDED, "table must be PowerResult.table")
    rows = rows_of(table, "check", check, what="result of the table")
    estimate = bool((rows["quantity"] == "precision").all())
    within = bool((rows["quantity"] == "within margin").all())
    with canvas(ax, size=(6.4, 3.3)) as axes:
        frame_axes(axes)
        _draw_lines(rows, estimate, axes)
        wanted = WANTED if target is None else target
        _scales(rows, estimate, ERROR if within else alpha, wanted, axes)
        if within:
            axes.set_ylabel("share shown to be within the margin", color=INK)
        if legend:
            # Beside the axes: lines may be anywhere inside.
            beside: Style = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            axes.legend(frameon=False, fontsize=8.5, **beside)
        what = "precision" if estimate else "within the margin" if within else "power"
        set_title(axes, title, f"{rows['check'].iloc[0]}: {what} by number of contexts")
        return axes


def _draw_lines(rows: pd.DataFrame, estimate: bool, ax: Axes) -> None:
    several = rows["n_reps"].nunique() > 1
    signals = sorted(rows["signal"].unique(), key=lambda value: (abs(value), value))
    reps = sorted(rows["n_reps"].unique())
    value = "half_width" if estimate else "power"
    for colour, signal in enumerate(signals):
        for mark, n_reps in enumerate(reps):
            line = rows[(rows["signal"] == signal) & (rows["n_reps"] == n_reps)]
            line = line.sort_values("n_contexts")
            label = "nothing planted" if not signal else f"signal {signal:g}"
            label += f", {repeated(n_reps)}" if several else ""
            style: Style = {
                "color": FAINT if not signal else SERIES_COLOURS[(colour - 1) % 6],
                "marker": MARKS[mark % len(MARKS)],
                "markersize": 4,
                "linewidth": 1.2,
                "label": label,
            }
            height = line[value].to_numpy(dtype=np.float64)
            sizes = line["n_contexts"].to_numpy()
            if estimate:
                ax.plot(sizes, height, **style)
                continue
            low, high = (line[name].to_numpy(dtype=np.float64) for name in ("low", "high"))
            reach = np.array([height - low, high - height])
            ax.errorbar(sizes, height, yerr=reach, elinewidth=0.8, **style)


def _scales(rows: pd.DataFrame, estimate: bool, alpha: float, wanted: float, ax: Axes) -> None:
    ax.set_xscale("log")
    sizes = sorted(rows["n_contexts"].unique())
    shown = sizes if len(sizes) <= 6 else [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
    ax.set_xticks(shown, [f"{size:g}" for size in shown])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("contexts", color=INK)
    if estimate:
        ax.set_ylim(bottom=0)
        ax.set_ylabel("half the width of the interval", color=INK)
        return
    probability_scales(ax, x=False)
    for height, label in ((alpha, f"level {alpha:g} and power {wanted:g}"), (wanted, "_")):
        ax.axhline(height, color=FAINT, linestyle=DASHES, linewidth=0.8, label=label)
    ax.set_ylabel("share rejected", color=INK)


def render_power(table: pd.DataFrame, settings: Mapping[str, Any]) -> str:
    """Draw a panel for each result."""
    results = list(dict.fromkeys(table["check"]))
    title = f"{settings['population']}, {settings['planted']} planted"
    options = {"alpha": settings["alpha"], "target": settings["target"]}
    room = (0.3 * PANEL[0] * (len(results) == 1), 0.9)
    with figure_style({"legend.fontsize": 8.5, "legend.columnspacing": 1.2}):
        figure, axes = panels(len(results), across=MOST_ACROSS, size=PANEL, room=room, title=title)
        for ax, result in zip(axes, results, strict=True):
            rows = table[table["check"] == result]
            plot_power(rows, title=clean(result, limit=44), legend=False, ax=ax, **options)
        labels = axes[0].get_legend_handles_labels()[1]
        # A panel is as wide as one long label, or two short ones.
        share_legend(
            figure,
            columns=min(len(axes), MOST_ACROSS) * (1 if max(map(len, labels)) > 20 else 2),
        )
        return svg_text(figure)
