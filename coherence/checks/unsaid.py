"""What noise and rounding of reports leave unsaid of the belief acted on.

The mean report of a case errs by its noise, and a value of a coarse scale stands for a range of
beliefs. Where choices and state rise with the belief behind it they covary at equal report. Slopes
are those around the case, as reports may be flat where beliefs differ. Arrays stand by belief.
"""

import numpy as np
from scipy.special import expit, logit

from coherence.inputs import Codes, Floats
from coherence.statistics import report_noise
from coherence.statistics.evaluation import EvaluationData, one_dimensional
from coherence.statistics.permutation import Contexts
from coherence.statistics.resample import less_means
from coherence.statistics.sequences import NOTHING, monotone_fit

NEIGHBOURS = 31  # contexts over which the variance of reports is pooled
NEAR = 30  # contexts of the least window in which a slope is taken
SPREAD = 1.5  # variance of mean reports in it, over that of their noise
FEWEST_TRUE = 0.25  # of the variance in a window that is taken to be that of beliefs
PLACES = 40  # along the belief, at which slopes are taken
FEWEST_NEAR = 20  # contexts of which it can be said that reports do not tell them apart


def allowed_for(
    data: EvaluationData, line: Contexts, scores: Floats, part: float
) -> tuple[Floats, int]:
    """Return the mean product of state and each score that reports may leave unsaid, by context.

    Of rounding by slopes over all contexts or, where that is more, by rises within values; of noise
    by slopes around each. Also counts the contexts whose reports do not tell beliefs apart.
    `scores` has shape (n, n_scores); `part` is what fits leave of squares of the state.
    """
    n = len(line.belief)
    if report_noise.unrounded(data, line.belief):
        return np.zeros((scores.shape[1], n)), 0
    belief = one_dimensional(data, "sufficiency_test")
    group = np.unique(np.zeros(n) if line.group is None else line.group, return_inverse=True)[1]
    along, *columns = (
        x - x.mean() if line.group is None else less_means(x, group.ravel())
        for x in (line.belief, line.truth, *scores.T)
    )
    freed, spread = np.column_stack(columns), float(along @ along)
    slopes = along @ freed / spread if spread > NOTHING else 0.0 * freed[0]
    kept = belief[np.isin(data.context, line.order)]
    rounding = part * rounding_bound(kept, n) * slopes[0] * slopes[1:]
    steep = part * rises_within_values(line.belief, freed)
    rounding = np.where(np.abs(steep) > np.abs(rounding), steep, rounding)
    within = report_noise.squares_within(belief, data.context)
    squares, rows = (values[line.order] for values in within)
    share = report_noise.copied(belief, data.context)
    noise = noise_of_means(0 * squares if data.computed else squares, rows, share)
    around = local_slopes(line.belief, along, freed, noise)
    return rounding[:, None] + noise * around[:, 0] * around[:, 1:].T, untold(line.belief, noise)


FEW_VALUES, STEPS_OF_PERSONS = 8, (0.2, 0.25, 1 / 3, 0.5)
NEAR_A_STEP, MOST_COARSE = 0.02, 0.25  # of a step, as .33 is a third; share of reports


def too_coarse(data: EvaluationData) -> bool:
    """Tell whether steps of reports hide beliefs, where no test allows for that.

    Of several states, few values stand for all beliefs; of persons, too many rows are of those who
    speak in fifths, quarters or thirds.
    """
    if data.person is None:
        return len(np.unique(np.round(data.belief, 2))) <= FEW_VALUES
    coarse = np.zeros(data.n_rows, dtype=bool)
    for step in STEPS_OF_PERSONS:
        between = np.abs(data.belief / step - np.round(data.belief / step)) > NEAR_A_STEP
        coarse |= (np.bincount(data.person, between) == 0)[data.person]
    return bool(coarse.mean() > MOST_COARSE)


