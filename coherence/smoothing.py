"""Smooth regressions on the belief whose size is chosen by cross-validation on contexts.

With one belief the regression is a cubic B-spline; with beliefs over several states it is a sum of splines in all beliefs but the last, which
the others determine, with or without products of pairs. Data are summed by distinct belief first, so that trying another size costs time in
the number of distinct beliefs, not of rows.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.interpolate import BSpline

from coherence.inputs import Codes, Floats

SIZES = (2, 4, 5, 6, 8, 11)  # spline coefficients tried; 2 is a straight line
CONTEXTS_PER_COEFFICIENT = 8


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
    """

    fitted: Floats
    n_coefficients: int
    products: bool = False


def spline_basis(values: Floats, size: int) -> Floats:
    """Evaluate a B-spline basis, shape (n, size), with knots at quantiles of the distinct values."""
    low, high = float(values.min()), float(values.max())
    degree = min(3, size - 1)
    inner = np.quantile(np.unique(values), np.linspace(0, 1, size - degree + 1)[1:-1])
    knots = np.concatenate([[low] * (degree + 1), inner, [high] * (degree + 1)])
    return np.asarray(BSpline(knots, np.eye(size), degree)(values))


def _additive_basis(values: Floats, size: int, products: bool) -> Floats:
    """Intercept, a spline in each column (one coefficient less, because every basis sums to 1), and products of pairs of columns."""
    parts = [np.ones((len(values), 1))]
    for column in values.T:
        parts.append(spline_basis(column, min(size, np.unique(column).size))[:, 1:])
    if products:
        centred = values - values.mean(axis=0)
        parts += [(centred[:, i] * centred[:, j])[:, None] for i, j in combinations(range(values.shape[1]), 2)]
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
        return
    varying = values[:, np.ptp(values, axis=0) > 0]
    richest = max((int(np.unique(column).size) for column in varying.T), default=1)
    for size in SIZES:
        for products in (False, True) if varying.shape[1] > 1 else (False,):
            basis = _additive_basis(varying, size, products)
            # A straight line in every belief is always tried.
            if (size == SIZES[0] and not products) or (size <= richest and basis.shape[1] <= min(len(values), most)):
                yield size, products, basis


def _solve(gram: Floats, moments: Floats) -> Floats:
    # A trace of ridge: a knot interval may hold no data in a fold.
    ridge = 1e-8 * np.trace(gram) / len(gram)
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(len(gram)), moments))


def regress(values: Floats, value_of: Codes, columns: Floats, folds: Codes, n_contexts: int) -> SmoothFit:
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
    weight = np.bincount(cell, minlength=n_folds * n_values).reshape(n_folds, n_values).astype(np.float64)
    total = np.stack([np.bincount(cell, weights=column, minlength=n_folds * n_values) for column in columns.T], axis=-1)
    total = total.reshape(n_folds, n_values, columns.shape[1])
    square = columns.var(axis=0)
    square[square == 0] = 1.0  # an action that all rows share has no error to standardise
    lowest, chosen = math.inf, (0, False, np.empty((0, 0)))
    for size, products, basis in _candidates(values, n_contexts):
        grams = np.einsum("fl,li,lj->fij", weight, basis, basis, optimize=True)
        moments = np.einsum("li,flc->fic", basis, total, optimize=True)
        error = 0.0
        for fold in range(n_folds):
            coefficients = _solve(grams.sum(axis=0) - grams[fold], moments.sum(axis=0) - moments[fold])
            fitted = basis @ coefficients
            # Sum of squares of the held-out rows, up to the part that no candidate changes.
            error += float(((weight[fold][:, None] * fitted**2 - 2 * total[fold] * fitted).sum(axis=0) / square).sum())
        if error < lowest:
            lowest, chosen = error, (size, products, basis)
    size, products, basis = chosen
    pooled = weight.sum(axis=0)
    coefficients = _solve((basis.T * pooled) @ basis, basis.T @ total.sum(axis=0))
    return SmoothFit((basis @ coefficients)[value_of], size, products)
