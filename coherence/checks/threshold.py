"""The threshold acted on: the stated belief from which the agent does something else.

A logit of what cases choose on what they state; the belief at which both actions are as frequent is
minus its constant over its slope. Whoever maximises expected utility changes at the odds that are
the ratio of the costs of both mistakes. Of three actions and more it is where the lowest action
falls below one half, and where the highest rises above it, which takes no model of those between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import expit

from coherence.checks.by_name import takes_columns
from coherence.checks.case_rows import CaseReports, Logit, jackknife, logit, reports_of
from coherence.checks.check import Call, CallsAndNotes, Check, Question, blank, estimated
from coherence.inputs import Floats, few_contexts
from coherence.result import CheckResult, Family, Interval
from coherence.runs.needs import CHOICES, STAKES_QUESTIONS
from coherence.statistics.evaluation import EvaluationData, evaluation_data, one_dimensional
from coherence.statistics.resample import Clusters, context_means

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
    "of the fifth of cases with the {end} beliefs {share:.0%} choose {to}: choices stop "
    "short of the one action or the other, and where they are one half hangs on why"
)
AS_STATED = (
    "reports of a case are single or alike: their noise is not known, and would move a threshold "
    "off the middle of the beliefs"
)


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
        highest rises above it. Each names the actions (`start`, `to`), and where the
        threshold lies outside the stated beliefs its bound (``above`` or ``below``). With one
        report a case, or the same in all rows of a case, ``as_stated`` is true.

    Raises
    ------
    InputError
        An array breaks its rule.

    Notes
    -----
    Assumes independent contexts, and that choices rise with the belief. Mean choices of contexts
    are regressed on mean reports by a logit, weighed by answers. The interval is Fieller's for the
    ratio of constant and slope, with the covariance of a jackknife over contexts (or groups) of one
    step. With several reports a context, estimate and ends are pulled to the mean belief by the
    reliability of the mean reports, which takes their noise out; the interval reaches from the
    lower of both ends to the higher, as for who acts on the report of the moment. The ends are
    stretched to stated beliefs around the estimate: nothing is known between two of them. Where
    choices stop short of either action, by a score test and by more than 15 in 100, there is none
    (if the reliability is above .9: noise of reports looks like that too). Where fewer than eight
    contexts ever choose otherwise, or an end lies outside the stated beliefs, the tenth of contexts
    with the highest (lowest) beliefs is looked at: if most of them still choose the lower (already
    the higher) action, by a sign test at .025, the threshold lies above (below) all of them.

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
    n, context = data.n_contexts, data.context
    stated = one_dimensional(data, "threshold_estimates")
    reports = reports_of(stated, context, n, computed=data.computed)
    belief, share = reports.mean, context_means(data.share, context, n)
    often = (share > 0).sum(axis=0) >= FEWEST_CHANGED
    often = often if often.sum() > 1 else np.full(len(often), True)
    chosen_at = np.round(belief @ share / share.sum(axis=0), 9)
    start = int(np.argmin(np.where(often, chosen_at, math.inf)))
    last = int(np.argmax(np.where(often, chosen_at, -math.inf)))
    labels, clusters = [str(label) for label in data.actions], data.clusters

    low, high, why = labels[start], labels[last], few_contexts(n) or clusters.too_few
    wanted = [("", low, high, share[:, last])]
    if data.own_answer is not None or len(labels) < 2 or start == last:
        why = data.own_answer.sentence("belief") if data.own_answer else ""
        why, wanted = why or (ALWAYS if len(labels) < 2 else STILL), [("", labels[0], "", share)]
    elif len(labels) > 2:
        wanted = [
            (":lowest", low, f"other than {low}", 1 - share[:, start]),
            (":highest", f"other than {high}", high, share[:, last]),
        ]
    assumed = (clusters.independent, "choices rise with the belief")
    settings = {"cluster of resampling": clusters.name}
    further: dict[str, Any] = {"settings": settings, "assumptions": assumed, "reason": why}
    results = []
    for variant, of, to, moved in wanted:
        null = NULL.format(start=repr(of), to=repr(to) if to else "another action")
        found = {"start": of, "to": to}
        further |= {**found, "as_stated": reports.once}
        result = blank(ThresholdResult, data, f"{NAME}{variant}", null, "probability", **further)
        results.append(result if why else _estimated(result, reports, moved, clusters))
    return results


def _reliability(reports: CaseReports) -> float:
    """Return the part of the spread of mean reports that is not their noise; 1 if unknown."""
    if reports.number.min() < 2 or not np.ptp(reports.mean):
        return 1.0
    kept = 1 - reports.noise / float(reports.number.mean()) / float(reports.mean.var(ddof=1))
    return min(max(kept, LEAST_RELIABLE), 1.0)


def _estimated(
    blank: ThresholdResult, reports: CaseReports, share: Floats, clusters: Clusters
) -> ThresholdResult:
    """Return the threshold, what it lies beyond, or why neither is known."""
    belief, reason, kept = reports.mean, WIDE, _reliability(reports)
    columns = np.column_stack([np.ones(len(belief)), belief - 0.5])
    weighed: Any = {"number": reports.number, "ridge": RIDGE}
    changed = min(int((share > 0).sum()), int((share < 1).sum()))
    if changed < FEWEST_CHANGED:
        reason = FEW.format(n=changed, fewest=FEWEST_CHANGED)
    elif (ends := _fieller(fit := logit(columns, share, **weighed), clusters)) is None:
        reason = STILL
    elif misfit := _misfit(fit, belief, clusters, blank.to) * (kept > RELIABLE):
        return replace(blank, reason=misfit)
    else:
        # Of the belief behind reports, and of the report itself: either may be acted on.
        pulled = belief.mean() + kept * (ends - belief.mean())
        first, last = sorted((ends[0], pulled[0]))
        said = np.unique(np.round(reports.values, 9))  # no finer than what was said
        under, over = said[said <= first], said[said >= last]
        if under.size and over.size:
            low, high = min(ends[1], pulled[1], under[-1]), max(ends[2], pulled[2], over[0])
            if belief.min() - 1e-9 <= low and high <= belief.max() + 1e-9:
                method = METHOD.format(clusters=clusters.plural)
                return replace(
                    blank,
                    statistic=float(pulled[0]),
                    interval=Interval(float(low), float(high), 0.95, method),
                    reason=AS_STATED if blank.as_stated else "",
                )
    n = max(FEWEST_AT_AN_END, math.ceil(END * len(belief)))
    order = np.argsort(belief, kind="stable")
    for side, end, which, at, rise, action in (
        ("above", "highest", order[-n:], order[-n], 1 - share, blank.start),
        ("below", "lowest", order[:n], order[n - 1], share, blank.to),
    ):
        wins, ties = int((rise[which] > 0.5).sum()), int((rise[which] == 0.5).sum())
        if stats.binom.sf(math.ceil(wins + ties / 2) - 1, n, 0.5) <= 0.025:
            bound = float(belief[at])
            said_of = BEYOND.format(side=side, at=bound, end=end, action=repr(action))
            found: dict[str, Any] = {side: bound}
            return replace(blank, reason=said_of, **found)
    return replace(blank, reason=reason)


def _fieller(fit: Logit, clusters: Clusters) -> Floats | None:
    """Return threshold and ends of its interval; None where the slope is not above 0."""
    found = fit.coefficients
    spread = jackknife(fit.without(clusters.of_context, clusters.n) - found)
    first = found[1] ** 2 - spread[1, 1]
    if first <= 0 or found[1] <= 0:
        return None
    middle = -(found[0] * found[1] - spread[0, 1])
    root = math.sqrt(max(middle**2 - first * (found[0] ** 2 - spread[0, 0]), 0.0))
    ends = [-found[0] / found[1], (middle - root) / first, (middle + root) / first]
    return np.array(ends) + 0.5


def _misfit(fit: Logit, belief: Floats, clusters: Clusters, to: str) -> str:
    """Say that choices stay short of the one action at high beliefs, or of the other at low ones.

    A score test of such lapses, which would move the threshold of a logit; empty where they are
    not seen, or are 15 in 100 at the most.
    """
    likely, columns = expit(fit.columns @ fit.coefficients), fit.columns
    curved = (columns * (fit.number * likely * (1 - likely))[:, None]).T
    order, n = np.argsort(belief, kind="stable"), math.ceil(len(belief) / 5)
    for end, short, which in (("highest", 1 - likely, order[-n:]), ("lowest", likely, order[:n])):
        weight = 1 / (short + LAPSE)
        beyond = weight - columns @ np.linalg.solve(curved @ columns + fit.ridge, curved @ weight)
        scores = np.bincount(clusters.of_context, beyond * fit.number * (fit.share - likely))
        z = float(scores.sum() / math.sqrt(max(float(scores @ scores), 1e-300)))
        seen = float(fit.share[which].mean())
        lapses, z = (1 - seen, -z) if end == "highest" else (seen, z)
        if z > MOST_SCORE and lapses > MOST_LAPSES:
            return LAPSES.format(end=end, share=seen, to=repr(to))
    return ""


def _plan(data: EvaluationData, published: bool) -> CallsAndNotes:
    yield Call(partial(threshold, data), draws=False)


CHECK = Check(
    name=NAME,
    origin="Adapted from the treatment threshold (Pauker and Kassirer 1980)",
    needs=CHOICES,
    sentences={
        "": estimated("stated belief at which choices change"),
        "lowest": estimated(
            "stated belief at which the lowest action falls below half", leads=False
        ),
        "highest": estimated(
            "stated belief at which the highest action passes a half", leads=False
        ),
    },
    question=Question.FOLLOWS,
    plan=_plan,
    of_papers=False,
    by_itself=lambda runs: STAKES_QUESTIONS not in runs.kinds_of_questions,
    beside_primary=True,
    family=Family.ESTIMATE,
)
