"""The threshold acted on: the stated belief from which the agent does something else.

It is minus the constant over the slope of a logit of what cases choose on what they state. Of three
actions and more it is where the lowest action falls below one half, and where the highest rises
above it, which takes no model of those between. `stakes` and `matching` take choices, reports and
logits of cases from here. Assumes independent cases, or groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import expit

from coherence.checks.by_name import takes_columns
from coherence.checks.check import Check, Interpretation, Question, Result, blank, estimated
from coherence.inputs import (
    Codes,
    Floats,
    as_codes,
    as_contexts,
    as_numbers,
    few_contexts,
    of_contexts,
    require,
    require_probabilities,
)
from coherence.result import CheckResult, Family, Interval
from coherence.runs.columns import ACTION_PREFIX
from coherence.runs.needs import CHOICES, STAKES_QUESTIONS
from coherence.statistics.evaluation import (
    EvaluationData,
    as_known_actions,
    evaluation_data,
    one_dimensional,
)
from coherence.statistics.mean_interval import interval_or_reason
from coherence.statistics.resample import Clusters, context_means, groups_of_contexts
from coherence.statistics.shares import context_shares

NAME = "threshold"
NULL = "stated belief from which {to} is chosen more often than {start}"
METHOD = "logit of case means, Fieller, jackknife of {clusters}, t; ends at stated beliefs"
FEWEST_CHANGED = 8  # cases that ever do the rarer action
FEWEST_AT_AN_END, END = 6, 0.1  # cases at either end of the beliefs, as a number and a share
LEAST_RELIABLE = 0.5  # reliability of mean reports below which their noise is not taken out
RELIABLE = 0.9  # from which noise does not look like choices that stop short of either action
LAPSE, MOST_LAPSES, MOST_SCORE = 0.05, 0.15, 1.64  # of choices at either end; standard errors
RIDGE = np.diag([1e-6, 1e-3])  # of the logit, so that choices which beliefs part have a slope
ALWAYS = "one action is all that was chosen"
STILL = "choices are not seen to change with the belief"
FEW = "only {n} cases ever choose otherwise, and {fewest} are needed"
WIDE = "where choices change is not known to lie within the stated beliefs"
BEYOND = "{side} {at:.3g}: of the cases with the {end} beliefs most choose {action}"
LAPSES = (
    "choices stop short of an action: of the fifth of cases with the {end} beliefs {share:.0%} "
    "choose {to}"
)
AS_STATED = (
    "reports of a case are single or alike: their noise is not known, and would move a threshold "
    "off the middle of the beliefs"
)
NOTHING = 1e-18  # variance of reports that are copies
UNIT = "probability"
LEAST_RIDGE = 1e-9  # of a logit whose choices are told apart without error
COPIED = 0.95  # share of cases whose reports come again, from which all that do are copies
FEWEST_VALUES = 7  # of reports, below which what they round off is no small noise
MOST_LEFT_OUT = 5  # parts of the reports that are left out one by one
ONE_REPORT = "beliefs were asked once a case: their noise would {what}"
FEW_VALUES = "reports take {n} values alone, which stand for many beliefs each: that would {what}"


# Choices by stated belief, which three checks share


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
            beliefs.append(context_means(self.values[kept], self.context[kept], n))
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

    def paired_difference(self, values: Floats, rows: tuple[Any, Any]) -> dict[str, Any]:
        """Return, for a result, the mean of one kind of choices less another, within cases."""
        n, context = self.n_contexts, self.context
        first, second = (context_means(values[of], context[of], n) for of in rows)
        cases = np.flatnonzero(~np.isnan(first - second))
        if few := few_contexts(len(cases), "with both kinds of rows"):
            return {"reason": few}
        kept, clusters = (first - second)[cases], self.clusters.among(cases)
        interval, reason = interval_or_reason(kept, clusters, "difference")
        return {"statistic": float(kept.mean()), "interval": interval, "reason": reason}


def parted(
    stated: Floats,
    chosen: Any,
    exact: ArrayLike | None,
    context: ArrayLike,
    group: ArrayLike | None,
    *,
    at: str,
    computed: bool,
) -> CaseRows:
    """Part a table into choices, `at` a stake or a level, and reports, NaN in rows without one."""
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
    choice, report = np.asarray(chosen)[used], told[used]
    reported = stated[used][report], of_row[report], posterior[numbers]
    reports, n_dropped = reports_of(*reported, computed=computed), len(stated) - len(used)
    return CaseRows(used[choice], of_row[choice], reports, names, clusters, len(used), n_dropped)


def reports_of(values: Floats, context: Codes, exact: Floats, *, computed: bool) -> CaseReports:
    """Return mean and noise of the reports of contexts, whose posteriors may not be known."""
    number = np.bincount(context, minlength=len(exact))
    mean = np.bincount(context, values, len(exact)) / number
    away, degrees = values - mean[context], int((number - 1).sum())
    noise = 0.0 if computed else float(away @ away) / degrees if degrees else math.nan
    once = not (computed or noise > NOTHING)
    return CaseReports(values, context, mean, number, noise, once, exact)


def asked_of(data: EvaluationData, **columns: str) -> dict[str, Any]:
    """Return the arguments that checks take from an evaluation's questions, columns by name."""
    rows = data.questions
    assert rows is not None
    options = [name for name in rows if str(name).startswith(ACTION_PREFIX)]
    return {
        "belief": rows["belief"],
        "action": rows[options] if options else rows["action"],  # a column for each option
        "context": rows["context"],
        "group": rows["group"] if rows["group"].notna().all() else None,
        "computed": data.computed,
    } | {name: rows[column] for name, column in columns.items()}


