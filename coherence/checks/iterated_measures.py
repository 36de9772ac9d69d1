"""Summaries of gaps between beliefs and averages of beliefs, with intervals over contexts."""

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from coherence.checks.iterated_gaps import Gaps, Squares, mean_over_contexts, squares_of
from coherence.inputs import MIN_CONTEXTS, Floats
from coherence.result import Interval
from coherence.statistics.grid_mixture import CONTINUOUS
from coherence.statistics.mean_interval import (
    NO_SPREAD,
    mean_interval,
    median_interval,
    why_none,
)
from coherence.statistics.rounding import SHAPES, expected_squares, root_before_rounding, rounded

TOO_FEW = "noise can be removed only with two repetitions per context"
NEVER_ABOVE_0 = f"fewer than {MIN_CONTEXTS} contexts have a belief above 0"
NO_GRID = "the reports show no grid"
RELATIVE = "median of |gap| / belief"
SIGNED = "mean signed gap"
NOISELESS = "root-mean-square gap, noise removed"
FLOOR = "noise floor (root-mean-square gap from repetitions alone)"
ROUNDING = "rounding floor (root-mean-square gap that rounded reports alone imply)"
BEYOND = "root-mean-square gap, noise and rounding removed"
ONCE_BEYOND = "root-mean-square gap, rounding removed and noise not"


@dataclass
class _Measures:
    """Rows of the table of summaries."""

    rows: list[tuple[str, float, float, float, str]] = field(default_factory=list)

    def record(
        self, measure: str, value: float, interval: Interval | None, reason: str = ""
    ) -> None:
        low, high = (math.nan, math.nan) if interval is None else (interval.low, interval.high)
        self.rows.append((measure, value, low, high, "" if interval else reason))

    def mean(self, measure: str, of_context: Floats, least: float, most: float) -> None:
        """Add a mean over contexts that lies between two ends."""
        interval = mean_interval(of_context)
        bounded = None if interval is None else interval.within(least, most)
        self.record(measure, float(of_context.mean()), bounded, why_none(of_context, "gap"))

    def root(self, measure: str, square: Floats | None) -> None:
        """Add a root of a mean square over contexts."""
        if square is None:
            self.record(measure, math.nan, None, TOO_FEW)
            return
        interval = mean_interval(square, root=True)
        bounded = None if interval is None else interval.within(0.0, 1.0)
        # A mean square that chance has pushed below 0 stands for a root of 0.
        value = math.sqrt(max(float(square.mean()), 0.0))
        self.record(measure, value, bounded, why_none(square, "gap"))


def measures_of(gaps: Gaps, relative: Floats) -> tuple[pd.DataFrame, dict[str, str]]:
    """Summarise gaps.

    Parameters
    ----------
    gaps : Gaps
        At least `MIN_CONTEXTS` contexts.
    relative : ndarray, shape (n_rows,)
        Absolute gap as a share of the belief; NaN where the belief is 0.

    Returns
    -------
    measures : DataFrame
        Columns ``measure``, ``value``, ``low``, ``high``, ``reason``.
    grids : dict of str to str
        What steps each kind of column shows.
    """
    rows, context = gaps.rows, gaps.rows["context"]
    squares = squares_of(gaps, repeated=not gaps.computed)
    once = squares_of(gaps, repeated=False) if squares is None else None
    table = _Measures()
    table.mean(SIGNED, mean_over_contexts(rows["gap"], context), -1.0, 1.0)
    table.mean("mean absolute gap", mean_over_contexts(rows["gap"].abs(), context), 0.0, 1.0)
    for measure, values in (
        ("median absolute gap", rows["gap"].abs().to_numpy()),
        (RELATIVE, relative),
    ):
        known = ~np.isnan(values)
        if context[known].nunique() < MIN_CONTEXTS:
            table.record(measure, math.nan, None, NEVER_ABOVE_0)
            continue
        bounds = median_interval(values[known], pd.factorize(context[known])[0])
        value = float(np.median(values[known]))
        table.record(measure, value, bounds, NO_SPREAD.format(what="gap"))
    table.root("root-mean-square gap", mean_over_contexts(rows["gap"] ** 2, context))
    table.root(NOISELESS, None if squares is None else squares.expected)
    table.root(FLOOR, None if squares is None else squares.raw - squares.expected)
    grids = _add_rounding(table, squares, once)
    residual = mean_over_contexts(rows["residual"], context)
    table.mean("sum of P(z|x) minus 1", residual, -1.0, math.inf)
    columns = ["measure", "value", "low", "high", "reason"]
    return pd.DataFrame(table.rows, columns=columns), grids


def _add_rounding(
    table: _Measures, squares: Squares | None, once: Squares | None
) -> dict[str, str]:
    """Add what the grids of the reports imply, and what is left of the gap without it."""
    used, measure = (once, ONCE_BEYOND) if squares is None else (squares, BEYOND)
    if squares is None:
        table.root(BEYOND, None)
    if used is None:
        return {}
    grids = used.parts.grids()
    if not rounded(grids):
        table.record(ROUNDING, 0.0, None, NO_GRID)
        table.root(measure, used.expected)
        return {kind: _in_words(weights) for kind, weights in grids.items()}
    expected = expected_squares(used.parts, grids, repeated=used.repeated)
    table.root(ROUNDING, used.by_context(expected(0.0, SHAPES[0])))
    value, interval, reason = root_before_rounding(
        used.expected, lambda gap, shape: used.by_context(expected(gap, shape))
    )
    table.record(measure, value, interval and interval.within(0.0, 1.0), reason)
    return {kind: _in_words(weights) for kind, weights in grids.items()}


def _in_words(weights: dict[float, float]) -> str:
    """Say what steps reports were given in.

    Examples
    --------
    >>> _in_words({0.05: 0.8, 0.01: 0.2})
    'steps of 0.05 (80%), steps of 0.01 (20%)'
    """
    names = {step: "no steps" if step == CONTINUOUS else f"steps of {step:g}" for step in weights}
    if len(weights) == 1:
        return next(iter(names.values()))
    ordered = sorted(weights, key=lambda step: -weights[step])
    return ", ".join(f"{names[step]} ({weights[step]:.0%})" for step in ordered)
