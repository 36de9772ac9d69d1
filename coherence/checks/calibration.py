"""How close stated beliefs are to the exact posterior and to what happened.

These are estimates alongside the coherence checks: a coherent agent may be badly calibrated, and a
calibrated one incoherent.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats

from coherence.checks.check import Call, CallsAndNotes, Check, Interpretation, Question, blank
from coherence.inputs import (
    Codes,
    Floats,
    few_contexts,
)
from coherence.result import CheckResult, Interval, contributions_to_mean
from coherence.runs.needs import TARGETS
from coherence.runs.notes import Code, Note, not_run
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.knn import belief_bins
from coherence.statistics.mean_interval import mean_result, why_none
from coherence.statistics.resample import context_means

WITH_CHANCE = "chance alone keeps it above 0; calibration_error has an interval"
N_BINS = 10
SQUARES_METHOD = "inverted noncentral chi-square of the gaps, {clusters} as clusters"
_PLAIN = 1e4  # squares over chance from which the root is as good as normal
# With outcomes that happen in 2.4% of cases, intervals held the true score in none of the tables in
# which none happened, of 30 to 200 cases, and in nearly all others.
ONE_OUTCOME = "no interval of scores, because all cases had the same outcome"


def _calibration_error(
    bins: Codes, belief: Floats, target: Floats, context: Codes, n_contexts: int, clusters: str
) -> tuple[float, Interval | None, str]:
    """Mean squared gap of the bins without the part that chance adds, by the jackknife.

    The interval treats the gaps of bins as normal means with the covariance of context totals, and
    is widened by what the beliefs that were drawn add: how many contexts fell into bins of large
    gaps (distances to the ends are combined as in Zou and Donner 2008). `clusters` is what contexts
    are called.
    """
    gaps, rows = _bin_totals(bins, belief - target, context, n_contexts)
    total, pseudo = rows.sum(axis=0), _pseudo_values(gaps, rows)
    weighted = gaps.sum(axis=0) / np.sqrt(total * total.sum())
    rest = (gaps - rows * (gaps.sum(axis=0) / total)) / np.sqrt(total * total.sum())
    # The mean of a bin of k contexts was estimated from them, which costs one of the k.
    of_bin = (rows > 0).sum(axis=0).astype(np.float64)
    several = of_bin > 1
    larger = np.where(several, of_bin / np.maximum(of_bin - 1, 1), n_contexts / (n_contexts - 1))
    covariance = rest.T @ rest * np.sqrt(np.outer(larger, larger))
    degrees = min(n_contexts - 1.0, max(float((of_bin - 1).sum()), 1.0))
    interval = squares_interval(weighted, covariance, degrees, clusters=clusters)
    if interval is None:
        return float(pseudo.mean()), None, why_none(pseudo, "error", clusters=clusters)
    of_gap = (gaps.sum(axis=0) / total) ** 2
    drawn = rows @ (of_gap - total @ of_gap / total.sum()) / total.sum()
    reach = float(stats.t.ppf(0.975, n_contexts - 1))
    spread = reach**2 * float(drawn @ drawn) * n_contexts / (n_contexts - 1)
    square = max(float(pseudo.mean()), 0.0)
    below, above = square - interval.low**2, interval.high**2 - square
    low, high = square - math.hypot(below, spread**0.5), square + math.hypot(above, spread**0.5)
    widened = replace(interval, low=math.sqrt(max(low, 0.0)), high=math.sqrt(high))
    return float(pseudo.mean()), widened, ""


def _bin_totals(
    bins: Codes, errors: Floats, context: Codes, n_contexts: int
) -> tuple[Floats, Floats]:
    """Sum errors, and count rows, of every context in every bin."""
    gaps, rows = np.zeros((2, n_contexts, int(bins.max()) + 1))
    np.add.at(gaps, (context, bins), errors)
    np.add.at(rows, (context, bins), 1.0)
    return gaps, rows


def _pseudo_values(gaps: Floats, rows: Floats) -> Floats:
    """Return the pseudo-value of every context for the mean squared gap of the bins."""
    total, n_contexts = rows.sum(axis=0), len(rows)
    others = total - rows
    # A bin that one context fills alone is empty without it.
    without = np.divide(
        (gaps.sum(axis=0) - gaps) ** 2, others, out=np.zeros_like(gaps), where=others > 0
    ).sum(axis=1) / others.sum(axis=1)
    square = float((gaps.sum(axis=0) ** 2 / total).sum() / total.sum())
    # Efron and Stein (1981): the mean of the pseudo-values is free of the bias of order 1 / n that
    # chance adds to a square.
    return np.asarray(n_contexts * square - (n_contexts - 1) * without)


def squares_interval(
    means: Floats,
    covariance: Floats,
    degrees: float,
    *,
    level: float = 0.95,
    clusters: str = "contexts",
) -> Interval | None:
    """Return an interval for the root of the sum of squares of true means.

    The sum of squares of a few estimated means, as of the gaps of bins of belief, is a multiple of
    a noncentral chi-square, exactly so for a single mean. Its interval is inverted; what varies as
    a square has no symmetric error, least of all near 0.

    With several means the spread of the sum is matched by one scale and a fractional number of
    means (Box 1954), for the part of chance and the direction of the observed means alike. Sums
    below what chance gives are taken as that: they may not show that the true means are 0, and the
    interval then starts at 0 and covers more often than stated.

    Box (1954), Annals of Mathematical Statistics 25(2), theorem 3.1, for the scale.
    """
    chance, method = float(np.trace(covariance)), SQUARES_METHOD.format(clusters=clusters)
    if chance <= 1e-20:
        return None
    square = float(means @ means)
    twice = float((covariance**2).sum())
    scale = (float(means @ covariance @ means) + twice) / (square + chance)
    if square > _PLAIN * chance:
        reach = float(stats.t.ppf((1 + level) / 2, degrees)) * math.sqrt(scale)
        return Interval(math.sqrt(square) - reach, math.sqrt(square) + reach, level, method)
    number = chance / scale
    # An estimated error widens the interval of a single mean by as much as t quantiles do.
    quantiles = (dist.ppf((1 + level) / 2) for dist in (stats.t(degrees), stats.norm))
    widened = scale * (next(quantiles) / next(quantiles)) ** 2

    def true_square(observed: float, tail: float) -> float:
        """Sum of squares that leaves `tail` below the observed one; 0 where none does."""

        def below(centre: float) -> float:
            if centre <= 0:
                return float(stats.chi2.cdf(observed / widened, number))
            return float(stats.ncx2.cdf(observed / widened, number, centre))

        if below(0.0) <= tail:
            return 0.0
        high = 1.0
        while below(high) > tail:
            high *= 2
        centre = optimize.brentq(lambda at: below(at) - tail, 0.0, high, xtol=1e-6)
        return float(centre) * widened

    low = true_square(square, (1 + level) / 2)
    high = true_square(max(square, chance), (1 - level) / 2)
    return Interval(math.sqrt(low), math.sqrt(high), level, method)


def calibration_of(
    data: EvaluationData, *, by_state: bool, n_bins: int = N_BINS
) -> list[CheckResult]:
    """Estimate accuracy of beliefs by their realised state, or by the exact posterior: no tests.

    The distance of beliefs to either (a probability; of the Brier score a squared error); cases
    count alike, and in bins rows do. First the Brier score or the root-mean-square error. Of the
    calibration errors "ece" is the mean absolute gap of the bins, which chance alone keeps above 0,
    so that it has no interval; "calibration_error" is their root-mean-square gap from which a
    jackknife over contexts removes the share of chance. What is left may fall below 0, its root is
    then 0. Limits of bins are taken as fixed. `details` compares belief and target by bin.

    Kumar, Liang and Ma (2019), Verified uncertainty calibration, on the bias of the plain estimate;
    Efron and Stein (1981), The jackknife estimate of variance.
    """
    target, clusters = data.state if by_state else data.posterior, data.clusters
    assert target is not None
    bins, errors = belief_bins(data.belief, n_bins), data.belief - target
    n, suffix = np.bincount(bins), "" if by_state else "_exact"
    against = "the realised state" if by_state else "the exact posterior"
    belief, wanted = (np.bincount(bins, of_row) / n for of_row in (data.belief, target))
    further: dict[str, Any] = {
        "settings": {"n_bins": n_bins, "cluster of resampling": clusters.name},
        "assumptions": (clusters.independent,),
        "details": pd.DataFrame(
            {"bin": np.arange(n.size), "belief": belief, "target": wanted, "n": n}
        ),
    }

    def estimate(name: str, what: str, unit: str = "probability") -> CheckResult:
        return blank(CheckResult, data, f"calibration:{name}", what, unit, **further)

    mean = estimate("rmse", f"root-mean-square error of belief to {against}")
    if by_state:
        mean = estimate("brier", f"mean squared error of belief to {against}", "squared error")
    what = f"root-mean-square calibration error to {against}, noise removed"
    gaps = estimate(f"calibration_error{suffix}", what)
    what = f"expected calibration error to {against}, biased upwards by chance"
    ece = estimate(f"ece{suffix}", what)
    if few := few_contexts(data.n_contexts):
        return [replace(each, reason=few) for each in (mean, gaps, ece)]
    squares = data.by_context(context_means(errors**2, data.context, data.n_contexts))
    mean = mean_result(mean, squares, clusters, "error", root=not by_state)
    absolute = float(np.abs(np.bincount(bins, weights=errors)).sum() / bins.size)
    ece = replace(ece, statistic=absolute, reason=WITH_CHANCE)
    if clusters.n < 2:
        return [mean, replace(gaps, reason=clusters.too_few), ece]
    cluster = clusters.of_context[data.context]
    square, interval, reason = _calibration_error(
        bins, data.belief, target, cluster, clusters.n, clusters.plural
    )
    if by_state and not np.ptp(target):  # of an exact posterior it is the root
        mean = replace(mean, interval=None, reason=ONE_OUTCOME)
        interval, reason = None, ONE_OUTCOME
    if clusters.too_few:
        interval, reason = None, reason or clusters.too_few
    totals = _bin_totals(bins, errors, data.context, data.n_contexts)
    gaps = replace(
        gaps,
        statistic=math.sqrt(max(square, 0.0)),
        interval=interval and interval.within(0.0, 1.0),
        reason=reason,
        contributions=contributions_to_mean(data.by_context(_pseudo_values(*totals))),
        mean_square=square,
    )
    return [mean, gaps, ece]


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    """Compare beliefs with each target in the rows in which it is known."""
    exact, state = data.known("posterior"), ~np.isnan(data.state)
    theta = data.known("truth").any()
    if not exact.any() and not state.any():
        lack = "no p_true" if theta else "neither theta nor p_true"
        lack = lack if data.n_rows else "no parsed belief"
        yield not_run(f"{lack}: calibration was not estimated.", "calibration")
        return
    if not exact.any():
        text = "no p_true: beliefs were compared with what happened, not with the exact posterior."
        yield Note(Code.STATE, text)
    elif not exact.all():
        yield Note(
            Code.STATE,
            f"p_true is known in {exact.sum()} of {len(exact)} rows: "
            "the distances to the exact posterior are those of these rows.",
        )
    if not theta:
        text = "no theta: beliefs were compared with the exact posterior, not with what happened."
        yield Note(Code.STATE, text)
    for rows, by_state in ((exact, False), (state, True)):
        if rows.any():
            yield Call(partial(calibration_of, data.subset(rows), by_state=by_state), draws=False)


CHECK = Check(
    name="calibration",
    origin="Published: the root-mean-square error, Brier's (1950) score, and the debiased "
    "calibration error (Kumar, Liang and Ma 2019)",
    needs=TARGETS,
    sentences={
        "rmse": Interpretation(
            estimate="The {belief}s miss the exact posterior by {value:.3f} (root mean square).",
            words="RMSE to the exact posterior",
            row="RMSE to the posterior, points",
        ),
        "brier": Interpretation(
            estimate="The squared error against what happened is {value:.3f} on average.",
            words="Brier score",
            row="Brier score, hundredths",
            unless="rmse",
        ),
    }
    | {
        f"{error}{suffix}": Interpretation(
            estimate=f"In bins, mean beliefs miss the {target} by {{value:.3f}} {how}.",
            words="calibration error",
        )
        for error, how in (
            ("calibration_error", "(root mean square, chance removed)"),
            ("ece", "on average, chance included"),
        )
        for suffix, target in (("_exact", "exact posterior"), ("", "observed frequency"))
    },
    plan=_plan,
    of_persons=True,
    states_named=True,
    question=Question.RIGHT,
    of_truth=True,
)
