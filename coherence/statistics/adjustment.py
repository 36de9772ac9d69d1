"""What a belief explains of states and choices, and the difference that the state makes beyond it.

A belief explains what a cubic spline follows, and the mean of each belief that many contexts state:
where beliefs heap on round numbers, choices and states may jump there. The difference is that of a
linear regression with this adjustment (Frisch, Waugh and Lovell), its error that of leaving out
each context or group (HC3, CR3), or that of equal variances where it is larger, with
Satterthwaite's degrees of freedom (Bell and McCaffrey 2002; Imbens and Kolesar 2016). Assumes that
contexts, or groups, are independent.
"""

import math
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
from scipy import stats
from scipy.interpolate import BSpline

from coherence.inputs import Codes, Floats
from coherence.statistics.knn import RESOLUTION, as_levels

COEFFICIENTS = 6  # of the spline
CONTEXTS_PER_COEFFICIENT = 8
COMMON = 4  # contexts that state a belief with a mean of its own
ENDS = ["estimate", "standard_error", "low", "high"]


def spline_basis(values: Floats, size: int) -> Floats:
    """Evaluate a B-spline basis, shape (n, size), knots at quantiles of the distinct values."""
    low, high = float(values.min()), float(values.max())
    degree = min(3, size - 1)
    # Of distinct values: many rows on one belief must not draw all knots to it.
    inner = np.quantile(np.unique(values), np.linspace(0, 1, size - degree + 1)[1:-1])
    knots = np.concatenate([[low] * (degree + 1), inner, [high] * (degree + 1)])
    return np.asarray(BSpline(knots, np.eye(size), degree)(values))


def explained_by(belief: Floats, group: Codes | None = None) -> Floats:
    """Return an orthonormal basis of what the belief, and the group, explain, shape (n, rank).

    Of beliefs over several states the spline is a quadratic polynomial.
    """
    n = len(belief)
    levels = as_levels(belief.reshape(n, -1))
    distinct, level_of, counts = np.unique(levels, axis=0, return_inverse=True, return_counts=True)
    columns = [np.ones((n, 1))]
    values = levels / RESOLUTION
    if len(distinct) > 1 and values.shape[1] == 1:
        size = min(COEFFICIENTS, len(distinct), max(2, n // CONTEXTS_PER_COEFFICIENT))
        columns.append(spline_basis(values[:, 0], size))
    elif len(distinct) > 1:
        columns.append(values)
        # What a column says that others say needs no coefficient.
        rank = int(np.linalg.matrix_rank(values - values.mean(axis=0), rtol=1e-6))
        if n >= CONTEXTS_PER_COEFFICIENT * rank * (rank + 1) // 2:
            pairs = combinations_with_replacement(values.T[..., None], 2)
            columns += [one * other for one, other in pairs]
    common = np.flatnonzero(counts >= COMMON)
    columns.append((level_of.ravel()[:, None] == common).astype(np.float64))
    if group is not None:
        large = np.flatnonzero(np.bincount(group) >= COMMON)
        columns.append((group[:, None] == large).astype(np.float64))
    return orthonormal(np.hstack(columns))


def orthonormal(columns: Floats) -> Floats:
    """Return an orthonormal basis of what columns span, shape (n, rank)."""
    vectors, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(vectors[:, values > 1e-9 * values[0]])


def fitted(values: Floats, basis: Floats) -> Floats:
    """Return what the basis explains of the values."""
    return np.asarray(basis @ (basis.T @ values))


def left_over(values: Floats, basis: Floats) -> Floats:
    """Return what the basis leaves of the values; 0 where that is no more than rounding."""
    left = values - fitted(values, basis)
    variation = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    rounding = 1e-10 * variation + 1e-20 * len(values)
    return np.asarray(np.where((left**2).sum(axis=0) <= rounding, 0.0, left))


def differences(
    values: Floats, state: Floats, basis: Floats, group: Codes | None = None
) -> tuple[pd.DataFrame, Floats]:
    """Regress values on the state and the basis, with an error over contexts or groups.

    Return ``estimate``, ``standard_error``, and ``low`` and ``high`` of the 95% interval of each
    column, NaN where the belief settles the state; and what each context adds to each estimate.
    """
    moved = left_over(state[:, None], basis)[:, 0]
    square = float(moved @ moved)
    if square <= 0:
        nothing = np.full((values.shape[1], 4), math.nan)
        return pd.DataFrame(nothing, columns=ENDS), np.full(values.shape, math.nan)
    left = left_over(values, basis)
    estimate = moved @ left / square
    remains = left - moved[:, None] * estimate
    full = np.column_stack([basis, moved / math.sqrt(square)])
    weight = _without_own(moved, full, group)
    cluster = np.arange(len(state)) if group is None else np.unique(group, return_inverse=True)[1]
    contributions = weight[:, None] * remains / square
    sums = np.stack([np.bincount(cluster, weights=column) for column in contributions.T], axis=1)
    # Satterthwaite: the variance estimate is a quadratic form in errors of equal variance.
    of_cluster = np.bincount(cluster, weights=weight**2)
    shared = np.stack([np.bincount(cluster, weights=weight * q) for q in full.T], axis=1)
    mean = float((of_cluster - (shared**2).sum(axis=1)).sum())
    cross = shared.T @ shared
    spread = float(
        (of_cluster**2 - 2 * of_cluster * (shared**2).sum(axis=1)).sum() + (cross**2).sum()
    )
    degrees = mean**2 / spread if spread > 0 else 1.0
    # Where a rare action and a rare state never meet, the state shows no variance of its own.
    equal = (remains**2).sum(axis=0) / max(len(state) - full.shape[1], 1) / square
    error = np.sqrt(np.maximum((sums**2).sum(axis=0), equal))
    half = float(stats.t.isf((1 - 0.95) / 2, degrees)) * error
    table = np.column_stack([estimate, error, estimate - half, estimate + half])
    return pd.DataFrame(table, columns=ENDS), contributions


def _without_own(moved: Floats, full: Floats, group: Codes | None) -> Floats:
    """Weigh each residual as if its context, or group, had no part in the fit (HC3, CR3)."""
    if group is None:
        free = 1 - (full**2).sum(axis=1)
        return np.where(free > 1e-9, moved / np.maximum(free, 1e-9), 0.0)
    weight = np.zeros(moved.size)
    for number in np.unique(group):
        rows = np.flatnonzero(group == number)
        own = np.eye(rows.size) - full[rows] @ full[rows].T
        weight[rows] = np.linalg.pinv(own, rcond=1e-9, hermitian=True) @ moved[rows]
    return weight
