"""The figure of calibration, and the table behind it: outcomes against stated beliefs, in bins.

The outcome is the exact posterior where it is known, and else a truth coded 0/1. Intervals are over
contexts, whose rows share one outcome. Misses of a few hundredths have a figure of their own: the
same bins, and the distance of their points from the diagonal.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from coherence.errors import InputError, closest
from coherence.inputs import Floats, as_belief, require, whole_number
from coherence.plots.choices import choices_of
from coherence.plots.scales import fit_effects, fit_probabilities, span_of
from coherence.plots.style import (
    BLUE,
    DASHES,
    FAINT,
    INK,
    SKY,
    Style,
    belief_axes,
    canvas,
    set_title,
)
from coherence.result import CheckResult
from coherence.statistics.bins import belief_bins
from coherence.statistics.mean_interval import mean_interval
from coherence.statistics.shares import context_shares
from coherence.table.audit import STATED

# One mark per context up to here; beyond, evenly spaced contexts keep the page small.
_MOST_POINTS = 400
SMALL = 0.05
"""Distance from the diagonal up to which misses cannot be read off the figure of calibration."""
RELIABILITY = "Reliability"
_DRAWN = ("belief", "outcome", "low", "high")


def calibration_outcome(choices: pd.DataFrame) -> tuple[pd.Series, str] | None:
    """Return what beliefs are compared with: the exact posterior where known, else a 0/1 truth."""
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
    """Put beliefs and what they are compared with into bins with about equally many answers."""
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
    """Compare mean belief and mean outcome in bins with about equally many answers."""
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


def title_of(choices: pd.DataFrame) -> str:
    """Say what the figure of these beliefs shows."""
    return "Belief and exact posterior" if is_exact(choices) else "Calibration"


def is_exact(choices: pd.DataFrame) -> bool:
    """Tell whether beliefs are compared with exact posteriors."""
    known = calibration_outcome(choices)
    return known is not None and known[1] == "p_true"


def plot_calibration(
    data: ArrayLike | pd.DataFrame,
    truth: ArrayLike | None = None,
    *,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    positive: Any = None,
    n_bins: int = 10,
    noun: str = STATED,
    title: str | None = None,
    bins: pd.DataFrame | None = None,
    link: Callable[[object], str | None] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the exact posterior, or else the share of true cases, against the stated belief.

    Parameters
    ----------
    data : DataFrame or array-like, shape (n,)
        A runs table of one task and model, or beliefs in [0, 1].
    truth : array-like, shape (n,), optional
        Beside an array of beliefs: the realised state.
    exact : array-like, shape (n,), optional
        Beside an array of beliefs: the exact posterior, which comes before the state.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    positive : Any
        Label of the state that beliefs are in; not needed for 0 and 1, no and yes, false and true.
    n_bins : int
        Largest number of bins, which hold about equally many answers.
    noun : str
        What the axis calls the belief.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    bins : DataFrame, optional
        From `calibration_table`; with a column ``url``, its points are links.
    link : callable, optional
        Gives the address of a context's answers, or None.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        The binned means have the gid "calibration" and 95% intervals over contexts, single contexts
        (exact posterior only) the gid "contexts".

    Raises
    ------
    InputError
        There is neither an exact posterior nor a state that is 0 or 1, or an array breaks its rule.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("miscalibrated", n_contexts=60, n_reps=2, rng=1)
    >>> coherence.plots.plot_calibration(runs).get_ylabel()
    'exact posterior'
    >>> ax = coherence.plots.plot_calibration(runs["p"], runs["theta"], context=runs["context"])
    >>> ax.get_ylabel()
    'share of cases with state 1'
    """
    choices = choices_of(data, truth=truth, exact=exact, context=context, positive=positive)
    require("belief" in choices, "data must hold beliefs in one of two states; received none.")
    n_bins = whole_number(n_bins, "n_bins", 2)
    bins = calibration_table(choices, n_bins=n_bins) if bins is None else bins
    exactly = is_exact(choices)
    with canvas(ax, size=(4.4, 4.5)) as axes:
        belief_axes(axes)
        contexts = _shown_contexts(choices) if exactly else pd.DataFrame()
        # The same on both axes, so that the diagonal is in sight wherever the points are.
        span = span_of(*(bins[name] for name in _DRAWN), *(contexts[name] for name in contexts))
        for axis in ("x", "y"):
            fit_probabilities(axes, axis, span)
        diagonal: Style = {"color": FAINT, "linewidth": 1.2, "linestyle": DASHES}
        axes.plot([0, 1], [0, 1], gid="diagonal", zorder=1, **diagonal)
        if exactly:
            _draw_contexts(contexts, axes, link)
        _draw_bins(bins, axes)
        axes.set_xlabel(noun)
        axes.set_ylabel("exact posterior" if exactly else "share of cases with state 1")
        # On a square the diagonal is the line of 45 degrees that readers expect.
        axes.set_aspect("equal")
        set_title(axes, title, title_of(choices))
        return axes


