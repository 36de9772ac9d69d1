"""How close stated beliefs are to the truth: root-mean-square error to the exact posterior, Brier score, calibration error.

These are estimates beside the coherence checks: a coherent agent may be badly calibrated, and a calibrated one incoherent.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.inputs import MIN_CONTEXTS, Codes, Floats, as_belief, as_contexts, require
from coherence.mean_interval import mean_interval
from coherence.monotone import belief_bins
from coherence.resample import Seed, as_generator, bootstrap_counts, context_sums, percentile_interval
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


def _expected_calibration_error(bins: Codes, belief: Floats, target: Floats, weight: Floats) -> float:
    gap = np.bincount(bins, weights=weight * (belief - target))
    return float(np.abs(gap).sum() / weight.sum())


def calibration_estimates(
    belief: ArrayLike,
    truth: ArrayLike,
    *,
    p_true: ArrayLike | None = None,
    context: ArrayLike | None = None,
    n_bins: int = N_BINS,
    n_bootstraps: int = 2000,
    rng: Seed = None,
) -> list[CheckResult]:
    """Estimate accuracy of beliefs with intervals over contexts.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probability of state 1.
    truth : array-like, shape (n,)
        Realised state, 0 or 1.
    p_true : array-like, shape (n,), optional
        Exact posterior.
    context : array-like, shape (n,), optional
        Ids of the evidence.
    n_bins : int
        Quantile bins of the calibration error.
    n_bootstraps : int
        Resamples of contexts for the calibration error; the other intervals need none.
    rng : Generator, int or None
        Source of the resamples.

    Returns
    -------
    list of CheckResult
        Brier score and expected calibration error against `truth`, and, with `p_true`, root-mean-square error and expected calibration
        error against it. Estimates: no p-value. The calibration error of a finite sample is biased upwards.

    Raises
    ------
    InputError
        An array breaks its rule.
    """
    values, state = as_belief(belief), as_belief(truth, "truth")
    require(values.ndim == 1 and values.shape == state.shape, "belief and truth must be one-dimensional and of equal length.")
    require(bool(np.isin(state, (0.0, 1.0)).all()), "truth must be 0 or 1 here; map the states first.")
    groups, contexts = as_contexts(context, len(values))
    exact = None if p_true is None else as_belief(p_true, "p_true")
    bins = belief_bins(values, n_bins)
    counts = bootstrap_counts(len(contexts), n_bootstraps, as_generator(rng))
    sizes = context_sums(np.ones(len(values)), groups, len(contexts))
    few = f"{len(contexts)} contexts are fewer than {MIN_CONTEXTS}" if len(contexts) < MIN_CONTEXTS else ""

    def result(name: str, what: str, statistic: float, interval: Interval | None, unit: str) -> CheckResult:
        return CheckResult(
            f"calibration:{name}", what, float("nan") if few else statistic, unit, None if few else interval, None, len(values), len(contexts),
            settings={"n_bins": n_bins, "n_bootstraps": n_bootstraps}, assumptions=("contexts are independent",), reason=few,
            details=reliability_table(values, state if exact is None else exact, n_bins=n_bins),
        )  # fmt: skip

    def mean(per_row: Floats, root: bool = False) -> tuple[float, Interval | None]:
        value = float(per_row.mean())
        value = value**0.5 if root else value
        return value, None if few else mean_interval(context_sums(per_row, groups, len(contexts)) / sizes, weights=sizes, root=root)

    def calibration_error(target: Floats) -> tuple[float, Interval]:
        draws = np.array([_expected_calibration_error(bins, values, target, count[groups].astype(np.float64)) for count in counts])
        interval = Interval(*percentile_interval(draws), 0.95, f"percentile bootstrap over contexts, {n_bootstraps} resamples")
        return _expected_calibration_error(bins, values, target, np.ones(len(values))), interval

    results = []
    if exact is not None:
        distance = mean((values - exact) ** 2, root=True)
        results.append(result("rmse", "root-mean-square error of belief to the exact posterior", *distance, "probability"))
        results.append(result("ece_exact", "expected calibration error against the exact posterior", *calibration_error(exact), "probability"))
    results.append(result("brier", "mean squared error of belief to the realised state", *mean((values - state) ** 2), "squared error"))
    results.append(result("ece", "expected calibration error against the realised state", *calibration_error(state), "probability"))
    return results
