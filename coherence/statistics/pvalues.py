"""P-values of an exact posterior against realised states, and of several tests over their family.

Given an exact posterior the states are coin tosses with that probability, so that both components
of the score for recalibration (Cox 1958), calibration in the large and slope, have mean 0 and a
known covariance. A family is of shape (m,) in and out; NaN marks a test that was not run, leaves
it and stays NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from coherence.inputs import Floats

N_REDRAWS, SMALLEST = 4_999, 0.001
_AT_ONCE = 500  # redraws; a calibrated column is told from the first of them


def calibration_pvalue(
    exact: Floats, truth: NDArray[np.bool_], group: NDArray[np.int64] | None = None
) -> float:
    """Test whether realised states, one per case, may be draws with given probabilities.

    The statistic is the quadratic form of the sums of (truth - exact) and of
    (truth - exact)(2 exact - 1) in their covariance under the null; its distribution comes from
    states drawn anew; contexts of a group share a toss, the most that their states can go together.
    Draws end once five were as extreme (Besag and Clifford 1991): p is then far
    above `SMALLEST`.
    """
    weights = np.stack([np.ones_like(exact), 2 * exact - 1], axis=1)
    covariance = weights.T @ (weights * (exact * (1 - exact))[:, None])
    inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)

    def statistic(drawn: NDArray[np.bool_]) -> Floats:
        score = (drawn - exact) @ weights
        return np.asarray(np.einsum("ij,jk,ik->i", score, inverse, score))

    if np.any(truth & (exact <= 0)) or np.any(~truth & (exact >= 1)):
        return 0.0  # it happened, and had no probability
    observed = statistic(truth[None])[0]
    rng, extreme, done = np.random.default_rng(0), 0, 0
    while done < N_REDRAWS and extreme < 5:
        n_draws = min(_AT_ONCE, N_REDRAWS - done)
        at_once = max(1, 10**7 // max(exact.size, 1))
        for start in range(0, n_draws, at_once):
            shape = min(at_once, n_draws - start), exact.size if group is None else group.max() + 1
            tosses = rng.random(shape)
            found = statistic((tosses if group is None else tosses[:, group]) < exact)
            extreme += int((found >= observed * (1 - 1e-9)).sum())
        done += n_draws
    return (1 + extreme) / (1 + done)


def _adjusted(pvalues: ArrayLike, method: Callable[[Floats], Floats]) -> Floats:
    values = np.asarray(pvalues, dtype=np.float64)
    run = ~np.isnan(values)
    adjusted = np.full(values.shape, np.nan)
    if run.any():
        adjusted[run] = method(values[run])
    return adjusted


def holm(pvalues: ArrayLike) -> Floats:
    """Adjust p-values so that the chance of any false rejection is bounded (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.06, 0.06]
    """

    # By hand: statsmodels' `multipletests` collects garbage at every call, .1 s for each of the
    # many families of a report.
    def step_down(values: Floats) -> Floats:
        order, adjusted = np.argsort(values), np.empty(len(values))
        steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
        adjusted[order] = np.minimum(steps, 1.0)
        return adjusted

    return _adjusted(pvalues, step_down)


def benjamini_hochberg(pvalues: ArrayLike) -> Floats:
    """Bound the expected share of false rejections (Benjamini and Hochberg 1995, JRSS B 57(1)).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.04, 0.04]
    """
    return _adjusted(pvalues, false_discovery_control)
