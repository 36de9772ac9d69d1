"""Persons who judge the same cases: whether choices go with the truth at each person's own belief.

Choice and truth are freed of a line of each person's own on the own belief and of bends that all
share (Frisch and Waugh 1933); the effect is the slope of what is left. Its variance is that of the
jackknife over cases, plus that over persons, less that of rows (Cameron, Gelbach and Miller 2011,
whose sandwich rejects .10 of coherent panels with 25 cases). There are no draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

from coherence.checks.check import blank
from coherence.checks.sufficiency_result import SEPARATED, Sufficiency, lack_of
from coherence.inputs import Codes, Floats, require
from coherence.result import EXACT_REPORT, Estimate, Interval, Lack
from coherence.statistics.evaluation import EvaluationData, one_dimensional
from coherence.statistics.figure_tables import shares_by_side, sides_of
from coherence.statistics.report_noise import Reports, kind_of_reports
from coherence.statistics.resample import less_means

OWN_BELIEF = "own belief"
"""Name of the test."""
FEWEST_OF_STATE = 5  # cases of either truth
FEWEST_CASES = 10  # with the exact posterior
KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)  # quantiles of the beliefs (Harrell 2015, table 2.3)
RESOLVED, NOTHING = 0.005, 1e-9  # root mean squares of what is left: of a posterior, of choices
NULL = (
    "given each person's own belief{group}, the action that rises most with it does not covary "
    "with the {state}"
)
FEW = "{persons} persons share {n} cases{of}, however many persons judge each"
ALIKE = "own beliefs{group} leave nothing of the truth open: nothing to compare"
FOLLOWS = (
    "change in P(action) from a stated belief of 0 to one of 1, by least squares, each person with "
    "a level; of the action that rises most"
)
SAME = "each person's belief is the same in every case"
SETTLED = "each person's own belief settles the action, and leaves the truth nothing to move"


def own_belief_test(data: EvaluationData, level: float) -> tuple[partial[Sufficiency], Estimate]:
    """Return `sufficiency_test` of a panel, and the slope of choice on the own belief."""
    person, belief = _persons(data), one_dimensional(data, "a panel of persons")
    n_persons, case, exact = int(person.max()) + 1, data.context, data.exact is not None
    cell = np.unique(case * n_persons + person, return_inverse=True)[1].ravel()
    grouped = data.group is not None and len(data.groups) > 1
    group = " and the group" if grouped else ""
    state = data.exact if data.exact is not None else data.truth.astype(np.float64)
    named = "exact posterior of the state" if exact else "realised state"
    undefined = blank(
        Sufficiency,
        data,
        "sufficiency",
        NULL.format(group=group, state=named),
        "probability",
        pvalue=math.nan,
        settings={"cluster of resampling": "case and person"},
        state="exact" if exact else "realised",
        n_persons=n_persons,
        test=OWN_BELIEF,
        # Noise is told by the reports that one person made of one case.
        reports=Reports.EXACT if data.computed else kind_of_reports(belief, cell)[0],
    )
    slope = Estimate(math.nan, math.nan, math.nan, "probability", FOLLOWS, SAME)
    reason, lack = _lacking(data, n_persons, state)
    if reason:
        return partial(undefined, reason=reason, lack=lack), slope
    own, share, common = less_means(belief, person), data.share, _bends(belief)
    n_others = max(share.shape[1] - 1, 1)
    if grouped and data.group is not None:
        common = np.hstack([common, np.eye(len(data.groups))[data.group][case][:, 1:]])
    if own @ own > NOTHING:
        along = _fit(own, np.zeros((len(own), 0)), less_means(share, person), case, person)
        at = int(np.argmax(np.round(along.slopes, 9)))
        low, high = along.ends(1 - (1 - level) / n_others)
        value = float(along.slopes[at])
        slope = Estimate(value, float(low[at]), float(high[at]), "probability", FOLLOWS)
    else:  # no belief moves: the most frequent action is shown
        at = int(np.argmax(np.round(share.mean(axis=0), 9)))
    others, truth, choices = (_freed(of, own, person) for of in (common, state[:, None], share))
    truth, choices = _beyond(others, truth), _beyond(others, choices)
    left = float(np.sqrt((truth**2).mean()))
    alike = partial(undefined, reason=ALIKE.format(group=group), lack=Lack.OPEN)
    if left < (min(RESOLVED, 0.1 * float(state.std())) if exact else NOTHING):
        return alike, slope
    if float(np.sqrt((choices[:, at] ** 2).mean())) < NOTHING:
        nothing = partial(undefined, statistic=0.0, pvalue=1.0, reason=SETTLED, settled=True)
        return nothing, slope
    # The posterior differs less than the truth, by the toss between them: in units of the truth,
    # whose difference is named.
    toss = None if data.exact is None else _toss(data.exact, own, person, others, case)
    fit = _fit(truth[:, 0], others, choices, case, person, toss)
    if fit.degrees < 1:
        return alike, slope
    low, high = fit.ends(level)
    size = np.abs(fit.slopes)
    with np.errstate(divide="ignore", invalid="ignore"):
        pvalues = 2 * stats.t.sf(size / fit.errors, fit.degrees)
    pvalues = np.where(fit.errors > 0, pvalues, np.where(size > NOTHING, 0.0, 1.0))
    details = pd.DataFrame(
        {
            "component": data.difference_names(data.states[1], data.states[0]),
            "estimate": fit.slopes,
            "standard_error": fit.errors,
            "low": low,
            "high": high,
            "pvalue_single": pvalues,
            "pvalue_adjusted": np.minimum(1.0, pvalues * n_others),  # Bonferroni
        }
    )
    moved = fit.moved[:, at] - fit.moved[:, at].mean()
    total = float(np.sqrt(moved @ moved))
    ends = Interval(float(low[at]), float(high[at]), level, "jackknife over cases and persons")
    side = sides_of(truth[:, 0], state, exact=exact)
    result = partial(
        undefined,
        statistic=float(fit.slopes[at]),
        interval=ends.within(-1.0, 1.0),
        pvalue=float(pvalues[at]),
        component=details["component"][at],
        action=str(data.actions[at]),
        states=[str(data.states[1]), str(data.states[0])],
        n_counting=round(fit.n_counting, 1),
        p_direction=float(pvalues[at]),
        details=details,
        assumptions=(
            "cases are independent, and persons are",
            "choices rise with the own belief by a line of each person's own and bends of all",
            EXACT_REPORT,
        ),
        contributions=data.by_context(moved * (float(fit.errors[at]) / total if total > 0 else 0)),
        fitted=shares_by_side(belief, share, choices, side, case, data.actions),
    )
    return result, slope


def _persons(data: EvaluationData) -> Codes:
    """Return who judged; refuse what is not a panel."""
    assert data.person is not None
    require(
        len(data.states) <= 2,
        f"person takes a state with two labels; truth has {len(data.states)}. Name the state that "
        "the belief is in (positive), to hold it against all others.",
    )
    n_persons = int(data.person.max()) + 1
    pairs = np.unique(np.stack([data.context, data.person]), axis=1)
    require(
        bool((np.bincount(pairs[0], minlength=data.n_contexts) > 1).any()),
        f"person names those who judge shared contexts; each of {data.n_contexts} contexts was "
        f"judged by one of {n_persons} persons alone. Name the person as group (--group) in "
        "place of person (--person); if cases are shared, their ids are the context (--context).",
    )
    return data.person


def _lacking(data: EvaluationData, n_persons: int, state: Floats) -> tuple[str, Lack]:
    """Say why there is nothing to test; empty where there is."""
    lack = lack_of(data)
    if len(data.states) < 2 or (data.degenerate and lack is not Lack.CASES):
        return data.degenerate, Lack.OPEN if lack is Lack.CASES else lack
    of_case = state[np.unique(data.context, return_index=True)[1]]
    least, n, of = FEWEST_CASES, data.n_contexts, f": the test takes {FEWEST_CASES}"
    if data.exact is None:
        least, n = FEWEST_OF_STATE, int(min(of_case.sum(), len(of_case) - of_case.sum()))
        of = f", of which {n} have one truth: the test takes {least} of either"
    if n < least:
        return FEW.format(persons=n_persons, n=data.n_contexts, of=of), Lack.CASES
    return (SEPARATED if data.exact is None and data.separated else ""), Lack.OPEN


def _squares(own: Floats, person: Codes) -> Floats:
    """Sum of squares of each person's beliefs less their mean; 1 where they are all the same."""
    squares: Floats = np.bincount(person, own**2).astype(np.float64)
    return np.where(squares > NOTHING, squares, 1.0)


