"""Questions that state a level, and the stated beliefs of their cases.

A table for matching or stakes questions has rows of two kinds: a stated belief without a level, or
a choice between two options and the level that its question states. Here they are parted, and what
the checks of both share is computed: a logit of choices, the jackknife by cluster (MacKinnon,
Nielsen and Webb 2023) and the effect of the order. Assumes independent cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from coherence.inputs import (
    MIN_CONTEXTS,
    Actions,
    Codes,
    Floats,
    as_actions,
    as_codes,
    as_contexts,
    as_numbers,
    few_contexts,
    of_contexts,
    require,
    require_aligned,
)
from coherence.result import CheckResult, Interval
from coherence.statistics.mean_interval import interval_or_reason
from coherence.statistics.resample import Clusters, groups_of_contexts
from coherence.table.schema import ACTION_PREFIX

RIDGE = 1e-9  # of a logit whose choices are told apart without error
MOST_DELETED = 300  # clusters that the jackknife deletes one by one; beyond that, in groups


@dataclass(frozen=True)
class Reports:
    """Stated beliefs of the cases, and their exact posteriors."""

    values: Floats  # each report
    context: Codes  # of each report
    mean: Floats  # shape (n_contexts,)
    number: Codes  # shape (n_contexts,)
    noise: float  # variance of a report within a case; 0 if computed, NaN where none was repeated
    exact: Floats  # shape (n_contexts,), NaN where it is not known


@dataclass(frozen=True)
class LevelRows:
    """Choices between two options at stated levels, and the reports of their cases."""

    context: Codes  # of each choice
    level: Floats  # as the question states it
    chose: Floats  # share of the first of the two options
    first: Floats  # 1 or -1: the first of the two, or the second, is named first; 0 if not known
    rows: Codes  # of the table, which hold these choices
    refused: Codes  # shape (n_contexts,): questions without one of the two options
    reports: Reports
    cases: tuple[Any, ...]
    used: Codes  # rows of the table that entered, choices and reports
    of_row: Codes  # context of each of these
    n_dropped: int
    never_chosen: str  # which option is never chosen where other labels are, and these; or nothing

    def clusters(self, group: ArrayLike | None) -> Clusters:
        """Return what is resampled: groups where they are given, otherwise cases."""
        if group is None:
            return Clusters("context", np.arange(len(self.cases), dtype=np.int64))
        of_rows = np.asarray(group)[self.used]
        return Clusters("group", groups_of_contexts(of_rows, self.of_row, self.cases)[0])


def level_rows(
    belief: ArrayLike,
    action: ArrayLike,
    level: ArrayLike,
    exact: ArrayLike | None,
    order: ArrayLike | None,
    context: ArrayLike | None,
    *,
    options: tuple[str, str],
    computed: bool,
) -> LevelRows:
    """Validate a table and part it into choices between two options and reports."""
    require(
        context is not None,
        "context must be given: it says which belief belongs to which choices. Name the column of "
        "the cases.",
    )
    require_aligned(belief=belief, level=level, exact=exact, order=order)
    require_one_per_row(belief, level=level, exact=exact, order=order)
    stated, levels = as_numbers(belief, "belief"), as_numbers(level, "level")
    require_inside(stated, "belief", 0.0, 1.0)
    require_inside(levels, "level", 0.0, 1.0, strict=True)
    codes, cases = as_contexts(context, len(stated))
    asked = ~np.isnan(levels)
    side, never_chosen = _sides(action, asked, options)
    first = signs(order, "order", options, asked)
    answered = asked & ~np.isnan(side)
    reported = ~asked & ~np.isnan(stated)
    both = np.isin(codes, np.intersect1d(codes[answered], codes[reported]))
    require(
        bool(both.any()),
        f"context must name cases that have rows with a belief and rows with a level; none of "
        f"{len(cases)} has both. Give both kinds of rows the same ids.",
    )
    used = np.flatnonzero(both & (answered | reported))
    numbers, of_row = np.unique(codes[used], return_inverse=True)
    of_row = of_row.astype(np.int64)
    chosen, told = answered[used], reported[used]
    rows = used[chosen]
    exact_of = _exact_of_cases(exact, codes, cases)[numbers]
    return LevelRows(
        context=of_row[chosen],
        level=levels[rows],
        chose=side[rows],
        first=first[rows],
        rows=rows,
        refused=np.bincount(codes[asked & ~answered], minlength=len(cases))[numbers],
        reports=_reports(stated[used][told], of_row[told], exact_of, computed=computed),
        cases=tuple(cases[number] for number in numbers),
        used=used,
        of_row=of_row,
        n_dropped=len(stated) - len(used),
        never_chosen=never_chosen,
    )


def _reports(values: Floats, context: Codes, exact: Floats, *, computed: bool) -> Reports:
    number = np.bincount(context, minlength=len(exact))
    mean = np.bincount(context, values, len(exact)) / number
    away = values - mean[context]
    degrees = int((number - 1).sum())
    noise = float(away @ away) / degrees if degrees else math.nan
    return Reports(values, context, mean, number, 0.0 if computed else noise, exact)


def require_one_per_row(belief: Any, **values: Any) -> None:
    """Refuse columns that are shorter or longer than the beliefs."""
    for name, column in values.items():
        require(
            column is None or len(column) == len(belief),
            f"{name} must have one value per row of belief; received "
            f"{0 if column is None else len(column)} values for {len(belief)} rows.",
        )


def require_inside(
    values: Floats, name: str, low: float, high: float, *, strict: bool = False
) -> None:
    """Refuse numbers outside of a range, or at its ends; NaN is left to others."""
    known = ~np.isnan(values)
    wrong = known & (
        (values <= low) | (values >= high) if strict else (values < low) | (values > high)
    )
    ends = f"({low:g}, {high:g})" if strict else f"[{low:g}, {high:g}]"
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        require(
            False,
            f"{name} must hold numbers in {ends}; {int(wrong.sum())} of {int(known.sum())} do not, "
            f"the first is {values[at]:g} at position {at}. Divide percentages by 100.",
        )


def _sides(action: ArrayLike, asked: Any, options: tuple[str, str]) -> tuple[Floats, str]:
    """Return the share of the first option in each question, NaN where neither was chosen.

    With it which of the two is never chosen although other labels are: it may have another name.
    """
    actions: Actions = as_actions(_asked_alone(action, asked), int(asked.sum()))
    labels = [str(label).removeprefix(ACTION_PREFIX) for label in actions.labels]
    require(
        bool(set(options) & set(labels)),
        f"action must be {options[0]!r} or {options[1]!r} in rows with a level; received "
        f"{', '.join(map(repr, labels[:4])) or 'none'}. Rename the two options.",
    )
    first, second = (
        actions.share[:, labels.index(name)] if name in labels else np.zeros(int(asked.sum()))
        for name in options
    )
    total = first + second
    side = np.full(len(asked), np.nan)
    side[asked] = np.divide(first, total, out=np.full(len(total), np.nan), where=total > 0)
    others = [label for label in labels if label not in (*options, "")]
    absent = [name for name, share in zip(options, (first, second), strict=True) if not share.any()]
    if not absent or not others:
        return side, ""
    listed = ", ".join(map(repr, others[:4]))
    return side, (
        f"action is never {absent[0]!r} in rows with a level, and {listed} counts as a refusal: "
        f"rename what means {absent[0]!r}, and leave refusals empty"
    )


def _asked_alone(action: Any, asked: Any) -> Any:
    """Return the actions of rows with a level; one that is missing there is a refusal."""
    require(
        len(action) == len(asked),
        f"action must have one row per row of belief; received {len(action)} rows for "
        f"{len(asked)}.",
    )
    if isinstance(action, pd.DataFrame) or np.ndim(action) > 1:
        return pd.DataFrame(action)[asked]
    column = pd.Series(action, dtype=object).reset_index(drop=True)[asked]
    return column.where(column.notna(), "")


def signs(values: ArrayLike | None, name: str, labels: tuple[str, str], asked: Any) -> Floats:
    """Return 1 for the first label, -1 for the second; 0 where nothing was said."""
    if values is None:
        return np.zeros(len(asked))
    column = pd.Series(values, dtype=object).reset_index(drop=True)
    known = column[asked].dropna()
    odd = known[~known.isin(labels)]
    require(
        odd.empty,
        f"{name} must be {labels[0]!r} or {labels[1]!r} in rows with a level; received "
        f"{odd.iloc[0] if len(odd) else ''!r}. Rename its values.",
    )
    return np.asarray(column.map({labels[0]: 1.0, labels[1]: -1.0}).fillna(0.0), dtype=np.float64)


def _exact_of_cases(exact: ArrayLike | None, codes: Codes, cases: tuple[Any, ...]) -> Floats:
    if exact is None:
        return np.full(len(cases), np.nan)
    values = as_numbers(exact, "exact")
    require_inside(values, "exact", 0.0, 1.0)
    if np.isnan(values).any():
        return np.full(len(cases), np.nan)
    distinct, labels = as_codes(values, "exact", len(values))
    of = of_contexts(distinct, labels, codes, cases, "exact", "Give each context one posterior.")
    return np.asarray(labels, dtype=np.float64)[of]


def contrast(signs_of_rows: Floats) -> Floats:
    """Return signs that vary; what is one throughout would share the constant's part."""
    return signs_of_rows if np.ptp(signs_of_rows) else np.zeros(len(signs_of_rows))


