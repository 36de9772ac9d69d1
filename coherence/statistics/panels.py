"""Panels in which several persons judge the same cases: what belongs to the case, what to persons.

The state belongs to the case; beliefs and tastes belong to the person. A linear mixed model,
``choice ~ 0 + case + belief + (1 + belief | person)``, takes out of choices what each person's own
belief and taste explain, and leaves an effect of each case (Baayen, Davidson and Bates 2008, for
crossed random effects). These effects are what whole cases are compared by, at like mean belief:
of those who act on it, since what a straight line misses of their choices goes with their beliefs.
Between persons the estimate varies as its parts do (Cameron, Gelbach and Miller 2011, the part of
persons of their two-way variance).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from coherence.inputs import Codes, Floats, require
from coherence.statistics.evaluation import EvaluationData, one_dimensional
from coherence.statistics.resample import context_means

ITERATIONS = 60  # of EM; the variances need few digits, since any lines leave a valid test
LEAST = 0.01  # weight of a person, of the largest
NOTHING = 1e-12  # of a variance


@dataclass(frozen=True)
class Panel:
    """Rows of persons who judge shared cases, and the cases without what is the persons' own."""

    # a row each: its state, its effect on actions, and its belief, the mean over persons weighed by
    # the slopes of their lines
    cases: EvaluationData
    person: Codes  # shape (n,): of rows
    case: Codes  # shape (n,)
    report: Floats  # shape (n,): beliefs
    rows: Floats  # shape (n, n_actions): choices without the persons' lines; cases hold their means

    @property
    def n_persons(self) -> int:
        """How many persons there are."""
        return int(self.person.max()) + 1

    @property
    def n_per_case(self) -> float:
        """How many persons judge a case, by the harmonic mean, as the noise of a mean goes."""
        pairs = np.unique(np.stack([self.case, self.person]), axis=1)
        return float(1 / np.mean(1 / np.bincount(pairs[0])))

    @property
    def cell(self) -> Codes:
        """Number of the person and the case of each row."""
        number = self.case * self.n_persons + self.person
        return np.asarray(np.unique(number, return_inverse=True)[1].ravel())

    def of_means(self, variance: float) -> float:
        """Return what is left in the means of cases of the variance that rounding gives reports.

        Where persons differ by more than a step, each rounds to another side.
        """
        away = (
            self.report - context_means(self.report, self.case, len(self.cases.contexts))[self.case]
        )
        return max(variance / self.n_per_case, variance - float(away @ away) / len(away))

    def within_persons(self, share: Floats, state: Floats) -> float:
        """Return the difference between states in the action that rises most with the belief.

        By least squares at each person's own belief, persons with a level each: of cases so few
        that nothing tells how far it would lie off in others. `share` has shape (n, n_actions).
        """
        n = np.bincount(self.person)
        columns = np.column_stack([self.report, state, share])
        means = np.stack([np.bincount(self.person, column) / n for column in columns.T], axis=1)
        belief, of_state, *actions = (columns - means[self.person]).T
        squares = float(belief @ belief)
        if squares < NOTHING:
            return math.nan
        rises = max(actions, key=lambda action: round(float(belief @ action) / squares, 9))
        left = of_state - belief * float(belief @ of_state) / squares
        # An exact posterior is less than the realised state, by the toss between them.
        open_state = float(left @ left) + float((state * (1 - state)).sum())
        return float(left @ rises) / open_state if open_state > NOTHING else math.nan

    @property
    def reach(self) -> float:
        """Errors in half of a 95% interval for what persons vary by."""
        return float(stats.t.ppf(0.975, self.n_persons - 1))

    def error(self, weights: Floats, columns: Floats, exposure: Floats) -> float:
        """Return the standard error of a weighted sum over cases that is due to persons alone.

        Parameters
        ----------
        weights : ndarray, shape (n_cases,)
            Of the cases' scores in the sum.
        columns : ndarray, shape (n_actions,)
            Of the actions in a score.
        exposure : ndarray, shape (n_cases,)
            What cases add to the effect, per unit of it; sums to 1.

        Returns
        -------
        float
            Root of the variance between persons beyond what that of their rows makes of it.
        """
        n_rows = np.bincount(self.case).astype(np.float64)
        score = self.rows @ columns
        score = score - score.mean()
        mean = context_means(score, self.case, len(n_rows))
        shares, exposed = ((each / n_rows)[self.case] for each in (weights, exposure))
        parts = np.bincount(self.person, weights=shares * score)
        parts = parts - float(weights @ mean) * np.bincount(self.person, weights=exposed)
        # A mean of n rows leaves (n - 1) / n of their variance.
        away = shares * (score - mean[self.case])
        own = away**2 * (n_rows / np.maximum(n_rows - 1, 1))[self.case]
        ratio = self.n_persons / (self.n_persons - 1)
        return math.sqrt(max(ratio * float(parts @ parts) - float(own.sum()), 0.0))


