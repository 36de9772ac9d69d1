"""The figures of calibration: outcomes against stated beliefs, in bins or by isotonic regression.

The outcome is the exact posterior where it is known, and else a truth coded 0/1. Misses of a few
hundredths have a figure of their own: the same bins, and the distance of their points from the
diagonal.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from coherence.inputs import Floats, as_belief, require, whole_number
from coherence.plots.choices import LABELS, Columns, choices_of
from coherence.plots.scales import fit_effects, fit_probabilities, span_of
from coherence.plots.style import DASHES, FAINT, INK, PALE, Style, belief_axes, canvas, set_title
from coherence.printable import clean
from coherence.result import CheckResult
from coherence.runs.audit import STATED
from coherence.runs.states import STATE_NAMES, named_states
from coherence.statistics.figure_tables import (
    EXACT,
    bars_of,
    calibration_bins,
    over_contexts,
    spaced,
)

_LABEL = 24  # letters
SMALL = 0.05
"""Distance from the diagonal up to which misses cannot be read off the figure of calibration."""
RELIABILITY = "Reliability"


def title_of(bins: pd.DataFrame) -> str:
    """Say what the figure of a table of calibration shows."""
    return "Belief and exact posterior" if is_exact(bins) else "Calibration"


def is_exact(bins: pd.DataFrame) -> bool:
    """Tell whether beliefs are compared with exact posteriors."""
    return bool((bins["compared_with"] == EXACT).all())


def plot_calibration(
    data: ArrayLike | pd.DataFrame,
    truth: ArrayLike | None = None,
    *,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    positive: Any = None,
    columns: Columns | None = None,
    n_bins: int = 10,
    noun: str = STATED,
    title: str | None = None,
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
    columns : mapping, optional
        What a table calls the columns, as for `coherence.analyze`.
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
    """
    beside = {"exact": exact, "context": context, "positive": positive, "columns": columns}
    choices = choices_of(data, truth=truth, **beside)
    require("belief" in choices, "data must hold beliefs in one of two states; received none.")
    bins = calibration_bins(choices, n_bins=whole_number(n_bins, "n_bins", 2))
    contexts = spaced(over_contexts(choices)[0].dropna())
    with canvas(ax, size=(4.4, 4.5)) as axes:
        labels = choices.attrs.get(LABELS, ())
        state = named_states(labels)[1] if len(labels) == 2 else STATE_NAMES[1]
        draw_calibration(bins, contexts, ax=axes, noun=noun, state=state)
        set_title(axes, title, title_of(bins))
        return axes


def draw_calibration(
    bins: pd.DataFrame,
    contexts: pd.DataFrame | None,
    *,
    ax: Axes,
    noun: str,
    state: str = STATE_NAMES[1],
) -> Axes:
    """Draw tables of `coherence.statistics.figure_tables`: bins, and contexts where exact."""
    shown = contexts if contexts is not None and is_exact(bins) else pd.DataFrame()
    belief_axes(ax)
    # The same on both axes, so that the diagonal is in sight wherever the points are.
    drawn = [bins[name] for name in ("belief", "outcome", "low", "high")]
    span = span_of(*drawn, *(shown[name] for name in ("belief", "truth") if name in shown))
    for axis in ("x", "y"):
        fit_probabilities(ax, axis, span)
    diagonal: Style = {"color": FAINT, "linewidth": 1.2, "linestyle": DASHES}
    ax.plot([0, 1], [0, 1], gid="diagonal", zorder=1, **diagonal)
    if len(shown):
        points: Style = {"s": 11, "color": PALE, "alpha": 0.7, "linewidth": 0, "zorder": 2}
        ax.scatter(shown["belief"], shown["truth"], gid="contexts", **points)
    ax.vlines(bins["belief"], bins["low"], bins["high"], color=INK, linewidth=1.0, zorder=3)
    ax.plot(bins["belief"], bins["outcome"], color=INK, linewidth=1.6, zorder=4)
    style: Style = {"s": 38, "color": INK, "edgecolor": "white", "zorder": 5}
    ax.scatter(bins["belief"], bins["outcome"], gid="calibration", **style)
    ax.set_xlabel(noun)
    share = f"share of cases with {clean(state, limit=_LABEL)}"
    ax.set_ylabel(EXACT if is_exact(bins) else share, parse_math=False)
    # On a square the diagonal is the line of 45 degrees that readers expect.
    ax.set_aspect("equal")
    return ax