def logit(columns: Floats, share: Floats, start: Floats | None) -> Floats:
    """Fit a logit of shares by Newton's method, a little shrunk so that it is always finite."""
    n, k = columns.shape
    found = np.zeros(k) if start is None else start.copy()
    for _ in range(100):
        likely = 1.0 / (1.0 + np.exp(-np.clip(columns @ found, -30.0, 30.0)))
        slope = columns.T @ (share - likely) - n * RIDGE * found
        curved = (columns * (likely * (1.0 - likely))[:, None]).T @ columns
        step = np.linalg.solve(curved + n * RIDGE * np.eye(k), slope)
        largest = float(np.abs(step).max())
        found = found + step * min(1.0, 20.0 / max(largest, 1e-300))
        if largest < 1e-8:
            break
    return np.asarray(found)


@dataclass(frozen=True)
class Jackknife:
    """Estimates, and their spread where one cluster at a time is left out."""

    estimate: Floats
    std_error: Floats
    n: int
    method: str

    def interval(self, at: int) -> Interval:
        """Return the interval of one estimate."""
        reach = float(stats.t.ppf(0.975, self.n - 1)) * float(self.std_error[at])
        value = float(self.estimate[at])
        return Interval(value - reach, value + reach, 0.95, self.method)


def jackknife(
    estimate: Floats, of_part: Callable[[Any], Floats], clusters: Clusters, method: str
) -> Jackknife:
    """Leave out one cluster at a time; `of_part` estimates from the contexts that are kept."""
    part = clusters.of_context % MOST_DELETED
    n = int(part.max()) + 1
    left = np.array([of_part(part != number) for number in range(n)])
    error = np.sqrt((n - 1) / n * ((left - estimate) ** 2).sum(axis=0))
    name = "groups" if clusters.name == "group" else "cases"
    return Jackknife(estimate, error, n, method.format(clusters=name))


def order_effect(
    blank: CheckResult, context: Codes, first: Floats, chose: Floats, clusters: Clusters
) -> CheckResult:
    """Estimate how much an option gains from being named first."""
    if not first.any():
        return replace(blank, reason="the order of the options is not known")
    n, means = len(clusters.of_context), []
    for sign in (1.0, -1.0):
        rows = first == sign
        with np.errstate(invalid="ignore"):
            means.append(
                np.bincount(context[rows], chose[rows], n) / np.bincount(context[rows], minlength=n)
            )
    differences = means[0] - means[1]
    known = ~np.isnan(differences)
    if known.sum() < MIN_CONTEXTS:
        return replace(blank, reason=few_contexts(int(known.sum()), "with both orders"))
    of = Clusters(clusters.name, np.unique(clusters.of_context[known], return_inverse=True)[1])
    interval, reason = interval_or_reason(differences[known], of, "order effect")
    mean = float(differences[known].mean())
    return replace(blank, statistic=mean, interval=interval, reason=reason)
