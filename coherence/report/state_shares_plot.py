"""The figure of the main test: how often an action is chosen at each belief, state by state."""

import pandas as pd
from matplotlib.axes import Axes

from coherence.report.answering import STATED
from coherence.report.figures import BLUE, INK, VERMILION, probability_scales
from coherence.report.plots import belief_axes
from coherence.report.wording import clean

_LABEL = 28
_ASIDE = 0.007  # by which the states stand beside each other where their beliefs are the same
_HALF_BAR = 0.011
# Colour and marker both tell the states apart.
_STATES = ((0, "s", VERMILION), (1, "o", BLUE))


def plot_state_shares(table: pd.DataFrame, ax: Axes, *, noun: str = STATED) -> Axes:
    """Draw the share of one action against the belief, split by the realised state.

    Parameters
    ----------
    table : DataFrame
        Rows of one action out of `coherence.statistics.state_shares.StateShares`. With a column
        ``url``, points are links.
    ax : Axes
        Where to draw.
    noun : str
        What the axis calls the belief.

    Returns
    -------
    Axes
        `ax`. Bars with the gid "band-<state>" are what beliefs alone allow; points with the gid
        "state-<state>" have intervals over contexts; those outside their band are ringed, with the
        gid "outside".
    """
    belief_axes(ax)
    probability_scales(ax, x=False)
    for state, marker, colour in _STATES:
        rows = table[table["state"] == state]
        x = rows["belief"] + (_ASIDE if state else -_ASIDE)
        height = rows["band_high"] - rows["band_low"]
        ax.bar(
            x,
            height,
            width=2 * _HALF_BAR,
            bottom=rows["band_low"],
            color=colour,
            alpha=0.28,
            linewidth=0,
            gid=f"band-{state}",
            zorder=1,
        )
        ax.plot(x, rows["expected"], color=colour, linewidth=1.0, alpha=0.5, zorder=2)
        ax.vlines(x, rows["low"], rows["high"], color=colour, linewidth=1.1, zorder=3)
        outside = rows["outside"].to_numpy(dtype=bool)
        if outside.any():
            ringed = x[outside], rows["share"][outside]
            ring = ax.scatter(*ringed, s=120, facecolor="none", gid="outside", zorder=4)
            ring.set(edgecolor=INK, linewidth=1.3)
        points = ax.scatter(
            x,
            rows["share"],
            s=34,
            marker=marker,
            color=colour,
            edgecolor="white",
            linewidth=0.8,
            gid=f"state-{state}",
            label=f"state {state}",
            zorder=5,
        )
        if "url" in rows:
            points.set_urls(rows["url"].tolist())
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.0,
        frameon=False,
        ncols=2,
        handletextpad=0.2,
        columnspacing=1.2,
    )
    ax.set_xlabel(noun)
    action = next(iter(table["action"]), "")
    ax.set_ylabel(f"share of {clean(action, limit=_LABEL)}", parse_math=False)
    return ax
