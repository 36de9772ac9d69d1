"""Noise and heaps of reports: how far repeated reports of one and the same evidence lie apart.

What is shown (`report_noise`) is the root of the mean variance within contexts, a context counting
once, so that it has an interval over contexts. What a test needs (`kind_of_reports`) pools reports,
by degrees of freedom: an action that follows the belief seems to know more than a noisy report.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from coherence.errors import listing
from coherence.inputs import Codes, Floats
from coherence.statistics.evaluation import EvaluationData, one_dimensional
from coherence.statistics.permutation import Contexts
from coherence.statistics.resample import context_means
from coherence.statistics.sequences import layout_of, too_few_neighbours

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


# Heaps and hairs: values that stand for more than the step of their scale, as 50 when unsure, and
# reports that miss round numbers by a hair, as those of a slider do, and are these numbers.

NEAR_A_HEAP, IN_A_HEAP = 0.15, 6  # distance in belief; fewest cases
HEAP, TIMES_OTHERS, TIMES_GAPS = 0.04, 3.0, 4.0  # share of cases; multiples of medians
BY_CHANCE = 0.01  # probability of any such heap where beliefs fall on values by chance (Poisson)


def in_heaps(belief: Floats) -> NDArray[np.bool_]:
    """Tell which beliefs stand for more than the step of their scale.

    Of at least 4% and 6 of them, and three times as frequent as what most others nearby say, or as
    all others and alone in a hole; more frequent than the mean of the others allows by chance.
    """
    values, of, counts = np.unique(np.round(belief, 6), return_inverse=True, return_counts=True)
    heap, inner = np.zeros(len(values), dtype=bool), np.diff(values)
    for at in np.flatnonzero(counts >= max(IN_A_HEAP, HEAP * len(belief))):
        away = np.abs(values - values[at])
        near = (away > 0) & (away < NEAR_A_HEAP + 1e-9)
        # As frequent as the value that half of the cases nearby say or exceed.
        among = near.sum() >= 3 and counts[at] >= TIMES_OTHERS * np.median(
            np.repeat(counts[near], counts[near])
        )
        alone = len(values) > 3 and counts[at] >= TIMES_OTHERS * np.median(counts)
        alone = alone and away[away > 0].min() >= TIMES_GAPS * np.median(inner)
        if among or alone:
            mean = np.mean(counts[near] if among else np.delete(counts, at))
            heap[at] = stats.poisson.sf(counts[at] - 1, mean) * len(values) < BY_CHANCE
    return np.asarray(heap[of.ravel()])


STEPS, HAIRS = (0.05, 0.1, 0.25), (0.005, 0.01, 0.02)  # of scales; how far numbers are missed
ENDS = 0.02  # left out, where beliefs may be dense
MISSED, A_HAIR = 0.01, 0.4  # chance of any so dense; of the way to the next, how far at most
OFF_CENTRE = 4.0  # standard errors of the mean distance, with its sign


def round_numbers(belief: Floats, context: Codes) -> tuple[Floats, bool]:
    """Take cases for the round numbers that their mean reports miss by a hair; also tell whether.

    Along any smooth density as many mean reports lie within a hair of a number as between one and
    two hairs away. Where more do than chance allows, and on average on it, around one number or
    around all multiples of a step together, reports of cases within two hairs are taken for it.
    """
    mean = np.bincount(context, belief) / np.bincount(context)
    inner = (mean > ENDS) & (mean < 1 - ENDS) & ~multiples(mean, STEPS[0])
    # Values finer than percents that come again are those of equal evidence.
    finer = np.bincount(context, ~multiples(belief, 0.01)) > 0
    missing = np.append(np.unique(mean[inner & finer]), mean[inner & ~finer])
    numbers = np.round(STEPS[0] * np.arange(round(1 / STEPS[0]) + 1), 9)
    around = [(np.array([number]), math.inf) for number in numbers]
    around += [(numbers[multiples(numbers, step)], step) for step in STEPS]
    chance = MISSED / (len(around) * len(HAIRS))
    missed, reach, least = np.zeros(0), 0.0, 1.0
    for of, step in around:
        for hair in HAIRS:
            whole = of[np.abs(of - 0.5) <= 0.5 - ENDS - 2 * hair + 1e-9]  # no band is cut off
            if hair > step / 4 or not len(whole):
                continue
            away = missing - whole[np.abs(missing[:, None] - whole).argmin(axis=1)]
            by_chance = _chance_of(away, hair)
            if by_chance < chance and _centred(away, hair):
                missed = np.union1d(missed, of)
                if by_chance < least:
                    reach, least = 2 * hair, by_chance
    if not len(missed):
        return belief, False
    reach = min(reach, A_HAIR * float(np.diff(missed, append=math.inf).min()))
    nearest = missed[np.abs(mean[:, None] - missed).argmin(axis=1)]
    taken = np.abs(mean - nearest) <= reach + 1e-9
    if not np.ptp(np.where(taken, nearest, mean)):  # all beliefs lie close together
        return belief, False
    rounded = np.where(taken[context], nearest[context], belief)
    return rounded, bool((rounded != belief).any())


def _chance_of(away: Floats, hair: float) -> float:
    """Return the chance that of values within two hairs so many lie within one."""
    within, beyond = ((np.abs(away) <= times * hair + 1e-9).sum() for times in (1, 2))
    return float(stats.binom.sf(within - 1, beyond, 0.5))


def _centred(away: Floats, hair: float) -> bool:
    """Tell whether values lie around a number, and are not merely dense in its neighbourhood."""
    near = away[np.abs(away) <= 2 * hair + 1e-9]
    return bool(abs(near.mean()) <= OFF_CENTRE * near.std() / np.sqrt(len(near)))


def multiples(belief: Floats, step: float) -> NDArray[np.bool_]:
    """Tell which beliefs are multiples of a step."""
    return np.asarray(np.abs(belief / step - np.round(belief / step)) < 1e-6)


MOSTLY, REPEATED = 0.5, 3  # share of whole percents; cases a value of a scale of words


def unrounded(data: EvaluationData, belief: Floats) -> bool:
    """Tell whether beliefs were computed, finer than whole percents, and hardly repeat."""
    few = REPEATED * len(np.unique(np.round(belief, 6))) > len(belief)
    return data.computed and few and float(multiples(belief, 0.01).mean()) < MOSTLY


def in_round_numbers(data: EvaluationData) -> tuple[EvaluationData, bool]:
    """Take beliefs in one of two states for `round_numbers`; also tell whether any are.

    These are rounded, even if they were computed.
    """
    belief, taken = round_numbers(one_dimensional(data, "sufficiency_test"), data.context)
    return (replace(data, belief=belief, computed=False) if taken else data), taken


def outside_heaps(
    data: EvaluationData, contexts: Contexts
) -> tuple[Contexts, NDArray[np.bool_], bool]:
    """Leave contexts in heaps out where enough others are left; also tell which, and whether."""
    heap = in_heaps(contexts.belief)
    kept = contexts.subset(~heap)
    apart = not (heap.any() and too_few_neighbours(layout_of(kept.belief, kept.group)))
    return (kept if apart else contexts), heap, apart


def said_by_many(belief: Floats, n: int) -> str:
    """Say how many of n cases have these beliefs, which stand for more than their step."""
    said = [f"{100 * value:g}%" for value in np.unique(np.round(belief, 6))]
    values = said[0] if len(said) == 1 else f"one of {listing(said)}"
    stand = "stands for more than its step" if len(said) == 1 else "stand for more than their step"
    return f"{len(belief)} of {n} cases say {values}, which {stand}"
