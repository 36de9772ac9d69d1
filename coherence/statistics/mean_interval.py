"""Confidence intervals for a mean of skewed values, one per context, and for a median.

Squared errors are skewed, and a percentile or t interval for their mean misses large true values
too often. Hall's cubic transformation takes the skewness out of the studentised mean and is
inverted in closed form, without resampling. Heavy tails, with which the spread is estimated badly,
cost degrees of freedom.
"""

import math
from functools import partial
from typing import TypeVar

import numpy as np
import pandas as pd
from scipy import stats

from coherence.inputs import Codes, Floats
from coherence.result import CheckResult, Interval, contributions_to_mean
from coherence.statistics.resample import Clusters

Result = TypeVar("Result", bound=CheckResult)
METHOD = "skewness-adjusted t, {clusters} as clusters"
NO_SPREAD = "no interval, because all {clusters} have the same {what}"
ALL_BELOW = "no interval, because chance has pushed both of its ends below 0"
_LEAST_DEGREES = 4.0
PAIRED = "the wider of t and skewness-adjusted t, {clusters} as clusters"
NOTHING = 1e-12
"""Differences below this are rounding."""
MEDIAN_METHOD = "inverted test of the share below, {clusters} as clusters"


def _all_equal(values: Floats) -> bool:
    # Answers do not have so many digits that values which differ would seem equal here.
    return float(np.ptp(values)) <= 1e-12 + 1e-9 * float(np.abs(values).max())


def mean_interval(
    values: Floats,
    *,
    weights: Floats | None = None,
    root: bool = False,
    level: float = 0.95,
    clusters: str = "contexts",
) -> Interval | None:
    """Return an interval for a mean over contexts, or what else `clusters` names.

    Assumes independent contexts with a finite fourth moment. With weights the values enter through
    their influence on the weighted mean. Where a tenth of 30 or 50 contexts holds nearly all of the
    sum and differs greatly within, coverage is .75 to .85, with this and every other method tried:
    the few large values do not show how large others may be.

    Hall (1992), On the removal of skewness by transformation, JRSS B 54(1), the monotone cubic
    transformation; Satterthwaite (1946), Biometrics Bulletin 2(6), for the degrees of freedom.
    """
    if _all_equal(values):
        return None
    # A weighted mean is a ratio of means; to first order it varies as the mean of this influence.
    share = np.ones(values.size) if weights is None else weights / weights.mean()
    mean = float((share * values).mean())
    influence = share * (values - mean)
    n, spread = values.size, float(np.std(influence, ddof=1))
    skewness = _standardised_moment(influence, 3)
    reach = float(stats.t.ppf((1 + level) / 2, _degrees(influence))) / math.sqrt(n)

    def studentised(position: float) -> float:
        # Hall's cubic is the identity then, and its inverse below would divide by 0.
        if abs(skewness) < 1e-6:
            return position
        return float(3 / skewness * (np.cbrt(1 + skewness * (position - skewness / (6 * n))) - 1))

    low, high = mean - spread * studentised(reach), mean - spread * studentised(-reach)
    if root:
        if high <= 0:
            return None
        low, high = math.sqrt(max(low, 0.0)), math.sqrt(high)
    return Interval(low, high, level, METHOD.format(clusters=clusters))


def interval_or_reason(
    of_contexts: Floats, clusters: Clusters, what: str, *, root: bool = False
) -> tuple[Interval | None, str]:
    """Return an interval for a mean over contexts, of these clusters, or why there is none.

    `what` names the values, for the reason.
    """
    if clusters.too_few:
        return None, clusters.too_few
    values = clusters.values(of_contexts)
    interval = mean_interval(values, root=root, clusters=clusters.plural)
    if interval is None:
        reason = NO_SPREAD if _all_equal(values) else ALL_BELOW
        return None, reason.format(what=what, clusters=clusters.plural)
    return interval, ""


def mean_result(
    result: partial[Result],
    of_contexts: "pd.Series[float]",
    clusters: Clusters,
    what: str,
    *,
    root: bool = False,
) -> partial[Result]:
    """Fill in a result by a mean over contexts in [0, 1], or the root of one, and its interval."""
    values = np.asarray(of_contexts, dtype=np.float64)
    mean = float(values.mean())
    interval, reason = interval_or_reason(values, clusters, what, root=root)
    return partial(
        result,
        # A mean square without its noise may fall below 0 by chance; 0 is then the estimate.
        statistic=math.sqrt(max(mean, 0.0)) if root else mean,
        interval=None if interval is None else interval.within(0.0, 1.0),
        n_contexts=values.size,
        reason=reason,
        contributions=contributions_to_mean(of_contexts),
        mean_square=mean if root else None,
    )