def noise_of_means(squares: Floats, rows: Floats, share: float) -> Floats:
    """Return the variance of the noise in the mean report of contexts that stand by belief.

    `squares` are sums of squared deviations of their rows, whose number is `rows`; a share of pairs
    is copied. That of each mean is averaged over neighbours, so that noisy contexts with few rows
    count as they are; contexts of one row take the variance that all others have.
    """
    n, freedom = len(squares), np.maximum(rows - 1, 0.0)
    known, per_row = freedom > 0.5, report_noise.noise_per_row(rows, share)
    first = np.clip(np.arange(n) - NEIGHBOURS // 2, 0, max(n - NEIGHBOURS, 0))
    last = np.minimum(first + NEIGHBOURS, n)
    each = np.where(known, squares / np.maximum(freedom, 1.0), 0.0)
    sums = (np.append(0.0, x.cumsum()) for x in (each * per_row, each, 1.0 * known))
    means, plain, count = (x[last] - x[first] for x in sums)
    overall = float(each.sum()) / max(float(known.sum()), 1.0)
    single = np.where(count > 0.5, plain / np.maximum(count, 1.0), overall) * per_row
    return np.where(known, means / np.maximum(count, 1.0), single)


def local_slopes(belief: Floats, along: Floats, columns: Floats, noise: Floats) -> Floats:
    """Return the slopes of columns on the belief around each context, shape of `columns`.

    In the least window of 30 contexts whose mean reports spread by 1.5 times the variance of their
    noise, made good for the noise. Contexts stand by `belief`; `along` is the belief less the mean
    of the group, or of all, and the columns are such.
    """
    n, stand = len(belief), belief - belief.mean()
    terms = [along[:, None], along[:, None] ** 2, noise[:, None]]
    terms += [columns, columns * along[:, None]]
    sums = np.vstack([np.zeros(3 + 2 * columns.shape[1]), np.hstack(terms).cumsum(axis=0)])
    near, slopes = min(NEAR, n), []
    places = np.unique(np.linspace(0, n - 1, min(PLACES, n)).round().astype(int))
    for place in places:
        here, first = stand[place], int(np.clip(place - near // 2, 0, n - near))
        reach = max(here - stand[first], stand[first + near - 1] - here, 1e-6)
        while True:
            low, high = np.searchsorted(stand, [here - reach - 1e-9, here + reach + 1e-9])
            mean = (sums[high] - sums[low]) / (high - low)
            variance = mean[1] - mean[0] ** 2
            if high - low == n or (high - low >= near and variance > max(SPREAD * mean[2], 1e-15)):
                break
            reach *= 1.25
        of_columns, products = np.split(mean[3:], 2)
        true = max(variance - mean[2], FEWEST_TRUE * variance)
        slopes.append(
            (products - mean[0] * of_columns) / true if variance > 1e-15 else 0 * products
        )
    each = [np.interp(np.arange(n), places, column) for column in np.array(slopes).T]
    return np.stack(each, axis=1)


def untold(belief: Floats, noise: Floats) -> int:
    """Count contexts whose mean reports do not tell beliefs apart.

    Those within two standard errors of theirs are many and spread by no more than the noise; where
    beliefs lie evenly they spread by a third more. Contexts stand by belief.
    """
    reach = 2 * np.sqrt(noise)
    low = np.searchsorted(belief, belief - reach - 1e-9)
    high = np.searchsorted(belief, belief + reach + 1e-9)
    centred, near = belief - belief.mean(), high - low
    sums = (np.append(0.0, x.cumsum()) for x in (centred, centred**2, noise))
    mean, square, of_noise = ((x[high] - x[low]) / near for x in sums)
    alike = (near >= FEWEST_NEAR) & (square - mean**2 <= of_noise)
    return int(alike.sum()) if noise.any() else 0


STEEPER = 1.5  # a threshold inside a step gains so much more from it than its average slope does


def rounding_bound(belief: Floats, n_cases: int) -> float:
    """Return a bound on what rounding takes of the variance of beliefs: 1.5 times what it does.

    Where all beliefs are multiples of .5, .25 or .2, that is the step. Else the shares rounded to
    .1 and to .05 are told by how often multiples of .1 and odd ones of .05 occur: to .05, one in
    two is a multiple of .1; to .01, one in ten each. Values that occur often, such as the
    words of a scale, are at least as wide as they lie apart.
    """
    for step in (0.5, 0.25, 0.2):
        if report_noise.multiples(belief, step).all():
            return STEEPER * max(step**2, _between_values(belief, n_cases)) / 12
    tenths = float(report_noise.multiples(belief, 0.1).mean())
    percents = bool(report_noise.multiples(belief, 0.01).all())
    odd = float(report_noise.multiples(belief, 0.05).mean()) - tenths
    by_chance = 0.1 if percents else 0.0
    to_tenths = min(max(tenths - odd, 0.0), 1.0)
    to_twentieths = (odd - by_chance * (1 - to_tenths)) / (0.5 - by_chance)
    to_twentieths = min(max(to_twentieths, 0.0), 1 - to_tenths)
    finer = (1 - to_tenths - to_twentieths) * (0.01**2 if percents else 0.0)
    rounded = to_tenths * 0.1**2 + to_twentieths * 0.05**2 + finer
    return STEEPER * max(rounded, _between_values(belief, n_cases)) / 12


def _between_values(belief: Floats, n_cases: int) -> float:
    """Return the mean square of a value's distance to its neighbours; 0 where few repeat.

    Neighbours are at least half as frequent as it, or the ends: some may speak in finer steps.
    """
    values, times = np.unique(np.round(belief, 6), return_counts=True)
    if len(values) < 2 or report_noise.REPEATED * len(values) > n_cases:
        return 0.0
    widths = []
    for at in range(len(values)):
        below, above = _beside(times, at)
        sides = np.abs(values[[*below[:1], *above[:1]]] - values[at])
        widths.append(float(sides.mean()) if len(sides) else float(np.ptp(values)))
    return float(times @ np.square(widths)) / len(belief)


def _beside(times: Codes, at: int) -> tuple[Codes, Codes]:
    """Return places below and above a value, the nearest first, of its neighbours on the scale.

    They are at least half as frequent as it, or the ends: some may speak in finer steps.
    """
    likely = 2 * times >= times[at]
    likely[[0, -1]] = True
    likely[at] = False
    places = np.flatnonzero(likely)
    return places[places < at][::-1], places[places > at]


LUCK = 1.0  # standard errors of a rise all at once that are taken for chance
MORE = 1.25  # of what such a rise leaves, which is estimated
HALF_A_CASE = 0.5  # added to both ends of levels of as many cases as values have on average


def rises_within_values(belief: Floats, columns: Floats) -> Floats:
    """Bound the mean products of the first column and others that rises within values leave.

    Levels of values are those of isotonic regressions. Between its neighbours' a value's own range
    begins and ends where their log-odds, carried on, meet its edges, as they do exactly for a
    logistic curve and for a threshold. What the curve would rise there if as steep as outside is
    an even rise, of variance rise^2 / 12; the rest, less an error, may come all at once: then the
    variance is what the value's level leaves below it times what it leaves above. 0 where few
    contexts repeat a value.
    """
    values, of, times = np.unique(np.round(belief, 6), return_inverse=True, return_counts=True)
    if len(values) < 2 or report_noise.REPEATED * len(values) > len(belief):
        return np.zeros(columns.shape[1] - 1)
    spreads = np.stack(
        [_spread_within(values, of.ravel(), times, column) for column in columns.T], axis=1
    )
    return np.asarray((times[:, None] * spreads[:, :1] * spreads[:, 1:]).sum(axis=0) / len(belief))


def _spread_within(values: Floats, of: Codes, times: Codes, column: Floats) -> Floats:
    """Return the spread of a column that a rise within each value may make, with its sign."""
    n, reach = len(values), float(np.ptp(column))
    if reach <= 0:
        return np.zeros(n)
    share = (column - column.min()) / reach
    mean = np.bincount(of, share) / times
    error = ((share - mean[of]) ** 2).sum() / max(len(of) - n, 1) / times
    level = np.bincount(of, monotone_fit(values[of], share)) / times
    rises = level[-1] >= level[0]
    level = level if rises else 1 - level
    lowest = HALF_A_CASE / (len(of) / n + 2 * HALF_A_CASE)
    level = lowest + (1 - 2 * lowest) * level
    odds, spread = logit(level), np.zeros(n)
    for at in range(n):
        edges, slopes, width, errors = [], [], 0.0, 0.0
        for near in _beside(times, at):
            if not len(near):
                continue
            first, second = near[0], near[min(1, len(near) - 1)]
            half = abs(values[first] - values[at]) / 2
            between = abs(values[second] - values[first])
            slope = abs(odds[second] - odds[first]) / between if between else 0.0
            beyond = half / between if between else 0.0
            edges.append(odds[first] + np.sign(values[at] - values[first]) * slope * half)
            slopes.append(slope)
            width += half
            errors += (1 + beyond) ** 2 * error[first] + beyond**2 * error[second]
        if len(edges) == 1:  # beyond a value at an end is nothing but all or none
            ends = logit(np.array([lowest, 1 - lowest]))
            edges, width = sorted([*edges, ends[1] if at else ends[0]]), 2 * width
        middle, rise = (edges[0] + edges[1]) / 2, max(edges[1] - edges[0], 0.0)
        as_outside = min(min(slopes) * width, rise)
        low, high = expit(middle + rise * np.array([-0.5, 0.5]))
        even = float(np.diff(expit(middle + as_outside * np.array([-0.5, 0.5])))[0])
        at_once = max(high - low - even - LUCK * np.sqrt(errors), 0.0)
        part = at_once / (high - low) if high > low else 0.0
        here = np.clip(level[at], low, high)
        variance = MORE * part * (here - low) * (high - here) + (1 - part) * even**2 / 4
        # Of a line a third; of a line and a threshold in its middle, by their parts.
        spread[at] = np.sqrt(variance * ((1 - part) ** 2 / 3 + (1 - part) * part + part**2))
    return np.asarray((reach if rises else -reach) * spread)
