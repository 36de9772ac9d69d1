"""Figures of the bets: accuracies beside chance and transfer between modalities.

Every plot takes a table and an ``ax`` and returns the ``ax``.
"""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from coherence.plots.style import (
    BLUE,
    INK,
    VERMILION,
    Style,
    frame_axes,
    points_with_intervals,
    probability_scales,
)
from coherence.report.wording import clean
from coherence.result import rejects

_DARK = 0.75  # a share above which a cell is so dark that its number is white


def accuracy_size(accuracy: pd.DataFrame) -> tuple[float, float]:
    """Return the width and height in inches that `plot_accuracies` needs."""
    return 7.0, 1.4 + 0.24 * len(accuracy) + 0.14 * accuracy["template"].nunique()


def plot_accuracies(accuracy: pd.DataFrame, ax: Axes) -> Axes:
    """Draw accuracies with their intervals, beside the rates of a random guess."""
    rows = accuracy[accuracy["n"] > 0].reset_index(drop=True)
    heights = np.arange(len(rows))[::-1].astype(float)
    # A little room between kinds of questions.
    block = (rows["template"] != rows["template"].shift()).cumsum().to_numpy()
    heights = heights + 0.6 * (block.max(initial=0) - block)
    fill = [BLUE if rejects(pvalue) else "white" for pvalue in rows["p_exact"]]
    chance: Style = {"marker": "|", "s": 120, "color": VERMILION, "linewidth": 1.8}
    ax.scatter(rows["chance"], heights, **chance, gid="chance", label="random guess", zorder=3)
    label = "right answers (filled: more than guessing gives, p ≤ .05)"
    points: Style = {"color": fill, "edgecolor": BLUE, "gid": "accuracy", "label": label}
    placed = rows.assign(height=heights)
    points_with_intervals(
        ax, placed, place="height", value="accuracy", sideways=True, points=points | {"zorder": 4}
    )
    names = [clean(f"{row.template}: {row.truth}", limit=44) for row in rows.itertuples()]
    ax.set_yticks(heights, names, parse_math=False)
    ax.set_ylim(-0.7, heights.max(initial=0) + 0.7)
    probability_scales(ax, y=False)
    ax.set_xticks(ax.get_xticks(), ["0", "25%", "50%", "75%", "100%"])
    ax.set_xlabel("share of right answers, with 95% interval")
    frame_axes(ax)
    ax.grid(True, axis="x", color="#e6e6e6", linewidth=0.8)
    # Above the plot, where no point can lie under it.
    above: Style = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
    ax.legend(**above, frameon=False, handletextpad=0.4)
    return ax


def plot_transfer(table: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the accuracies of models that were trained on one kind of bet and tested on each."""
    values = table.to_numpy(dtype=np.float64)
    # The scale ends beyond 1, which keeps cells off the darkest blues.
    image = ax.imshow(values, cmap="Blues", vmin=0, vmax=1.25, aspect="equal")
    image.set_gid("transfer")
    for row, trained in enumerate(table.index):
        for column, tested in enumerate(table.columns):
            share = values[row, column]
            text = "–" if math.isnan(share) else f"{share:.0%}"
            colour = "white" if share > _DARK else INK
            ax.text(column, row, text, ha="center", va="center", fontsize=13, color=colour)
            if trained == tested:
                corner = (column - 0.48, row - 0.48)
                edge: Style = {"fill": False, "edgecolor": VERMILION, "linewidth": 1.6}
                ax.add_patch(Rectangle(corner, 0.96, 0.96, **edge))
    ax.set_xticks(range(len(table.columns)), [clean(name, limit=24) for name in table.columns])
    ax.set_yticks(range(len(table.index)), [clean(name, limit=24) for name in table.index])
    ax.set_xlabel("tested on")
    ax.set_ylabel("trained on")
    ax.tick_params(length=0, colors=INK)
    ax.spines[:].set_visible(False)
    return ax