def shares_of(action: Any, n: int) -> tuple[list[str], Floats]:
    """Return the actions and the share of each in every row, 0 where no choice was made."""
    actions = as_known_actions(action, n)
    labels = [str(label).removeprefix(ACTION_PREFIX) for label in actions.labels]
    return labels, np.nan_to_num(actions.share)


def least_squares(columns: Floats, values: Floats) -> Floats:
    """Return the values that a regression on these columns predicts."""
    return np.asarray(columns @ np.linalg.lstsq(columns, values, rcond=None)[0])


def share_table(
    values: Floats, cell: Codes, context: Codes, name: str, **columns: Any
) -> pd.DataFrame:
    """Return the share in each cell that has rows, with a 95% interval over cases."""
    n_cells = len(next(iter(columns.values())))
    share, low, high, n_contexts = context_shares(values[:, None], cell, context, n_cells)
    found = {name: share[:, 0], "low": low[:, 0], "high": high[:, 0]}
    table = pd.DataFrame({**columns, **found, "n_contexts": n_contexts})
    return table[table["n_contexts"] > 0].reset_index(drop=True)


def blanks(
    kind: type[Result],
    rows: CaseRows,
    check: str,
    sentences: Mapping[str, Interpretation],
    units: Mapping[str, str],
    assumptions: tuple[str, ...],
) -> dict[str, partial[Result]]:
    """Return the results of a check that lack their numbers, by variant."""
    further: Any = {"settings": {"clusters": rows.clusters.name}, "assumptions": assumptions}
    return {
        name: blank(kind, rows, f"{check}:{name}", of.words, units.get(name, UNIT), **further)
        for name, of in sentences.items()
    }


# What the noise of reports does


def without_copies(stated: Floats, stake: Floats, context: ArrayLike) -> Floats:
    """Leave out reports that in nearly all cases are copies, of one at the stake or at all."""
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


# A logit of shares of choices


