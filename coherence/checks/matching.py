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
from numpy.typing import ArrayLike
from scipy import stats

from coherence.checks.by_name import takes_columns
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
from coherence.statistics.resample import Clusters, context_means, groups_of_contexts
from coherence.table.schema import ACTION_PREFIX

EVENT, LOTTERY, COMPLEMENT = "event", "lottery", "complement"
LEAST_SWING = 0.2
"""Least lower end of the swing with which a choice counts as an answer to the stated chance.

A size, no significance: exact answers have no sampling error, and any swing would be significant.
"""
LEAST_F = 10.0
"""First-stage F of the repetitions from which weights are told apart (Staiger and Stock 1997)."""
NOTHING = 1e-6  # variance of beliefs about a line in the posterior: a spread of .001
RIDGE = 1e-6  # of a logit whose choices are told apart without error
MOST_DELETED = 300  # clusters that the jackknife deletes one by one; beyond that, in groups
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
    "the chance acted on is linear in the stated belief and the posterior",
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
        ``matching:swing`` (the gate), ``matching:share`` (of the exact posterior in what is acted
        on; `details` has the weights, in units of the level), ``matching:difference`` (acted on
        minus stated, the mean over a population of such cases; `details` has each case) and
        ``matching:order``. Where the lower end of the swing is not above .2 all others but the
        order effect are NaN.

    Raises
    ------
    InputError
        A level outside of (0, 1), a frame or an order that is none, no context with both kinds of
        rows.

    Notes
    -----
    One logit of choice on order, frame, level t, stated belief p and exact posterior p*; the belief
    acted on is what leaves it even, and the weight of p is -b_p / b_t. Position bias, lapses and
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
    answers = _answers(belief, action, level, exact, frame, order, context, computed=computed)
    clusters = Clusters("context", np.arange(len(answers.cases), dtype=np.int64))
    if group is not None:
        of_rows = np.asarray(group)[answers.used]
        groups, _ = groups_of_contexts(of_rows, answers.of_row, answers.cases)
        clusters = Clusters("group", groups)
    return _estimates(answers, clusters)


@dataclass(frozen=True)
class _Answers:
    """Choices between event and lottery, seen from the event, and the reports of their cases."""

    context: Codes  # of each choice
    level: Floats  # chance of the lottery against the event, 1 - level in the complement frame
    stated_level: Floats  # as the question states it
    chose: Floats  # share of the option that goes with the event
    lottery: Floats  # share of the lottery, in the question's own frame
    first: Floats  # 1 or -1: the option that goes with the event is named first; 0 if not known
    frame: Floats  # 1 or -1: the event itself, its complement; 0 if not known
    refused: Codes  # context and number of refusals: of each context
    stated: Floats  # shape (n_contexts,): mean report
    n_reports: Codes
    noise: float  # variance of a report within a case; NaN where none was repeated
    exact: Floats  # shape (n_contexts,), NaN where it is not known
    cases: tuple[Any, ...]
    used: Codes  # rows of the table that entered
    of_row: Codes  # context of each of these
    n_dropped: int

    def of(self, keep: Any) -> _Answers:
        """Return the answers of some contexts, which keep their numbers."""
        rows = keep[self.context]
        names = ("context", "level", "stated_level", "chose", "lottery", "first", "frame")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


