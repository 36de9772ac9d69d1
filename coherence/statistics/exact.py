"""Whether a column that is said to be the exact posterior is calibrated to the realised states.

Given an exact posterior these are coin tosses with that probability, so that both components of the
score for recalibration (Cox 1958), calibration in the large and slope, have mean 0 and a known
covariance.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
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