def logit(
    columns: Floats,
    share: Floats,
    number: Floats | float = 1.0,
    *,
    ridge: Floats | None = None,
    start: Floats | None = None,
) -> tuple[Floats, Callable[[Codes, int], Floats]]:
    """Fit a logit of shares by Newton's method, a little shrunk so that it is always finite.

    `columns` has shape (n, k), `share` (n,), `number` choices are behind each. Return coefficients,
    shape (k,), and what gives those without each of so many clusters of rows, to one step.
    """
    n, k = columns.shape
    count = np.full(n, number)
    shrunk = n * LEAST_RIDGE * np.eye(k) if ridge is None else ridge
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

    def without(cluster: Codes, n_clusters: int) -> Floats:
        likely = expit(columns @ found)
        products = columns[:, :, None] * columns[:, None, :]
        products = products * (count * likely * (1.0 - likely))[:, None, None]
        scores, curves = np.zeros((n_clusters, k)), np.zeros((n_clusters, k, k))
        np.add.at(scores, cluster, columns * (count * (share - likely))[:, None])
        np.add.at(curves, cluster, products)
        rest = products.sum(axis=0) + shrunk - curves
        return np.asarray(found - np.linalg.solve(rest, scores[..., None])[..., 0])

    return found, without


def jackknife(moved: Floats) -> Floats:
    """Return the covariance, times t squared, of estimates that move so without each cluster.

    Shape of what moves (n, k); roots of the diagonal are the half lengths of 95% intervals.
    """
    n = len(moved)
    return np.asarray(float(stats.t.ppf(0.975, n - 1)) ** 2 * (n - 1) / n * moved.T @ moved)


# The threshold


@dataclass(frozen=True, repr=False)
class ThresholdResult(CheckResult):
    """One result of `coherence.threshold_estimates`."""

    start: str = ""  # action of low beliefs
    to: str = ""  # action of high beliefs; empty where choices do not change
    as_stated: bool = False  # whether the noise of reports is not known, and stays in it
    # stated belief that the threshold lies above, or below, where it lies outside of all of them
    above: float | None = None
    below: float | None = None


@takes_columns("belief", "action", "context", "group")
def threshold_estimates(
    belief: ArrayLike,
    action: ArrayLike,
    *,
    data: pd.DataFrame | None = None,
    context: ArrayLike | None = None,
    group: ArrayLike | None = None,
    computed: bool = False,
) -> list[ThresholdResult]:
    """Estimate the stated belief at which the agent changes from one action to another.

    Null: none is tested.

    Estimand: the belief at which the action of high beliefs is as frequent as that of low ones (a
    probability); answers count alike.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Stated probability of one of two states, in [0, 1].

    Returns
    -------
    list of ThresholdResult
        Of two actions one result, ``threshold``; of more ``threshold:lowest``, where the action of
        the lowest beliefs falls below one half, and ``threshold:highest``, where that of the
        highest rises above it. Each names the actions (`start`, `to`), and where the threshold lies
        outside the stated beliefs its bound (`above` or `below`). With one report a case, or the
        same in all rows of a case, `as_stated` is true.

    Raises
    ------
    InputError
        An array breaks its rule.

    Notes
    -----
    Assumes independent contexts, and that choices rise with the belief. Mean choices of contexts
    are regressed on mean reports by a logit, weighed by answers. The interval is Fieller's, with
    the covariance of a jackknife over contexts (or groups) of one step. With several reports a
    context, estimate and ends are pulled to the mean belief by the reliability of the mean reports;
    the interval reaches over both, to stated beliefs: nothing is known between two of them. Where
    choices stop short of either action, by a score test and by more than 15 in 100, there is none
    (if the reliability is above .9). Where fewer than eight contexts ever choose otherwise, or an
    end lies outside the stated beliefs, the bound is the tenth of contexts with the highest
    (lowest) beliefs, if most still choose the lower (already the higher) action, by a sign test.

    Under expected utility the odds of the threshold are the ratio of the costs of both mistakes.
    Another belief that rises with the stated one gives the same choices at another threshold.

    References
    ----------
    Fieller (1954), Journal of the Royal Statistical Society B 16(2); MacKinnon, Nielsen and Webb
    (2023), Journal of Econometrics 232(2), on the jackknife by cluster; Pauker and Kassirer (1980),
    New England Journal of Medicine 302(20), on thresholds and costs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> belief = rng.integers(1, 20, 200) / 20
    >>> action = np.where(rng.random(200) < 1 / (1 + np.exp(20 * (0.3 - belief))), "yes", "no")
    >>> result = threshold_estimates(belief, action, computed=True)[0]
    >>> bool(result.interval.low < 0.3 < result.interval.high), result.to
    (True, 'yes')
    """
    choices = evaluation_data(belief, action, context=context, group=group)
    return threshold(replace(choices, computed=computed))


