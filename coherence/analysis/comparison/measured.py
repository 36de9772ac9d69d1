"""What an effect of one model is: an estimate, and a value per case whose mean is compared.

A value is the share of a case in a mean, an unbiased square, or the estimate plus the influence of
the case on it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from coherence.analysis.unit import UnitRows
from coherence.inputs import Floats
from coherence.result import Interval
from coherence.statistics.mean_interval import mean_interval, why_none
from coherence.statistics.resample import Units, group_of_contexts, units_of


class Unfit(Exception):  # noqa: N818, a reason and no fault
    """Why an effect cannot be estimated for a model."""


@dataclass(frozen=True)
class Estimate:
    """An effect of one model."""

    value: float  # estimate, as the check reports it
    interval: Interval | None  # its own 95% interval
    # shape (n_contexts,): a value per case; their mean is compared. Of effects that are roots of
    # mean squares it is the mean square, which orders models alike and may fall below 0 by chance.
    cases: Floats
    reason: str = ""  # why there is no interval


@dataclass(frozen=True)
class Answers:
    """What one model answered, and what may be compared with other models."""

    rows: pd.DataFrame  # rows of one task and model, with all that `UnitRows` needs
    # wording of the beliefs that are held against anything else, the same of all models
    reference: str
    prompts: tuple[str, ...]  # other wordings that all models were asked
    variables: tuple[str, ...]  # auxiliary variables z that all models were asked about
    positive: Any  # label of the state that beliefs are in; None where the labels say it
    labels: tuple[Any, ...]  # all labels of theta
    _kept: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def unit(self) -> UnitRows:
        """The rows by what they can be used for."""
        return UnitRows(
            self.rows, positive=self.positive, labels=self.labels, reference=self.reference
        )

    def units(self, contexts: Any) -> Units:
        """Return the units of resampling of some cases: themselves, or the groups they are of."""
        return units_of(self.once("group", lambda given: group_of_contexts(given.rows)), contexts)

    def once(self, key: object, make: "Callable[[Answers], Any]") -> Any:
        """Return what `make` makes of these answers, made once for each key."""
        if key not in self._kept:
            self._kept[key] = make(self)
        return self._kept[key]

    def about(self, contexts: Sequence[str]) -> "Answers":
        """Return the answers about some cases; most effects are shown by the same ones."""

        def part(answers: "Answers") -> "Answers":
            kept = answers.rows["context"].isin(contexts)
            return answers if kept.all() else replace(answers, rows=answers.rows[kept])

        some: Answers = self.once(tuple(contexts), part)
        return some


Values = Callable[[Answers], "pd.Series[float]"]
Estimating = Callable[[Answers, Sequence[str], int], Estimate]


@dataclass(frozen=True)
class Effect:
    """One effect: which cases show it, and how it is estimated from them."""

    name: str  # name of the result of `coherence.analyze`, where there is one.
    says: str  # what is estimated, in a phrase
    # answers -> ids of the cases that show it; raises `Unfit` where none can
    usable: Callable[[Answers], "pd.Index[Any]"]
    # answers, ids of cases that all show it, in order, and a seed -> the estimate from these cases;
    # raises `Unfit`
    estimate: Estimating
    squared: bool = False  # whether mean squares are compared, of which the estimate is the root
    # whether values on both sides of 0 are equally amiss; else lower is better
    signed: bool = False

    @property
    def scale(self) -> str:
        """What differences are differences of."""
        return "mean square" if self.squared else "estimate"


def mean_effect(
    name: str,
    says: str,
    values: Values,
    *,
    squared: bool = False,
    signed: bool = False,
    within: tuple[float, float] = (0.0, 1.0),
) -> Effect:
    """Declare an effect that is a mean over cases, or its root: each case counts once.

    The value of a case must depend on the answers about it alone.
    """

    def estimate(answers: Answers, contexts: Sequence[str], seed: int) -> Estimate:
        cases: Floats = np.asarray(answers.once(name, values).loc[list(contexts)], dtype=np.float64)
        interval, reason = case_interval(cases, answers.units(case_ids(contexts)), root=squared)
        mean = float(cases.mean())
        value = math.sqrt(max(mean, 0.0)) if squared else mean
        return Estimate(value, interval and interval.within(*within), cases, reason)

    def usable(answers: Answers) -> "pd.Index[Any]":
        return case_ids(answers.once(name, values).index)

    return Effect(name, says, usable, estimate, squared, signed)


def case_interval(
    cases: Floats, units: Units, *, root: bool, what: str = "value"
) -> tuple[Interval | None, str]:
    """Return an interval for a mean over cases, or its root, or why there is none."""
    values = units.values(cases)
    interval = mean_interval(values, root=root)
    if interval is None:
        return None, units.said(why_none(values, what))
    return replace(interval, method=units.said(interval.method)), ""


def of_cases(fit: Callable[[Answers, int], Estimate]) -> Estimating:
    """Let an estimate that is fitted to all answers be fitted to those about some cases."""
    return lambda answers, contexts, seed: fit(answers.about(contexts), seed)


def case_ids(contexts: Any) -> "pd.Index[Any]":
    """Return ids of cases as an index."""
    index: pd.Index[Any] = pd.Index(contexts)
    return index


def mean_by_context(values: Any, context: pd.Series) -> "pd.Series[float]":
    """Average values of rows by their context, in the order of the ids."""
    column = pd.Series(np.asarray(values, dtype=np.float64), index=context.index)
    return column.groupby(context, sort=True).mean()
