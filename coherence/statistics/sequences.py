"""Covariance of state and actions at equal belief, by difference sequences in the order of belief.

A weighted difference of four neighbours in belief (Hall, Kay and Titterington 1990, the optimal
sequence of order 3) leaves of the state and of the actions what the belief does not explain,
wherever it jumps; the signs of the products of the two are turned at random. Contexts of equal
belief have no order: the statistic is averaged over random ones, and the pooled draws are scaled to
the variance of that average (multiple outputation; Hoffman, Sen and Weinberg 2001; Follmann,
Proschan and Leifer 2003). What the belief foretells is taken out beforehand: neighbours differ in
belief, and that little would pass for knowledge. Sequences stay inside groups. Assumes that
contexts are independent given belief and group, and that state and actions are monotone in the
belief but for a smooth part.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import isotonic_regression

from coherence.inputs import Codes, Floats, few_contexts
from coherence.statistics.knn import as_levels
from coherence.statistics.permutation import Contexts
from coherence.statistics.resample import less_means

# Optimal difference sequences by order (Hall, Kay and Titterington 1990, table 1); the rightmost
# weights are those of the neighbours furthest on. Groups of two and three contexts take 1 and 2.
WEIGHTS = {
    1: (0.7071067811865476, -0.7071067811865476),
    2: (0.8090169943749475, -0.5, -0.3090169943749475),
    # Of the table's four digits, made to sum to 0 and their squares to 1.
    3: (-0.8582401055129815, 0.3831732592713206, 0.2808803980410072, 0.1941864482006536),
}
ORDER = 3
ORDERS = 128  # of equal beliefs; with eight, p of one table moves by a factor of 2 over seeds
FEWEST_PAIRS = 9  # of products, whose signs reach .05 however unequal they are
FEWEST_CONTEXTS = 20  # in one sequence, which make so many pairs
CELLS = 50_000  # orders x contexts that are worked on at once
DRAWS_HELD = 100  # of an order, up to which so many are
NOTHING = 1e-20  # a variance that is rounding
BACKFITS = 20  # of an isotonic curve and means of groups in turn
CURVE_OF_ITS_OWN = 8  # contexts of a group from which it has one; of four they take too much
LEAST_KEPT = 0.05  # of products, below which blocks tell nothing
WIDEST = 64.0  # ratio beyond which an interval has no end


@dataclass(frozen=True)
class ProductSums:
    """Sums of products, one column for each statistic, and draws of their signs.

    Columns: a score each; the first `n_turned` of them times the belief; where windows are
    weighted, the scores and the squared differences of the state in these weights; the squared
    differences.
    """

    n_scores: int
    n_turned: int
    weighted: bool
    observed: Floats  # shape (n_columns,): mean over all orders of equal beliefs
    totals: Floats  # shape (n_orders, n_columns): of random ones
    spread: Floats  # shape (n_columns, n_columns): cross-products, mean over orders
    drawn: Floats  # shape (n_draws, n_columns): totals under random signs, of all orders together
    normal: Floats  # shape (n_draws, 2): standard normal, of direct sums and of turned ones
    cover: float  # variance of a total over its sum of squares: products share contexts
    score_squares: Floats  # shape (n_scores,): sums of squared differences, mean over all orders
    # shape (3, 3): the same of the state, times products of 1, the belief and the weight of windows
    state_squares: Floats
    n_windows: int
    # shape (n, 1 + n_gathered): what contexts add to the totals of the gathered scores, and to the
    # squared differences
    added: Floats

    def spreads(self, weights: Floats) -> tuple[float, float]:
        """Return the factor of the draws of a weighted total, and the error of noise added to them.

        The variance of an average over orders is that within an order less that between orders.
        Where that is less than if the products had equal variances, as where a rare action and a
        rare state never meet, the difference is added as normal noise.
        """
        variance = float(weights @ self.spread @ weights)
        between = float((self.totals @ weights).var(ddof=1))
        seen = max(self.cover * variance - between, 0.0)
        factor = math.sqrt(seen / variance) if variance > NOTHING else 1.0
        return factor, math.sqrt(max(self._equal_variance(weights) - seen, 0.0))

    def _equal_variance(self, weights: Floats) -> float:
        """Variance of a weighted total of one score if its factors had one variance each."""
        n, end = self.n_scores, self.n_scores + self.n_turned
        # What a score is multiplied by: 1, the belief of the window, its weight.
        times = np.zeros((n, 3))
        times[:, 0] = weights[:n]
        times[: self.n_turned, 1] = weights[n:end]
        if self.weighted:
            times[:, 2] = weights[end : end + n]
        at = int(np.argmax(np.abs(times).sum(axis=1)))
        of_state = float(times[at] @ self.state_squares @ times[at])
        # A ratio takes its part of the state out of the score.
        ratio = 0.0
        if times[at, 0]:
            ratio = -weights[-1] / times[at, 0]
        elif times[at, 2]:
            ratio = -weights[-2] / times[at, 2]
        of_score = self.score_squares[at] - 2 * ratio * self.observed[at]
        of_score += ratio**2 * self.state_squares[0, 0]
        return of_state * float(of_score) / self.n_windows

    def sizes(self, weights: Floats, noise_of: int = 0) -> Floats:
        """Return sizes of a weighted total: that of the data first, then those of the draws."""
        factor, noise = self.spreads(weights)
        # Noise on the size: an action and its opposite then have the same draws.
        drawn = factor * np.abs(self.drawn @ weights) + noise * self.normal[:, noise_of]
        return np.asarray(np.abs(np.concatenate([[self.observed @ weights], drawn])))

    def pvalue(self, weights: Floats, noise_of: int = 0) -> float:
        """Return the two-sided p-value of a weighted total."""
        sizes = self.sizes(weights, noise_of)
        return float((sizes >= sizes[0] - _margin(sizes[0])).mean())

    def _less(self, column: int, over: int = -1, ratio: float = 0.0) -> Floats:
        """Return the weights of a column less a multiple of another, the last one."""
        weights = np.zeros(len(self.observed))
        weights[column], weights[over] = 1.0, weights[over] - ratio
        return weights

    def beyond(self, column: int, ratio: float) -> Floats:
        """Return the weights of a score less as much as lies between 0 and a ratio to squares."""
        if self.observed[-1] <= NOTHING:
            return self._less(column)
        value = float(self.observed[column] / self.observed[-1])
        return self._less(column, ratio=float(np.clip(value, min(ratio, 0.0), max(ratio, 0.0))))

    def turn(self, allowed: Floats, belief: Floats) -> float:
        """Return the p-value of the turn of the first score.

        That is the product times the belief of the window, less so much of the direct sum that the
        two are uncorrelated under the signs. What is `allowed` for in the mean product of contexts,
        whose beliefs are given, may all lie at one end: the turn is tested beyond that.
        """
        weights, covariance = self._less(self.n_scores), self.cover * self.spread
        between = np.atleast_2d(np.cov(self.totals, rowvar=False))
        if covariance[0, 0] - between[0, 0] > NOTHING:
            covariance = covariance - between
        if covariance[0, 0] > NOTHING:
            weights[0] = -covariance[self.n_scores, 0] / covariance[0, 0]
        furthest = float(np.abs(belief + weights[0]).max())
        sizes = self.sizes(weights, 1)
        beyond = max(sizes[0] - float(np.abs(allowed).mean()) * self.n_windows * furthest, 0.0)
        return float((sizes >= beyond - _margin(beyond)).mean())

    def error(self, column: int, over: int = -1) -> float:
        """Return the standard error of the ratio of a column to another, the last one."""
        whole = float(self.observed[over])
        variance = self.variance(column, over, self.observed[column] / whole)
        return math.sqrt(max(variance, 0.0)) / whole

    def variance(self, column: int, over: int = -1, ratio: float = 0.0) -> float:
        """Return the variance of a total, less a multiple of another, the last one."""
        weights = self._less(column, over, ratio)
        factor, noise = self.spreads(weights)
        return factor**2 * float(weights @ self.spread @ weights) + noise**2

    def interval(
        self, column: int, over: int = -1, level: float = 0.95
    ) -> tuple[float, float, float]:
        """Return the ratio of a column to another, the last one, and the ends of its interval.

        The ends are the ratios that the same draws do not reject; infinite where they reject none.
        """
        if self.observed[over] <= NOTHING:
            return math.nan, math.nan, math.nan
        ratio = float(self.observed[column] / self.observed[over])

        def rejected(value: float) -> bool:
            return self.pvalue(self._less(column, over, value)) <= 1 - level

        ends = []
        for side in (-1.0, 1.0):
            inside, outside = 0.0, 1.0
            while not rejected(ratio + side * outside):
                inside, outside = outside, 2 * outside
                if outside > WIDEST:
                    break
            else:
                while outside - inside > 1e-9:
                    middle = (inside + outside) / 2
                    out = rejected(ratio + side * middle)
                    inside, outside = (inside, middle) if out else (middle, outside)
            ends.append(ratio + side * inside if outside <= WIDEST else side * math.inf)
        return ratio, ends[0], ends[1]


def _margin(size: Any) -> Any:
    """Return by how much equal sums may differ, which were added up in another order."""
    return 1e-9 * np.abs(size) + 1e-15


def shares_reached(sizes: Floats) -> Floats:
    """Return the share of all values that reach each of them."""
    reach = len(sizes) - np.searchsorted(np.sort(sizes), sizes - _margin(sizes))
    return np.asarray(reach / len(sizes))


@dataclass(frozen=True)
class Layout:
    """Windows of neighbours, the same in every order of equal beliefs."""

    level: Codes  # shape (n,): rank of the belief
    group: Codes  # shape (n,): all 0 without groups
    window: Codes  # shape (n_windows, 4): places in the order
    weight: Floats  # shape (n_windows, 4): 0 where a window is shorter
    of_group: Codes  # shape (n_windows,)

    @cached_property
    def cover(self) -> float:
        """Variance of a total over its expected sum of squares, under the null.

        Products of windows that lie j apart correlate by 1 / (4 m^2) in a sequence of order m.
        """
        order = (self.weight != 0).sum(axis=1) - 1
        whole = float(len(order))
        for lag in range(1, ORDER + 1):
            same = (self.of_group[lag:] == self.of_group[:-lag]) & (order[lag:] >= lag)
            whole += 2 * float(np.where(same, 0.25 / np.maximum(order[lag:], 1) ** 2, 0.0).sum())
        return whole / len(order) if len(order) else 1.0

    def keys(self, down: Codes | bool) -> Codes:
        """Return by what contexts are sorted from below or, group by group, from above."""
        n = int(self.level.max()) + 1
        return np.asarray(self.group * n + np.where(down, n - 1 - self.level, self.level))

    def orders(self, size: int, first: int, rng: np.random.Generator) -> Codes:
        """Draw orders of the contexts by belief, ties at random, every second one from above."""
        key = self.keys(((first + np.arange(size)) % 2 == 1)[:, None])
        return np.asarray(np.argsort(key + rng.random(key.shape), axis=1))


def layout_of(belief: Floats, group: Codes | None) -> Layout:
    """Lay windows out along the belief, or along that of each group."""
    level = np.unique(as_levels(belief), return_inverse=True)[1].ravel()
    groups = np.zeros_like(level) if group is None else np.unique(group, return_inverse=True)[1]
    sizes = np.bincount(groups)
    first = np.cumsum(sizes) - sizes
    windows, weights, numbers, places = [], [], [], []
    for order, sequence in WEIGHTS.items():
        # Groups of two and three contexts take shorter sequences, larger ones the full one.
        of = np.flatnonzero(sizes > order if order == ORDER else sizes == order + 1)
        count = sizes[of] - order
        place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        steps = np.minimum(np.arange(ORDER + 1), order)
        windows.append((np.repeat(first[of], count) + place)[:, None] + steps)
        weights.append(np.tile([*sequence, *[0.0] * (ORDER - order)], (len(place), 1)))
        numbers.append(np.repeat(of, count))
        places.append(place)
    number, place = np.concatenate(numbers), np.concatenate(places)
    along = np.lexsort([place, number])
    window, weight = np.concatenate(windows)[along], np.concatenate(weights)[along]
    return Layout(level, groups.ravel(), window, weight, number[along])


def too_few_neighbours(layout: Layout) -> str:
    """Say why nothing can be tested; empty where enough contexts have neighbours."""
    n, pairs = len(layout.level), int(((np.bincount(layout.of_group) + 1) // 2).sum())
    if pairs >= FEWEST_PAIRS:
        return ""
    if not layout.group.any():
        return few_contexts(n, fewest=FEWEST_CONTEXTS)
    return (
        f"{n} contexts in groups of these sizes make {pairs} pairs of differences between "
        f"neighbours in belief, and the test takes {FEWEST_PAIRS}"
    )


def in_canonical_direction(contexts: Contexts) -> Contexts:
    """Lay contexts out along the belief, in the other state where that one sorts first.

    A belief in the state or in its absence is then the same data to every random draw; products of
    state and actions keep their sign, as shares have the other one where the state is turned.
    """
    group = contexts.group
    if group is not None and not np.ptp(group):
        group = None  # one group says nothing
    reversed_belief = np.round(1 - contexts.belief, 9)
    levels, other = np.sort(as_levels(contexts.belief)), np.sort(as_levels(reversed_belief))
    differs = np.flatnonzero(levels != other)
    line = replace(contexts, group=group)
    if differs.size and levels[differs[0]] > other[differs[0]]:
        exact = None if contexts.exact is None else np.round(1 - contexts.exact, 9)
        turned: Any = {"state": 1 - contexts.state, "exact": exact, "share": -contexts.share}
        line = replace(line, belief=reversed_belief, **turned)
    # Contexts come sorted by belief and then by actions; those alike in both go by the state.
    differ = np.any(np.diff(contexts.share, axis=0, prepend=np.nan) != 0, axis=1)
    differ |= np.diff(contexts.belief, prepend=np.nan) != 0
    keys = as_levels(line.truth), np.cumsum(differ), as_levels(line.belief)
    return line.subset(np.lexsort(keys))


Averages = tuple[tuple[float, Codes], ...]
"""What a fit takes out: weights of averages over blocks, and the block of each context."""


def taken_of_noise(averages: Averages) -> float:
    """Return as many contexts as a fit takes of noise: the trace of its averages."""
    return sum(weight * len(np.unique(block)) for weight, block in averages)


def kept_of_products(one: Averages, other: Averages) -> float:
    """Return which part of products of noise two fits leave, given their blocks.

    Of what averages over blocks leave, the trace of the product over n.
    """
    n = len(one[0][1])
    both = sum(c * d * _overlap(a, b) for c, a in one for d, b in other)
    return max((n - taken_of_noise(one) - taken_of_noise(other) + both) / n, LEAST_KEPT)


def _overlap(one: Codes, other: Codes) -> float:
    """Return the trace of two averages over blocks, one after the other."""
    together, number = np.unique(one * (other.max() + 1) + other, return_counts=True)
    size, of_other = np.bincount(one), np.bincount(other)
    first, second = np.divmod(together, other.max() + 1)
    return float((number**2 / (size[first] * of_other[second])).sum())


def beyond_belief(line: Contexts, values: Floats) -> tuple[Floats, Averages]:
    """Return what the belief leaves of values, shape (n,), and what it takes out.

    The belief foretells them by isotonic regression (Dimitriadis, Gneiting and Jordan 2021), in
    groups with a mean of each beside it (backfitting), which is drawn towards the curve of each
    group of 8 contexts and more by as much as these differ beyond noise (James and Stein 1961).
    """
    n, fit = len(values), monotone_fit(line.belief, values)
    digits = 1e-9 * max(float(np.ptp(values)), NOTHING)  # in which a fit and its multiple agree

    def blocks(fit: Floats) -> Codes:
        order = np.argsort(fit, kind="stable")
        of = np.zeros(n, dtype=np.int64)
        of[order[1:]] = np.cumsum(np.diff(fit[order]) > digits)
        return of

    if line.group is None:
        return values - fit, ((1.0, blocks(fit)),)
    sizes = np.maximum(np.bincount(line.group), 1)
    for _ in range(BACKFITS):
        of_group = (np.bincount(line.group, weights=values - fit) / sizes)[line.group]
        fit = monotone_fit(line.belief, values - of_group)
    group = np.unique(line.group, return_inverse=True)[1].ravel()
    curve, fit = blocks(fit), fit + of_group
    own, large = fit.copy(), (sizes >= CURVE_OF_ITS_OWN)[line.group]
    for number in np.flatnonzero(sizes >= CURVE_OF_ITS_OWN):
        at = np.flatnonzero(line.group == number)
        own[at] = monotone_fit(line.belief[at], values[at])
    of_own = blocks(own) * (group.max() + 1) + group
    of_own = np.unique(np.where(large, of_own, -1 - np.arange(n)), return_inverse=True)[1].ravel()
    fewer, own_blocks = len(np.unique(curve)) + group.max(), len(np.unique(of_own[large]))
    apart = float(((own - fit) ** 2).sum())
    noise = float(((values - own)[large] ** 2).sum()) / max(large.sum() - own_blocks, 1)
    more = max(own_blocks - fewer * large.mean(), 1.0)
    part = max(1 - noise * more / apart, 0.0) if apart > NOTHING else 0.0
    taken = (
        (1 - part, curve),
        (1 - part, group),
        (part - 1, np.zeros(n, np.int64)),
        (part, of_own),
    )
    return values - fit - part * (own - fit), taken


def monotone_fit(belief: Floats, values: Floats) -> Floats:
    """Regress values on the belief, rising or falling as they do on average."""
    levels, level_of, counts = np.unique(as_levels(belief), return_inverse=True, return_counts=True)
    mean = np.bincount(level_of.ravel(), weights=values) / counts
    centred = levels - np.average(levels, weights=counts)
    rises = float((counts * centred) @ mean) >= 0
    fit = isotonic_regression(mean, weights=counts.astype(np.float64), increasing=rises).x
    return np.asarray(fit, dtype=np.float64)[level_of.ravel()]


def mean_squared_difference(layout: Layout, belief: Floats, values: Floats) -> float:
    """Estimate the variance of values at equal belief, over all orders of equal beliefs."""
    alone = Values(belief, values, np.zeros((len(belief), 0)))
    both = [_expected(layout, down, alone)[2][0, 0] for down in (0, 1)]
    return float(np.mean(both)) / len(layout.window)


def part_left(layout: Layout, line: Contexts, values: Floats) -> tuple[Floats, float, Averages]:
    """Return what the belief leaves of values, which part of products with their noise, and how.

    A fit takes twice of squares what it takes of products.
    """
    left, averages = beyond_belief(line, values)
    least = max(1 - taken_of_noise(averages) / len(values), 0.0)
    kept, whole = (mean_squared_difference(layout, line.belief, x) for x in (left, values))
    part = math.sqrt(min(max(kept / whole, least), 1.0)) if kept > NOTHING else 1.0
    return left, part, averages


@dataclass(frozen=True)
class Values:
    """What is multiplied, along the first axis the contexts."""

    belief: Floats
    # state, scores: shape (n,) and (n, n_scores): what the belief leaves of them (`beyond_belief`)
    state: Floats
    scores: Floats
    # variance of the realised state given the exact one, which squared differences add
    chance: Floats | None = None
    # its mean is that of windows, for a column more of every score and of the squares
    weight: Floats | None = None
    n_turned: int = 0  # scores that have a column times the belief: the first ones
    gathered: tuple[int, ...] = (0,)  # scores of which contributions of contexts are gathered


def product_sums(
    layout: Layout, values: Values, *, n_draws: int, rng: np.random.Generator
) -> ProductSums:
    """Sum the products of differences of state and actions, and draw their signs.

    `n_draws` is rounded up to a multiple of the orders of equal beliefs.
    """
    each, n = -(-n_draws // ORDERS), len(values.belief)
    totals, drawn = [], []
    added, spread = np.zeros((n, len(values.gathered) + 1)), np.zeros(())
    batch = max(1, CELLS // n // max(each // DRAWS_HELD, 1))
    for first in range(0, ORDERS, batch):
        size = min(batch, ORDERS - first)
        products, more = _products(layout, layout.orders(size, first, rng), values)
        totals.append(products.sum(axis=1))
        flat = products.reshape(-1, products.shape[2])
        spread = spread + flat.T @ flat
        added += more
        n_windows = products.shape[1]
        bits = rng.integers(0, 256, (size, each, -(-n_windows // 8)), dtype=np.uint8)
        signs = np.unpackbits(bits, axis=2, count=n_windows) * 2.0 - 1.0
        drawn.append((signs @ products).reshape(size * each, -1))
    both_ways = [_expected(layout, down, values) for down in (0, 1)]
    means = [np.mean(each, axis=0) for each in zip(*both_ways, strict=True)]
    observed, score_squares, state_squares = means
    return ProductSums(
        n_scores=values.scores.shape[1],
        n_turned=values.n_turned,
        weighted=values.weight is not None,
        observed=observed,
        totals=np.concatenate(totals),
        spread=spread / ORDERS,
        drawn=np.concatenate(drawn),
        # One after the other: without a turn the first are the same.
        normal=np.stack([rng.normal(size=each * ORDERS) for _ in range(2)], axis=1),
        cover=layout.cover,
        score_squares=score_squares,
        state_squares=state_squares,
        n_windows=len(layout.window),
        added=added / ORDERS,
    )


def _products(layout: Layout, order: Codes, values: Values) -> tuple[Floats, Floats]:
    """Multiply differences in every window, and gather what each context's state is multiplied by.

    A total is the sum over contexts of the state times what its windows hold of the actions, and
    of the score times what they hold of the state.
    """
    members = order[:, layout.window]  # shape (n_orders, n_windows, 4)
    # einsum: a sum over four terms of an axis costs numpy more than their products.
    moved = np.einsum("owj,wj->ow", values.state[members], layout.weight)
    acted = np.stack(
        [np.einsum("owj,wj->ow", column[members], layout.weight) for column in values.scores.T]
    )
    products = list(acted * moved)
    there = (layout.weight != 0).astype(np.float64)
    mean = there / there.sum(axis=1, keepdims=True)

    def averaged(column: Floats) -> Floats:
        return np.asarray(np.einsum("owj,wj->ow", column[members], mean))

    if values.n_turned:
        where = averaged(values.belief)
        products += [product * where for product in products[: values.n_turned]]
    square = moved * moved
    if values.chance is not None:
        square = square + averaged(values.chance)
    if values.weight is not None:
        weight = averaged(values.weight)
        products += [*(product * weight for product in products[: len(acted)]), square * weight]
    products.append(square)

    def gathered(of_window: Floats, weight: Floats) -> Floats:
        spread = (of_window[:, :, None] * weight).ravel()
        sums = np.bincount(members.ravel(), weights=spread, minlength=len(values.belief))
        return np.asarray(sums, dtype=np.float64)

    parts = [values.state * gathered(acted[at], layout.weight) for at in values.gathered]
    own = values.state * gathered(moved, layout.weight)
    if values.chance is not None:
        own = own + values.chance * gathered(np.ones_like(moved), mean)
    return np.stack(products, axis=2), np.stack([*parts, own], axis=1)


def _expected(layout: Layout, down: int, values: Values) -> tuple[Floats, Floats, Floats]:
    """Average over all orders of equal beliefs: the totals, and the squares of scores and state.

    At two places of one belief stand two different contexts: their product is on average that of
    the means, less the covariance divided by how many others there are.
    """
    _, cell, size = np.unique(layout.keys(bool(down)), return_inverse=True, return_counts=True)
    cell = cell.ravel()
    of_place = np.sort(cell)[layout.window]  # shape (n_windows, 4)
    same = of_place[:, :, None] == of_place[:, None, :]
    pairs = layout.weight[:, :, None] * layout.weight[:, None, :]
    own = layout.weight**2
    others = np.where(same, pairs, 0.0).sum(axis=2) - own

    def mean(column: Floats) -> Floats:
        return np.asarray(np.bincount(cell, weights=column) / size)

    def moved(means: Floats) -> Floats:
        return np.asarray(np.einsum("wj,wj->w", means[of_place], layout.weight))

    def product(one: Floats, other: Floats) -> Floats:
        of_one, of_other = mean(one), mean(other)
        covariance = mean((one - of_one[cell]) * (other - of_other[cell]))
        alone = covariance / np.maximum(size - 1, 1)
        inside = (own * covariance[of_place]).sum(axis=1)
        apart = (others * alone[of_place]).sum(axis=1)
        return np.asarray(moved(of_one) * moved(of_other) + inside - apart)

    there = (layout.weight != 0).astype(np.float64)
    shares = there / there.sum(axis=1, keepdims=True)

    def averaged(column: Floats) -> Floats:
        return np.asarray((mean(column)[of_place] * shares).sum(axis=1))

    products = [product(values.state, column) for column in values.scores.T]
    times = [np.ones(len(of_place)), averaged(values.belief)]
    products += [each * times[1] for each in products[: values.n_turned]]
    of_state = product(values.state, values.state)
    squares = of_state if values.chance is None else of_state + averaged(values.chance)
    if values.weight is None:
        times.append(np.zeros(len(of_place)))
    else:
        times.append(averaged(values.weight))
        of_scores = products[: values.scores.shape[1]]
        products += [*(each * times[2] for each in of_scores), squares * times[2]]
    totals = [each.sum() for each in (*products, squares)]
    score_squares = [product(column, column).sum() for column in values.scores.T]
    multipliers = np.stack(times)
    return np.array(totals), np.array(score_squares), (multipliers * of_state) @ multipliers.T


CLEAR = 3.0  # t of the covariance of choices and state from which it is taken to be there
FEWEST_GROUPS = 10


def share_of_covariance(
    within: float,
    error: float,
    added: Floats,
    score: Floats,
    state: Floats,
    group: Codes | None = None,
    level: float = 0.95,
) -> tuple[float, float, float, float]:
    """Divide a covariance at equal belief, with its standard error, by the whole one.

    By the law of total covariance cov(A, S) = E cov(A, S | p) + cov(E[A | p], E[S | p]): what
    choices know of the state beside the statement, and what they know through it. `added`, shape
    (n,), is what each context adds to `within`, and sums to it; `score` and `state`, shape (n,),
    are choices and state. Covariances are within groups, over which the whole one has its error.
    Returns the ratio with Fieller's interval (1954), and the t of the whole; NaN where that is 0,
    or groups are fewer than ten.
    """
    n, unknown = len(score), (math.nan, math.nan, math.nan, 0.0)
    cluster = np.arange(n)
    if group is not None:
        cluster = np.unique(group, return_inverse=True)[1].ravel()
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
        return within / whole, -math.inf, math.inf, clear
    # The ratios r with (within - r whole)^2 <= t^2 var(within - r whole).
    a = whole**2 - t**2 * of_whole
    b = within * whole - t**2 * both
    c = within**2 - t**2 * error**2
    root = math.sqrt(max(b**2 - a * c, 0.0))
    return within / whole, (b - root) / a, (b + root) / a, clear
