"""Several tests, one report: p-values adjusted over the whole family."""

import numpy as np
from numpy.typing import ArrayLike
from statsmodels.stats.multitest import multipletests

from coherence.inputs import Floats, require


def _checked(pvalues: ArrayLike) -> Floats:
    values = np.asarray(pvalues, dtype=np.float64)
    finite = values[~np.isnan(values)]
    require(
        bool(((finite >= 0) & (finite <= 1)).all()),
        "pvalues must lie in [0, 1]; NaN marks a test that was not run.",
    )
    return values


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
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = _checked(pvalues)
    adjusted, run = np.full(values.shape, np.nan), ~np.isnan(values)
    if run.any():  # a family without members is an error there
        adjusted[run] = multipletests(values[run], method="holm")[1]
    return adjusted


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
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    values = _checked(pvalues)
    adjusted = np.full(values.shape, np.nan)
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]
    # Not by statsmodels: it divides by rank / m, which differs in the last digit of two in five.
    steps = values[order] * order.size / np.arange(1, order.size + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    return adjusted