def _freed(values: Floats, own: Floats, person: Codes) -> Floats:
    """Free columns of each person's level, and slope on beliefs less their mean."""
    if not values.shape[1]:
        return values
    left = less_means(values, person)
    sums = [np.bincount(person, own * column) for column in left.T]
    slopes = np.stack(sums, axis=1) / _squares(own, person)[:, None]
    return np.asarray(left - own[:, None] * slopes[person])


def _bends(belief: Floats) -> Floats:
    """Natural cubic spline of the belief without its line, straight beyond the outer knots."""
    knots = np.unique(np.quantile(belief, KNOTS))
    if len(knots) < 3:
        return np.zeros((len(belief), 0))

    def cube(knot: float) -> Floats:
        return np.asarray(np.maximum(belief - knot, 0) ** 3)

    before, last = (float(knot) for knot in knots[-2:])
    bends = [
        cube(knot)
        - cube(before) * (last - knot) / (last - before)
        + cube(last) * (before - knot) / (last - before)
        for knot in knots[:-2]
    ]
    return np.column_stack(bends) / (last - float(knots[0])) ** 2


def _beyond(others: Floats, values: Floats) -> Floats:
    """Return what columns leave of values, by least squares."""
    if not others.shape[1]:
        return values
    return np.asarray(values - others @ np.linalg.lstsq(others, values)[0])