def difference_interval(
    values: Floats, *, level: float = 0.95, clusters: str = "contexts"
) -> Interval | None:
    """Return an interval for the mean of paired differences, such as gaps between two beliefs.

    Differences of things that are alike are symmetric. Their skewness is then chance, which goes
    with that of the mean, and taking it out rejects a true null in up to twice as many samples as
    stated, at small levels; differences of things that are not alike may be skewed, of which
    Student's does so in up to four times as many. The wider of both does neither.
    """
    skewed = mean_interval(values, level=level)
    if skewed is None:
        return None
    mean, error, degrees = _student(values)
    reach = float(stats.t.ppf((1 + level) / 2, degrees)) * error
    method = PAIRED.format(clusters=clusters)
    return Interval(min(skewed.low, mean - reach), max(skewed.high, mean + reach), level, method)


def difference_pvalue(values: Floats, null: float = 0.0) -> float:
    """Test that a mean of paired differences is `null`, two-sidedly, as `difference_interval` does.

    Assumes independent contexts. Where one context in a hundred has a value at all, a normal
    statistic would make three of them evidence, of which one in four studies has as much.
    """
    n_moved = int((np.abs(values) > NOTHING).sum())
    if not n_moved:
        return math.nan
    least = float(2.0 ** (1 - n_moved))
    if _all_equal(values):
        return least if abs(float(values[0]) - null) > NOTHING else 1.0
    mean, error, degrees = _student(values - null)
    root, skewness = math.sqrt(values.size), _standardised_moment(values - values.mean(), 3)
    # Hall's cubic forwards; `mean_interval` needs its inverse.
    ratio = moved = mean / error / root
    if abs(skewness) >= 1e-6:
        moved = ((1 + skewness * ratio / 3) ** 3 - 1) / skewness + skewness / (6 * values.size)
    nearer = min(abs(ratio), abs(moved)) if ratio * moved > 0 else 0.0
    return max(2 * float(stats.t.sf(root * nearer, degrees)), least)


def _student(values: Floats) -> tuple[float, float, float]:
    """Return mean, standard error and degrees of freedom."""
    error = float(np.std(values, ddof=1)) / math.sqrt(values.size)
    return float(values.mean()), error, _degrees(values - values.mean())


def _degrees(values: Floats) -> float:
    """Degrees of freedom of the spread of values, fewer where they have heavy tails."""
    most = values.size - 1.0
    kurtosis = _standardised_moment(values, 4)
    # The relative variance of a variance, (kurtosis - 1) / n, is that of such a chi-square.
    return min(most, max(_LEAST_DEGREES, 2 * values.size / max(kurtosis - 1, 1e-9)))


def _standardised_moment(values: Floats, order: int) -> float:
    # scipy's take a millisecond each, and inversions ask for them hundreds of times.
    away = values - values.mean()
    return float((away**order).mean() / (away @ away / values.size) ** (order / 2))


def median_interval(
    values: Floats, context: Codes, *, level: float = 0.95, clusters: str = "contexts"
) -> Interval | None:
    """Return an interval for the median of all rows, contexts, or `clusters`, independent.

    Assumes independent contexts. The spread of the share below the sample median is estimated from
    context totals, so that rows of one context may depend on each other in any way.

    Woodruff (1952), Confidence intervals for medians and other position measures, JASA 47(260).
    """
    if _all_equal(values):
        return None
    below = (values <= np.median(values)).astype(np.float64)
    codes, cluster = np.unique(context, return_inverse=True)
    # Deviations of rows add up within a context, whatever their dependence there.
    totals = np.bincount(cluster, weights=below - below.mean())
    n = codes.size
    reach = (
        float(stats.t.ppf((1 + level) / 2, n - 1))
        * math.sqrt(n / (n - 1) * float(totals @ totals))
        / values.size
    )
    low, high = np.quantile(values, [max(0.0, 0.5 - reach), min(1.0, 0.5 + reach)])
    return Interval(float(low), float(high), level, MEDIAN_METHOD.format(clusters=clusters))
