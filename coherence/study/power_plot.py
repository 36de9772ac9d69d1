"""The picture of a power simulation: power against contexts, a line for each signal."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from coherence.report.figures import (
    ACTION_COLOURS,
    DASHES,
    FAINT,
    INK,
    Style,
    figure_style,
    frame_axes,
    probability_scales,
)
from coherence.report.wording import clean
from coherence.study.simulations import repeated

MARKS = ("o", "s", "^", "D", "v", "P")
PANEL = (3.4, 2.9)  # inches
MOST_ACROSS = 3
WANTED = 0.8


def plot_power(rows: pd.DataFrame, ax: Axes, *, alpha: float, target: float | None = None) -> Axes:
    """Draw the power of one result against the number of contexts.

    Parameters
    ----------
    rows : DataFrame
        Rows of `PowerResult.table` of one result.
    ax : Axes
        Where to draw; contexts are on a logarithmic axis.
    alpha : float
        Level, drawn as a dashed line.
    target : float, optional
        Power wanted, .8 if there is none.

    Returns
    -------
    Axes
        The same.
    """
    frame_axes(ax)
    several = rows["n_reps"].nunique() > 1
    signals = sorted(rows["signal"].unique(), key=lambda value: (abs(value), value))
    reps = sorted(rows["n_reps"].unique())
    estimate = bool((rows["quantity"] == "precision").all())
    value = "half_width" if estimate else "power"
    for colour, signal in enumerate(signals):
        for mark, n_reps in enumerate(reps):
            line = rows[(rows["signal"] == signal) & (rows["n_reps"] == n_reps)]
            line = line.sort_values("n_contexts")
            label = "nothing planted" if not signal else f"signal {signal:g}"
            label += f", {repeated(n_reps)}" if several else ""
            style: Style = {
                "color": FAINT if not signal else ACTION_COLOURS[(colour - 1) % 6],
                "marker": MARKS[mark % len(MARKS)],
                "markersize": 4,
                "linewidth": 1.2,
                "label": label,
            }
            height = line[value].to_numpy(dtype=np.float64)
            if estimate:
                ax.plot(line["n_contexts"], height, **style)
                continue
            reach = [height - line["low"], line["high"] - height]
            ax.errorbar(line["n_contexts"], height, yerr=reach, elinewidth=0.8, **style)
    ax.set_xscale("log")
    sizes = sorted(rows["n_contexts"].unique())
    shown = sizes if len(sizes) <= 6 else [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
    ax.set_xticks(shown, [f"{size:g}" for size in shown])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("contexts", color=INK)
    if estimate:
        ax.set_ylim(bottom=0)
        ax.set_ylabel("half the width of the interval", color=INK)
        return ax
    probability_scales(ax, x=False)
    wanted = WANTED if target is None else target
    for height, label in ((alpha, f"level {alpha:g} and power {wanted:g}"), (wanted, "_")):
        ax.axhline(height, color=FAINT, linestyle=DASHES, linewidth=0.8, label=label)
    ax.set_ylabel("share rejected", color=INK)
    return ax


def render_power(table: pd.DataFrame, settings: Mapping[str, Any]) -> str:
    """Draw a panel for each result.

    Parameters
    ----------
    table : DataFrame
        Of `PowerResult`.
    settings : mapping
        Of `PowerResult`.

    Returns
    -------
    str
        SVG text, equal bytes for equal tables.
    """
    results = list(dict.fromkeys(table["check"]))
    across = min(len(results), MOST_ACROSS)
    down = -(-len(results) // across)
    size = (PANEL[0] * max(across, 1.3), PANEL[1] * down + 0.9)
    buffer = io.BytesIO()
    with figure_style():
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        panels = figure.subplots(down, across, squeeze=False, sharey=False).ravel()
        for ax, result in zip(panels, results, strict=False):
            rows = table[table["check"] == result]
            plot_power(rows, ax, alpha=settings["alpha"], target=settings["target"])
            ax.set_title(clean(result, limit=44), fontsize=9.5, color=INK, parse_math=False)
        for ax in panels[len(results) :]:
            ax.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        # A panel is as wide as one long label, or two short ones.
        columns = across * (1 if max(map(len, labels)) > 20 else 2)
        style: Style = {"frameon": False, "fontsize": 8.5, "columnspacing": 1.2}
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, **style)
        of = f"{settings['population']}, {settings['planted']} planted"
        figure.suptitle(clean(of, limit=80), fontsize=10.5, color=INK, parse_math=False)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue().decode("utf-8")
