"""Matching probabilities: the belief that is acted on, in units of probability.

The same prize is offered on the event or with a stated chance; who prefers the event at chance t
acts as if it were better than t (Anscombe and Aumann 1963; Karni 2009). The prize is the same on
both sides, so that utility and risk attitude drop out. Half of the questions offer the complement,
which takes ambiguity attitude out (Baillon, Huang, Selim and Wakker 2018). First of all the choice
must answer the stated chance: else there is no belief to be read off it. Assumes independent cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from coherence.checks.by_name import takes_columns
from coherence.checks.check import CallsAndNotes, Check, Interpretation
from coherence.checks.level_rows import (
    Jackknife,
    LevelRows,
    Reports,
    contrast,
    jackknife,
    level_rows,
    logit,
    order_effect,
    require_one_per_row,
    signs,
)
from coherence.checks.questions import asked_for, plan_of
from coherence.inputs import (
    MIN_CONTEXTS,
    Codes,
    Floats,
    as_numbers,
    few_contexts,
    require_aligned,
)
from coherence.result import CheckResult, Family, Interval
from coherence.statistics.evaluation import EvaluationData
from coherence.statistics.mean_interval import interval_or_reason
from coherence.statistics.resample import Clusters, context_means
from coherence.statistics.shares import context_shares
from coherence.table.needs import MATCHING_QUESTIONS, NEEDS_MATCHING
from coherence.table.schema import COMPLEMENT, EVENT, FRAMES

LOTTERY = FRAMES[EVENT][1]
LEAST_SWING = 0.2
"""Least lower end of the swing with which a choice counts as an answer to the stated chance.