def _answers(
    belief: ArrayLike,
    action: ArrayLike,
    level: ArrayLike,
    exact: ArrayLike | None,
    frame: ArrayLike | None,
    order: ArrayLike | None,
    context: ArrayLike | None,
    *,
    computed: bool,
) -> _Answers:
    """Validate the table and part it into choices and reports."""
    require(
        context is not None,
        "context must be given: it says which belief belongs to which choices. Name the column of "
        "the cases.",
    )
    require_aligned(belief=belief, level=level, exact=exact, frame=frame, order=order)
    stated, levels = as_numbers(belief, "belief"), as_numbers(level, "level")
    _require_inside(stated, "belief", 0.0, 1.0)
    _require_inside(levels, "level", 0.0, 1.0, strict=True)
    codes, cases = as_contexts(context, len(stated))
    asked = ~np.isnan(levels)
    side, first, event = _sides(action, frame, order, asked)
    answered = asked & ~np.isnan(side)
    reports = ~asked & ~np.isnan(stated)
    both = np.isin(codes, np.intersect1d(codes[answered], codes[reports]))
    require(
        bool(both.any()),
        f"context must name cases that have rows with a belief and rows with a level; none of "
        f"{len(cases)} has both. Give both kinds of rows the same ids.",
    )
    used = np.flatnonzero(both & (answered | reports))
    numbers, of_row = np.unique(codes[used], return_inverse=True)
    of_row = of_row.astype(np.int64)
    chosen, told = answered[used], reports[used]
    n_reports = np.bincount(of_row[told], minlength=len(numbers))
    mean = np.bincount(of_row[told], stated[used][told], len(numbers)) / n_reports
    away = stated[used][told] - mean[of_row[told]]
    degrees = int((n_reports - 1).sum())
    noise = float(away @ away) / degrees if degrees else math.nan
    refused = np.bincount(codes[asked & ~answered], minlength=len(cases))[numbers]
    rows = used[chosen]
    whole = 1.0 - levels[rows]
    return _Answers(
        context=of_row[chosen],
        level=np.where(event[rows] < 0, whole, levels[rows]),
        stated_level=levels[rows],
        chose=np.where(event[rows] < 0, 1.0 - side[rows], side[rows]),
        lottery=1.0 - side[rows],
        first=first[rows] * np.where(event[rows] < 0, -1.0, 1.0),
        frame=event[rows],
        refused=refused,
        stated=mean,
        n_reports=n_reports,
        noise=0.0 if computed else noise,
        exact=_exact_of_cases(exact, codes, cases)[numbers],
        cases=tuple(cases[number] for number in numbers),
        used=used,
        of_row=of_row,
        n_dropped=len(stated) - len(used),
    )


def _require_inside(
    values: Floats, name: str, low: float, high: float, *, strict: bool = False
) -> None:
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


