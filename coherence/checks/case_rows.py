"""Choices, and the stated beliefs of their cases, parted: what three checks share.

Belief and choice of a case may stand in rows of their own. Assumes independent cases, or groups. Of
reports those that were not asked again are no repetitions, those that are missing by what was
chosen are no sample, and those that take few values hide more than repetitions show. The jackknife
of a logit, of one step, leaves a cluster's score and curvature out of the fit's (MacKinnon, Nielsen
and Webb 2023, Journal of Econometrics 232(2)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import expit

from coherence.checks.check import Interpretation, blank
from coherence.decoding.ranges import are_percentages
from coherence.errors import InputError
from coherence.inputs import (
    Codes,
    Floats,
    as_codes,
    as_contexts,
    as_numbers,
    few_contexts,
    of_contexts,
    require,
    require_aligned,
)
from coherence.result import CheckResult, Interval
from coherence.runs.columns import ACTION_PREFIX
from coherence.statistics.evaluation import EvaluationData, as_known_actions
from coherence.statistics.mean_interval import interval_or_reason
from coherence.statistics.resample import Clusters, context_means, groups_of_contexts
from coherence.statistics.shares import context_shares

Result = TypeVar("Result", bound=CheckResult)
NOTHING = 1e-18  # variance of reports that are copies
UNIT = "probability"
RIDGE = 1e-9  # of a logit whose choices are told apart without error
COPIED = 0.95  # share of cases whose reports come again, from which all that do are copies
FEWEST_VALUES = 7  # of reports, below which what they round off is no small noise
MOST_LEFT_OUT = 5  # parts of the reports that are left out one by one
ONE_REPORT = "beliefs were asked once a case: their noise would {what}"
FEW_VALUES = "reports take {n} values alone, which stand for many beliefs each: that would {what}"


@dataclass(frozen=True)
class CaseReports:
    """Stated beliefs of the cases, and their exact posteriors."""

    values: Floats  # each report
    context: Codes  # of each report
    mean: Floats  # shape (n_contexts,)
    number: Codes  # shape (n_contexts,)
    noise: float  # variance of a report within a case; 0 if computed, NaN where none was repeated
    once: bool  # whether all are single or copies, so that their noise is not known
    exact: Floats  # shape (n_contexts,), NaN where it is not known

    def thinned(self) -> tuple[Floats, Floats]:
        """Return mean reports of all cases, then those without each part of the reports in turn.

        NaN of a case without a second report. With them, how much further it is to no noise than
        from a part to the whole, for what goes with the variance of the noise, and with its root.
        """
        if not self.noise > 0:
            return self.mean[None, :], np.zeros(2)
        n_parts = min(int(self.number.max()), MOST_LEFT_OUT)
        part = pd.Series(self.context).groupby(self.context).cumcount().to_numpy() % n_parts
        several, powers = self.number > 1, np.array([[-1.0], [-0.5]])
        whole = self.number[several] ** powers
        beliefs, more = [self.mean], np.zeros_like(whole)
        for left_out in range(n_parts):
            kept, n = part != left_out, len(several)
            beliefs.append(_means(self.values[kept], self.context[kept], n))
            number = np.bincount(self.context[kept], minlength=n)
            more += (number[several] ** powers - whole) / n_parts
        return np.where(several, beliefs, np.nan), whole.sum(axis=1) / more.sum(axis=1)

    @property
    def too_coarse(self) -> str:
        """Say that reports miss beliefs by more than repetitions show; ``{what}`` is left open."""
        n = len(np.unique(np.round(self.values, 9)))
        few = FEW_VALUES.format(n=n, what="{what}") if n < FEWEST_VALUES else ""
        return ONE_REPORT if self.once else few


@dataclass(frozen=True)
class CaseRows:
    """The rows of a table that are choices, and the reports of their cases."""

    rows: Codes  # of the table, which hold the choices
    context: Codes  # of each choice
    reports: CaseReports
    cases: tuple[Any, ...]
    clusters: Clusters  # groups where they are given, otherwise cases
    n_rows: int  # that entered, choices and reports
    n_dropped: int

    @property
    def n_contexts(self) -> int:
        """Number of cases."""
        return len(self.cases)

    def by_case(self, values: Floats) -> Floats:
        """Average values of choices by case; NaN of a case that has none."""
        return _means(values, self.context, self.n_contexts)

    def blanks(
        self,
        kind: type[Result],
        check: str,
        sentences: Mapping[str, Interpretation],
        units: Mapping[str, str],
        **further: Any,
    ) -> dict[str, Result]:
        """Return a result of a kind for each of what is declared, without its numbers."""
        return {
            name: blank(kind, self, f"{check}:{name}", of.words, units.get(name, UNIT), **further)
            for name, of in sentences.items()
        }

    def paired_difference(self, result: Result, values: Floats, rows: tuple[Any, Any]) -> Result:
        """Estimate the mean of the first of two kinds of choices less the second, within cases."""
        first, second = (_means(values[of], self.context[of], self.n_contexts) for of in rows)
        cases = np.flatnonzero(~np.isnan(first - second))
        if few := few_contexts(len(cases), "with both kinds of rows"):
            return replace(result, reason=few)
        kept = (first - second)[cases]
        return mean_of_cases(result, kept, self.clusters.among(cases), "difference")


def parted(
    stated: Floats,
    chosen: Any,
    exact: ArrayLike | None,
    context: ArrayLike | None,
    group: ArrayLike | None,
    *,
    at: str,
    computed: bool,
) -> CaseRows:
    """Part a table into choices, `at` a stake or a level, and reports, NaN in rows without one."""
    require(
        context is not None,
        "context must be given: it says which belief belongs to which choices. Name the column of "
        "the cases.",
    )
    require_probabilities(stated, "belief")
    codes, cases = as_contexts(context, len(stated))
    told = ~np.isnan(stated)
    both = np.isin(codes, np.intersect1d(codes[chosen], codes[told]))
    require(
        bool(both.any()),
        f"context must name cases that have a belief and a choice with {at}; none of {len(cases)} "
        "has both. Give both kinds of rows the same ids.",
    )
    posterior = np.full(len(cases), math.nan)
    if exact is not None and not np.isnan(values := as_numbers(exact, "exact")).any():
        require_probabilities(values, "exact")
        of, labels = as_codes(values, "exact", len(values))
        remedy = "Give each context one posterior."
        posterior = np.array(labels)[of_contexts(of, labels, codes, cases, "exact", remedy)]
    used = np.flatnonzero(both & (chosen | told))
    numbers, of_row = np.unique(codes[used], return_inverse=True)
    names = tuple(cases[number] for number in numbers)
    clusters = Clusters("context", np.arange(len(names), dtype=np.int64))
    if group is not None:
        clusters = Clusters("group", groups_of_contexts(np.asarray(group)[used], of_row, names)[0])
    report, choice = told[used], np.asarray(chosen)[used]
    reports = reports_of(stated[used][report], of_row[report], len(names), computed=computed)
    reports = replace(reports, exact=posterior[numbers])
    n_dropped = len(stated) - len(used)
    return CaseRows(used[choice], of_row[choice], reports, names, clusters, len(used), n_dropped)


def reports_of(values: Floats, context: Codes, n: int, *, computed: bool) -> CaseReports:
    """Return mean and noise of the reports of `n` contexts."""
    number = np.bincount(context, minlength=n)
    mean = np.bincount(context, values, n) / number
    away, degrees = values - mean[context], int((number - 1).sum())
    noise = 0.0 if computed else float(away @ away) / degrees if degrees else math.nan
    once, unknown = not (computed or noise > NOTHING), np.full(n, math.nan)
    return CaseReports(values, context, mean, number, noise, once, unknown)


def asked_of(data: EvaluationData) -> dict[str, Any]:
    """Return the arguments that both checks take from an evaluation's questions."""
    rows = data.questions
    assert rows is not None
    options = [name for name in rows if str(name).startswith(ACTION_PREFIX)]
    return {
        "belief": rows["belief"],
        "action": rows[options] if options else rows["action"],  # a column for each option
        "context": rows["context"],
        "group": rows["group"] if rows["group"].notna().all() else None,
        "computed": data.computed,
    }


