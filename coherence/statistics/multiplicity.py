"""Several tests, one report: p-values adjusted over their family."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from coherence.inputs import Floats, as_numbers, require


def _adjusted(pvalues: ArrayLike, method: Callable[[Floats], Floats]) -> Floats:
    """Adjust the p-values of the tests that were run; the others stay NaN."""
    values = as_numbers(pvalues, "pvalues")
    require(
        values.ndim == 1,
        f"pvalues must be a list of numbers; received {values.ndim} dimensions.",
    )
    run = ~np.isnan(values)
    require(
        bool(((values[run] >= 0) & (values[run] <= 1)).all()),
        "pvalues must lie in [0, 1]; NaN marks a test that was not run.",
    )
    adjusted = np.full(values.shape, np.nan)
    if run.any():
        adjusted[run] = method(values[run])
    return adjusted


def _step_down(values: Floats) -> Floats:
    # By hand: statsmodels' `multipletests` collects garbage at every call, .1 s for each of the
    # many families of a report.
    order = np.argsort(values)
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def _step_up(values: Floats) -> Floats:
    from statsmodels.stats.multitest import fdrcorrection

    return np.asarray(fdrcorrection(values)[1], dtype=np.float64)


def holm(pvalues: ArrayLike) -> Floats:
    """Adjust p-values so that the chance of any false rejection is bounded (Holm 1979).

    Parameters
    ----------
    pvalues : array-like, shape (m,)
        p-values; NaN entries are left out of the family and stay NaN.

    Returns
    -------
    ndarray, shape (m,)
        Adjusted p-values.

    Raises
    ------
    InputError
        A value outside [0, 1].

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjusted(pvalues, _step_down)


def benjamini_hochberg(pvalues: ArrayLike) -> Floats:
    """Adjust p-values so that the expected share of false rejections is bounded.

    Parameters
    ----------
    pvalues : array-like, shape (m,)
        p-values; NaN entries are left out of the family and stay NaN.

    Returns
    -------
    ndarray, shape (m,)
        Adjusted p-values.

    Raises
    ------
    InputError
        A value outside [0, 1].

    References
    ----------
    Benjamini and Hochberg (1995), JRSS B 57(1).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.04, 0.04]
    """
    return _adjusted(pvalues, _step_up)