def _sides(
    action: ArrayLike, frame: ArrayLike | None, order: ArrayLike | None, asked: Any
) -> tuple[Floats, Floats, Floats]:
    """Return the share of the event in each question, what is named first, and its frame."""
    actions: Actions = as_actions(_asked_alone(action, asked), int(asked.sum()))
    labels = [str(label).removeprefix(ACTION_PREFIX) for label in actions.labels]
    require(
        EVENT in labels or LOTTERY in labels,
        f"action must be {EVENT!r} or {LOTTERY!r} in rows with a level; received "
        f"{', '.join(map(repr, labels[:4])) or 'none'}. Rename the two options.",
    )
    event, lottery = (
        actions.share[:, labels.index(name)] if name in labels else np.zeros(int(asked.sum()))
        for name in (EVENT, LOTTERY)
    )
    total = event + lottery
    side = np.full(len(asked), np.nan)
    side[asked] = np.divide(event, total, out=np.full(len(total), np.nan), where=total > 0)
    return (
        side,
        _signs(order, "order", (EVENT, LOTTERY), asked),
        _signs(frame, "frame", (EVENT, COMPLEMENT), asked),
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


def _signs(values: ArrayLike | None, name: str, labels: tuple[str, str], asked: Any) -> Floats:
    """Return 1 for the first label, -1 for the second; 0 where nothing was said."""
    if values is None:
        return np.zeros(len(asked))
    column = pd.Series(values, dtype=object).reset_index(drop=True)
    odd = column[asked][~column[asked].isin(labels)]
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
    _require_inside(values, "exact", 0.0, 1.0)
    if np.isnan(values).any():
        return np.full(len(cases), np.nan)
    distinct, labels = as_codes(values, "exact", len(values))
    of = of_contexts(distinct, labels, codes, cases, "exact", "Give each context one posterior.")
    return np.asarray(labels, dtype=np.float64)[of]


# The logit


@dataclass(frozen=True)
class _Fit:
    """Choices by level, belief and posterior, in units of the level."""

    coefficients: Floats  # constant, order, frame, level, then beliefs
    columns: tuple[str, ...]  # of the beliefs
    centre: Floats  # of the beliefs

    @property
    def slope(self) -> float:
        """How fast choices turn to the lottery as its chance rises."""
        return -float(self.coefficients[3])

    @property
    def weights(self) -> Floats:
        """Change of the belief acted on with each belief."""
        return self.coefficients[4:] / self.slope

    @property
    def centre_acted_on(self) -> float:
        """Belief acted on where all beliefs are at their means."""
        return 0.5 + float(self.coefficients[0]) / self.slope


def _logit(columns: Floats, share: Floats, start: Floats | None) -> Floats:
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
class _Calibrated:
    """Reports without their noise, as well as one can tell, given the posterior."""

    belief: Floats  # of each context; NaN where it was left out
    reliability: float  # of a mean report beyond the posterior
    first_stage: float  # F of the repetitions


def _calibrated(answers: _Answers, keep: Any) -> _Calibrated:
    """Predict the belief behind the reports of each case from them and the posterior."""
    stated, exact, n = answers.stated[keep], answers.exact[keep], int(keep.sum())
    columns = np.column_stack([np.ones(n), exact][: 1 if np.isnan(exact).any() else 2])
    fitted = columns @ np.linalg.lstsq(columns, stated, rcond=None)[0]
    away = stated - fitted
    of_mean = answers.noise / answers.n_reports[keep]
    spread = float(away @ away) / max(n - columns.shape[1], 1)
    own = spread - float(of_mean.mean())
    share = own / (own + of_mean) if own > NOTHING else np.zeros(n)
    belief = np.full(len(keep), np.nan)
    belief[keep] = fitted + share * away
    reliability = float(share.mean())
    odds = reliability**2 / max(1.0 - reliability**2, 1e-12)
    return _Calibrated(belief, reliability, (n - 3) * odds)


def _fitted(answers: _Answers, keep: Any, start: Floats | None = None) -> tuple[_Fit, Floats]:
    """Fit the choices of some cases; return also the mean of what is acted on minus stated."""
    rows = answers.of(keep)
    calibrated = _calibrated(answers, keep).belief if answers.noise >= 0 else answers.stated
    beliefs = {"stated": calibrated}
    if not np.isnan(answers.exact).any():
        beliefs["exact"] = answers.exact
    values = np.column_stack(list(beliefs.values()))
    centre = values[keep].mean(axis=0)
    columns = np.column_stack(
        [
            np.ones(len(rows.level)),
            rows.first,
            rows.frame,
            rows.level - 0.5,
            values[rows.context] - centre,
        ]
    )
    fit = _Fit(_logit(columns, rows.chose, start), tuple(beliefs), centre)
    return fit, np.array([fit.centre_acted_on - answers.stated[keep].mean()])


@dataclass(frozen=True)
class _Jackknife:
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


def _jackknife(answers: _Answers, clusters: Clusters) -> tuple[_Fit, _Jackknife]:
    """Fit all cases, and all but one cluster: difference, weights, their sum and the share."""
    whole = np.ones(len(answers.cases), dtype=bool)
    fit, difference = _fitted(answers, whole)

    def numbers(of: _Fit, mean: Floats) -> Floats:
        together = of.weights.sum()
        share = of.weights[1:] / together if len(of.weights) > 1 else np.zeros(0)
        return np.concatenate([mean, of.weights, [together], share])

    estimate = numbers(fit, difference)
    part = clusters.of_context % MOST_DELETED
    n = int(part.max()) + 1
    left = np.array(
        [numbers(*_fitted(answers, part != number, fit.coefficients)) for number in range(n)]
    )
    error = np.sqrt((n - 1) / n * ((left - estimate) ** 2).sum(axis=0))
    name = "groups" if clusters.name == "group" else "cases"
    return fit, _Jackknife(estimate, error, n, LOGIT.format(clusters=name))


# What is returned


def _estimates(answers: _Answers, clusters: Clusters) -> list[CheckResult]:
    n = len(answers.cases)
    blank = {
        name: CheckResult(
            check=f"matching:{name}",
            null=null,
            statistic=math.nan,
            unit="share" if name == "share" else "probability",
            interval=None,
            pvalue=None,
            n_rows=len(answers.used),
            n_contexts=n,
            n_dropped=answers.n_dropped,
            settings={"n_levels": int(np.unique(answers.level).size), "clusters": clusters.name},
            assumptions=ASSUMPTIONS,
        )
        for name, null in NULLS.items()
    }
    swing, order = (
        _swing(blank["swing"], answers, clusters),
        _order(blank["order"], answers, clusters),
    )
    why = few_contexts(n) or clusters.too_few or swing.reason
    if not why and (swing.interval is None or swing.interval.low <= LEAST_SWING):
        low = swing.statistic if swing.interval is None else swing.interval.low
        why = (
            "the choice does not answer the stated chance: the lottery gains "
            f"{swing.statistic:.3f} from the lowest to the highest third of chances (lower end "
            f"{low:.3f}, and {LEAST_SWING:g} is needed)"
        )
    if why:
        share, difference = (replace(blank[name], reason=why) for name in ("share", "difference"))
        return [swing, share, difference, order]
    fit, jackknife = _jackknife(answers, clusters)
    difference = replace(
        blank["difference"],
        statistic=float(jackknife.estimate[0]),
        interval=jackknife.interval(0),
        details=_by_case(answers, fit),
    )
    return [swing, _share(blank["share"], answers, fit, jackknife), difference, order]


def _third_differences(answers: _Answers) -> Floats:
    """Share of the lottery at high stated chances minus at low ones, in each case."""
    levels = np.unique(answers.stated_level)
    third = max(len(levels) // 3, 1)
    high, low = (np.isin(answers.stated_level, part) for part in (levels[-third:], levels[:third]))
    n = len(answers.cases)
    with np.errstate(invalid="ignore"):
        means = [
            np.bincount(answers.context[part], answers.lottery[part], n)
            / np.bincount(answers.context[part], minlength=n)
            for part in (high, low)
        ]
    return np.asarray(means[0] - means[1])


def _swing(blank: CheckResult, answers: _Answers, clusters: Clusters) -> CheckResult:
    """Tell whether choices answer the stated chance at all."""
    if np.unique(answers.stated_level).size < 2:
        return replace(blank, reason="all questions state one chance")
    differences = _third_differences(answers)
    known = ~np.isnan(differences)
    if known.sum() < MIN_CONTEXTS:
        return replace(blank, reason=few_contexts(int(known.sum()), "with high and low chances"))
    of = Clusters(clusters.name, np.unique(clusters.of_context[known], return_inverse=True)[1])
    interval, reason = interval_or_reason(differences[known], of, "swing")
    mean = float(differences[known].mean())
    if interval is None and not of.too_few:  # all cases alike, as of exact answers
        interval, reason = Interval(mean, mean, 0.95, "all cases have the same swing"), ""
    return replace(
        blank,
        statistic=mean,
        interval=interval,
        reason=reason,
        settings={**blank.settings, "frames_correlate": _frames_correlate(answers)},
    )


def _frames_correlate(answers: _Answers) -> float:
    """Correlation over cases of choosing the event and choosing its complement: below 0 of beliefs.

    NaN where a frame is missing or does not vary.
    """
    n, means = len(answers.cases), []
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


def _order(blank: CheckResult, answers: _Answers, clusters: Clusters) -> CheckResult:
    """Estimate how much an option gains from being named first."""
    if not answers.first.any():
        return replace(blank, reason="the order of the options is not known")
    n, means = len(answers.cases), []
    for sign in (1.0, -1.0):
        rows = answers.first == sign
        with np.errstate(invalid="ignore"):
            means.append(
                np.bincount(answers.context[rows], answers.chose[rows], n)
                / np.bincount(answers.context[rows], minlength=n)
            )
    differences = means[0] - means[1]
    known = ~np.isnan(differences)
    if known.sum() < MIN_CONTEXTS:
        return replace(blank, reason=few_contexts(int(known.sum()), "with both orders"))
    of = Clusters(clusters.name, np.unique(clusters.of_context[known], return_inverse=True)[1])
    interval, reason = interval_or_reason(differences[known], of, "order effect")
    mean = float(differences[known].mean())
    return replace(blank, statistic=mean, interval=interval, reason=reason)


def _share(blank: CheckResult, answers: _Answers, fit: _Fit, jackknife: _Jackknife) -> CheckResult:
    """Say what share of the belief acted on is the exact posterior, or why none is told."""
    whole = np.ones(len(answers.cases), dtype=bool)
    if "exact" not in fit.columns:
        return replace(blank, reason="the exact posterior is not known")
    if math.isnan(answers.noise):
        return replace(
            blank, reason="one report a case: its noise would be taken for use of the posterior"
        )
    calibrated = _calibrated(answers, whole)
    if calibrated.first_stage < LEAST_F:
        return replace(
            blank,
            reason="stated beliefs differ from a line in the posterior by no more than their noise "
            f"(first-stage F = {calibrated.first_stage:.1f}, below {LEAST_F:g}): weights cannot be "
            "told apart",
        )
    columns = len(fit.columns)
    intervals = [jackknife.interval(1 + at) for at in range(columns)]
    details = pd.DataFrame(
        {
            "weight_of": list(fit.columns),
            "estimate": jackknife.estimate[1 : 1 + columns],
            "std_error": jackknife.std_error[1 : 1 + columns],
            "low": [interval.low for interval in intervals],
            "high": [interval.high for interval in intervals],
        }
    )
    settings = {**blank.settings, "reliability": calibrated.reliability}
    together = jackknife.interval(1 + columns)
    if together.low <= 0:  # a share of next to nothing could be anything
        reason = (
            "the belief acted on is not seen to rise with what is said and known: the weights come "
            f"to {jackknife.estimate[1 + columns]:.2f} [{together.low:.2f}, {together.high:.2f}]"
        )
        return replace(blank, details=details, settings=settings, reason=reason)
    return replace(
        blank,
        statistic=float(jackknife.estimate[-1]),
        interval=jackknife.interval(len(jackknife.estimate) - 1),
        details=details,
        settings=settings,
    )


def _by_case(answers: _Answers, fit: _Fit) -> pd.DataFrame:
    """Return the belief that each case was acted on by, where its choices leave it even.

    Under a flat prior, with the slope, order and frame effects of all cases: mean and middle 95%.
    """
    _, order, frame = fit.coefficients[:3]
    shift = (order * answers.first + frame * answers.frame)[:, None]
    odds = fit.slope * (GRID[None, :] - answers.level[:, None]) + shift
    likelihood = -answers.chose[:, None] * np.logaddexp(0, -odds)
    likelihood -= (1 - answers.chose[:, None]) * np.logaddexp(0, odds)
    total = np.zeros((len(answers.cases), len(GRID)))
    np.add.at(total, answers.context, likelihood)
    weight = np.exp(total - total.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    below = weight.cumsum(axis=1)
    chose = context_means(answers.chose, answers.context, len(answers.cases))
    return pd.DataFrame(
        {
            "context": list(answers.cases),
            "exact": answers.exact,
            "stated": answers.stated,
            "acted_on": weight @ GRID,
            "low": GRID[(below < 0.025).sum(axis=1)],
            "high": GRID[np.minimum((below < 0.975).sum(axis=1), len(GRID) - 1)],
            "switches": (chose > 0) & (chose < 1),
            "n_refused": answers.refused,
        }
    )