def shares_of(action: Any, n: int) -> tuple[list[str], Floats]:
    """Return the actions and the share of each in every row, 0 where no choice was made."""
    actions = as_known_actions(action, n)
    labels = [str(label).removeprefix(ACTION_PREFIX) for label in actions.labels]
    return labels, np.nan_to_num(actions.share)


def around(value: float, reach: float, method: str) -> Interval:
    """Return the 95% interval that reaches as far on both sides."""
    return Interval(value - reach, value + reach, 0.95, method)


def mean_of_cases(result: Result, values: Floats, clusters: Clusters, what: str) -> Result:
    """Estimate the mean over cases of these values of `what`."""
    interval, reason = interval_or_reason(values, clusters, what)
    return replace(result, statistic=float(values.mean()), interval=interval, reason=reason)


def least_squares(columns: Floats, values: Floats) -> Floats:
    """Return the values that a regression on these columns predicts."""
    return np.asarray(columns @ np.linalg.lstsq(columns, values, rcond=None)[0])


def share_table(
    values: Floats, cell: Codes, context: Codes, name: str, **columns: Any
) -> pd.DataFrame:
    """Return the share in each cell that has rows, with a 95% interval over cases."""
    n_cells = len(next(iter(columns.values())))
    shares = context_shares(values[:, None], cell, context, n_cells)
    found = {name: shares.share[:, 0], "low": shares.low[:, 0], "high": shares.high[:, 0]}
    table = pd.DataFrame({**columns, **found, "n_contexts": shares.n_contexts})
    return table[table["n_contexts"] > 0].reset_index(drop=True)


