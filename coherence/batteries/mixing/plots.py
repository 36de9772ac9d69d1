"""Figures of the mixing battery: rates against what was asked for, all parts of one model, or one part of several models.

Takes the table of curves of `coherence.batteries.mixing.MixingScores`. Text that comes from data is
never read as mathematics.
"""

import math
import os
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from coherence.batteries.mixing.design import PARTS
from coherence.report.plots import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    VERMILION,
)
from coherence.report.wording import clean
from coherence.statistics.shares import wilson_interval

_LINES = {
    "1": (BLUE, "o", "rate of 1"), "first": (ORANGE, "^", "first flip"), "second": (GREEN, "v", "second flip"), "mean": (BLUE, "o", "mean of both"),
    "A": (BLUE, "o", "rate of A"), "heads": (BLUE, "o", "rate of heads"), "luxury": (BLUE, "o", "rate of luxury"),
}  # fmt: skip
_THREE = {
    "0": (BLUE, "o", "rate of 0"),
    "1": (ORANGE, "s", "rate of 1"),
    "2": (GREEN, "D", "rate of 2"),
}
_GAMES = ("pennies", "positioning")
_STYLE = {
    "font.family": "sans-serif",
    "font.size": 10.0,
    "text.usetex": False,
    "axes.titlesize": 10.5,
    "legend.fontsize": 8.5,
}
_MOST_LABEL = 26
_MOST_PANELS = 12