def threshold(data: EvaluationData) -> list[ThresholdResult]:
    """Run `threshold_estimates` on validated data."""
    n, context, clusters = data.n_contexts, data.context, data.clusters
    stated = one_dimensional(data, "threshold_estimates")
    reports = reports_of(stated, context, np.full(n, math.nan), computed=data.computed)
    share, labels = context_means(data.share, context, n), [str(label) for label in data.actions]
    often = (share > 0).sum(axis=0) >= FEWEST_CHANGED
    often |= often.sum() < 2
    chosen_at = np.round(reports.mean @ share / share.sum(axis=0), 9)
    start = int(np.argmin(np.where(often, chosen_at, math.inf)))
    last = int(np.argmax(np.where(often, chosen_at, -math.inf)))
    low, high, why = labels[start], labels[last], few_contexts(n) or clusters.too_few
    wanted = [("", low, high, share[:, last])]
    if data.own_answer is not None or start == last:
        why = data.own_answer.sentence("belief") if data.own_answer else STILL
        why, wanted = why if len(labels) > 1 else ALWAYS, [("", labels[0], "", share)]
    elif len(labels) > 2:
        wanted = [
            (":lowest", low, f"other than {low}", 1 - share[:, start]),
            (":highest", f"other than {high}", high, share[:, last]),
        ]
    further: dict[str, Any] = {
        "settings": {"cluster of resampling": clusters.name},
        "assumptions": (clusters.independent, "choices rise with the belief"),
        "reason": why,
        "as_stated": reports.once,
    }
    results = []
    for variant, of, to, moved in wanted:
        null = NULL.format(start=repr(of), to=repr(to) if to else "another action")
        further |= {"start": of, "to": to}
        result = blank(ThresholdResult, data, f"{NAME}{variant}", null, UNIT, **further)
        results.append(result() if why else _estimated(result, reports, moved, clusters))
    return results


def _estimated(
    result: partial[ThresholdResult], reports: CaseReports, share: Floats, clusters: Clusters
) -> ThresholdResult:
    """Return the threshold, what it lies beyond, or why neither is known."""
    start, to = result.keywords["start"], result.keywords["to"]
    belief, reason, kept = reports.mean, WIDE, 1.0  # part of its spread that is not noise
    if reports.number.min() > 1 and np.ptp(belief):
        noise = reports.noise / float(reports.number.mean())
        kept = min(max(1 - noise / float(belief.var(ddof=1)), LEAST_RELIABLE), 1.0)
    columns = np.column_stack([np.ones(len(belief)), belief - 0.5])
    weighed: Any = columns, share, reports.number
    changed = min(int((share > 0).sum()), int((share < 1).sum()))
    if changed < FEWEST_CHANGED:
        reason = FEW.format(n=changed, fewest=FEWEST_CHANGED)
    elif (ends := _fieller(*(fit := logit(*weighed, ridge=RIDGE)), clusters)) is None:
        reason = STILL
    elif kept > RELIABLE and (misfit := _misfit(fit[0], weighed, clusters, to)):
        return result(reason=misfit)
    else:
        # Of the belief behind reports, and of the report itself: either may be acted on.
        pulled = belief.mean() + kept * (ends - belief.mean())
        said = np.unique(np.round(reports.values, 9))  # no finer than what was said
        under = said[said <= min(ends[0], pulled[0])]
        over = said[said >= max(ends[0], pulled[0])]
        if under.size and over.size:
            low, high = min(ends[1], pulled[1], under[-1]), max(ends[2], pulled[2], over[0])
            if belief.min() - 1e-9 <= low and high <= belief.max() + 1e-9:
                method = METHOD.format(clusters=clusters.plural)
                interval = Interval(float(low), float(high), 0.95, method)
                reason = AS_STATED * reports.once
                return result(statistic=float(pulled[0]), interval=interval, reason=reason)
    n, order = (
        max(FEWEST_AT_AN_END, math.ceil(END * len(belief))),
        np.argsort(belief, kind="stable"),
    )
    for side, end, which, at, rise, action in (
        ("above", "highest", order[-n:], order[-n], 1 - share, start),
        ("below", "lowest", order[:n], order[n - 1], share, to),
    ):
        wins = math.ceil((rise[which] > 0.5).sum() + (rise[which] == 0.5).sum() / 2)
        if stats.binom.sf(wins - 1, n, 0.5) <= 0.025:
            found: dict[str, Any] = {side: float(belief[at])}
            reason = BEYOND.format(side=side, at=belief[at], end=end, action=repr(action))
            return result(reason=reason, **found)
    return result(reason=reason)