# Reliability by isotonic regression


def plot_reliability(
    result: CheckResult,
    *,
    forecasts: ArrayLike | None = None,
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
        The result has no reliability curve.

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
    counted = None
    if forecasts is not None:
        counted = bars_of(pd.Series(as_belief(forecasts).ravel()))
    with canvas(ax, size=(4.4, 4.5)) as axes:
        draw_reliability(curve, counted, ax=axes, noun=noun)
        set_title(axes, title, RELIABILITY)
        return axes


def draw_reliability(
    curve: pd.DataFrame, forecasts: pd.DataFrame | None, *, ax: Axes, noun: str
) -> Axes:
    """Draw the curve of a result, above the histogram of all forecasts where there is one."""
    belief_axes(ax)
    x = curve["forecast"]
    band: Style = {"color": PALE, "alpha": 0.45, "linewidth": 0, "zorder": 1}
    ax.fill_between(x, curve["low"], curve["high"], gid="band", **band)
    diagonal: Style = {"color": FAINT, "linewidth": 1.2, "linestyle": DASHES}
    ax.plot([0, 1], [0, 1], gid="diagonal", zorder=2, **diagonal)
    if forecasts is not None:
        heights = forecasts["n"] / forecasts["n"].max() * 0.12
        bars: Style = {"color": FAINT, "alpha": 0.6, "linewidth": 0, "zorder": 1}
        middles = (forecasts["low"] + forecasts["high"]) / 2
        ax.bar(middles, heights, 0.046, **bars)
    ax.plot(x, curve["recalibrated"], gid="reliability", color=INK, linewidth=1.6, zorder=4)
    style: Style = {"s": 10, "color": INK, "linewidth": 0, "zorder": 5}
    ax.scatter(x, curve["recalibrated"], **style)
    for axis in ("x", "y"):
        fit_probabilities(ax, axis, (0.0, 1.0))
    ax.set_xlabel(noun)
    ax.set_ylabel("share of cases in which it happened")
    ax.set_aspect("equal")
    return ax


# Misses that are too small to be seen in the figure of calibration


def are_small(bins: pd.DataFrame) -> bool:
    """Tell whether all gaps and their intervals are too small for the figure of calibration."""
    ends: Floats = bins[["gap", "gap_low", "gap_high"]].to_numpy(dtype=np.float64)
    return bool(np.nanmax(np.abs(ends), initial=0.0) <= SMALL)


def gap_title(bins: pd.DataFrame) -> str:
    """Say what the figure of these beliefs shows."""
    return f"{_measure(bins)} less belief".capitalize()


def _measure(bins: pd.DataFrame) -> str:
    return EXACT if is_exact(bins) else "share of true cases"


def plot_calibration_gaps(
    data: ArrayLike | pd.DataFrame,
    truth: ArrayLike | None = None,
    *,
    exact: ArrayLike | None = None,
    context: ArrayLike | None = None,
    positive: Any = None,
    columns: Columns | None = None,
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
    columns : mapping, optional
        What a table calls the columns, as for `coherence.analyze`.
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
    >>> coherence.plots.plot_calibration_gaps(runs).get_title(loc="left")
    'Exact posterior less belief'
    """
    beside = {"exact": exact, "context": context, "positive": positive, "columns": columns}
    choices = choices_of(data, truth=truth, **beside)
    require("belief" in choices, "data must hold beliefs in one of two states; received none.")
    bins = calibration_bins(choices, n_bins=whole_number(n_bins, "n_bins", 2))
    with canvas(ax) as axes:
        draw_gaps(bins, ax=axes, noun=noun)
        set_title(axes, title, gap_title(bins))
        return axes


def draw_gaps(bins: pd.DataFrame, *, ax: Axes, noun: str) -> Axes:
    """Draw how far the bins of a table of calibration lie from the diagonal."""
    belief_axes(ax)
    fit_probabilities(ax, "x", span_of(bins["belief"]))
    fit_effects(ax, "y", span_of(bins["gap"], bins["gap_low"], bins["gap_high"]))
    ax.vlines(bins["belief"], bins["gap_low"], bins["gap_high"], color=INK, linewidth=1.0, zorder=3)
    style: Style = {"s": 38, "color": INK, "edgecolor": "white", "zorder": 5}
    ax.scatter(bins["belief"], bins["gap"], gid="gaps", **style)
    ax.set_xlabel(noun)
    ax.set_ylabel(f"{_measure(bins)} less belief")
    return ax