def plot_rates(curves: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the rates of one part against the instructed probability, with what they should be and with a step.

    Parameters
    ----------
    curves : DataFrame
        Rows of one model and one part other than words, from `MixingScores.curves`.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        `ax`; targets have the gid "target", the step "step", the parameter of a game "published",
        rates "rate-<quantity>", bands of what unreadable answers might have made of them
        "band-<quantity>", shares of refused answers "refused".
    """
    part = str(curves["part"].iloc[0])
    three = part == "three_outcomes"
    styles = _THREE if three else _LINES
    _frame(ax)
    for quantity, rows in curves.groupby("quantity", sort=False):
        colour, marker, label = styles[str(quantity)]
        ordered = rows.sort_values("p")
        if three:
            ax.plot(
                ordered["p"],
                ordered["target"],
                color=colour,
                linewidth=1.2,
                linestyle=(0, (2, 2)),
                gid="target",
                zorder=1,
            )
        elif not ax.get_lines():
            _references(ordered, part, ax)
        ax.plot(ordered["p"], ordered["rate"], color=colour, linewidth=1.6, marker=marker, markersize=4.5, markeredgecolor="white",
                markeredgewidth=0.6, label=label, gid=f"rate-{quantity}", zorder=4)  # fmt: skip
        if (ordered["unread"] > 0).any() and (
            part != "two_flips" or quantity == "mean"
        ):  # three bands over each other say less than one
            _band(ordered, ax, colour, str(quantity))
        drawn = ordered[np.isfinite(ordered["draws"]) & ordered["rate"].notna()]
        if (
            len(drawn) and quantity != "mean"
        ):  # the mean of two flips of one answer is no proportion of answers
            low, high = wilson_interval(drawn["rate"], drawn["draws"])
            ax.vlines(drawn["p"], low, high, color=colour, linewidth=0.9, alpha=0.6, zorder=3)
    asked = curves.drop_duplicates("p").sort_values("p")
    if (asked["refused"] > 0).any():
        ax.plot(
            asked["p"],
            asked["refused"],
            color=VERMILION,
            linewidth=1.0,
            marker="x",
            markersize=4,
            label="refused",
            gid="refused",
            zorder=3,
        )
    if three:
        ax.set_xlim(-0.02, 0.62)
        ax.set_xticks([0, 0.2, 0.4, 0.6], ["0", ".2", ".4", ".6"])
        ax.plot([], [], color=INK, linewidth=1.2, linestyle=(0, (2, 2)), label="asked for")
    ax.set_xlabel(
        "probability of 0 (that of 1 is .4)"
        if three
        else "parameter of the game"
        if part in _GAMES
        else "probability asked for"
    )
    ax.legend(
        loc="best",
        framealpha=0.85,
        edgecolor="none",
        handlelength=2.2,
        borderaxespad=0.3,
        labelspacing=0.3,
    )
    return ax


def _band(rows: pd.DataFrame, ax: Axes, colour: str, quantity: str) -> None:
    """Show where the rates might lie if every unreadable answer had been an outcome."""
    label = (
        None
        if any(collection.get_label() == "if all were read" for collection in ax.collections)
        else "if all were read"
    )
    ax.fill_between(rows["p"], rows["rate_least"], rows["rate_most"], color=colour, alpha=0.16, linewidth=0, label=label,
                    gid=f"band-{quantity}", zorder=1.5)  # fmt: skip


def _references(rows: pd.DataFrame, part: str, ax: Axes) -> None:
    game = part in _GAMES
    ends = np.array([0.0, 1.0])
    name = "equilibrium" if game else "asked for"
    ax.plot(
        ends,
        1 - ends if game else ends,
        color=INK,
        linewidth=1.3,
        linestyle=(0, (2, 2)),
        label=name,
        gid="target",
        zorder=1,
    )
    if game:
        ax.plot(
            ends,
            ends,
            color=FAINT,
            linewidth=1.0,
            linestyle=(0, (6, 2, 1, 2)),
            label="rewarded as published",
            gid="published",
            zorder=1,
        )
    else:
        ax.plot(
            [0, 0.5, 0.5, 1],
            [0, 0, 1, 1],
            color=FAINT,
            linewidth=1.0,
            label="step (S = 1)",
            gid="step",
            zorder=1,
        )


def plot_words(curves: pd.DataFrame, ax: Axes) -> Axes:
    """Draw how often the first word of each pair was chosen, in either order.

    Parameters
    ----------
    curves : DataFrame
        Rows of one model and the part words, from `MixingScores.curves`.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        `ax`; the middle of a line shows a preference for the word, its length one for the place in
        the question.
    """
    wide = curves.pivot(index="item", columns="order", values="rate").iloc[::-1]
    rows = np.arange(len(wide))
    for order in ("forward", "reverse"):
        if order not in wide:
            wide[order] = math.nan
    _word_bands(curves, {item: row for row, item in enumerate(wide.index)}, ax)
    ax.axvline(0.5, color=INK, linewidth=1.3, linestyle=(0, (2, 2)), zorder=1)
    ax.hlines(rows, wide["forward"], wide["reverse"], color=FAINT, linewidth=1.4, zorder=2)
    ax.scatter(
        wide["forward"],
        rows,
        color=VERMILION,
        marker=">",
        s=34,
        label="listed first",
        gid="forward",
        zorder=3,
        clip_on=False,
    )
    ax.scatter(
        wide["reverse"],
        rows,
        color=PURPLE,
        marker="<",
        s=34,
        label="listed second",
        gid="reverse",
        zorder=3,
        clip_on=False,
    )
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.6, len(wide) + 1.4)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    ax.set_yticks(
        rows,
        [clean(item.replace("/", " / "), limit=_MOST_LABEL) for item in wide.index],
        fontsize=8,
        parse_math=False,
    )
    ax.tick_params(axis="y", length=0)
    unread = float(curves["unread"].mean())
    lost = (
        f"\n(bands: if all were read; {curves['refused'].mean():.0%} refused)" if unread > 0 else ""
    )
    ax.set_xlabel(f"rate of the pair's first word, when it is ...{lost}")
    ax.legend(loc="upper center", ncols=2, frameon=False, handletextpad=0.1, columnspacing=1.0)
    return ax


def _word_bands(curves: pd.DataFrame, place: dict[str, int], ax: Axes) -> None:
    """Show the range of each rate over what unreadable answers might have been, that of the forward order above that of the reverse one."""
    for order, colour, shift in (("forward", VERMILION, 0.16), ("reverse", PURPLE, -0.16)):
        own = curves[(curves["order"] == order) & (curves["unread"] > 0)]
        heights = [place[item] + shift for item in own["item"]]
        ax.hlines(
            heights,
            own["rate_least"],
            own["rate_most"],
            color=colour,
            linewidth=4,
            alpha=0.25,
            gid=f"band-{order}",
            zorder=1.5,
        )


def mixing_figure(curves: pd.DataFrame, *, title: str) -> Figure:
    """Return a figure with one panel per part of the battery that was asked.

    Parameters
    ----------
    curves : DataFrame
        Rows of one model, from `MixingScores.curves`.
    title : str
        Name of the model.

    Returns
    -------
    Figure
        Up to seven panels in rows of four.
    """
    present = [name for name in PARTS if (curves["part"] == name).any()]
    figure, axes = _panels(len(present), title)
    with rc_context(_STYLE):
        for name, ax in zip(present, axes, strict=True):
            own = curves[curves["part"] == name]
            (plot_words if name == "words" else plot_rates)(own, ax)
            ax.set_title(
                f"{PARTS[name].number}  {PARTS[name].title}", loc="left", fontweight="bold"
            )
    return figure


def compare_figure(curves: pd.DataFrame, models: Sequence[str], *, part: str = "flip") -> Figure:
    """Return a figure with one panel per model for one part.

    Parameters
    ----------
    curves : DataFrame
        From `MixingScores.curves`.
    models : sequence of str
        Models in the order of the panels; the first twelve that have the part are drawn.
    part : str
        Part of the battery other than words.

    Returns
    -------
    Figure
        Small multiples on one scale, four in a row at most.
    """
    own = curves[curves["part"] == part]
    shown = [model for model in models if (own["model"] == model).any()][:_MOST_PANELS]
    figure, axes = _panels(len(shown), f"{PARTS[part].title}: rate against probability")
    with rc_context(_STYLE):
        for model, ax in zip(shown, axes, strict=True):
            plot_rates(own[own["model"] == model], ax)
            ax.set_title(clean(model, limit=34), loc="left", fontweight="bold", parse_math=False)
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG.

    Parameters
    ----------
    figure : Figure
        From `mixing_figure` or `compare_figure`.
    path : path-like
        Target, ending in .png.
    """
    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure.savefig(path, dpi=140, metadata={"Software": ""})


def _panels(count: int, title: str) -> tuple[Figure, list[Axes]]:
    with rc_context(_STYLE):
        lines = max(1, math.ceil(count / 4))
        columns = max(1, math.ceil(count / lines))
        figure = Figure(figsize=(3.6 * columns, 3.3 * lines + 0.4), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(clean(title, limit=80), x=0.01, ha="left", fontsize=12, parse_math=False)
        axes = [figure.add_subplot(lines, columns, number + 1) for number in range(count)]
    return figure, axes


def _frame(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK, length=3)
    ticks = ([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.04, 1.04)
    ax.set_xticks(*ticks)
    ax.set_yticks(*ticks)
    ax.set_ylabel("rate in the answers")