A size, no significance: exact answers have no sampling error, and any swing would be significant.
"""
LEAST_F = 10.0
"""First-stage F of the repetitions from which weights are told apart (Staiger and Stock 1997)."""
NOTHING = 1e-6  # variance of beliefs about a line in the posterior: a spread of .001
LEAST_CASES = 20  # from which weights are told apart: with fewer, intervals are too short
SMOOTH = 1.0  # von Neumann's ratio, 2 on average of what goes with nothing, of a curve next to 0
WIDEST = 1.0  # length of the interval of a share; a longer one tells none and all of it not apart
GRID = np.linspace(0.0, 1.0, 201)  # at which the belief of a case is sought
LOGIT = "logit of choices, reports calibrated by repetitions; jackknife of {clusters}, t"
NULLS = {
    "swing": "share of the lottery at the highest third of chances minus at the lowest",
    "share": "share of the exact posterior in the belief acted on, beside the stated one",
    "difference": "mean of the belief acted on minus the stated belief",
    "order": "how much more often an option is chosen where it is named first",
}
ASSUMPTIONS = (
    "contexts are independent",
    "the chance acted on is linear in the posterior, and a cubic in the stated belief",
    "the lottery is not distorted: who takes its chance for another is off by as much",
)


@takes_columns("belief", "action", "level", "exact", "frame", "order", "context", "group")
def matching_estimates(
    belief: ArrayLike,
    action: ArrayLike,
    level: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    exact: ArrayLike | None = None,
    frame: ArrayLike | None = None,
    order: ArrayLike | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    computed: bool = False,
) -> list[CheckResult]:
    """Estimate the belief that choices between an event and a stated chance are made by.

    Rows are of two kinds: with a stated belief and no level, or with a choice and its level.

    Null: none is tested.

    Estimand: of the chance at which the choice would be even, the mean less the stated belief (a
    probability; cases count alike) and the weight of the exact posterior in it, alongside the
    stated belief (a share; choices count alike).

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probability of the event, in [0, 1]; NaN in rows with a level.
    action : array-like, shape (n,) or (n, 2)
        "event" or "lottery" in rows with a level, or columns with the probabilities of the two;
        any other label is a refusal and bounds the belief acted on.
    level : array-like, shape (n,)
        Chance of the lottery as stated in the question, in (0, 1); NaN in rows with a belief.
    data : DataFrame, optional
        Table; arguments may then name its columns.
    exact : array-like, shape (n,), optional
        Exact posterior probability of the event; constant within a context.
    frame : array-like, shape (n,), optional
        "event", or "complement" where the prize is on the event not happening.
    order : array-like, shape (n,), optional
        Option that is named first, "event" or "lottery".
    context : array-like, shape (n,)
        Ids of the evidence, of which each has rows of both kinds.
    group : array-like, shape (n,), optional
        What contexts share; groups are then the clusters of the jackknife, at least ten.
    computed : bool
        Whether beliefs were computed from a model's distribution and have no noise.

    Returns
    -------
    list of CheckResult
        ``matching:swing`` (the gate, which `settings` call ``answered``; there too, as shares of
        the cases, who switches back and who never switches, and the correlation of the frames;
        `details` has the choices by stated chance and order), ``matching:share`` (of the exact
        posterior in what is acted on; `details` has the weights, in units of the level),
        ``matching:difference`` (acted on minus stated, the mean over a population of such cases;
        `details` has each case) and ``matching:order``. Where the lower end of the swing is not
        above .2 all others but the order effect are NaN. The share is NaN as well, with the reason,
        of fewer than 20 cases, of reports that were not repeated (unless `computed`), where the
        posterior is a curve of what is said, and where its interval would be longer than 1.

    Raises
    ------
    InputError
        A level outside of (0, 1), a frame or an order that is none, no context with both kinds of
        rows.

    Notes
    -----
    One logit of choice on order, frame, level t, stated belief p with its bends (square and cube
    without their lines) and exact posterior p*; the belief acted on is what leaves it even, and the
    weight of p is -b_p / b_t. Position bias, lapses and
    soft choice flatten the logit and leave the ratio. Reports are replaced by their best linear
    prediction from all reports of the case and p*, with the noise that repetitions show (regression
    calibration); with one report no weight is given. Standard errors delete one case at a time.

    References
    ----------
    Baillon, Huang, Selim and Wakker (2018), Econometrica 86(5), on frames; Carroll, Ruppert,
    Stefanski and Crainiceanu (2006), Measurement Error in Nonlinear Models, chapter 4; MacKinnon,
    Nielsen and Webb (2023), Journal of Econometrics 232(2), on the jackknife by cluster.

    Examples
    --------
    >>> import numpy as np
    >>> rng, level = np.random.default_rng(1), np.tile(np.arange(5, 100, 10) / 100, 40)
    >>> case = np.repeat(np.arange(40), 10)
    >>> stated = rng.uniform(0.1, 0.9, 40)
    >>> chose = np.where(rng.random(400) < 1 / (1 + np.exp(20 * (level - stated[case]))), 1, 0)
    >>> swing, share, difference, order = matching_estimates(
    ...     np.r_[stated, np.full(400, np.nan)],
    ...     np.r_[np.full(40, None), np.where(chose, "event", "lottery")],
    ...     np.r_[np.full(40, np.nan), level], context=np.r_[np.arange(40), case], computed=True,
    ... )
    >>> bool(swing.interval.low > 0.5), bool(abs(difference.statistic) < 0.05), share.reason
    (True, True, 'the exact posterior is not known')
    """
    require_aligned(belief=belief, frame=frame, group=group)
    require_one_per_row(belief, frame=frame, group=group)
    table = level_rows(
        belief,
        action,
        level,
        exact,
        order,
        context,
        options=(EVENT, LOTTERY),
        computed=computed,
    )
    frames = signs(frame, "frame", (EVENT, COMPLEMENT), ~np.isnan(as_numbers(level, "level")))
    answers = _seen_from_the_event(table, frames[table.rows])
    return _estimates(answers, table.clusters(group))


@dataclass(frozen=True)
class _Answers:
    """Choices between event and lottery, seen from the event."""

    context: Codes  # of each choice
    level: Floats  # chance of the lottery against the event, 1 - level in the complement frame
    stated_level: Floats  # as the question states it
    chose: Floats  # share of the option that goes with the event
    lottery: Floats  # share of the lottery, in the question's own frame
    first: Floats  # 1 or -1: the option that goes with the event is named first; 0 if not known
    frame: Floats  # 1 or -1: the event itself, its complement; 0 if not known
    table: LevelRows

    @property
    def reports(self) -> Reports:
        """What was said of each case."""
        return self.table.reports

    def of(self, keep: Any) -> _Answers:
        """Return the choices of some contexts, which keep their numbers."""
        rows = keep[self.context]
        names = ("context", "level", "stated_level", "chose", "lottery", "first", "frame")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


def _seen_from_the_event(table: LevelRows, frame: Floats) -> _Answers:
    """Turn choices of the complement into choices of the event."""
    turned, stated = frame < 0, np.round(table.level, 9)  # 1 - .35 is .65
    return _Answers(
        context=table.context,
        level=np.where(turned, np.round(1.0 - stated, 9), stated),
        stated_level=stated,
        chose=np.where(turned, 1.0 - table.chose, table.chose),
        lottery=1.0 - table.chose,
        first=table.first * np.where(turned, -1.0, 1.0),
        frame=frame,
        table=table,
    )


@dataclass(frozen=True)
class _Fit:
    """Choices by level, belief and posterior, in units of the level."""

    coefficients: Floats  # constant, order, frame, level, beliefs, then curves of what is said
    columns: tuple[str, ...]  # of the beliefs
    centre: Floats  # of the beliefs

    @property
    def slope(self) -> float:
        """How fast choices turn to the lottery as its chance rises."""
        return -float(self.coefficients[3])

    @property
    def weights(self) -> Floats:
        """Change of the belief acted on with each belief."""
        return self.coefficients[4 : 4 + len(self.columns)] / self.slope

    @property
    def centre_acted_on(self) -> float:
        """Belief acted on where all beliefs are at their means."""
        return 0.5 + float(self.coefficients[0]) / self.slope


@dataclass(frozen=True)
class _Calibrated:
    """Reports without their noise, as well as one can tell, given the posterior."""

    belief: Floats  # of each context; NaN where it was left out
    reliability: float  # of a mean report beyond the posterior
    first_stage: float  # F of the repetitions


def _calibrated(reports: Reports, keep: Any) -> _Calibrated:
    """Predict the belief behind the reports of each case from them and the posterior."""
    stated, exact, n = reports.mean[keep], reports.exact[keep], int(keep.sum())
    columns = np.column_stack([np.ones(n), exact][: 1 if np.isnan(exact).any() else 2])
    fitted = columns @ np.linalg.lstsq(columns, stated, rcond=None)[0]
    away = stated - fitted
    of_mean = reports.noise / reports.number[keep]
    spread = float(away @ away) / max(n - columns.shape[1], 1)
    own = spread - float(of_mean.mean())
    share = own / (own + of_mean) if own > NOTHING else np.zeros(n)
    belief = np.full(len(keep), np.nan)
    belief[keep] = fitted + share * away
    reliability = float(share.mean())
    odds = reliability**2 / max(1.0 - reliability**2, 1e-12)
    return _Calibrated(belief, reliability, (n - 3) * odds)


def _curves(stated: Floats, keep: Any) -> Floats:
    """Return square and cube of what is said without their lines, 0 where it has too few values.

    The belief acted on may bend with what is said. Without these, the posterior would stand in for
    the bend wherever what is said is a curve of it.
    """
    kept, curves = stated[keep], np.zeros((len(stated), 2))
    line = [np.ones(len(kept)), kept - kept.mean()]
    for at in range(2):
        power = line[1] ** (at + 2)
        columns = np.column_stack(line)
        away = power - columns @ np.linalg.lstsq(columns, power, rcond=None)[0]
        if away @ away <= NOTHING * (power @ power):
            break
        curves[keep, at] = away / math.sqrt(float(away @ away) / len(away))
        line.append(curves[keep, at])
    return curves


def _fitted(answers: _Answers, keep: Any, start: Floats | None = None) -> tuple[_Fit, Floats]:
    """Fit the choices of some cases; return also the mean of what is acted on minus stated."""
    rows = answers.of(keep)
    reports = answers.reports
    beliefs = {"stated": _calibrated(reports, keep).belief if reports.noise >= 0 else reports.mean}
    if not np.isnan(reports.exact).any():
        beliefs["exact"] = reports.exact
    values = np.column_stack(list(beliefs.values()))
    centre = values[keep].mean(axis=0)
    columns = np.column_stack(
        [
            np.ones(len(rows.level)),
            contrast(rows.first),
            contrast(rows.frame),
            rows.level - 0.5,
            (values - centre)[rows.context],
            _curves(beliefs["stated"], keep)[rows.context],
        ]
    )
    fit = _Fit(logit(columns, rows.chose, start), tuple(beliefs), centre)
    return fit, np.array([fit.centre_acted_on - reports.mean[keep].mean()])


def _jackknife(answers: _Answers, clusters: Clusters) -> tuple[_Fit, Jackknife]:
    """Fit all cases, and all but one cluster: difference, weights, their sum and the share."""
    whole = np.ones(len(answers.table.cases), dtype=bool)
    fit, difference = _fitted(answers, whole)

    def numbers(of: _Fit, mean: Floats) -> Floats:
        together = of.weights.sum()
        share = of.weights[1:] / together if len(of.weights) > 1 else np.zeros(0)
        return np.concatenate([mean, of.weights, [together], share])

    def of_part(keep: Any) -> Floats:
        return numbers(*_fitted(answers, keep, fit.coefficients))

    return fit, jackknife(numbers(fit, difference), of_part, clusters, LOGIT)


# What is returned


def _estimates(answers: _Answers, clusters: Clusters) -> list[CheckResult]:
    n = len(answers.table.cases)
    blank = {
        name: CheckResult(
            check=f"matching:{name}",
            null=null,
            statistic=math.nan,
            unit="share" if name == "share" else "probability",
            interval=None,
            pvalue=None,
            n_rows=len(answers.table.used),
            n_contexts=n,
            n_dropped=answers.table.n_dropped,
            settings={"n_levels": int(np.unique(answers.level).size), "clusters": clusters.name},
            assumptions=ASSUMPTIONS,
        )
        for name, null in NULLS.items()
    }
    swing, order = (
        _swing(blank["swing"], answers, clusters),
        order_effect(blank["order"], answers.context, answers.first, answers.chose, clusters),
    )
    why = answers.table.never_chosen or few_contexts(n) or clusters.too_few or swing.reason
    if not why and (swing.interval is None or swing.interval.low <= LEAST_SWING):
        why = _unanswered(swing, order)
    swing = replace(swing, reason=why, settings={**swing.settings, "answered": not why})
    if why:
        share, difference = (replace(blank[name], reason=why) for name in ("share", "difference"))
        return [swing, share, difference, order]
    fit, deleted = _jackknife(answers, clusters)
    difference = replace(
        blank["difference"],
        statistic=float(deleted.estimate[0]),
        interval=deleted.interval(0),
        details=_by_case(answers, fit),
    )
    return [swing, _share(blank["share"], answers, fit, deleted), difference, order]


def _unanswered(swing: CheckResult, order: CheckResult) -> str:
    """Say by which numbers the choice does not answer the stated chance."""
    low = swing.statistic if swing.interval is None else swing.interval.low
    rise, low = (round(each, 3) + 0.0 for each in (swing.statistic, low))  # no -0.000
    text = (
        "the choice does not answer the stated chance: from the lowest to the highest third of "
        f"chances the share of the lottery rises by {rise:.3f} (lower end {low:.3f}, "
        f"and {LEAST_SWING:g} is needed)"
    )
    if not math.isnan(order.statistic):
        text += f"; an option gains {order.statistic:.3f} from being named first"
    if not math.isnan(correlation := swing.settings["frames_correlate"]):
        text += f"; choices of event and complement correlate {correlation:+z.2f} over cases"
    return text


def _at_equal_wording(answers: _Answers) -> tuple[Floats, str]:
    """Take off from the share of the lottery what order and frame do to it on a line in the chance.

    Else who goes by the order would seem to answer a chance with which the order goes.
    """
    chance = np.column_stack([np.ones(len(answers.lottery)), answers.stated_level])
    wording = {"order of the options": _named_first(answers), "frame": answers.frame}
    for name, each in wording.items():
        rest = each - chance @ np.linalg.lstsq(chance, each, rcond=None)[0]
        if np.ptp(each) and not rest.round(6).any():
            return answers.lottery, f"the {name} goes with the stated chance"
    varied = np.column_stack([contrast(each) for each in wording.values()])
    effect = np.linalg.lstsq(np.column_stack([chance, varied]), answers.lottery, rcond=None)[0]
    return answers.lottery - varied @ effect[2:], ""


def _named_first(answers: _Answers) -> Floats:
    """Return 1 where the question names its event first, whichever that is; -1 the lottery."""
    return np.asarray(answers.first * np.where(answers.frame < 0, -1.0, 1.0))


def _third_differences(answers: _Answers, lottery: Floats) -> Floats:
    """Share of the lottery at high stated chances minus at low ones, in each case."""
    levels = np.unique(answers.stated_level)
    third = max(len(levels) // 3, 1)
    high, low = (np.isin(answers.stated_level, part) for part in (levels[-third:], levels[:third]))
    n = len(answers.table.cases)
    with np.errstate(invalid="ignore"):
        means = [
            np.bincount(answers.context[part], lottery[part], n)
            / np.bincount(answers.context[part], minlength=n)
            for part in (high, low)
        ]
    return np.asarray(means[0] - means[1])


def _swing(blank: CheckResult, answers: _Answers, clusters: Clusters) -> CheckResult:
    """Tell whether choices answer the stated chance at all."""
    if np.unique(answers.stated_level).size < 2:
        return replace(blank, reason="all questions state one chance")
    lottery, tied = _at_equal_wording(answers)
    differences = _third_differences(answers, lottery)
    known = ~np.isnan(differences)
    if known.sum() < MIN_CONTEXTS:
        return replace(blank, reason=few_contexts(int(known.sum()), "with high and low chances"))
    of = Clusters(clusters.name, np.unique(clusters.of_context[known], return_inverse=True)[1])
    interval, reason = interval_or_reason(differences[known], of, "swing")
    mean = float(np.clip(differences[known].mean(), -1.0, 1.0))
    if interval is None and not of.too_few:  # all cases alike, as of exact answers
        interval, reason = Interval(mean, mean, 0.95, "all cases have the same swing"), ""
    return replace(
        blank,
        statistic=mean,
        interval=None if interval is None else interval.within(-1.0, 1.0),
        reason=tied or reason,
        settings={
            **blank.settings,
            "frames_correlate": _frames_correlate(answers),
            "switch_back": float(_switches_back(answers).mean()),
            "never_switch": 1.0 - float(_switches(answers).mean()),
        },
        details=_by_level(answers),
    )


def _switches(answers: _Answers) -> NDArray[np.bool_]:
    """Tell in which cases the event is chosen at some chances and the lottery at others."""
    likelier = np.where(answers.chose > 0.5, 1.0, 0.0)
    share = context_means(likelier, answers.context, len(answers.table.cases))
    return np.asarray((share > 0) & (share < 1))


def _switches_back(answers: _Answers) -> NDArray[np.bool_]:
    """Tell in which cases the lottery is chosen at a lower chance than the event at another.

    Whatever the order and the frame: who goes by position switches back as well.
    """
    n, event = len(answers.table.cases), answers.chose > 0.5
    highest, lowest = np.full(n, -np.inf), np.full(n, np.inf)
    np.maximum.at(highest, answers.context[event], answers.level[event])
    np.minimum.at(lowest, answers.context[~event], answers.level[~event])
    return np.asarray(highest > lowest)


def _by_level(answers: _Answers) -> pd.DataFrame:
    """Return the share of the lottery by the option named first and the stated chance."""
    levels, of_level = np.unique(answers.stated_level, return_inverse=True)
    orders = [LOTTERY, "", EVENT]
    named = _named_first(answers).astype(np.int64) + 1
    cell = named * len(levels) + of_level
    shares = context_shares(
        answers.lottery[:, None], cell, answers.context, len(orders) * len(levels)
    )
    table = pd.DataFrame(
        {
            "first": np.repeat(orders, len(levels)),
            "level": np.tile(levels, len(orders)),
            "lottery": shares.share[:, 0],
            "low": shares.low[:, 0],
            "high": shares.high[:, 0],
            "n_contexts": shares.n_contexts,
        }
    )
    return table[table["n_contexts"] > 0].reset_index(drop=True)


def _frames_correlate(answers: _Answers) -> float:
    """Correlation over cases of choosing the event and choosing its complement: below 0 of beliefs.

    NaN where a frame is missing or does not vary.
    """
    n, means = len(answers.table.cases), []
    for sign in (1.0, -1.0):
        rows = answers.frame == sign
        counts = np.bincount(answers.context[rows], minlength=n)
        with np.errstate(invalid="ignore"):
            means.append(1 - np.bincount(answers.context[rows], answers.lottery[rows], n) / counts)
    first, second = means
    both = ~np.isnan(first) & ~np.isnan(second)
    if both.sum() < 3 or np.ptp(first[both]) < 1e-12 or np.ptp(second[both]) < 1e-12:
        return math.nan
    return float(np.corrcoef(first[both], second[both])[0, 1])


def _share(blank: CheckResult, answers: _Answers, fit: _Fit, deleted: Jackknife) -> CheckResult:
    """Say what share of the belief acted on is the exact posterior, or why none is told."""
    whole = np.ones(len(answers.table.cases), dtype=bool)
    if "exact" not in fit.columns:
        return replace(blank, reason="the exact posterior is not known")
    if len(whole) < LEAST_CASES:
        return replace(
            blank,
            reason=f"weights take {LEAST_CASES} cases to be told apart; here are {len(whole)}",
        )
    if np.ptp(answers.reports.exact) ** 2 <= NOTHING:
        return replace(blank, reason="the exact posterior is the same in all cases")
    if math.isnan(answers.reports.noise):
        return replace(
            blank, reason="one report a case: its noise would be taken for use of the posterior"
        )
    behind = _calibrated(answers.reports, whole)
    if behind.first_stage < LEAST_F:
        return replace(
            blank,
            reason="stated beliefs differ from a line in the posterior by no more than their noise "
            f"(first-stage F = {behind.first_stage:.1f}, below {LEAST_F:g}): weights cannot be "
            "told apart",
        )
    if _is_a_curve(answers.reports.exact, behind.belief):
        return replace(
            blank,
            reason="the exact posterior is a curve of the stated belief: weights cannot be told "
            "apart",
        )
    columns = len(fit.columns)
    intervals = [deleted.interval(1 + at) for at in range(columns)]
    details = pd.DataFrame(
        {
            "weight_of": list(fit.columns),
            "estimate": deleted.estimate[1 : 1 + columns],
            "std_error": deleted.std_error[1 : 1 + columns],
            "low": [interval.low for interval in intervals],
            "high": [interval.high for interval in intervals],
        }
    )
    settings = {**blank.settings, "reliability": behind.reliability}
    together = deleted.interval(1 + columns)
    if together.low <= 0:  # a share of next to nothing could be anything
        reason = (
            "the belief acted on is not seen to rise with what is said and known: the weights come "
            f"to {deleted.estimate[1 + columns]:z.2f} [{together.low:z.2f}, {together.high:z.2f}]"
        )
        return replace(blank, details=details, settings=settings, reason=reason)
    share = deleted.interval(len(deleted.estimate) - 1)
    if share.high - share.low > WIDEST:
        reason = (
            "stated beliefs differ too little from a line in the posterior for weights to be told "
            f"apart: the share would lie anywhere from {share.low:z.2f} to {share.high:z.2f}"
        )
        return replace(blank, details=details, settings=settings, reason=reason)
    return replace(
        blank,
        statistic=float(deleted.estimate[-1]),
        interval=share,
        details=details,
        settings=settings,
    )


def _is_a_curve(exact: Floats, stated: Floats) -> bool:
    """Tell whether cases of like statements are alike in what a cubic leaves of the posterior."""
    columns = np.column_stack(
        [np.ones(len(stated)), stated, _curves(stated, np.ones(len(stated), dtype=bool))]
    )
    away = exact - columns @ np.linalg.lstsq(columns, exact, rcond=None)[0]
    total = float(away @ away)
    if total <= NOTHING * len(away):
        return True
    mixed = np.random.default_rng(0).permutation(len(stated))  # rows of equal statements
    steps = np.diff(away[np.lexsort((mixed, stated))])
    return float(steps @ steps) < SMOOTH * total


def _by_case(answers: _Answers, fit: _Fit) -> pd.DataFrame:
    """Return the belief that each case was acted on by, where its choices leave it even.

    Under a flat prior, with the slope, order and frame effects of all cases: mean and middle 95%.
    """
    _, order, frame = fit.coefficients[:3]
    shift = (order * answers.first + frame * answers.frame)[:, None]
    odds = fit.slope * (GRID[None, :] - answers.level[:, None]) + shift
    likelihood = -answers.chose[:, None] * np.logaddexp(0, -odds)
    likelihood -= (1 - answers.chose[:, None]) * np.logaddexp(0, odds)
    total = np.zeros((len(answers.table.cases), len(GRID)))
    np.add.at(total, answers.context, likelihood)
    weight = np.exp(total - total.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    below = weight.cumsum(axis=1)
    return pd.DataFrame(
        {
            "context": list(answers.table.cases),
            "exact": answers.reports.exact,
            "stated": answers.reports.mean,
            "acted_on": weight @ GRID,
            "low": GRID[(below < 0.025).sum(axis=1)],
            "high": GRID[np.minimum((below < 0.975).sum(axis=1), len(GRID) - 1)],
            "switches": _switches(answers),
            "switches_back": _switches_back(answers),
            "n_refused": answers.table.refused,
        }
    )


# In an analysis


def _of_evaluation(rows: pd.DataFrame, **about: Any) -> list[CheckResult]:
    """Estimate from the questions of an evaluation; of who does not answer, the gate alone."""
    results = matching_estimates(**about, frame=rows["frame"].fillna(EVENT))
    return results if results[0].settings["answered"] else [results[0], results[-1]]


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    """Estimate where cases have both a belief and an answered question."""
    return plan_of(data, MATCHING_QUESTIONS, "matching", FRAMES[EVENT], _of_evaluation)


CHECK = Check(
    name="matching",
    needs=NEEDS_MATCHING,
    sentences={
        name: Interpretation(estimate=text)
        for name, text in (
            (
                "swing",
                "From the lowest to the highest third of stated chances, the share of the lottery "
                "rises by {value:.3f}.",
            ),
            (
                "share",
                "In the belief acted on, the exact posterior has {value:.3f} of the weight, and "
                "the {belief} the rest.",
            ),
            (
                "difference",
                "Over a population of such cases, the belief acted on less the {belief} is "
                "{value:.3f} on average.",
            ),
            ("order", "An option is chosen {value:.3f} more often where it is named first."),
        )
    },
    plan=_plan,
    by_itself=asked_for(MATCHING_QUESTIONS),
    family=Family.ESTIMATE,
)
