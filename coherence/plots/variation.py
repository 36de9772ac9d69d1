"""The first figure of a report: beliefs against the truth, with what each of them varies over."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from coherence.errors import InputError
from coherence.plots.style import (
    DASHES,
    FAINT,
    INK,
    Style,
    action_colours,
    belief_axes,
    probability_scales,
)
from coherence.printable import clean
from coherence.runs.audit import STATED
from coherence.runs.states import STATE_NAMES
from coherence.statistics.figure_tables import EXACT, STATE

_LABEL = 20  # letters
_JITTER = 0.12  # half the width over which contexts of one realised state are spread
MOST_ACTIONS = 6


def draw_variation(
    contexts: pd.DataFrame,
    bars: pd.DataFrame,
    actions: Mapping[str, float],
    *,
    ax: Axes,
    noun: str = STATED,
    states: Sequence[str] = STATE_NAMES,
    colours: Mapping[str, str] | None = None,
) -> Axes:
    """Draw a point a context, histograms of belief and truth, and the share of every action.

    `contexts` and `bars` are tables of `coherence.statistics.figure_tables`. Axes run from 0 to 1
    whatever the beliefs, so that beliefs that hardly move are a narrow band. States are spread to
    be seen.
    """
    x = contexts["truth"].to_numpy(dtype=np.float64)
    realised = contexts["compared_with"].iloc[0] == STATE
    axes, beside = _parted(ax) if actions else (ax, None)
    belief_axes(axes)
    probability_scales(axes)
    if realised:
        axes.set_xlim(-0.2, 1.2)
        axes.set_xticks([0, 1], [clean(name, limit=_LABEL) for name in states], parse_math=False)
    else:
        axes.plot([0, 1], [0, 1], color=FAINT, linestyle=DASHES, linewidth=1, zorder=1)
        axes.set_xlabel(EXACT)
    shown = x + _spread(x) if realised else x
    style: Style = {"s": 16, "color": INK, "alpha": 0.5, "linewidths": 0, "gid": "contexts"}
    axes.scatter(shown, contexts["belief"], zorder=3, **style)
    axes.set_ylabel(noun)
    above = axes.inset_axes((0, 1.02, 1, 0.16), sharex=axes)
    side = axes.inset_axes((1.02, 0, 0.14, 1), sharey=axes)
    for panel, quantity, draw in ((above, "truth", above.bar), (side, "belief", side.barh)):
        rows = bars[bars["quantity"] == quantity]
        middles, widths = (rows["low"] + rows["high"]) / 2, rows["high"] - rows["low"]
        draw(middles, rows["n"], widths, color=INK, alpha=0.4, linewidth=0)
        panel.axis("off")
    if beside is not None:
        _shares(beside, actions, colours or action_colours(actions))
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


def _shares(ax: Axes, actions: Mapping[str, float], colours: Mapping[str, str]) -> None:
    """Draw a bar an action, the most frequent on top, its name and share above it."""
    rows = list(actions.items())[:MOST_ACTIONS]
    for number, (name, share) in enumerate(rows):
        ax.barh(-number, 1.0, height=0.3, color="#ececec", linewidth=0)
        ax.barh(
            -number, share, height=0.3, color=colours[name], linewidth=0, gid=f"action-{number}"
        )
        text = f"{clean(name, limit=16)} {share:.1%}"
        ax.text(0, 0.24 - number, text, color=INK, fontsize=9.0, va="bottom", parse_math=False)
    ax.set_xlim(0, 1)
    ax.set_ylim(-max(len(rows), 3) + 0.6, 0.75)
    ax.axis("off")
