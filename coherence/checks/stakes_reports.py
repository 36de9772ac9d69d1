"""Choices at stakes, and what is known of the noise of the reports that they are held against.

Reports that were not asked again are no repetitions, those that are missing by what was chosen are
no sample, and those that take few values hide more than repetitions show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.checks.case_rows import CaseReports, CaseRows
from coherence.inputs import Codes, Floats
from coherence.statistics.resample import context_means

MOST_LEFT, BY_CHOICE = 0.1, 0.25  # shares: of cases without a second report; that act, apart
COPIED = 0.95  # share of cases whose reports come again, from which all that do are copies
FEWEST_VALUES = 7  # of reports, below which what they round off is no small noise
MOST_LEFT_OUT = 5  # parts of the reports that are left out one by one
ONE_REPORT = "beliefs were asked once a case: their noise would {what}"
SILENT = "confidences are missing by what was chosen: {n} of {all} choices are of cases without any"
FEW_VALUES = "reports take {n} values alone, which stand for many beliefs each: that would {what}"


def without_copies(stated: Floats, stake: Floats, context: ArrayLike) -> Floats:
    """Leave out reports that were not asked for: one beside many choices, or copied to all stakes.

    Where in nearly every case with several all reports at a stake are equal, or those at one stake
    are those at the others.
    """
    case = pd.factorize(pd.Series(context).to_numpy(dtype=object))[0]
    rows = pd.DataFrame({"case": case, "stake": stake, "value": stated}).round(9).dropna()
    values = rows.groupby(["case", "stake"])["value"]
    several = values.size() > 1
    if several.any() and (values.nunique()[several] == 1).mean() >= COPIED:
        rows = rows.drop_duplicates(["case", "stake"])
    ordered = rows.sort_values("value").groupby(["case", "stake"])["value"].agg(tuple)
    of_case = ordered.groupby("case").agg(["size", "nunique"])
    several = of_case["size"] > 1
    if several.any() and (of_case["nunique"][several] == 1).mean() >= COPIED:
        rows = rows[rows["stake"] == rows.groupby("case")["stake"].transform("first")]
    kept = np.isnan(stake)  # beliefs that were asked apart are no copies
    kept[rows.index] = True
    return np.where(kept, stated, math.nan)


def silent_choices(acts: Floats, others: Floats) -> str:
    """Say that choices without a belief differ from the others, if they do and are many."""
    n = len(acts) + len(others)
    if len(acts) <= MOST_LEFT * n or abs(acts.mean() - others.mean()) < BY_CHOICE:
        return ""
    return SILENT.format(n=len(acts), all=n)


@dataclass(frozen=True)
class Choices:
    """Choices at a stake."""

    rows: CaseRows
    stake: Floats  # belief from which acting pays, in [0, 1]
    acts: Floats  # share that acts
    own: Floats  # belief stated in the row itself; NaN where there is none
    silent: str  # that choices of cases without a belief differ, if they do

    def by_case(self, values: Floats) -> Floats:
        """Average values of choices by case."""
        return context_means(values, self.rows.context, len(self.rows.cases))


def thinned(reports: CaseReports) -> tuple[Floats, Floats]:
    """Return mean reports of all cases, then those without one part of the reports after the other.

    NaN of a case without a second report. With them, how much further it is to no noise than from a
    part to the whole, for what goes with the variance of the noise, and with its root.
    """
    if not reports.noise > 0:
        return reports.mean[None, :], np.zeros(2)
    n_parts = min(int(reports.number.max()), MOST_LEFT_OUT)
    part = pd.Series(reports.context).groupby(reports.context).cumcount().to_numpy() % n_parts
    several, powers = reports.number > 1, np.array([[-1.0], [-0.5]])
    whole = reports.number[several] ** powers
    beliefs, more = [reports.mean], np.zeros_like(whole)
    for left_out in range(n_parts):
        kept, n = part != left_out, len(several)
        with np.errstate(invalid="ignore"):
            beliefs.append(context_means(reports.values[kept], reports.context[kept], n))
        number = np.bincount(reports.context[kept], minlength=n)
        more += (number[several] ** powers - whole) / n_parts
    return np.where(several, beliefs, np.nan), whole.sum(axis=1) / more.sum(axis=1)


def left_out(choices: Choices, kept: Codes) -> str:
    """Say that confidences are missing by what was chosen, so that other beliefs are left out."""
    n, silent = len(choices.rows.cases), np.isnan(choices.own)
    if n - len(kept) <= MOST_LEFT * n or not silent.any() or silent.all():
        return ""
    apart = choices.acts[silent].mean() - choices.acts[~silent].mean()
    if abs(apart) < BY_CHOICE:
        return ""
    return (
        f"confidences are missing by what was chosen, and the {n - len(kept)} of {n} cases with "
        "fewer than two hold other beliefs than those with more"
    )


def too_coarse(reports: CaseReports) -> str:
    """Say that reports differ from beliefs by more than repetitions show, and what it would do."""
    n_values = len(np.unique(np.round(reports.values, 9)))
    few = FEW_VALUES.format(n=n_values, what="{what}") if n_values < FEWEST_VALUES else ""
    return ONE_REPORT if reports.once else few


def without_noise(estimates: Floats, factor: float) -> Floats:
    """Extrapolate what was estimated from each of these beliefs to no noise."""
    parts = estimates[1:] if len(estimates) > 1 else estimates
    return np.asarray(estimates[0] + factor * (estimates[0] - parts.mean(axis=0)))
