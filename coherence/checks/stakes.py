"""Stated stakes: whether the agent acts where its stated belief pays, and what it loses.

A question offers an action with published payoffs: acting gains g if the event happens and costs c
if it does not, passing leaves all as it is. Under utility that is linear in the payoffs acting pays
from a probability of t = c / (g + c), so that the belief is compared with a threshold that is
known. With g + c as the unit, choosing against the belief b loses abs(b - t). Assumes independent
cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import optimize

from coherence.checks.by_name import takes_columns
from coherence.checks.check import CallsAndNotes, Check, Interpretation
from coherence.checks.level_rows import (
    LevelRows,
    Reports,
    contrast,
    jackknife,
    level_rows,
    logit,
    order_effect,
    require_one_per_row,
)
from coherence.checks.questions import asked_for, plan_of
from coherence.inputs import (
    Floats,
    few_contexts,
    require_aligned,
)
from coherence.result import CheckResult, Family, Interval, contributions_to_mean
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.mean_interval import interval_or_reason
from coherence.statistics.resample import Clusters, context_means
from coherence.table.needs import NEEDS_STAKES, STAKES_QUESTIONS
from coherence.table.schema import FRAMES, STAKES

ACT, PASS = FRAMES[STAKES]
LEAST_SWING = 0.2
"""Least lower end of the swing with which a choice counts as going by the stated belief.

