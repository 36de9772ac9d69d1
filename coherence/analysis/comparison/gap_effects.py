"""Effects of the iterated expectation: gaps between beliefs and averages of beliefs given z."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.comparison.measured import (
    Answers,
    Estimate,
    Unfit,
    case_ids,
    mean_by_context,
)
from coherence.checks.iterated_gaps import Gaps, gaps_of, squares_of, under_prompt, without_noise
from coherence.checks.iterated_measures import TOO_FEW
from coherence.inputs import Floats
from coherence.statistics.mean_interval import mean_interval, why_none
from coherence.statistics.rounding import (
    SHAPES,
    expected_squares,
    root_before_rounding,
    rounded,
)

STEP = 1e-4  # of a mean square, over which the steepness of what rounding leaves is taken


def _gaps(answers: Answers) -> Gaps:
    unit = answers.unit
    if unit.states:
        raise Unfit("beliefs have a column for every state")
    if not answers.variables:
        raise Unfit("beliefs given z were not asked of every model")
    rows = unit.rows
    rows = rows[rows["z_state"].isna() | rows["z"].astype(str).isin(answers.variables)]
    used, _ = under_prompt(rows, answers.reference)
    states = rows[rows["z_state"].notna()].groupby("z", observed=True)["z_state"].nunique()
    gaps = gaps_of(used, states, computed=without_noise(used))
    if gaps.rows.empty:
        raise Unfit("no case has a readable belief and all beliefs given z")
    return gaps


def signed_gap(answers: Answers) -> "pd.Series[float]":
    """Return the mean gap of each case between belief and average of beliefs given z."""
    rows = _gaps(answers).rows
    return mean_by_context(rows["gap"], rows["context"])


def repeated_gaps(answers: Answers) -> "pd.Index[Any]":
    """Return the cases whose gaps have no noise, or were asked for twice."""
    gaps = _gaps(answers)
    times = gaps.rows.groupby(["context", "z"], observed=True)["rep"].nunique()
    enough = times[times >= (1 if gaps.computed else 2)]
    if enough.empty:
        raise Unfit(TOO_FEW)
    return case_ids(enough.index.get_level_values("context").unique())


def gap_beyond(answers: Answers, seed: int) -> Estimate:
    """Estimate the gap beyond noise and rounding, as `iterated_expectation:noise_removed`."""
    gaps = _gaps(answers)
    squares = squares_of(gaps, repeated=not gaps.computed)
    if squares is None:
        raise Unfit(TOO_FEW)
    grids = squares.parts.grids()
    square = squares.expected
    if not rounded(grids):
        interval = mean_interval(square, root=True)
        value, reason = math.sqrt(max(float(square.mean()), 0.0)), why_none(square, "gap")
        reason = "" if interval else reason
        return Estimate(value, interval and interval.within(0.0, 1.0), square, reason)
    expected = expected_squares(squares.parts, grids, repeated=squares.repeated)

    def of_cases(root: float, shape: str) -> Floats:
        return squares.by_context(expected(root, shape))

    value, interval, reason = root_before_rounding(square, of_cases)
    cases = np.mean([_before_rounding(square, partial(of_cases, shape=s)) for s in SHAPES], axis=0)
    return Estimate(value, interval and interval.within(0.0, 1.0), cases, reason)


def _before_rounding(square: Floats, expected: Callable[[float], Floats]) -> Floats:
    """Return the mean square before rounding plus the influence of each case on it.

    Below what rounding alone gives the steepness at 0 is kept, so that means stay unbiased.
    """

    def mean(centre: float) -> float:
        return float(expected(math.sqrt(centre)).mean())

    centre, steepness = 0.0, 1.0
    # Newton's steps on a curve that is nearly straight: the mean square with and without rounding.
    for _ in range(20):
        below = max(centre - STEP, 0.0)
        steepness = max((mean(centre + STEP) - mean(below)) / (centre + STEP - below), 0.1)
        step = (float(square.mean()) - mean(centre)) / steepness
        if abs(step) < 1e-9 or centre + step < 0:
            break
        centre += step
    rest = square - expected(math.sqrt(centre))
    return np.asarray(centre + rest / steepness)