def _shown_contexts(choices: pd.DataFrame) -> pd.DataFrame:
    """Return mean belief and exact posterior of the contexts that are drawn."""
    of_context = (
        choices.groupby("context", sort=False, observed=True)
        .agg(belief=("belief", "mean"), p_true=("p_true", "mean"))
        .dropna()
    )
    # Evenly spaced in the order of the table, and not drawn: equal bytes for equal data.
    return of_context.iloc[:: max(1, math.ceil(len(of_context) / _MOST_POINTS))]


def _draw_contexts(
    shown: pd.DataFrame, ax: Axes, link: Callable[[object], str | None] | None
) -> None:
    """Draw single contexts."""
    style: Style = {"s": 11, "color": SKY, "alpha": 0.5, "linewidth": 0, "zorder": 2}
    points = ax.scatter(shown["belief"], shown["p_true"], gid="contexts", **style)
    if link is not None:
        points.set_urls([link(context) for context in shown.index])


def _draw_bins(bins: pd.DataFrame, ax: Axes) -> None:
    """Draw the means of bins, joined, with their intervals."""
    ax.vlines(bins["belief"], bins["low"], bins["high"], color=INK, linewidth=1.0, zorder=3)
    ax.plot(bins["belief"], bins["outcome"], color=BLUE, linewidth=1.6, zorder=4)
    style: Style = {"s": 38, "color": BLUE, "edgecolor": "white", "zorder": 5}
    means = ax.scatter(bins["belief"], bins["outcome"], gid="calibration", **style)
    if "url" in bins:
        means.set_urls(bins["url"].tolist())


# Reliability by isotonic regression


