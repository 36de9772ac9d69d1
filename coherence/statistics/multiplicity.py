"""Several tests, one report: p-values adjusted over the whole family."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from coherence.inputs import Floats, as_numbers, require

# Not by statsmodels: its `multipletests` collects garbage at every call, a tenth of a second, and
# its Benjamini-Hochberg divides by rank / m, which changes the last digit of two values in five.


def _adjusted(pvalues: ArrayLike, adjust: Callable[[Floats], Floats]) -> Floats:
    """Adjust the ascending p-values of the tests that were run; the others stay NaN."""
    values = as_numbers(pvalues, "pvalues")
    require(
        values.ndim == 1,
        f"pvalues must be a list of numbers; received {values.ndim} dimensions.",
    )
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]  # NaN sorts to the end
    ranked = values[order]
    require(
        bool(((ranked >= 0) & (ranked <= 1)).all()),
        "pvalues must lie in [0, 1]; NaN marks a test that was not run.",
    )
    adjusted = np.full(values.shape, np.nan)
    adjusted[order] = np.minimum(adjust(ranked), 1.0)
    return adjusted


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
    # Step down: m times the smallest, m - 1 times the next, never less than one before.
    return _adjusted(
        pvalues, lambda ranked: np.maximum.accumulate(ranked * np.arange(ranked.size, 0, -1))
    )


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
    # Step up: m / rank times each, never more than one behind.
    return _adjusted(
        pvalues,
        lambda ranked: np.minimum.accumulate(
            (ranked * ranked.size / np.arange(1, ranked.size + 1))[::-1]
        )[::-1],
    )
