"""The part of a covariance with the state that does not run through the stated belief.

By the law of total covariance cov(A, S) = E cov(A, S | p) + cov(E[A | p], E[S | p]): what choices
know of the state beside the statement, and what they know through it. The first part comes from
difference sequences, with the error of its runs, the whole from contexts, and the ratio of the two
has Fieller's interval (1954). Assumes that contexts, or groups, are independent.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from coherence.inputs import Codes, Floats
from coherence.statistics.resample import less_means

CLEAR = 3.0  # t of the covariance of choices and state from which it is taken to be there
FEWEST_GROUPS = 10


@dataclass(frozen=True)
class Ratio:
    """A ratio with Fieller's interval."""

    value: float
    low: float
    high: float
    clear: float  # t of the denominator


def share_of_covariance(
    within: float,
    error: float,
    added: Floats,
    score: Floats,
    state: Floats,
    group: Codes | None = None,
    level: float = 0.95,
) -> Ratio:
    """Divide a covariance at equal belief, with its standard error, by the whole one.

    `added`, shape (n,), is what each context adds to `within`, and sums to it; `score` and `state`,
    shape (n,), are choices and state of contexts. Covariances are within groups, over which the
    whole one has its error. NaN throughout where that is 0, or groups are fewer than ten.
    """
    n = len(score)
    unknown = Ratio(math.nan, math.nan, math.nan, 0.0)
    cluster = np.arange(n) if group is None else np.unique(group, return_inverse=True)[1].ravel()
    if group is not None:
        if cluster.max() + 1 < FEWEST_GROUPS:
            return unknown
        score, state = (less_means(values, cluster) for values in (score, state))
    products = (score - score.mean()) * (state - state.mean())
    whole = float(products.mean())
    parts = np.stack([added - within / n, (products - whole) / n], axis=1)
    of_cluster = np.stack([np.bincount(cluster, column) for column in parts.T], axis=1)
    n_clusters = len(of_cluster)
    covariance = of_cluster.T @ of_cluster * n_clusters / (n_clusters - 1)
    both, of_whole = float(covariance[0, 1]), float(covariance[1, 1])
    if whole == 0 or of_whole <= 0:
        return unknown
    # A correlation beyond 1 would leave the difference without a variance.
    most = math.sqrt(of_whole) * error
    both = min(max(both, -most), most)
    t = float(stats.t.ppf((1 + level) / 2, n_clusters - 1))
    clear = abs(whole) / math.sqrt(of_whole)
    if clear <= t:
        return Ratio(within / whole, -math.inf, math.inf, clear)
    # The ratios r with (within - r whole)^2 <= t^2 var(within - r whole).
    a = whole**2 - t**2 * of_whole
    b = within * whole - t**2 * both
    c = within**2 - t**2 * error**2
    root = math.sqrt(max(b**2 - a * c, 0.0))
    return Ratio(within / whole, (b - root) / a, (b + root) / a, clear)