def require_one_per_row(belief: Any, context: Any = None, **values: Any) -> None:
    """Refuse columns that are shorter or longer than the beliefs, or stand in another order."""
    require_aligned(belief=belief, context=context, **values)
    for name, column in values.items():
        require(
            column is None or len(column) == len(belief),
            f"{name} must have one value per row of belief; received "
            f"{0 if column is None else len(column)} values for {len(belief)} rows.",
        )


def require_probabilities(values: Floats, name: str, *, strict: bool = False) -> None:
    """Refuse numbers outside of [0, 1], or (0, 1); NaN is left to others."""
    wrong = (values <= 0) | (values >= 1) if strict else (values < 0) | (values > 1)
    if wrong.any():
        known, at = values[~np.isnan(values)], int(wrong.argmax())
        raise InputError(
            f"{name} must hold numbers in {'(0, 1)' if strict else '[0, 1]'}; {wrong.sum()} of "
            f"{len(known)} do not, the first is {values[at]:g} at position {at}."
            + " Divide percentages by 100."
            * are_percentages(known)
        )


# What the noise of reports does


def without_copies(stated: Floats, stake: Floats, context: ArrayLike) -> Floats:
    """Leave out reports that were not asked for: one beside many choices, or copied to all stakes.

    Where in nearly every case with several all reports at a stake are equal, or those at one stake
    are those at the others.
    """
    case = pd.factorize(pd.Series(context).to_numpy(dtype=object))[0]
    rows = pd.DataFrame({"case": case, "stake": stake, "value": stated}).round(9).dropna()

    def copied(values: Any) -> bool:
        several = values.size() > 1
        return bool((values.nunique()[several] == 1).mean() >= COPIED)  # of none NaN

    if copied(rows.groupby(["case", "stake"])["value"]):
        rows = rows.drop_duplicates(["case", "stake"])
    ordered = rows.sort_values("value").groupby(["case", "stake"])["value"].agg(tuple)
    if copied(ordered.groupby("case")):
        rows = rows[rows["stake"] == rows.groupby("case")["stake"].transform("first")]
    kept = np.isnan(stake)  # beliefs that were asked apart are no copies
    kept[rows.index] = True
    return np.where(kept, stated, math.nan)


def without_noise(estimates: Floats, factor: float) -> Floats:
    """Extrapolate what was estimated from each of these beliefs to no noise."""
    parts = estimates[1:] if len(estimates) > 1 else estimates
    return np.asarray(estimates[0] + factor * (estimates[0] - parts.mean(axis=0)))


def _means(values: Floats, context: Codes, n: int) -> Floats:
    """Average values by context; NaN of one that has none."""
    with np.errstate(invalid="ignore"):
        return context_means(values, context, n)


# A logit of shares of choices


@dataclass(frozen=True)
class Logit:
    """A fitted logit."""

    columns: Floats  # shape (n, k)
    share: Floats  # shape (n,)
    number: Floats  # choices behind each share
    ridge: Floats  # shape (k, k)
    coefficients: Floats  # shape (k,)

    def without(self, cluster: Codes, n: int) -> Floats:
        """Return the coefficients without each of `n` clusters, to one step: shape (n, k)."""
        likely = expit(self.columns @ self.coefficients)
        products = self.columns[:, :, None] * self.columns[:, None, :]
        products = products * (self.number * likely * (1.0 - likely))[:, None, None]
        k = self.columns.shape[1]
        scores, curves = np.zeros((n, k)), np.zeros((n, k, k))
        np.add.at(scores, cluster, self.columns * (self.number * (self.share - likely))[:, None])
        np.add.at(curves, cluster, products)
        rest = products.sum(axis=0) + self.ridge - curves
        return self.coefficients - np.linalg.solve(rest, scores[..., None])[..., 0]


def logit(
    columns: Floats,
    share: Floats,
    *,
    number: Floats | float = 1.0,
    ridge: Floats | None = None,
    start: Floats | None = None,
) -> Logit:
    """Fit a logit of shares by Newton's method, a little shrunk so that it is always finite."""
    n, k = columns.shape
    count = np.full(n, number)
    shrunk = n * RIDGE * np.eye(k) if ridge is None else ridge
    found = np.zeros(k) if start is None else start
    for _ in range(100):
        likely = expit(np.clip(columns @ found, -30.0, 30.0))
        slope = columns.T @ (count * (share - likely)) - shrunk @ found
        curved = (columns * (count * likely * (1.0 - likely))[:, None]).T @ columns
        step = np.linalg.solve(curved + shrunk, slope)
        largest = float(np.abs(step).max())
        found = found + step * min(1.0, 20.0 / max(largest, 1e-300))
        if largest < 1e-8:
            break
    return Logit(columns, share, count, shrunk, found)


def jackknife(moved: Floats) -> Floats:
    """Return the covariance of estimates times the square of a t quantile.

    By how they move without each cluster in turn, shape (n, k); roots of the diagonal are the half
    lengths of 95% intervals.
    """
    n = len(moved)
    return np.asarray(float(stats.t.ppf(0.975, n - 1)) ** 2 * (n - 1) / n * moved.T @ moved)
