"""Noise of reports: how far repeated reports of one and the same evidence lie apart.

Two estimands, by their weights. What is shown (`report_noise`) is the root of the mean variance
within contexts, a context counting once: what further contexts of this kind would have on average,
so that it has an interval over contexts. What a test needs (`kind_of_reports`) pools reports, by
degrees of freedom.

A report that scatters around the belief acted on is a poor copy of it, and an action that follows
the belief then seems to know more than the report says. What scatters is the smallest sign of it
that a table can show.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from coherence.inputs import Codes, Floats
from coherence.statistics.resample import context_means

MISLEADING = 0.25
"""Bias of a test by noise, in standard errors, from which it is warned of."""


NEGLIGIBLE = 0.03
"""Share of the variance of contexts' mean reports that is noise, times their number, up to which
noise moves no test. The number and not its root: a policy that follows the belief exactly leaves
nothing but the noise, whose covariance with the state then grows with the root of the product."""
FEWEST_REPEATED = 0.5
"""Share of contexts that must have reports to compare before agreement speaks for the others."""


class Reports(StrEnum):
    """What the reports of contexts tell of their noise."""

    EXACT = "exact"  # repeated, and so alike that their noise moves nothing
    DIFFER = "differ"
    SINGLE = "single"  # one each, or few repeated, which agree: nothing is known


def deviations(belief: Floats, mean: Floats) -> Floats:
    """Return how far reports lie from their mean, which is off by the last digit of equal ones."""
    away = np.asarray(belief - mean)
    away[np.abs(away) < 1e-12] = 0.0
    return away


def variances_within(belief: Floats, context: Codes) -> Floats:
    """Return the variance of the reports of each context; NaN where there is but one.

    Of beliefs over several states, shape (n, n_states), it is the mean over states.
    """
    if not len(belief):
        return np.zeros(0)
    sizes, columns = np.bincount(context), np.atleast_2d(belief.T)
    squares = np.zeros(len(sizes))
    for column in columns:
        away = deviations(column, context_means(column, context, len(sizes))[context])
        squares += np.bincount(context, weights=away**2, minlength=len(sizes)) / len(columns)
    return np.asarray(squares / np.where(sizes > 1, sizes - 1.0, math.nan))


def kind_of_reports(belief: Floats, context: Codes) -> tuple[Reports, float]:
    """Tell what reports say of their noise; also the share of the variance of means that it is.

    By the beliefs alone, whatever they are compared with. `belief` has shape (n,) or
    (n, n_states).
    """
    sizes = np.bincount(context)
    if not (sizes > 1).any():
        return Reports.SINGLE, math.nan
    share = 0.0
    for column in belief.reshape(len(belief), -1).T:
        means = context_means(column, context, len(sizes))
        away = deviations(column, means[context])
        noise = float(away @ away) / (sizes[sizes > 1] - 1).sum() * float((1 / sizes).mean())
        if noise > 0:
            share = max(share, min(noise / max(float(means.var()), noise), 1.0))
    if share * len(sizes) > NEGLIGIBLE:
        return Reports.DIFFER, share
    # A row that is there twice agrees with itself.
    if (sizes > 1).mean() < FEWEST_REPEATED:
        return Reports.SINGLE, math.nan
    return Reports.EXACT, share


REPEATED = 3  # cases a value from which values are taken for the words of a scale
STEEPER = 1.5  # a threshold inside a step gains so much more from it than its average slope does


def rounding_bound(belief: Floats, n_cases: int) -> float:
    """Return a bound on what rounding takes of the variance of beliefs: 1.5 times what it does.

    Where all beliefs are multiples of .5, .25 or .2, that is the step. Else the shares rounded to
    .1 and to .05 are told by how often multiples of .1 and odd ones of .05 occur: to .05, one in
    two is a multiple of .1; to .01, one in ten each. Values that occur often, such as the
    words of a scale, are at least as wide as they lie apart.
    """

    def multiples(step: float) -> NDArray[np.bool_]:
        return np.asarray(np.abs(belief / step - np.round(belief / step)) < 1e-6)

    for step in (0.5, 0.25, 0.2):
        if multiples(step).all():
            return STEEPER * max(step**2, _between_values(belief, n_cases)) / 12
    tenths, percents = float(multiples(0.1).mean()), bool(multiples(0.01).all())
    odd = float(multiples(0.05).mean()) - tenths
    by_chance = 0.1 if percents else 0.0
    to_tenths = min(max(tenths - odd, 0.0), 1.0)
    to_twentieths = (odd - by_chance * (1 - to_tenths)) / (0.5 - by_chance)
    to_twentieths = min(max(to_twentieths, 0.0), 1 - to_tenths)
    finer = (1 - to_tenths - to_twentieths) * (0.01**2 if percents else 0.0)
    rounded = to_tenths * 0.1**2 + to_twentieths * 0.05**2 + finer
    return STEEPER * max(rounded, _between_values(belief, n_cases)) / 12


def _between_values(belief: Floats, n_cases: int) -> float:
    """Return the mean square of a value's distance to its neighbours; 0 where few repeat."""
    values, times = np.unique(np.round(belief, 6), return_counts=True)
    if len(values) < 2 or REPEATED * len(values) > n_cases:
        return 0.0
    gaps = np.diff(values)
    width = (np.append(gaps[0], gaps) + np.append(gaps, gaps[-1])) / 2
    return float(times @ width**2) / len(belief)