A size, no significance: computed answers have no sampling error, and any swing would be
significant.
"""
ROUNDING = 1e-9
MOST_LEFT_OUT = 5  # parts of the reports that are left out one by one
LOGIT = "logit of choices, noise of reports extrapolated to none; jackknife of {clusters}, t"
SEPARATED = "all lines that part the choices: these are parted without error"
NULLS = {
    "swing": "share that acts at the highest third of stated beliefs minus at the lowest",
    "regret_stated": "mean loss against acting on the stated belief",
    "regret_exact": "mean loss against acting on the exact posterior",
    "slope": "rise of the stated belief from which the agent acts with the one from which it pays",
    "intercept": "stated belief from which the agent would act where acting always pays",
    "order": "how much more often an option is chosen where it is named first",
}
UNITS = {"regret_stated": "of gain + cost", "regret_exact": "of gain + cost", "slope": "ratio"}
"""Of what is no probability."""
ASSUMPTIONS = (
    "contexts are independent",
    "reports differ from the belief behind them by noise of mean 0",
    "utility is linear in the payoffs",
)


@takes_columns("belief", "action", "level", "exact", "order", "context", "group")
def stakes_estimates(
    belief: ArrayLike,
    action: ArrayLike,
    level: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    exact: ArrayLike | None = None,
    order: ArrayLike | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    computed: bool = False,
) -> list[CheckResult]:
    """Estimate how choices at stated stakes go by stated beliefs, and what they lose.

    Rows are of two kinds: with a stated belief and no level, or with a choice and its level.

    Null: none is tested.

    Estimand: the mean loss against acting on the stated belief (in units of gain plus cost; cases
    count alike), and the slope on the stated threshold of the belief from which the agent acts (a
    ratio, 1 if coherent; choices count alike).

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probability of the event, in [0, 1]; NaN in rows with a level.
    action : array-like, shape (n,) or (n, 2)
        "act" or "pass" in rows with a level, or columns with the probabilities of the two; any
        other label is a refusal.
    level : array-like, shape (n,)
        Probability of the event from which acting pays, in (0, 1); NaN in rows with a belief.
    data : DataFrame, optional
        Table; arguments may then name its columns.
    exact : array-like, shape (n,), optional
        Exact posterior probability of the event; constant within a context.
    order : array-like, shape (n,), optional
        Option that is named first, "act" or "pass".
    context : array-like, shape (n,)
        Ids of the evidence, of which each has rows of both kinds.
    group : array-like, shape (n,), optional
        What contexts share; groups are then the clusters of resampling, at least ten.
    computed : bool
        Whether beliefs were computed from a model's distribution and have no noise.

    Returns
    -------
    list of CheckResult
        ``stakes:swing`` (of acting with the stated belief; the gate of slope and intercept, which
        `settings` call ``answered``),
        ``stakes:regret_stated``, ``stakes:regret_exact`` (`details` by level), ``stakes:slope`` and
        ``stakes:intercept`` of the line from the level to the stated belief from which the agent
        acts (1 and 0 if it is coherent with linear utility; `details` of the slope, by level) and
        ``stakes:order``.

    Raises
    ------
    InputError
        A level outside of (0, 1), an order that is none, no context with both kinds of
        rows.

    Notes
    -----
    Regret is the mean over contexts of the mean loss over their questions, max(b - t, 0) - a (b -
    t) for the share a that acts. The line is that of a logit of acting on level t, belief b and
    order: the agent acts from -(b_0 + b_t t) / b_b, with the slope -b_t / b_b. Noise of reports
    adds to regret, since the loss is convex in b, and to the slope. Both are therefore computed
    from the mean of all reports and from the means without a part of them, and extrapolated in a
    line to a variance of 0; with one report a case neither is given. Where choices are parted
    without error slope and intercept are those of all lines that part them.

    References
    ----------
    Quenouille (1956), Biometrika 43(3), and Carroll, Ruppert, Stefanski and Crainiceanu (2006),
    Measurement Error in Nonlinear Models, chapter 5, on extrapolation; MacKinnon, Nielsen and Webb
    (2023), Journal of Econometrics 232(2), on the jackknife by cluster.

    Examples
    --------
    >>> import numpy as np
    >>> rng, level = np.random.default_rng(1), np.tile([0.1, 0.25, 0.5, 0.75, 0.9], 60)
    >>> case, stated = np.repeat(np.arange(60), 5), rng.uniform(size=60)
    >>> acts = rng.random(300) < 1 / (1 + np.exp(20 * (0.5 - stated[case])))  # whatever the stakes
    >>> results = stakes_estimates(
    ...     np.r_[stated, np.full(300, np.nan)],
    ...     np.r_[np.full(60, None), np.where(acts, "act", "pass")],
    ...     np.r_[np.full(60, np.nan), level], context=np.r_[np.arange(60), case], computed=True,
    ... )
    >>> slope = results[3]
    >>> bool(slope.interval.low < 0 < slope.interval.high < 0.5), results[2].reason
    (True, 'the exact posterior is not known')
    """
    require_aligned(belief=belief, group=group)
    require_one_per_row(belief, group=group)
    rows = level_rows(
        belief, action, level, exact, order, context, options=(ACT, PASS), computed=computed
    )
    return _estimates(rows, rows.clusters(group))


def _estimates(rows: LevelRows, clusters: Clusters) -> list[CheckResult]:
    n = len(rows.cases)
    blank = {
        name: CheckResult(
            check=f"stakes:{name}",
            null=null,
            statistic=math.nan,
            unit=UNITS.get(name, "probability"),
            interval=None,
            pvalue=None,
            n_rows=len(rows.used),
            n_contexts=n,
            n_dropped=rows.n_dropped,
            settings={
                "n_levels": int(np.unique(rows.level).size),
                "n_refused": int(rows.refused.sum()),
                "clusters": clusters.name,
            },
            assumptions=ASSUMPTIONS,
        )
        for name, null in NULLS.items()
    }
    if why := rows.never_chosen or few_contexts(n) or clusters.too_few:
        return [replace(result, reason=why) for result in blank.values()]
    swing = _swing(blank["swing"], rows, clusters)
    return [
        swing,
        _regret_stated(blank["regret_stated"], rows, clusters),
        _regret_exact(blank["regret_exact"], rows, clusters),
        *_line(blank["slope"], blank["intercept"], rows, clusters, swing),
        order_effect(blank["order"], rows.context, rows.first, rows.chose, clusters),
    ]


def _swing(blank: CheckResult, rows: LevelRows, clusters: Clusters) -> CheckResult:
    """Tell whether acting goes by the stated belief at all."""
    beliefs, n = rows.reports.mean, len(rows.cases)
    low, high = np.quantile(beliefs, [1 / 3, 2 / 3])
    thirds = (beliefs >= high, beliefs <= low) if low < high else (beliefs > high, beliefs < low)
    if not (thirds[0].any() and thirds[1].any()):
        return replace(blank, reason="stated beliefs hardly vary")
    acts = context_means(rows.chose - _at_its_level(rows, rows.chose), rows.context, n)
    upper, lower = (float(acts[third].mean()) for third in thirds)
    swing = upper - lower
    # To first order what each case adds to the difference between the two means.
    values = swing + n * (
        thirds[0] * (acts - upper) / thirds[0].sum() - thirds[1] * (acts - lower) / thirds[1].sum()
    )
    interval, _ = interval_or_reason(values, clusters, "swing")
    if interval is None:
        interval = Interval(swing, swing, 0.95, "all cases of a third act alike")
    return replace(
        blank,
        statistic=swing,
        interval=interval.within(-1.0, 1.0),
        settings={**blank.settings, "answered": interval.low > LEAST_SWING},
    )


def _at_its_level(rows: LevelRows, values: Floats) -> Floats:
    """Return the mean at the level of each choice."""
    _, at = np.unique(rows.level, return_inverse=True)
    return np.asarray((np.bincount(at, values) / np.bincount(at))[at])


# Reports without their noise


@dataclass(frozen=True)
class _Thinned:
    """Mean reports of all cases, then without one part of the reports after the other."""

    beliefs: Floats  # shape (1 + n_parts, n_contexts); NaN of a case without a second report
    factor: float  # how much further it is to no noise than from a part to the whole

    def without_noise(self, estimate: Callable[[Floats], Floats]) -> Floats:
        """Extrapolate what is estimated from beliefs to a variance of their noise of 0."""
        whole = estimate(self.beliefs[0])
        if len(self.beliefs) == 1:
            return whole
        parts = np.mean([estimate(beliefs) for beliefs in self.beliefs[1:]], axis=0)
        return np.asarray(whole + self.factor * (whole - parts))


def _thinned(reports: Reports) -> _Thinned:
    if not reports.noise > 0:
        return _Thinned(reports.mean[None, :], 0.0)
    n_parts = min(int(reports.number.max()), MOST_LEFT_OUT)
    part = pd.Series(reports.context).groupby(reports.context).cumcount().to_numpy() % n_parts
    several = reports.number > 1
    beliefs, more = [np.where(several, reports.mean, np.nan)], np.zeros(len(several))
    for left_out in range(n_parts):
        kept = part != left_out
        number = np.bincount(reports.context[kept], minlength=len(several))
        total = np.bincount(reports.context[kept], reports.values[kept], len(several))
        beliefs.append(np.divide(total, number, out=np.full(len(several), np.nan), where=several))
        more[several] += (1 / number[several] - 1 / reports.number[several]) / n_parts
    return _Thinned(np.array(beliefs), float((1 / reports.number[several]).sum() / more.sum()))


# Regret


def _loss(rows: LevelRows, beliefs: Floats) -> Floats:
    """Return what each choice loses against acting on the belief of its case."""
    gain = beliefs[rows.context] - rows.level
    return np.asarray(np.maximum(gain, 0.0) - rows.chose * gain)


def _regret_stated(blank: CheckResult, rows: LevelRows, clusters: Clusters) -> CheckResult:
    """Estimate the loss against the belief behind the reports, or what it is at most."""
    reports = rows.reports
    if math.isnan(reports.noise):
        most = _regret(blank, rows, _loss(rows, reports.mean), clusters)
        reason = "one report a case: its noise would add to the loss"
        if most.interval is None:
            return replace(blank, reason=reason)
        return replace(
            blank,
            reason=f"{reason}, which is at most {most.high:.3f}",
            settings={**blank.settings, "at_most": most.high},
        )
    loss = _thinned(reports).without_noise(lambda beliefs: _loss(rows, beliefs))
    return _regret(blank, rows, loss, clusters)


def _regret_exact(blank: CheckResult, rows: LevelRows, clusters: Clusters) -> CheckResult:
    if np.isnan(rows.reports.exact).any():
        return replace(blank, reason="the exact posterior is not known")
    return _regret(blank, rows, _loss(rows, rows.reports.exact), clusters)


def _regret(blank: CheckResult, rows: LevelRows, loss: Floats, clusters: Clusters) -> CheckResult:
    """Average losses by case, then over the cases of which they are known."""
    known = ~np.isnan(loss)
    cases, case = np.unique(rows.context[known], return_inverse=True)
    if why := few_contexts(len(cases), "with two reports"):
        return replace(blank, reason=why)
    values = context_means(loss[known], case, len(cases))
    interval, reason = interval_or_reason(values, _of(clusters, cases), "loss")
    of_cases = pd.Series(values, index=[rows.cases[case] for case in cases])
    return replace(
        blank,
        statistic=float(values.mean()),
        interval=None if interval is None else interval.within(0.0, 1.0),
        reason=reason,
        n_contexts=len(cases),
        contributions=contributions_to_mean(of_cases),
        details=pd.DataFrame({"level": rows.level, "acts": rows.chose, "regret": loss})[known]
        .groupby("level", as_index=False)
        .agg(n_questions=("acts", "size"), acts=("acts", "mean"), regret=("regret", "mean")),
    )


def _of(clusters: Clusters, cases: Any) -> Clusters:
    """Return the clusters of some cases, numbered anew."""
    return Clusters(clusters.name, np.unique(clusters.of_context[cases], return_inverse=True)[1])


# The line from the level to the belief from which the agent acts


def _line(
    slope: CheckResult,
    intercept: CheckResult,
    rows: LevelRows,
    clusters: Clusters,
    swing: CheckResult,
) -> tuple[CheckResult, CheckResult]:
    """Estimate slope and intercept, or say why there are none."""
    levels = np.unique(rows.level)
    directions = np.array([(0.0, 1.0), (1.0, 0.0), *((1.0, level) for level in levels)])
    if why := _no_line(rows, clusters, swing, len(levels)):
        return replace(slope, reason=why), replace(intercept, reason=why)
    estimate, intervals = _parting_lines(rows, directions) or _fitted_lines(
        rows, clusters, directions
    )
    details = pd.DataFrame(
        {
            "level": levels,
            "acts_from": estimate[2:],
            "low": [interval.low for interval in intervals[2:]],
            "high": [interval.high for interval in intervals[2:]],
        }
    )
    found = []
    for at, blank in enumerate((slope, intercept)):
        result = replace(blank, statistic=float(estimate[at]), interval=intervals[at])
        if not np.isfinite([intervals[at].low, intervals[at].high]).all():
            why = (
                "choices are parted without error by all lines with a slope or an intercept in "
                f"[{intervals[at].low:.3g}, {intervals[at].high:.3g}]"
            )
            result = replace(blank, reason=why)
        found.append(result)
    return replace(found[0], details=details), found[1]


def _no_line(rows: LevelRows, clusters: Clusters, swing: CheckResult, n_levels: int) -> str:
    acts = float(rows.chose.mean())
    if acts in (0.0, 1.0):
        always = "acts" if acts else "passes"
        return f"it always {always}, in all of {len(rows.chose)} choices"
    if n_levels < 2:
        return "all questions state one level"
    if math.isnan(rows.reports.noise):
        return "one report a case: its noise would make the line steeper than it is"
    several = rows.reports.number > (rows.reports.noise > 0)
    few = few_contexts(int(several.sum()), "with two reports")
    if why := few or _of(clusters, several).too_few or swing.reason:
        return why
    if not swing.settings["answered"]:
        return (
            f"choices do not go by the stated belief: acts gain {swing.statistic:.3f} from its "
            f"lowest to its highest third (lower end {swing.low:.3f}, and {LEAST_SWING:g} is "
            f"needed); it acts in {acts:.1%} of choices"
        )
    return ""


def _fitted_lines(
    rows: LevelRows, clusters: Clusters, directions: Floats
) -> tuple[Floats, list[Interval]]:
    """Fit a logit of acting; return sums of intercept and slope, as `directions` has them."""
    thinned = _thinned(rows.reports)
    cases = np.flatnonzero(~np.isnan(thinned.beliefs[0]))

    def fit(chosen: Any, beliefs: Floats, start: Floats | None) -> Floats:
        level, belief = rows.level[chosen], beliefs[rows.context[chosen]]
        columns = np.column_stack(
            [np.ones(len(level)), level - 0.5, belief - 0.5, contrast(rows.first[chosen])]
        )
        return logit(columns, rows.chose[chosen], start)

    first = fit(np.isin(rows.context, cases), thinned.beliefs[0], None)

    def of_part(keep: Any) -> Floats:
        chosen = np.isin(rows.context, cases[keep])

        def lines(beliefs: Floats) -> Floats:
            constant, by_level, by_belief, _ = fit(chosen, beliefs, first)
            slope = -by_level / by_belief
            intercept = 0.5 - constant / by_belief - 0.5 * slope
            return np.asarray(directions @ np.array([intercept, slope]))

        return thinned.without_noise(lines)

    whole = np.ones(len(cases), dtype=bool)
    estimates = jackknife(of_part(whole), of_part, _of(clusters, cases), LOGIT)
    return estimates.estimate, [estimates.interval(at) for at in range(len(directions))]


def _parting_lines(rows: LevelRows, directions: Floats) -> tuple[Floats, list[Interval]] | None:
    """Return the middle and the ends of all lines that part the choices; None if none does."""
    if rows.reports.noise > 0 or not np.isin(rows.chose, (0.0, 1.0)).all():
        return None
    table = pd.DataFrame(
        {
            "level": rows.level,
            "first": rows.first,
            "acts": rows.chose > 0,
            "belief": rows.reports.mean[rows.context],
        }
    )
    # The least belief that acts and the greatest that passes, of each question.
    nearest = table.groupby(["level", "first", "acts"])["belief"].agg(["min", "max"]).reset_index()
    sign = np.where(nearest["acts"], 1.0, -1.0)
    by_order = contrast(nearest["first"].to_numpy())
    line = np.column_stack([np.ones(len(nearest)), nearest["level"], by_order])
    bound = sign * np.where(nearest["acts"], nearest["min"], nearest["max"])
    margin = optimize.linprog(
        [0.0, 0.0, 0.0, -1.0],
        A_ub=np.column_stack([sign[:, None] * line, np.ones(len(line))]),
        b_ub=bound,
        bounds=[(None, None)] * 3 + [(None, 1.0)],
    )
    if margin.x is None or margin.x[-1] <= ROUNDING:
        return None

    def least(direction: Iterable[float]) -> float:
        order = None if by_order.any() else 0.0
        free = [(None, None), (None, None), (order, order)]
        found = optimize.linprog([*direction, 0.0], sign[:, None] * line, bound, bounds=free)
        return -math.inf if found.fun is None else float(found.fun)

    ends = [(least(direction), -least(-direction)) for direction in directions]
    middle = np.array([(low + high) / 2 for low, high in ends])
    return middle, [Interval(low, high, 0.95, SEPARATED) for low, high in ends]


# In an analysis


def _of_evaluation(_: pd.DataFrame, **about: Any) -> list[CheckResult]:
    """Estimate from the questions of an evaluation; what all or the line lack is said once."""
    results = stakes_estimates(**about)
    if all(math.isnan(result.statistic) for result in results):
        return results[:1]
    by_name = {result.check.partition(":")[2]: result for result in results}
    slope, intercept = by_name["slope"], by_name["intercept"]
    if not slope.reason or slope.reason != intercept.reason:
        return results
    rest = [result for result in results if result not in (slope, intercept)]
    return [replace(rest[0], reason=slope.reason), *rest[1:]]


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    """Estimate where cases have both a belief and an answered question."""
    return plan_of(data, STAKES_QUESTIONS, "stakes", FRAMES[STAKES], _of_evaluation)


CHECK = Check(
    name="stakes",
    needs=NEEDS_STAKES,
    sentences={
        name: Interpretation(estimate=text)
        for name, text in (
            (
                "swing",
                "From the lowest to the highest third of {belief}s, the share that acts rises by "
                "{value:.3f}.",
            ),
            (
                "regret_stated",
                "Against acting on the {belief}, choices lose {value:.3f} of gain and cost on "
                "average.",
            ),
            (
                "regret_exact",
                "Against acting on the exact posterior, choices lose {value:.3f} of gain and cost "
                "on average.",
            ),
            (
                "slope",
                "The {belief} from which it acts rises {value:.3f} times as much as that from "
                "which acting pays.",
            ),
            ("intercept", "Where acting always pays, it would act from {value:.3f}."),
            ("order", "An option is chosen {value:.3f} more often where it is named first."),
        )
    },
    plan=_plan,
    by_itself=asked_for(STAKES_QUESTIONS),
    family=Family.ESTIMATE,
)
