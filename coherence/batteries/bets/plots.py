"""Figures of the bets: accuracies beside chance, the transfer between modalities, and implied beside stated probabilities.

Every plot takes a table and an ``ax`` and returns the ``ax``.
"""

import math
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from coherence.report.plots import BLUE, FAINT, INK, VERMILION
from coherence.report.wording import clean

_STYLE = {
    "font.family": "sans-serif",
    "font.size": 10.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "bets",
    "text.usetex": False,
}
_TICKS = [0, 0.25, 0.5, 0.75, 1]
_DARK = 0.75  # a share above which a cell is so dark that its number is white


def accuracy_size(accuracy: pd.DataFrame) -> tuple[float, float]:
    """Return the width and height in inches that `plot_accuracies` needs."""
    return 7.0, 1.4 + 0.24 * len(accuracy) + 0.14 * accuracy["template"].nunique()


def plot_accuracies(accuracy: pd.DataFrame, ax: Axes) -> Axes:
    """Draw one row per kind of question, truth and method: accuracy with its interval, and the rate of a random guess.

    Parameters
    ----------
    accuracy : DataFrame
        Rows of one model, as in ``BetScores.accuracy``; rows without questions are left out.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        `ax`; points have the gid "accuracy", chance rates the gid "chance". A point is filled where
        the exact test is below .05.
    """
    rows = accuracy[accuracy["n"] > 0].reset_index(drop=True)
    heights = np.arange(len(rows))[::-1].astype(float)
    # A little room between kinds of questions.
    block = (rows["template"] != rows["template"].shift()).cumsum().to_numpy()
    heights = heights + 0.6 * (block.max(initial=0) - block)
    better = (rows["p_exact"] < 0.05).to_numpy()
    ax.hlines(heights, rows["low"], rows["high"], color=INK, linewidth=1.2, zorder=2)
    ax.scatter(
        rows["chance"],
        heights,
        marker="|",
        s=120,
        color=VERMILION,
        linewidth=1.8,
        gid="chance",
        label="random guess",
        zorder=3,
    )
    ax.scatter(
        rows["accuracy"], heights, s=34, color=[BLUE if one else "white" for one in better], edgecolor=BLUE, linewidth=1.4, gid="accuracy",
        label="right answers (filled: more than guessing gives, p < .05)", zorder=4,
    )  # fmt: skip
    ax.set_yticks(
        heights,
        [clean(f"{row.template}: {row.truth}", limit=44) for row in rows.itertuples()],
        parse_math=False,
    )
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.7, heights.max(initial=0) + 0.7)
    ax.set_xticks(_TICKS, ["0", "25%", "50%", "75%", "100%"])
    ax.set_xlabel("share of right answers, with 95% interval")
    _frame(ax)
    ax.grid(True, axis="x", color="#e6e6e6", linewidth=0.8)
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2,
        frameon=False,
        handletextpad=0.4,
    )
    return ax


def models_size(comparison: pd.DataFrame) -> tuple[float, float]:
    """Return the width and height in inches that `plot_models` needs."""
    return accuracy_size(comparison.rename(columns={"measure": "template"}))


def plot_models(comparison: pd.DataFrame, ax: Axes) -> Axes:
    """Draw several models beside each other: one block per measure, one row per model, the best one first.

    Parameters
    ----------
    comparison : DataFrame
        As from `coherence.batteries.bets.scores.compare_models`.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        `ax`, marked as by `plot_accuracies`.
    """
    return plot_accuracies(comparison.rename(columns={"measure": "template", "model": "truth"}), ax)


def plot_transfer(table: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the accuracies of models that were trained on one kind of bet and tested on each.

    Parameters
    ----------
    table : DataFrame
        Shares of right answers; one row per kind trained on, one column per kind tested on.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        `ax`; the image has the gid "transfer". Cells on the diagonal have a frame.
    """
    values = table.to_numpy(dtype=np.float64)
    image = ax.imshow(values, cmap="Blues", vmin=0, vmax=1.25, aspect="equal")
    image.set_gid("transfer")
    for row, trained in enumerate(table.index):
        for column, tested in enumerate(table.columns):
            share = values[row, column]
            text = "–" if math.isnan(share) else f"{share:.0%}"
            ax.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                fontsize=13,
                color="white" if share > _DARK else INK,
            )
            if trained == tested:
                ax.add_patch(_frame_of(column, row))
    ax.set_xticks(range(len(table.columns)), [clean(name, limit=24) for name in table.columns])
    ax.set_yticks(range(len(table.index)), [clean(name, limit=24) for name in table.index])
    ax.set_xlabel("tested on")
    ax.set_ylabel("trained on")
    ax.tick_params(length=0, colors=INK)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def plot_ladder(table: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the probability that choices act on against the stated one.

    Parameters
    ----------
    table : DataFrame
        As in ``LadderFit.table``.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        `ax`; points where the choices switch have the gid "implied", intervals without one the gid
        "bounds".
    """
    ax.plot(
        [0, 1], [0, 1], color=FAINT, linewidth=1.2, linestyle=(0, (2, 2)), gid="diagonal", zorder=1
    )
    fitted = table["implied"].notna()
    ax.vlines(
        table["stated"][fitted],
        table["low"][fitted],
        table["high"][fitted],
        color=INK,
        linewidth=1.2,
        zorder=2,
    )
    if (~fitted).any():
        bounds = ax.vlines(
            table["stated"][~fitted], table["low"][~fitted], table["high"][~fitted], color=VERMILION, linewidth=1.6, linestyle=(0, (3, 2)), zorder=2,
            label="no switch within the ladder",
        )  # fmt: skip
        bounds.set_gid("bounds")
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, frameon=False)
    ax.scatter(
        table["stated"][fitted],
        table["implied"][fitted],
        s=38,
        color=BLUE,
        edgecolor="white",
        gid="implied",
        zorder=3,
    )
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.04, 1.04)
    ax.set_xticks(_TICKS, ["0", ".25", ".5", ".75", "1"])
    ax.set_yticks(_TICKS, ["0", ".25", ".5", ".75", "1"])
    ax.set_xlabel("stated probability of the winning side")
    ax.set_ylabel("probability that choices act on")
    ax.set_aspect("equal")
    _frame(ax)
    return ax


def save_figure(draw: Callable[[Axes], Axes], path: Path, *, size: tuple[float, float]) -> None:
    """Write one figure to a file.

    Parameters
    ----------
    draw : callable
        Takes an ``ax``.
    path : Path
        Its ending, .svg or .png, is the format.
    size : (float, float)
        Width and height in inches.
    """
    with rc_context(_STYLE), warnings.catch_warnings():
        # Text stays text in SVG, and whoever shows it has the letters; matplotlib's own font is
        # needed for its width alone.
        warnings.filterwarnings(
            "ignore", message=r"Glyph .* missing from font", category=UserWarning
        )
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)


def _frame(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK, length=3)
    ax.set_axisbelow(True)


def _frame_of(column: int, row: int) -> Rectangle:
    return Rectangle(
        (column - 0.48, row - 0.48), 0.96, 0.96, fill=False, edgecolor=VERMILION, linewidth=1.6
    )