def plot_reliability(
    result: CheckResult,
    *,
    forecasts: ArrayLike | None = None,
    state: str | None = None,
    noun: str = STATED,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often outcomes happened against how often they were forecast to.

    Parameters
    ----------
    result : CheckResult
        From `coherence.calibration_test`, whose `details` are drawn.
    forecasts : array-like, shape (n,), optional
        All forecasts, for a histogram along the lower edge.
    state : str, optional
        The state to draw, of forecasts over three states and more.
    noun : str
        What the axis calls the belief.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        The isotonic regression has the gid "reliability", the pointwise 95% consistency band, in
        which that of a calibrated forecaster lies, "band"; forecasts on the dashed line are right.

    Raises
    ------
    InputError
        The result has no reliability curve, or several, of which none was named.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("miscalibrated", n_contexts=120, n_reps=1, rng=1)
    >>> result = coherence.calibration_test(runs["p"], runs["theta"], context=runs["context"])
    >>> coherence.plots.plot_reliability(result).get_ylabel()
    'share of cases in which it happened'
    """
    curve = result.details
    require(
        {"forecast", "recalibrated", "low", "high"} <= set(curve),
        f"result must be of calibration_test, with a reliability curve; received {result.check!r}"
        f"{f', {result.reason}' if result.reason else ''}.",
    )
    states = list(dict.fromkeys(curve["state"])) if "state" in curve else []
    if states or state is not None:
        require(
            state in states,
            f"state must be one of the states of the forecasts; received {state!r}. "
            f"{closest(state, states)}",
        )
        curve = curve[curve["state"] == state]
    with canvas(ax, size=(4.4, 4.5)) as axes:
        belief_axes(axes)
        x = curve["forecast"]
        band: Style = {"color": SKY, "alpha": 0.45, "linewidth": 0, "zorder": 1}
        axes.fill_between(x, curve["low"], curve["high"], gid="band", **band)
        diagonal: Style = {"color": FAINT, "linewidth": 1.2, "linestyle": DASHES}
        axes.plot([0, 1], [0, 1], gid="diagonal", zorder=2, **diagonal)
        if forecasts is not None:
            counts, edges = np.histogram(as_belief(forecasts), bins=20, range=(0.0, 1.0))
            bars: Style = {"color": FAINT, "alpha": 0.6, "linewidth": 0, "zorder": 1}
            axes.bar(edges[:-1], counts / counts.max() * 0.12, 0.046, align="edge", **bars)
        axes.plot(x, curve["recalibrated"], gid="reliability", color=BLUE, linewidth=1.6, zorder=4)
        style: Style = {"s": 10, "color": BLUE, "linewidth": 0, "zorder": 5}
        axes.scatter(x, curve["recalibrated"], **style)
        for axis in ("x", "y"):
            fit_probabilities(axes, axis, (0.0, 1.0))
        axes.set_xlabel(noun)
        axes.set_ylabel("share of cases in which it happened")
        axes.set_aspect("equal")
        set_title(axes, title, RELIABILITY)
        return axes


# Misses that are too small to be seen in the figure of calibration


def gap_table(choices: pd.DataFrame, *, n_bins: int = 10) -> pd.DataFrame:
    """Compare mean outcome and mean belief in bins with about equally many answers."""
    bins = calibration_table(choices, n_bins=n_bins)
    gaps = bins[["belief", "n_contexts", "n_rows"]].assign(gap=bins["outcome"] - bins["belief"])
    if not is_exact(choices):
        return gaps.assign(low=bins["low"] - bins["belief"], high=bins["high"] - bins["belief"])
    rows = calibration_bins(choices, n_bins=n_bins)
    rows = rows.assign(gap=rows["outcome"] - rows["belief"])
    ends = [_ends(of_bin) for _, of_bin in rows.groupby("bin")]
    return gaps.assign(low=[low for low, _ in ends], high=[high for _, high in ends])


def _ends(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the interval of the mean gap of a bin, with contexts as units."""
    of_context = rows.groupby("context")["gap"].agg(["mean", "size"])
    values, weights = (of_context[name].to_numpy(dtype=np.float64) for name in ("mean", "size"))
    interval = mean_interval(values, weights=weights) if len(values) > 1 else None
    return (np.nan, np.nan) if interval is None else (interval.low, interval.high)


def are_small(gaps: pd.DataFrame) -> bool:
    """Tell whether all gaps and their intervals are too small for the figure of calibration."""
    ends: Floats = gaps[["gap", "low", "high"]].to_numpy(dtype=np.float64)
    return bool(np.nanmax(np.abs(ends), initial=0.0) <= SMALL)


def gap_title(choices: pd.DataFrame) -> str:
    """Say what the figure of these beliefs shows."""
    return f"{_measure(choices)} less belief".capitalize()


def _measure(choices: pd.DataFrame) -> str:
    return "exact posterior" if is_exact(choices) else "share of true cases"


def plot_calibration_gaps(
    data: ArrayLike | pd.DataFrame,
    truth: ArrayLike | None = None,
    *,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    positive: Any = None,
    n_bins: int = 10,
    noun: str = STATED,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw by how much the exact posterior, or else the share of true cases, differs from beliefs.

    Parameters
    ----------
    data : DataFrame or array-like, shape (n,)
        A runs table of one task and model, or beliefs in [0, 1].
    truth : array-like, shape (n,), optional
        Beside an array of beliefs: the realised state.
    exact : array-like, shape (n,), optional
        Beside an array of beliefs: the exact posterior, which comes before the state.
    context : array-like, shape (n,), optional
        Ids of the evidence; without them every row is its own context.
    positive : Any
        Label of the state that beliefs are in; not needed for 0 and 1, no and yes, false and true.
    n_bins : int
        Largest number of bins, which hold about equally many answers.
    noun : str
        What the axis calls the belief.
    title : str, optional
        None says what is shown, an empty text leaves it out.
    ax : Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    Axes
        Points with the gid "gaps" lie above the dashed line where beliefs are too low, with 95%
        intervals over contexts where there are any; the axis runs as far as they do.

    Raises
    ------
    InputError
        There is neither an exact posterior nor a state that is 0 or 1, or an array breaks its rule.

    Examples
    --------
    >>> import coherence
    >>> runs = coherence.simulate("rational", n_contexts=60, n_reps=2, rng=1)
    >>> ax = coherence.plots.plot_calibration_gaps(runs)
    >>> ax.get_title(loc="left"), bool(max(ax.get_ylim()) < 0.1)
    ('Exact posterior less belief', True)
    """
    choices = choices_of(data, truth=truth, exact=exact, context=context, positive=positive)
    require("belief" in choices, "data must hold beliefs in one of two states; received none.")
    gaps = gap_table(choices, n_bins=whole_number(n_bins, "n_bins", 2))
    with canvas(ax) as axes:
        belief_axes(axes)
        fit_probabilities(axes, "x", span_of(gaps["belief"]))
        fit_effects(axes, "y", span_of(gaps["gap"], gaps["low"], gaps["high"]))
        axes.vlines(gaps["belief"], gaps["low"], gaps["high"], color=INK, linewidth=1.0, zorder=3)
        style: Style = {"s": 38, "color": BLUE, "edgecolor": "white", "zorder": 5}
        axes.scatter(gaps["belief"], gaps["gap"], gid="gaps", **style)
        axes.set_xlabel(noun)
        axes.set_ylabel(f"{_measure(choices)} less belief")
        set_title(axes, title, gap_title(choices))
        return axes