@dataclass(frozen=True)
class _Fit:
    """Slopes of the actions on one column, both freed of others."""

    slopes: Floats  # shape (n_actions,)
    errors: Floats  # shape (n_actions,)
    n_counting: float  # cases that weigh alike and tell as much: 1 / sum of squared shares
    degrees: float  # of freedom
    moved: Floats  # shape (n_cases, n_actions): what a case moves the slope by

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of the actions."""
        reach = float(stats.t.ppf((1 + level) / 2, self.degrees)) * self.errors
        return self.slopes - reach, self.slopes + reach


def _fit(
    column: Floats,
    others: Floats,
    values: Floats,
    case: Codes,
    person: Codes,
    toss: Floats | None = None,
) -> _Fit:
    """Regress values, shape (n, n_actions), on a column.

    Both are free of `others`, whose coefficients move when clusters are left out. What the `toss`
    adds to the squares of each case makes slopes smaller.
    """
    squares = np.maximum(np.bincount(case, column**2), 1e-300)
    total, design = float(squares.sum()), np.column_stack([column, others])
    whole = squares if toss is None else squares + toss
    part, slope = total / whole.sum(), column @ values / total

    def without(code: Codes) -> Floats:
        """Slopes without each cluster."""
        parts = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code))[:-1])
        squares = np.stack([design[rows].T @ design[rows] for rows in parts])
        products = np.stack([design[rows].T @ values[rows] for rows in parts])
        inverse = np.linalg.pinv(squares.sum(axis=0) - squares, rcond=1e-12, hermitian=True)
        return np.asarray((inverse @ (products.sum(axis=0) - products))[:, 0])

    def variance(each: Floats) -> Floats:
        return np.asarray((len(each) - 1) / len(each) * ((each - part * slope) ** 2).sum(axis=0))

    part_without = (total - squares) / np.maximum(whole.sum() - whole, 1e-300)
    of_cases = part_without[:, None] * without(case)
    of_case, of_person = variance(of_cases), variance(part * without(person))
    of_rows = ((column[:, None] * (values - column[:, None] * slope)) ** 2).sum(axis=0)
    errors = np.sqrt(np.maximum(of_case + of_person - (part / total) ** 2 * of_rows, of_case))
    n_counting = float(total**2 / (squares**2).sum())
    degrees = min(n_counting, int(person.max()) + 1) - 1
    return _Fit(part * slope, errors, n_counting, degrees, part * slope - of_cases)


def _toss(exact: Floats, own: Floats, person: Codes, others: Floats, case: Codes) -> Floats:
    """Return what the toss that decides the truth adds to the squares of the freed posterior.

    Of each case, shape (n_cases,), its variance times the squares left of the case's indicator.
    """
    n_persons = int(person.max()) + 1
    cells, of_row = np.unique(case * n_persons + person, return_inverse=True)
    of_row = of_row.ravel()
    rows: Floats = np.bincount(of_row).astype(np.float64)
    along = np.bincount(of_row, own)
    of_case, of_person = cells // n_persons, cells % n_persons
    explained = rows**2 / np.bincount(person)[of_person]
    explained += along**2 / _squares(own, person)[of_person]
    left = np.bincount(case) - np.bincount(of_case, explained)
    if others.shape[1]:
        sums = np.stack([np.bincount(case, column) for column in others.T], axis=1)
        inverse = np.linalg.pinv(others.T @ others, rcond=1e-12, hermitian=True)
        left = left - np.einsum("ck,kl,cl->c", sums, inverse, sums)
    first = np.unique(case, return_index=True)[1]
    return np.asarray((exact * (1 - exact))[first] * np.maximum(left, 0.0))
