"""The figure of what beliefs miss: outcomes less beliefs, on a scale of the misses.

Beside the figure of calibration, in which misses of a few hundredths cannot be seen: the same bins,
and the distance of their points from the diagonal.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from coherence.inputs import Floats, require, whole_number
from coherence.plots.calibration import calibration_bins, calibration_table, is_exact
from coherence.plots.choices import choices_of
from coherence.plots.scales import fit_effects, fit_probabilities, span_of
from coherence.plots.style import BLUE, INK, Style, belief_axes, canvas, set_title
from coherence.statistics.mean_interval import mean_interval
from coherence.table.audit import STATED

SMALL = 0.05
"""Distance from the diagonal up to which misses cannot be read off the figure of calibration."""


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


def title_of(choices: pd.DataFrame) -> str:
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
        set_title(axes, title, title_of(choices))
        return axes
