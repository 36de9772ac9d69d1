"""Smooth regressions on the belief whose size is chosen by cross-validation on contexts.

With one belief the regression is a cubic B-spline, with a jump if one predicts better; distinct
beliefs that many contexts share may have a mean each. With beliefs over several states it is a sum
of splines in all beliefs but the last, which the others determine, with or without products of
pairs. Data are summed by distinct belief first, so that trying another size costs time in the
number of distinct beliefs, not of rows.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from scipy.interpolate import BSpline

from coherence.inputs import Codes, Floats

SIZES = (2, 4, 5, 6, 8, 11)  # spline coefficients tried; 2 is a straight line
CONTEXTS_PER_COEFFICIENT = 8
# Distinct beliefs that may have a mean each: beliefs of two decimals and more. Where they heap on
# round numbers, truth and choices may jump from one to the next.
MOST_MEANS = 256
MANY_VALUES = 10_000
JUMP_SIZES = (2, 4, 6)  # spline coefficients beside a jump
# share of the squared error by which a jump must better the best smooth curve; chance alone seldom
# brings as much
JUMP_GAIN = 0.02
JUMP_MARGIN = 0.05  # share of the rows on either side of a jump


@dataclass(frozen=True)
class SmoothFit:
    """Regression of several columns on the belief.

    Parameters
    ----------
    fitted : ndarray, shape (n, n_columns)
        Values at the rows.
    n_coefficients : int
        Coefficients of each spline.
    products : bool
        Whether products of pairs of beliefs were added.
    jump : float or None
        Belief above which a step was added to the spline.
    """

    fitted: Floats
    n_coefficients: int
    products: bool = False
    jump: float | None = None


def spline_basis(values: Floats, size: int) -> Floats:
    """Evaluate a B-spline basis, shape (n, size), knots at quantiles of the distinct values."""
    low, high = float(values.min()), float(values.max())
    degree = min(3, size - 1)
    # Of distinct values: many rows on one belief must not draw all knots to it.
    inner = np.quantile(np.unique(values), np.linspace(0, 1, size - degree + 1)[1:-1])
    knots = np.concatenate([[low] * (degree + 1), inner, [high] * (degree + 1)])
    return np.asarray(BSpline(knots, np.eye(size), degree)(values))


def _additive_basis(values: Floats, size: int, products: bool) -> Floats:
    """Intercept, a spline in each column, and perhaps products of pairs of columns."""
    # Every spline basis sums to 1, as the intercept does: each gives up one coefficient.
    parts = [np.ones((len(values), 1))]
    for column in values.T:
        parts.append(spline_basis(column, min(size, np.unique(column).size))[:, 1:])
    if products:
        centred = values - values.mean(axis=0)
        parts += [
            (centred[:, i] * centred[:, j])[:, None]
            for i, j in combinations(range(values.shape[1]), 2)
        ]
    return np.concatenate(parts, axis=1)


def _candidates(values: Floats, n_contexts: int) -> Iterator[tuple[int, bool, Floats]]:
    """Size, use of products and basis of every regression that the number of contexts can carry."""
    most = max(2, n_contexts // CONTEXTS_PER_COEFFICIENT)
    if values.ndim == 1 and values.size == 1:
        yield 1, False, np.ones((1, 1))  # one belief: its mean is all there is to fit
        return
    if values.ndim == 1:
        for size in SIZES:
            if size <= min(values.size, most):
                yield size, False, spline_basis(values, size)
        if 2 < values.size <= min(MOST_MEANS, most) and values.size not in SIZES:
            yield values.size, False, np.eye(values.size)
        return
    varying = values[:, np.ptp(values, axis=0) > 0]
    richest = max((int(np.unique(column).size) for column in varying.T), default=1)
    for size in SIZES:
        for products in (False, True) if varying.shape[1] > 1 else (False,):
            basis = _additive_basis(varying, size, products)
            # A straight line in every belief is always tried.
            if (size == SIZES[0] and not products) or (
                size <= richest and basis.shape[1] <= min(len(values), most)
            ):
                yield size, products, basis
    if 2 < len(values) <= min(SIZES[-1], most):
        yield len(values), False, np.eye(len(values))


def _solve(gram: Floats, moments: Floats) -> Floats:
    """Solve normal equations, one or several of them along the first axes."""
    # A trace of ridge: a knot interval may hold no data in a fold.
    size = gram.shape[-1]
    ridge = 1e-8 * np.trace(gram, axis1=-2, axis2=-1)[..., None, None] / size
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(size), moments))


def _best_cut(values: Floats, weight: Floats, total: Floats, *, square: Floats) -> int | None:
    """Position of the first value above the jump that explains most.

    None where no cut leaves enough rows on both sides.
    """
    seen = weight > 0
    values_seen, weight, total = values[seen], weight[seen], total[seen]
    below, rows = np.cumsum(weight)[:-1], float(weight.sum())
    allowed = (below >= JUMP_MARGIN * rows) & (below <= (1 - JUMP_MARGIN) * rows)
    if not allowed.any():
        return None
    left = np.cumsum(total, axis=0)[:-1]
    right = total.sum(axis=0) - left
    # Two means explain n1 m1^2 + n2 m2^2 of the sum of squares; the largest leaves least.
    with np.errstate(invalid="ignore", divide="ignore"):
        explained = ((left**2 / below[:, None] + right**2 / (rows - below)[:, None]) / square).sum(
            axis=1
        )
    last = int(np.argmax(np.where(allowed, explained, -np.inf)))
    # Half-way between two values that were seen, so that values held out fall on the nearer side.
    return int(np.searchsorted(values, values_seen[last : last + 2].mean()))


def _with_jump(basis: Floats, cut: int | None) -> Floats:
    """Add a step from value number `cut` on."""
    step = np.zeros((len(basis), 1))
    step[len(basis) if cut is None else cut :] = 1.0
    return np.hstack([basis, step])


def _held_out_error(fitted: Floats, weight: Floats, total: Floats, square: Floats) -> float:
    """Sum of squares of the held-out rows, up to the part that no candidate changes."""
    return float(((weight[..., None] * fitted**2 - 2 * total * fitted) / square).sum())


def _merged(values: Floats, weight: Floats, total: Floats) -> tuple[Floats, Floats, Floats]:
    """Merge neighbouring values until `MANY_VALUES` are left."""
    starts = np.arange(MANY_VALUES) * len(values) // MANY_VALUES
    centres = np.add.reduceat(values, starts) / np.diff(np.append(starts, len(values)))
    return centres, np.add.reduceat(weight, starts, axis=1), np.add.reduceat(total, starts, axis=1)


def _choose(
    values: Floats,
    weight: Floats,
    total: Floats,
    square: Floats,
    squares: float,
    n_contexts: int,
) -> tuple[int, bool, Floats, float | None]:
    """Choose size, products, basis and jump by squared error on held-out folds.

    `weight` and `total` have a row for each fold; `squares` is the sum of squares of all rows.
    """
    lowest, size, products, basis = math.inf, 0, False, np.empty((0, 0))
    for size_tried, products_tried, basis_tried in _candidates(values, n_contexts):
        # Normal equations add up over folds: a fold is left out by subtracting its part.
        grams = (basis_tried.T * weight[:, None, :]) @ basis_tried
        moments = basis_tried.T @ total
        coefficients = _solve(grams.sum(axis=0) - grams, moments.sum(axis=0) - moments)
        error = _held_out_error(basis_tried @ coefficients, weight, total, square)
        if error < lowest:
            lowest, size, products, basis = error, size_tried, products_tried, basis_tried
    jump = None
    pooled, sums = weight.sum(axis=0), total.sum(axis=0)
    # The sum of squares is what was left out of the errors.
    lowest -= JUMP_GAIN * (lowest + squares)
    most = min(len(values), n_contexts // CONTEXTS_PER_COEFFICIENT) - 1
    sizes = [tried for tried in JUMP_SIZES if values.ndim == 1 and tried <= most]
    # Where the jump lies is chosen anew without each fold: a jump that chance suggests does not
    # predict the contexts held out.
    rows, left = pooled - weight, sums - total
    best_cut = partial(_best_cut, values, square=square)
    cuts = [best_cut(*of_fold) for of_fold in zip(rows, left, strict=True) if sizes]
    cut = best_cut(pooled, sums) if sizes else None
    for size_tried in sizes:
        spline = spline_basis(values, size_tried)
        stepped = np.stack([_with_jump(spline, of_fold) for of_fold in cuts])
        turned = stepped.transpose(0, 2, 1)
        coefficients = _solve((turned * rows[:, None, :]) @ stepped, turned @ left)
        error = _held_out_error(stepped @ coefficients, weight, total, square)
        if error < lowest and cut is not None:
            lowest, size, products, basis, jump = (
                error,
                size_tried,
                False,
                _with_jump(spline, cut),
                float(values[cut]),
            )
    return size, products, basis, jump


def regress(
    values: Floats,
    value_of: Codes,
    columns: Floats,
    folds: Codes,
    n_contexts: int,
) -> SmoothFit:
    """Regress columns on the belief, the size chosen by squared error on held-out contexts.

    Parameters
    ----------
    values : ndarray, shape (n_distinct,) or (n_distinct, n_states - 1)
        Distinct beliefs.
    value_of : ndarray of int, shape (n,)
        Position of each row's belief in `values`.
    columns : ndarray, shape (n, n_columns)
        What is regressed; each column counts in units of its variance.
    folds : ndarray of int, shape (n,)
        Fold of each row, whole contexts in one fold.
    n_contexts : int
        Number of contexts; there is at most one coefficient per 8 of them.

    Returns
    -------
    SmoothFit
        Refitted to all rows.
    """
    n_folds, n_values = int(folds.max()) + 1, len(values)
    cell = folds * n_values + value_of
    weight: Floats = (
        np.bincount(cell, minlength=n_folds * n_values)
        .reshape(n_folds, n_values)
        .astype(np.float64)
    )
    total: Floats = np.stack(
        [np.bincount(cell, weights=column, minlength=n_folds * n_values) for column in columns.T],
        axis=-1,
    )
    total = total.reshape(n_folds, n_values, columns.shape[1])
    square: Floats = columns.var(axis=0)
    square[square == 0] = 1.0  # an action that all rows share has no error to standardise
    squares = float(((columns**2).sum(axis=0) / square).sum())
    choose = partial(_choose, square=square, squares=squares, n_contexts=n_contexts)
    if values.ndim == 1 and n_values > MANY_VALUES:
        # What is chosen hardly hangs on so fine a resolution, and choosing is what takes time.
        size, products, _, jump = choose(*_merged(values, weight, total))
        basis = spline_basis(values, size)
        basis = basis if jump is None else _with_jump(basis, int(np.searchsorted(values, jump)))
    else:
        size, products, basis, jump = choose(values, weight, total)
    pooled, sums = weight.sum(axis=0), total.sum(axis=0)
    coefficients = _solve((basis.T * pooled) @ basis, basis.T @ sums)
    return SmoothFit((basis @ coefficients)[value_of], size, products, jump)
