"""A logit of shares of choices, and what it is without each cluster in turn.

The jackknife of one step leaves a cluster's score and curvature out of the fit's (MacKinnon,
Nielsen and Webb 2023, Journal of Econometrics 232(2)). Assumes independent clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import expit

from coherence.inputs import Codes, Floats

RIDGE = 1e-9  # of a logit whose choices are told apart without error


@dataclass(frozen=True)
class Logit:
    """A fitted logit."""

    columns: Floats  # shape (n, k)
    share: Floats  # shape (n,)
    number: Floats  # choices behind each share
    ridge: Floats  # shape (k, k)
    coefficients: Floats  # shape (k,)

    def without(self, cluster: Codes, n: int) -> Floats:
        """Return the coefficients without each of `n` clusters, to one step: shape (n, k)."""
        likely = expit(self.columns @ self.coefficients)
        products = self.columns[:, :, None] * self.columns[:, None, :]
        products = products * (self.number * likely * (1.0 - likely))[:, None, None]
        k = self.columns.shape[1]
        scores, curves = np.zeros((n, k)), np.zeros((n, k, k))
        np.add.at(scores, cluster, self.columns * (self.number * (self.share - likely))[:, None])
        np.add.at(curves, cluster, products)
        rest = products.sum(axis=0) + self.ridge - curves
        return self.coefficients - np.linalg.solve(rest, scores[..., None])[..., 0]


def logit(
    columns: Floats,
    share: Floats,
    *,
    number: Floats | float = 1.0,
    ridge: Floats | None = None,
    start: Floats | None = None,
) -> Logit:
    """Fit a logit of shares by Newton's method, a little shrunk so that it is always finite."""
    n, k = columns.shape
    count = np.broadcast_to(np.asarray(number, dtype=np.float64), (n,))
    shrunk = n * RIDGE * np.eye(k) if ridge is None else ridge
    found = np.zeros(k) if start is None else start.copy()
    for _ in range(100):
        likely = expit(np.clip(columns @ found, -30.0, 30.0))
        slope = columns.T @ (count * (share - likely)) - shrunk @ found
        curved = (columns * (count * likely * (1.0 - likely))[:, None]).T @ columns
        step = np.linalg.solve(curved + shrunk, slope)
        largest = float(np.abs(step).max())
        found = found + step * min(1.0, 20.0 / max(largest, 1e-300))
        if largest < 1e-8:
            break
    return Logit(columns, share, count, shrunk, np.asarray(found))


def jackknife(moved: Floats) -> Floats:
    """Return the covariance of estimates times the square of a t quantile.

    By how they move without each cluster in turn, shape (n, k); roots of the diagonal are the half
    lengths of 95% intervals.
    """
    n = len(moved)
    return np.asarray(float(stats.t.ppf(0.975, n - 1)) ** 2 * (n - 1) / n * moved.T @ moved)
