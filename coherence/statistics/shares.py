"""Wilson's and Clopper and Pearson's intervals for shares, and those where contexts are clusters.

Wilson's is neither empty at 0 and 1 nor goes beyond. Rows of a context depend on each other, so
that a share of rows is known less well than as many coin tosses would tell: the number of trials is
then the one that independent tosses would need for the variance over contexts (Korn and Graubard
1998).
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from coherence.inputs import Codes, Floats

FEWEST = 5  # clusters with the state, and without it, below which a variance says little
NORMAL_QUANTILE = 1.959963984540054  # of 0.975


def wilson_interval(share: ArrayLike, count: ArrayLike) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's 95% score interval for shares.

    Wilson (1927), Journal of the American Statistical Association 22, 209-212.
    """
    from statsmodels.stats.proportion import proportion_confint

    observed, trials = np.asarray(share, dtype=np.float64), np.asarray(count, dtype=np.float64)
    low, high = proportion_confint(observed * trials, trials, method="wilson")
    # At shares of 0 and 1 one end is exact; rounding would leave it an ulp off.
    return np.where(observed == 0, 0.0, low), np.where(observed == 1, 1.0, high)


def exact_interval(share: float, trials: float, level: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson (Biometrika 1934); trials need not be whole."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(share * trials, trials, alpha=1 - level, method="beta")
    return float(low), float(high)


def context_shares(
    values: Floats,
    group: Codes,
    context: Codes,
    n_groups: int,
    *,
    weights: Floats | None = None,
) -> tuple[Floats, Floats, Floats, Codes]:
    """Average shares by group, with contexts as clusters.

    Return means over rows and the two ends of their 95% intervals, shape (n_groups, n_columns), NaN
    in groups without rows and the ends in those of one context; and the contexts of each group.

    Assumes independent contexts. The variance of a mean is that of the ratio of sums over contexts,
    and at least what the dependence within contexts of all groups together makes of it: a group in
    which a few contexts differ shows too little of its own. Where no group shows any dependence,
    because all contexts of a group agree, a context counts as one toss. Few contexts lower the
    number of trials as they widen a t interval.

    Korn and Graubard (1998), Survey Methodology 24(2), on confidence intervals for proportions of
    few clusters, with Wilson's in place of the exact interval.
    """
    # Rows of every context in every group are summed.
    cells, cell = np.unique(context.astype(np.int64) * n_groups + group, return_inverse=True)
    of_group = cells % n_groups
    rows = np.bincount(cell, weights=weights).astype(np.float64)
    n_contexts = np.bincount(of_group, minlength=n_groups)
    n_rows: Floats = np.bincount(of_group, weights=rows, minlength=n_groups).astype(np.float64)
    square = np.bincount(of_group, weights=rows**2, minlength=n_groups)
    share = np.full((n_groups, values.shape[1]), np.nan)
    low, high = share.copy(), share.copy()
    several = n_contexts > 1
    k, of_rows = n_contexts[several], n_rows[several]
    # Contexts of unequal size count for fewer (Kish).
    number = of_rows**2 / square[several]
    tossed = weights is None and bool(np.isin(values, (0.0, 1.0)).all())
    for at, of_row in enumerate((values if weights is None else values * weights[:, None]).T):
        column = np.bincount(cell, weights=of_row)
        total = np.bincount(of_group, weights=column, minlength=n_groups)
        mean = np.divide(total, n_rows, out=share[:, at], where=n_rows > 0)
        away = np.bincount(
            of_group, weights=(column - rows * mean[of_group]) ** 2, minlength=n_groups
        )
        spread = away[several] * k / (k - 1)
        inner = (mean[several] * number + 0.5) / (number + 1)
        variance = np.maximum(spread / of_rows**2, 0.0)
        tosses = inner * (1 - inner) / of_rows
        effect = _design_effect(spread, mean[several], of_rows, number, tossed=tossed)
        variance = np.maximum(variance, effect * tosses)
        # Wilson's spread at the trials that have this variance; t in place of the normal quantile.
        wider = NORMAL_QUANTILE / stats.t.ppf(0.975, k - 1)
        trials = inner * (1 - inner) / variance * wider**2
        low[several, at], high[several, at] = wilson_interval(mean[several], trials)
    return share, low, high, n_contexts


def _design_effect(
    spread: Floats, mean: Floats, rows: Floats, number: Floats, *, tossed: bool
) -> Floats:
    """Return how many times the variance of tosses that of a share is, by all groups together.

    A choice is a toss at the least; probabilities are none, and may vary less.
    """
    of_tosses = float((mean * (1 - mean) * rows).sum())
    # Nothing tells how much rows of a context depend: as if they were one.
    alike = rows / number
    if spread.sum() <= 0 or of_tosses <= 0:
        return np.asarray(alike)
    together = float(spread.sum()) / of_tosses
    if tossed:
        return np.asarray(np.minimum(max(together, 1.0), alike))
    # Where all contexts agree, one that was not seen may not: half of one that differs.
    return np.asarray(np.maximum(together, 0.5 * alike / number))


def spare_variance(covariance: Floats, least: Floats) -> Floats:
    """Variance that bins must be given so that no share and no difference is taken for certain."""
    variance = np.diag(covariance)
    own = np.maximum(least - variance, 0.0)
    raised = variance + own
    of_difference = raised[:, None] + raised - 2 * covariance
    lacking = np.maximum(least[:, None] + least - of_difference, 0.0)
    np.fill_diagonal(lacking, 0.0)
    return np.asarray(own + lacking.max(axis=1) / 2)


def clustered_auc(
    belief: Floats, state: Floats, cluster: Codes, *, level: float = 0.95
) -> tuple[float, float, float]:
    """Return the area under the curve and its interval; NaN where there are too few clusters.

    `state` is 1 or 0, `cluster` numbers the independent clusters of rows. Obuchowski (1997),
    Biometrics 53, 567-578, equations 2 to 5.
    """
    with_state = state == 1
    clusters = [np.unique(cluster[rows]) for rows in (with_state, ~with_state)]
    if min(map(len, clusters)) < FEWEST:
        return np.nan, np.nan, np.nan
    n_with, n_without = int(with_state.sum()), int((~with_state).sum())
    ranks = stats.rankdata(belief)
    # The share of the other rows that a row lies above, ties by half: its placement value.
    placement = np.empty(len(belief))
    for rows, n_others in ((with_state, n_without), (~with_state, n_with)):
        placement[rows] = (ranks[rows] - stats.rankdata(belief[rows])) / n_others
    placement[~with_state] = 1 - placement[~with_state]
    area = float(placement[with_state].mean())
    n_clusters = int(cluster.max()) + 1
    deviation = placement - area
    sums = [
        np.bincount(cluster[rows], weights=deviation[rows], minlength=n_clusters)
        for rows in (with_state, ~with_state)
    ]
    n_all = len(np.unique(cluster))
    variance = sum(
        len(inside) / (len(inside) - 1) * float(each @ each) / size**2
        for inside, each, size in zip(clusters, sums, (n_with, n_without), strict=True)
    )
    variance += 2 * n_all / (n_all - 1) * float(sums[0] @ sums[1]) / (n_with * n_without)
    width = float(stats.norm.isf((1 - level) / 2)) * np.sqrt(max(variance, 0.0))
    return area, area - width, area + width
