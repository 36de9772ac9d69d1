"""The first figure of a report: beliefs against the truth, with what each of them varies over."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.errors import InputError
from coherence.plots.style import (
    ACTION_COLOURS,
    BLUE,
    DASHES,
    FAINT,
    INK,
    Style,
    belief_axes,
    canvas,
    probability_scales,
)
from coherence.table.audit import STATED
from coherence.table.printable import clean

_BINS = np.linspace(0, 1, 21).tolist()
_JITTER = 0.12  # half the width over which contexts of one realised state are spread
MOST_ACTIONS = 6


def plot_variation(
    belief: "pd.Series[float]",
    truth: "pd.Series[float]",
    actions: Mapping[str, float],
    *,
    of_truth: str = "exact posterior",
    noun: str = STATED,
    ax: Axes | None = None,
) -> Axes:
    """Draw a point a context, histograms of both, and the share of every action.

    Axes run from 0 to 1 whatever the beliefs, so that beliefs that hardly move are a narrow band.
    `belief` and `truth` are means of contexts; a truth of zeros and ones is spread to be seen.
    """
    x = truth.to_numpy(dtype=np.float64)
    realised = bool(np.isin(x, (0.0, 1.0)).all())
    with canvas(ax, size=(5.4, 3.4)) as whole:
        axes, beside = _parted(whole) if actions else (whole, None)
        belief_axes(axes)
        probability_scales(axes)
        if realised:
            axes.set_xlim(-0.2, 1.2)
            axes.set_xticks([0, 1], ["0", "1"])
        else:
            axes.plot([0, 1], [0, 1], color=FAINT, linestyle=DASHES, linewidth=1, zorder=1)
        shown = x + _spread(x) if realised else x
        style: Style = {"s": 16, "color": BLUE, "alpha": 0.55, "linewidths": 0, "gid": "contexts"}
        axes.scatter(shown, belief, zorder=3, **style)
        axes.set(xlabel=clean(of_truth), ylabel=noun)
        _histogram(axes.inset_axes((0, 1.02, 1, 0.16), sharex=axes), truth, "vertical")
        side = axes.inset_axes((1.02, 0, 0.14, 1), sharey=axes)
        _histogram(side, belief, "horizontal")
        if beside is not None:
            _shares(beside, actions)
        return axes


def _parted(ax: Axes) -> tuple[Axes, Axes]:
    """Put two axes in the place of a subplot, the second a third as wide."""
    whole, figure = ax.get_subplotspec(), ax.get_figure(root=True)
    if whole is None or figure is None:
        raise InputError("ax must be a subplot of a figure; received free axes. Use add_subplot.")
    ax.remove()
    places = whole.subgridspec(1, 2, width_ratios=(3, 1))
    return figure.add_subplot(places[0, 0]), figure.add_subplot(places[0, 1])


def _spread(x: Any) -> Any:
    """Place contexts of one state beside each other, by their rows and without chance."""
    place = pd.Series(x).groupby(x).cumcount().to_numpy()
    # Multiples of the golden ratio fill a line evenly, however many there are.
    return (2 * ((place * 0.6180339887) % 1) - 1) * _JITTER


def _histogram(
    ax: Axes, values: "pd.Series[float]", orientation: Literal["vertical", "horizontal"]
) -> None:
    """Draw the distribution beside the axes that it shares, without a scale of its own."""
    style: Style = {"color": BLUE, "alpha": 0.45, "linewidth": 0}
    ax.hist(values, bins=_BINS, orientation=orientation, **style)
    ax.axis("off")


def _shares(ax: Axes, actions: Mapping[str, float]) -> None:
    """Draw a bar an action, the most frequent on top, its name and share above it."""
    rows = list(actions.items())[:MOST_ACTIONS]
    for number, (name, share) in enumerate(rows):
        colour = ACTION_COLOURS[number % len(ACTION_COLOURS)]
        ax.barh(-number, 1.0, height=0.3, color="#ececec", linewidth=0)
        ax.barh(-number, share, height=0.3, color=colour, linewidth=0, gid=f"action-{number}")
        text = f"{clean(name, limit=16)} {share:.1%}"
        ax.text(0, 0.24 - number, text, color=INK, fontsize=9.0, va="bottom", parse_math=False)
    ax.set_xlim(0, 1)
    ax.set_ylim(-max(len(rows), 3) + 0.6, 0.75)
    ax.axis("off")
