"""How close stated beliefs are to the truth: root-mean-square error to the exact posterior, Brier score, calibration error.

These are estimates beside the coherence checks: a coherent agent may be badly calibrated, and a calibrated one incoherent.
"""

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.errors import InputError
from coherence.inputs import MIN_CONTEXTS, Codes, Floats, as_belief, as_contexts, require
from coherence.mean_interval import NO_SPREAD, mean_interval
from coherence.monotone import belief_bins
from coherence.resample import context_sums
from coherence.result import CheckResult, Interval

N_BINS = 10


def reliability_table(belief: ArrayLike, target: ArrayLike, *, n_bins: int = N_BINS) -> pd.DataFrame:
    """Compare mean belief with the mean of a target in quantile bins of belief.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probabilities.
    target : array-like, shape (n,)
        Realised state as 0 or 1, or the exact posterior.
    n_bins : int
        Bins wanted.

    Returns
    -------
    DataFrame
        Columns ``bin``, ``belief``, ``target``, ``n``.

    Examples
    --------
    >>> reliability_table([0.1, 0.1, 0.9, 0.9], [0, 0, 1, 0], n_bins=2)
       bin  belief  target  n
    0    0     0.1     0.0  2
    1    1     0.9     0.5  2
    """
    values, wanted = as_belief(belief), as_belief(target, "target")
    require(values.shape == wanted.shape, f"target must have one value per belief; received shapes {wanted.shape} and {values.shape}.")
    table = pd.DataFrame({"bin": belief_bins(values, n_bins), "belief": values, "target": wanted})
    return table.groupby("bin", as_index=False).agg(belief=("belief", "mean"), target=("target", "mean"), n=("belief", "size"))


def _expected_calibration_error(bins: Codes, belief: Floats, target: Floats) -> float:
    return float(np.abs(np.bincount(bins, weights=belief - target)).sum() / bins.size)


def _calibration_error(bins: Codes, belief: Floats, target: Floats, context: Codes, n_contexts: int) -> tuple[float, Interval | None]:
    """Root-mean-square gap of the bins without the part that chance adds, and its interval, by leaving out one context at a time."""
    gaps, rows = np.zeros((2, n_contexts, int(bins.max()) + 1))
    np.add.at(gaps, (context, bins), belief - target)
    np.add.at(rows, (context, bins), 1.0)
    others = rows.sum(axis=0) - rows
    # A bin that one context fills alone is empty without it.
    without = np.divide((gaps.sum(axis=0) - gaps) ** 2, others, out=np.zeros_like(gaps), where=others > 0).sum(axis=1) / others.sum(axis=1)
    square = float((gaps.sum(axis=0) ** 2 / rows.sum(axis=0)).sum() / rows.sum())
    pseudo = n_contexts * square - (n_contexts - 1) * without
    return math.sqrt(max(float(pseudo.mean()), 0.0)), mean_interval(pseudo, root=True)


def calibration_estimates(
    belief: ArrayLike,
    truth: ArrayLike | None = None,
    *,
    p_true: ArrayLike | None = None,
    context: ArrayLike | None = None,
    n_bins: int = N_BINS,
) -> list[CheckResult]:
    """Estimate accuracy of beliefs with intervals over contexts.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probability of state 1.
    truth : array-like, shape (n,), optional
        Realised state, 0 or 1; may be left out where `p_true` is given.
    p_true : array-like, shape (n,), optional
        Exact posterior.
    context : array-like, shape (n,), optional
        Ids of the evidence.
    n_bins : int
        Quantile bins of the calibration error.

    Returns
    -------
    list of CheckResult
        With `truth`, Brier score and two calibration errors against it, and, with `p_true`, root-mean-square error and the calibration errors
        against it. Estimates: no p-value. "ece" is the expected calibration error, the mean absolute gap of the bins: chance alone keeps
        it above 0, so it comes without an interval. "calibration_error" is the root-mean-square gap of the bins from which the share of
        chance is removed, with an interval. Where every context has the same error, as in beliefs of 0 and 1 that were always right, there
        is no interval and `reason` says so.

    Raises
    ------
    InputError
        An array breaks its rule, or neither `truth` nor `p_true` is given.

    Notes
    -----
    Assumes independent contexts; the limits of the bins are taken as fixed. The share of chance in the squared calibration error is
    removed by a jackknife over contexts, whose pseudo-values give the interval. What is left may fall below 0; its root is then 0.

    References
    ----------
    Kumar, Liang and Ma (2019), Verified uncertainty calibration, on the bias of the plain estimate; Efron and Stein (1981), The jackknife
    estimate of variance.
    """
    values = as_belief(belief)
    state, exact = (None if target is None else as_belief(target, name) for name, target in (("truth", truth), ("p_true", p_true)))
    require(values.ndim == 1 and (state is None or values.shape == state.shape), "belief and truth must be one-dimensional and of equal length.")
    require(state is None or bool(np.isin(state, (0.0, 1.0)).all()), "truth must be 0 or 1 here; map the states first.")
    shown = exact if exact is not None else state
    if shown is None:
        raise InputError("truth or p_true must be given; received neither. Beliefs are calibrated to something.")
    require(shown.shape == values.shape, f"p_true must have one value per belief; received shapes {shown.shape} and {values.shape}.")
    groups, contexts = as_contexts(context, len(values))
    bins = belief_bins(values, n_bins)
    sizes = context_sums(np.ones(len(values)), groups, len(contexts))
    few = f"{len(contexts)} contexts are fewer than {MIN_CONTEXTS}" if len(contexts) < MIN_CONTEXTS else ""

    def result(name: str, what: str, statistic: float, interval: Interval | None, unit: str, reason: str = "") -> CheckResult:
        return CheckResult(
            f"calibration:{name}", what, float("nan") if few else statistic, unit, None if few else interval, None, len(values), len(contexts),
            settings={"n_bins": n_bins}, assumptions=("contexts are independent",), reason=few or reason,
            details=reliability_table(values, shown, n_bins=n_bins),
        )  # fmt: skip

    def estimated(name: str, what: str, statistic: float, interval: Interval | None, unit: str) -> CheckResult:
        return result(name, what, statistic, interval, unit, "" if interval is not None else NO_SPREAD.format(what="error"))

    def mean(per_row: Floats, root: bool = False) -> tuple[float, Interval | None]:
        value = float(per_row.mean())
        value = value**0.5 if root else value
        return value, None if few else mean_interval(context_sums(per_row, groups, len(contexts)) / sizes, weights=sizes, root=root)

    def errors(target: Floats, suffix: str, against: str) -> list[CheckResult]:
        plain = _expected_calibration_error(bins, values, target)
        root, interval = (math.nan, None) if few else _calibration_error(bins, values, target, groups, len(contexts))
        return [
            estimated(f"calibration_error{suffix}", f"root-mean-square calibration error to {against}, noise removed", root, interval, "probability"),
            result(f"ece{suffix}", f"expected calibration error to {against}, biased upwards by chance", plain, None, "probability"),
        ]

    results = []
    if exact is not None:
        distance = mean((values - exact) ** 2, root=True)
        results.append(estimated("rmse", "root-mean-square error of belief to the exact posterior", *distance, "probability"))
        results += errors(exact, "_exact", "the exact posterior")
    if state is not None:
        results.append(estimated("brier", "mean squared error of belief to the realised state", *mean((values - state) ** 2), "squared error"))
        results += errors(state, "", "the realised state")
    return results