def as_panel(data: EvaluationData) -> Panel | None:
    """Part rows of persons x cases into cases and persons; contexts are the cases.

    None where no persons are named.
    """
    codes = data.person
    if codes is None:
        return None
    require(
        len(data.states) <= 2,
        f"person takes a state with two labels; truth has {len(data.states)}. Name the state that "
        "the belief is in (positive), to hold it against all others.",
    )
    n_persons = int(codes.max()) + 1
    pairs = np.unique(np.stack([data.context, codes]), axis=1)
    shared = np.bincount(pairs[0], minlength=data.n_contexts)
    require(
        bool((shared > 1).any()),
        f"person names those who judge shared contexts; each of {data.n_contexts} contexts was "
        f"judged by one of {n_persons} persons alone. Name the person as group (--group) in "
        "place of person (--person); if cases are shared, their ids are the context (--context).",
    )
    case, n = data.context, data.n_contexts
    report = one_dimensional(data, "a panel of persons")
    one, along = np.ones(len(report)), report - report.mean()
    lines = np.column_stack([one, along])
    choices, slope, of_persons = without_lines(data.share, lines, along, codes, case, n)
    level = without_lines(report[:, None], one[:, None], None, codes, case, n)[0][:, 0]
    steepness = np.sqrt(((slope + of_persons[:, 1]) ** 2).sum(axis=1))
    weight = np.maximum(steepness, LEAST * max(float(steepness.max()), NOTHING))[codes]
    belief = np.bincount(case, weight * level) / np.bincount(case, weight)
    # What the mean line adds at the belief of the case gives choices their direction again.
    rows = choices + ((belief - report.mean())[:, None] * slope)[case]
    first = np.unique(case, return_index=True)[1]
    cases = EvaluationData(
        belief=belief,
        action=np.empty(0, dtype=np.int64),
        truth=data.truth[first],
        context=np.arange(n, dtype=np.int64),
        actions=data.actions,
        states=data.states,
        contexts=data.contexts,
        policy=context_means(rows, case, n),
        exact=None if data.exact is None else data.exact[first],
        group=data.group,
        groups=data.groups,
    )
    return Panel(cases, codes, case, report, rows)


def without_lines(
    values: Floats,
    lines: Floats,
    common: Floats | None,
    person: Codes,
    case: Codes,
    n_cases: int,
) -> tuple[Floats, Floats, Floats]:
    """Take persons' lines and a common slope out of values; effects of cases and noise are left.

    Columns of values share the variance of the lines, so that what sums to one still does.
    Expectation and maximisation (Laird and Ware 1982), with effects of cases fitted in between.

    Parameters
    ----------
    values : ndarray, shape (n, n_columns)
        Of rows.
    lines : ndarray, shape (n, n_coefficients)
        Regressors with random coefficients of persons, of mean zero.
    common : ndarray, shape (n,), optional
        Regressor with one coefficient.
    person, case : ndarray, shape (n,)
        Codes of rows.
    n_cases : int
        Number of cases.

    Returns
    -------
    tuple of ndarray
        Values without what was explained; the common slope of each column, zero without one; and
        the coefficients of persons, shape (n_persons, n_coefficients, n_columns).
    """
    n_persons, size = int(person.max()) + 1, lines.shape[1]
    squares = np.zeros((n_persons, size, size))
    np.add.at(squares, person, lines[:, :, None] * lines[:, None, :])
    scale = np.maximum((lines**2).mean(axis=0), NOTHING)
    noise = max(float(values.var(axis=0).mean()), NOTHING)
    spread = np.diag(noise / scale)
    coefficients = np.zeros((n_persons, size, values.shape[1]))
    slope = np.zeros(values.shape[1])
    within = np.zeros(len(values))
    if common is not None:
        within = common - context_means(common, case, n_cases)[case]
    for _ in range(ITERATIONS):
        explained = np.einsum("rm,rmk->rk", lines, coefficients[person])
        if common is not None and float(within @ within) > NOTHING:
            slope = within @ (values - explained) / float(within @ within)
            left = values - common[:, None] * slope
        else:
            left = values
        away = left - context_means(left - explained, case, n_cases)[case]
        posterior = np.linalg.inv(squares / noise + np.linalg.inv(spread))
        moments = np.zeros_like(coefficients)
        np.add.at(moments, person, lines[:, :, None] * away[:, None, :])
        coefficients = posterior @ moments / noise
        coefficients = coefficients - coefficients.mean(axis=0)
        outer = np.einsum("pmk,pnk->mn", coefficients, coefficients) / values.shape[1]
        spread = (outer + posterior.sum(axis=0)) / n_persons + np.diag(NOTHING / scale)
        rest = away - np.einsum("rm,rmk->rk", lines, coefficients[person])
        doubt = float(np.einsum("pmn,pnm->", squares, posterior))
        noise = max((float((rest**2).sum()) / values.shape[1] + doubt) / len(values), NOTHING)
    return left - np.einsum("rm,rmk->rk", lines, coefficients[person]), slope, coefficients
