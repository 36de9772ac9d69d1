"""Effects of the iterated expectation: gaps between beliefs and averages of beliefs given z."""

import math
from typing import Any

import pandas as pd

from coherence.analysis.comparison.measured import (
    Answers,
    Estimate,
    Unfit,
    case_ids,
    case_interval,
    mean_by_context,
)
from coherence.checks.iterated import (
    TOO_FEW,
    Gaps,
    gaps_of,
    squares_of,
    under_prompt,
    without_noise,
)


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
    square = squares.beyond
    units = answers.units(squares.context)
    interval, reason = case_interval(square, units, root=True, what="gap")
    value = math.sqrt(max(float(square.mean()), 0.0))
    return Estimate(value, interval and interval.within(0.0, 1.0), square, reason)