@dataclass(frozen=True)
class ReportNoise:
    """How far the reports of a table differ within groups of equal evidence."""

    # root of the mean variance within groups that have two reports, each counting once; NaN where
    # no group has
    sd: float
    n_groups: int  # groups with at least two beliefs
    across: str = "repetitions"  # what differs within a group: "repetitions" or "wordings"
    # what such noise adds to a sum of choice times state at equal belief, in its standard errors
    # (`noise_bias`); NaN where choices or states are not known
    bias: float = math.nan

    @property
    def exceeds(self) -> bool:
        """Whether tests that take reports as exact may reject because of it."""
        return self.bias > MISLEADING


def report_noise(belief: Floats, group: Codes, *, across: str = "repetitions") -> ReportNoise:
    """Average the variances of reports within groups; see `variances_within`."""
    variances = variances_within(belief, group)
    variances = variances[~np.isnan(variances)]
    if not variances.size:
        return ReportNoise(math.nan, 0, across)
    return ReportNoise(math.sqrt(variances.mean()), variances.size, across)


def noise_bias(belief: Floats, context: Codes, share: Floats, state: Floats) -> float:
    """Return what noise in the reports adds to a sum of choice times state, in standard errors.

    The mean report of a context errs by noise of variance v; where choices and state rise with the
    belief behind it by the slopes a and s, they covary by a s v at equal mean report. Of several
    actions it is the largest. `belief` and `state`, shape (n,), and `share`, shape (n, n_actions),
    are those of rows.
    """
    sizes = np.bincount(context)
    n, share_of = len(sizes), kind_of_reports(belief, context)[1]
    if n < 3 or math.isnan(share_of) or share_of == 0:
        return 0.0 if share_of == 0 else math.nan
    mean = context_means(belief, context, n)
    centred = mean - mean.mean()
    squares = float(centred @ centred)
    if squares <= 0:
        return math.nan
    columns = np.column_stack([context_means(state, context, n), context_means(share, context, n)])
    columns = columns - columns.mean(axis=0)
    slopes = centred @ columns / squares
    left = (columns - centred[:, None] * slopes).std(axis=0)
    noise = share_of * squares / n
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = math.sqrt(n) * noise * np.abs(slopes[0] * slopes[1:]) / (left[0] * left[1:])
    known = errors[np.isfinite(errors)]
    return float(known.max()) if known.size else math.nan