def _fieller(
    found: Floats, without: Callable[[Codes, int], Floats], clusters: Clusters
) -> Floats | None:
    """Return threshold and ends of its interval; None where the slope is not above 0."""
    constant, slope = found
    spread = jackknife(without(clusters.of_context, clusters.n) - found)
    first = slope**2 - spread[1, 1]
    if first <= 0 or slope <= 0:
        return None
    middle = spread[0, 1] - constant * slope
    root = math.sqrt(max(middle**2 - first * (constant**2 - spread[0, 0]), 0.0))
    ends = [-constant / slope, (middle - root) / first, (middle + root) / first]
    return np.array(ends) + 0.5


def _misfit(
    found: Floats, weighed: tuple[Floats, Floats, Floats], clusters: Clusters, to: str
) -> str:
    """Say that choices stay short of the one action at high beliefs, or of the other at low ones.

    A score test of such lapses, which would move the threshold of a logit; empty where they are
    not seen, or are 15 in 100 at the most.
    """
    columns, share, number = weighed
    likely = expit(columns @ found)
    curved = (columns * (number * likely * (1 - likely))[:, None]).T
    order, n = np.argsort(columns[:, 1], kind="stable"), math.ceil(len(share) / 5)
    for end, short, which in (("highest", 1 - likely, order[-n:]), ("lowest", likely, order[:n])):
        weight = 1 / (short + LAPSE)
        beyond = weight - columns @ np.linalg.solve(curved @ columns + RIDGE, curved @ weight)
        scores = np.bincount(clusters.of_context, beyond * number * (share - likely))
        z = float(scores.sum() / math.sqrt(max(float(scores @ scores), 1e-300)))
        seen = float(share[which].mean())
        lapses, z = (1 - seen, -z) if end == "highest" else (seen, z)
        if z > MOST_SCORE and lapses > MOST_LAPSES:
            return LAPSES.format(end=end, share=seen, to=repr(to))
    return ""


CHECK = Check(
    name=NAME,
    origin="Adapted from the treatment threshold (Pauker and Kassirer 1980)",
    needs=CHOICES,
    sentences={
        "": estimated("stated belief at which choices change"),
        "lowest": estimated("stated belief at which the lowest action falls below half"),
        "highest": estimated("stated belief at which the highest action passes a half"),
    },
    question=Question.FOLLOWS,
    plan=lambda data, published: iter([partial(threshold, data)]),
    of_papers=False,
    by_itself=lambda runs: STAKES_QUESTIONS not in runs.kinds_of_questions,
    beside_primary=True,
    family=Family.ESTIMATE,
)
