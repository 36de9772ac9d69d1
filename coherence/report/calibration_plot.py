"""The figure of calibration, and the table behind it: outcomes against stated beliefs, in bins.

The outcome is the exact posterior where it is known, and else a truth coded 0/1. Intervals are over
contexts, whose rows share one outcome.
"""

import math
from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes

from coherence.errors import InputError
from coherence.report.answering import STATED
from coherence.report.figures import BLUE, FAINT, INK, SKY, probability_scales
from coherence.report.plots import belief_axes
from coherence.statistics.bins import belief_bins
from coherence.statistics.context_shares import context_shares

# One mark per context up to here; beyond, evenly spaced contexts keep the page small.
_MOST_POINTS = 400


def calibration_outcome(choices: pd.DataFrame) -> tuple[pd.Series, str] | None:
    """Return what beliefs are compared with: the exact posterior where known, else a 0/1 truth.

    Parameters
    ----------
    choices : DataFrame
        With ``truth`` or ``p_true``.

    Returns
    -------
    (Series, str) or None
        The numbers and their column; None where the truth is no 0/1 column, so that no share can be
        formed.
    """
    # The exact posterior is free of the luck in what happened.
    if "p_true" in choices and choices["p_true"].notna().any():
        return choices["p_true"].astype(float), "p_true"
    if "truth" not in choices:
        return None
    # A categorical or text column may hold 0/1 as text, "1.0" among them.
    numbers = pd.to_numeric(choices["truth"].astype(object), errors="coerce").astype(float)
    known = choices["truth"].notna()
    # With three states or labels there is no share of one that a single belief is about.
    return (numbers, "truth") if known.any() and numbers[known].isin([0.0, 1.0]).all() else None


def calibration_bins(choices: pd.DataFrame, *, n_bins: int = 10) -> pd.DataFrame:
    """Put beliefs and what they are compared with into bins with about equally many answers.

    Parameters
    ----------
    choices : DataFrame
        With ``belief``, ``context`` and ``truth`` or ``p_true``.
    n_bins : int
        Largest number of bins; ties give fewer.

    Returns
    -------
    DataFrame
        Rows with ``belief``, ``outcome``, ``context`` and ``bin``, from 0.
    """
    known = calibration_outcome(choices)
    if known is None:
        raise InputError(
            "truth must be 0 or 1, or p_true be known, to compare beliefs with it. "
            "Recode the truth column."
        )
    table = pd.DataFrame(
        {
            "belief": choices["belief"].astype(float),
            "outcome": known[0],
            "context": choices["context"].astype(object),
        }
    ).dropna()
    # Bins of equal counts: bins of equal width would leave rare beliefs to a handful of answers.
    return table.assign(bin=belief_bins(table["belief"].to_numpy(), n_bins))


def calibration_table(choices: pd.DataFrame, *, n_bins: int = 10) -> pd.DataFrame:
    """Compare mean belief and mean outcome in bins with about equally many answers.

    Parameters
    ----------
    choices : DataFrame
        With ``belief``, ``context`` and ``truth`` or ``p_true``.
    n_bins : int
        Largest number of bins; ties give fewer.

    Returns
    -------
    DataFrame
        ``belief``, ``outcome``, ``low``, ``high`` (95%), ``n_contexts``, ``n_rows`` per bin. The
        intervals are those of `coherence.statistics.context_shares`; NaN in a bin of one context.
    """
    table = calibration_bins(choices, n_bins=n_bins)
    grouped = table.groupby("bin").agg(
        belief=("belief", "mean"),
        outcome=("outcome", "mean"),
        n_contexts=("context", "nunique"),
        n_rows=("belief", "size"),
    )
    outcome = table["outcome"].to_numpy(dtype=float)[:, None]
    bins, contexts = table["bin"].to_numpy(), pd.factorize(table["context"])[0]
    found = context_shares(outcome, bins, contexts, len(grouped))
    grouped["low"], grouped["high"] = found.low[:, 0], found.high[:, 0]
    return grouped.reset_index(drop=True)


def plot_calibration(
    choices: pd.DataFrame,
    ax: Axes,
    *,
    n_bins: int = 10,
    noun: str = STATED,
    bins: pd.DataFrame | None = None,
    link: Callable[[object], str | None] | None = None,
) -> Axes:
    """Draw the exact posterior, or else the share of true cases, against the stated belief.

    Parameters
    ----------
    choices : DataFrame
        With ``belief``, ``context`` and ``truth`` or ``p_true``.
    ax : Axes
        Where to draw.
    n_bins : int
        Largest number of bins.
    noun : str
        What the axis calls the belief.
    bins : DataFrame, optional
        From `calibration_table`; with a column ``url``, its points are links.
    link : callable, optional
        Gives the address of a context's answers, or None.

    Returns
    -------
    Axes
        `ax`; the binned means have the gid "calibration", single contexts (exact posterior only)
        the gid "contexts".

    Raises
    ------
    InputError
        There is neither an exact posterior nor a 0/1 truth.
    """
    bins = calibration_table(choices, n_bins=n_bins) if bins is None else bins
    known = calibration_outcome(choices)
    exact = known is not None and known[1] == "p_true"
    belief_axes(ax)
    probability_scales(ax, x=False)
    ax.plot(
        [0, 1], [0, 1], color=FAINT, linewidth=1.2, linestyle=(0, (2, 2)), gid="diagonal", zorder=1
    )
    if exact:
        of_context = (
            choices.groupby("context", sort=False, observed=True)
            .agg(belief=("belief", "mean"), p_true=("p_true", "mean"))
            .dropna()
        )
        # Evenly spaced in the order of the table, and not drawn: equal bytes for equal data.
        shown = of_context.iloc[:: max(1, math.ceil(len(of_context) / _MOST_POINTS))]
        points = ax.scatter(
            shown["belief"],
            shown["p_true"],
            s=11,
            color=SKY,
            alpha=0.5,
            linewidth=0,
            gid="contexts",
            zorder=2,
        )
        if link is not None:
            points.set_urls([link(context) for context in shown.index])
    ax.vlines(bins["belief"], bins["low"], bins["high"], color=INK, linewidth=1.0, zorder=3)
    ax.plot(bins["belief"], bins["outcome"], color=BLUE, linewidth=1.6, zorder=4)
    means = ax.scatter(
        bins["belief"],
        bins["outcome"],
        s=38,
        color=BLUE,
        edgecolor="white",
        gid="calibration",
        zorder=5,
    )
    if "url" in bins:
        means.set_urls(bins["url"].tolist())
    ax.set_xlabel(noun)
    ax.set_ylabel("exact posterior" if exact else "share of cases with theta = 1")
    # On a square the diagonal is the line of 45 degrees that readers expect.
    ax.set_aspect("equal")
    return ax
