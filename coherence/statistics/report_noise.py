"""Noise of reports: how far repeated reports of one and the same evidence lie apart.

Two estimands, by their weights. What is shown (`report_noise`) is the root of the mean variance
within contexts, a context counting once: what further contexts of this kind would have on average,
so that it has an interval over contexts. What a test needs (`kind_of_reports`) pools reports, by
degrees of freedom.

A report that scatters around the belief acted on is a poor copy of it: an action that follows the
belief then seems to know more than the report says.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from coherence.inputs import Codes, Floats
from coherence.statistics.resample import context_means

MISLEADING = 0.25
"""Bias of a test by noise, in standard errors, from which it is warned of."""


NEGLIGIBLE = 0.03
"""Share of the variance of contexts' mean reports that is noise, times their number, up to which
noise moves no test. The number and not its root: a policy that follows the belief exactly leaves
nothing but the noise, whose covariance with the state then grows with the root of the product."""
FEWEST_REPEATED = 0.5
"""Share of contexts that must have reports to compare, and of these that must hold two values."""
MOST_APART, MOST_COPIED = 5, 0.999  # steps between values that are compared; share of pairs


class Reports(StrEnum):
    """What the reports of contexts tell of their noise."""

    EXACT = "exact"  # computed; or repeated, and nearly so alike that their noise moves nothing
    DIFFER = "differ"
    SINGLE = "single"  # one each, or few cases repeated: nothing is known
    ALIKE = "alike"  # one value in all rows of most cases, as where one report is copied


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


def values_of(belief: Floats, context: Codes) -> tuple[Codes, Floats, Codes]:
    """Return the contexts, values and times of the values that stand in contexts, in order."""
    rows = np.column_stack([context, np.round(belief, 9)])
    values, times = np.unique(rows, axis=0, return_counts=True)
    return values[:, 0].astype(np.int64), values[:, 1], times


def copied(belief: Floats, context: Codes) -> float:
    """Return the share of pairs of rows of a context that are one report, written twice.

    As on the rows of choices. Independent reports agree about as often as they differ by any one
    amount in one direction; what is beyond that is copies.
    """
    (code, value, times), sizes = values_of(belief, context), np.bincount(context)
    pairs = float((sizes * (sizes - 1)).sum()) / 2
    if not pairs:
        return 0.0
    apart, weights = [np.zeros(0)], [np.zeros(0)]
    for lag in range(1, MOST_APART + 1):
        same = code[lag:] == code[:-lag]
        apart.append(np.round(value[lag:] - value[:-lag], 6)[same])
        weights.append((times[lag:] * times[:-lag])[same].astype(np.float64))
    by_chance = 0.0
    if len(steps := np.concatenate(apart)):
        step = np.unique(steps, return_inverse=True)[1].ravel()
        by_chance = float(np.bincount(step, np.concatenate(weights)).max()) / 2
    equal = float((times * (times - 1)).sum()) / 2
    return min(max(equal - by_chance, 0.0) / pairs, MOST_COPIED)


def squares_within(belief: Floats, context: Codes) -> tuple[Floats, Floats]:
    """Return the sum of squared deviations of the rows of each context, and their number."""
    sizes = np.bincount(context)
    away = deviations(belief, context_means(belief, context, len(sizes))[context])
    squares = np.bincount(context, weights=away**2)
    return np.asarray(squares, dtype=np.float64), np.asarray(sizes, dtype=np.float64)


def noise_per_row(rows: Floats, share: float) -> Floats:
    """Return the variance of a mean of rows over that within contexts, where a share is copied."""
    return np.asarray((1 + (rows - 1) * share) / ((1 - share) * rows))


def kind_of_reports(belief: Floats, context: Codes) -> tuple[Reports, float]:
    """Tell what reports say of their noise; also the share of the variance of means that it is.

    By the beliefs alone, whatever they are compared with. `belief` has shape (n,) or
    (n, n_states).
    """
    n, share, rows = int(context.max()) + 1, 0.0, np.bincount(context)
    differ = np.zeros(n, dtype=bool)
    for column in belief.reshape(len(belief), -1).T:
        differ |= np.bincount(values_of(column, context)[0], minlength=n) > 1
        squares, sizes = squares_within(column, context)
        within = float(squares.sum()) / max(float((sizes - 1).sum()), 1.0)
        noise = within * float(noise_per_row(sizes, copied(column, context)).mean())
        if noise > 0:
            means = context_means(column, context, n)
            share = max(share, min(noise / max(float(means.var()), noise), 1.0))
    repeated = rows > 1
    few = repeated.mean() < FEWEST_REPEATED
    # One value in all rows of a context may be one report, written on the rows of its choices.
    if not repeated.any() or differ[repeated].mean() < FEWEST_REPEATED:
        kind = Reports.SINGLE if few else Reports.ALIKE
        return kind, math.nan if few or share else 0.0
    if share * n > NEGLIGIBLE:
        return Reports.DIFFER, share
    return (Reports.SINGLE, math.nan) if few else (Reports.EXACT, share)


@dataclass(frozen=True)
class ReportNoise:
    """How far the reports of a table differ within groups of equal evidence."""

    # root of the mean variance within groups that have two reports, each counting once; NaN where
    # no group has
    sd: float
    n_groups: int  # groups with at least two beliefs
    across: str = "repetitions"  # what differs within a group, such as "wordings"
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
