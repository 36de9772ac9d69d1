"""Several tests, one report: p-values adjusted over their family.

Shape (m,) in and out; NaN marks a test that was not run, leaves the family and stays NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from coherence.inputs import Floats


def _adjusted(pvalues: ArrayLike, method: Callable[[Floats], Floats]) -> Floats:
    values = np.asarray(pvalues, dtype=np.float64)
    run = ~np.isnan(values)
    adjusted = np.full(values.shape, np.nan)
    if run.any():
        adjusted[run] = method(values[run])
    return adjusted


def holm(pvalues: ArrayLike) -> Floats:
    """Adjust p-values so that the chance of any false rejection is bounded (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.06, 0.06]
    """

    # By hand: statsmodels' `multipletests` collects garbage at every call, .1 s for each of the
    # many families of a report.
    def step_down(values: Floats) -> Floats:
        order, adjusted = np.argsort(values), np.empty(len(values))
        steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
        adjusted[order] = np.minimum(steps, 1.0)
        return adjusted

    return _adjusted(pvalues, step_down)


def benjamini_hochberg(pvalues: ArrayLike) -> Floats:
    """Bound the expected share of false rejections (Benjamini and Hochberg 1995, JRSS B 57(1)).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.04, 0.04]
    """
    return _adjusted(pvalues, false_discovery_control)
