"""Probability weighting in one line: whether the chance acted on is the one stated.

Somebody who acts on w(p) where p is stated weights probabilities. Over a ladder's chances the
weighting function is summarised as linear in log odds, logit w(p) = elevation + sensitivity logit p
(Gonzalez and Wu 1999; Zhang and Maloney 2012): elevation 0 and sensitivity 1 leave every
probability as it is, a sensitivity below 1 is the inverse S that people show, and a positive
elevation is optimism.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from coherence.inputs import Floats, check_level
from coherence.result import Interval


@dataclass(frozen=True)
class Weighting:
    """The line of implied on stated log odds."""

    # logit of the probability acted on where one half is stated; NaN, as the rest, with fewer than
    # two stated chances at which choices switch
    elevation: float
    sensitivity: float  # slope
    # elevation_interval, sensitivity_interval: in the same units
    elevation_interval: Interval
    sensitivity_interval: Interval
    # two-sided, of the hypothesis that implied and stated probabilities are equal (elevation 0 and
    # sensitivity 1), Bonferroni over the two
    pvalue: float
    n_chances: int  # stated chances at which choices switch


def weighting_line(
    stated: Floats,
    switches: Floats,
    errors: Floats,
    leans: Floats,
    leave_outs: Sequence[Floats],
    *,
    freedom: float,
    level: float = 0.95,
) -> Weighting:
    """Fit the line by least squares, with standard errors by the jackknife."""
    check_level(level)
    if stated.size < 2:
        nothing = Interval(math.nan, math.nan, level)
        return Weighting(math.nan, math.nan, nothing, nothing, math.nan, int(stated.size))
    # Rows: by how much each switch moves elevation and sensitivity.
    weights = np.linalg.pinv(np.column_stack([np.ones_like(stated), stated]))
    estimate = weights @ switches
    variance = weights**2 @ errors**2
    for without in leave_outs:
        # The line without one thing at a time: the jackknife, whose variance is n - 1 times that of
        # the estimates.
        variance += (len(without) - 1) * (without @ weights.T).var(axis=0)
    error, lean = np.sqrt(variance), np.abs(weights) @ leans
    reach = lean + float(stats.t.ppf((1 + level) / 2, freedom)) * error
    intervals = [
        Interval(float(e - r), float(e + r), level, "jackknife over things")
        for e, r in zip(estimate, reach, strict=True)
    ]
    # What the rungs alone may have moved is no evidence against the diagonal.
    gaps = np.maximum(np.abs(estimate - [0.0, 1.0]) - lean, 0)
    # A ladder's rungs leave some error in any case, so that no gap is divided by 0.
    pvalue = float(min(1.0, 2 * (2 * stats.t.sf(gaps / error, freedom)).min()))
    return Weighting(
        float(estimate[0]), float(estimate[1]), intervals[0], intervals[1], pvalue, int(stated.size)
    )
